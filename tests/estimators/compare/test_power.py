"""Power: asked and got, both ways round, and in a plan."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rumor.core.errors import InputError
from rumor.estimators.compare.differences import Differences
from rumor.estimators.compare.power import Between
from rumor.estimators.compare.sample import Sample
from rumor.kinds.planning.plan import make_plan
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

    people = math.ceil(Between(start).people(variance, difference))
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
    between = Between(0.2, power=0.9)

    def variance(share: float) -> float:
        return 3.0 + share - share**2

    people = between.people(variance, 0.07)
    assert between.difference(variance, people, 0.8) == pytest.approx(0.07)
    assert between.difference(variance, 2.0, 0.8) == 0.8  # nothing is noticed by two people


@pytest.mark.slow
def test_plans_of_two_groups() -> None:
    plan = make_plan(domain=4, epsilon=2.0, difference=0.05, share=0.3)
    assert plan.difference == pytest.approx(0.05, rel=1e-3)
    assert "people each: a difference of 5.0" in plan.table()
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
    with pytest.raises(InputError, match="differences are planned for choices"):
        make_plan(kind="keyvalue", domain=4, epsilon=1.0, difference=0.1)
