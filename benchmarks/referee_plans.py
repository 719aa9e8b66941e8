"""What is foretold, against what comes: the power of plans and tables, and what fakes can move."""

from __future__ import annotations

import numpy as np

import rumor
from benchmarks.fakes_shown import attacked
from benchmarks.referee_kinds import Outcome, Outcomes, false
from benchmarks.referee_worlds import (
    Generator,
    Vector,
    between,
    counted,
    epsilon,
    law,
    oracle,
    whole_between,
)
from rumor.kinds.planning.plan import make_plan
from rumor.results.view import View

NOTICED = "noticed"
MOVED_BY_FAKES = "moved by fakes"
_RANKED = View(order="estimate")
_MOST_PEOPLE = 3_000_000


def with_share(rng: Generator, domain: int, share: float) -> Vector:
    """Draw shares of which the first is given."""
    rest = law(rng, domain - 1)
    return np.concatenate([[share], rest * (1 - share)])


def smallest_share(rng: Generator, number: int) -> Outcomes:
    """Let one value have the smallest share that a table says it tells from zero."""
    domain, people = whole_between(rng, 3, 2_000), whole_between(rng, 100, 300_000)
    mechanism = oracle(rng, domain, epsilon(rng, 0.3), people)
    before = rumor.estimate(mechanism, counted(mechanism, law(rng, domain), people, rng))
    share = before.smallest_shown(_RANKED)
    if share is None or share > 0.5:
        return
    shares = with_share(rng, domain, share)
    found = rumor.estimate(mechanism, counted(mechanism, shares, people, rng))
    low, _ = found.bounds([0], _RANKED)
    yield Outcome(NOTICED, "a table, 90 % said", float(low[0] > 0))


def planned_difference(rng: Generator, number: int) -> Outcomes:
    """Ask as many people as a plan says, of two groups that differ by what it was asked for."""
    domain, eps = whole_between(rng, 2, 100), epsilon(rng, 0.5, 4.0)
    share, apart, named = rng.uniform(0.03, 0.5), between(rng, 0.02, 0.2), number % 2 == 0
    plan = make_plan(domain=domain, epsilon=eps, difference=apart, share=share, named=named)
    if not 20 <= plan.users <= _MOST_PEOPLE:
        return
    first = with_share(rng, domain, share)
    second = first * (1 - share - apart) / (1 - share)  # nothing else differs as much
    second[0] = share + apart
    mechanism = plan.best.mechanism
    groups = [counted(mechanism, f, plan.users, rng) for f in (first, second)]
    found = rumor.compare(mechanism, *groups)
    p_value = found.p_value[0] if named else found.adjusted[0]
    which = "a row named in advance" if named else "a row of all (Holm)"
    yield Outcome(NOTICED, f"a planned difference, {which}, 80 % said", float(p_value < 0.05))


def fakes(rng: Generator, number: int) -> Outcomes:
    """Let one client in a hundred be a fake, all of whom push the same value."""
    domain, people = whole_between(rng, 2, 1_000), whole_between(rng, 100, 20_000)
    mechanism = oracle(rng, domain, epsilon(rng, 0.5), people)
    results = list(attacked(mechanism, law(rng, domain), people, rng))
    yield Outcome(MOVED_BY_FAKES, MOVED_BY_FAKES, max(moved for moved, _ in results))
    yield false("intervals under fakes, bound added", float(np.mean([m for _, m in results])))
