"""The promise to a respondent about their loss, in the words that every output uses.

For each question: what one report costs, how often it is asked (in how many rounds), what all
reports cost with one unchanged answer, and the most that they can cost. For a collection: the
total, and the ceiling of its series over all revisions. Commands, pages and the dashboard say these
numbers and compute none of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rumor.contract.collection import Collection, Question
from rumor.contract.linking import Linked
from rumor.contract.sampling import SamplingDesign
from rumor.core.deprecation import old_names
from rumor.core.exact import sum_up
from rumor.privacy.loss import collection_loss, lifetime_loss, series_ceiling
from rumor.privacy.sentences import LARGE, consequence, in_words


@old_names(asked="repetition_in_words")
@dataclass(frozen=True)
class QuestionPromise:
    """The loss of one person on one question, and how often they are asked."""

    question: str
    reports: int
    """The number of reports of a person, in each round."""
    rounds: int
    period_days: int | None
    one: float
    """The loss of one report."""
    unchanged: float
    """The loss of all reports, over all rounds, with one unchanged answer."""
    most: float
    """The loss of all reports with another answer (or in another period) every time."""

    def repetition_in_words(self) -> str:
        """Say how often a person is asked."""
        times = "once" if self.reports == 1 else f"at most {self.reports:,} times"
        return times if self.rounds == 1 else f"{times} in each of {self.rounds} rounds"

    def in_words(self) -> str:
        """Say the whole promise, for a reader who knows no mathematics."""
        words = [in_words(self.one)]
        if self.reports * self.rounds > 1:
            once, each = "With one answer", "If your answer changes every time"
            if self.period_days is not None:
                once, each = "In one period", "In as many periods"
            after = once if self.most > self.unchanged else "After all of it"
            words.append(
                f"You are asked {self.repetition_in_words()}. {after}, "
                f"{consequence(self.unchanged)}"
            )
            if self.most > self.unchanged:
                words.append(f"{each}, it is epsilon {self.most:,.4g} at most.")
        if self.period_days is not None:
            words.append(self.period_in_words())
        return " ".join(words)

    def advice(self) -> str | None:
        """Return how to bound a total that hides next to nothing; None where none is needed."""
        often = self.reports * self.rounds
        if often == 1 or not LARGE < self.most < math.inf:
            return None
        each = self.most / self.reports
        fewer = math.floor(LARGE / each)
        way = (
            f"reports_per_person = {fewer} keeps it at epsilon {fewer * each:,.3g}"
            if fewer
            else "only a smaller epsilon of a report bounds it"
        )
        said = f"with another answer every time all reports cost epsilon {self.most:,.4g}: {way}"
        if self.unchanged < self.most and self.period_days is None:
            said += '; memo = "period" hides when an answer changes'
        return said

    def period_in_words(self) -> str:
        """Say what the first answer of a period stands for."""
        days = "day" if self.period_days == 1 else f"{self.period_days:,} days"
        return (
            f"Your first answer in every {days} stands for all of that time, so nobody can tell "
            f"whether you changed it."
        )

    def to_dict(self) -> dict[str, object]:
        """Return the promise as plain data."""
        return {
            "asked": self.repetition_in_words(),
            "epsilon": self.one,
            "epsilon_total": self.unchanged,
            "epsilon_most": self.most,
            "privacy": self.in_words(),
        }


@old_names(asked="questions_in_words")
@dataclass(frozen=True)
class CollectionPromise:
    """The loss of one person in a whole collection."""

    questions: tuple[QuestionPromise, ...]
    most: float
    """The loss if everything is answered as often as it may be, with changing answers."""
    ceiling: float
    """The most a device lets the series cost, unless the person agrees to more."""
    ask: SamplingDesign | None = None
    linked: Linked | None = None

    def in_words(self) -> str:
        """Return the total, as the end of a sentence."""
        of = ""
        if self.ask is not None and self.ask.questions is not None:
            of = f" ({self.ask.questions:,} of {len(self.questions):,} questions)"
        return f"at most epsilon {self.most:,.6g} per respondent{of}"

    def total_in_words(self) -> str | None:
        """Say what several questions reveal together; None if only one is asked."""
        if len(self.questions) == 1 or (self.ask is not None and self.ask.questions == 1):
            return None
        return f"After all of it, {consequence(self.most)}"

    def respondents_in_words(self) -> str:
        """Return the name of the people that each question is asked of."""
        some = self.ask is not None and self.ask.questions is not None
        return "respondent who is assigned the question" if some else "respondent"

    def questions_in_words(self) -> str | None:
        """Say what each person is asked; None if it is everything on any day."""
        return None if self.ask is None else self.ask.in_words(len(self.questions))

    def linking_in_words(self) -> str | None:
        """Say that two reports of a person can be linked; None if they cannot."""
        if self.linked is None:
            return None
        both = sum_up(one.most for one in self.questions if one.question in self.linked)
        return (
            f"The reports of one respondent on {' and '.join(map(repr, self.linked))} can be "
            f"linked. Together they cost at most epsilon {both:,.6g}, which the budget includes."
        )


def question_promise(question: Question) -> QuestionPromise:
    """Return the promise to one person on one question."""
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
    """Return the promise to one person on a whole collection."""
    return CollectionPromise(
        tuple(question_promise(question) for question in collection.questions),
        collection_loss(collection).epsilon,
        series_ceiling(collection),
        collection.ask,
        collection.linked,
    )
