"""Power: asked and got, both ways round, and in a plan."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rumor.analysis.compare.method import compare
from rumor.analysis.compare.quantities import Differences
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.estimators.groups import Sample
from rumor.estimators.power import PowerPlan
from rumor.estimators.sequential import watched_need
from rumor.kinds.planning.plan import Plan, make_plan
from rumor.mechanisms import RandomizedResponse


@pytest.mark.parametrize(("start", "difference"), [(0.1, 0.05), (0.9, -0.04)])
def test_asked_is_got(start: float, difference: float) -> None:
    """20,000 pairs of groups as large as said: 80 per cent notice, to 3.5 standard deviations."""
    oracle, trials, rng = (
        RandomizedResponse(domain=2, epsilon=1.0),
        20_000,
        np.random.default_rng(1),
    )

    def variance(share: float) -> float:
        return float(oracle.variance(share, 1))

    people = math.ceil(PowerPlan(start).people(variance, difference))
    gain = oracle.hit - oracle.miss
    sides = []
    for share in (start, start + difference):
        seen = rng.binomial(people, oracle.miss + gain * share, trials) / people
        ends = -oracle.miss / gain, (1 - oracle.miss) / gain
        one = Sample.coins(0.0, ends, people)
        mean = (seen - oracle.miss) / gain
        spread = tuple(np.full(trials, float(v[0])) for v in one.spread)
        sides.append(Sample(mean, spread, people, (0.0, 1.0)))  # type: ignore[arg-type]
    noticed = np.mean(Differences.between(*sides).p_value < 0.05)
    assert noticed == pytest.approx(0.8, abs=3.5 * math.sqrt(0.16 / trials))


def test_people_and_difference_are_each_others_inverse() -> None:
    between = PowerPlan(0.2, power=0.9)

    def variance(share: float) -> float:
        return 3.0 + share - share**2

    people = between.people(variance, 0.07)
    assert between.difference(variance, people, 0.8) == pytest.approx(0.07)
    assert between.difference(variance, 2.0, 0.8) == 0.8  # nothing is noticed by two people


def test_a_watched_plan_needs_more_people_and_says_when_it_is_over() -> None:
    """The law behind the two numbers is held against walks in tests/estimators."""
    asked = {"domain": 4, "epsilon": 1.0, "difference": 0.05, "share": 0.3, "named": True}
    once, watched = (make_plan(**asked, watch=watch) for watch in (False, True))  # type: ignore[arg-type]
    need = watched_need(0.05, 0.8)
    assert watched.users == pytest.approx(need.times * once.users, rel=1e-3)
    assert watched.found_after == round(need.found * watched.users)
    assert watched.to_dict()["found_after"] == watched.found_after
    assert f"--watch --users {2 * watched.users}" in " ".join(watched.table().split())
    assert once.found_after is None
    assert "--watch" not in once.table()
    # With everything else given, a watched comparison tells a larger difference.
    sizes = {"domain": 4, "epsilon": 1.0, "users": 10_000}
    plain, late = (make_plan(**sizes, share=0.3, watch=watch).difference for watch in (False, True))  # type: ignore[arg-type]
    assert plain is not None
    assert late is not None
    assert late > 1.2 * plain


@pytest.mark.slow
def test_plans_of_two_groups() -> None:
    plan = make_plan(domain=4, epsilon=2.0, difference=0.05, share=0.3)
    assert plan.difference == pytest.approx(0.05, rel=1e-3)
    said = " ".join(plan.table().split())
    assert "smallest detectable difference from a share of 0.3 (power 80%): 5.0" in said
    assert "in any of the 4 rows of rumor compare (Holm p-value below 5%), 4.1" in said
    fewer = make_plan(domain=4, epsilon=2.0, difference=0.05, share=0.3, power=0.5)
    assert fewer.users < 0.6 * plan.users
    # A share and its rest differ by the same amount.
    low, high = (make_plan(domain=2, users=3000, epsilon=1.0, share=s) for s in (0.2, 0.8))
    assert low.difference == pytest.approx(high.difference)
    assert make_plan(domain=4, users=3000, epsilon=1.0).difference is None
    for kind in ("number", "ordered"):
        domain = 20 if kind == "ordered" else None
        about = make_plan(kind=kind, domain=domain, low=0, high=10, epsilon=1.0, difference=0.5)
        assert about.difference == pytest.approx(0.5, rel=0.03)
    with pytest.raises(InputError, match="an error, a frequency to detect or a difference; got"):
        make_plan(domain=4, epsilon=1.0, difference=0.1, error=0.1)
    with pytest.raises(InputError, match="power must be a number above 0 and below 1; got 2"):
        make_plan(domain=4, users=100, epsilon=1.0, power=2)
    with pytest.raises(InputError, match="at most half the range, 5; got 6"):
        make_plan(kind="number", high=10, epsilon=1.0, difference=0.5, deviation=6)
    with pytest.raises(InputError, match="is for numbers and ordered answers; got"):
        make_plan(domain=4, epsilon=1.0, difference=0.1, deviation=0.2)
    with pytest.raises(InputError, match="groups must be an integer from 2 to 1,000; got 1"):
        make_plan(domain=4, epsilon=1.0, difference=0.1, groups=1)
    with pytest.raises(InputError, match="differences are planned for choices"):
        make_plan(kind="keyvalue", domain=4, epsilon=1.0, difference=0.1)


def _choices(plan: Plan, rng: np.random.Generator, share: float) -> object:
    """Of as many people as planned this share gives the first answer; the others any other."""
    size = plan.topic.domain
    return rng.choice(size, plan.users, p=[share, *np.full(size - 1, (1 - share) / (size - 1))])


def _numbers(plan: Plan, rng: np.random.Generator, mean: float) -> object:
    """Of a beta distribution with this mean, whose two parameters sum to 4."""
    return rng.beta(4 * mean, 4 * (1 - mean), plan.users)


def _sets(plan: Plan, rng: np.random.Generator, share: float) -> object:
    """This share chose the first option, and a tenth each of the others."""
    shares = np.full(plan.topic.domain, 0.1)
    shares[0] = share
    return [np.flatnonzero(row) for row in rng.random((plan.users, shares.size)) < shares]


PLANNED = {
    "choice": (_choices, 400, {"domain": 20, "epsilon": 2.0}),
    "two answers": (_choices, 400, {"domain": 2, "epsilon": 1.0}),
    # Randomised response is recommended, though its difference is not the smallest of all.
    "large epsilon": (_choices, 400, {"domain": 60, "epsilon": 4.0}),
    "three groups": (_choices, 400, {"domain": 8, "epsilon": 2.0, "groups": 3}),
    "number": (_numbers, 400, {"kind": "number", "epsilon": 2.0, "deviation": 0.21}),
    "ordered": (
        _numbers,
        100,
        {"kind": "ordered", "domain": 20, "epsilon": 2.0, "deviation": 0.21},
    ),
    "set": (_sets, 200, {"kind": "set", "domain": 4, "epsilon": 4.0}),
}


LONG = ("choice", "large epsilon", "three groups", "ordered")


@pytest.mark.slow_cases("two answers-*")
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    "case",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in PLANNED],
)
def test_groups_as_large_as_planned_notice_as_often_as_planned(case: str, named: bool) -> None:
    """The p-values that `compare` prints: Holm's or, of a row named in advance, its own."""
    crowd, trials, given = PLANNED[case]
    start, difference, rng = 0.3, 0.15, np.random.default_rng(1)
    plan = make_plan(difference=difference, share=start, named=named, **given)  # type: ignore[arg-type]
    assert plan.difference is not None
    assert plan.difference <= difference
    mechanism, noticed = plan.best.mechanism, 0
    for _ in range(trials):
        crowds = {"first": start, "second": start + difference, "third": start}
        reports = {
            name: mechanism.privatize(
                crowd(plan, rng, share), random=Seeded(int(rng.integers(1 << 40)))
            )
            for name, share in list(crowds.items())[: plan.between.groups]  # type: ignore[union-attr]
        }
        found = compare(mechanism, reports)
        noticed += bool((found.p_value if named else found.adjusted)[0] < 0.05)
    error = 3.5 * math.sqrt(0.16 / trials)
    assert 0.8 - error < noticed / trials < 0.9 + error


@pytest.mark.parametrize(
    "given",
    [
        {"domain": 7},
        {"kind": "set", "domain": 5},
        {"kind": "number"},
        {"kind": "ordered", "domain": 12},
    ],
)
def test_a_plan_counts_the_rows_that_compare_prints(given: dict[str, object]) -> None:
    plan = make_plan(users=200, epsilon=2.0, share=0.3, groups=3, **given)  # type: ignore[arg-type]
    mechanism = plan.best.mechanism
    answers = mechanism.audit.repeat(mechanism.inputs()[0], 50)
    names = ("one", "two", "three")
    groups = {name: mechanism.privatize(answers, random=Seeded(1)) for name in names}
    rows = compare(mechanism, groups).p_value.size
    assert plan.between is not None
    assert plan.between.for_rows(plan.topic.compared_rows(mechanism)).rows == rows
    assert f"in any of the {rows} rows" in " ".join(plan.table().split())
