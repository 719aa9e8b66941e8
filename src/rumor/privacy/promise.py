"""What a person is told that they spend: one statement, wherever it is said.

Of each question: what one report costs, how often it is asked (in how many rounds), what all
of it costs with one unchanged answer, and the most that it can cost. Of a collection: everything
together, and what its series may cost at most, revisions included. Commands, pages and the
dashboard say these numbers and compute none of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

from rumor.contract.asking import Ask
from rumor.contract.collection import Collection, Question
from rumor.contract.linking import Linked
from rumor.core.exact import sum_up
from rumor.privacy.loss import collection_loss, lifetime_loss, series_ceiling
from rumor.privacy.sentences import consequence, in_words


@dataclass(frozen=True)
class QuestionPromise:
    """What one question costs one person."""

    question: str
    reports: int
    """How many reports it asks of a person, in each round."""
    rounds: int
    period_days: int | None
    one: float
    """What a report costs."""
    unchanged: float
    """What all reports cost, all rounds included, with one unchanged answer."""
    most: float
    """The same with another answer (or in another period) every time."""

    def asked(self) -> str:
        """How often a person is asked."""
        times = "once" if self.reports == 1 else f"at most {self.reports:,} times"
        return times if self.rounds == 1 else f"{times} in each of {self.rounds} rounds"

    def in_words(self) -> str:
        """All of it, for somebody who knows no mathematics."""
        words = [in_words(self.one)]
        if self.reports * self.rounds > 1:
            once, each = "With one answer", "If your answer changes every time"
            if self.period_days is not None:
                once, each = "In one period", "In as many periods"
            words.append(
                f"You are asked {self.asked()}. {once}, {consequence(self.unchanged)}"
                if self.most > self.unchanged
                else f"You are asked {self.asked()}. After all of it, {consequence(self.unchanged)}"
            )
            if self.most > self.unchanged:
                words.append(f"{each}, it is epsilon {self.most:,.4g} at most.")
        if self.period_days is not None:
            words.append(self.standing())
        return " ".join(words)

    def standing(self) -> str:
        """What the answer of a period means."""
        days = "day" if self.period_days == 1 else f"{self.period_days:,} days"
        return (
            f"Your first answer in every {days} stands for all of that time, so nobody can tell "
            f"whether you changed it."
        )

    def to_dict(self) -> dict[str, object]:
        """The promise as plain data."""
        return {
            "asked": self.asked(),
            "epsilon": self.one,
            "epsilon_total": self.unchanged,
            "epsilon_most": self.most,
            "privacy": self.in_words(),
        }


@dataclass(frozen=True)
class CollectionPromise:
    """What a whole collection costs one person."""

    questions: tuple[QuestionPromise, ...]
    most: float
    """Everything answered as often as it may be, another answer every time."""
    ceiling: float
    """What a device lets the series cost at most, unless the person agrees to more."""
    ask: Ask | None = None
    linked: Linked | None = None

    def in_words(self) -> str:
        """The end of a sentence about what it costs."""
        of = ""
        if self.ask is not None and self.ask.questions is not None:
            of = f" ({self.ask.questions:,} of {len(self.questions):,} questions)"
        return f"at most epsilon {self.most:,.6g} per respondent{of}"

    def added_up(self) -> str | None:
        """What several questions tell together, in a sentence; None where there is one alone."""
        if len(self.questions) == 1 or (self.ask is not None and self.ask.questions == 1):
            return None
        return f"After all of it, {consequence(self.most)}"

    def whom(self) -> str:
        """Of whom each question is asked."""
        some = self.ask is not None and self.ask.questions is not None
        return "respondent who is assigned the question" if some else "respondent"

    def asked(self) -> str | None:
        """What each person is asked, where it is not everything on any day."""
        return None if self.ask is None else self.ask.in_words(len(self.questions))

    def joined(self) -> str | None:
        """That two reports of a person may be joined, in a sentence, where they may."""
        if self.linked is None:
            return None
        both = sum_up(one.most for one in self.questions if one.question in self.linked)
        return (
            f"The reports of one respondent on {' and '.join(map(repr, self.linked))} can be "
            f"linked. Together they cost at most epsilon {both:,.6g}, which the budget includes."
        )


def question_promise(question: Question) -> QuestionPromise:
    """What one question costs one person."""
    return QuestionPromise(
        question.id,
        question.reports_per_person,
        question.mechanism.rounds,
        question.period_days,
        question.epsilon,
        question.epsilon_total,
        lifetime_loss(question),
    )


def collection_promise(collection: Collection) -> CollectionPromise:
    """What a whole collection costs one person."""
    return CollectionPromise(
        tuple(question_promise(question) for question in collection.questions),
        collection_loss(collection).epsilon,
        series_ceiling(collection),
        collection.ask,
        collection.linked,
    )
