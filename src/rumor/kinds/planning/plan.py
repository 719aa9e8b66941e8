"""The choice of a collection's parameters from the wanted accuracy.

Any two of the number of people, epsilon, and an error (or a smallest detectable frequency) give
the third; all three give the largest domain. A lifetime, the total epsilon of all reports of a
person, gives epsilon from the number of reports, or the number of reports from epsilon. Errors of
linear estimates are closed forms; that of the default is calibrated by simulation (forecast.py).
Differences between kinds of questions are in the `plan` of each kind.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rumor.core.checks import checked_size
from rumor.core.errors import InputError, format_value
from rumor.core.exact import CONFIDENCE, MAX_EPSILON, checked_epsilon
from rumor.core.plain_text import toml_text
from rumor.core.types import Progress
from rumor.estimators.power import POWER as USUAL_POWER
from rumor.estimators.power import PowerPlan
from rumor.kinds import KINDS, NAMES
from rumor.kinds.planning.forecast import Range
from rumor.kinds.planning.planned import (
    EVEN,
    LEVEL,
    MAX_USERS,
    POWER,
    BudgetSpec,
    MechanismChoice,
    Option,
    PlanCheck,
    PlannedQuestion,
    Size,
)
from rumor.mechanisms import Mechanism
from rumor.mechanisms.poisoning import FAKE_SHARE, bound_poisoning

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True)
class Plan:
    """A plan: the question, the mechanisms with their expected errors, and the recommended one."""

    kind: str
    """The name of the kind of question."""
    topic: PlannedQuestion[Any]
    users: int
    budget: BudgetSpec
    options: tuple[Option[Any], ...]
    best: Option[Any]
    solved: str
    """A phrase that names the parameter that was solved for."""
    between: PowerPlan | None = None
    """The groups to compare, where the plan is for a difference."""
    named: bool = False
    """Whether the difference is of one row chosen before seeing the data."""

    @property
    def epsilon(self) -> float:
        """The largest privacy loss of one report."""
        return self.budget.epsilon

    @functools.cached_property
    def difference(self) -> float | None:
        """The smallest detectable difference between two groups, by the test that the plan
        is for.
        """
        return self.named_difference if self.named else self.adjusted_difference

    @functools.cached_property
    def named_difference(self) -> float | None:
        """The smallest detectable difference of a row named in advance, by the row's own
        p-value.
        """
        if self.between is None:
            return None
        return self.topic.difference(self.best.mechanism, self.users, self.between)

    @functools.cached_property
    def adjusted_difference(self) -> float | None:
        """The smallest detectable difference by p-values adjusted for all rows (Holm)."""
        if self.between is None:
            return None
        every = self._every_row(self.between)
        return self.topic.difference(self.best.mechanism, self.users, every)

    def _every_row(self, between: PowerPlan) -> PowerPlan:
        return between.for_rows(self.topic.compared_rows(self.best.mechanism))

    def _told_apart(self) -> list[str]:
        """Return one sentence with the smallest detectable differences, or none without groups."""
        if self.between is None:
            return []
        between, rows = self.between, self._every_row(self.between).rows
        show, of = _share, f" from a share of {between.start:.3g}"
        if self.topic.unit == "number":
            even = EVEN * self.topic.asked.span
            deviation = even if between.deviation is None else between.deviation
            show, of = _number, f" of means, at a standard deviation of {deviation:.3g}"
        below = f"p-value below {between.level:.0%}"
        named = f"{show(self.named_difference)} in one row chosen before seeing the data ({below})"
        if rows > 1:
            every = f"in any of the {rows:,} rows of rumor compare (Holm {below})"
            named = f"{show(self.adjusted_difference)} {every}, {named}"
        return [
            f"{between.groups:,} groups of {self.users:,} respondents each: smallest detectable "
            f"difference{of} (power {between.power:.0%}): {named}.",
            *self._watched(),
        ]

    @functools.cached_property
    def found_after(self) -> int | None:
        """The respondents of each group after whom a watched difference of the planned size is
        found on average.
        """
        if self.between is None or not self.between.watch:
            return None
        test = self.between if self.named else self._every_row(self.between)
        return round(test.watched_need().found * self.users)

    def _watched(self) -> list[str]:
        """Return a sentence on a comparison that is read at any time, or none where it is not."""
        if self.found_after is None:
            return []
        return [
            f"Read at any time (rumor compare --watch --users {2 * self.users}): a difference of "
            f"that size is found after {self.found_after:,} respondents of each group on average."
        ]

    @functools.cached_property
    def range(self) -> Range | None:
        """The recommended mechanism's range of default errors over nine distributions."""
        return self.topic.range(self.best.mechanism, self.users)

    @property
    def reason(self) -> str:
        """One sentence that says why the best option is recommended."""
        best, reports = self.best, self.budget.reports
        ever = best.mechanism.permanence.epsilon_permanent
        fresh = next(
            (one for one in self.options if not one.mechanism.permanence.is_memoised), None
        )
        if math.isfinite(ever) and reports > 1 and fresh is not None:
            return (
                f"{reports:,} reports with fresh noise cost epsilon {fresh.epsilon_total:,.4g}; "
                f"with permanent noise (PRR) at most {ever:.4g} if the answer does not change, and "
                f"{reports * best.epsilon:,.4g} if it changes every time: fewer reports bound that."
            )
        said = self.topic.reason(best, self.options)
        return self._least(best) if said is None else said

    def _least(self, best: Option[Any]) -> str:
        width = best.mechanism.width
        size = f"reports of {width:,} byte{'s' if width > 1 else ''}"
        rivals = [o for o in self.options if o is not best and o.error < best.error * (1 - 1e-6)]
        if not rivals:
            return f"smallest standard error; {size}."
        least = min(rivals, key=lambda option: option.error)
        saved = f"{1 - least.error / best.error:.2%} less error"
        if best.second_error is not None and (least.second_error or math.inf) > best.second_error:
            return f"{least.name} has {saved} for shares, but more for means."
        return (
            f"{size}; {least.name} has {saved}, but needs reports of {least.mechanism.width:,} "
            f"bytes or a slower estimate."
        )

    def table(self) -> str:
        """Return the options as text, the smallest error first."""
        from rumor.core.plain_text import aligned, wrapped

        head, body = self._columns()
        reports = self.budget.reports
        times = f"{reports:,} report{'s'[: reports > 1]} each"
        remarks = [
            f"Recommended: {self.best.name}: {self.reason}",
            f"Std. error: of {self.topic.error_of}. RMSE (auto): root mean squared error of "
            f"{self.topic.default_of}. Detectable: {self.topic.detects}{self._named()} (power "
            f"{POWER:.0%}, alpha {LEVEL:.0%}).{self._in_table()}",
            *self._told_apart(),
            *self._advice(),
            *self.topic.notes(self.best.mechanism, self.users),
        ]
        if self.budget.reports > 1:
            remarks.append(
                f"Epsilon: of one report. After {reports:,}: of {reports:,} reports of an "
                f"unchanged answer. Limit: of any number of them. A changed answer costs more."
            )
        return "\n".join(
            [
                f"{self.topic.size()}, {self.users:,} respondents, epsilon {self.epsilon:.4g}, "
                f"{times} ({self.solved})",
                "",
                aligned(head, body),
                "",
                *(wrapped(remark) for remark in remarks),
            ]
        )

    def _in_table(self) -> str:
        """Return the explanation of the column "in table"; "" where the table is not ranked."""
        if self.best.shown is None:
            return ""
        return (
            f" In table: the smallest share whose {CONFIDENCE:.0%} interval, adjusted for ranking, "
            f"excludes zero (same power)."
        )

    def _named(self) -> str:
        return "" if self.best.shown is None else " of a value chosen before seeing the data"

    def _advice(self) -> list[str]:
        """Return the advice on the default estimate's error over distributions."""
        if self.range is None:
            return []
        low, high, zipf = (_share(x) for x in (self.range.low, self.range.high, self.range.zipf))
        return [
            f"RMSE of auto: {zipf} under Zipf's law; {low} to {high} over nine test distributions "
            f"(less if shares are nearly uniform). Plan for {high}."
        ]

    def _columns(self) -> tuple[list[str], list[list[str]]]:
        """Return the head and the rows of the table."""
        show = _share if self.topic.unit == "share" else _number
        again, means = self.budget.reports > 1, self.best.second_error is not None
        head = [
            "mechanism",
            "std. error",
            *([self.topic.second[0]] if means else []),
            "RMSE (auto)",
        ]
        ranked = self.best.shown is not None
        head += ["detectable", *(["in table"] if ranked else []), "bytes"]
        head += [*self.best.shape, "epsilon"]
        head += [f"after {self.budget.reports:,}", "limit"] if again else []
        head += [f"{FAKE_SHARE:.0%} fakes add", "or take"]
        body = []
        for option in self.options:
            row = [option.name, show(option.error)]
            row += [_number(option.second_error)] if means else []
            row += [show(option.default), self._noticed(option.detectable)]
            row += [] if option.shown is None else [self._noticed(option.shown)]
            row += [f"{option.mechanism.width:,}"]
            row += [f"{value:.4g}" for value in option.shape.values()]
            row += [f"{option.epsilon:.4g}"]
            if again:
                ever = option.mechanism.permanence.epsilon_permanent
                row += [
                    f"{option.epsilon_total:,.4g}",
                    "no limit" if math.isinf(ever) else f"{ever:.4g}",
                ]
            moved = option.fakes
            body.append([*row, self._liars(moved.gain), self._liars(moved.loss)])
        return head, body

    def _noticed(self, smallest: float) -> str:
        if self.topic.unit == "number":
            return _number(smallest)
        return _share(smallest) if smallest < 1 else "none"

    def _liars(self, shift: float) -> str:
        if self.topic.unit == "number":
            return _number(shift)
        return f"{shift:.2%}" if shift < 1 else "100%"

    def to_dict(self) -> dict[str, object]:
        """Return the plan as plain data for JSON."""
        return {
            "kind": self.kind,
            "people": self.users,
            "domain": self.topic.asked.domain,
            "epsilon": self.epsilon,
            "reports_per_person": self.budget.reports,
            "lifetime": self.budget.lifetime,
            "solved": self.solved,
            "recommended": self.best.name,
            "reason": self.reason,
            "default_range": None if self.range is None else vars(self.range),
            "difference": self.difference,
            "difference_named": self.named_difference,
            "difference_adjusted": self.adjusted_difference,
            **({} if self.found_after is None else {"found_after": self.found_after}),
            "notes": list(self.topic.notes(self.best.mechanism, self.users)),
            "options": [
                {
                    "mechanism": option.name,
                    "standard_error": option.error,
                    "mean_standard_error": None,
                    self.topic.second[1]: option.second_error,
                    "default_error": option.default,
                    "detectable": option.detectable,
                    "smallest_shown": option.shown,
                    "report_bytes": option.mechanism.width,
                    "parameters": dict(option.shape),
                    "epsilon": option.epsilon,
                    "epsilon_total": option.epsilon_total,
                    "epsilon_permanent": option.mechanism.permanence.epsilon_permanent,
                    "one_percent_liars_add": option.fakes.gain,
                    "one_percent_liars_take": option.fakes.loss,
                }
                for option in self.options
            ],
        }

    def to_toml(self) -> str:
        """Return a collection file with one question that has the plan's parameters."""
        question: Mapping[str, object] = {
            "id": "question",
            "kind": self.kind,
            "text": "What is asked, in plain words",
            **self.topic.question(),
            **self.best.toml,
            "reports_per_person": self.budget.reports,
        }
        lines = [f"{key} = {toml_text(value)}" for key, value in question.items()]
        return (
            'name = "A new collection"\n'
            'series = "new-collection"\n'
            'contact = "privacy@example.org"\n'
            f"users = {self.users}\n\n"
            "[[questions]]\n" + "\n".join(lines) + "\n"
        )

    def simulate(
        self, *, trials: int | None = None, seed: int = 1, on_progress: Progress | None = None
    ) -> PlanCheck:
        """Privatise and estimate simulated populations with the recommended mechanism.

        The number of `trials` defaults to more trials for smaller domains.
        """
        users = min(self.users, self.topic.simulated)
        size = self.topic.asked.domain or 1
        count = min(100, max(10, 1000 // size)) if trials is None else trials
        return self.topic.simulate(self.best.mechanism, users, count, seed, on_progress)

    def plot(self, path: str | None = None) -> alt.HConcatChart:
        """Draw the error against people and against epsilon, for every mechanism, into `path`."""
        import altair as alt

        from rumor.results.chart_parts import SERIES, framed
        from rumor.results.charts import save_chart

        around = [self.users * 10 ** (step / 4) for step in range(-8, 9)]
        powers = [2 ** (step / 2) for step in range(-4, 9)]
        people = [
            {"mechanism": o.name, "people": n, "error": o.error * math.sqrt(self.users / n)}
            for o in self.options
            for n in around
        ]
        epsilons = [
            {"mechanism": c.name, "epsilon": e, "error": self.topic.error(c.mechanism, self.users)}
            for e in powers
            for c in self.topic.candidates(replace(self.budget, epsilon=e, lifetime=None))
        ]
        names = [option.name for option in self.options]

        def lines(rows: list[dict[str, object]], x: str, title: str) -> alt.Chart:
            chart: alt.Chart = (
                alt.Chart(alt.InlineData(values=rows))
                .mark_line()
                .encode(
                    x=alt.X(f"{x}:Q", scale=alt.Scale(type="log"), title=title),
                    y=alt.Y("error:Q", scale=alt.Scale(type="log"), title="standard error"),
                    color=alt.Color(
                        "mechanism:N", sort=names, scale=alt.Scale(domain=names, range=list(SERIES))
                    ),
                )
                .properties(width=300, height=240)
            )
            return chart

        pair = [lines(people, "people", "people"), lines(epsilons, "epsilon", "epsilon")]
        facts = [f"left: epsilon {self.epsilon:.4g}; right: {self.users:,} people"]
        chart = framed(alt.HConcatChart(hconcat=pair), "Error of each mechanism", facts)
        if path is not None:
            save_chart(chart, path)
        return chart


def make_plan(
    *,
    kind: str = NAMES[0],
    domain: int | None = None,
    users: int | None = None,
    epsilon: float | None = None,
    error: float | None = None,
    detect: float | None = None,
    difference: float | None = None,
    share: float | None = None,
    power: float | None = None,
    groups: int | None = None,
    deviation: float | None = None,
    named: bool = False,
    watch: bool = False,
    reports: int | None = None,
    lifetime: float | None = None,
    low: float = 0.0,
    high: float = 1.0,
    cap: int | None = None,
    parts: str | None = None,
) -> Plan:
    """Return the plan that follows from the given parameters.

    Two of people, epsilon and an error (or a frequency to detect, or a `difference` between two of
    `groups` groups, from a `share`, with a `power`) give the third; all three give the largest
    `domain`. With a difference, `users` counts the people of each group, numbers have the standard
    `deviation` within each, and the test is that of all rows together (Holm) or, where `named`,
    that of one row named in advance; `watch` plans for a comparison that is read at any time.
    Instead of epsilon, a `lifetime` and the number of `reports` give the epsilon of each report;
    with epsilon, a lifetime gives the number of reports.
    """
    if kind not in KINDS:
        raise InputError(
            f"a plan's kind must be one of {', '.join(KINDS)}; got {format_value(kind)}"
        )
    size = Size(domain, users, low, high, cap, parts)
    KINDS[kind].check_size(size)
    if users is not None:
        checked_size("people", users, 1, MAX_USERS)
    if reports is not None:
        checked_size("reports", reports, 1, 1_000_000)
    epsilon = None if epsilon is None else checked_epsilon(epsilon)
    lifetime = None if lifetime is None else checked_epsilon(lifetime)
    between = _between(difference, share, power, groups, deviation, named, watch)
    _check_deviation(deviation, KINDS[kind].largest_error(size) / 2)
    wishes = {"error": error, "detect": detect, "difference": difference}
    measure, wanted = _measure(wishes, KINDS[kind].largest_error(size), between, named)
    epsilon, reports, said = _over_time(KINDS[kind].memoises, epsilon, reports, lifetime)
    given = sum(x is not None for x in (users, epsilon, wanted))
    if given < 2:
        raise InputError(
            f"a plan needs two of people, epsilon and an error (or a frequency to detect); "
            f"got {given}"
        )

    made = functools.partial(_plan, kind)

    def topic(domain: int | None, people: int | None) -> PlannedQuestion[Any]:
        return KINDS[kind].plan_question(replace(size, domain=domain, users=people))

    if domain is None and KINDS[kind].has_domain:
        if users is None or epsilon is None or wanted is None:
            raise InputError(
                "a plan needs a domain (answers, candidate words or keys), or all of people, "
                "epsilon and an error; got no domain"
            )
        budget = BudgetSpec(epsilon, reports, lifetime)
        most = _largest_domain(lambda d: topic(d, users), budget, users, wanted, measure)
        said = f"the largest domain for the rest{said}"
        return made(topic(most, users), users, budget, said, between, named)
    if users is not None and epsilon is not None and wanted is not None and difference is None:
        raise InputError(
            "a plan takes two of people, epsilon and an error (or a frequency to detect), and "
            "gives the third; got all three: leave one out"
        )
    if users is None:
        assert epsilon is not None
        assert wanted is not None
        budget = BudgetSpec(epsilon, reports, lifetime)
        users = _fewest_people(lambda n: topic(domain, n), budget, wanted, measure)
        said = f"people needed for the rest{said}"
        return made(topic(domain, users), users, budget, said, between, named)
    about = topic(domain, users)
    if epsilon is None:
        assert wanted is not None
        epsilon = _smallest_epsilon(about, BudgetSpec(1.0, reports), users, wanted, measure)
        said = "epsilon needed for the rest"
    else:
        said = said.removeprefix(", ") or "as asked"
    return made(about, users, BudgetSpec(epsilon, reports, lifetime), said, between, named)


Measure = Callable[[PlannedQuestion[Any], Mechanism, int], float]


def _measure(
    wishes: Mapping[str, float | None], most: float, between: PowerPlan | None, named: bool
) -> tuple[Measure, float | None]:
    """Return the measure that `wishes` names and its wanted value, or the error and None."""
    said = {name: wanted for name, wanted in wishes.items() if wanted is not None}
    if len(said) > 1:
        raise InputError(
            f"a plan takes an error, a frequency to detect or a difference; got "
            f"{' and '.join(said)}"
        )
    for name, wanted in said.items():
        if not (isinstance(wanted, (int, float)) and 0 < wanted < most):
            raise InputError(
                f"{name} must be a number above 0 and below {most:g}; got {format_value(wanted)}"
            )
    aim = next(iter(said.values()), None)
    if between is not None and "difference" in said:
        if named:
            return (lambda topic, mechanism, n: topic.difference(mechanism, n, between)), aim
        return (
            lambda topic, mechanism, n: topic.difference(
                mechanism, n, between.for_rows(topic.compared_rows(mechanism))
            )
        ), aim
    if "detect" in said:
        return (lambda topic, mechanism, users: topic.detectable(mechanism, users)), aim
    return (lambda topic, mechanism, users: topic.error(mechanism, users)), aim


_SHARE = 0.1


_GROUPS = 1000


def _between(
    difference: float | None,
    share: float | None,
    power: float | None,
    groups: int | None,
    deviation: float | None,
    named: bool,
    watch: bool,
) -> PowerPlan | None:
    """Return the groups of a plan for a difference; None where no parameter mentions groups."""
    numbers = (difference, share, power, groups, deviation)
    if all(said is None for said in numbers) and not (named or watch):
        return None
    for name, value in (("share", share), ("power", power)):
        if value is not None and not (isinstance(value, (int, float)) and 0 < value < 1):
            raise InputError(
                f"{name} must be a number above 0 and below 1; got {format_value(value)}"
            )
    return PowerPlan(
        _SHARE if share is None else share,
        USUAL_POWER if power is None else power,
        groups=2 if groups is None else checked_size("groups", groups, 2, _GROUPS),
        deviation=deviation,
        watch=watch,
    )


def _check_deviation(deviation: object, most: float) -> None:
    """Refuse a standard `deviation` that no numbers of the range can have."""
    if deviation is None:
        return
    if not (isinstance(deviation, (int, float)) and 0 < deviation <= most):
        raise InputError(
            f"a standard deviation must be a number above 0 and at most half the range, {most:g}; "
            f"got {format_value(deviation)}"
        )


def _over_time(
    permanent: bool, epsilon: float | None, reports: int | None, lifetime: float | None
) -> tuple[float | None, int, str]:
    """Return epsilon, the number of reports and a phrase on how the `lifetime` gave either."""
    if lifetime is None:
        return epsilon, reports or 1, ""
    if epsilon is None:
        if reports is None:
            raise InputError(
                "a lifetime needs the number of reports, or their epsilon; got neither"
            )
        # Permanent noise: any number of reports costs at most two reports (LIFETIME in planned.py).
        shares = 1 if reports == 1 else 2 if permanent else reports
        return lifetime / shares, reports, ", epsilon as the lifetime allows"
    if lifetime < epsilon:
        raise InputError(
            f"the lifetime must be at least the epsilon of one report, {epsilon:g}; "
            f"got {lifetime:g}"
        )
    if reports is None:
        return epsilon, int(lifetime / epsilon + 1e-9), ", fresh reports as the lifetime allows"
    if not permanent and reports * epsilon > lifetime * (1 + 1e-9):
        raise InputError(
            f"{reports:,} reports at epsilon {epsilon:g} must cost at most the lifetime of "
            f"{lifetime:g}; got {reports * epsilon:g}"
        )
    return epsilon, reports, ""


def _plan(
    kind: str,
    topic: PlannedQuestion[Any],
    users: int,
    budget: BudgetSpec,
    solved: str,
    between: PowerPlan | None,
    named: bool,
) -> Plan:
    if between is not None and between.deviation is not None and topic.unit == "share":
        raise InputError(
            f"a standard deviation is for numbers and ordered answers; got "
            f"{format_value(between.deviation)} for shares"
        )
    options = [_expected(topic, one, users, budget) for one in topic.candidates(budget)]
    ranked = tuple(sorted(options, key=lambda option: (option.error, option.mechanism.width)))
    best = topic.choose(options, users, budget)
    assert isinstance(best, Option)
    return Plan(kind, topic, users, budget, ranked, best, solved, between, named)


def _expected(
    topic: PlannedQuestion[Any], candidate: MechanismChoice[Any], users: int, budget: BudgetSpec
) -> Option[Any]:
    mechanism = candidate.mechanism
    return Option(
        **vars(candidate),
        error=topic.error(mechanism, users),
        second_error=topic.second_error(mechanism, users),
        default=topic.default(mechanism, users),
        detectable=topic.detectable(mechanism, users),
        shown=topic.shown(mechanism, users),
        fakes=bound_poisoning(mechanism, users),
        epsilon=mechanism.epsilon_all_rounds(1),
        epsilon_total=mechanism.epsilon_all_rounds(budget.reports),
    )


def _reached(
    topic: PlannedQuestion[Any], budget: BudgetSpec, users: int, measure: Measure
) -> float:
    """Return the `measure` of the mechanism recommended for `users` people."""
    chosen = topic.choose(topic.candidates(budget), users, budget)
    return measure(topic, chosen.mechanism, users)


def _fewest_people(
    topic: Callable[[int | None], PlannedQuestion[Any]],
    budget: BudgetSpec,
    wanted: float,
    measure: Measure,
) -> int:
    """Return the smallest number of people at which the `measure` is at most `wanted`."""

    def enough(users: int) -> bool:
        return _reached(topic(users), budget, users, measure) <= wanted

    if not enough(MAX_USERS):
        raise InputError(
            f"the number of people must be at most {MAX_USERS:,}; {wanted:g} needs more"
        )
    low, high = 0, MAX_USERS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _smallest_epsilon(
    topic: PlannedQuestion[Any], budget: BudgetSpec, users: int, wanted: float, measure: Measure
) -> float:
    """Return the smallest epsilon, to three digits, at which the `measure` is at most `wanted`."""

    def enough(epsilon: float) -> bool:
        return _reached(topic, replace(budget, epsilon=epsilon), users, measure) <= wanted

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


def _largest_domain(
    topic: Callable[[int], PlannedQuestion[Any]],
    budget: BudgetSpec,
    users: int,
    wanted: float,
    measure: Measure,
) -> int:
    """Return the largest domain at which the `measure` is at most `wanted`."""

    def enough(domain: int) -> bool:
        return _reached(topic(domain), budget, users, measure) <= wanted

    if not enough(2):
        raise InputError(
            f"a domain must have at least 2 values; {wanted:g} needs fewer, with {users:,} people "
            f"at epsilon {budget.epsilon:g}"
        )
    most = 100_000
    if enough(most):
        return most
    low, high = 2, most
    while high - low > max(1, low // 100):
        middle = math.isqrt(low * high) if high > 2 * low else (low + high) // 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
