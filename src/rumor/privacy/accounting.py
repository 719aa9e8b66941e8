"""What a person can lose, over reports, changes of mind, questions and collections.

Everything is exact where a formula exists (the mechanism knows the loss of n reports of one
value) and adds up where independent answers are combined: different questions, different
values of one question, different collections. Sums are rounded up.

What is bounded is what a report says about the answers of people who change them at the same
times. *That* an answer changed, and when, is not hidden by a permanent answer: another
one takes its place, and enough reports show two where there was one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rumor.collection import Collection, Question
from rumor.errors import InputError
from rumor.exact import round_up
from rumor.mechanisms import Mechanism, PrivKVM
from rumor.privacy.words import believed, odds_factor
from rumor.values import checked_size

MAX_COUNT = 10**9
# e to this is still a float.
_CERTAIN = 700.0


@dataclass(frozen=True)
class Loss:
    """A privacy loss, and what it is the loss of."""

    of: str
    epsilon: float

    def in_words(self) -> str:
        """The loss as a sentence that needs no mathematics."""
        if math.isinf(self.epsilon):
            return f"After {self.of}, there is no limit to what can be learned about you."
        sure = min(self.epsilon, _CERTAIN)
        factor = odds_factor(sure) if self.epsilon <= _CERTAIN else math.inf
        shown = f"{factor:,.3g}" if factor < 1e12 else f"10^{self.epsilon / math.log(10):,.0f}"
        return (
            f"After {self.of}, someone who knows everything else about you can multiply their "
            f"odds about your answer by at most {shown} "
            f"(epsilon {self.epsilon:.4g}): what they thought as likely as not, they can believe "
            f"to at most {100 * believed(0.5, sure):.4g}%."
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
    what = f"{_times(made)} on {question.id!r}"
    if isinstance(question.mechanism, PrivKVM):
        # Each round is asked as often; what all of them cost together counts.
        return Loss(f"all rounds of {question.id!r}", _lifetime([question]))
    values = min(changes + 1, made)
    shares = [made // values + (i < made % values) for i in range(values)]
    counted = {n: question.mechanism.epsilon_after(n) for n in set(shares)}
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
    what = f"everything that {collection.name!r} may ask"
    return Loss(what, total(lifetime_loss(question) for question in collection.questions))


def collections_loss(collections: Sequence[Collection]) -> Loss:
    """The most that one person can lose in several collections together.

    Collections of one series are revisions: a device counts their reports together, and makes
    one more as long as the revision it answers allows more than it has made.
    """
    names = len({collection.series for collection in collections})
    return Loss(f"everything in {names} collections", total(lifetimes(collections).values()))


def lifetimes(collections: Sequence[Collection]) -> dict[tuple[str, str], float]:
    """The most that each question can cost over all its revisions, by series and id."""
    revisions: dict[tuple[str, str], list[Question]] = {}
    for collection in collections:
        for question in collection.questions:
            revisions.setdefault((collection.series, question.id), []).append(question)
    return {key: _lifetime(questions) for key, questions in revisions.items()}


def lifetime_loss(question: Question) -> float:
    """The most that one question can cost, the answer changing every time."""
    return _lifetime([question])


def _lifetime(revisions: Sequence[Question]) -> float:
    """The same over revisions: every report at the price of the dearest that still allows it."""
    prices = sorted(
        ((q.reports_per_person, _price(q.mechanism, revisions)) for q in revisions), reverse=True
    )
    limits = [limit for limit, _ in prices[1:]] + [0]
    dearest, losses = 0.0, []
    for (limit, price), next_limit in zip(prices, limits, strict=True):
        dearest = max(dearest, price)
        # The reports that no smaller limit allows.
        if limit > next_limit:
            losses += (
                [dearest] if math.isinf(dearest) else [_times_over(dearest, limit - next_limit)]
            )
    return total(losses)


def _price(mechanism: Mechanism, revisions: Sequence[Question]) -> float:
    """What a report of another answer costs: of PrivKVM one in every round."""
    if not isinstance(mechanism, PrivKVM):
        return mechanism.epsilon
    if mechanism.round == 1:
        return mechanism.epsilon_rounds
    # A later round knows its own cost only: those that are given add up.
    rounds: dict[int, float] = {}
    for question in revisions:
        other = question.mechanism
        if isinstance(other, PrivKVM):
            rounds[other.round] = max(rounds.get(other.round, 0.0), other.epsilon)
    return total(rounds.values())


def _times_over(epsilon: float, reports: int) -> float:
    return round_up(Fraction(epsilon) * reports)


def total(losses: Iterable[float]) -> float:
    """A sum of losses, rounded up."""
    parts = list(losses)
    if any(math.isinf(part) for part in parts):
        return math.inf
    return round_up(sum((Fraction(part) for part in parts), Fraction(0)))


def _times(reports: int) -> str:
    return "one report" if reports == 1 else f"{reports:,} reports"
