"""What a person can lose, over reports, changes of mind, questions and collections.

Everything is exact where a formula exists (the mechanism knows the loss of n reports of one
value) and adds up where independent answers are combined: different questions, different
values of one question, different collections. Sums are rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rumor.collection import Collection, Question
from rumor.errors import InputError
from rumor.exact import round_up
from rumor.privacy.words import believed, odds_factor
from rumor.values import checked_size

MAX_COUNT = 10**9


@dataclass(frozen=True)
class Loss:
    """A privacy loss, and what it is the loss of."""

    of: str
    epsilon: float

    def in_words(self) -> str:
        """The loss as a sentence that needs no mathematics."""
        if math.isinf(self.epsilon):
            return f"After {self.of}, there is no limit to what can be learned about you."
        return (
            f"After {self.of}, someone who knows everything else about you can multiply their "
            f"odds about your answer by at most {odds_factor(self.epsilon):,.3g} "
            f"(epsilon {self.epsilon:.4g}): what they thought as likely as not, they can believe "
            f"to at most {100 * believed(0.5, self.epsilon):.4g}%."
        )


def question_loss(question: Question, *, reports: int | None = None, values: int = 1) -> Loss:
    """The loss of one person on one question.

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
        shares = [reports] * values
    else:
        # The loss of n reports of one value is concave in n for memoised answers and linear
        # for fresh ones, so an even split is the worst.
        shares = [limit // values + (i < limit % values) for i in range(values)]
    counted = {n: question.mechanism.epsilon_after(n) for n in set(shares)}
    epsilon = total(counted[n] for n in shares)
    times = _times(sum(shares))
    what = f"{times} on {question.id!r}"
    return Loss(what if values == 1 else f"{what} with {values} different answers", epsilon)


def changing_loss(question: Question, reports: int, changes: int = 0) -> Loss:
    """The loss of so many reports, or as many as may be made, while the answer changes so often.

    Changes that come at the worst times: the reports are shared out evenly over the answers.
    """
    checked_size("reports", reports, 1, MAX_COUNT)
    checked_size("changes", changes, 0, MAX_COUNT)
    made = min(reports, question.reports_per_person)
    values = min(changes + 1, made)
    shares = [made // values + (i < made % values) for i in range(values)]
    counted = {n: question.mechanism.epsilon_after(n) for n in set(shares)}
    what = f"{_times(made)} on {question.id!r}"
    if changes:
        what += f" with {changes:,} change{'s' if changes > 1 else ''} of answer"
    return Loss(what, total(counted[n] for n in shares))


def permanent_loss(question: Question) -> Loss:
    """The loss of any number of reports of one unchanged value."""
    what = f"any number of reports on {question.id!r} with one unchanged answer"
    return Loss(what, question.mechanism.epsilon_permanent)


def collection_loss(collection: Collection) -> Loss:
    """The most that one person can lose in the whole life of a collection.

    Every question answered as often as it may be, the answer changing every time.
    """
    losses = [question_loss(q, values=q.reports_per_person) for q in collection.questions]
    what = f"everything that {collection.name!r} may ask"
    return Loss(what, total(loss.epsilon for loss in losses))


def collections_loss(collections: Sequence[Collection]) -> Loss:
    """The most that one person can lose in several collections together.

    Collections of one series are revisions: they share their limits, so only the dearest
    question of each name counts.
    """
    dearest: dict[tuple[str, str], float] = {}
    for collection in collections:
        for question in collection.questions:
            key = (collection.series, question.id)
            loss = question_loss(question, values=question.reports_per_person)
            dearest[key] = max(dearest.get(key, 0.0), loss.epsilon)
    names = len({collection.series for collection in collections})
    return Loss(f"everything in {names} collections", total(dearest.values()))


def total(losses: Iterable[float]) -> float:
    """A sum of losses, rounded up."""
    parts = list(losses)
    if any(math.isinf(part) for part in parts):
        return math.inf
    return round_up(sum((Fraction(part) for part in parts), Fraction(0)))


def _times(reports: int) -> str:
    return "one report" if reports == 1 else f"{reports:,} reports"
