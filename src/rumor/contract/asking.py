"""One of many: how few of a collection's questions, and of its days, each person is asked.

Dividing a budget over many questions makes every answer noisier than asking each person one of
them with the whole budget: the people are divided instead. Who is asked what is drawn before
anything is shown, from nothing that a person answers, so it may be public; what an answer costs
is then the loss of the questions that were asked, and at most that of the dearest of them.
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
class Ask:
    """How many of the questions a person answers, and on one of how many days."""

    questions: int | None = None
    """How many questions; None: all of them."""
    days: int | None = None
    """One of so many days; None: on any day."""
    starts: datetime.date | None = None
    """The first of the days; None: the day on which a device meets the collection."""

    def contract(self) -> dict[str, Json]:
        """What is said, as plain data: a day as YYYY-MM-DD."""
        said = {"questions": self.questions, "days": self.days}
        found: dict[str, Json] = {key: value for key, value in said.items() if value is not None}
        if self.starts is not None:
            found["starts"] = self.starts.isoformat()
        return found

    def day(self, number: int, met: datetime.date) -> datetime.date:
        """The day of this number, counted from 0, for a device that met the collection then."""
        return (self.starts or met) + datetime.timedelta(days=number)

    def in_words(self, of: int) -> str:
        """What each person is asked, as the end of a sentence."""
        said = []
        if self.questions is not None:
            said.append(f"{self.questions:,} of {of:,} questions")
        if self.days is not None:
            first = "their first" if self.starts is None else self.starts.isoformat()
            said.append(f"on one of {self.days:,} days from {first} on")
        return f"{', '.join(said)}, drawn at random on their device"


def how_many(ask: Ask | None, questions: int) -> int:
    """How many of so many questions one person answers."""
    return questions if ask is None or ask.questions is None else ask.questions


def people_each(users: int | None, given: object, questions: int) -> int | None:
    """How many of the expected people answer each question, for the choice of its mechanism.

    Before `ask` is checked: what is wrong with it is said when the questions are known.
    """
    count = given.get("questions") if isinstance(given, Mapping) else None
    if users is None or not isinstance(count, int) or not 1 <= count < questions:
        return users
    return max(1, users * count // questions)


def dearest(losses: Iterable[float], count: int) -> float:
    """What so many of these cost together at most, rounded up: whichever are asked."""
    return sum_up(sorted(losses, reverse=True)[:count])


def check_apart(ask: Ask | None, questions: Sequence[str], by: str) -> None:
    """Refuse a table of two questions that are asked singly: their reports never meet."""
    if ask is not None and ask.questions is not None and by in questions:
        raise InputError(
            f"each person is asked {ask.questions:,} of {len(questions):,} questions, each by "
            f"itself, so no table of two of them can be made; ask them together, as kind "
            f'"joint"; got {by!r} beside another'
        )


def checked_ask(given: object, questions: Sequence[Question], *, resolved: bool) -> Ask | None:
    """What a collection says under `ask`; a contract that is `resolved` says nothing needless."""
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
    ask = Ask(_questions(given, len(questions), resolved), *_days(given))
    if ask == Ask():
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
    """A day as TOML or as a contract writes it; a time of day is none."""
    try:
        day = datetime.date.fromisoformat(str(starts))
    except ValueError:
        day = None
    # Another way of writing the day would be another contract.
    if day is None or day.isoformat() != str(starts) or not _FIRST <= day <= _LAST:
        raise InputError(
            f"starts of ask must be a day written YYYY-MM-DD, from {_FIRST} to {_LAST}; "
            f"got {format_value(str(starts))}"
        )
    return day


def _check_question(ask: Ask, question: Question) -> None:
    """Refuse what cannot be one of many: each round is a collection, a day is one answer."""
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
