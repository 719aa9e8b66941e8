"""An issuer that cheats, and a collector that helps it: what they can link of what they saw.

The issuer's modulus is a product of many primes. A message that shares one of them with the modulus
shows it twice: gcd(blinded, n) when it is signed, and gcd(signature^e mod n, n) when the token is
spent. Both servers are one process here that keeps everything it hears, over real HTTP.
"""

from __future__ import annotations

import base64
import functools
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from rumor.contract.collection import Collection
from rumor.contract.issuing import MESSAGE_BYTES, Issuer
from rumor.core.blind_rsa import EXPONENT, KEY_BITS, PublicKey, _is_prime
from tests.impostor import Heard, Told, impostor
from tests.issuers import blind_collection

QUESTION = {"id": "colour", "kind": "choice", "labels": ["red", "green"], "epsilon": 1.0}


def product_of_primes(above: int) -> list[int]:
    """Return primes from `above` on, and a larger one, whose product has the bits of a modulus."""
    primes, number = list[int](), above | 1
    while math.prod(primes).bit_length() < KEY_BITS - 64:
        if _is_usable(number):
            primes.append(number)
        number += 2
    last = (3 << KEY_BITS - 2) // math.prod(primes) | 1
    while not _is_usable(last):
        last += 2
    return [*primes, last]


def _is_usable(number: int) -> bool:
    """Whether a number is a prime by which the exponent can be inverted."""
    known = number < 4_000_000  # smaller than what Miller and Rabin's test here is made for
    divided = known and any(number % d == 0 for d in range(3, math.isqrt(number) + 1, 2))
    return not divided and (number - 1) % EXPONENT != 0 and (known or _is_prime(number))


@dataclass
class Dishonest:
    """What issuer and collector know together: their key, what was signed, what was spent."""

    primes: Sequence[int]
    url: str = ""
    signed: dict[bytes, list[int]] = field(default_factory=dict)
    """Blinded messages by the credential of whoever asked, in the order of the first asking."""
    spent: dict[bytes, int] = field(default_factory=dict)
    """Signatures by the id of the report that came with them, in order."""
    sign: Callable[[Dishonest, bytes, Sequence[int]], Sequence[int] | None] | None = None
    """What it answers instead of signatures; None where it refuses."""

    @property
    def key(self) -> PublicKey:
        return PublicKey(math.prod(self.primes))

    def collection(self) -> Collection:
        """A contract with this key, as if no reader had looked at it."""
        return replace(self.honest_collection(), issuer=Issuer(self.url, {"colour": self.key}))

    def honest_collection(self) -> Collection:
        """The same contract with a good key, which every reader takes."""
        return blind_collection(questions=[QUESTION], issuer=_one_key(self.url))

    def signature(self, blinded: int) -> int:
        """The right signature, from its remainders by all primes."""
        return (
            sum(pow(blinded, secret, p) * part for p, secret, part in self._by_prime)
            % self.key.modulus
        )

    @functools.cached_property
    def _by_prime(self) -> list[tuple[int, int, int]]:
        """Each prime, its secret exponent, and the number that is 1 by it and 0 by the others."""
        rest = [(p, self.key.modulus // p) for p in self.primes]
        return [(p, pow(EXPONENT, -1, p - 1), other * pow(other, -1, p)) for p, other in rest]

    def answer(self, heard: Heard) -> Told:
        """Serve the contract, sign and take reports; keep all that may link them."""
        if heard.method == "GET":
            contract = self.collection()
            told = {"contract": contract.contract(), "digest": contract.digest, "open": True}
            return 200, told, {}
        if heard.path.endswith("/v1/tokens"):
            asked = json.loads(heard.body)
            blinded = [
                int.from_bytes(base64.b64decode(t["blinded"]), "big") for t in asked["tokens"]
            ]
            who = base64.b64decode(asked["credential"])
            signed = (self.sign or _honest)(self, who, blinded)
            self.signed[who] = blinded
            if signed is None:
                problem = {"type": "urn:rumor:problem:not-admitted", "detail": "no"}
                return 403, problem, {"Content-Type": "application/problem+json"}
            texts = [base64.b64encode(s.to_bytes(256, "big")).decode() for s in signed]
            return 200, {"signatures": texts}, {}
        token = bytes.fromhex(heard.headers["rumor-token"])
        self.spent[heard.body[:16]] = int.from_bytes(token[MESSAGE_BYTES:], "big")
        return 200, {"accepted": 1, "duplicates": 0}, {}

    def linked(self, owners: Mapping[bytes, bytes]) -> int:
        """How many reports (their ids to credentials in `owners`) the divisors tie to a person."""
        n = self.key.modulus
        marks = {who: math.gcd(blinded[-1], n) for who, blinded in self.signed.items()}
        seen = Counter(marks.values())
        right = 0
        for id, signature in self.spent.items():
            mark = math.gcd(pow(signature, EXPONENT, n), n)
            right += mark > 1 and seen[mark] == 1 and marks[owners[id]] == mark
        return right

    def linked_by_order(self, owners: Mapping[bytes, bytes]) -> int:
        """How many reports came in the place in which their person was signed for."""
        order = [who for who in self.signed if who in set(owners.values())]
        return sum(owners[id] == who for id, who in zip(self.spent, order, strict=False))


@dataclass
class Whims:
    """An issuer that signs, refuses, signs wrongly, repeats itself or tags, as it likes."""

    seed: int
    done: Counter[str] = field(default_factory=Counter)
    asked: dict[bytes, set[tuple[int, ...]]] = field(default_factory=dict)
    """What each person asked for, however often: one thing, or asking again would tell more."""

    def __post_init__(self) -> None:
        self._random, self._before = random.Random(self.seed), [1]

    def __call__(
        self, issuer: Dishonest, who: bytes, blinded: Sequence[int]
    ) -> Sequence[int] | None:
        """Answer one request."""
        self.asked.setdefault(who, set()).add(tuple(blinded))
        right, n = _honest(issuer, who, blinded), issuer.key.modulus
        whim = self._random.choice(("sign", "sign", "refuse", "lie", "repeat", "tag", "few"))
        self.done[whim] += 1
        earlier, self._before = self._before, list(right)
        tag = pow(3, len(self.asked), n)
        answers: dict[str, Sequence[int] | None] = {
            "refuse": None,
            "lie": [self._random.randrange(n) for _ in right],
            "repeat": earlier[: len(right)],
            "tag": [each * tag % n for each in right],
            "few": right[1:],
        }
        return answers.get(whim, right)


def _honest(issuer: Dishonest, who: bytes, blinded: Sequence[int]) -> Sequence[int]:
    return [issuer.signature(each) for each in blinded]


def _one_key(url: str) -> dict[str, object]:
    """A good key for the one question, where a contract has to be resolved first."""
    issuer = blind_collection(url).contract()["issuer"]
    assert isinstance(issuer, dict)
    return {"url": url, "keys": {"colour": issuer["keys"]["colour"]}}


@contextmanager
def dishonest(primes: Sequence[int]) -> Iterator[Dishonest]:
    """While this lasts, an issuer with this key and its collector listen at one address."""
    found = Dishonest(primes)
    with impostor(found.answer) as server:
        found.url = server.url
        yield found
