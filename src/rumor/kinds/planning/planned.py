"""How well is well enough: mean squares of errors, and what a test notices.

A test has the level 5 % and, at what is called detectable, the power 90 %.

Permanent noise for a wish: f, p and q from the loss of one report and of all of them.

With h bits to an answer, any number of reports costs 2 h ln((1 - f/2) / (f/2)), which fixes
f. Given f, the least noise at a given loss of one report has q* = 1/2 and
p* = 1 / (1 + e^(epsilon/h)), as optimised unary encoding; p and q follow, since
p* = (f/2) q + (1 - f/2) p and q* the other way round. Where that would need p < 0 (the
lifetime is short of about twice epsilon), p = 0 and q is as large as epsilon allows.
Numbers are rounded to six decimals, towards privacy.

A question as a plan sees it: its size, the mechanisms it may use, and their errors.

Questions whose mean is learned, over a range: errors in the range's own unit.
"""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import ClassVar, Generic, Self, TypeVar

from rumor.core.checks import checked_size
from rumor.core.errors import InputError
from rumor.core.types import Progress, Vector
from rumor.estimators.power import PowerPlan
from rumor.kinds.planning.forecast import Range
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.poisoning import PoisoningBound

LEVEL, POWER = 0.05, 0.9


def mean_square(errors: Vector) -> float:
    """Over all values."""
    return float((errors**2).mean())


def noticed(error: float, most: float) -> float:
    """The distance from a known number that a one-sided test notices; `most` when there is none."""
    quantiles = NormalDist().inv_cdf(1 - LEVEL) + NormalDist().inv_cdf(POWER)
    return min(quantiles * error, most)


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


_UNITS = 1_000_000
# What all reports may cost by default: this many times one report.
LIFETIME = 2.0


@dataclass(frozen=True)
class PermanentNoise:
    """RAPPOR's three numbers."""

    f: float
    p: float
    q: float


def permanent_noise(epsilon: float, lifetime: float, hashes: int = 1) -> PermanentNoise:
    """The noise of least variance with these losses, one report and any number of them."""
    if lifetime < epsilon:
        raise InputError(
            f"the lifetime must be at least the epsilon of one report, {epsilon:g}; "
            f"got {lifetime:g}"
        )
    f = _up(2 / (1 + math.exp(lifetime / (2 * hashes))))
    half = f / 2
    p_star = 1 / (1 + math.exp(epsilon / hashes))
    p = ((1 - half) * p_star - half / 2) / (1 - f)
    q = ((1 - half) / 2 - half * p_star) / (1 - f)
    if p < 0:
        p, q = 0.0, _largest_q(half, epsilon / hashes)
    return PermanentNoise(f, _up(max(p, 0.0)), _down(min(q, 1.0)))


def _largest_q(half: float, epsilon: float) -> float:
    """The largest q at which one bit with p = 0 loses at most epsilon."""

    def loss(q: float) -> float:
        high, low = (1 - half) * q, half * q
        return math.log(high * (1 - low) / (low * (1 - high)))

    low, high = 0.0, 1.0
    if loss(1.0) <= epsilon:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) <= epsilon else (low, middle)
    return low


def _up(x: float) -> float:
    return math.ceil(x * _UNITS) / _UNITS


def _down(x: float) -> float:
    return math.floor(x * _UNITS) / _UNITS


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
class BudgetSpec:
    """What everybody's reports may cost, and how often they are asked."""

    epsilon: float
    reports: int = 1
    lifetime: float | None = None

    @property
    def permanent(self) -> float:
        """What any number of reports of one unchanged answer may cost."""
        return LIFETIME * self.epsilon if self.lifetime is None else self.lifetime


@dataclass(frozen=True)
class MechanismChoice(Generic[M]):
    """One mechanism, what it is called in the table, and how a collection asks for it."""

    name: str
    mechanism: M
    toml: Mapping[str, object]
    shape: Mapping[str, int | float] = field(default_factory=dict)
    """Further columns: the parameters that were chosen."""

    @staticmethod
    def by_name(
        mechanism: M, wish: BudgetSpec, shape: Mapping[str, int | float] | None = None
    ) -> MechanismChoice[M]:
        """One that a collection asks for by its name and epsilon."""
        toml = {"epsilon": wish.epsilon, "mechanism": mechanism.name}
        return MechanismChoice(mechanism.name, mechanism, toml, shape or {})


@dataclass(frozen=True, kw_only=True)
class Option(MechanismChoice[M]):
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
    fakes: PoisoningBound
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
    def candidates(self, wish: BudgetSpec) -> Sequence[MechanismChoice[M]]:
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

    def difference(self, mechanism: M, users: int, between: PowerPlan) -> float:
        """Return the smallest difference that groups of so many people each notice."""
        raise _not_compared(mechanism)

    @abc.abstractmethod
    def choose(
        self, candidates: Sequence[MechanismChoice[M]], users: int, wish: BudgetSpec
    ) -> MechanismChoice[M]:
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


EVEN = 1 / math.sqrt(12)
"""The standard deviation of numbers that are spread evenly, as a part of their range."""


class PlannedMean(PlannedQuestion[M]):
    """A question over a range, planned for its mean."""

    unit = "number"

    @abc.abstractmethod
    def noise(self, mechanism: M, number: float) -> float:
        """Return the variance of the estimate that one report of this `number` gives."""

    def detectable(self, mechanism: M, users: int) -> float:
        """A one-sided test against a known number."""
        return noticed(self.error(mechanism, users), self.asked.span)

    def difference(self, mechanism: M, users: int, between: PowerPlan) -> float:
        """Of means, of numbers with a standard deviation."""
        span = self.asked.span
        deviation = span * EVEN if between.deviation is None else between.deviation
        # Noise grows with the squared distance from the middle of the range, or hardly depends on
        # it: that of numbers around the quarters of the range is the noise at their root mean
        # square.
        away = min(math.hypot(deviation, span / 4), span / 2)
        variance = self.noise(mechanism, self.asked.low + span / 2 + away) + deviation**2
        return between.difference(lambda mean: variance, users, span)
