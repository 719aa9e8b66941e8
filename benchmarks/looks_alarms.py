"""Alarms for changes: how often they are false, how soon they come, and what looking does else.

Blocks of histories without a change: 52 weekly looks each, and whether any look has an alarm.
Choices of 2 and 10 labels, ordered answers, numbers and sets are drawn report by report. Counts of
400 and 5,000 values are drawn from their exact law, a binomial for each value.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import stats

import rumor
from benchmarks.kept_parts import TrialRows
from rumor.analysis.trend.line import find_change
from rumor.analysis.trend.periods import Periods
from rumor.analysis.trend.scores import standardised
from rumor.analysis.trend.watch import Watch
from rumor.analysis.trend.watching import estimate_watch, evidence_by_look
from rumor.contract.collection import Collection
from rumor.core.reports import Mask
from rumor.core.types import Tally, Vector
from rumor.estimators.data import as_summary
from rumor.estimators.groups import Sample
from rumor.estimators.multiple_testing import holm
from rumor.estimators.sequential import flat_weights
from rumor.kinds import kind_of
from rumor.mechanisms import FrequencyOracle, Mechanism
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.support import ItemCounts
from rumor.results.counts import ExactIntervals

WEEKS, HORIZON, ALPHA = 52, 52, 0.05
_MONDAY = datetime.date(2026, 1, 5)
Draw = Callable[[int, np.random.Generator], Any]
Alarmed = Callable[[np.random.Generator], bool]
Block = Callable[[int, np.random.Generator], TrialRows]


def asked(kind: str, **spec: Any) -> Mechanism:
    """Return the mechanism of a question of `kind`."""
    question = {"id": "asked", "kind": kind, "text": "?", "epsilon": 1.0, **spec}
    wish = {"name": "Made", "series": "made", "contact": "a@b.example", "questions": [question]}
    return Collection.resolve(wish).question("asked").mechanism


def labels(count: int) -> list[str]:
    return [str(i) for i in range(count)]


def zipf(count: int) -> Vector:
    """Return shares that fall as 1 over the rank."""
    law = 1 / np.arange(1, count + 1)
    return np.asarray(law / law.sum())


def watched(mechanism: Mechanism, draw: Draw, rng: np.random.Generator) -> Watch:
    """Watch 52 weeks of answers that `draw` gives for a week."""
    days = {}
    for week in range(WEEKS):
        reports = mechanism.privatize(
            draw(week, rng), random=rumor.Seeded(int(rng.integers(1 << 60)))
        )
        days[_MONDAY + datetime.timedelta(weeks=week)] = as_summary(mechanism, reports)
    return estimate_watch(kind_of(mechanism), Periods.of(days, "week"), horizon=HORIZON)


def counted(
    oracle: FrequencyOracle, reports: int, share: Vector, rng: np.random.Generator
) -> Sample:
    """Return the estimates of all values from counts that are binomial, as a choice has them."""
    return as_sample(oracle, rng.binomial(reports, supports(oracle, share)), reports)


def supports(oracle: FrequencyOracle, share: Vector) -> Vector:
    """Return the chance that a report supports a value of this `share`."""
    return np.asarray(oracle.miss + (oracle.hit - oracle.miss) * share)


def as_sample(oracle: FrequencyOracle, counts: Tally, reports: int) -> Sample:
    """Return the estimates of all values from `counts` of supporting reports."""
    gain, miss = oracle.hit - oracle.miss, oracle.miss
    ones = np.ones(counts.size)
    spread = tuple(part * ones for part in (miss * (1 - miss) / gain**2, (1 - 2 * miss) / gain, -1))
    items = ItemCounts(counts, float(reports), oracle.hit, miss, 0.0)
    mean = (counts / reports - miss) / gain
    return Sample(mean, spread, reports, (0.0, 1.0), ExactIntervals(items))  # type: ignore[arg-type]


def log_evidence(samples: list[Sample], reports: list[int]) -> Vector:
    """Return the log evidence by look and value, as a watch computes it."""
    weights = flat_weights(np.ones(len(samples) - 1), HORIZON)
    return evidence_by_look(samples, standardised(samples, reports), weights)[1]


def many_values(
    domain: int, epsilon: float, least: int, most: int, rng: np.random.Generator
) -> bool:
    """Return whether counts of many values raise an alarm, of `least` to `most` people a week."""
    oracle = rumor.UnaryEncoding(domain=domain, epsilon=epsilon)
    sizes = rng.integers(least, most, WEEKS).tolist()
    samples = [counted(oracle, n, zipf(domain), rng) for n in sizes]
    top = log_evidence(samples, sizes).max(axis=0)
    return bool(holm(np.exp(-np.maximum(top, 0.0))).min() <= ALPHA)


def differs(mechanism: Mechanism, people: Draw, rng: np.random.Generator) -> bool:
    """Return whether some of 52 weekly looks at two groups that grow finds a difference."""
    groups = {name: Summary.empty(mechanism) for name in ("first", "second")}
    for _ in range(WEEKS):
        for name in groups:
            reports = mechanism.privatize(
                people(int(rng.integers(20, 400)), rng),
                random=rumor.Seeded(int(rng.integers(1 << 60))),
            )
            groups[name] = groups[name].update(reports)
        rows: Any = rumor.compare(mechanism, groups).to_dict(looks="any")["estimates"]
        if min(row["adjusted"] for row in rows) <= ALPHA:
            return True
    return False


def populations() -> Mapping[str, tuple[Mechanism, Draw]]:
    """Return by name a question and what draws the answers of some people."""

    def some(count: int) -> Draw:
        return lambda n, rng: [str(i) for i in rng.choice(count, n, p=zipf(count))]

    def sets(n: int, rng: np.random.Generator) -> Any:
        held = rng.random((n, 10)) < np.minimum(3 * zipf(10), 0.9)
        return [[str(i) for i in np.flatnonzero(row)[:3]] for row in held]

    def numbers(n: int, rng: np.random.Generator) -> Any:
        return 10 * rng.beta(2, 5, n)

    return {
        "choice, 2 labels": (asked("choice", labels=labels(2)), some(2)),
        "choice, 10 labels": (asked("choice", labels=labels(10)), some(10)),
        "ordered, 10 labels": (asked("ordered", labels=labels(10)), some(10)),
        "number": (asked("number", low=0, high=10), numbers),
        "set, 10 options": (asked("set", labels=labels(10), cap=3), sets),
    }


def blocks() -> dict[str, Block]:
    """Return by name what draws histories without a change and says which have an alarm."""

    def drawn(mechanism: Mechanism, people: Draw) -> Alarmed:
        def of_week(_: int, rng: np.random.Generator) -> Any:
            return people(int(rng.integers(200, 2000)), rng)

        return lambda rng: bool(watched(mechanism, of_week, rng).changes)

    many = functools.partial
    found: dict[str, Alarmed] = {
        **{name: drawn(*one) for name, one in populations().items()},
        "choice, 400 values": many(many_values, 400, 1.0, 500, 5000),
        "choice, 5,000 values": many(many_values, 5000, 1.0, 500, 5000),
        "choice, 5,000 values, few reports": many(many_values, 5000, 4.0, 50, 500),
    }
    return {name: functools.partial(alarms_of, alarmed) for name, alarmed in found.items()}


def comparisons() -> dict[str, Block]:
    """Return by name what compares two groups without a difference again and again."""
    return {
        name: functools.partial(alarms_of, functools.partial(differs, *one))
        for name, one in populations().items()
    }


def alarms_of(alarmed: Alarmed, histories: int, rng: np.random.Generator) -> TrialRows:
    """Return 1 for each history that has an alarm, 0 for each other."""
    return [[float(alarmed(each))] for each in rng.spawn(histories)]


def above_promise(alarms: Mapping[str, int], histories: int, promise: float = ALPHA) -> Vector:
    """Return Holm's p-values of all blocks, for more alarms than promised (exact binomial)."""
    found = [stats.binom.sf(count - 1, histories, promise) for count in alarms.values()]
    return holm(np.array(found))


def detection(size: float, histories: int, rng: np.random.Generator) -> TrialRows:
    """Return how a change of `size` noise units after half of 52 weeks is found, of one mean.

    Each history has the weeks until its alarm (0 if there is none), and whether the possible
    beginnings hold the true one and the interval the true size.
    """
    mechanism = rumor.Harmony(low=0, high=10, epsilon=1.0)
    middle, start = np.full(_PEOPLE, 4.0), WEEKS // 2
    reports = mechanism.privatize(np.full(100 * _PEOPLE, 4.0), random=rumor.Seeded(1))
    noise = 10 * float(rumor.estimate(mechanism, reports).stderr)  # of one week's mean

    def people(week: int, _: object) -> Vector:
        return middle + (week >= start) * size * noise

    rows: TrialRows = []
    for each in rng.spawn(histories):
        changes = watched(mechanism, people, each).changes
        if not changes:
            rows.append([0.0, 0.0, 0.0])
            continue
        (change,) = changes
        possible = change.after_period[change.possible()]
        low, high = change.interval()
        rows.append(
            [
                float(change.alarm - start + 1),
                float(possible[0] <= start <= possible[-1]),
                float(low <= size * noise <= high),
            ]
        )
    return rows


_PEOPLE = 1000


def alarms_by_look(histories: int, values: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """Return the share of histories without a change that have had an alarm, by week.

    First of a test for one look that is repeated every week, its p-values by Holm over the values
    below 5% (`rumor trend`); then of a watch.
    """
    return tuple(alarmed.mean(axis=1) for alarmed in _alarmed_by_look(histories, values, rng))


def repeated(histories: int, rng: np.random.Generator) -> TrialRows:
    """Return whether histories of 10 values have had an alarm, of either test, in all weeks."""
    found = _alarmed_by_look(histories, 10, rng)
    return as_rows(*(alarmed[-1] for alarmed in found))


def as_rows(*columns: Vector | Mask) -> TrialRows:
    """Return `columns` as a row for each trial."""
    found: TrialRows = np.transpose([np.asarray(each, dtype=float) for each in columns]).tolist()
    return found


def _alarmed_by_look(histories: int, values: int, rng: np.random.Generator) -> tuple[Mask, Mask]:
    """Return which histories have had an alarm so far, weeks by histories, of either test."""
    seen = rng.normal(size=(WEEKS, histories * values))
    ones = np.ones(seen.shape)
    often = np.zeros((WEEKS, histories), dtype=bool)
    for look in range(2, WEEKS):
        p_values = find_change(seen[: look + 1], ones[: look + 1]).p_value
        often[look] = any_below(p_values.reshape(histories, values))
    samples = [Sample(row, (ones[0], 0 * ones[0], 0 * ones[0]), 1) for row in seen]
    by_look = np.maximum(log_evidence(samples, [1] * WEEKS), 0.0)
    always = np.array([any_below(np.exp(-row).reshape(histories, values)) for row in by_look])
    return np.logical_or.accumulate(often), np.logical_or.accumulate(always)


def any_below(p_values: Vector, alpha: float = ALPHA) -> Mask:
    """Return whether any of a row's p-values is `alpha` or less after Holm."""
    return np.asarray(p_values.min(axis=1) * p_values.shape[1] <= alpha)
