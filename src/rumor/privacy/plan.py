"""Choosing the parameters of a collection from what is wanted of it.

Of the number of people, epsilon, and an error (or a smallest frequency to detect), any two
give the third. Errors are closed forms: the standard error of the linear estimate of a rare
value, and the frequency that is told from zero with a stated power. The default estimator
does better; `simulated_gain` measures by how much on a population of a usual shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from rumor.errors import InputError, shown
from rumor.exact import MAX_EPSILON, checked_epsilon
from rumor.mechanisms import FrequencyOracle
from rumor.privacy.integrity import fake_gain
from rumor.privacy.planning import candidates, choose_oracle
from rumor.randomness import Seeded
from rumor.values import checked_size

if TYPE_CHECKING:
    import altair as alt

LEVEL, POWER = 0.05, 0.9
MAX_USERS = 10**12
# What a collector should reckon with: one liar in a hundred.
LIARS = 0.01


@dataclass(frozen=True)
class Option:
    """One mechanism, and what to expect of it."""

    oracle: FrequencyOracle
    error: float
    """The standard error of a value that hardly anybody holds."""
    detectable: float
    """The smallest frequency that is told from zero at level 5 % with power 90 %."""
    shift: float
    """How much one liar in a hundred can add to a value."""
    epsilon_total: float
    """The loss of all the reports that a person makes."""


@dataclass(frozen=True)
class Plan:
    """What was asked, what follows, and what to choose."""

    domain: int
    users: int
    epsilon: float
    reports: int
    options: tuple[Option, ...]
    solved: str
    """Which of people, epsilon and error was found from the others."""

    @property
    def best(self) -> Option:
        """The option that "auto" resolves to."""
        chosen = choose_oracle(self.domain, self.epsilon, users=self.users)
        return next(option for option in self.options if option.oracle == chosen)

    @property
    def reason(self) -> str:
        """Why it is recommended, in one sentence."""
        best = self.best
        name, width = best.oracle.name, best.oracle.width
        rivals = [o for o in self.options if o is not best and o.error < best.error * (1 - 1e-6)]
        if rivals:
            least = min(rivals, key=lambda option: option.error)
            return (
                f"{name} has reports of {width} bytes; {least.oracle.name} would have "
                f"{1 - least.error / best.error:.2%} less error for reports of "
                f"{least.oracle.width:,} bytes, or an estimate that costs more."
            )
        return f"{name} has the least error of all, with reports of {width} bytes."

    def table(self) -> str:
        """The options as text, least error first."""
        from rumor.text import aligned

        head = [
            "mechanism",
            "std. error",
            "detectable",
            "bytes",
            "epsilon",
            "in all",
            "1% liars add",
        ]
        body = [
            [
                option.oracle.name,
                f"{option.error:.3%}",
                f"{option.detectable:.3%}",
                f"{option.oracle.width:,}",
                f"{option.oracle.epsilon:.4g}",
                f"{option.epsilon_total:.4g}",
                f"{option.shift:.2%}",
            ]
            for option in self.options
        ]
        times = "once" if self.reports == 1 else f"{self.reports:,} times"
        return "\n".join(
            [
                f"{self.users:,} people, {self.domain:,} values, epsilon {self.epsilon:.4g}, "
                f"asked {times} ({self.solved})",
                "",
                aligned(head, body),
                "",
                f"Recommended: {self.best.oracle.name}. {self.reason}",
                f"Detectable: told from zero at level {LEVEL:.0%} with power {POWER:.0%}.",
            ]
        )

    def to_dict(self) -> dict[str, object]:
        """The plan as plain data."""
        return {
            "people": self.users,
            "domain": self.domain,
            "epsilon": self.epsilon,
            "reports_per_person": self.reports,
            "solved": self.solved,
            "recommended": self.best.oracle.name,
            "reason": self.reason,
            "options": [
                {
                    "mechanism": option.oracle.name,
                    "standard_error": option.error,
                    "detectable": option.detectable,
                    "report_bytes": option.oracle.width,
                    "epsilon": option.oracle.epsilon,
                    "epsilon_total": option.epsilon_total,
                    "one_percent_liars_add": option.shift,
                }
                for option in self.options
            ],
        }

    def to_toml(self) -> str:
        """A collection that asks one question with these parameters, ready to be edited."""
        return (
            'name = "A new collection"\n'
            'series = "new-collection"\n'
            'contact = "privacy@example.org"\n'
            f"users = {self.users}\n\n"
            "[[questions]]\n"
            'id = "question"\n'
            'kind = "choice"\n'
            'text = "What is asked, in plain words"\n'
            f"domain = {self.domain}\n"
            f"epsilon = {self.epsilon!r}\n"
            f'mechanism = "{self.best.oracle.name}"\n'
            f"reports_per_person = {self.reports}\n"
        )

    def plot(self, path: str | None = None) -> alt.HConcatChart:
        """Error against people and against epsilon, for every mechanism."""
        import altair as alt

        from rumor.charts import save_chart

        around = [self.users * 10 ** (step / 4) for step in range(-8, 9)]
        powers = [2 ** (step / 2) for step in range(-4, 9)]
        people = [
            {"mechanism": o.oracle.name, "people": n, "error": o.error * math.sqrt(self.users / n)}
            for o in self.options
            for n in around
        ]
        epsilons = [
            {"mechanism": oracle.name, "epsilon": e, "error": _error(oracle, self.users)}
            for e in powers
            for oracle in candidates(self.domain, e)
        ]
        names = [option.oracle.name for option in self.options]

        def lines(rows: list[dict[str, object]], x: str, title: str) -> alt.Chart:
            chart: alt.Chart = (
                alt.Chart(alt.InlineData(values=rows))
                .mark_line()
                .encode(
                    x=alt.X(f"{x}:Q", scale=alt.Scale(type="log"), title=title),
                    y=alt.Y("error:Q", scale=alt.Scale(type="log"), title="standard error"),
                    color=alt.Color("mechanism:N", sort=names),
                )
                .properties(width=300, height=240)
            )
            return chart

        chart = alt.HConcatChart(
            hconcat=[lines(people, "people", "people"), lines(epsilons, "epsilon", "epsilon")]
        )
        if path is not None:
            save_chart(chart, path)
        return chart


def make_plan(
    *,
    domain: int,
    users: int | None = None,
    epsilon: float | None = None,
    error: float | None = None,
    detect: float | None = None,
    reports: int = 1,
) -> Plan:
    """The plan that any two of people, epsilon and an error (or a frequency to detect) imply."""
    checked_size("domain", domain, 2, 1_000_000)
    checked_size("reports", reports, 1, 1_000_000)
    if users is not None:
        checked_size("people", users, 1, MAX_USERS)
    if epsilon is not None:
        epsilon = checked_epsilon(epsilon)
    if error is not None and detect is not None:
        raise InputError("a plan takes an error or a frequency to detect; got both")
    wanted = error if detect is None else detect
    if wanted is not None and not (isinstance(wanted, (int, float)) and 0 < wanted < 1):
        name = "error" if detect is None else "detect"
        raise InputError(f"{name} must be a number above 0 and below 1; got {shown(wanted)}")
    measure = _error if detect is None else _detectable
    given = sum(x is not None for x in (users, epsilon, wanted))
    if given < 2:
        raise InputError(
            f"a plan needs two of people, epsilon and an error (or a frequency to detect); "
            f"got {given}"
        )
    solved = "as asked"
    if users is None:
        assert epsilon is not None
        assert wanted is not None
        users = _fewest_people(domain, epsilon, wanted, measure)
        solved = "people needed for the rest"
    elif epsilon is None:
        assert wanted is not None
        epsilon = _smallest_epsilon(domain, users, wanted, measure)
        solved = "epsilon needed for the rest"
    return Plan(domain, users, epsilon, reports, _options(domain, users, epsilon, reports), solved)


def _options(domain: int, users: int, epsilon: float, reports: int) -> tuple[Option, ...]:
    options = [
        Option(
            oracle,
            _error(oracle, users),
            _detectable(oracle, users),
            fake_gain(oracle, users, math.ceil(LIARS * users)),
            oracle.epsilon_after(reports),
        )
        for oracle in candidates(domain, epsilon)
    ]
    return tuple(sorted(options, key=lambda option: (option.error, option.oracle.width)))


def _error(oracle: FrequencyOracle, users: int) -> float:
    return math.sqrt(float(oracle.variance(0.0, users)))


def _detectable(oracle: FrequencyOracle, users: int) -> float:
    """The f with f = z(level) sd(0) + z(power) sd(f), by iteration; 1 when there is none."""
    level, power = NormalDist().inv_cdf(1 - LEVEL), NormalDist().inv_cdf(POWER)
    noise = _error(oracle, users)
    f = (level + power) * noise
    for _ in range(50):
        if f >= 1:
            return 1.0
        f = level * noise + power * math.sqrt(float(oracle.variance(f, users)))
    return min(f, 1.0)


Measure = Callable[[FrequencyOracle, int], float]


def _fewest_people(domain: int, epsilon: float, wanted: float, measure: Measure) -> int:
    """The smallest number of people at which the best mechanism does as well as wanted."""
    oracles = candidates(domain, epsilon)

    def enough(users: int) -> bool:
        return min(measure(oracle, users) for oracle in oracles) <= wanted

    if not enough(MAX_USERS):
        raise InputError(f"{MAX_USERS:,} people would not be enough; got a wish of {wanted:g}")
    low, high = 0, MAX_USERS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _smallest_epsilon(domain: int, users: int, wanted: float, measure: Measure) -> float:
    """The smallest epsilon, to three digits, at which the best mechanism does as well as wanted."""

    def enough(epsilon: float) -> bool:
        return min(measure(oracle, users) for oracle in candidates(domain, epsilon)) <= wanted

    if not enough(MAX_EPSILON):
        raise InputError(
            f"no epsilon up to {MAX_EPSILON:g} gives {wanted:g} with {users:,} people; "
            f"ask more of them"
        )
    low, high = 1e-3, MAX_EPSILON
    while high / low > 1.0005:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(f"{math.ceil(high * 1000) / 1000:.3f}")


def simulated_gain(
    option: Option,
    users: int,
    *,
    trials: int = 5,
    seed: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> float:
    """The default estimator's root mean squared error over the linear one's, on Zipf's law."""
    from rumor.estimators import estimate

    oracle = option.oracle
    truth = 1 / np.arange(1, oracle.domain + 1)
    truth /= truth.sum()
    rng, source = np.random.default_rng(seed), Seeded(seed)
    default = linear = 0.0
    for trial in range(trials):
        values = rng.choice(oracle.domain, size=users, p=truth)
        found = estimate(oracle, oracle.privatize(values, random=source))
        default += float(((found.frequency - truth) ** 2).sum())
        linear += float(((found.unbiased - truth) ** 2).sum())
        if on_progress is not None:
            on_progress(trial + 1, trials)
    return math.sqrt(default / linear)
