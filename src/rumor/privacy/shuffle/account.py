"""The shuffle account: what shuffling adds for a respondent, in numbers and in one sentence.

A report that its reader can tie to a person costs its epsilon. Only where a relay that does not
work with the collector mixes it with honest reports does it cost less; a device can check none of
that, so ledgers and budgets ignore shuffling. A number here covers all reports that one person
may send: `reports` of them in a batch, in `batches` batches. Without turns nothing keeps the
reports of a person apart. The number for all of them in one batch then covers every other way
they can fall: reports are changed one after the other, each among the batch that it lies in.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext

from rumor.contract.asking import dearest, how_many
from rumor.contract.collection import Collection, Question
from rumor.core.checks import checked_size
from rumor.core.exact import sum_up
from rumor.mechanisms.base import Mechanism
from rumor.privacy.shuffle.crowd import MAX_CROWD, checked_delta, crowd_epsilon
from rumor.privacy.shuffle.curve import Curve
from rumor.privacy.shuffle.losses import composed_epsilon

USUAL_DELTA = 1e-8
"""The delta of a certificate where none is given."""
MOST_USEFUL = 20.0
"""A certified epsilon above this is shown as no promise: odds may change 500-million-fold."""
LEDGER = (
    "A device cannot check these conditions: its ledger, and what it agrees to, go on counting "
    "what a report costs by itself."
)
_TURNS = " A relay with turn_hours keeps reports of one person in batches of their own."
_FAINT = 1e-9  # curves end where delta is this part of the wanted one, ...
_MOST_GROWTH = 60.0  # ... divided by e to the loss of all reports of a batch, up to this


@dataclass(frozen=True)
class ShuffleRow:
    """One question (or mechanism) whose reports are shuffled, or why nothing is promised."""

    name: str
    alone: float
    """The epsilon of one report by itself."""
    reports: int
    """How many reports of one person may lie in one batch."""
    batches: int
    """In how many batches one person may have reports."""
    epsilon: float | None
    """The certified epsilon of all of them together."""
    refused: str | None = None


@dataclass(frozen=True)
class ShuffleAccount:
    """What shuffling among so many reports adds to each of some questions."""

    people: int
    delta: float
    rows: tuple[ShuffleRow, ...]
    together: float | None = None
    """The certified epsilon of all reports on all questions that one person is asked."""
    of: str = "question"
    """What the rows are."""
    about: str | None = None
    """The row that the sentence is about; without one, the row with the largest epsilon."""

    def table(self) -> str:
        """A line for each row, then the sentences."""
        from rumor.core.plain_text import aligned, wrapped

        head = [self.of, "one report", "in a batch", "batches", f"among {self.people:,}"]
        body = [
            [row.name, f"{row.alone:,.4g}", f"{row.reports:,}", f"{row.batches:,}", _shown(row)]
            for row in self.rows
        ]
        return "\n".join([aligned(head, body), "", *map(wrapped, self.sentences())])

    def sentences(self) -> list[str]:
        """What the numbers mean, and what they do not."""
        found = [row.refused for row in self.rows if row.refused is not None]
        named = [row for row in self.rows if self.about in (None, row.name)]
        promised = [row for row in named if row.epsilon is not None]
        if promised:
            worst = max(promised, key=lambda row: (row.epsilon, row.alone))
            name = worst.name if len(self.rows) > 1 and self.of == "question" else None
            found += [
                local_sentence(max(row.alone for row in named)),
                shuffle_sentence(worst, self.people, self.delta, question=name),
                LEDGER,
            ]
        if self.together is not None:
            found.append(
                f"Every question has batches of its own: all your answers to all questions that "
                f"you are asked can be told from any others by at most epsilon "
                f"{shown_above(self.together)}, except with probability {shown_above(self.delta)}."
            )
        return found

    def to_dict(self) -> dict[str, object]:
        """As plain data; null where nothing is promised."""
        return {
            "crowd": self.people,
            "delta": self.delta,
            "rows": [asdict(row) for row in self.rows],
            "together": self.together,
            "together_delta": None if self.together is None else self.delta,
            "sentences": self.sentences(),
        }


def local_sentence(epsilon: float) -> str:
    """State what is left where the conditions of shuffling do not hold."""
    return (
        f"Whoever sees a report and knows that it is yours learns at most epsilon "
        f"{shown_above(epsilon)} from it, whatever anybody does."
    )


def shuffle_sentence(
    row: ShuffleRow, people: int, delta: float, *, question: str | None = None
) -> str:
    """State the promise of a row, with its conditions, to the person whose reports they are."""
    assert row.epsilon is not None
    several = row.batches * row.reports > 1
    answers = "all your answers" if several else "your answer"
    answers += "" if question is None else f" to {question!r}"
    if row.batches > 1:
        answers += f" in {row.batches:,} batches together"
    elif row.reports > 1:
        answers += ", in one batch or spread over several,"
    return (
        f"If relay and collector do not work together and each batch holds at least {people:,} "
        f"honest reports, at most {row.reports:,} of them yours, then {answers} can be told from "
        f"any other{'s'[:several]} by at most epsilon {shown_above(row.epsilon)}, except with "
        f"probability {shown_above(delta)}. It does not hide that you took part."
    )


def _shown(row: ShuffleRow) -> str:
    return "no promise" if row.epsilon is None else shown_above(row.epsilon)


def shown_above(epsilon: float) -> str:
    """Four digits of a bound, rounded up."""
    with localcontext(Context(prec=4, rounding=ROUND_CEILING)):
        return f"{float(+Decimal(repr(epsilon))):.4g}"


def shuffle_account(
    collections: Sequence[Collection], *, people: int, delta: float
) -> ShuffleAccount:
    """What shuffling adds to every question of some collections, all batches of one size."""
    people, delta = _checked(people), checked_delta(delta)
    return _account(tuple(collections), people, delta)


@functools.lru_cache(maxsize=64)
def _account(collections: tuple[Collection, ...], people: int, delta: float) -> ShuffleAccount:
    """The account, kept by the digests of the contracts."""
    rows = [
        _question_row(collection, question, people, delta)
        for collection in collections
        for question in collection.questions
    ]
    together = None
    if len(rows) > 1 and all(row.epsilon is not None for row in rows):
        together = _together(collections, people, delta)
    return ShuffleAccount(people, delta, tuple(rows), together)


def relay_account(collections: Sequence[Collection]) -> ShuffleAccount | None:
    """The account behind the relays that contracts name; None where a contract names none.

    Batches are as small as the smallest that any of the relays passes on: larger ones hide no less.
    """
    relays = [collection.relay for collection in collections]
    sizes = [relay.crowd for relay in relays if relay is not None]
    if not sizes or len(sizes) < len(relays):
        return None
    return shuffle_account(collections, people=min(MAX_CROWD, *sizes), delta=USUAL_DELTA)


def shuffle_choices(
    choices: Sequence[tuple[str, Mechanism]],
    reports: int,
    *,
    people: int,
    delta: float,
    about: str,
) -> ShuffleAccount:
    """What shuffling adds to each of some mechanisms for a question with so many `reports`."""
    people, delta = _checked(people), checked_delta(delta)
    rows = [
        _row(name, mechanism, (reports, 1), people, delta, advice=_TURNS)
        for name, mechanism in choices
    ]
    return ShuffleAccount(people, delta, tuple(rows), of="mechanism", about=about)


def _checked(people: object) -> int:
    return checked_size("crowd", people, 2, MAX_CROWD)


def _question_row(
    collection: Collection, question: Question, people: int, delta: float
) -> ShuffleRow:
    pattern = _pattern(collection, question)
    if collection.linked is not None and question.id in collection.linked:
        return ShuffleRow(
            question.id,
            question.epsilon,
            *pattern,
            None,
            f"Shuffling promises nothing for {question.id!r}: its reports may be joined with those "
            f"on another question, and two together are seldom alike.",
        )
    advice = "" if pattern[0] == 1 else _TURNS
    return _row(question.id, question.mechanism, pattern, people, delta, advice)


def _pattern(collection: Collection, question: Question) -> tuple[int, int]:
    """How many reports of one person a batch may hold, and in how many batches."""
    reports = question.reports_per_person
    turns = collection.relay is not None and collection.relay.turn_hours is not None
    return (1, reports) if turns else (reports, 1)


def _row(
    name: str,
    mechanism: Mechanism,
    pattern: tuple[int, int],
    people: int,
    delta: float,
    advice: str,
) -> ShuffleRow:
    """Certify one question, or say why nothing is promised."""
    reports, batches = pattern
    make = functools.partial(ShuffleRow, name, mechanism.epsilon, reports, batches)
    if mechanism.permanence.is_memoised and reports * batches > 1:
        return make(
            None,
            f"Shuffling promises nothing for {name!r}: its answers are permanent and asked "
            f"{reports * batches:,} times, so that reports of one person can be known again in "
            f"every batch.",
        )
    if mechanism.rounds > 1:
        return make(
            None,
            f"Shuffling promises nothing for {name!r}: it is asked in {mechanism.rounds:,} rounds, "
            f"each a contract of its own, and a number would be for one of them.",
        )
    if reports >= people:
        return make(
            None,
            f"Shuffling promises nothing for {name!r}: one person may send {reports:,} reports, "
            f"and a batch may hold no more than {people:,}.{advice}",
        )
    epsilon = certified_epsilon(mechanism, people, reports, batches, delta)
    useful = min(_local(mechanism.epsilon, reports * batches), MOST_USEFUL)
    if epsilon < useful:
        return make(epsilon)
    return make(
        None,
        f"Shuffling among {people:,} reports adds nothing useful for {name!r}: no epsilon below "
        f"{useful:.4g} can be certified for all reports of one person together, except with "
        f"probability {shown_above(delta)}.{advice}",
    )


def certified_epsilon(
    mechanism: Mechanism, people: int, reports: int, batches: int, delta: float
) -> float:
    """The epsilon of all reports of one person: `reports` in each of so many `batches`.

    Each batch holds at least `people` honest reports, the person's own included, of the same
    mechanism with fresh noise. It is never above what the reports cost by themselves.
    """
    if reports * batches == 1:
        return crowd_epsilon(mechanism, people, delta)
    curve = _curve(mechanism, people, reports, delta)
    return min(
        _local(mechanism.epsilon, reports * batches), composed_epsilon([(curve, batches)], delta)
    )


def _together(collections: Sequence[Collection], people: int, delta: float) -> float | None:
    """The epsilon of all questions that one person is asked, or None where it is not useful.

    Which questions are asked may differ from person to person: then a curve that lies above those
    of all questions stands for each that is asked, in as many batches as any of them.
    """
    counted: Counter[Curve] = Counter()
    alone = 0.0
    for collection in collections:
        asked = how_many(collection.ask, len(collection.questions))
        curves: Counter[Curve] = Counter()
        patterns = [(one.mechanism, *_pattern(collection, one)) for one in collection.questions]
        for mechanism, reports, batches in patterns:
            curves[_curve(mechanism, people, reports, delta)] += batches
        if asked < len(patterns):
            most = max(batches for _, _, batches in patterns)
            curves = Counter({functools.reduce(Curve.or_worse, curves): asked * most})
        counted += curves
        losses = (_local(mechanism.epsilon, k * b) for mechanism, k, b in patterns)
        alone = sum_up([alone, dearest(losses, asked)])
    found = composed_epsilon(list(counted.items()), delta)
    return found if found < min(alone, MOST_USEFUL) else None


def _local(epsilon: float, reports: int) -> float:
    """The epsilon of so many `reports` by themselves, each with fresh noise, rounded up."""
    return epsilon if reports == 1 else math.nextafter(reports * epsilon, math.inf)


@functools.lru_cache(maxsize=256)
def _curve(mechanism: Mechanism, people: int, reports: int, delta: float) -> Curve:
    """The curve of `reports` of one person in a batch, down to deltas that do not matter."""
    growth = min(_local(mechanism.epsilon, reports), _MOST_GROWTH)
    faint = delta * _FAINT * math.exp(-growth)
    one = Curve.of_one_report(mechanism.blanket(), people, mechanism.epsilon, faint)
    return one.repeated(reports)
