"""The longitudinal law over every mechanism that keeps answers or is asked in rounds.

And seven ways of keying permanent noise that were, or might have been, thought right: the law
must catch each of them.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from rumor.client.ledger import Ledger
from rumor.contract.collection import Collection, Question
from rumor.core.randomness import Draws, Keyed
from rumor.mechanisms import BasicRappor, Mechanism, PrivKVM, RandomizedResponse, Rappor
from rumor.mechanisms.open_words.open_words import OpenWords
from rumor.mechanisms.permanent import PermanentAnswers, PermanentBits
from tests.laws.longitudinal import (
    PERMANENT,
    Family,
    InWorld,
    Step,
    World,
    WorldDraws,
    judge,
    meet,
)

WORDS = ("a", "b", "c")
WORD_VALUES = [(word,) for word in WORDS]


def _key(collide: tuple[str, str], **shape: int) -> bytes:
    """A key under which these two words have one filter and the third another."""
    for number in range(10_000):
        key = number.to_bytes(2, "big")
        bloom = rappor(key=key, **shape).bloom
        filters = {word: bloom.filter(word, 0) for word in WORDS}
        (third,) = set(WORDS) - set(collide)
        if filters[collide[0]] == filters[collide[1]] != filters[third]:
            return key
    raise AssertionError("there is such a key")


def rappor(**changed: object) -> Rappor:
    usual = {"bits": 2, "hashes": 1, "cohorts": 1, "f": 0.5, "p": 0.25, "q": 0.75, "key": b"k"}
    return Rappor(**{**usual, **changed})  # type: ignore[arg-type]


def basic(labels: str, **changed: float) -> BasicRappor:
    noise = {"f": 0.5, "p": 0.25, "q": 0.75, **changed}
    return BasicRappor(domain=list(labels), f=noise["f"], p=noise["p"], q=noise["q"])


def open_words(**changed: object) -> OpenWords:
    usual: dict[str, object] = {"code": [[1, "a"], [2, "b", ""]], "step": 1, "weights": [1, 2]}
    usual |= {"cohorts": 1, "buckets": 2, "epsilon": 1.0, "key": b"k"}
    return OpenWords(**{**usual, **changed})  # type: ignore[arg-type]


def _open_key(collide: tuple[str, str]) -> bytes:
    """A key under which these two words share their bucket at every level, and no other does."""
    for number in range(10_000):
        key = number.to_bytes(2, "big")
        asked = open_words(key=key)
        places = {word: [asked.bucket(word, level, 0) for level in (0, 1)] for word in WORDS}
        (third,) = set(WORDS) - set(collide)
        shared = places[collide[0]] == places[collide[1]]
        if shared and not any(
            x == y for x, y in zip(places[third], places[collide[0]], strict=True)
        ):
            return key
    raise AssertionError("there is such a key")


OPEN_ONE, OPEN_TWO = _open_key(("a", "b")), _open_key(("a", "c"))
ONE, TWO = _key(("a", "b")), _key(("a", "c"))
FOUR = _key(("a", "b"), bits=4)
once = functools.partial(rappor, p=0, q=1)
first = PrivKVM(keys=1, epsilon=2.0, rounds=3, steps=1)
second = first.next([0.5])
pairs = [({},), ({0: -1.0},), ({0: 1.0},)]


def labels(given: str) -> list[tuple[object, ...]]:
    return [(label,) for label in given]


FAMILIES = {
    "rappor: one contract": Family([[rappor(key=ONE)]], WORD_VALUES),
    "rappor: one-time, one contract": Family([[once(key=ONE)]], WORD_VALUES),
    "rappor: key revised": Family([[rappor(key=ONE)], [rappor(key=TWO)]], WORD_VALUES),
    "rappor: one-time, key revised": Family([[once(key=ONE)], [once(key=TWO)]], WORD_VALUES),
    "rappor: bits revised": Family(
        [[rappor(key=ONE)], [rappor(key=FOUR, bits=4)]], WORD_VALUES, lengths=(2,)
    ),
    "rappor: cohorts revised": Family(
        [[rappor(key=ONE)], [rappor(key=ONE, cohorts=2)]], WORD_VALUES, lengths=(2,)
    ),
    "rappor: f revised": Family([[rappor(key=ONE)], [rappor(key=ONE, f=0.25)]], WORD_VALUES),
    "rappor: one-time, f revised": Family([[once(key=ONE)], [once(key=ONE, f=0.25)]], WORD_VALUES),
    "rappor: p and q revised": Family(
        [[rappor(key=ONE)], [rappor(key=ONE, p=0.4, q=0.6)]], WORD_VALUES
    ),
    "rappor: two collectors of one name": Family(
        [[rappor(key=ONE)], [rappor(key=ONE, p=0.4, q=0.6)]], WORD_VALUES, strangers=True
    ),
    "rappor: one-time, two collectors of one name": Family(
        [[once(key=ONE)], [once(key=ONE)]], WORD_VALUES, strangers=True
    ),
    "rappor: fresh noise dropped": Family(
        [[rappor(key=ONE)], [once(key=ONE)]], WORD_VALUES, lengths=(2,)
    ),
    "open words: one contract": Family([[open_words(key=OPEN_ONE)]], WORD_VALUES),
    "open words: key revised": Family(
        [[open_words(key=OPEN_ONE)], [open_words(key=OPEN_TWO)]], WORD_VALUES, lengths=(2,)
    ),
    "open words: code revised": Family(
        [[open_words(key=OPEN_ONE)], [open_words(key=OPEN_ONE, code=[[1, "c"], [2, "b", ""]])]],
        WORD_VALUES,
        lengths=(2,),
    ),
    "open words: levels and cohorts revised": Family(
        [[open_words(key=OPEN_ONE)], [open_words(key=OPEN_ONE, weights=[1, 1, 1], cohorts=2)]],
        WORD_VALUES,
        lengths=(2,),
    ),
    "open words: epsilon revised": Family(
        [[open_words(key=OPEN_ONE)], [open_words(key=OPEN_ONE, epsilon=0.5)]], WORD_VALUES
    ),
    "open words: the answer of a period": Family(
        [[open_words(key=OPEN_ONE)], [open_words(key=OPEN_TWO)]],
        WORD_VALUES,
        lengths=(2,),
        period_days=7,
        days=(0, 7),
    ),
    "basic: labels reordered": Family(
        [[basic("ab")], [basic("ba")]], labels("ab"), kinds=["choice"]
    ),
    "basic: one-time, three labels reordered": Family(
        [[basic("abc", p=0, q=1)], [basic("bca", p=0, q=1)]], labels("abc"), kinds=["choice"]
    ),
    "basic: a label added": Family(
        [[basic("ab")], [basic("abc")]], labels("ab"), lengths=(2,), kinds=["choice"]
    ),
    "basic: f revised": Family(
        [[basic("ab")], [basic("ab", f=0.25)]], labels("ab"), kinds=["choice"]
    ),
    "basic: p and q revised": Family(
        [[basic("ab")], [basic("ab", p=0.4, q=0.6)]], labels("ab"), kinds=["choice"]
    ),
    "privkvm: three rounds": Family(
        [[first], [second], [second.next([-0.5])]], pairs, kinds=["keyvalue"], in_order=True
    ),
    "fresh: epsilon revised": Family(
        [
            [RandomizedResponse(domain=["a", "b", "c"], epsilon=1.0)],
            [RandomizedResponse(domain=["a", "b", "c"], epsilon=0.5)],
        ],
        labels("abc"),
        kinds=["choice"],
    ),
    "two questions": Family(
        [[rappor(key=ONE), basic("ab")], [rappor(key=TWO), basic("ba")]],
        [("a", "a"), ("b", "b"), ("c", "a")],
        lengths=(2,),
        kinds=["text", "choice"],
    ),
    "rappor: the answer of a period": Family(
        [[rappor(key=ONE)], [rappor(key=TWO)]],
        WORD_VALUES,
        lengths=(2,),
        period_days=7,
        days=(0, 7),
    ),
    "basic: the answer of a period": Family(
        [[basic("ab")], [basic("ba")]], labels("ab"), kinds=["choice"], period_days=7, days=(0, 7)
    ),
}


# Enumerated for long; their near relations, which differ in one parameter, always run.
LONG = {
    "rappor: f revised",
    "rappor: p and q revised",
    "rappor: one-time, f revised",
    "rappor: one-time, key revised",
    "basic: the answer of a period",
    "open words: epsilon revised",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in FAMILIES],
)
def test_no_transcript_tells_more_than_the_ledger_charged(name: str, tmp_path: Path) -> None:
    verdict = judge(FAMILIES[name], tmp_path)
    assert verdict.violations == 0, verdict
    assert verdict.attained, "the ledger charges no more than can be lost"
    assert verdict.honest, "the ledger adds up to what was made"


def test_every_mechanism_that_keeps_answers_is_under_the_law() -> None:
    under = {type(m) for family in FAMILIES.values() for c in family.contracts for m in c}
    assert set(PERMANENT) <= under
    assert {PrivKVM, RandomizedResponse} <= under


def test_a_limit_stops_alike_people_at_the_same_step(tmp_path: Path) -> None:
    # Whether a report leaves must not depend on the value, nor on what the filter makes of it.
    family = FAMILIES["rappor: key revised"]
    for order in family.orders():
        stops: dict[object, set[int | None]] = {}
        for sequence in [
            (x, y, z)[: len(order)] for x in WORD_VALUES for y in WORD_VALUES for z in WORD_VALUES
        ]:
            record = meet(tmp_path, family.steps(order, sequence), max_epsilon=2.5)
            stops.setdefault(family.pattern(order, sequence), set()).add(record.refused)
        assert all(len(stop) == 1 for stop in stops.values())
    assert {1, 2, None} >= {one for stop in stops.values() for one in stop} != {None}


# --- Seven wrong keys ----------------------------------------------------------------------------


def _filter(mechanism: PermanentAnswers, value: object) -> bytes:
    """What the contract makes of a value."""
    if isinstance(mechanism, Rappor):
        return mechanism.bloom.filter(str(value), 0)
    if isinstance(mechanism, OpenWords):
        return bytes(mechanism.bucket(value, level, 0) for level in range(mechanism.levels))
    assert isinstance(mechanism, BasicRappor)
    return (1 << mechanism.code(value)).to_bytes(4, "little")


def by_filter(self: PermanentAnswers, value: object, permanent: Keyed) -> Keyed:
    return permanent.extend("permanent bits", _filter(self, value))


def by_value(self: PermanentAnswers, value: object, permanent: Keyed) -> Keyed:
    return permanent.extend(str(value))


def by_value_and_filter(self: PermanentAnswers, value: object, permanent: Keyed) -> Keyed:
    return permanent.extend(str(value), _filter(self, value))


def by_contract_and_filter(self: PermanentAnswers, value: object, permanent: Keyed) -> Keyed:
    return permanent.extend(self.memo_digest, _filter(self, value))


class BitByBit(Keyed):
    """The noise of each bit keyed by what the bit is."""

    def __init__(self, permanent: Keyed, cell: str, bits: bytes) -> None:
        self._permanent, self._cell, self._bits = permanent, cell, bits
        self.name = (permanent._context, cell, bits)

    def in_world(self, world: World) -> Keyed:
        context = (*self._permanent._context, self._cell)
        return BitsInWorld(world, context, int.from_bytes(self._bits, "little"))


class BitsInWorld(InWorld):
    def __init__(self, world: World, context: tuple[object, ...], bits: int) -> None:
        super().__init__(world, context)
        self._bits = bits

    def draws(self) -> Draws:
        world, context, bits = self._world, self._of, self._bits

        class Lanes(WorldDraws):
            def _word(self) -> tuple[tuple[object, ...], int]:
                place = self.place
                self.place += 1
                return (*context, bits >> place & 1), place

        return Lanes(world, context)


def by_contract_and_bit(self: PermanentAnswers, value: object, permanent: Keyed) -> Keyed:
    return BitByBit(permanent, self.memo_digest, _filter(self, value))


Mutant = Callable[[pytest.MonkeyPatch], object]


def keyed(noise_of: Callable[..., Keyed]) -> Mutant:
    return lambda patch: patch.setattr(PermanentAnswers, "noise_of", noise_of)


WRONG: dict[str, tuple[Mutant, str]] = {
    "the filter": (keyed(by_filter), "rappor: one-time, one contract"),
    "the value": (keyed(by_value), "rappor: one-time, key revised"),
    "the value, labels reordered": (keyed(by_value), "basic: one-time, three labels reordered"),
    "the value and the filter": (keyed(by_value_and_filter), "rappor: one-time, key revised"),
    "the contract and the filter": (
        keyed(by_contract_and_filter),
        "rappor: one-time, one contract",
    ),
    "the contract, bit by bit": (
        keyed(by_contract_and_bit),
        "basic: one-time, three labels reordered",
    ),
    "a cell without f": (
        lambda patch: patch.setattr(PermanentBits, "FRESH", ("low", "high", "flip")),
        "rappor: one-time, f revised",
    ),
    "the bucket of an open word": (
        keyed(by_contract_and_filter),
        "open words: one contract",
    ),
    "a period whose answer is not kept": (
        lambda patch: patch.setattr(Ledger, "permanent_answer", lambda self, row: None),
        "rappor: the answer of a period",
    ),
    "rounds charged once": (
        lambda patch: patch.setattr(Ledger, "_losses", lambda self, series=None: _largest(self)),
        "privkvm: three rounds",
    ),
}


def _largest(ledger: Ledger) -> list[float]:
    rows = ledger._database.execute("SELECT MAX(epsilon) FROM answer").fetchone()
    return [row for row in rows if row is not None]


@pytest.mark.parametrize("name", WRONG)
def test_the_law_catches(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil, family = WRONG[name]
    spoil(monkeypatch)
    assert judge(dataclasses.replace(FAMILIES[family], lengths=(2,)), tmp_path).violations > 0


def test_a_shared_row_of_different_f_would_lose_far_more_than_it_charges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    WRONG["a cell without f"][0](monkeypatch)
    family = dataclasses.replace(FAMILIES["rappor: one-time, f revised"], lengths=(2,))
    assert judge(family, tmp_path).worst > 1


# --- Nobody who keeps to a contract is stopped by it ---------------------------------------------

KINDS_OF = {"rappor": "text", "open-words": "words", "privkvm": "keyvalue"}
COUNTED: list[type[Mechanism]] = [*PERMANENT, RandomizedResponse, PrivKVM]
EVERY = [one for kind in COUNTED for one in kind.examples()]


FIRST = {one.name: number for number, one in reversed(list(enumerate(EVERY)))}


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(n, marks=[] if n in FIRST.values() else [pytest.mark.slow])
        for n in range(len(EVERY))
    ],
    ids=lambda number: EVERY[number].name,
)
def test_no_sum_of_answers_is_stopped_within_the_contract(number: int, tmp_path: Path) -> None:
    """Whatever was answered before, and whatever was equal: rounding decides nothing."""
    mechanism = EVERY[number]
    if mechanism.round > 1:
        return  # a later round needs the earlier ones
    values = [(value,) for value in list(mechanism.inputs())[:3]]
    # A mechanism without permanent noise may be asked once, if it is RAPPOR.
    reports = 4 if mechanism.permanence.is_memoised or not hasattr(mechanism, "noise") else 1
    kind = KINDS_OF.get(mechanism.name, "choice")
    question = Question("q0", kind, "", mechanism, reports, None)
    contract = Collection("A law", "law", "nobody", (question,))
    for sequence in itertools.product(values, repeat=reports):
        steps = [Step(contract, {"q0": value}) for (value,) in sequence]
        assert meet(tmp_path, steps).refused is None, sequence


@pytest.mark.parametrize("tenths", range(1, 31))
def test_fresh_noise_has_no_memory_at_the_ceiling(tenths: int, tmp_path: Path) -> None:
    # Four reports of epsilon 0.1: rows by value refused the fourth report of aaab alone.
    mechanism = RandomizedResponse(domain=["a", "b"], epsilon=tenths / 10)
    question = Question("q0", "choice", "", mechanism, 4, None)
    contract = Collection("A law", "law", "nobody", (question,))
    for answers in ("aaaa", "aaab", "abab", "abbb"):
        record = meet(tmp_path, [Step(contract, {"q0": answer}) for answer in answers])
        assert record.refused is None, answers
        assert record.charged == mechanism.epsilon_after(4)
