"""What a crowd adds, said to people: one sentence with its three conditions, wherever it is said.

A report that its reader can tie to a person costs what it always costs. Only where somebody who
does not work with the collector mixes it with others', and these are honest, is less left; and a
device can check none of that, so ledgers and ceilings know nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext

from rumor.contract.asking import how_many
from rumor.contract.collection import Collection, Question
from rumor.core.checks import checked_size
from rumor.core.errors import InputError
from rumor.core.exact import sum_up
from rumor.mechanisms.base import Mechanism
from rumor.privacy.shuffle.crowd import MAX_CROWD, checked_delta, crowd_epsilon

USUAL_DELTA = 1e-8
"""With which probability a crowd may fail to hide, where nobody says another."""
LEDGER = (
    "A device cannot check these conditions: its ledger, and what it agrees to, go on counting "
    "what a report costs by itself."
)


def crowd_sentence(
    local: float,
    epsilon: float,
    delta: float,
    people: int,
    *,
    relay: str = "the relay",
    collector: str = "the collector",
) -> str:
    """What a person is promised, and on which three conditions; `people` are all of a batch."""
    others, them = f"{people - 1:,} other people have", "and if that many of them follow"
    if people == 2:
        others, them = "1 other person has", "and if that person follows"
    return (
        f"Whoever sees your report and knows that it is yours learns at most epsilon {local:.4g}, "
        f"whatever anybody does. If {relay} and {collector} do not work together, if at least "
        f"{others} a report in the same batch, {them} the protocol, then your answer and any other "
        f"can be told apart by at most epsilon {shown_above(epsilon)}, except with probability "
        f"{delta:.3g}. Every further batch that you are in adds another such epsilon and "
        f"probability. It does not hide that you took part."
    )


@dataclass(frozen=True)
class CrowdRow:
    """One question among others' reports, or why nothing is promised."""

    name: str
    alone: float
    """What a report costs by itself."""
    epsilon: float | None
    refused: str | None = None


@dataclass(frozen=True)
class CrowdAccount:
    """What a crowd of so many adds to each of some questions."""

    people: int
    delta: float
    rows: tuple[CrowdRow, ...]
    together: tuple[float, float] | None = None
    """One report on each question that a person is asked, in a batch of its own."""
    of: str = "question"
    """What the rows are."""
    about: str | None = None
    """The row that the sentence is about; where none is named, the one that is told apart best."""

    def table(self) -> str:
        """A line for each question, then the sentence for what is told apart best."""
        from rumor.core.plain_text import aligned, wrapped

        head = [self.of, "one report", f"among {self.people:,}", "except with"]
        body = [
            [row.name, f"{row.alone:,.4g}", *_shown(row.epsilon, self.delta)] for row in self.rows
        ]
        return "\n".join([aligned(head, body), "", *map(wrapped, self.sentences())])

    def sentences(self) -> list[str]:
        """What it means, and what it does not."""
        told = [row.refused for row in self.rows if row.refused is not None]
        named = [row for row in self.rows if self.about in (None, row.name)]
        promised = [(row.epsilon, row.alone) for row in named if row.epsilon is not None]
        if promised:
            epsilon, alone = max(promised)
            told += [crowd_sentence(alone, epsilon, self.delta, self.people), LEDGER]
        if self.together is not None:
            epsilon, delta = self.together
            told.append(
                f"Every question has batches of its own: one report on each that you are asked "
                f"is told apart by at most epsilon {shown_above(epsilon)}, except with "
                f"probability {delta:.3g}."
            )
        return told

    def to_dict(self) -> dict[str, object]:
        """As plain data; null where nothing is promised."""
        epsilon, delta = (None, None) if self.together is None else self.together
        return {
            "crowd": self.people,
            "delta": self.delta,
            "rows": [asdict(row) for row in self.rows],
            "together": epsilon,
            "together_delta": delta,
            "sentences": self.sentences(),
        }


def _shown(epsilon: float | None, delta: float) -> tuple[str, str]:
    return ("no promise", "") if epsilon is None else (shown_above(epsilon), f"{delta:.3g}")


def shown_above(epsilon: float) -> str:
    """Four digits of a bound, which stay one."""
    with localcontext(Context(prec=4, rounding=ROUND_CEILING)):
        return f"{float(+Decimal(epsilon)):.4g}"


def check_crowd(name: str, mechanism: Mechanism, reports: int) -> None:
    """Refuse, by an InputError, what a crowd cannot hide.

    A permanent answer that is sent more than once is a pseudonym: batches can be compared.
    """
    if mechanism.settles and reports > 1:
        raise InputError(
            f"a crowd promises nothing for {name!r}: its answers are permanent and asked "
            f"{reports:,} times, so that reports of one person can be known again in every batch"
        )


def crowd_row(name: str, mechanism: Mechanism, reports: int, people: int, delta: float) -> CrowdRow:
    """What a crowd makes of one report, or the sentence that says why nothing is promised."""
    try:
        check_crowd(name, mechanism, reports)
    except InputError as refused:
        return CrowdRow(name, mechanism.epsilon, None, f"{_sentence(str(refused))}.")
    return CrowdRow(name, mechanism.epsilon, crowd_epsilon(mechanism, people, delta))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def crowd_account(collections: Sequence[Collection], *, people: int, delta: float) -> CrowdAccount:
    """What a crowd adds to every question of some collections."""
    people, delta = _checked(people), checked_delta(delta)
    rows: list[CrowdRow] = []
    spent: list[float] = []
    for collection in collections:
        own = [_of_question(collection, one, people, delta) for one in collection.questions]
        rows += own
        costs = sorted((row.epsilon for row in own if row.epsilon is not None), reverse=True)
        spent += costs[: how_many(collection.ask, len(own))]
    whole = all(row.epsilon is not None for row in rows) and len(rows) > 1
    return CrowdAccount(
        people, delta, tuple(rows), (sum_up(spent), sum_up([delta] * len(spent))) if whole else None
    )


def relay_account(collections: Sequence[Collection]) -> CrowdAccount | None:
    """What is promised behind the relays that contracts name; None where one names none.

    The crowd is the smallest that any of them waits for: more people hide no less.
    """
    relays = [collection.relay for collection in collections]
    crowds = [relay.crowd for relay in relays if relay is not None]
    if not crowds or len(crowds) < len(relays):
        return None
    return crowd_account(collections, people=min(MAX_CROWD, *crowds), delta=USUAL_DELTA)


def crowd_choices(
    choices: Sequence[tuple[str, Mechanism]],
    reports: int,
    *,
    people: int,
    delta: float,
    about: str,
) -> CrowdAccount:
    """What a crowd adds to each of some mechanisms for one question, asked so often."""
    people, delta = _checked(people), checked_delta(delta)
    rows = [crowd_row(name, mechanism, reports, people, delta) for name, mechanism in choices]
    return CrowdAccount(people, delta, tuple(rows), of="mechanism", about=about)


def _checked(people: object) -> int:
    """Nobody is hidden alone."""
    return checked_size("crowd", people, 2, MAX_CROWD)


def _of_question(collection: Collection, question: Question, people: int, delta: float) -> CrowdRow:
    if collection.linked is not None and question.id in collection.linked:
        return CrowdRow(
            question.id,
            question.epsilon,
            None,
            f"A crowd promises nothing for {question.id!r}: its reports may be joined with those "
            f"on another question, and two together are seldom alike.",
        )
    reports = question.reports_per_person
    return crowd_row(question.id, question.mechanism, reports, people, delta)
