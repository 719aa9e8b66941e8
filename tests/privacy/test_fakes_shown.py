"""Fakes move what a table shows by no more than the table says: shares, intervals and means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

import rumor
from benchmarks.fakes_shown import RANKED, measured
from rumor.core.reports import Reports
from rumor.estimators.frequency.linear import project
from rumor.kinds.estimating import estimate
from rumor.kinds.planning.plan import make_plan
from rumor.mechanisms import KeyValueMechanism, MeanMechanism, Mechanism
from rumor.mechanisms.mean import mean_mechanisms
from rumor.mechanisms.poisoning import PoisoningBound, fake_count


def told(result: object) -> Mapping[str, float]:
    bound = result.diagnostics["fake_clients"]  # type: ignore[attr-defined]
    assert isinstance(bound, Mapping)
    return bound


def seeded(rng: np.random.Generator) -> rumor.Seeded:
    return rumor.Seeded(int(rng.integers(1 << 40)))


def bits(supported: Sequence[int], domain: int) -> Reports:
    """A report of unary encoding that supports these values."""
    row = np.zeros((1, domain), dtype=np.uint8)
    row[0, list(supported)] = 1
    return np.packbits(row, axis=1, bitorder="little")


def test_shares_move_further_than_linear_estimates_and_the_table_says_so() -> None:
    """One fake in a hundred, 12 crowds: up for a middling value, down for a leader.

    Of the linear estimate (1 - miss) / gain / 100 is 3.16%; the share shown moved by 3.7%.
    """
    oracle, people, rng = (
        rumor.UnaryEncoding(domain=100, epsilon=1.0),
        40_000,
        np.random.default_rng(3),
    )
    law, fakes = np.array([0.5, *np.full(99, 0.5 / 99)]), fake_count(people)
    attacks = {
        "up": (1, bits([1], 100)),
        "down": (0, bits(range(1, 100), 100)),
    }
    moves: dict[str, list[float]] = {name: [] for name in attacks}
    for _ in range(12):
        honest = oracle.privatize(rng.choice(100, people - fakes, p=law), random=seeded(rng))
        before = rumor.estimate(oracle, honest).frequency
        for name, (value, report) in attacks.items():
            after = rumor.estimate(oracle, np.concatenate([honest, np.repeat(report, fakes, 0)]))
            bound = told(after)
            move = after.frequency - before
            assert np.abs(move).max() <= bound["shown"]
            moves[name].append(float(move[value]))
            low, high = after.bounds([value], RANKED)
            assert low[0] - bound["adds"] <= law[value] <= high[0] + bound["takes"]
    plain = oracle.poisoning.gain(people, fakes)
    assert max(moves["up"]) > plain, "a bound on linear estimates is none on what is shown"
    assert min(moves["down"]) < -oracle.poisoning.loss(people, fakes)


def test_the_projection_moves_no_further_than_both_bounds_together() -> None:
    """The argument of poisoning.py, on random shares and random pushes of either sign."""
    rng = np.random.default_rng(8)
    for size in (2, 3, 10, 200):
        for _ in range(50):
            shares = rng.dirichlet(np.full(size, 0.3)) + rng.normal(0, 0.05, size)
            push = rng.uniform(-0.04, 0.09, size) * (rng.random(size) < 0.5)
            moved = project(shares + push) - project(shares)
            assert np.abs(moved).max() <= max(push.max(), 0.0) - min(push.min(), 0.0) + 1e-12


@pytest.mark.slow
def test_attacks_of_every_oracle_stay_within_the_bound() -> None:
    """A part of benchmarks/fakes_shown.py, which draws its cells by a rule."""
    for found in measured(seed=101, cells=25, runs=1).values():
        assert max(found.moved) <= 1
        assert np.mean(found.missed) <= 0.05


@pytest.mark.parametrize("kind", mean_mechanisms())
def test_a_mean_moves_as_far_as_it_says_either_way(kind: type[MeanMechanism]) -> None:
    mechanism, people = kind(low=10.0, high=30.0, epsilon=1.0), 2000
    fakes = fake_count(people)
    estimates = mechanism.estimates(mechanism.furthest_outputs())
    for end, at, side in (
        (10.0, int(np.argmax(estimates)), "adds"),
        (30.0, int(np.argmin(estimates)), "takes"),
    ):
        honest = mechanism.privatize(np.full(people - fakes, end), random=rumor.Seeded(4))
        pushed = np.repeat(mechanism.furthest_outputs()[at : at + 1], fakes, axis=0)
        result = rumor.estimate(mechanism, np.concatenate([honest, pushed]), method="inversion")
        noise = float(np.sqrt(mechanism.variance(end, people)))
        bound = told(result)[side]
        assert abs(result.mean - end) == pytest.approx(bound, abs=5 * noise)
        clipped = rumor.estimate(mechanism, np.concatenate([honest, pushed]))
        assert abs(clipped.mean - end) <= bound + 5 * noise
    sentence = str(told(clipped)["sentence"])
    assert sentence.startswith("poisoning bound: 20 fake reports can raise the mean by at most ")
    assert " or lower it by " in sentence


def _pushing(
    mechanism: Mechanism, honest: Reports, pool: Reports, value: Callable[[object], float]
) -> list[Reports]:
    """The reports of a pool that raise and lower a value most, tried one by one."""
    found = [
        value(estimate(mechanism, np.concatenate([honest[:200], np.repeat(row[None], 100, 0)])))
        for row in pool
    ]
    return [pool[int(np.nanargmax(found))], pool[int(np.nanargmin(found))]]


@pytest.mark.parametrize("kind", ["set", "keyvalue", "joint"])
def test_shares_of_other_kinds_move_no_further_than_they_say(kind: str) -> None:
    size: dict[str, object] = {"parts": "3x4"} if kind == "joint" else {"domain": 8}
    plan = make_plan(kind=kind, users=3000, epsilon=2.0, **size)  # type: ignore[arg-type]
    mechanism, rng, fakes = plan.best.mechanism, np.random.default_rng(6), fake_count(3000)

    def crowd(count: int, share: float) -> object:
        if kind == "joint":
            return rng.choice(12, count, p=[share, *np.full(11, (1 - share) / 11)])
        held = rng.random((count, 8)) < [share, *np.full(7, 0.2)]
        return (
            [np.flatnonzero(row) for row in held] if kind == "set" else np.where(held, 0.5, np.nan)
        )

    for share in (0.02, 0.6):
        honest = mechanism.privatize(crowd(3000 - fakes, share), random=seeded(rng))
        pool = mechanism.privatize(crowd(25, 0.5), random=seeded(rng))
        before = estimate(mechanism, honest)
        for report in _pushing(mechanism, honest, pool, lambda e: float(e.unbiased[0])):  # type: ignore[attr-defined]
            after = estimate(mechanism, np.concatenate([honest, np.repeat(report[None], fakes, 0)]))
            bound, linear = told(after), after.unbiased - before.unbiased
            assert -bound["takes"] <= linear.min() <= linear.max() <= bound["adds"]
            assert np.abs(after.frequency - before.frequency).max() <= bound["shown"]


def test_the_mean_of_the_most_frequent_key_moves_no_further_than_it_says() -> None:
    mechanism, rng = rumor.PrivKV(keys=3, epsilon=4.0, split="exact"), np.random.default_rng(9)
    people, fakes = 6000, fake_count(6000)
    held = rng.random((people - fakes, 3)) < [0.8, 0.3, 0.1]
    honest = mechanism.privatize(np.where(held, -1.0, np.nan), random=seeded(rng))
    pool = mechanism.privatize(np.tile([1.0, np.nan, np.nan], (25, 1)), random=seeded(rng))
    best = _pushing(mechanism, honest, pool, lambda e: float(e.product[0]))[0]  # type: ignore[attr-defined]
    before = estimate(mechanism, honest)
    after = estimate(mechanism, np.concatenate([honest, np.repeat(best[None], fakes, 0)]))
    moved, bound = after.mean[0] - before.mean[0], told(after)["mean_moves"]
    assert 0.7 * bound < moved <= bound
    assert f"the mean of the most frequent key by {bound:.2g}" in " ".join(after.explain().split())


def test_a_rare_key_may_have_any_mean() -> None:
    """Fakes who report nothing bring its share to zero, and its mean to any number."""
    mechanism: KeyValueMechanism = rumor.PrivKV(keys=3, epsilon=1.0, low=0.0, high=5.0)
    assert mechanism.fake_mean_gain(10_000, 100, 0.001) == 5.0
    assert mechanism.fake_mean_gain(10_000, 100, 0.9) < 5.0
    assert mechanism.mean_moved(1.0, 0.5) == 5.0


def test_fewer_reports_about_a_thing_are_moved_further() -> None:
    mechanism = rumor.SetBlock(domain=6, epsilon=2.0, block=2)
    half, all_of_them = (PoisoningBound.for_trials(mechanism, 1000, n) for n in (500.0, 1000.0))
    assert half.gain == pytest.approx(2 * all_of_them.gain)
    assert half.loss == pytest.approx(2 * all_of_them.loss)
    alone = PoisoningBound.for_trials(mechanism, 1000, 0.0)
    assert alone.gain == pytest.approx(mechanism.poisoning.gain(1, 1))
    assert "100% (all there is)" in alone.sentence()
