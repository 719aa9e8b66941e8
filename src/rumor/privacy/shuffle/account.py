"""The shuffle account: what shuffling adds for a respondent, in numbers and in one sentence.

A report that can be linked to its sender costs its epsilon. It costs less only if a relay that
does not collude with the collector shuffles it with honest reports. A device cannot check that, so
ledgers and budgets ignore shuffling. A number here covers all reports that one person
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

from rumor.contract.collection import Collection, Question
from rumor.contract.sampling import questions_per_person, sum_of_largest
from rumor.core.checks import checked_size
from rumor.core.exact import sum_up
from rumor.mechanisms.base import Mechanism
from rumor.privacy.shuffle.crowd import MAX_CROWD, checked_delta, crowd_epsilon
from rumor.privacy.shuffle.curve import PrivacyCurve
from rumor.privacy.shuffle.losses import composed_epsilon

USUAL_DELTA = 1e-8
"""The delta of a certificate that names none."""
MOST_USEFUL = 20.0
"""A certified epsilon above this is shown as no promise: odds may change 500-million-fold."""
LEDGER = (
    "A device cannot check these conditions: its ledger, and what it agrees to, go on counting "
    "what a report costs by itself."
)
_TURNS = " A relay with turn_hours keeps reports of one person in batches of their own."
_FAINT = 1e-9  # curves end at this part of the wanted delta, over e^(loss of the reports)
_MOST_GROWTH = 60.0  # the largest loss that counts in that power


@dataclass(frozen=True)
class ShuffleRow:
    """One question (or mechanism) with its shuffled epsilon, or why nothing is promised."""

    name: str
    alone: float
    """The epsilon of one report by itself."""
    reports: int
    """The number of reports of one person that may lie in one batch."""
    batches: int
    """The number of batches in which one person may have reports."""
    epsilon: float | None
    """The certified epsilon of all of them together."""
    refused: str | None = None


@dataclass(frozen=True)
class ShuffleAccount:
    """The privacy that shuffling among `people` reports adds to some questions."""

    people: int
    delta: float
    rows: tuple[ShuffleRow, ...]
    together: float | None = None
    """The certified epsilon of all reports on all questions that one person is asked."""
    of: str = "question"
    """The noun for a row: question or mechanism."""
    about: str | None = None
    """The row that the sentence is about; without one, the row with the largest epsilon."""

    def table(self) -> str:
        """Return a line for each row, then the sentences."""
        from rumor.core.plain_text import aligned, wrapped

        head = [self.of, "one report", "in a batch", "batches", f"among {self.people:,}"]
        body = [
            [
                row.name,
                f"{row.alone:,.4g}",
                f"{row.reports:,}",
                f"{row.batches:,}",
                _format_epsilon(row),
            ]
            for row in self.rows
        ]
        return "\n".join([aligned(head, body), "", *map(wrapped, self.sentences())])

    def sentences(self) -> list[str]:
        """Say what the numbers mean, and what they do not."""
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
                f"{format_up(self.together)}, except with probability {format_up(self.delta)}."
            )
        return found

    def to_dict(self) -> dict[str, object]:
        """Return the account as plain data; null where nothing is promised."""
        return {
            "crowd": self.people,
            "delta": self.delta,
            "rows": [asdict(row) for row in self.rows],
            "together": self.together,
            "together_delta": None if self.together is None else self.delta,
            "sentences": self.sentences(),
        }


def local_sentence(epsilon: float) -> str:
    """Say what is left where the conditions of shuffling do not hold."""
    return (
        f"Whoever sees a report and knows that it is yours learns at most epsilon "
        f"{format_up(epsilon)} from it, whatever anybody does."
    )


def shuffle_sentence(
    row: ShuffleRow, people: int, delta: float, *, question: str | None = None
) -> str:
    """Say the promise of a row, with its conditions, to the person whose reports they are."""
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
        f"any other{'s'[:several]} by at most epsilon {format_up(row.epsilon)}, except with "
        f"probability {format_up(delta)}. It does not hide that you took part."
    )


def _format_epsilon(row: ShuffleRow) -> str:
    return "no promise" if row.epsilon is None else format_up(row.epsilon)


def format_up(epsilon: float) -> str:
    """Return four digits of a bound, rounded up."""
    with localcontext(Context(prec=4, rounding=ROUND_CEILING)):
        return f"{float(+Decimal(repr(epsilon))):.4g}"


def shuffle_account(
    collections: Sequence[Collection], *, people: int, delta: float
) -> ShuffleAccount:
    """Return the shuffle account of some collections, with batches of `people` reports."""
    people, delta = _checked_people(people), checked_delta(delta)
    return _account(tuple(collections), people, delta)


@functools.lru_cache(maxsize=64)
def _account(collections: tuple[Collection, ...], people: int, delta: float) -> ShuffleAccount:
    """Return the account of `collections`, cached by the digests of their contracts."""
    rows = [
        _question_row(collection, question, people, delta)
        for collection in collections
        for question in collection.questions
    ]
    together = None
    if len(rows) > 1 and all(row.epsilon is not None for row in rows):
        together = _joint_epsilon(collections, people, delta)
    return ShuffleAccount(people, delta, tuple(rows), together)


def relay_account(collections: Sequence[Collection]) -> ShuffleAccount | None:
    """Return the shuffle account behind the relays of contracts; None if a contract has none.

    Batches are as small as the smallest that any of the relays releases: larger ones hide no less.
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
    """Return the shuffle account of some mechanisms for a question with `reports` reports."""
    people, delta = _checked_people(people), checked_delta(delta)
    rows = [
        _row(name, mechanism, (reports, 1), people, delta, advice=_TURNS)
        for name, mechanism in choices
    ]
    return ShuffleAccount(people, delta, tuple(rows), of="mechanism", about=about)


def _checked_people(people: object) -> int:
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
    """Return how many reports of one person a batch may hold, and in how many batches."""
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
        f"probability {format_up(delta)}.{advice}",
    )


def certified_epsilon(
    mechanism: Mechanism, people: int, reports: int, batches: int, delta: float
) -> float:
    """Return the epsilon of all reports of one person: `reports` in each of `batches` batches.

    Each batch holds at least `people` honest reports, the person's own included, of the same
    mechanism with fresh noise. It is never above what the reports cost by themselves.
    """
    if reports * batches == 1:
        return crowd_epsilon(mechanism, people, delta)
    curve = _curve(mechanism, people, reports, delta)
    return min(
        _local(mechanism.epsilon, reports * batches), composed_epsilon([(curve, batches)], delta)
    )


def _joint_epsilon(collections: Sequence[Collection], people: int, delta: float) -> float | None:
    """Return the epsilon of all questions that one person is asked, or None if it is not useful.

    Which questions are asked may differ from person to person: then a curve that lies above those
    of all questions stands for each that is asked, in as many batches as any of them.
    """
    counted: Counter[PrivacyCurve] = Counter()
    alone = 0.0
    for collection in collections:
        asked = questions_per_person(collection.ask, len(collection.questions))
        curves: Counter[PrivacyCurve] = Counter()
        patterns = [(one.mechanism, *_pattern(collection, one)) for one in collection.questions]
        for mechanism, reports, batches in patterns:
            curves[_curve(mechanism, people, reports, delta)] += batches
        if asked < len(patterns):
            most = max(batches for _, _, batches in patterns)
            curves = Counter({functools.reduce(PrivacyCurve.upper_envelope, curves): asked * most})
        counted += curves
        losses = (_local(mechanism.epsilon, k * b) for mechanism, k, b in patterns)
        alone = sum_up([alone, sum_of_largest(losses, asked)])
    found = composed_epsilon(list(counted.items()), delta)
    return found if found < min(alone, MOST_USEFUL) else None


def _local(epsilon: float, reports: int) -> float:
    """Return the epsilon of `reports` reports by themselves, with fresh noise, rounded up."""
    return epsilon if reports == 1 else math.nextafter(reports * epsilon, math.inf)


@functools.lru_cache(maxsize=256)
def _curve(mechanism: Mechanism, people: int, reports: int, delta: float) -> PrivacyCurve:
    """Return the curve of `reports` of one person in a batch, without negligible deltas."""
    growth = min(_local(mechanism.epsilon, reports), _MOST_GROWTH)
    faint = delta * _FAINT * math.exp(-growth)
    one = PrivacyCurve.of_one_report(mechanism.blanket(), people, mechanism.epsilon, faint)
    return one.compose_times(reports)
