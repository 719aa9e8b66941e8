"""The longitudinal law: what a device and its ledger promise over time, in exact fractions.

A real device (secret, ledger, pins and all) answers a sequence of contracts. What it does is
recorded at the one place where chance enters: which answers it settles, from which keyed noise,
and which of them each report restates. Its secret is then forgotten: noise of different keys is
independent and noise of one key is the same, which is what a keyed hash stands for. Every way
that this noise can fall is walked through the mechanisms' own code, so the joint law of all the
reports is exact, and no model of the device stands between the code and the law.

The law: two sequences of values are *alike* when within each cell (everything public that turns
a value into its permanent answer) they repeat at the same times. No transcript is more likely
under one than under the other by more than e to what the ledger charged.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import pytest

from rumor.client import ledger, respondent
from rumor.client.ledger import Ledger
from rumor.client.respondent import Respondent
from rumor.contract.collection import Collection, Question
from rumor.core.errors import InputError
from rumor.core.exact import WORD
from rumor.core.randomness import Draws, Keyed, Stream
from rumor.mechanisms import REGISTRY, Mechanism
from rumor.mechanisms.open_words.open_words import OpenWords
from rumor.mechanisms.permanent import PermanentAnswers
from rumor.privacy.audit.enumeration import distribution
from tests.laws.laws import logarithm

T = TypeVar("T")

# Open words are no line of the registry until a kind of question asks for them.
PERMANENT: list[type[PermanentAnswers]] = [
    *(one for one in REGISTRY if issubclass(one, PermanentAnswers)),
    OpenWords,
]
Context = tuple[object, ...]
Law = tuple[dict[tuple[bytes, ...], int], int]
"""Transcripts with their weights, and what all weights add up to."""


# --- Keyed noise whose key nobody knows ------------------------------------------------------


class World:
    """One way that all keyed noise can fall, found out as far as it is asked for.

    A word is known to lie in an interval. A coin whose threshold cuts the interval falls both
    ways in different worlds; any other coin of the same word is decided by what is known.
    """

    def __init__(self, path: list[int]) -> None:
        self._planned = path
        self.taken: list[int] = []
        self.arity: list[int] = []
        self.weight = Fraction(1)
        self._words: dict[tuple[Context, int], tuple[int, int]] = {}
        self._numbers: dict[tuple[Context, int, int], int] = {}

    def _choose(self, arity: int) -> int:
        depth = len(self.taken)
        choice = self._planned[depth] if depth < len(self._planned) else 0
        self.taken.append(choice)
        self.arity.append(arity)
        return choice

    def coin(self, word: tuple[Context, int], threshold: int) -> bool:
        low, high = self._words.get(word, (0, WORD))
        if threshold <= low or threshold >= high:
            return threshold >= high
        falls = self._choose(2) == 0
        self._words[word] = (low, threshold) if falls else (threshold, high)
        kept = threshold - low if falls else high - threshold
        self.weight *= Fraction(kept, high - low)
        return falls

    def below(self, word: tuple[Context, int], bound: int) -> int:
        assert word not in self._words, "a word is either a coin or a number"
        key = (*word, bound)
        if key not in self._numbers:
            self.weight /= bound
            self._numbers[key] = self._choose(bound)
        return self._numbers[key]

    def touched(self) -> set[Context]:
        """The keys whose words were asked for."""
        return {context for context, _ in self._words} | {key[0] for key in self._numbers}

    def next_path(self) -> list[int] | None:
        """The next world to look at: the deepest choice that has a branch to its right."""
        path = self.taken
        while path and path[-1] + 1 == self.arity[len(path) - 1]:
            path.pop()
        return None if not path else [*path[:-1], path[-1] + 1]


@dataclass
class WorldDraws:
    """The words of one key, one after the other, in one world."""

    world: World
    context: Context
    place: int = 0

    def _word(self) -> tuple[Context, int]:
        self.place += 1
        return self.context, self.place

    def coin(self, threshold: int) -> bool:
        return self.world.coin(self._word(), threshold)

    def below(self, bound: int) -> int:
        return self.world.below(self._word(), bound)

    def public(self, count: int) -> bytes:
        raise AssertionError("no permanent answer draws public bytes")

    def first(self, attempt: Callable[[], T], fits: Callable[[T], bool]) -> T:
        raise AssertionError("no permanent answer tries until something fits")


class InWorld(Keyed):
    """A key in one world."""

    def __init__(self, world: World, context: Context) -> None:
        self._world, self._of = world, context

    def extend(self, *context: str | bytes | int) -> Keyed:
        return InWorld(self._world, (*self._of, *context))

    def draws(self) -> Draws:
        return WorldDraws(self._world, self._of)


class Known:
    """A source that hands out given draws, for walking every branch of fresh noise."""

    def __init__(self, draws: Draws) -> None:
        self._draws = draws

    def stream(self) -> Stream:
        raise AssertionError("a reference draw is made of draws, not of a stream")

    def draws(self) -> Draws:
        return self._draws


# --- What a device does -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Settled:
    """A permanent answer that the device made: of what, and from which noise."""

    mechanism: PermanentAnswers
    value: object
    person: Keyed
    noise: Keyed

    def in_world(self, world: World) -> bytes:
        """What it comes to in one world, by the mechanism's own code."""
        person, noise = (_moved(key, world) for key in (self.person, self.noise))
        return _DRAW_PERMANENT[type(self.mechanism)](
            self.mechanism, self.value, person=person, noise=noise
        )

    def touched(self) -> set[Context]:
        """Whose words decide it."""
        world = World([])
        self.in_world(world)
        return world.touched()

    def _name(self) -> tuple[object, ...]:
        keys = (_named(self.person), _named(self.noise))
        return self.mechanism, self.value, *keys

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settled) and self._name() == other._name()

    def __hash__(self) -> int:
        return hash(self._name())


def _moved(key: Keyed, world: World) -> Keyed:
    """The same key where its noise is not known; a key of a mutant knows how to go there."""
    move = getattr(key, "in_world", None)
    return InWorld(world, key._context) if move is None else move(world)


def _named(key: Keyed) -> object:
    return getattr(key, "name", None) or key._context


@dataclass
class Record:
    """Everything by which chance entered a device's reports, and what the ledger says."""

    settled: list[Settled] = field(default_factory=list)
    reports: list[tuple[Mechanism, object, int | None]] = field(default_factory=list)
    """By which mechanism, of which value, and of which permanent answer, if of any."""
    charged: float = 0.0
    audited: float = 0.0
    """The same, computed anew from what was made."""
    refused: int | None = None
    """The step that a limit forbade, if one did."""
    refusals: list[tuple[int, str]] = field(default_factory=list)
    """Every step that was refused, and the sentence."""
    drawn: list[object] = field(default_factory=list)
    """What the device says after each step that it is asked."""


_DRAW_PERMANENT = {one: one.draw_permanent for one in PERMANENT}
_REPORT_PERMANENT = {one: one.report_permanent for one in PERMANENT}


@contextmanager
def recorded(record: Record) -> Iterator[None]:
    """While this lasts, settling and reporting are written down instead of being drawn."""

    def draw_permanent(
        self: PermanentAnswers, value: object, *, person: Keyed, noise: Keyed
    ) -> bytes:
        record.settled.append(Settled(self, value, person, noise))
        return (len(record.settled) - 1).to_bytes(4, "little")

    def report_permanent(self: PermanentAnswers, settled: bytes, *, random: object = None) -> bytes:
        record.reports.append((self, None, int.from_bytes(settled, "little")))
        return bytes(self.width)

    def report(self: Mechanism, value: object, *, random: object = None) -> bytes:
        record.reports.append((self, value, None))
        return bytes(self.width)

    with pytest.MonkeyPatch.context() as patch:
        for one in PERMANENT:
            patch.setattr(one, "draw_permanent", draw_permanent)
            patch.setattr(one, "report_permanent", report_permanent)
        patch.setattr(Mechanism, "report", report)
        yield


@dataclass(frozen=True)
class Step:
    """A contract, the answers given under it, and the day."""

    contract: Collection
    answers: Mapping[str, object]
    day: int = 0
    opened: Sequence[Collection] = ()
    """What is merely looked at before."""


def meet(
    folder: Path, steps: Sequence[Step], max_epsilon: float | None = None, *, go_on: bool = False
) -> Record:
    """A new device answers every step; a step past a limit ends it, unless it goes on."""
    record, day = Record(), [0]
    first = datetime.date(2026, 1, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "_owners_only", lambda path: None)  # there is no file
        patch.setattr(respondent, "Ledger", lambda path: Ledger(Path(":memory:")))
        device = Respondent(
            folder,
            max_epsilon=max_epsilon,
            today=lambda: first + datetime.timedelta(days=day[0]),
        )
    with device, recorded(record):
        for number, step in enumerate(steps):
            day[0] = step.day
            made = len(record.reports)
            for other in step.opened:
                with contextlib.suppress(InputError):
                    device.assignment(other)
            try:
                device.prepare(step.contract, step.answers)
            except InputError as problem:
                record.refused = number if record.refused is None else record.refused
                record.refusals.append((number, str(problem)))
                del record.reports[made:]
                if not go_on:
                    break
            if step.contract.ask is not None:
                record.drawn.append(device.assignment(step.contract))
        record.charged, record.audited = device.spent, device._ledger.audit()
    return record


# --- The law of what it sends ----------------------------------------------------------------


def transcripts(record: Record) -> Law:
    """The exact joint law of all reports.

    Answers whose noise has nothing in common are independent: each such group is walked on its
    own, and the laws are multiplied.
    """
    chances: dict[tuple[tuple[int, bytes], ...], int] = {(): 1}
    total = 1
    for places, law, scale in _independent(record):
        chances = {
            (*so_far, *zip(places, reports, strict=True)): chance * more
            for so_far, chance in chances.items()
            for reports, more in law.items()
        }
        total *= scale
    assert sum(chances.values()) == total, "the branches have total weight 1"
    return {tuple(r for _, r in sorted(key)): chance for key, chance in chances.items()}, total


def _independent(record: Record) -> Iterator[tuple[list[int], dict[tuple[bytes, ...], int], int]]:
    """The places of reports that hang together, and their law."""
    groups: list[tuple[set[Context], list[int]]] = []
    for number, settled in enumerate(record.settled):
        words, members = settled.touched(), [number]
        for other in [group for group in groups if group[0] & words]:
            groups.remove(other)
            words, members = words | other[0], [*other[1], *members]
        groups.append((words, members))
    for _, members in groups:
        of = [(place, m, i) for place, (m, _, i) in enumerate(record.reports) if i in members]
        law, scale = _together(
            tuple(record.settled[number] for number in members),
            tuple((mechanism, members.index(index)) for _, mechanism, index in of),
        )
        yield [place for place, _, _ in of], law, scale
    for place, (mechanism, value, index) in enumerate(record.reports):
        if index is None:
            alone, scale = _fresh(mechanism, _frozen(value))
            yield [place], {(report,): chance for report, chance in alone.items()}, scale


@functools.lru_cache(maxsize=65536)
def _together(
    settled: tuple[Settled, ...], reports: tuple[tuple[PermanentAnswers, int], ...]
) -> Law:
    """The law of reports of answers that share noise: the mechanisms' code in every world."""
    found: dict[tuple[bytes, ...], Fraction] = {}
    path: list[int] | None = []
    while path is not None:
        world = World(path)
        answers = tuple(one.in_world(world) for one in settled)
        found[answers] = found.get(answers, Fraction(0)) + world.weight
        path = world.next_path()
    answered, scale = _scaled(found)
    chances: dict[tuple[bytes, ...], int] = {}
    for answers, weight in answered.items():
        partial: dict[tuple[bytes, ...], int] = {(): weight}
        for mechanism, index in reports:
            law, _ = _permanent_reports(mechanism, answers[index])
            partial = {
                (*so_far, report): chance * more
                for so_far, chance in partial.items()
                for report, more in law.items()
            }
        for transcript, chance in partial.items():
            chances[transcript] = chances.get(transcript, 0) + chance
    for mechanism, _ in reports:
        scale *= _permanent_reports(mechanism, answers[0])[1]
    return chances, scale


@functools.lru_cache(maxsize=4096)
def _permanent_reports(mechanism: PermanentAnswers, settled: bytes) -> tuple[dict[bytes, int], int]:
    report = _REPORT_PERMANENT[type(mechanism)]
    return _scaled(distribution(lambda draws: report(mechanism, settled, random=Known(draws))))


@functools.lru_cache(maxsize=4096)
def _fresh(mechanism: Mechanism, value: Any) -> tuple[dict[bytes, int], int]:
    given = dict(value) if isinstance(value, tuple) else value
    return _scaled(distribution(lambda draws: mechanism.draw(given, draws)))


def _frozen(value: object) -> object:
    return tuple(value.items()) if isinstance(value, Mapping) else value


def _scaled(law: Mapping[Any, Fraction]) -> tuple[dict[Any, int], int]:
    """Fractions as integers over one number: products of these are fast."""
    scale = math.lcm(*(chance.denominator for chance in law.values()))
    return {key: int(chance * scale) for key, chance in law.items()}, scale


def loss(one: Law, other: Law) -> Decimal:
    """The largest log-ratio of any transcript, in either direction."""
    worst = Fraction(1)
    for (first, scale), (second, as_well) in ((one, other), (other, one)):
        above, below = 0, 1
        for transcript, chance in first.items():
            against = second.get(transcript, 0)
            if chance and not against:
                return Decimal("Infinity")
            if chance * below > above * against:
                above, below = chance, against
        worst = max(worst, Fraction(above * as_well, below * scale))
    return logarithm(worst)


# --- Families of sequences -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Family:
    """Contracts that may follow each other in any order, and values that people may hold.

    A contract is the mechanisms of its questions; a value is one for each question.
    """

    contracts: Sequence[Sequence[Mechanism]]
    values: Sequence[tuple[object, ...]]
    lengths: Sequence[int] = (2, 3)
    kinds: Sequence[str] = ("text",)
    in_order: bool = False
    """Whether contracts come once each and in this order, as rounds do."""
    period_days: int | None = None
    days: Sequence[int] = (0,)
    strangers: bool = False
    """Whether each contract is the first of a collector of its own, who uses the same name."""

    def orders(self) -> Iterator[tuple[tuple[int, int], ...]]:
        """Every sequence of (contract, day)."""
        if self.in_order:
            yield tuple((number, 0) for number in range(len(self.contracts)))
            return
        for length in self.lengths:
            for which in itertools.product(range(len(self.contracts)), repeat=length):
                for days in itertools.combinations_with_replacement(self.days, length):
                    yield tuple(zip(which, days, strict=True))

    @functools.lru_cache(maxsize=256)  # noqa: B019 (families live as long as the tests)
    def collections(self, order: tuple[tuple[int, int], ...]) -> list[Collection]:
        """The contracts of an order, each a revision of the one before."""
        made: list[Collection] = []
        for which, _ in order:
            questions = tuple(
                Question(
                    f"q{place}",
                    self.kinds[place],
                    "",
                    mechanism,
                    100,
                    None,
                    "value" if self.period_days is None else "period",
                    self.period_days,
                )
                for place, mechanism in enumerate(self.contracts[which])
            )
            last = made[-1] if made and not self.strangers else None
            made.append(
                Collection(
                    "A law",
                    "law",
                    f"collector {which}" if self.strangers else "nobody",
                    questions,
                    revision=1 if last is None else last.revision + 1,
                    previous=None if last is None else last.digest,
                    series_epsilon=1e6,
                )
            )
        return made

    def steps(
        self, order: tuple[tuple[int, int], ...], sequence: Sequence[tuple[object, ...]]
    ) -> list[Step]:
        return [
            Step(contract, {f"q{place}": one for place, one in enumerate(value)}, day)
            for contract, (_, day), value in zip(
                self.collections(order), order, sequence, strict=True
            )
        ]

    def pattern(
        self, order: Sequence[tuple[int, int]], sequence: Sequence[tuple[object, ...]]
    ) -> object:
        """When values repeat within each cell: alike sequences have the same pattern."""
        if self.period_days is not None:
            return None  # the answer of a period covers every change
        found = []
        for place in range(len(self.kinds)):
            cells: dict[tuple[str, int], list[str]] = {}
            for (which, _), value in zip(order, sequence, strict=True):
                mechanism = self.contracts[which][place]
                said = mechanism.identity(value[place])
                cells.setdefault((mechanism.permanence.memo_digest, mechanism.round), []).append(
                    said
                )
            found.append(tuple(tuple(map(said.index, said)) for said in cells.values()))
        return tuple(found)


@dataclass(frozen=True)
class Verdict:
    """What was compared, how often the law was broken, and how near the ledger is to the loss."""

    pairs: int
    violations: int
    attained: bool
    honest: bool
    """Whether the ledger always adds up to what was made."""
    worst: Decimal


def judge(family: Family, folder: Path) -> Verdict:
    """Hold every pair of alike sequences of a family to the law."""
    pairs = violations = 0
    attained, honest, worst = False, True, Decimal(0)
    for order in family.orders():
        groups: dict[object, list[tuple[Law, float]]] = {}
        for sequence in itertools.product(family.values, repeat=len(order)):
            record = meet(folder, family.steps(order, sequence))
            assert record.refused is None, "no limit is near"
            honest &= record.charged == record.audited
            groups.setdefault(family.pattern(order, sequence), []).append(
                (transcripts(record), record.charged)
            )
        for group in groups.values():
            for (one, charged), (other, as_much) in itertools.combinations(group, 2):
                pairs += 1
                lost, allowed = loss(one, other), Decimal(min(charged, as_much))
                # Alike people are charged alike: the ledger itself must not tell them apart.
                violations += lost > allowed or charged != as_much
                worst = max(worst, lost - allowed)
                attained |= lost <= allowed <= lost * (1 + Decimal("1e-12"))
    return Verdict(pairs, violations, attained, honest, worst)
