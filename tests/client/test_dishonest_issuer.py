"""An issuer that cheats links nobody, by its key or by what it answers: in both languages."""

from __future__ import annotations

import itertools
import math
import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from rumor.client.client import Client
from rumor.contract.admission import new_invitation, read_invitation
from rumor.contract.issuing import credential, token_message
from rumor.core import blind_rsa
from rumor.core.blind_rsa import BlindingError, _small_factor, blind
from rumor.core.errors import InputError
from tests.dishonest import Dishonest, Whims, dishonest, product_of_primes
from tests.issuers import SECRETS, VECTORS
from tests.javascript import node, steps

PEOPLE = 60
SMALL, LARGE = product_of_primes(61), product_of_primes(1 << 20)
MARKED = (
    "an issuer's key must be a product of two large primes; that for question 'colour' of {url} "
    "shares a factor with a token of this device, and could mark it; nothing was sent there"
)


@dataclass(frozen=True)
class Person:
    """What became of one person."""

    said: Sequence[str]
    ids: Sequence[bytes]
    spent: float


Crowd = Callable[[Path, Dishonest, Sequence[str], Sequence[int], int], list[Person]]


def python_people(
    folder: Path, issuer: Dishonest, codes: Sequence[str], order: Sequence[int], tries: int
) -> list[Person]:
    """Everybody enrols, and answers in this order, with the client in Python."""
    contract, said = issuer.collection(), {code: list[str]() for code in codes}
    made: dict[str, tuple[list[bytes], float]] = {}

    def device(code: str) -> Client:
        return Client(issuer.url, folder / code[-12:], contract, invitation=code, attempts=1)

    for code in codes:
        for _ in range(tries):
            with device(code) as client:
                try:
                    client.enrol()
                    break
                except InputError as problem:
                    said[code].append(str(problem))
    for place in order:
        code = codes[place]
        for _ in range(tries):
            with device(code) as client:
                try:
                    client.answer({"colour": "red"})
                    break
                except InputError as problem:
                    said[code].append(str(problem))
        with device(code) as client:
            made[code] = [each.id for each in client._respondent.withdrawable()], client.spent
    return [Person(said[code], *made[code]) for code in codes]


def javascript_people(
    folder: Path, issuer: Dishonest, codes: Sequence[str], order: Sequence[int], tries: int
) -> list[Person]:
    """The same with the client for browsers, in Node."""
    given = {
        "contract": issuer.honest_collection().canonical().decode(),
        "issuer": issuer.collection().contract()["issuer"],
        "url": issuer.url,
        "invitations": list(codes),
        "tries": tries,
        "order": list(order),
    }
    return [
        Person(each["said"], [bytes.fromhex(id) for id in each["ids"]], each["spent"])
        for each in node("dishonest.mjs", given=given)
    ]


CROWDS = [python_people, javascript_people]


def misused(folder: Path, primes: Sequence[int], crowd: Crowd, people: int, seed: int) -> Whims:
    """Enrol many people with an issuer of many whims, let them answer, and balance the books.

    Nobody is linked by a divisor of the key, and by the order of things no more than by chance;
    who answered spent what one answer costs and is heard once, who did not spent nothing.
    """
    codes = [new_invitation() for _ in range(people)]
    order = random.Random(seed).sample(range(people), people)
    with dishonest(primes) as issuer:
        issuer.sign = whims = Whims(seed)
        found = crowd(folder, issuer, codes, order, 12)
        who = [credential(read_invitation(code), "series") for code in codes]
        owners = {id: mine for mine, each in zip(who, found, strict=True) for id in each.ids}
        assert issuer.linked(owners) == 0
        # Without anything to go by one person is found on average, nine once in a million times.
        assert issuer.linked_by_order(owners) <= 9
        assert set(owners) == set(issuer.spent)
        assert all(each.spent == len(each.ids) <= 1 for each in found)
        # A device asks for one token, however often it asks: nothing adds up over answers.
        assert all(len(asked) == 1 for asked in whims.asked.values())
        whims.done["spent"] += len(issuer.spent)
    return whims


@pytest.mark.parametrize("crowd", CROWDS)
def test_an_issuer_of_many_whims_links_nobody_and_costs_nobody_anything(
    tmp_path: Path, crowd: Crowd
) -> None:
    key = SECRETS[0]
    whims = misused(tmp_path, [key.first, key.second], crowd, 20, seed=3)
    assert whims.done["spent"] >= 18
    assert min(whims.done.values()) > 0


@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize("primes", [SMALL, LARGE], ids=["small", "above-2-to-20"])
def test_divisors_of_the_key_link_nobody(
    tmp_path: Path, primes: Sequence[int], crowd: Crowd
) -> None:
    """Even where nobody looked at the key before: the check of each message is enough alone."""
    codes = [new_invitation() for _ in range(PEOPLE)]
    order = random.Random(7).sample(range(PEOPLE), PEOPLE)
    with dishonest(primes) as issuer:
        people = crowd(tmp_path, issuer, codes, order, 8)
        who = [credential(read_invitation(code), "series") for code in codes]
        owners = {id: mine for mine, each in zip(who, people, strict=True) for id in each.ids}
        assert issuer.linked(owners) <= 1
        said = {sentence for each in people for sentence in each.said}
        if primes is SMALL:
            # Nearly everybody was warned, and insisted: enough were signed for to link some.
            assert len(issuer.spent) > PEOPLE // 2
            assert MARKED.format(url=issuer.url) in said
            unsaid = {s for s in said if "is for invited people" not in s}
            assert unsaid == {MARKED.format(url=issuer.url)}
        else:
            assert len(issuer.spent) >= PEOPLE - 1
        # Who was refused spent nothing, who was not spent what one answer costs.
        assert all(each.spent == len(each.ids) for each in people)
        assert {id for each in people for id in each.ids} == set(issuer.spent)


# No prime below 2^20 divides it, and its cube has 2048 bits.
ROUGH = next(n for n in itertools.count(3 << 681 | 1, 2) if _small_factor(n) is None)
WRONG = {
    "has 2047 bits": math.prod(LARGE) >> 1 | 1,
    "is even": math.prod(LARGE) - 1,
    "is divisible by 61": math.prod(SMALL),
    "is divisible by 1048573": math.prod(product_of_primes(1_048_573)),
    "is a number to the power of 2": SECRETS[0].first ** 2,
    "is a number to the power of 3": ROUGH**3,
    "is a number to the power of 97": 2_260_009**97,
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_key_that_is_seen_to_be_none_is_refused_when_a_contract_is_read(
    tmp_path: Path, fault: str
) -> None:
    """Over HTTP, by the same sentence in both languages, before anything is made."""
    with dishonest([WRONG[fault]]) as issuer:
        with Client(issuer.url, tmp_path, attempts=1) as client:
            with pytest.raises(InputError) as refusal:
                client.answer({"colour": "red"})
            assert client.spent == 0
        (found,) = steps({"step": "fetch", "url": f"{issuer.url}/v1/collection"})
    assert found == {"code": "contract", "error": str(refusal.value)}
    assert str(refusal.value) == (
        "the key of question 'colour' must be an odd number of 2048 bits, no power of another "
        f"number, without a prime factor below 2^20; this one {fault}"
    )


def test_a_key_with_primes_just_above_is_read_in_both_languages(tmp_path: Path) -> None:
    with dishonest(LARGE) as issuer, Client(issuer.url, tmp_path) as client:
        digest = client.collection().digest
        assert steps({"step": "fetch", "url": f"{issuer.url}/v1/collection"}) == [digest]


def test_a_message_that_shares_a_prime_with_the_key_is_blinded_in_no_language() -> None:
    """Found by search: one of ten thousand, where no prime is below 2^20."""
    key, n = blind_rsa.PublicKey(math.prod(LARGE)), math.prod(LARGE)
    opening = VECTORS["tokens"][0]["opening"]
    message = token_message(bytes.fromhex(opening))
    salts = (secrets.token_bytes(48) for _ in range(1_000_000))
    marked = next(
        salt
        for salt in salts
        if math.gcd(int.from_bytes(blind_rsa._encode(key, message, salt), "big"), n) > 1
    )
    plain = bytes(48)
    token = {"key": f"{n:x}", "opening": opening, "answer": "00" * 256}
    given = [
        (marked, 3, False),
        (plain, LARGE[0], False),
        (plain, 3, True),
    ]
    for salt, factor, good in given:
        if good:
            blind(key, message, salt=salt, factor=factor)
        else:
            with pytest.raises(BlindingError):
                blind(key, message, salt=salt, factor=factor)
    tokens = [{**token, "salt": s.hex(), "factor": f"{factor:x}"} for s, factor, _ in given]
    found = node("blind.mjs", given={"people": [], "tokens": tokens})["tokens"]
    assert ["blinded" in each for each in found] == [False, False, True]
