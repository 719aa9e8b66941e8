"""The loss of a person, over reports, changes of answer, rounds, questions and collections.

Everything is exact where a formula exists (the mechanism knows the loss of n reports of one
permanent answer) and adds up where independent answers are combined: different questions,
values, periods, revisions that change how answers settle, collections. Sums are rounded up.

What is bounded is what a report says about the answers of people who change them at the same
times. Permanent answers of values do not hide *that* an answer changed, and when: a new permanent
answer takes the old one's place, and enough reports show both. A permanent answer for each period
hides that too (memo = "period"), at the cost of one answer for each period.
"""

from __future__ import annotations

import math
from collections.abc import Collection as Some
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rumor.contract.collection import Collection, Question
from rumor.contract.sampling import questions_per_person, sum_of_largest
from rumor.core.checks import checked_size
from rumor.core.errors import InputError
from rumor.core.exact import round_up, sum_up
from rumor.mechanisms import Mechanism
from rumor.privacy.sentences import consequence

MAX_COUNT = 10**9
_ROUNDING_MARGIN = 1 + 2.0**-40


@dataclass(frozen=True)
class Loss:
    """A privacy loss, and the reports that cause it."""

    of: str
    epsilon: float

    def in_words(self) -> str:
        """Say the loss in a sentence that needs no mathematics."""
        return f"After {self.of}, {consequence(self.epsilon)}"


def question_loss(question: Question, *, reports: int | None = None, values: int = 1) -> Loss:
    """Return the loss of one person on one question.

    `reports` is how many they make of each value, as many as the collection allows unless
    said; `values` how many different values they hold in turn. The collection's limit is on
    all reports together, so it is shared out over the values.
    """
    checked_size("values", values, 1, MAX_COUNT)
    limit = question.reports_per_person
    if values > limit:
        raise InputError(
            f"a person makes at most {limit} reports of {question.id!r}, so they show at most as "
            f"many values; got {values}"
        )
    if reports is not None:
        checked_size("reports", reports, 1, MAX_COUNT)
        made, epsilon = reports * values, _answers_loss(question, reports * values, values)
    else:
        made, epsilon = limit, _answers_loss(question, limit, values)
    what = f"{_times(made)} on {question.id!r}"
    return Loss(what if values == 1 else f"{what} with {values} different answers", epsilon)


def changing_loss(question: Question, reports: int, changes: int = 0) -> Loss:
    """Return the loss of `reports` daily reports (at most those allowed) with `changes` changes.

    The changes come at the worst times: the reports are shared out evenly over the answers. Where
    the first answer of a period stands for all of it, changes cost nothing further.
    """
    checked_size("reports", reports, 1, MAX_COUNT)
    checked_size("changes", changes, 0, MAX_COUNT)
    made = min(reports, question.reports_per_person)
    if question.mechanism.rounds > 1:
        # Every round may be asked as often: the loss of all of them counts.
        return Loss(f"all rounds of {question.id!r}", _lifetime([question]))
    what = f"{_times(made)} on {question.id!r}"
    if changes:
        what += f" with {changes:,} change{'s' if changes > 1 else ''} of answer"
    answers = changes + 1
    if question.period_days is not None:
        # The most periods that `reports` days touch, wherever the first period begins.
        answers = (reports + question.period_days - 2) // question.period_days + 1
    return Loss(what, _answers_loss(question, made, min(answers, made)))


def _answers_loss(question: Question, reports: int, answers: int) -> float:
    """Return the loss of `reports` reports shared out over `answers` permanent answers.

    The loss of n reports of one answer is concave in n for memoised answers and linear for
    fresh ones, so an even split is the worst.
    """
    each, more = divmod(reports, answers)
    parts = [(each, answers - more), (each + 1, more)]
    losses = [(question.mechanism.epsilon_after(n), times) for n, times in parts if n and times]
    return sum_up(_times_over(epsilon, times) for epsilon, times in losses)


def permanent_loss(question: Question) -> Loss:
    """Return the loss of any number of reports of one permanent answer."""
    what = f"any number of reports on {question.id!r} with one unchanged answer"
    if question.period_days is not None:
        what = f"any number of reports on {question.id!r} in one period"
    return Loss(what, question.mechanism.permanence.epsilon_permanent)


def collection_loss(collection: Collection) -> Loss:
    """Return the most that one person can lose in the whole life of a collection.

    Every question is answered as often as it may be, with another answer every time; with a
    sampling design, the questions with the largest losses count. The limit of the series, which
    devices enforce, bounds it.
    """
    what = f"everything that {collection.name!r} may ask"
    return Loss(what, min(_sampled_lifetime(collection), collection.series_epsilon or math.inf))


def _sampled_lifetime(collection: Collection, drawn: Some[str] | None = None) -> float:
    """Return the largest loss of the questions `drawn`, or of any that may be drawn."""
    each = [lifetime_loss(q) for q in collection.questions if drawn is None or q.id in drawn]
    return sum_of_largest(each, questions_per_person(collection.ask, len(each)))


def series_ceiling(collection: Collection, drawn: Some[str] | None = None) -> float:
    """Return the ceiling of a series for a device that meets this contract first.

    It is the limit in the contract, or else the most that the `drawn` questions could cost (any
    that may be drawn, by default), plus a margin: no rounding of what single answers cost may stop
    a person who keeps to the contract.
    """
    return collection.series_epsilon or _sampled_lifetime(collection, drawn) * _ROUNDING_MARGIN


def collections_loss(collections: Sequence[Collection]) -> Loss:
    """Return the most that one person can lose in several collections together.

    Collections of one series are revisions: a device counts their reports together, and makes
    one more as long as the revision it answers allows more than it has made.
    """
    names = len({collection.series for collection in collections})
    whole = sampled_loss(collections, lifetimes(collections))
    return Loss(f"everything in {names} collections", whole)


def sampled_loss(
    collections: Sequence[Collection], losses: Mapping[tuple[str, str], float]
) -> float:
    """Return the sum of `losses`, by series and question, for a person who is asked some of them.

    A device draws further questions only where a revision asks others: as many as each set of
    questions lets it draw, and never more than there are.
    """
    drawn: dict[str, dict[frozenset[str], int]] = {}
    for collection in collections:
        ids = frozenset(question.id for question in collection.questions)
        counts = drawn.setdefault(collection.series, {})
        counts[ids] = max(counts.get(ids, 0), questions_per_person(collection.ask, len(ids)))
    total = []
    for series, counts in drawn.items():
        of = {id: loss for (name, id), loss in losses.items() if name == series}
        some = [sum_of_largest([of[id] for id in ids], count) for ids, count in counts.items()]
        total.append(min(sum_up(some), sum_up(of.values())))
    return sum_up(total)


def lifetimes(collections: Sequence[Collection]) -> dict[tuple[str, str], float]:
    """Return the most that each question can cost over all its revisions, by series and id."""
    revisions: dict[tuple[str, str], list[Question]] = {}
    for collection in collections:
        for question in collection.questions:
            revisions.setdefault((collection.series, question.id), []).append(question)
    return {key: _lifetime(questions) for key, questions in revisions.items()}


def lifetime_loss(question: Question) -> float:
    """Return the most that one question can cost, with another answer (or period) every time."""
    return _lifetime([question])


def _lifetime(revisions: Sequence[Question]) -> float:
    """Return the most that a question can cost over its `revisions`.

    Each report costs what it does in the most expensive revision that still allows it.
    """
    prices = sorted(
        ((q.reports_per_person, _report_price(q.mechanism, revisions)) for q in revisions),
        reverse=True,
    )
    limits = [limit for limit, _ in prices[1:]] + [0]
    highest, losses = 0.0, []
    for (limit, price), next_limit in zip(prices, limits, strict=True):
        highest = max(highest, price)
        # Reports that no smaller limit allows.
        if limit > next_limit:
            losses.append(_times_over(highest, limit - next_limit))
    return sum_up(losses)


def _report_price(mechanism: Mechanism, revisions: Sequence[Question]) -> float:
    """Return the cost of one report of another answer, in every round if there are several."""
    # A round does not include the loss of earlier rounds: those that are given add up.
    before: dict[int, float] = {}
    for question in revisions:
        other = question.mechanism
        if other.round < mechanism.round:
            before[other.round] = max(before.get(other.round, 0.0), other.epsilon)
    return sum_up([*before.values(), mechanism.epsilon_all_rounds(1)])


def _times_over(epsilon: float, reports: int) -> float:
    return epsilon if math.isinf(epsilon) else round_up(Fraction(epsilon) * reports)


def _times(reports: int) -> str:
    return "one report" if reports == 1 else f"{reports:,} reports"
