"""What one person spends: every question of some collections, over time, in one table.

All numbers are worst cases, rounded up: one report; so many daily reports of one unchanged
answer; the same while the answer changes; any number of reports of one answer; and the
collection's whole life, the answer changing every time. They bound what reports say about the
answers of people who change them at the same times; see accounting.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from rumor.contract.asking import how_many
from rumor.contract.collection import Collection, Question
from rumor.core.canonical import digest
from rumor.core.checks import checked_size
from rumor.core.exact import sum_up
from rumor.privacy.loss import (
    MAX_COUNT,
    Loss,
    asked_loss,
    changing_loss,
    collection_loss,
    collections_loss,
    lifetime_loss,
    lifetimes,
    permanent_loss,
)
from rumor.privacy.sentences import consequence

YEAR = 365


@dataclass(frozen=True)
class Spending:
    """What one question can cost one person; infinite where there is no limit."""

    collection: str
    series: str
    question: str
    mechanism: str
    """The digest of how it is randomised."""
    permanent_answer: bool
    """Whether a part of the noise stays while the answer does."""
    allowed: int
    """How many reports a person makes at most."""
    made: int
    """How many of them fall into the days that were asked about."""
    one: float
    unchanged: float
    changing: float
    permanent: float
    lifetime: float


@dataclass(frozen=True)
class Account:
    """The spending of one person over some days of daily reports."""

    days: int
    changes: int
    rows: tuple[Spending, ...]
    total: Loss
    """Everything that the collections may ever ask, answers changing every time."""
    most: Mapping[tuple[str, str], float]
    """The same for each question, by series and id."""
    collections: tuple[Collection, ...]

    @property
    def together(self) -> float:
        """The questions added up over these days; revisions that randomise alike count once.

        Where a revision randomises otherwise, its reports are independent of the others. Where
        a person is asked some of the questions, it is the dearest of these.
        """
        dearest: dict[tuple[str, str], dict[str, float]] = {}
        for row in self.rows:
            ways = dearest.setdefault((row.series, row.question), {})
            ways[row.mechanism] = max(ways.get(row.mechanism, 0.0), row.changing)
        each = {key: min(sum_up(dearest[key].values()), self.most[key]) for key in dearest}
        return asked_loss(self.collections, each)

    def table(self) -> str:
        """A line for each question, then what it means, in words."""
        from rumor.core.plain_text import aligned, wrapped

        head = ["question", "asked", "one report", self._span(), "any number", "most in all"]
        if self.changes:
            head.insert(4, f"{self.changes:,} change{'s' if self.changes > 1 else ''}")
        body = []
        for row in self.rows:
            ever = "-" if row.allowed == 1 else _shown(row.permanent)
            cells = [row.question, "once" if row.allowed == 1 else f"{row.allowed:,} times"]
            cells += [_shown(row.one), _shown(row.unchanged)]
            cells += [_shown(row.changing)] if self.changes else []
            body.append([*cells, ever, _shown(row.lifetime)])
        text = [aligned(head, body), ""]
        text += [wrapped(self.sentence(row)) for row in self.rows]
        text += [wrapped(sentence) for sentence in self.closing()]
        return "\n".join(text)

    def _span(self) -> str:
        return "a year, daily" if self.days == YEAR else f"{self.days:,} days, daily"

    def sentence(self, row: Spending) -> str:
        """What a question costs, for someone who knows no mathematics."""
        changing = ""
        if self.changes and row.made > 1:
            times = "1 change" if self.changes == 1 else f"{self.changes:,} changes"
            changing = f" and {times} of your answer"
        if row.made < self.days:
            asked = "one report" if row.made == 1 else f"{row.made:,} reports"
            when = f"After {asked}, all that {row.question!r} asks{changing}"
        elif self.days == YEAR:
            when = f"After a year of daily reports on {row.question!r}{changing}"
        else:
            when = f"After {self.days:,} days of daily reports on {row.question!r}{changing}"
        return f"{when}, {consequence(row.changing)}"

    def closing(self) -> list[str]:
        """The total of these days and of everything, in words."""
        found = []
        if len(self.rows) > 1:
            found.append(f"After {self._these()}, {consequence(self.together)}")
        if self.total.epsilon > self.together * (1 + 1e-9):
            found.append(
                f"At most, after {self.total.of} with another answer every time, "
                f"{consequence(self.total.epsilon)}"
            )
        if any(row.permanent_answer and row.allowed > 1 for row in self.rows):
            found.append(
                "This is about what you answered. That you changed an answer, and when, is not "
                "hidden where noise is permanent: the new answer has noise of its own."
            )
        return found

    def _these(self) -> str:
        """What is added up: all questions, or those that each person is asked."""
        if all(collection.ask is None for collection in self.collections):
            return "all of these together"
        if len(self.collections) > 1:
            return "as many of these as you are asked, the dearest ones"
        (collection,) = self.collections
        asked = how_many(collection.ask, len(collection.questions))
        return f"the {asked} of these {len(self.rows)} that you are asked, the dearest ones"

    def to_dict(self) -> dict[str, object]:
        """The account as plain data; what has no limit is null."""
        return {
            "days": self.days,
            "changes": self.changes,
            "questions": [{**asdict(row), "sentence": self.sentence(row)} for row in self.rows],
            "together": self.together,
            "most": self.total.epsilon,
            "closing": self.closing(),
        }


def account(collections: Sequence[Collection], *, days: int = YEAR, changes: int = 0) -> Account:
    """What one person spends who reports daily for so long, and changes their answer so often."""
    checked_size("days", days, 1, MAX_COUNT)
    checked_size("changes", changes, 0, MAX_COUNT)
    rows = [
        _spending(collection, question, days, changes)
        for collection in collections
        for question in collection.questions
    ]
    whole = (
        collection_loss(collections[0]) if len(collections) == 1 else collections_loss(collections)
    )
    return Account(days, changes, tuple(rows), whole, lifetimes(collections), tuple(collections))


def _spending(collection: Collection, question: Question, days: int, changes: int) -> Spending:
    allowed = question.reports_per_person
    return Spending(
        collection=collection.name,
        series=collection.series,
        question=question.id,
        mechanism=digest(question.mechanism.describe()),
        permanent_answer=question.mechanism.permanence.is_memoised and question.period_days is None,
        allowed=allowed,
        made=min(days, allowed),
        one=question.epsilon,
        unchanged=changing_loss(question, days).epsilon,
        changing=changing_loss(question, days, changes).epsilon,
        permanent=permanent_loss(question).epsilon,
        lifetime=lifetime_loss(question),
    )


def _shown(epsilon: float) -> str:
    return "no limit" if math.isinf(epsilon) else f"{epsilon:,.4g}"
