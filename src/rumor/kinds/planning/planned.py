"""The parts of a plan: sizes, budgets, permanent noise, and a question with its mechanisms' errors.

Tests have the significance level 5% and, at the smallest detectable value, the power 90%.

Permanent noise follows from the loss of one report and of all reports. With h bits to an answer,
any number of reports costs 2 h ln((1 - f/2) / (f/2)), which fixes f. Given f, the least noise at a
given loss of one report has q* = 1/2 and p* = 1 / (1 + e^(epsilon/h)), as optimised unary
encoding; p and q follow, since p* = (f/2) q + (1 - f/2) p and q* = (f/2) p + (1 - f/2) q. Where
that would need p < 0 (the lifetime is less than about twice epsilon), p = 0 and q is as large as
epsilon allows. Numbers are rounded to six decimals, towards privacy.

A question is planned through its size, the mechanisms it may use, and their errors. Questions over
a range are planned for their mean, with errors in the unit of the range.
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
from rumor.core.typing import override
from rumor.estimators.power import PowerPlan
from rumor.kinds.planning.forecast import Range
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.poisoning import PoisoningBound

LEVEL, POWER = 0.05, 0.9


def mean_square(errors: Vector) -> float:
    """Return the mean square of `errors` over all values."""
    return float((errors**2).mean())


def smallest_detectable_shift(error: float, most: float) -> float:
    """Return the difference from a known number that a one-sided test detects, at most `most`."""
    quantiles = NormalDist().inv_cdf(1 - LEVEL) + NormalDist().inv_cdf(POWER)
    return min(quantiles * error, most)


def smallest_detectable_share(deviation: Callable[[float], float], level: float = LEVEL) -> float:
    """Return the f with f = z(level) sd(0) + z(power) sd(f), by iteration; 1 where none exists."""
    first, power = NormalDist().inv_cdf(1 - level), NormalDist().inv_cdf(POWER)
    noise = deviation(0.0)
    f = (first + power) * noise
    for _ in range(50):
        if f >= 1:
            return 1.0
        f = first * noise + power * deviation(f)
    return min(f, 1.0)


_UNITS = 1_000_000
# The default loss of all reports together, as a multiple of the loss of one report.
LIFETIME = 2.0


@dataclass(frozen=True)
class PermanentNoise:
    """RAPPOR's noise parameters f, p and q."""

    f: float
    p: float
    q: float


def permanent_noise(epsilon: float, lifetime: float, hashes: int = 1) -> PermanentNoise:
    """Return the noise of least variance with loss `epsilon` per report and `lifetime` in all."""
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
    """Return the largest q at which one bit with p = 0 loses at most `epsilon`."""

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
    """The size of a question: its domain, people, range, cap and parts, as far as its kind
    has them.
    """

    domain: int | None = None
    """The number of answers, candidate words or keys."""
    users: int | None = None
    low: float = 0.0
    high: float = 1.0
    cap: int | None = None
    parts: str | None = None
    """The number of values of each part of a joint answer, as in "5x4"."""

    @property
    def span(self) -> float:
        """The length of the range."""
        return self.high - self.low

    def checked(self, least: int) -> Self:
        """Return the size with its domain checked to be an integer of at least `least`."""
        return replace(self, domain=checked_size("domain", self.domain, least, MAX_DOMAIN))

    def without_domain(self) -> Self:
        """Return the size without a domain."""
        return replace(self, domain=None)


@dataclass(frozen=True)
class BudgetSpec:
    """A person's privacy budget: epsilon of one report, the number of reports, and their total."""

    epsilon: float
    reports: int = 1
    lifetime: float | None = None

    @property
    def permanent(self) -> float:
        """The limit on the loss of any number of reports of one unchanged answer."""
        return LIFETIME * self.epsilon if self.lifetime is None else self.lifetime


@dataclass(frozen=True)
class MechanismChoice(Generic[M]):
    """A mechanism, its name in the table, and its keys in a collection file."""

    name: str
    mechanism: M
    toml: Mapping[str, object]
    shape: Mapping[str, int | float] = field(default_factory=dict)
    """Further columns of the table: the parameters that were chosen."""

    @staticmethod
    def by_name(
        mechanism: M, budget: BudgetSpec, shape: Mapping[str, int | float] | None = None
    ) -> MechanismChoice[M]:
        """Return the choice of a `mechanism` that a collection asks for by its name and epsilon."""
        toml = {"epsilon": budget.epsilon, "mechanism": mechanism.name}
        return MechanismChoice(mechanism.name, mechanism, toml, shape or {})


@dataclass(frozen=True, kw_only=True)
class Option(MechanismChoice[M]):
    """A mechanism with the errors to expect of it."""

    error: float
    """The standard error of the linear estimate."""
    second_error: float | None
    default: float | None
    """The root mean squared error of the default estimate over all values, on Zipf's law."""
    detectable: float
    """The smallest frequency detected at significance level 5% with power 90%."""
    shown: float | None
    """The smallest frequency whose interval in the estimate's table is above 0 with power
    90%; None where no table is ranked.
    """
    fakes: PoisoningBound
    """The largest shift of a value that one fake report in a hundred can cause."""
    epsilon: float
    """The loss of one answer: of one report or, where an answer takes several rounds, of all."""
    epsilon_total: float
    """The loss of all the reports that a person makes of one unchanged answer."""


@dataclass(frozen=True)
class PlanCheck:
    """Predicted errors of a plan beside the errors that a simulation measured."""

    people: int
    trials: int
    truth: str
    linear: tuple[float, float]
    """Root mean squared error of the linear estimate: predicted, simulated."""
    default: tuple[float, float] | None
    """Root mean squared error of the default estimate: predicted, simulated; None if not
    predicted.
    """


Squares = tuple[float, float]
"""Mean squared errors of one trial over all values: of the linear estimate, of the default."""


@dataclass(frozen=True)
class PlannedQuestion(abc.ABC, Generic[M]):
    """A question of one kind and size, as a plan works with it."""

    asked: Size

    simulated: ClassVar[int] = 100_000
    """The largest number of people in a simulation."""
    unit: ClassVar[str] = "share"
    """Whether errors are shares of people or have a unit of their own ("number")."""
    sized: ClassVar[str]
    """A phrase for the number of values, with the sizes in braces."""
    error_of: ClassVar[str]
    """A phrase that names the quantity whose standard error is shown."""
    default_of: ClassVar[str]
    """A phrase that names the quantity whose default error is shown."""
    detects: ClassVar[str]
    """A phrase that says what "detectable" means for this kind."""
    truth: ClassVar[str] = "Zipf's law"
    """A phrase that names the distribution of answers in a simulation."""
    second: ClassVar[tuple[str, str]] = ("mean error", "mean_standard_error")
    """The name of `second_error` in tables and in data."""

    @property
    def domain(self) -> int:
        """The number of answers, candidate words or keys, where the kind has such a number."""
        assert self.asked.domain is not None
        return self.asked.domain

    def size(self) -> str:
        """Return the number of values in words."""
        return self.sized.format(**vars(self.asked))

    @abc.abstractmethod
    def candidates(self, budget: BudgetSpec) -> Sequence[MechanismChoice[M]]:
        """Return the mechanisms that stay within the `budget`."""

    @abc.abstractmethod
    def error(self, mechanism: M, users: int) -> float:
        """Return the standard error of the linear estimate from `users` reports."""

    @abc.abstractmethod
    def default(self, mechanism: M, users: int) -> float | None:
        """Return the default estimate's root mean squared error on Zipf's law; None if not
        predicted.
        """

    def range(self, mechanism: M, users: int) -> Range | None:
        """Return the range of the default's error over distributions; None where none is
        computed.
        """
        return None

    @abc.abstractmethod
    def detectable(self, mechanism: M, users: int) -> float:
        """Return the smallest frequency, or difference, that is detected with the stated power."""

    def shown(self, mechanism: M, users: int) -> float | None:
        """Return the smallest frequency with an interval above 0 in the table of the estimate.

        None where the table is not ranked.
        """
        return None

    def compared_rows(self, mechanism: M) -> int:
        """Return how many rows `rumor compare` prints for a pair of groups."""
        raise _not_compared(mechanism)

    def difference(self, mechanism: M, users: int, between: PowerPlan) -> float:
        """Return the smallest difference that a test detects `between` groups of `users`
        people each.
        """
        raise _not_compared(mechanism)

    @abc.abstractmethod
    def choose(
        self, candidates: Sequence[MechanismChoice[M]], users: int, budget: BudgetSpec
    ) -> MechanismChoice[M]:
        """Return the candidate to recommend for `users` people within the `budget`."""

    @abc.abstractmethod
    def question(self) -> Mapping[str, object]:
        """Return the keys of the question in a collection file, without those of the candidate."""

    @abc.abstractmethod
    def trials(self, mechanism: M, users: int, seed: int) -> Iterator[Squares]:
        """Yield the squared errors of simulated populations of `users`, one after another
        without end.
        """

    def linear(self, mechanism: M, users: int) -> float:
        """Return the error of the linear estimate on the simulated populations."""
        return self.error(mechanism, users)

    def simulate(
        self,
        mechanism: M,
        users: int,
        trials: int,
        seed: int,
        on_progress: Progress | None,
    ) -> PlanCheck:
        """Return the errors of some simulated `trials` beside the predicted ones."""
        linear = default = 0.0
        tried = itertools.islice(self.trials(mechanism, users, seed), trials)
        for number, (of_linear, of_default) in enumerate(tried, 1):
            linear += of_linear
            default += of_default
            if on_progress is not None:
                on_progress(number, trials)
        expected = self.default(mechanism, users)
        return PlanCheck(
            users,
            trials,
            self.truth,
            (self.linear(mechanism, users), math.sqrt(linear / trials)),
            None if expected is None else (expected, math.sqrt(default / trials)),
        )

    usual_of: ClassVar[str] = ""
    """A phrase that names the quantity of the usual error; "" for that of the standard error."""

    def usual_error(self, mechanism: M, users: int) -> float:
        """Return the standard error at a value that is not rare, by which strategies are
        compared.
        """
        return self.error(mechanism, users)

    def block_variance(self, together: int, epsilon: float) -> float | None:
        """Return one person's variance where `together` questions are asked as one joint question.

        None where that many questions cannot be one answer.
        """
        return None

    def second_error(self, mechanism: M, users: int) -> float | None:
        """Return the standard error of a second quantity: the mean of a key, the median of
        a range.
        """
        return None

    def reason(self, best: Option[M], options: Sequence[Option[M]]) -> str | None:
        """Return why `best` is recommended, where there is more to say than its error; else
        None.
        """
        return None

    def notes(self, mechanism: M, users: int) -> Sequence[str]:
        """Return further sentences to print under the table, about the recommended `mechanism`."""
        return ()


def _not_compared(mechanism: Mechanism) -> InputError:
    return InputError(
        f"differences are planned for choices, sets, numbers and ordered answers; "
        f"got {mechanism.kind!r}"
    )


EVEN = 1 / math.sqrt(12)
"""The standard deviation of a uniform distribution, as a part of its range."""


class PlannedMean(PlannedQuestion[M]):
    """A question over a range, planned for its mean."""

    unit = "number"

    @abc.abstractmethod
    def noise(self, mechanism: M, number: float) -> float:
        """Return the variance of the estimate that one report of this `number` gives."""

    @override
    def detectable(self, mechanism: M, users: int) -> float:
        return smallest_detectable_shift(self.error(mechanism, users), self.asked.span)

    @override
    def difference(self, mechanism: M, users: int, between: PowerPlan) -> float:
        span = self.asked.span
        deviation = span * EVEN if between.deviation is None else between.deviation
        # Noise grows with the squared distance from the middle of the range, or hardly depends on
        # it. The noise of numbers around the quarters of the range is the noise at their root mean
        # square.
        away = min(math.hypot(deviation, span / 4), span / 2)
        variance = self.noise(mechanism, self.asked.low + span / 2 + away) + deviation**2
        return between.difference(lambda mean: variance, users, span)
