"""Sampling designs: how many of a collection's questions and days each respondent is assigned.

Dividing a budget over many questions makes every answer noisier than asking each respondent one
of them with the whole budget. The assignment is drawn before anything is shown and from no answer,
so it may be public. A respondent then spends the loss of the assigned questions, at most that of
the questions with the largest losses.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rumor.core.canonical import Json
from rumor.core.checks import checked_size, known_keys
from rumor.core.errors import InputError, format_value
from rumor.core.exact import sum_up

if TYPE_CHECKING:
    from rumor.contract.collection import Question

_KEYS = ("questions", "days", "starts")
_MAX_DAYS = 36_525
_FIRST, _LAST = datetime.date(1970, 1, 1), datetime.date(2999, 12, 31)


@dataclass(frozen=True)
class SamplingDesign:
    """A rule that assigns each respondent some of the questions, on one of some days."""

    questions: int | None = None
    """The number of questions per respondent; None: all of them."""
    days: int | None = None
    """The number of days of which each respondent answers on one; None: any day will do."""
    starts: datetime.date | None = None
    """The first of the days; None: the day on which a device meets the collection."""

    def contract(self) -> dict[str, Json]:
        """Return the design as plain data, with days written YYYY-MM-DD."""
        said = {"questions": self.questions, "days": self.days}
        found: dict[str, Json] = {key: value for key, value in said.items() if value is not None}
        if self.starts is not None:
            found["starts"] = self.starts.isoformat()
        return found

    def day(self, number: int, met: datetime.date) -> datetime.date:
        """Return day `number` (from 0) for a device that met the collection on the day `met`."""
        return (self.starts or met) + datetime.timedelta(days=number)

    def in_words(self, of: int) -> str:
        """Say what each respondent is asked `of` all questions, as the end of a sentence."""
        said = []
        if self.questions is not None:
            said.append(f"{self.questions:,} of {of:,} questions")
        if self.days is not None:
            first = "their first" if self.starts is None else self.starts.isoformat()
            said.append(f"on one of {self.days:,} days from {first} on")
        return f"{', '.join(said)}, drawn at random on their device"


def questions_per_person(ask: SamplingDesign | None, questions: int) -> int:
    """Return how many of `questions` questions one person answers under `ask`."""
    return questions if ask is None or ask.questions is None else ask.questions


def respondents_per_question(users: int | None, given: object, questions: int) -> int | None:
    """Return how many of the expected `users` answer each question, to choose a mechanism by.

    `given` is the table `ask` before it is checked: errors are reported once the questions are
    known.
    """
    count = given.get("questions") if isinstance(given, Mapping) else None
    if users is None or not isinstance(count, int) or not 1 <= count < questions:
        return users
    return max(1, users * count // questions)


def sum_of_largest(losses: Iterable[float], count: int) -> float:
    """Return the sum of the `count` largest `losses`, rounded up."""
    return sum_up(sorted(losses, reverse=True)[:count])


def check_asked_together(ask: SamplingDesign | None, questions: Sequence[str], by: str) -> None:
    """Refuse groups `by` a question that is asked apart, so that its reports cannot be paired."""
    if ask is not None and ask.questions is not None and by in questions:
        raise InputError(
            f"groups by a question need both answers of each respondent, and each is asked "
            f"{ask.questions:,} of {len(questions):,} questions; ask the two together, as kind "
            f'"joint"; got {by!r}'
        )


def checked_design(
    given: object, questions: Sequence[Question], *, resolved: bool
) -> SamplingDesign | None:
    """Return the sampling design under `ask`; a contract that is `resolved` omits defaults."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InputError(
            f"ask must be a table such as {{questions = 1, days = 30}}; got {format_value(given)}"
        )
    known_keys("ask", given, _KEYS)
    if not {"questions", "days"} & set(given):
        raise InputError(
            f"ask must say how many questions, or days, or both; got {format_value(given)}"
        )
    ask = SamplingDesign(_questions(given, len(questions), resolved), *_days(given))
    if ask == SamplingDesign():
        return None
    for question in questions:
        _check_question(ask, question)
    return ask


def _questions(given: Mapping[str, object], there_are: int, resolved: bool) -> int | None:
    if "questions" not in given:
        return None
    count = given["questions"]
    rule = f"questions of ask must be from 1 to the {there_are} that the collection has"
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= there_are:
        raise InputError(f"{rule}; got {format_value(count)}")
    if count < there_are:
        return count
    if resolved:
        raise InputError(f"a contract leaves questions of ask out where all are asked; got {count}")
    return None


def _days(given: Mapping[str, object]) -> tuple[int | None, datetime.date | None]:
    if "days" not in given:
        if "starts" in given:
            raise InputError(
                f"starts of ask goes with days, of which it is the first; got "
                f"{format_value(given['starts'])} without them"
            )
        return None, None
    days = checked_size("days of ask", given["days"], 2, _MAX_DAYS)
    return days, None if "starts" not in given else _day(given["starts"])


def _day(starts: object) -> datetime.date:
    """Return the date that TOML or a contract writes as `starts`, and refuse a time of day."""
    try:
        day = datetime.date.fromisoformat(str(starts))
    except ValueError:
        day = None
    # One day has one spelling: another one would change the digest of the contract.
    if day is None or day.isoformat() != str(starts) or not _FIRST <= day <= _LAST:
        raise InputError(
            f"starts of ask must be a day written YYYY-MM-DD, from {_FIRST} to {_LAST}; "
            f"got {format_value(str(starts))}"
        )
    return day


def _check_question(ask: SamplingDesign, question: Question) -> None:
    """Refuse a question in rounds, and days for a question that is answered on several."""
    mechanism, reports = question.mechanism, question.reports_per_person
    if mechanism.rounds > 1:
        raise InputError(
            f"ask cannot go with a question in rounds, since each round is a collection of its "
            f"own; got question {question.id!r} in {mechanism.rounds} rounds"
        )
    if ask.days is None:
        return
    if question.period_days is not None:
        raise InputError(
            f'days of ask cannot go with memo = "period", since a person answers on one day '
            f"only; got it of question {question.id!r}"
        )
    if reports > 1:
        raise InputError(
            f"days of ask cannot go with reports_per_person above 1, since a person answers on "
            f"one day only; got {reports:,} of question {question.id!r}"
        )
