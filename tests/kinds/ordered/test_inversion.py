"""Quantiles of several groups: distribution functions put together and inverted, never averaged."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.core.types import Vector
from rumor.kinds.ordered.fit.bounds import Sides
from rumor.kinds.ordered.fit.curve import CumulativeCurve
from rumor.mechanisms.wave.wave import Wave

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
WHOLE = Wave(low=0, high=100, epsilon=2.0)
BINS = Wave(low=0.0, high=50.0, bins=40, epsilon=2.0)
FEW = Wave(low=0, high=30, epsilon=2.0)


def even(wave: Wave, low: float, high: float) -> Vector:
    """Answers evenly between two values."""
    law = ((wave.scale.middles >= low) & (wave.scale.middles <= high)).astype(np.float64)
    return np.asarray(law / law.sum())


def drawn(wave: Wave, law: Vector, people: int, rng: np.random.Generator) -> rumor.Summary:
    return rumor.Summary(wave, people, rng.multinomial(people, wave.band.forward(law)))


def true_quantile(law: Vector, share: float) -> int:
    return int(np.searchsorted(np.cumsum(law) - 1e-12, share))


@pytest.mark.parametrize("assume", ["nothing", "smooth"])
def test_groups_far_apart_have_the_quantiles_of_both_together(assume: str) -> None:
    rng = np.random.default_rng(41)
    first, second = even(WHOLE, 5, 15), even(WHOLE, 85, 95)
    groups = {"low": drawn(WHOLE, first, 3000, rng), "high": drawn(WHOLE, second, 3000, rng)}
    weighted = rumor.weigh(WHOLE, groups, {"low": 1.0, "high": 1.0}, assume=assume)
    combined = rumor.combine([(WHOLE, each) for each in groups.values()], assume=assume)
    for found in (weighted, combined):
        low, high = found.interval(0.95)
        for row, share in enumerate(SHARES, 1):
            # With the median in the gap, all that is known of it is which gap.
            truth = true_quantile((first + second) / 2, share)
            within = (4, 96) if share == 0.5 else (truth - 3, truth + 3)
            assert within[0] <= found.unbiased[row] <= within[1]
            assert low[row] <= found.unbiased[row] <= high[row]
            assert low[row] < high[row]
            assert 0 < found.stderr[row] < 100
    low, high = weighted.interval(0.95)
    assert low[3] <= 18
    assert high[3] >= 82


def test_weights_decide_where_the_quantile_lies() -> None:
    rng = np.random.default_rng(7)
    groups = {
        "low": drawn(WHOLE, even(WHOLE, 5, 15), 20_000, rng),
        "high": drawn(WHOLE, even(WHOLE, 85, 95), 20_000, rng),
    }
    for weight, at in ((0.8, 10), (0.2, 90)):
        found = rumor.weigh(WHOLE, groups, {"low": weight, "high": 1 - weight})
        low, high = found.interval(0.95)
        assert abs(found.unbiased[3] - at) < 5
        assert low[3] >= at - 10
        assert high[3] <= at + 10


@pytest.mark.slow_cases("smooth-*", "nothing-bins")
@pytest.mark.parametrize("wave", [FEW, BINS], ids=["whole", "bins"])
@pytest.mark.parametrize("assume", ["nothing", "smooth"])
def test_the_same_law_in_both_groups_is_no_difference_of_its_median(
    wave: Wave, assume: str
) -> None:
    """Twenty pairs with the median in a gap: half of them had p < .05."""
    rng = np.random.default_rng(20)
    top = float(wave.scale.at(wave.domain))
    law = (even(wave, 0.05 * top, 0.15 * top) + even(wave, 0.85 * top, 0.95 * top)) / 2
    small = 0
    for _ in range(20):
        found = rumor.compare(
            wave, drawn(wave, law, 2000, rng), drawn(wave, law, 3000, rng), assume=assume
        )
        small += int(found.p_value[3] < 0.05)
        low, high = found.interval(0.95)
        # A whole number that a quarter of the people hold is a quantile exactly.
        assert (low <= high).all()
        assert low[3] < high[3]
        # A p-value and its interval say the same.
        assert (found.p_value[1:] < 0.05).tolist() == ((low > 0) | (high < 0))[1:].tolist()
    assert small <= 4  # 1 is expected at most; 5 have a chance of .003


@pytest.mark.slow
def test_differences_of_quantiles_hold_the_truth_on_smooth_laws_and_beside_gaps() -> None:
    rng = np.random.default_rng(3)
    x = (np.arange(101) + 0.5) / 101
    bell = np.exp(-0.5 * ((x - 0.4) / 0.12) ** 2)
    bell /= bell.sum()
    low, high = even(WHOLE, 5, 15), even(WHOLE, 85, 95)
    pairs = [(bell, np.roll(bell, 7)), (0.53 * low + 0.47 * high, 0.47 * low + 0.53 * high)]
    for first, second in pairs:
        held, lengths, seen = [], [], 0
        for _ in range(30):
            groups = drawn(WHOLE, first, 4000, rng), drawn(WHOLE, second, 4000, rng)
            found = rumor.compare(WHOLE, *groups, assume="smooth")
            truth = [true_quantile(second, q) - true_quantile(first, q) for q in SHARES]
            below, above = (ends[1:] for ends in found.interval(0.95))
            held += ((below <= truth) & (truth <= above)).tolist()
            lengths.append(above - below)
            seen += int(found.p_value[3] < 0.05)
        # 150 intervals of 30 pairs: 3 standard deviations of 30 independent ones below .95.
        assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 30)
        if first is bell:
            assert np.mean(lengths) < 12
            assert seen >= 27


def test_two_estimates_differ_in_their_quantiles_by_inversion() -> None:
    rng = np.random.default_rng(9)
    law = (even(WHOLE, 5, 15) + even(WHOLE, 85, 95)) / 2
    one, two = (rumor.estimate(WHOLE, drawn(WHOLE, law, 4000, rng)) for _ in range(2))
    found = one.minus(two)
    for assume in ("nothing", "smooth"):
        median = found.quantile(0.5, assume=assume)
        assert median.low <= 0 <= median.high
        assert found.quantile(0.1, assume=assume).high < 12
        share = found.share(0, 50, assume=assume)
        assert share.low < share.value < share.high
        assert -0.2 < share.low < 0 < share.high < 0.2
    wide, narrow = (found.cdf(15, assume=assume) for assume in ("nothing", "smooth"))
    assert narrow.high - narrow.low < wide.high - wide.low


def test_a_quantile_is_exact_only_where_its_function_leaps() -> None:
    """Nine tenths at one value: the median is that value, with an interval of no length."""
    law = np.zeros(101)
    law[40], law[[10, 70]] = 0.9, 0.05
    curve = CumulativeCurve(WHOLE.scale, law, Sides.around(np.cumsum(law), np.full(101, 0.02)))
    assert curve.quantile(0.5, 1.96) == (40.0, 40.0, 40.0)
    assert curve.quantile(0.95, 1.96)[1:] == (40.0, 70.0)
    assert curve.places(0.5).less(curve.places(0.5), 1.96) == (0.0, 0.0)
    assert curve.places(0.5).p_value(curve.places(0.5)) == 1.0


def test_scales_that_differ_are_compared_and_not_put_together() -> None:
    rng = np.random.default_rng(4)
    fine = Wave(low=0.0, high=50.0, bins=80, epsilon=1.0)
    one = drawn(BINS, even(BINS, 10, 20), 5000, rng)
    two = drawn(fine, even(fine, 30, 40), 5000, rng)
    found = rumor.compare(BINS, one, two, other=fine)
    low, high = found.interval(0.95)
    assert low[3] <= 20 <= high[3]
    assert found.p_value[3] < 0.05
    with pytest.raises(InputError, match="over the same positions to be put together"):
        rumor.combine([(BINS, one), (fine, two)])


@pytest.mark.slow_cases("7", "400")
@pytest.mark.parametrize("people", [1, 7, 400])
def test_few_people_have_long_intervals(people: int) -> None:
    rng = np.random.default_rng(people)
    for wave in (WHOLE, BINS, Wave(labels=["a", "b", "c", "d"], epsilon=1.0)):
        law = np.full(wave.domain, 1 / wave.domain)
        groups = {name: drawn(wave, law, people, rng) for name in "ab"}
        results: tuple[Any, ...] = (
            rumor.weigh(wave, groups, {"a": 1, "b": 2}),
            rumor.combine([(wave, each) for each in groups.values()]),
            rumor.compare(wave, groups["a"], groups["b"]),
        )
        for found in results:
            for level in (0.5, 0.95):
                low, high = found.interval(level)
                assert np.isfinite([low, high]).all()
                assert (low < high).all()


@pytest.mark.slow
def test_a_trend_follows_shares_in_the_place_of_quantiles() -> None:
    """Eight days of one law with its median in a gap; then one that moves across it."""
    rng = np.random.default_rng(12)
    first, second = even(WHOLE, 5, 15), even(WHOLE, 85, 95)
    day = datetime.date(2026, 3, 1)
    still = {
        day + datetime.timedelta(i): drawn(WHOLE, (first + second) / 2, 4000, rng) for i in range(8)
    }
    found = rumor.trend(WHOLE, still)
    assert set(found.quantities) == {"mean", "up to"}
    assert found.adjusted.min() > 0.01
    moved = {
        day + datetime.timedelta(i): drawn(
            WHOLE, (0.7 if i < 4 else 0.3) * first + (0.3 if i < 4 else 0.7) * second, 4000, rng
        )
        for i in range(8)
    }
    found = rumor.trend(WHOLE, moved)
    assert found.adjusted[list(found.quantities).index("up to")] < 0.01


def test_weights_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contract, answers, reports, weights = (
        tmp_path / name for name in ("c.json", "a.csv", "r.parquet", "w.csv")
    )
    asked = {"id": "asked", "kind": "ordered", "text": "?", "low": 0, "high": 100, "epsilon": 2.0}
    base = {"name": "Law", "series": "law", "contact": "a@b.example"}
    Collection.resolve({**base, "questions": [asked]}).save(contract)
    ages = np.random.default_rng(1).integers(5, 16, 4000)
    rows = [f"{age + 80 * (i % 2)},{'old' if i % 2 else 'young'}" for i, age in enumerate(ages)]
    answers.write_text("asked,group\n" + "\n".join(rows) + "\n")
    weights.write_text("group,people\nyoung,900\nold,100\n")
    made = ["privatize", contract, answers, "-o", reports, "--keep", "group", "--seed", "1"]
    assert main([str(each) for each in made]) == 0
    for assume in ("nothing", "smooth"):
        told = ["estimate", contract, reports, "--weights", weights, "--assume", assume, "--json"]
        capsys.readouterr()
        assert main([str(each) for each in told]) == 0
        data = json.loads(capsys.readouterr().out)
        median = next(row for row in data["estimates"] if row["value"] == "50%")
        assert 5 <= median["estimate"] <= 15
        assert 3 <= median["low"] < median["high"] <= 20
        condition = "whatever the distribution" if assume == "nothing" else "spread smoothly"
        assert condition in " ".join(data["notes"])
