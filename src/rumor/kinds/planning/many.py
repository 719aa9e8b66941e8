"""Several questions with one budget: divide epsilon, or divide the people.

A person's whole loss is given, and so many questions of one kind and size. Three ways to spend it:
ask everybody everything, each at a part of epsilon; ask each person one question, drawn at random,
with all of it; or ask each a block of questions jointly, as one answer among all combinations. All
variances are closed forms of the mechanisms that would be used, at a share of one in so many
answers: dividing epsilon costs about the square of the number, dividing the people the number
itself, but fewer people are also a smaller sample, which is why no way is always the best.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from rumor.core.checks import checked_choice, checked_size
from rumor.core.errors import InputError
from rumor.core.exact import checked_epsilon
from rumor.kinds import KINDS, NAMES
from rumor.kinds.planning.plan import Plan, make_plan
from rumor.kinds.planning.planned import MAX_USERS, BudgetSpec, PlannedQuestion, Size

MAX_QUESTIONS = 1000
BLOCKS = (2, 3, 4)
"""How many questions one joint answer may have."""


@dataclass(frozen=True)
class Strategy:
    """One way to ask so many questions, and what to expect of each of them."""

    name: str
    people: float
    """How many people answer each question."""
    epsilon: float
    """What one answer costs them."""
    error: float
    """The standard error of each question's estimate."""
    together: int = 1
    """How many questions are one answer."""


@dataclass(frozen=True)
class StrategyComparison:
    """The ways to ask several questions side by side, and the plan of the one to choose."""

    questions: int
    users: int
    epsilon: float
    ways: tuple[Strategy, ...]
    """One at random, all of them and, where there is one, the best block."""
    topic: PlannedQuestion[Any]
    given: Mapping[str, Any]

    @functools.cached_property
    def plan(self) -> Plan:
        """Of one question, asked by the better of the ways that ask singly."""
        one, everything = self.ways[:2]
        if everything.error < one.error:
            return make_plan(**{**self.given, "epsilon": everything.epsilon})
        return make_plan(**{**self.given, "users": int(one.people)})

    @property
    def best(self) -> Strategy:
        """The way of the least error."""
        return min(self.ways, key=lambda way: way.error)

    def ratio(self, way: Strategy) -> float:
        """The variance of a way, as a multiple of the best one's."""
        return (way.error / self.best.error) ** 2

    @property
    def reason(self) -> str:
        """What is recommended, and why, in a sentence or two."""
        one, everything = self.ways[:2]
        best = self.best
        others = " and ".join(
            f"{self.ratio(way):.3g} times as large with {way.name}"
            for way in self.ways
            if way is not best
        )
        said = f"{best.name}. For the same loss, the variance of each estimate is {others}."
        if best is one:
            return f"{said} In a collection: ask = {{questions = 1}}."
        if best is everything:
            return f"{said} Here the sample that is lost by asking fewer people weighs more."
        return (
            f'{said} In a collection: kind "joint". Of the two that ask singly, '
            f"{min(one, everything, key=lambda way: way.error).name} is better."
        )

    def table(self) -> str:
        """The ways as text, then the plan of one question."""
        from rumor.core.plain_text import aligned, wrapped

        topic = self.topic
        share = topic.unit == "share"
        head = ["way", "people each", "epsilon each", "std. error", "variance"]
        body = [
            [
                way.name,
                f"{way.people:,.0f}",
                f"{way.epsilon:.4g}",
                f"{way.error:.3%}" if share else f"{way.error:.4g}",
                f"{self.ratio(way):.3g}x",
            ]
            for way in self.ways
        ]
        return "\n".join(
            [
                f"{self.questions:,} questions to {self.users:,} people, epsilon "
                f"{self.epsilon:.4g} for all that one person answers",
                "",
                aligned(head, body),
                "",
                wrapped(f"Recommended: {self.reason}"),
                wrapped(
                    f"Std. error: of {topic.usual_of or topic.error_of}. Each question then is:"
                ),
                "",
                self.plan.table(),
            ]
        )

    def to_dict(self) -> dict[str, object]:
        """The ways as plain data, beside the plan of one question."""
        return {
            "questions": self.questions,
            "people": self.users,
            "epsilon": self.epsilon,
            "recommended": self.best.name,
            "reason": self.reason,
            "ways": [{**vars(way), "variance_ratio": self.ratio(way)} for way in self.ways],
            "each": self.plan.to_dict(),
        }

    def to_toml(self) -> str:
        """A collection of so many questions to start from, asked by the better single way."""
        one, everything = self.ways[:2]
        ask = "" if everything.error < one.error else "ask = {questions = 1}\n"
        head, _, question = self.plan.to_toml().partition("[[questions]]\n")
        head = head.replace(f"users = {self.plan.users}\n", f"users = {self.users}\n{ask}")
        numbered = [
            question.replace('id = "question"', f'id = "question-{number}"')
            for number in range(1, self.questions + 1)
        ]
        return head + "\n".join("[[questions]]\n" + each for each in numbered)


def plan_many(questions: int, **given: Any) -> StrategyComparison:
    """The ways to ask so many questions of one kind and size; otherwise as `make_plan`."""
    checked_size("questions", questions, 2, MAX_QUESTIONS)
    users, epsilon = given.get("users"), given.get("epsilon")
    if users is None or epsilon is None or given.get("error") or given.get("detect"):
        raise InputError(
            "a plan of several questions takes people and epsilon, what one person may lose in "
            "all, and gives the errors; got something else"
        )
    if (given.get("reports") or 1) > 1 or given.get("lifetime") is not None:
        raise InputError(
            "a plan of several questions is for questions that are asked once; got reports or a "
            "lifetime"
        )
    checked_size("people", users, questions, MAX_USERS)
    checked_epsilon(epsilon)
    kind, size = given.get("kind", NAMES[0]), _size(given)
    checked_choice("a plan's kind", kind, KINDS)
    KINDS[kind].check_size(size)
    fewer = replace(size, users=users // questions)
    one, everything = KINDS[kind].plan_question(fewer), KINDS[kind].plan_question(size)
    ways = [
        Strategy("one at random", users / questions, epsilon, _error(one, epsilon)),
        Strategy(
            "all of them", users, epsilon / questions, _error(everything, epsilon / questions)
        ),
    ]
    blocks = _blocks(one, questions, users, epsilon)
    if blocks:
        ways.append(min(blocks, key=lambda way: way.error))
    return StrategyComparison(questions, users, epsilon, tuple(ways), one, given)


def _size(given: Mapping[str, Any]) -> Size:
    """What was said of how large each question is."""
    names = [field.name for field in fields(Size)]
    return Size(**{name: given[name] for name in names if name in given})


def _error(topic: PlannedQuestion[Any], epsilon: float) -> float:
    """The usual error of the mechanism that would be used."""
    users, spec = topic.asked.users or 1, BudgetSpec(epsilon)
    best = topic.choose(topic.candidates(spec), users, spec)
    return topic.usual_error(best.mechanism, users)


def _blocks(
    topic: PlannedQuestion[Any], questions: int, users: int, epsilon: float
) -> list[Strategy]:
    """A few questions answered together, where there are not too many combinations."""
    variance: Callable[[int, float], float | None] = topic.block_variance
    found = []
    for together in BLOCKS:
        each = variance(together, epsilon) if together <= questions else None
        if each is not None:
            people = users * together / questions
            name = f"{together} at a time, jointly"
            found.append(Strategy(name, people, epsilon, (each / people) ** 0.5, together))
    return found
