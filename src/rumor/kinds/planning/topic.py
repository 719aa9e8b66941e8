"""What a plan must know of a kind of question: its mechanisms, and their errors."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import ClassVar

from rumor.kinds.planning.forecast_range import Range
from rumor.kinds.planning.permanent import LIFETIME
from rumor.mechanisms import Mechanism

LEVEL, POWER = 0.05, 0.9
MAX_USERS = 10**12


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
class Candidate:
    """One mechanism, what it is called in the table, and how a collection asks for it."""

    label: str
    mechanism: Mechanism
    toml: Mapping[str, object]
    shape: Mapping[str, int | float] = field(default_factory=dict)
    """Further columns: the parameters that were chosen."""


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


Progress = Callable[[int, int], None]


class Topic(abc.ABC):
    """A kind of question, of a certain size."""

    kind: ClassVar[str]
    unit: ClassVar[str] = "share"
    """Whether errors are shares of people or have a unit of their own ("number")."""
    error_of: ClassVar[str]
    """What the standard error is that of, in words."""
    default_of: ClassVar[str]
    """What the error of the default is that of, in words."""
    detects: ClassVar[str]
    """What is called detectable, in words."""

    @abc.abstractmethod
    def size(self) -> str:
        """How many values there are, in words."""

    @abc.abstractmethod
    def candidates(self, wish: Wish) -> Sequence[Candidate]:
        """The mechanisms that keep the wish."""

    @abc.abstractmethod
    def error(self, mechanism: Mechanism, users: int) -> float:
        """The standard error of the linear estimate."""

    @abc.abstractmethod
    def default(self, mechanism: Mechanism, users: int) -> float | None:
        """The root mean squared error of the default estimate on a crowd of a usual shape."""

    def range(self, mechanism: Mechanism, users: int) -> Range | None:
        """How far the error of the default depends on the crowd; None where nobody looked."""
        return None

    @abc.abstractmethod
    def detectable(self, mechanism: Mechanism, users: int) -> float:
        """The smallest frequency, or difference, that is noticed with the stated power."""

    @abc.abstractmethod
    def choose(self, candidates: Sequence[Candidate], users: int, wish: Wish) -> Candidate:
        """The one to recommend."""

    @abc.abstractmethod
    def question(self) -> Mapping[str, object]:
        """The keys of the question in a collection, beside those of the candidate."""

    @abc.abstractmethod
    def simulate(
        self,
        mechanism: Mechanism,
        users: int,
        trials: int,
        seed: int,
        on_progress: Progress | None,
    ) -> Forecast:
        """Real reports, really estimated, some times."""

    def mean_error(self, mechanism: Mechanism, users: int) -> float | None:
        """Where keys have numbers: the standard error of a key's mean."""
        return None

    def notes(self) -> Sequence[str]:
        """What else should be said under the table."""
        return ()


def told_apart(deviation: Callable[[float], float], level: float = LEVEL) -> float:
    """The f with f = z(level) sd(0) + z(power) sd(f), by iteration; 1 when there is none."""
    first, power = NormalDist().inv_cdf(1 - level), NormalDist().inv_cdf(POWER)
    noise = deviation(0.0)
    f = (first + power) * noise
    for _ in range(50):
        if f >= 1:
            return 1.0
        f = first * noise + power * deviation(f)
    return min(f, 1.0)
