"""The loss of one person over time, for every question of some collections, in one table.

All numbers are worst cases, rounded up: one report; daily reports of one unchanged answer; daily
reports while the answer changes; any number of reports of one answer; and the collection's whole
life, with another answer every time. They bound what reports reveal about the answers of people who
change them at equal times (rumor.privacy.loss).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from rumor.contract.collection import Collection, Question
from rumor.contract.sampling import questions_per_person
from rumor.core.canonical import digest
from rumor.core.checks import checked_size
from rumor.core.exact import sum_up
from rumor.privacy.loss import (
    MAX_COUNT,
    Loss,
    changing_loss,
    collection_loss,
    collections_loss,
    lifetime_loss,
    lifetimes,
    permanent_loss,
    sampled_loss,
)
from rumor.privacy.sentences import consequence

YEAR = 365


@dataclass(frozen=True)
class QuestionCost:
    """The losses that one question can cause one person; infinite without a limit."""

    collection: str
    series: str
    question: str
    mechanism: str
    """The digest of the mechanism's description."""
    permanent_answer: bool
    """Whether part of the noise stays while the answer does."""
    allowed: int
    """The most reports that a person makes."""
    made: int
    """The number of them that fall into the days of the account."""
    one: float
    unchanged: float
    changing: float
    permanent: float
    lifetime: float


@dataclass(frozen=True)
class Account:
    """The losses of one person over some days of daily reports."""

    days: int
    changes: int
    rows: tuple[QuestionCost, ...]
    total: Loss
    """The loss of everything the collections may ever ask, with another answer every time."""
    most: Mapping[tuple[str, str], float]
    """The largest loss of each question, by series and id."""
    collections: tuple[Collection, ...]

    @property
    def together(self) -> float:
        """The loss of all assigned questions over these days.

        A revision that randomises otherwise has independent reports, whose loss is added; revisions
        that randomise alike count once. With a sampling design, the questions with the largest
        losses count.
        """
        dearest: dict[tuple[str, str], dict[str, float]] = {}
        for row in self.rows:
            ways = dearest.setdefault((row.series, row.question), {})
            ways[row.mechanism] = max(ways.get(row.mechanism, 0.0), row.changing)
        each = {key: min(sum_up(dearest[key].values()), self.most[key]) for key in dearest}
        return sampled_loss(self.collections, each)

    def table(self) -> str:
        """Return a line for each question, then its meaning in words."""
        from rumor.core.plain_text import aligned, wrapped

        head = ["question", "asked", "one report", self._span(), "any number", "most in all"]
        if self.changes:
            head.insert(4, f"{self.changes:,} change{'s' if self.changes > 1 else ''}")
        body = []
        for row in self.rows:
            ever = "-" if row.allowed == 1 else _format_epsilon(row.permanent)
            cells = [row.question, "once" if row.allowed == 1 else f"{row.allowed:,} times"]
            cells += [_format_epsilon(row.one), _format_epsilon(row.unchanged)]
            cells += [_format_epsilon(row.changing)] if self.changes else []
            body.append([*cells, ever, _format_epsilon(row.lifetime)])
        text = [aligned(head, body), ""]
        text += [wrapped(self.sentence(row)) for row in self.rows]
        text += [wrapped(sentence) for sentence in self.closing()]
        return "\n".join(text)

    def _span(self) -> str:
        return "a year, daily" if self.days == YEAR else f"{self.days:,} days, daily"

    def sentence(self, row: QuestionCost) -> str:
        """Say what the question of `row` costs, for a reader who knows no mathematics."""
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
        """Say the total of these days and of everything, in words."""
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
        """Return the phrase for the questions that are added up."""
        if all(collection.ask is None for collection in self.collections):
            return "all of these together"
        if len(self.collections) > 1:
            return "as many of these as you are asked, the dearest ones"
        (collection,) = self.collections
        asked = questions_per_person(collection.ask, len(collection.questions))
        return f"the {asked} of these {len(self.rows)} that you are asked, the dearest ones"

    def to_dict(self) -> dict[str, object]:
        """Return the account as plain data; a loss without limit is null."""
        return {
            "days": self.days,
            "changes": self.changes,
            "questions": [{**asdict(row), "sentence": self.sentence(row)} for row in self.rows],
            "together": self.together,
            "most": self.total.epsilon,
            "closing": self.closing(),
        }


def account(collections: Sequence[Collection], *, days: int = YEAR, changes: int = 0) -> Account:
    """Account for a person who reports on `days` days and changes the answer `changes` times."""
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


def _spending(collection: Collection, question: Question, days: int, changes: int) -> QuestionCost:
    allowed = question.reports_per_person
    return QuestionCost(
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


def _format_epsilon(epsilon: float) -> str:
    return "no limit" if math.isinf(epsilon) else f"{epsilon:,.4g}"
