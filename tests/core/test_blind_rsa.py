"""Blind signatures: the RFC's vectors, what is refused, and that nothing links the two sides."""

from __future__ import annotations

import secrets

import pytest

from rumor.core import blind_rsa
from rumor.core.blind_rsa import (
    BlindingError,
    PublicKey,
    SecretKey,
    blind,
    blind_sign,
    finalize,
    new_key,
    prepare,
    verify,
)
from tests.core import rfc9474
from tests.core.rfc9474 import Vector
from tests.issuers import SECRETS

# Small, so that the tests are quick; as large as PSS with SHA-384 and this salt takes.
BITS = 1024


@pytest.fixture(scope="module")
def key() -> SecretKey:
    return new_key(BITS)


def ends(value: bytes) -> tuple[str, str]:
    return value[:32].hex(), value[-32:].hex()


@pytest.mark.parametrize("vector", rfc9474.VECTORS, ids=lambda vector: vector.name)
def test_the_vectors_of_rfc_9474(vector: Vector) -> None:
    key = SecretKey(rfc9474.FIRST_PRIME, rfc9474.SECOND_PRIME)
    public, salt = key.public, bytes.fromhex(vector.salt)
    assert ends(public.to_bytes()) == rfc9474.MODULUS
    prepared = bytes.fromhex(vector.prefix + rfc9474.MESSAGE)
    factor = pow(rfc9474.INVERSE, -1, public.modulus)
    made = blind(public, prepared, salt=salt, factor=factor)
    assert (ends(made.message), made.inverse) == (vector.blinded, rfc9474.INVERSE)
    answer = blind_sign(key, made.message)
    assert ends(answer) == vector.answer
    signature = finalize(public, prepared, answer, made.inverse, salt_bytes=len(salt))
    assert ends(signature) == vector.signature
    assert verify(public, prepared, signature, salt_bytes=len(salt))
    # The salt's length is part of what is checked.
    assert not verify(public, prepared, signature, salt_bytes=48 - len(salt))


def signed(key: SecretKey, prepared: bytes) -> tuple[blind_rsa.Blinded, bytes]:
    made = blind(key.public, prepared)
    return made, finalize(key.public, prepared, blind_sign(key, made.message), made.inverse)


def test_a_new_key_signs_and_only_what_it_was_given(key: SecretKey) -> None:
    public = key.public
    assert public.modulus.bit_length() == BITS
    prepared = prepare(b"message")
    assert len(prepared) == 32 + 7
    assert prepared != prepare(b"message")
    _, signature = signed(key, prepared)
    assert verify(public, prepared, signature)
    assert not verify(public, prepared[:-1] + b"x", signature)
    assert not verify(PublicKey(public.modulus + 2), prepared, signature)
    for place in range(0, len(signature), 7):
        other = bytearray(signature)
        other[place] ^= 1
        assert not verify(public, prepared, bytes(other))


def test_a_signature_has_one_form(key: SecretKey) -> None:
    """The same number plus the modulus is none, nor are other lengths: a token is spent once."""
    prepared = prepare(b"")
    _, signature = signed(key, prepared)
    above = int.from_bytes(signature, "big") + key.public.modulus
    for other in (
        b"\x00" + signature,
        signature[1:],
        b"",
        above.to_bytes((above.bit_length() + 7) // 8, "big"),
        bytes(len(signature)),
        b"\xff" * len(signature),
    ):
        assert not verify(key.public, prepared, other)


def test_a_leading_zero_belongs_to_a_signature(key: SecretKey) -> None:
    """Without it, one signature in 256 was taken as well: a token would have had two forms."""
    prepared = prepare(b"")
    signatures = (signed(key, prepared)[1] for _ in range(20_000))
    signature = next(one for one in signatures if one[0] == 0)
    assert verify(key.public, prepared, signature)
    assert not verify(key.public, prepared, signature[1:])


def test_every_bit_of_the_encoding_is_checked(key: SecretKey) -> None:
    """A number that decodes to nearly the right bytes is no signature."""
    prepared, public = prepare(b""), key.public
    encoded = blind_rsa._encode(public, prepared, bytes(48))
    private = pow(blind_rsa.EXPONENT, -1, (key.first - 1) * (key.second - 1))

    def of(number: int) -> bytes:
        return pow(number, private, public.modulus).to_bytes(public.size, "big")

    whole = int.from_bytes(encoded, "big")
    assert verify(public, prepared, of(whole))
    for bit in [*range(16), *range(8, BITS - 1, 37), BITS - 2]:
        assert not verify(public, prepared, of(whole ^ (1 << bit))), bit
    # The one bit that an encoding does not have.
    top = whole | 1 << (BITS - 1)
    assert top >= public.modulus or not verify(public, prepared, of(top))


def _none(bound: int) -> int:
    return 0


def _most(bound: int) -> int:
    return bound - 1


def test_a_retry_gets_the_same_signature_whatever_the_mask(key: SecretKey) -> None:
    made = blind(key.public, prepare(b"m"))
    answers = {blind_sign(key, made.message) for _ in range(5)}
    answers |= {blind_sign(key, made.message, below=bound) for bound in (_none, _most)}
    assert len(answers) == 1


def test_the_secret_exponent_is_never_used_on_what_a_stranger_chose(
    key: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    power = blind_rsa._power

    def watched(used: SecretKey, number: int) -> int:
        seen.append(number)
        return power(used, number)

    monkeypatch.setattr(blind_rsa, "_power", watched)
    blinded = blind(key.public, prepare(b"m")).message
    for _ in range(3):
        blind_sign(key, blinded)
    assert len(set(seen)) == 3
    assert int.from_bytes(blinded, "big") not in seen


def test_a_wrong_result_is_not_given_away(key: SecretKey, monkeypatch: pytest.MonkeyPatch) -> None:
    blinded = blind(key.public, prepare(b"m")).message
    monkeypatch.setattr(blind_rsa, "_power", lambda used, number: number + 1)
    with pytest.raises(BlindingError, match="right before it is given away"):
        blind_sign(key, blinded)


def test_what_is_no_blinded_message_is_refused(key: SecretKey) -> None:
    public = key.public
    for wrong in (b"", bytes(public.size - 1), bytes(public.size + 1), b"\xff" * public.size):
        with pytest.raises(BlindingError, match="a blinded message must be a number"):
            blind_sign(key, wrong)
    prepared = prepare(b"m")
    made = blind(public, prepared)
    answer = blind_sign(key, made.message)
    with pytest.raises(BlindingError, match="must sign what it was asked to"):
        finalize(public, prepared, answer, made.inverse + 1)
    with pytest.raises(BlindingError, match="must have 128 bytes"):
        finalize(public, prepared, answer[1:], made.inverse)
    with pytest.raises(BlindingError, match="must have inverses"):
        blind(public, prepared, factor=key.first)


def test_what_is_no_modulus_is_refused() -> None:
    good = SECRETS[0].public.modulus
    assert PublicKey.from_bytes(good.to_bytes(256, "big")).modulus == good
    square, third = SECRETS[0].first ** 2, (1 << 2047) + 1
    for wrong in (good - 1, good >> 1 | 1, 1, square, third):
        with pytest.raises(BlindingError, match="an odd number of 2048 bits"):
            PublicKey.from_bytes(wrong.to_bytes(256, "big"))
    with pytest.raises(BlindingError, match="an odd number of 2048 bits"):
        PublicKey.from_bytes(b"\x00" + good.to_bytes(256, "big"))


def test_every_pair_of_a_batch_has_exactly_one_explanation(key: SecretKey) -> None:
    """Twelve blinded messages, twelve signatures: each could be of each, by one factor alone."""
    public = key.public
    batch = []
    for _ in range(12):
        prepared = prepare(secrets.token_bytes(32))
        made, signature = signed(key, prepared)
        batch.append((made, blind_sign(key, made.message), prepared, signature))
    factors = set()
    for made, answer, _, _ in batch:
        for _, _, prepared, signature in batch:
            # The factor must turn the signature into the answer, and there is one that does.
            one = int.from_bytes(signature, "big")
            factor = int.from_bytes(answer, "big") * pow(one, -1, public.modulus) % public.modulus
            assert finalize(public, prepared, answer, pow(factor, -1, public.modulus)) == signature
            encoded = pow(one, blind_rsa.EXPONENT, public.modulus)
            hidden = encoded * pow(factor, blind_rsa.EXPONENT, public.modulus) % public.modulus
            assert hidden.to_bytes(public.size, "big") == made.message
            factors.add(factor)
    assert len(factors) == 12 * 12


def test_primes_and_what_is_none() -> None:
    found = [n for n in range(2001, 2200, 2) if blind_rsa._is_prime(n)]
    assert found == [n for n in range(2001, 2200) if all(n % d for d in range(2, 47))]
    assert blind_rsa._is_prime(2**521 - 1)
    assert not blind_rsa._is_prime((2**521 - 1) * (2**607 - 1))
    # Of Carmichael's kind: Fermat's test takes it for a prime, whatever the base.
    factors = next(
        three
        for k in range(400, 10_000)
        if all(map(blind_rsa._is_prime, three := (6 * k + 1, 12 * k + 1, 18 * k + 1)))
    )
    product = factors[0] * factors[1] * factors[2]
    assert pow(2, product - 1, product) == 1
    assert not blind_rsa._is_prime(product)
