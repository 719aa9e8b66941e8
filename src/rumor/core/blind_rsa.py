"""Blind RSA signatures (RFC 9474): signatures on messages that the signer never sees.

The variant is RSABSSA-SHA384-PSS-Randomized over plain integers; a library verifies the result as
an ordinary PSS signature. The requester draws a prefix and a salt, encodes the message by PSS (RFC
8017) to a number m, and sends m r^e mod n for a random r. The signer's answer, divided by r, is an
ordinary PSS signature of the message. For every number that the signer saw and every signature that
comes up later there is exactly one r that connects them: the signer cannot link the two.

Python's integers take a time that depends on their values. The signer therefore multiplies its
input by a random number first, so that nobody chooses the input of the secret key, and checks its
result, since a wrong one would reveal the key.

Moduli. Nobody can prove to a stranger that a number is the product of two large primes. A reader of
a public key can check in milliseconds that it has all its bits, is odd, is no power, and has no
prime factor below 2^20. A modulus of 2048 bits without such a factor has at most 102 prime factors,
all above 2^20, so that a random message shares one with it at most once in 10,000 times; blinding
refuses that message.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

SMALLEST_FACTOR_BITS = 20
_CHUNK = 100  # primes in one product: about as many bits as a modulus has


@functools.lru_cache(maxsize=1_024)
def fault_of_modulus(modulus: int, bits: int) -> str | None:
    """Return why `modulus` is no RSA modulus of `bits` bits, or None if no fault is found."""
    if modulus.bit_length() != bits:
        return f"has {modulus.bit_length()} bits"
    if modulus % 2 == 0:
        return "is even"
    if (factor := _small_factor(modulus)) is not None:
        return f"is divisible by {factor}"
    if (exponent := _power_of(modulus)) is not None:
        return f"is a number to the power of {exponent}"
    return None


def rule_for_moduli(bits: int) -> str:
    """Return the rule that `fault_of_modulus` checks, in words."""
    return (
        f"an odd number of {bits} bits, no power of another number, without a prime factor below "
        f"2^{SMALLEST_FACTOR_BITS}"
    )


def _primes() -> Iterator[int]:
    """Yield the primes below 2^20 (Eratosthenes)."""
    limit = 1 << SMALLEST_FACTOR_BITS
    sieve = bytearray([0, 0]) + bytearray([1]) * (limit - 2)
    for number in range(2, math.isqrt(limit) + 1):
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(range(number * number, limit, number)))
    return itertools.compress(range(limit), sieve)


@functools.cache
def _products() -> tuple[int, ...]:
    """Return products of the primes below 2^20, a hundred in each."""
    primes = _primes()
    chunks = iter(lambda: tuple(itertools.islice(primes, _CHUNK)), ())
    return tuple(math.prod(chunk) for chunk in chunks)


def _small_factor(modulus: int) -> int | None:
    """Return the smallest prime factor of `modulus` below 2^20, or None."""
    product = functools.reduce(lambda one, other: one * other % modulus, _products(), 1)
    common = math.gcd(product, modulus)
    return None if common == 1 else next(prime for prime in _primes() if common % prime == 0)


def _power_of(modulus: int) -> int | None:
    """Return the prime k if `modulus`, without small factors, is a k-th power, or None."""
    most = modulus.bit_length() // SMALLEST_FACTOR_BITS
    exponents = itertools.takewhile(lambda k: k <= most, _primes())
    return next((k for k in exponents if _root(modulus, k) ** k == modulus), None)


def _root(number: int, k: int) -> int:
    """Return the k-th root of `number`, rounded down (Newton, from an estimate in doubles)."""
    guess = int(2.0 ** min(math.log2(number) / k, 1023))
    # One step leads above the root, from wherever; from there on every step leads down.
    found = _newton(number, k, guess)
    while (lower := _newton(number, k, found)) < found:
        found = lower
    return found


def _newton(number: int, k: int, guess: int) -> int:
    power: int = guess ** (k - 1)
    return ((k - 1) * guess + number // power) // k


EXPONENT = 65_537
SALT_BYTES = 48
PREFIX_BYTES = 32
KEY_BITS = 2048
_HASH = hashes.SHA384()
_HASH_BYTES = 48
# Miller and Rabin's test says of a number that is no prime that it is one less often than 4^-40.
_ROUNDS = 40
_SMALL_PRIMES = tuple(p for p in range(3, 2000, 2) if all(p % q for q in range(3, p, 2)))

Below = Callable[[int], int]
"""A function that draws a uniform integer below a bound."""


class BlindingError(ValueError):
    """An invalid signature, key or message to sign."""


@dataclass(frozen=True)
class PublicKey:
    """A key to verify signatures with; the exponent is always 65537."""

    modulus: int

    @property
    def size(self) -> int:
        """The number of bytes of the modulus, of blinded messages and of signatures."""
        return (self.modulus.bit_length() + 7) // 8

    def to_bytes(self) -> bytes:
        """Return the modulus, most significant byte first."""
        return self.modulus.to_bytes(self.size, "big")

    @classmethod
    def from_bytes(cls, data: bytes) -> PublicKey:
        """Return the key with the modulus in `data`, or raise an error that names its fault."""
        modulus = int.from_bytes(data, "big")
        fault = fault_of_modulus(modulus, KEY_BITS)
        if len(data) != KEY_BITS // 8:
            fault = f"has {len(data)} bytes"
        if fault is not None:
            raise BlindingError(f"must be {rule_for_moduli(KEY_BITS)}; this one {fault}")
        return cls(modulus)


@dataclass(frozen=True)
class SecretKey:
    """A secret key: the two primes of its modulus."""

    first: int
    second: int

    @property
    def public(self) -> PublicKey:
        """The public key of this secret key."""
        return PublicKey(self.first * self.second)


@dataclass(frozen=True)
class Blinded:
    """A message for the signer, and the inverse that unblinds the answer and stays local."""

    message: bytes
    inverse: int


def new_key(bits: int = KEY_BITS) -> SecretKey:
    """Return a new key with a modulus of `bits` bits, from the system's randomness."""
    while True:
        first, second = _prime(bits // 2), _prime(bits // 2)
        # Primes that are close to each other can be found from their product.
        if abs(first - second) >> (bits // 2 - 100):
            return SecretKey(first, second)


def prepare(message: bytes) -> bytes:
    """Return `message` behind a random prefix: the bytes signed, and shown with the signature."""
    return secrets.token_bytes(PREFIX_BYTES) + message


def blind(
    key: PublicKey, prepared: bytes, *, salt: bytes | None = None, factor: int | None = None
) -> Blinded:
    """Blind a prepared message for the signer; `salt` and `factor` are random by default.

    Refuses a message or a factor that has a divisor with the modulus (RFC 9474, Blind, step 3):
    the signer would see the divisor in its input, and see it again in the signature. With
    two large primes that happens once in 2^1000 times; if it happens, the modulus is a bad one.
    """
    encoded = int.from_bytes(_encode(key, prepared, salt), "big")
    if factor is None:
        factor = 1 + secrets.randbelow(key.modulus - 1)
    if math.gcd(encoded * factor, key.modulus) != 1:
        raise BlindingError("a message and its blinding factor must have inverses")
    hidden = encoded * pow(factor, EXPONENT, key.modulus) % key.modulus
    return Blinded(hidden.to_bytes(key.size, "big"), pow(factor, -1, key.modulus))


def blind_sign(key: SecretKey, blinded: bytes, *, below: Below = secrets.randbelow) -> bytes:
    """Sign the message hidden in `blinded`; the signature is deterministic."""
    public = key.public
    modulus, asked = public.modulus, int.from_bytes(blinded, "big")
    if len(blinded) != public.size or not asked < modulus:
        raise BlindingError(f"a blinded message must be a number of {public.size} bytes below n")
    mask = 1 + below(modulus - 1)
    masked = asked * pow(mask, EXPONENT, modulus) % modulus
    signed = _power(key, masked) * pow(mask, -1, modulus) % modulus
    if pow(signed, EXPONENT, modulus) != asked:
        raise BlindingError("a signature must be right before it is given away; this one is not")
    return signed.to_bytes(public.size, "big")


def finalize(
    key: PublicKey,
    prepared: bytes,
    answer: bytes,
    inverse: int,
    *,
    salt_bytes: int = SALT_BYTES,
) -> bytes:
    """Return the verified signature of a prepared message, from the signer's answer."""
    if len(answer) != key.size:
        raise BlindingError(f"a signer's answer must have {key.size} bytes; got {len(answer)}")
    opened = int.from_bytes(answer, "big") * inverse % key.modulus
    signature = opened.to_bytes(key.size, "big")
    if not verify(key, prepared, signature, salt_bytes=salt_bytes):
        raise BlindingError("a signer's answer must sign what it was asked to; this one does not")
    return signature


def verify(
    key: PublicKey, prepared: bytes, signature: bytes, *, salt_bytes: int = SALT_BYTES
) -> bool:
    """Return whether `signature` is a signature of the prepared message, in its one form.

    The library also accepts a signature that lacks a leading zero byte.
    """
    if len(signature) != key.size:
        return False
    try:
        _loaded(key.modulus).verify(signature, prepared, _scheme(salt_bytes), _HASH)
    except InvalidSignature:
        return False
    return True


@functools.lru_cache(maxsize=4)
def _scheme(salt_bytes: int) -> padding.PSS:
    """Return the PSS scheme; building it takes a tenth of a signature's time."""
    return padding.PSS(padding.MGF1(_HASH), salt_length=salt_bytes)


@functools.lru_cache(maxsize=256)
def _loaded(modulus: int) -> rsa.RSAPublicKey:
    """Return the key as the library takes it, which checks signatures faster than integers do."""
    return rsa.RSAPublicNumbers(EXPONENT, modulus).public_key()


def _encoded_size(key: PublicKey) -> int:
    """Return the number of bytes of an encoded message: one bit less than the modulus has."""
    return (key.modulus.bit_length() - 1 + 7) // 8


def _encode(key: PublicKey, prepared: bytes, salt: bytes | None) -> bytes:
    """Encode a prepared message by EMSA-PSS-ENCODE of RFC 8017 with SHA-384 throughout."""
    salt = secrets.token_bytes(SALT_BYTES) if salt is None else salt
    size = _encoded_size(key)
    hashed = _hashed(prepared, salt)
    data = bytes(size - len(salt) - _HASH_BYTES - 2) + b"\x01" + salt
    masked = bytearray(_xor(data, _mask(hashed, len(data))))
    masked[0] &= 0xFF >> (8 * size - (key.modulus.bit_length() - 1))
    return bytes(masked) + hashed + b"\xbc"


def _hashed(prepared: bytes, salt: bytes) -> bytes:
    inner = hashlib.sha384(prepared).digest()
    return hashlib.sha384(bytes(8) + inner + salt).digest()


def _mask(seed: bytes, length: int) -> bytes:
    """Return `length` bytes of MGF1 from `seed`."""
    blocks = range(-(-length // _HASH_BYTES))
    stream = b"".join(hashlib.sha384(seed + i.to_bytes(4, "big")).digest() for i in blocks)
    return stream[:length]


def _xor(one: bytes, other: bytes) -> bytes:
    mixed = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    return mixed.to_bytes(len(one), "big")


def _power(key: SecretKey, number: int) -> int:
    """Return `number` to the secret exponent, by the Chinese remainder theorem."""
    first, second = key.first, key.second
    one, other = (pow(number, pow(EXPONENT, -1, p - 1), p) for p in (first, second))
    return other + second * ((one - other) * pow(second, -1, first) % first)


def _prime(bits: int) -> int:
    """Return a random prime with both of its highest bits set, so that a product has all its
    bits.
    """
    while True:
        number = secrets.randbits(bits) | 3 << (bits - 2) | 1
        if math.gcd(number - 1, EXPONENT) == 1 and _is_prime(number):
            return number


def _is_prime(number: int) -> bool:
    if any(number % prime == 0 for prime in _SMALL_PRIMES):
        return False
    twos = ((number - 1) & (1 - number)).bit_length() - 1
    odd = (number - 1) >> twos
    for _ in range(_ROUNDS):
        power = pow(2 + secrets.randbelow(number - 3), odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True
