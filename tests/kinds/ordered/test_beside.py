"""Beside the fit: the linear mean, EM and EMS, the test for change, and the forecast."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from rumor.core.errors import InputError
from rumor.core.types import Vector
from rumor.kinds.ordered.compare import smooth_test
from rumor.kinds.ordered.fit.em import WrittenOut, average_neighbours, em, ems, linear_mean
from rumor.kinds.ordered.fit.forecast import FOUND, forecast
from rumor.mechanisms.wave.band import Band


def wave(domain: int, window: int, epsilon: float = 1.0) -> Band:
    outside = 1 / (window * math.exp(epsilon) + domain - 1)
    return Band(domain, window, math.exp(epsilon) * outside, outside)


@pytest.mark.parametrize(("domain", "window"), [(2, 1), (3, 2), (7, 7), (20, 6)])
def test_the_linear_mean_is_unbiased(domain: int, window: int) -> None:
    """In fractions: the expectation of the mean report, moved and stretched, is the value."""
    outside = Fraction(1, 3 * window + domain - 1)
    inside, outcomes = 3 * outside, domain + window - 1
    gain = inside - outside
    for value in range(domain):
        chances = [inside if value <= y < value + window else outside for y in range(outcomes)]
        assert sum(chances) == 1
        middle = sum(y * chance for y, chance in enumerate(chances))
        moved = middle - outside * outcomes * (outcomes - 1) / 2 - gain * window * (window - 1) / 2
        assert moved / (gain * window) == value
        band = Band(domain, window, float(inside), float(outside))
        found, _ = linear_mean(band, np.array(chances, dtype=np.float64))
        assert found == pytest.approx(value, abs=1e-12 * outcomes)


def test_the_linear_means_error_is_what_it_says() -> None:
    band = wave(50, 15)
    law = np.exp(-np.arange(50) / 10)
    law /= law.sum()
    rng = np.random.default_rng(1)
    drawn = rng.multinomial(3000, band.forward(law), size=4000)
    found = np.array([linear_mean(band, counts) for counts in drawn])
    off = (found[:, 0] - law @ np.arange(50)) / found[:, 1]
    # The mean of 4000 standard normals is within 4 / sqrt(4000) = .063 of 0, their standard
    # deviation within 4 / sqrt(8000) = .045 of 1, in all but one run of ten thousand.
    assert abs(off.mean()) < 0.063
    assert abs(off.std() - 1) < 0.045


def _channel(domain: int, outputs: int) -> Vector:
    return np.random.default_rng(2).dirichlet(np.ones(outputs), size=domain)


def test_em_ends_where_the_likelihood_is_largest() -> None:
    """At the maximum M'(c/Mf) is n where f is positive and no more elsewhere, for any channel."""
    matrix = _channel(5, 9)
    law = np.array([0.5, 0.0, 0.2, 0.3, 0.0])
    counts = np.random.default_rng(3).multinomial(20_000, law @ matrix).astype(np.float64)
    channel = WrittenOut(matrix)
    found = em(channel, counts, tolerance=1e-13, iterations=200_000)
    assert found.sum() == pytest.approx(1)
    pull = channel.adjoint(counts / channel.forward(found)) / counts.sum()
    held = found > 1e-3
    np.testing.assert_allclose(pull[held], 1.0, atol=1e-4)
    assert (pull < 1 + 1e-4).all()
    # The stopping rule of the paper stops earlier, and a band's own products serve as well.
    band = wave(8, 3)
    even = np.full(8, 1 / 8)
    seen = np.random.default_rng(4).multinomial(1000, band.forward(even)).astype(np.float64)
    by_band = em(band, seen)
    by_matrix = em(WrittenOut(band.matrix().T), seen)
    np.testing.assert_allclose(by_band, by_matrix, rtol=1e-9)


def test_ems_smooths_after_every_iteration() -> None:
    np.testing.assert_allclose(
        average_neighbours(np.array([0.0, 0, 1, 0, 0])), [0, 0.25, 0.5, 0.25, 0]
    )
    ends = np.array([2 / 3, 1 / 4, 0])
    np.testing.assert_allclose(average_neighbours(np.array([1.0, 0, 0])), ends / ends.sum())
    band = wave(40, 12)
    law = np.zeros(40)
    law[20] = 1.0
    counts = band.forward(law) * 1e5
    plain = em(band, counts)
    smooth = ems(band, counts)
    # One iteration with known numbers: the update, then 1-2-1.
    once = ems(band, counts, iterations=1)
    even = np.full(40, 1 / 40)
    moved = even * band.adjoint(counts / band.forward(even))
    np.testing.assert_allclose(once, average_neighbours(moved / moved.sum()), rtol=1e-12)
    assert plain.max() > 2 * smooth.max()


def test_what_em_refuses() -> None:
    channel = WrittenOut(_channel(3, 4))
    with pytest.raises(InputError, match="each of the 4 outputs; got shape"):
        em(channel, np.ones(3))
    with pytest.raises(InputError, match="from 0 on, not all of them 0"):
        em(channel, np.zeros(4))
    with pytest.raises(InputError, match="at least two values; got 1"):
        em(WrittenOut(_channel(1, 4)), np.ones(4))
    with pytest.raises(InputError, match="tolerance must be a number above 0; got -1"):
        em(channel, np.ones(4), tolerance=-1)


def test_the_test_for_change_errs_as_often_as_it_says() -> None:
    band = wave(40, 12)
    law = np.exp(-(((np.arange(40) - 15) / 8.0) ** 2))
    law /= law.sum()
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(1000):
        first = rng.multinomial(2_000, band.forward(law))
        second = rng.multinomial(6_000, band.forward(law))
        p_values.append(smooth_test(band, first, second).p_value)
    # Of 1000 draws at .05, four standard deviations are .028; the mean of evens is .5 +- .037.
    assert abs(np.mean(np.array(p_values) < 0.05) - 0.05) < 0.028
    assert abs(np.mean(p_values) - 0.5) < 0.037


def test_a_change_is_found() -> None:
    band = wave(40, 12)
    place = np.arange(40)
    before, after = (np.exp(-(((place - middle) / 8.0) ** 2)) for middle in (15, 18))
    rng = np.random.default_rng(6)
    first = rng.multinomial(20_000, band.forward(before / before.sum()))
    second = rng.multinomial(20_000, band.forward(after / after.sum()))
    found = smooth_test(band, first, second)
    statistic, p_value = found.statistic, found.p_value
    assert p_value < 1e-6
    assert smooth_test(band, second, first).statistic == pytest.approx(statistic)
    # The same histogram, and one of ten times the people with the same shares, changed nothing.
    same = smooth_test(band, first, 10 * first)
    assert (same.statistic, same.p_value) == pytest.approx((0, 1), abs=1e-9)
    few = np.zeros(band.outcomes)
    few[3] = 1
    none = smooth_test(band, few, few)
    assert (none.statistic, none.p_value) == (0.0, 1.0)
    with pytest.raises(InputError, match="each of the 51 outputs"):
        smooth_test(band, first, second[:-1])


def test_the_forecast_is_what_two_laws_say_and_the_estimator_finds() -> None:
    """D = 64, epsilon 1: .038, .0149, .0060, .0025 for a thousand to a million people, by .82."""
    band = wave(64, round(32 * math.exp(-0.5)))
    found = [forecast(band, people).w1 for people in (1e3, 1e4, 1e5, 1e6)]
    expected = FOUND * np.array([0.038, 0.0149, 0.0060, 0.0025])
    np.testing.assert_allclose(found, expected, rtol=0.03)


def test_the_forecast_of_the_mean_is_the_linear_means_error() -> None:
    band = wave(64, 19)
    even = np.full(64, 1 / 64)
    _, error = linear_mean(band, band.forward(even) * 1e4)
    assert forecast(band, 10_000).mean_se == pytest.approx(error)


def test_the_forecast_hardly_depends_on_how_finely_a_range_is_cut() -> None:
    coarse, fine = forecast(wave(128, 39), 1e5), forecast(wave(1024, 312), 1e5)
    assert fine.w1 == pytest.approx(coarse.w1, rel=1e-9)
    assert fine.quantile(0.5) == pytest.approx(8 * coarse.quantile(0.5), rel=1e-9)
    assert coarse.quantile(0.0) == coarse.quantile(1.0) == 0.0
    # Four times the people more than halve no error, and none grows.
    assert 0.4 < forecast(wave(128, 39), 4e5).w1 / coarse.w1 < 1
    with pytest.raises(InputError, match="people must be a number above 0; got 0"):
        forecast(wave(5, 2), 0)
    with pytest.raises(InputError, match=r"share must be from 0 to 1; got 1\.5"):
        coarse.quantile(1.5)
