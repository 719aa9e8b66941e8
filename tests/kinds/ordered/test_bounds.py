"""Bounds that hold whatever the distribution: exact algebra, and how often they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rumor.core.types import Vector
from rumor.kinds.ordered.fit.average import fit_ordered
from rumor.kinds.ordered.fit.bounds import Bounds, Sides, unbiased_weights
from rumor.mechanisms.wave.wave import Wave
from rumor.results.intervals import critical_value

Z = critical_value(0.95, 1)


def bracketed(domain: int, brackets: int, rng: np.random.Generator) -> Vector:
    """Everybody gives the middle of a bracket, of random brackets and a random smooth law."""
    x = (np.arange(domain) + 0.5) / domain
    a, b = rng.uniform(0.8, 5.0, 2)
    smooth = x ** (a - 1) * (1 - x) ** (b - 1)
    edges = np.sort(rng.choice(np.arange(1, domain), brackets - 1, replace=False))
    law = np.zeros(domain)
    for part in np.split(np.arange(domain), edges):
        law[part[(len(part) - 1) // 2]] += smooth[part].sum()
    return np.asarray(law / law.sum())


def zero_inflated(domain: int, rng: np.random.Generator) -> Vector:
    x = (np.arange(domain) + 0.5) / domain
    law = x ** rng.uniform(0.0, 2.0) * (1 - x) ** rng.uniform(1.0, 6.0)
    law /= law.sum()
    nothing = rng.uniform(0.2, 0.7)
    return np.asarray((1 - nothing) * law + nothing * (np.arange(domain) == 0))


@pytest.mark.parametrize("wave", Wave.examples(), ids=lambda wave: f"{wave.domain}-{wave.window}")
def test_weights_are_unbiased_and_of_least_variance(wave: Wave) -> None:
    band, rng = wave.band, np.random.default_rng(5)
    outputs = band.forward(rng.dirichlet(np.ones(band.domain)))
    wanted = rng.uniform(size=(band.domain, 4))
    weights = unbiased_weights(band, wanted, outputs)
    np.testing.assert_allclose(band.adjoint(weights), wanted, atol=1e-9)
    # By the general formula: w = S^-1 M (M' S^-1 M)^-1 v, with S the variances of the outputs.
    matrix = band.matrix()
    scaled = matrix / outputs[:, None]
    general = scaled @ np.linalg.solve(matrix.T @ scaled, wanted)
    np.testing.assert_allclose(weights, general, atol=1e-6 * np.abs(general).max())


@pytest.mark.slow_cases("60-3.0-*")
@pytest.mark.parametrize(
    ("domain", "epsilon", "people", "law"),
    [
        pytest.param(250, 1.0, 2602, "brackets", marks=pytest.mark.slow),
        pytest.param(101, 1.0, 10_000, "zeros", marks=pytest.mark.slow),
        (60, 3.0, 1500, "brackets"),
        (7, 1.0, 400, "zeros"),
    ],
)
def test_shares_hold_whatever_the_distribution(
    domain: int, epsilon: float, people: int, law: str
) -> None:
    """The share up to a place named in advance, of 80 laws."""
    rng = np.random.default_rng([41, domain])
    band = Wave(low=0, high=domain, bins=domain, epsilon=epsilon).band
    held = []
    for _ in range(80):
        truth = (
            bracketed(domain, min(10, domain), rng)
            if law == "brackets"
            else zero_inflated(domain, rng)
        )
        counts = rng.multinomial(people, band.forward(truth))
        bounds = Bounds(band, counts, fit_ordered(band, counts).frequency)
        place = int(rng.integers(domain - 1))
        low, high = (ends[place] for ends in bounds.cdf.ends(Z))
        held.append(low - 1e-9 <= truth[: place + 1].sum() <= high + 1e-9)
    assert np.mean(held) >= 0.95 - 2 * math.sqrt(0.05 * 0.95 / len(held))


def test_the_even_law_is_bounded_closer_than_by_the_worst_bias() -> None:
    """Half lengths of the share below a half, even law; research had .332, .159, .130, .011."""
    for people, epsilon, domain, worst in (
        (2600, 1.0, 100, 0.332),
        (2600, 1.0, 20, 0.159),
        (20_000, 1.0, 100, 0.130),
        (100_000, 4.0, 100, 0.011),
    ):
        band = Wave(low=0, high=domain, bins=domain, epsilon=epsilon).band
        even = np.full(domain, 1 / domain)
        bounds = Bounds(band, people * band.forward(even), even)  # type: ignore[arg-type]
        low, high = (ends[domain // 2 - 1] for ends in bounds.cdf.ends(Z))
        assert (high - low) / 2 < worst
        assert low < 0.5 < high


def test_sets_are_bounded_from_within_and_from_outside() -> None:
    """Without chance, the lower end's centre is below the share and the upper end's above it."""
    wave = Wave(low=0, high=40, bins=40, epsilon=1.0)
    rng = np.random.default_rng(3)
    law = rng.dirichlet(np.full(40, 0.3))
    counts = 1e6 * wave.band.forward(law)
    bounds = Bounds(wave.band, counts, law)  # type: ignore[arg-type]
    sets = rng.uniform(size=(40, 200)) < 0.5
    sets[:, 0], sets[:, 1] = False, True
    sides = bounds.shares(sets, sets)
    share = law @ sets
    assert (sides.low <= share + 1e-9).all()
    assert (sides.high >= share - 1e-9).all()
    # Nobody and everybody are known exactly.
    for end in sides.ends(Z):
        np.testing.assert_allclose(end[:2], [0, 1], atol=1e-9)
    assert (sides.high_deviation[2:] > 0).all()


def test_long_ranges_are_bounded_between_some_places() -> None:
    band = Wave(low=0, high=1000, bins=1000, epsilon=2.0).band
    law = np.full(1000, 1e-3)
    sides = Bounds(band, 1e6 * band.forward(law), law).cdf  # type: ignore[arg-type]
    function = np.cumsum(law)
    assert (sides.low <= function + 1e-9).all()
    assert (sides.high >= function - 1e-9).all()
    assert float(sides.high[-1]) == pytest.approx(1.0)


def test_ends_of_different_people_add_up() -> None:
    one = Sides(*(np.array([x]) for x in (0.1, 0.03, 0.3, 0.04)))
    two = Sides(*(np.array([x]) for x in (0.5, 0.05, 0.6, 0.12)))
    apart = Sides.weighted([one, two], (1.0, -1.0))
    found = [float(each[0]) for each in vars(apart).values()]
    expected = [0.1 - 0.6, math.hypot(0.03, 0.12), 0.3 - 0.5, math.hypot(0.04, 0.05)]
    np.testing.assert_allclose(found, expected)
    # Noise beyond the limits leaves an interval around the nearest share, never none.
    far = Sides.around(np.array([-0.3]), np.array([0.05]))
    low, high = far.ends(2.0)
    assert float(low[0]) == 0.0
    assert float(high[0]) == pytest.approx(0.1)
