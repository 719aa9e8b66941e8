"""A question as a plan sees it: its size, the mechanisms it may use, and their errors."""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Generic, Self, TypeVar

from rumor.core.checks import checked_size
from rumor.core.errors import InputError
from rumor.core.types import Progress
from rumor.estimators.compare.power import Between
from rumor.kinds.planning.forecast_range import Range
from rumor.kinds.planning.permanent import LIFETIME
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.liars import FakeClients

MAX_USERS = 10**12
MAX_DOMAIN = 1_000_000

M = TypeVar("M", bound=Mechanism)


@dataclass(frozen=True)
class Size:
    """How large a question is, as far as its kind has such a size."""

    domain: int | None = None
    """Answers, candidate words or keys."""
    users: int | None = None
    low: float = 0.0
    high: float = 1.0
    cap: int | None = None
    parts: str | None = None
    """How many values each part of a joint answer has: "5x4"."""

    @property
    def span(self) -> float:
        """How long the range is."""
        return self.high - self.low

    def checked(self, least: int) -> Self:
        """The same, its domain known to be one."""
        return replace(self, domain=checked_size("domain", self.domain, least, MAX_DOMAIN))

    def without_domain(self) -> Self:
        """The same of a question that has none."""
        return replace(self, domain=None)


@dataclass(frozen=True)
class Wish:
    """What everybody's reports may cost, and how often they are asked."""

    epsilon: float
    reports: int = 1
    lifetime: float | None = None

    @property
    def permanent(self) -> float:
        """What any number of reports of one unchanged answer may cost."""
        return LIFETIME * self.epsilon if self.lifetime is None else self.lifetime


@dataclass(frozen=True)
class Candidate(Generic[M]):
    """One mechanism, what it is called in the table, and how a collection asks for it."""

    name: str
    mechanism: M
    toml: Mapping[str, object]
    shape: Mapping[str, int | float] = field(default_factory=dict)
    """Further columns: the parameters that were chosen."""

    @staticmethod
    def by_name(
        mechanism: M, wish: Wish, shape: Mapping[str, int | float] | None = None
    ) -> Candidate[M]:
        """One that a collection asks for by its name and epsilon."""
        toml = {"epsilon": wish.epsilon, "mechanism": mechanism.name}
        return Candidate(mechanism.name, mechanism, toml, shape or {})


@dataclass(frozen=True, kw_only=True)
class Option(Candidate[M]):
    """One mechanism, and what to expect of it."""

    error: float
    """The standard error of the linear estimate."""
    second_error: float | None
    default: float | None
    """The root mean squared error of the default estimate over all values of a usual crowd."""
    detectable: float
    """The smallest frequency that is told from zero at level 5 % with power 90 %."""
    shown: float | None
    """The smallest frequency that has an interval above 0 in the table of the estimate, with
    power 90 %; None where no table is ranked."""
    fakes: FakeClients
    """How far one fake in a hundred can move a value."""
    epsilon: float
    """The loss of one answer: of one report or, where an answer takes several rounds, of all."""
    epsilon_total: float
    """The loss of all the reports that a person makes of one unchanged answer."""


@dataclass(frozen=True)
class Forecast:
    """What a simulation measured beside what was predicted."""

    people: int
    trials: int
    truth: str
    linear: tuple[float, float]
    """Root mean squared error of the linear estimate: predicted, simulated."""
    default: tuple[float, float] | None
    """The same of the default estimate; None where it is not predicted."""


Squares = tuple[float, float]
"""Squared errors of one trial, in the mean over all values: of the linear estimate, the default."""


@dataclass(frozen=True)
class PlannedQuestion(abc.ABC, Generic[M]):
    """A question of some kind and size."""

    asked: Size

    simulated: ClassVar[int] = 100_000
    """People of a simulation, at most."""
    unit: ClassVar[str] = "share"
    """Whether errors are shares of people or have a unit of their own ("number")."""
    sized: ClassVar[str]
    """How many values there are, in words, with the sizes in braces."""
    error_of: ClassVar[str]
    """What the standard error is that of, in words."""
    default_of: ClassVar[str]
    """What the error of the default is that of, in words."""
    detects: ClassVar[str]
    """What is called detectable, in words."""
    truth: ClassVar[str] = "Zipf's law"
    """What the people of a simulation answer, in words."""
    second: ClassVar[tuple[str, str]] = ("mean error", "mean_standard_error")
    """What `second_error` is called, in tables and as data."""

    @property
    def domain(self) -> int:
        """Answers, candidate words or keys, where the kind has such a number."""
        assert self.asked.domain is not None
        return self.asked.domain

    def size(self) -> str:
        """How many values there are, in words."""
        return self.sized.format(**vars(self.asked))

    @abc.abstractmethod
    def candidates(self, wish: Wish) -> Sequence[Candidate[M]]:
        """The mechanisms that keep the wish."""

    @abc.abstractmethod
    def error(self, mechanism: M, users: int) -> float:
        """The standard error of the linear estimate."""

    @abc.abstractmethod
    def default(self, mechanism: M, users: int) -> float | None:
        """The root mean squared error of the default estimate on a crowd of a usual shape."""

    def range(self, mechanism: M, users: int) -> Range | None:
        """How far the error of the default depends on the crowd; None where nobody looked."""
        return None

    @abc.abstractmethod
    def detectable(self, mechanism: M, users: int) -> float:
        """The smallest frequency, or difference, that is noticed with the stated power."""

    def shown(self, mechanism: M, users: int) -> float | None:
        """Return the smallest frequency with an interval above 0 in the table of the estimate.

        None where the table is not ranked.
        """
        return None

    def compared_rows(self, mechanism: M) -> int:
        """Return how many rows `rumor compare` prints for a pair of groups."""
        raise _not_compared(mechanism)

    def difference(self, mechanism: M, users: int, between: Between) -> float:
        """Return the smallest difference that groups of so many people each notice."""
        raise _not_compared(mechanism)

    @abc.abstractmethod
    def choose(self, candidates: Sequence[Candidate[M]], users: int, wish: Wish) -> Candidate[M]:
        """The one to recommend."""

    @abc.abstractmethod
    def question(self) -> Mapping[str, object]:
        """The keys of the question in a collection, beside those of the candidate."""

    @abc.abstractmethod
    def trials(self, mechanism: M, users: int, seed: int) -> Iterator[Squares]:
        """Real reports, really estimated, of one crowd after another without end."""

    def linear(self, mechanism: M, users: int) -> float:
        """The error of the linear estimate on such a crowd."""
        return self.error(mechanism, users)

    def simulate(
        self,
        mechanism: M,
        users: int,
        trials: int,
        seed: int,
        on_progress: Progress | None,
    ) -> Forecast:
        """Some trials beside what was predicted of them."""
        linear = default = 0.0
        tried = itertools.islice(self.trials(mechanism, users, seed), trials)
        for number, (of_linear, of_default) in enumerate(tried, 1):
            linear += of_linear
            default += of_default
            if on_progress is not None:
                on_progress(number, trials)
        expected = self.default(mechanism, users)
        return Forecast(
            users,
            trials,
            self.truth,
            (self.linear(mechanism, users), math.sqrt(linear / trials)),
            None if expected is None else (expected, math.sqrt(default / trials)),
        )

    usual_of: ClassVar[str] = ""
    """What the usual error is that of, in words; by default the standard error's."""

    def usual_error(self, mechanism: M, users: int) -> float:
        """The standard error of something that is not rare, by which ways to ask are compared."""
        return self.error(mechanism, users)

    def block_variance(self, together: int, epsilon: float) -> float | None:
        """The variance of one person's answer to a question that is asked jointly with others.

        None where so many of them cannot be one answer.
        """
        return None

    def second_error(self, mechanism: M, users: int) -> float | None:
        """Of something that is learned as well: the mean of a key, the median of a range."""
        return None

    def reason(self, best: Option[M], options: Sequence[Option[M]]) -> str | None:
        """Why this one is recommended, where there is more to say than its error."""
        return None

    def notes(self, mechanism: M, users: int) -> Sequence[str]:
        """What else should be said under the table, of what is recommended."""
        return ()


def _not_compared(mechanism: Mechanism) -> InputError:
    return InputError(
        f"differences are planned for choices, sets, numbers and ordered answers; "
        f"got {mechanism.kind!r}"
    )
