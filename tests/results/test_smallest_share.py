"""The smallest share with an interval above zero: in tables, in plans, against the binomial law."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rumor
from rumor.kinds.planning.plan import make_plan
from rumor.mechanisms.support import ItemCounts
from rumor.results.counts import ExactIntervals
from rumor.results.intervals import Tails
from rumor.results.selection import first_tail
from rumor.results.smallest_share import POWER, RareCount
from rumor.results.view import View

RANKED = View(order="estimate")


@pytest.mark.parametrize("tail", [0.0225, 0.0225 / 50, 0.0225 / 10_000])
@pytest.mark.parametrize(("trials", "miss", "gain"), [(60, 0.01, 0.9), (900, 0.3, 0.2)])
def test_the_share_is_that_of_the_binomial_law(
    trials: int, miss: float, gain: float, tail: float
) -> None:
    """Every count, its interval and its chance, one by one."""
    share = RareCount(trials, miss, gain).smallest_share(tail)
    assert share is not None
    counts = np.arange(trials + 1)
    items = ItemCounts(counts, float(trials), miss + gain, miss, 1.0)
    low, _ = ExactIntervals(items).tails(
        counts, Tails.alike(tail, 0.025, counts.size), "population"
    )
    chance = miss + gain * share
    logs = [
        math.lgamma(trials + 1)
        - math.lgamma(k + 1)
        - math.lgamma(trials - k + 1)
        + k * math.log(chance)
        + (trials - k) * math.log1p(-chance)
        for k in counts
    ]
    assert np.exp(logs)[low > 0].sum() == pytest.approx(POWER, abs=1e-6)


def test_too_few_reports_tell_no_share_from_zero() -> None:
    assert RareCount(3, 0.4, 0.2).smallest_share(0.001) is None
    assert RareCount(0, 0.4, 0.2).smallest_share(0.001) is None
    oracle = rumor.SubsetSelection(domain=50, epsilon=0.5)
    result = rumor.estimate(oracle, oracle.privatize([1], random=rumor.Seeded(1)))
    assert "smallest detectable share: none" in result.table()


def _found(mechanism: rumor.Mechanism, share: float, people: int, tables: int) -> float:
    """How often the first value, held by this share, has an interval above 0 in a ranked table."""
    rng, found = np.random.default_rng(7), 0
    size = len(mechanism.inputs())
    rest = rng.dirichlet(np.full(size - 1, 0.5)) * (1 - share)
    for _ in range(tables):
        values = rng.choice(size, people, p=[share, *rest])
        reports = mechanism.privatize(values, random=rumor.Seeded(int(rng.integers(1 << 40))))
        result = rumor.estimate(mechanism, reports)
        order = result.ranking(None)
        low, _ = result.bounds(order, RANKED)
        found += bool(low[order.index(0)] > 0)
    return found / tables


@pytest.mark.slow_cases("subset-selection-4000", "randomized-response-300", "hadamard-3000")
@pytest.mark.parametrize(
    ("mechanism", "people"),
    [
        (rumor.SubsetSelection(domain=100, epsilon=1.0), 4000),
        (rumor.RandomizedResponse(domain=100, epsilon=6.0), 300),
        (rumor.HadamardResponse(domain=40, epsilon=3.0), 3000),
        (rumor.RandomizedResponse(domain=5, epsilon=1.0), 400),
    ],
    ids=lambda x: getattr(x, "name", x),
)
def test_a_share_called_shown_is_shown_with_the_stated_power(
    mechanism: rumor.FrequencyOracle, people: int
) -> None:
    """80 tables: a value with the share that the table names; far fewer with the other one."""
    reports = mechanism.privatize(np.zeros(people, np.int64), random=rumor.Seeded(1))
    result = rumor.estimate(mechanism, reports)
    share, named = result.smallest_shown(RANKED), result.diagnostics["detectable"]
    assert share is not None
    assert isinstance(named, float)
    tables = 80
    error = 3.5 * math.sqrt(POWER * (1 - POWER) / tables)
    assert _found(mechanism, share, people, tables) > POWER - error
    if mechanism.domain >= 40:
        # A value named in advance is found with this share, and not shown with it.
        assert _found(mechanism, named, people, tables) < POWER - error


def test_the_table_says_what_belongs_to_its_intervals() -> None:
    oracle = rumor.SubsetSelection(domain=30, epsilon=1.0, labels=[f"v{i}" for i in range(30)])
    values = [f"v{i % 7}" for i in range(3000)]
    result = rumor.estimate(oracle, oracle.privatize(values, random=rumor.Seeded(3)))
    views = {
        "ranked": View(),
        "strict": View(level=0.99),
        "named": View(order="given"),
        "all": View(simultaneous=True),
    }
    shares = {}
    for name, view in views.items():
        share = result.smallest_shown(view.on_screen())
        assert share is not None
        shares[name] = share
        said = f"smallest detectable share: {share:.2%}"
        assert said in result.table(view)
        assert "(power 90%)" in result.table(view)
    assert shares["named"] < shares["all"] < shares["ranked"] < shares["strict"]
    named = result.diagnostics["detectable"]
    assert shares["named"] == pytest.approx(named, rel=0.02)
    beforehand = f"a value chosen before seeing the data: {named:.2%} (power 90%)"
    assert beforehand in " ".join(result.explain().split())
    assert result.to_dict(RANKED)["smallest_shown"] == shares["ranked"]
    assert "chosen before seeing the data" not in result.explain(order="given")


@pytest.mark.parametrize("kind", ["choice", "set"])
def test_a_plan_names_the_share_that_the_table_will(kind: str) -> None:
    plan = make_plan(kind=kind, domain=12, users=4000, epsilon=2.0)
    mechanism = plan.best.mechanism
    reports = mechanism.privatize(
        mechanism.audit.repeated(mechanism.inputs()[0], 4000), random=rumor.Seeded(2)
    )
    found = rumor.estimate(mechanism, reports).smallest_shown(RANKED)
    # Which reports are about an option of a set is drawn.
    assert plan.best.shown == pytest.approx(found, rel=1e-9 if kind == "choice" else 0.05)
    assert f"{plan.best.shown:.3%}" in plan.table()
    assert "smallest share whose 95% interval, adjusted for ranking" in " ".join(
        plan.table().split()
    )
    assert make_plan(kind="number", users=4000, epsilon=2.0).best.shown is None


@pytest.mark.slow
def test_a_key_called_shown_is_shown_with_the_stated_power() -> None:
    """150 tables of 30 keys of which 20 are listed."""
    plan = make_plan(kind="keyvalue", domain=30, users=3000, epsilon=4.0)
    mechanism, share = plan.best.mechanism, plan.best.shown
    assert share is not None
    rng, tables, found = np.random.default_rng(5), 150, 0
    shares = np.array([share, *rng.uniform(0, 0.6, 29) ** 2])
    for _ in range(tables):
        table = np.where(rng.random((plan.users, 30)) < shares, 0.5, np.nan)
        reports = mechanism.privatize(table, random=rumor.Seeded(int(rng.integers(1 << 40))))
        result = rumor.estimate(mechanism, reports)
        order = result.ranking(None)
        low, _ = result.bounds(order, RANKED)
        found += bool(low[order.index(0)] > 0)
    assert found / tables > POWER - 3.5 * math.sqrt(POWER * (1 - POWER) / tables)


def test_the_first_of_many_rows_has_the_smallest_tail() -> None:
    assert first_tail(0.95, 1) == pytest.approx(0.0225)
    assert first_tail(0.9, 50) == pytest.approx(0.045 / 50)
