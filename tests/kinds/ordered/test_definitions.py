"""Distributions of ordered answers against their definitions: dense matrices and brute force.

Places are tried one by one, weights are solved for with whole matrices, and a fit's deviations are
differences of the fit itself.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from rumor.core.types import Vector
from rumor.kinds.ordered.compare import smooth_test
from rumor.kinds.ordered.fit import atoms, steps
from rumor.kinds.ordered.fit.average import fit_ordered
from rumor.kinds.ordered.fit.bounds import Bounds, Sides, unbiased_weights
from rumor.kinds.ordered.fit.curve import CumulativeCurve, Places, interval_of, reached
from rumor.kinds.ordered.fit.em import linear_mean
from rumor.kinds.ordered.fit.forecast import forecast, mean_error
from rumor.kinds.ordered.fit.likelihood import BandCounts
from rumor.kinds.ordered.fit.search import climb
from rumor.kinds.ordered.fit.shapes import FLAT, UNORDERED, basis, families
from rumor.mechanisms.wave.band import Band
from rumor.mechanisms.wave.scale import Scale
from rumor.mechanisms.wave.wave import Wave

BAND = Band(domain=8, window=3, inside=0.22, outside=0.34 / 7)
LAW = np.array([0.05, 0.2, 0.3, 0.1, 0.05, 0.0, 0.1, 0.2])
PEOPLE = 500.0


def counts(people: float = PEOPLE, law: Vector = LAW) -> Vector:
    """The expected counts of outputs."""
    return np.asarray(people * BAND.matrix() @ law)


# Where a function reaches a share


def height(edges: Vector, x: float) -> float:
    return float(np.interp(x, np.arange(edges.size), edges))


@pytest.mark.parametrize("share", [0.0, 1e-9, 0.05, 0.25, 0.3, 0.55, 0.7, 0.999, 1.0])
def test_a_quantile_is_the_first_place_that_reaches_its_share(share: float) -> None:
    """No people in position 5: a share that is reached before it is reached there."""
    edges = np.concatenate([[0.0], np.cumsum(LAW)])
    found = reached(LAW, share)
    assert height(edges, found) == pytest.approx(share, abs=1e-9)
    assert found == 0 or height(edges, found - 1e-6) < share - 1e-12
    assert reached(LAW, 0.0) == 0.0
    assert reached(LAW, 1.0) == pytest.approx(8.0)
    assert reached(np.array([0.5, 0.5, 0.0]), 1.0) == 2.0, "nobody is in the last position"


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 0.7, 0.95, 1.0])
def test_an_interval_holds_every_place_whose_own_holds_the_share(share: float) -> None:
    low = np.array([0.0, 0.1, 0.05, 0.3, 0.3, 0.6, 0.5, 0.9])
    high = np.array([0.2, 0.15, 0.5, 0.7, 0.6, 0.9, 1.0, 1.0])
    first, last = interval_of(low, high, share)
    # Made monotone: the least of all ends after a place, the largest of all before it.
    upper = [0.0, *(high[: i + 1].max() for i in range(8))]
    lower = [0.0, *(low[i:].min() for i in range(8))]
    places = np.linspace(0, 8, 80_001)
    inside = (np.interp(places, range(9), lower) <= share + 1e-12) & (
        np.interp(places, range(9), upper) >= share - 1e-12
    )
    assert first == pytest.approx(places[inside].min(), abs=2e-4)
    assert last == pytest.approx(places[inside].max(), abs=2e-4)


def test_ends_are_centres_and_deviations() -> None:
    low, high = np.array([0.2, -0.1]), np.array([0.4, 1.2])
    one = Sides(low, np.array([0.05, 0.1]), high, np.array([0.02, 0.3]))
    below, above = one.ends(2.0)
    np.testing.assert_allclose(below, [0.1, 0.0])
    np.testing.assert_allclose(above, [0.44, 1.0])
    np.testing.assert_allclose(one.ends(2.0, (-1.0, 1.0))[0], [0.1, -0.3])
    np.testing.assert_allclose(one.stderr(2.0), [0.035 + 0.05, 0.2 + 1.3 / 4])
    crossed = Sides(high, one.low_deviation, low, one.high_deviation)
    np.testing.assert_allclose(crossed.stderr(2.0), [0.035, 0.2])
    other = Sides.around(np.array([0.5, 0.6]), np.array([0.1, 0.2]))
    summed = Sides.weighted([one, other], (-0.5, 2.0))
    np.testing.assert_allclose(summed.low, 2 * other.low - 0.5 * high)
    np.testing.assert_allclose(summed.high, 2 * other.low - 0.5 * low)
    np.testing.assert_allclose(summed.low_deviation**2, [0.04 + 0.0001, 0.16 + 0.0225])
    np.testing.assert_allclose(summed.high_deviation**2, [0.04 + 0.000625, 0.16 + 0.0025])


def scale_of(kind: str) -> Scale:
    """Bins from 10 to 26, whole numbers from 3 to 10, or labels."""
    made = {
        "bins": lambda: Wave(low=10.0, high=26.0, bins=8, epsilon=2.0),
        "labels": lambda: Wave(labels=[f"l{i}" for i in range(8)], epsilon=2.0),
    }
    return made[kind]().scale


def curve_of(kind: str, spread: bool, law: Vector = LAW, width: float = 0.03) -> CumulativeCurve:
    middle = np.cumsum(law)
    sides = Sides(middle - 0.02, np.full(8, width), middle + 0.01, np.full(8, 2 * width))
    return CumulativeCurve(scale_of(kind), law, sides, spread)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_quantiles_in_the_units_of_their_scale(share: float) -> None:
    for spread in (True, False):
        bins = curve_of("bins", spread)
        value, low, high = bins.quantile(share, 1.5)
        point = reached(LAW, share)
        assert value == pytest.approx(10 + 2 * point)
        first, last = interval_of(*bins.sides.ends(1.5), share)
        if not spread:  # answers may lie anywhere within a bin
            first, last = max(math.ceil(min(first, point)) - 1, 0), math.ceil(last)
        assert (low, high) == pytest.approx((10 + 2 * min(first, point), 10 + 2 * max(last, point)))
    # Of labels the value itself: the first whose running share reaches the share.
    labels = curve_of("labels", True)
    value, low, high = labels.quantile(share, 1.5)
    sums = np.cumsum(LAW)
    at = next(i for i in range(8) if sums[i] >= share - 1e-12)
    assert value == pytest.approx(labels.scale.middles[at])
    assert low <= value <= high
    # A value may be the quantile where the share up to it may have been reached, and that up to
    # the value before may not.
    below, above = (np.clip(end, 0, 1) for end in labels.sides.ends(1.5))
    fits = [
        i
        for i in range(8)
        if np.maximum.accumulate(above)[i] >= share - 1e-12
        and (i == 0 or below[i - 1 :].min() < share)
    ]
    assert low == labels.scale.middles[min(fits[0], at)]
    assert high == labels.scale.middles[max(fits[-1], at)]


def test_a_noisy_function_is_inverted_after_it_is_made_monotone() -> None:
    """All places are tried: where the monotone function is within z errors of the share."""
    shares = np.array([0.1, 0.45, 0.2, 0.4, 0.75, 0.6, 0.95])
    errors = np.array([0.02, 0.2, 0.01, 0.04, 0.1, 0.08, 0.05])
    curve = CumulativeCurve.through(scale_of("bins"), np.arange(7), shares, errors)
    known = np.append(shares, 1.0)
    down = [min(known[i:]) for i in range(8)]
    middle = [0.0, *((max(known[: i + 1]) + down[i]) / 2 for i in range(8))]
    np.testing.assert_allclose(np.cumsum(curve.frequency), middle[1:])
    reach = 1.5 * np.concatenate([[0.0], errors, [0.0]])
    fits = [i for i in range(8) if middle[i + 1] + reach[i + 1] >= 0.5 >= middle[i] - reach[i]]
    assert fits[0] == 1
    assert fits[-1] == 4  # around the shares themselves, 5 and 6 too
    _, low, high = curve.quantile(0.5, 1.5)
    assert (low, high) == (10 + 2 * fits[0], 10 + 2 * (fits[-1] + 1))


def test_the_largest_value_may_be_the_first_that_all_may_have_reached() -> None:
    """Nobody need hold more than a value where everybody may be at it or below."""
    law = np.array([0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    exact = CumulativeCurve(scale_of("labels"), law, Sides.around(np.cumsum(law), np.zeros(8)))
    assert exact.quantile(1.0, 1.96) == (3.0, 3.0, 8.0)
    assert exact.quantile(0.5, 1.96) == (2.0, 2.0, 2.0)
    assert exact.quantile(0.0, 1.96) == (1.0, 1.0, 1.0)


def test_curves_are_put_together_by_weight_and_by_noise() -> None:
    one, other = curve_of("bins", True), curve_of("bins", False, LAW[::-1], 0.06)
    both = CumulativeCurve.weighted([one, other], [0.25, 0.75])
    np.testing.assert_allclose(both.frequency, 0.25 * LAW + 0.75 * LAW[::-1])
    np.testing.assert_allclose(both.sides.low, 0.25 * one.sides.low + 0.75 * other.sides.low)
    assert both.spread is False
    # The last position's share is 1 for sure, and has no part in the noise.
    assert one.variance == pytest.approx((0.03**2 + 0.06**2) / 2)
    pooled = CumulativeCurve.pooled([one, other])
    np.testing.assert_allclose(pooled.frequency, 0.8 * LAW + 0.2 * LAW[::-1])
    assert [one.position(share) for share in (0.0, 0.3, 0.7, 1.0)] == [0, 2, 4, 6]


def away(curve: CumulativeCurve, share: float, position: int) -> float:
    """How many deviations the share lies outside of what the function is within a position."""
    low, off_low = curve.sides.low, curve.sides.low_deviation
    high, off_high = curve.sides.high, curve.sides.high_deviation
    short = max(share - high[position], 0.0) / off_high[position]
    start = 0.0 if position == 0 else max(low[position - 1] - share, 0.0) / off_low[position - 1]
    return float(max(short, start))


@pytest.mark.parametrize("kind", ["bins", "labels"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_two_quantiles_differ_as_their_best_places_allow(kind: str, share: float) -> None:
    one, other = curve_of(kind, False), curve_of(kind, False, LAW[::-1], 0.05)
    places, others = one.places(share), other.places(share)
    ends = one.scale.at(np.arange(9))
    for position in range(8):
        assert places.away[position] == pytest.approx(away(one, share, position))
        wanted = (ends[position], ends[position + 1])
        if kind == "labels":
            wanted = (one.scale.middles[position],) * 2
        assert (places.first[position], places.last[position]) == pytest.approx(wanted)
    z = 1.7
    squares = {
        (i, j): places.away[i] ** 2 + others.away[j] ** 2
        for i, j in itertools.product(range(8), repeat=2)
    }
    widest = max(z * z, min(squares.values()))
    fits = [pair for pair, square in squares.items() if square <= widest]
    low = min(places.first[i] - others.last[j] for i, j in fits)
    high = max(places.last[i] - others.first[j] for i, j in fits)
    assert places.less(others, z) == pytest.approx((low, high))
    # Both "at most 0" and "at least 0" must be possible; the worse of the two decides.
    at_most = min(s for (i, j), s in squares.items() if places.first[i] <= others.last[j])
    at_least = min(s for (i, j), s in squares.items() if places.last[i] >= others.first[j])
    assert places.p_value(others) == pytest.approx(
        2 * stats.norm.sf(math.sqrt(max(at_most, at_least)))
    )
    assert isinstance(places.nearer(1.0), Places)


def test_places_of_a_smooth_function_are_read_off_its_line() -> None:
    curve = curve_of("bins", True)
    found = curve.places(0.5)
    points = np.linspace(0, 8, 513)
    edges = [np.concatenate([[0.0], v]) for v in vars(curve.sides).values()]
    low, off_low, high, off_high = (np.interp(points, np.arange(9), v) for v in edges)
    wanted = [
        max(
            max(0.5 - h, 0.0) / oh if oh else math.inf * (h < 0.5),
            max(v - 0.5, 0.0) / ol if ol else 0.0,
        )
        for v, ol, h, oh in zip(low[1:], off_low[1:], high[1:], off_high[1:], strict=True)
    ]
    np.testing.assert_allclose(found.away[1:], wanted)
    half = 2 * (8 / 512) / 2
    np.testing.assert_allclose(found.first, 10 + 2 * points - half)
    np.testing.assert_allclose(found.last, 10 + 2 * points + half)


# Bounds of shares


def least_weights(wanted: Vector, outputs: Vector) -> Vector:
    """Of all w with M'w = v those of least variance: a linear system of first conditions."""
    matrix = BAND.matrix()  # outputs by values
    spread = np.diag(outputs) - np.outer(outputs, outputs)
    size, values = matrix.shape
    whole = np.block([[2 * spread, matrix], [matrix.T, np.zeros((values, values))]])
    found = np.linalg.lstsq(whole, np.concatenate([np.zeros(size), wanted]), rcond=None)[0][:size]
    return np.asarray(found)


def test_bounds_are_the_best_ramp_of_least_variance() -> None:
    seen = counts()
    seen = seen + np.random.default_rng(1).normal(0, 3, seen.size)
    counted: Any = seen
    bounds = Bounds(BAND, counted, LAW)
    people = seen.sum()
    outputs = people * BAND.matrix() @ LAW + 4.0 / BAND.outcomes
    outputs /= outputs.sum()
    sets = [np.arange(8) <= 2, np.isin(np.arange(8), [1, 6]), np.arange(8) <= 7]
    columns = np.array(sets).T
    found = bounds.shares(columns, columns)
    reaches = sorted({math.ceil(1.5**k) for k in range(1 + int(math.log(8) / math.log(1.5)))})
    for number, chosen in enumerate(sets):
        for upper in (False, True):
            tried: list[tuple[float, int, float, float]] = []
            for reach in reaches:
                far = [
                    min((abs(i - j) for j in range(8) if chosen[j] == upper), default=math.inf)
                    for i in range(8)
                ]
                ramp = np.clip(np.array(far) / reach, 0, 1)
                v = 1 - ramp if upper else ramp
                w = least_weights(v, outputs)
                np.testing.assert_allclose(BAND.matrix().T @ w, v, atol=1e-8)
                mean = outputs @ w
                deviation = math.sqrt(outputs @ (w - mean) ** 2 / people)
                end = float(LAW @ v) + (1.96 if upper else -1.96) * deviation
                tried.append(
                    (end if upper else -end, len(tried), float(seen @ w / people), deviation)
                )
            _, place, centre, deviation = min(tried)
            factor = 1.1 if place > 0 else 1.0
            centres = (
                (found.high, found.high_deviation) if upper else (found.low, found.low_deviation)
            )
            assert centres[0][number] == pytest.approx(centre, abs=1e-7)
            assert centres[1][number] == pytest.approx(factor * deviation, abs=1e-7)
    estimate, deviation_of = bounds.function()
    for place in range(8):
        w = least_weights((np.arange(8) <= place).astype(float), outputs)
        assert estimate[place] == pytest.approx(seen @ w / people, abs=1e-7)
        spread = outputs @ (w - outputs @ w) ** 2 / people
        assert deviation_of[place] == pytest.approx(math.sqrt(max(spread, 0)), abs=1e-7)
    np.testing.assert_allclose(bounds.cdf.high[2], found.high[0])
    np.testing.assert_allclose(bounds.cdf.low[2], found.low[0])
    weights = unbiased_weights(BAND, np.eye(8), outputs)
    np.testing.assert_allclose(BAND.adjoint(weights), np.eye(8), atol=1e-9)


# Means, changes, forecasts


def test_the_linear_mean_is_that_of_the_matrix() -> None:
    seen = counts()
    mean, error = linear_mean(BAND, seen)
    assert mean == pytest.approx(LAW @ np.arange(8))
    # What a report says of the mean on its own: one number for each output, unbiased.
    outputs = np.arange(BAND.outcomes)
    expected = BAND.matrix().T @ outputs
    slope = np.diff(expected)
    np.testing.assert_allclose(slope, slope[0])
    own = (outputs - expected[0]) / slope[0]
    law = seen / seen.sum()
    assert error == pytest.approx(math.sqrt((law @ own**2 - (law @ own) ** 2) / PEOPLE))
    assert mean_error(BAND, LAW) == pytest.approx(error * math.sqrt(PEOPLE))


def test_a_change_is_tested_on_five_moments() -> None:
    first, second = counts(300), counts(200, LAW[::-1])
    found = smooth_test(BAND, first, second)
    place = (np.arange(10) + 0.5) / 10
    waves = np.array([np.cos(math.pi * k * place) for k in range(1, 6)])
    apart = waves @ first / 300 - waves @ second / 200
    pooled = (first + second) / 500
    spread = waves @ (np.diag(pooled) - np.outer(pooled, pooled)) @ waves.T * (1 / 300 + 1 / 200)
    statistic = apart @ np.linalg.solve(spread, apart)
    assert found.statistic == pytest.approx(float(statistic))
    assert found.freedom == 5
    assert found.p_value == pytest.approx(stats.chi2.sf(statistic, 5))


def test_a_forecast_is_the_geometric_mean_of_two_laws() -> None:
    """Linear Bayes at the flat law: (C^-1 + n I)^-1, with the prior's covariance of shares."""
    found = forecast(BAND, PEOPLE)
    even = np.full(8, 1 / 8)
    slope = np.diag(even) - np.outer(even, even)
    matrix = BAND.matrix()
    information = PEOPLE * matrix.T @ np.diag(1 / (matrix @ even)) @ matrix
    logs, distances = [], []
    inside = np.linalg.qr(np.column_stack([np.ones(8), np.eye(8)[:, :7]]))[0][:, 1:]
    for order, strength in ((1, 0.05), (2, 0.01)):
        apart = np.diff(np.eye(8), order, axis=0)
        rough = 8.0 ** (2 * order - 1) * apart.T @ apart
        law = slope @ np.linalg.inv(strength * rough + 0.01 / 8 * np.eye(8)) @ slope
        known = np.linalg.inv(inside.T @ law @ inside) + inside.T @ information @ inside
        after = inside @ np.linalg.inv(known) @ inside.T
        sums = np.tril(np.ones((8, 8)))
        spread = np.sqrt(np.diag(sums @ after @ sums.T)[:-1])
        logs.append(np.log(spread))
        distances.append(math.log(math.sqrt(2 / math.pi) * spread.sum() / 8))
    np.testing.assert_allclose(found.deviations[1:-1], np.exp(np.mean(logs, axis=0)), rtol=1e-6)
    assert (found.deviations[0], found.deviations[-1]) == (0.0, 0.0)
    assert found.w1 == pytest.approx(0.82 * math.exp(np.mean(distances)), rel=1e-6)
    assert found.mean_se == pytest.approx(mean_error(BAND, even) / math.sqrt(PEOPLE))
    for share in (0.0, 0.3, 1.0):
        wanted = 8 * np.interp(share, np.linspace(0, 1, 9), found.deviations)
        assert found.quantile(share) == pytest.approx(wanted)


# Laws and their average


def test_laws_are_those_that_are_listed() -> None:
    powers = {
        1: [1 - 0.75 * k for k in range(7)],
        2: [0.0 - k for k in range(8)],
        3: [-1.25 * k for k in range(9)],
        UNORDERED: [1.0, 0.5, 0.0, -0.5, -1.0],
    }
    found = families(8)
    assert [family[0].order for family in found] == [FLAT, 1, 2, 3, UNORDERED]
    roughest = {1: 0.06, 2: 0.002, UNORDERED: 1.0}
    for family in found[1:]:
        order = family[0].order
        strengths = [10.0**power for power in powers[order]]
        np.testing.assert_allclose([law.strength for law in family], strengths)
        apart = np.eye(8) if order == UNORDERED else np.diff(np.eye(8), order, axis=0)
        rough = apart.T @ apart * (1.0 if order == UNORDERED else 8.0 ** (2 * order - 1))
        for law in family:
            precision = law.strength * rough + 1e-3 / 8 * np.eye(8) + 1 / 8
            np.testing.assert_allclose(law.precision, precision)
            assert law.determinant == pytest.approx(np.linalg.slogdet(precision)[1])
            assert law.rough == (order in roughest and law.strength <= roughest[order])
            assert law.odds == pytest.approx(math.log(0.5) if order == UNORDERED else 0.0)
    assert [f[0].order for f in families(3)] == [FLAT, 1, 2, UNORDERED]
    assert UNORDERED not in [f[0].order for f in families(200)]
    assert not any(law.rough for law in families(20)[-1]), "of many values no law without order"
    assert basis(200).steps == 77


def test_each_law_is_fitted_to_its_top_and_weighed_by_laplace() -> None:
    """The penalised likelihood at its top by another optimiser, and half the log-determinants."""
    seen = BandCounts(BAND, counts())
    group = climb(seen, cost=0.7)
    checked = 0
    for one in group.fits[::3]:
        precision = one.shape.precision
        if not len(precision):
            continue

        def lost(t: Vector, precision: Vector = precision) -> float:
            law = np.exp(t - t.max())
            law = law / law.sum()
            return float(t @ precision @ t / 2 - seen.counts @ np.log(BAND.matrix() @ law))

        best = optimize.minimize(lost, np.zeros(8), method="BFGS", options={"gtol": 1e-6})
        law = np.exp(best.x - best.x.max())
        law /= law.sum()
        assert best.fun == pytest.approx(lost(one.parameters), abs=1e-2)
        slope = BAND.matrix() @ (np.diag(law) - np.outer(law, law))
        np.testing.assert_allclose(one.slopes, slope, atol=5e-3)
        expected = PEOPLE * one.slopes.T @ np.diag(1 / one.outputs) @ one.slopes + precision
        np.testing.assert_allclose(one.information, expected, rtol=1e-9)
        spread = np.linalg.slogdet(precision)[1] - np.linalg.slogdet(expected)[1]
        assert one.evidence == pytest.approx(spread / 2 - lost(one.parameters), abs=1e-6)
        np.testing.assert_allclose(one.frequency, law, atol=5e-3)
        checked += 1
    assert checked > 4
    scores = [one.evidence + one.shape.law.odds - 0.7 for one in group.fits]
    np.testing.assert_allclose(group.scores, scores)
    assert group.score == pytest.approx(float(np.logaddexp.reduce(scores)))
    assert group.best is group.fits[int(np.argmax(scores))]


def test_prices_of_what_is_not_smooth() -> None:
    np.testing.assert_allclose(
        atoms.place_costs(8), [1 + math.log(4), *[1 + math.log(16)] * 6, 1 + math.log(4)]
    )
    assert steps.price(8, 0) == pytest.approx(math.log(16))
    assert steps.price(8, 2) == pytest.approx(math.log(16) - math.log(3))


def test_the_answer_is_the_average_of_all_laws() -> None:
    """Deviations under the rough laws alone: their own, by differences, and that between them."""
    found = fit_ordered(BAND, np.rint(counts()))
    scores = np.array([member.score for member in found.members])
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    mixed = weights @ np.array([member.frequency for member in found.members])
    np.testing.assert_allclose(found.frequency, mixed / mixed.sum(), atol=1e-12)
    rough = np.array([member.fit.shape.law.rough for member in found.members])
    assert rough.any()
    kept = np.where(rough, np.exp(scores - scores[rough].max()), 0.0)
    kept = np.where(kept / kept.sum() > 1e-3, kept, 0.0)
    kept /= kept.sum()
    functional = np.array([0.3, -1.0, 2.0, 0.0, 1.0, 1.0, -2.0, 0.5])
    value, deviation = found.linear(functional)
    assert value == pytest.approx(functional @ found.frequency)
    total = 0.0
    for member, weight in zip(found.members, kept, strict=True):
        if not weight:
            continue
        one, here = member.fit, member.fit.parameters
        step = 1e-5
        moved = [
            functional
            @ (one.shape.frequency(here + step * e) - one.shape.frequency(here - step * e))
            / (2 * step)
            for e in np.eye(here.size)
        ]
        slope = np.array(moved)
        total += weight * slope @ np.linalg.inv(one.information) @ slope
        total += weight * (functional @ member.frequency - value) ** 2
        masses = one.shape.cells(here)[1]
        for mass, (values, likely) in zip(masses, member.places, strict=True):
            own = functional[values]
            total += weight * mass**2 * (likely @ own**2 - (likely @ own) ** 2)
        for differences, likely in member.moves:
            own = differences @ functional
            total += weight * (likely @ own**2 - (likely @ own) ** 2)
    assert deviation == pytest.approx(math.sqrt(total), rel=1e-4)
    sums, spread = found.cdf
    running = np.tril(np.ones((8, 8)))
    each = found.linear(running.T)
    np.testing.assert_allclose(sums, each[0])
    np.testing.assert_allclose(spread, each[1], atol=1e-12)


def test_a_function_through_noisy_shares_is_a_distribution_function() -> None:
    """Shares fall, lie below 0 and above 1: the function rises from 0 to 1 all the same."""
    places = np.array([0, 2, 4, 6])
    for shares, ends in (
        ([0.2, 0.4, 0.6, 0.8], [0.2, 0.4, 0.6, 0.8, 1.0]),
        ([-0.3, -0.1, 0.5, 0.4], [0.0, 0.0, 0.45, 0.45, 1.0]),
        ([0.5, 1.3, 1.2, 1.4], [0.5, 1.0, 1.0, 1.0, 1.0]),
    ):
        curve = CumulativeCurve.through(scale_of("bins"), places, np.array(shares), np.full(4, 0.1))
        running = np.cumsum(curve.frequency)
        np.testing.assert_allclose(running[[*places, 7]], ends, atol=1e-12)
        assert (curve.frequency >= -1e-12).all()
