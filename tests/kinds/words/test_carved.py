"""The carved test: the p-value given that one level chose the word."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from rumor.kinds.words.fit.found import carved_p_values


def one(pooled: float, share: float, threshold: float) -> float:
    return float(carved_p_values(*(np.array([x]) for x in (pooled, share, threshold)))[0])


def test_without_selection_it_is_the_plain_tail() -> None:
    for pooled in (-1.0, 0.0, 2.0, 6.0):
        assert one(pooled, 0.3, -30.0) == pytest.approx(float(ndtr(-pooled)), rel=1e-6)


@pytest.mark.parametrize("share", [0.05, 0.4, 0.8, 0.98])
@pytest.mark.parametrize("pooled", [0.5, 3.0, 7.0])
def test_it_is_the_integral_that_it_stands_for(share: float, pooled: float) -> None:
    threshold, root, rest = 2.5, np.sqrt(share), np.sqrt(1 - share)

    def density(x: float) -> float:
        return float(np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * ndtr((root * x - pooled) / rest))

    # Split where the integrand turns, so that the other quadrature sees it too.
    turn = max(threshold, pooled / root)
    parts = quad(density, threshold, turn)[0] + quad(density, turn, turn + 9)[0]
    assert one(pooled, share, threshold) == pytest.approx(parts / ndtr(-threshold), rel=1e-3)


@pytest.mark.parametrize(("share", "threshold"), [(0.1, 1.0), (0.3, 2.4), (0.8, 2.9)])
def test_p_values_are_uniform_for_words_that_nobody_has(share: float, threshold: float) -> None:
    """Of 60,000 draws the share below x is x, to four standard deviations."""
    rng = np.random.default_rng(3)
    chosen = rng.standard_normal(60_000)
    first = -np.array([float(x) for x in _quantiles(rng, threshold, chosen.size)])
    pooled = np.sqrt(share) * first + np.sqrt(1 - share) * chosen
    p = carved_p_values(pooled, np.full(chosen.size, share), np.full(chosen.size, threshold))
    for x in (0.5, 0.1, 0.01, 0.001):
        assert abs(float((p <= x).mean()) - x) < 4 * np.sqrt(x * (1 - x) / chosen.size)


def _quantiles(
    rng: np.random.Generator, threshold: float, count: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Draws of -Z given Z >= threshold."""
    from scipy.special import ndtri

    return np.asarray(ndtri(rng.random(count) * ndtr(-threshold)))


def test_surer_words_have_smaller_p_values_far_out() -> None:
    far = [one(pooled, 0.4, 2.5) for pooled in (3.0, 6.0, 12.0, 20.0)]
    assert all(later < earlier for earlier, later in itertools.pairwise(far))
    assert far[-1] > 0
