"""What fits are made of, beside the same written out: products, curves, derivatives, evidence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from rumor.core.errors import InputError
from rumor.core.types import Vector
from rumor.kinds.ordered.fit import likelihood
from rumor.kinds.ordered.fit.likelihood import BandCounts, fit, penalised
from rumor.kinds.ordered.fit.shapes import Marks, Shape, Step, basis, families
from rumor.mechanisms.wave.band import Band


def wave(domain: int, window: int, epsilon: float = 1.0) -> Band:
    outside = 1 / (window * math.exp(epsilon) + domain - 1)
    return Band(domain, window, math.exp(epsilon) * outside, outside)


def drawn(band: Band, law: Vector, people: int, seed: int) -> Vector:
    found = np.random.default_rng(seed).multinomial(people, band.forward(law / law.sum()))
    return found.astype(np.float64)


@pytest.mark.parametrize(("domain", "window"), [(2, 1), (5, 3), (9, 9), (40, 12), (1700, 300)])
def test_products_are_those_of_the_matrix(domain: int, window: int) -> None:
    band = wave(domain, window)
    rng = np.random.default_rng(domain)
    seen = BandCounts(band, rng.integers(0, 9, band.outcomes))
    assert (seen.block > 1) == (domain == 1700)
    # Row b of the blocked matrix is the sum of the rows of its outputs.
    blocks = np.arange(band.outcomes) // seen.block
    matrix = np.zeros((seen.size, domain))
    np.add.at(matrix, blocks, band.matrix())
    law, weights = rng.random(domain), rng.random(seen.size)
    np.testing.assert_allclose(seen.forward(law), matrix @ law, rtol=1e-11)
    np.testing.assert_allclose(seen.adjoint(weights), matrix.T @ weights, rtol=1e-11)
    np.testing.assert_allclose(seen.column(domain // 3), matrix[:, domain // 3], rtol=1e-12)
    np.testing.assert_allclose(seen.squares(weights), (matrix**2).T @ weights, rtol=1e-10)
    several = rng.random((domain, 3))
    rest = band.outside * np.outer(seen.width, several.sum(axis=0))
    np.testing.assert_allclose(seen.within(several) + rest, matrix @ several, rtol=1e-11)


@pytest.mark.parametrize("domain", [81, 100, 300])
def test_curves_are_a_partition_and_their_products_are_banded_sums(domain: int) -> None:
    curves = basis(domain)
    assert curves.size == 80
    np.testing.assert_allclose(curves.curves.sum(axis=1), 1.0, rtol=1e-14)
    weights = np.random.default_rng(1).random(domain) - 0.5
    written_out = curves.curves.T @ (weights[:, None] * curves.curves)
    np.testing.assert_allclose(curves.weighed(weights), written_out, atol=1e-13)


def test_roughness_is_the_integral_of_the_squared_derivative() -> None:
    # Of sin(2 pi x): (2 pi)^(2m) / 2, whatever the number of values; on k steps m differences
    # are missing, where the derivative may be largest: up to a part 2 m / k, 7.5 % for m = 3.
    for domain, allowed in ((80, 0.08), (400, 0.08)):
        curves = basis(domain)
        place = np.arange(curves.size) / curves.steps
        if curves.size != domain:
            place = place - 1 / curves.steps  # a curve's coefficient stands at its middle
        heights = np.sin(2 * np.pi * place)
        for order in (1, 2, 3):
            exact = (2 * np.pi) ** (2 * order) / 2
            found = heights @ curves.roughness(order) @ heights
            assert found == pytest.approx(exact, rel=allowed)


def _shape(domain: int) -> Shape:
    law = families(domain)[2][3]  # order 2
    return Shape(domain, law, (Marks(4, 1), Step(domain // 3)), (0, domain // 2))


@pytest.mark.parametrize("domain", [12, 90])
def test_derivatives_are_finite_differences(domain: int) -> None:
    band = wave(domain, domain // 3)
    seen = BandCounts(band, drawn(band, np.arange(1.0, domain + 1), 2000, 2))
    shape = _shape(domain)
    here = np.random.default_rng(3).normal(0, 0.3, shape.size)
    outputs = seen.forward(shape.frequency(here))
    slope = likelihood.slopes(seen, shape, here, outputs)
    # A central difference is off by a third derivative times step^2 / 6, about 1e-9 of a slope.
    step, moved = 1e-4, np.empty_like(slope)
    for number, unit in enumerate(np.eye(shape.size)):
        above = seen.forward(shape.frequency(here + step * unit))
        below = seen.forward(shape.frequency(here - step * unit))
        moved[:, number] = (above - below) / (2 * step)
    np.testing.assert_allclose(slope, moved, atol=1e-8 * np.abs(moved).max())
    gradient = likelihood.likelihood_gradient(seen, shape, here, outputs)
    np.testing.assert_allclose(gradient, slope.T @ (seen.counts / outputs), atol=1e-8)
    found = fit(seen, shape)
    derivative = found.shape.derivative(found.parameters)
    np.testing.assert_allclose(derivative.sum(axis=0), 0.0, atol=1e-12)
    unit = np.eye(shape.size)[shape.size - 1]
    above = shape.frequency(found.parameters + step * unit)
    below = shape.frequency(found.parameters - step * unit)
    np.testing.assert_allclose(derivative[:, -1], (above - below) / (2 * step), atol=1e-8)


@pytest.mark.parametrize("domain", [12, 90])
def test_columns_beside_the_curve_are_weighed_too(domain: int) -> None:
    shape = _shape(domain)
    weights = np.random.default_rng(4).normal(size=domain)
    written_out = shape.columns.T @ (weights[:, None] * shape.columns)
    np.testing.assert_allclose(shape.weighed(weights), written_out, atol=1e-12)
    assert shape.determinant == pytest.approx(np.linalg.slogdet(shape.precision)[1])


def test_newtons_step_solves_the_second_derivative() -> None:
    domain = 12
    band = wave(domain, 4)
    seen = BandCounts(band, drawn(band, np.arange(1.0, domain + 1), 2000, 2))
    shape = _shape(domain)
    here = fit(seen, shape).parameters + 0.02

    def gradient(at: Vector) -> Vector:
        outputs = seen.forward(shape.frequency(at))
        slope = likelihood.slopes(seen, shape, at, outputs)
        return np.asarray(slope.T @ (seen.counts / outputs) - shape.precision @ at)

    outputs = seen.forward(shape.frequency(here))
    slope = likelihood.slopes(seen, shape, here, outputs)
    step = likelihood.newton(seen, shape, here, outputs, slope, gradient(here))
    assert step is not None
    units, small = np.eye(shape.size), 1e-5
    bent = np.array(
        [(gradient(here - small * u) - gradient(here + small * u)) / (2 * small) for u in units]
    )
    # Differences of gradients of about 1e3 at steps of 1e-5 lose some nine of sixteen digits.
    np.testing.assert_allclose(bent @ step, gradient(here), rtol=1e-5, atol=1e-4)


def test_a_fit_is_at_the_top() -> None:
    domain = 30
    band = wave(domain, 9)
    seen = BandCounts(band, drawn(band, np.arange(1.0, domain + 1), 5000, 4))
    found = fit(seen, _shape(domain))
    top = penalised(seen, found.shape, found.parameters, found.outputs)
    rng = np.random.default_rng(5)
    root = np.linalg.cholesky(found.covariance)
    for _ in range(20):
        # One standard deviation away it is about half a unit lower for each parameter.
        there = found.parameters + root @ rng.normal(size=found.shape.size)
        outputs = seen.forward(found.shape.frequency(there))
        assert penalised(seen, found.shape, there, outputs) < top - 1


def test_evidence_is_the_integral_of_the_likelihood() -> None:
    """Two values: the curve's only direction that matters is the difference of the two heights."""
    band = wave(2, 1)
    counts = np.array([55_000.0, 45_000.0])
    level = float(counts @ np.log(counts / counts.sum()))
    seen = BandCounts(band, counts)
    law = families(2)[1][4]
    found = fit(seen, Shape(2, law))
    # theta = (c + u/2, c - u/2): c integrates to 1, so u is left, a Gaussian with the precision
    # that follows from that of theta, integrated by quadrature.
    direction = np.array([0.5, -0.5])
    spread = np.linalg.inv(law.precision)
    variance = float(np.array([1.0, -1.0]) @ spread @ np.array([1.0, -1.0]))

    def likelihood(u: float) -> float:
        outputs = seen.forward(np.exp(direction * u) / np.exp(direction * u).sum())
        height = float(counts @ np.log(outputs)) - u * u / (2 * variance)
        return math.exp(height - level) / math.sqrt(2 * math.pi * variance)

    middle = math.log(0.55 / 0.45) / band.gain  # near enough for bounds: +-1 is 70 deviations
    exact = math.log(quad(likelihood, middle - 1, middle + 1, points=[middle])[0]) + level
    # Laplace's approximation is off by a part of about 1/n, and by what the last step missed.
    assert found.evidence == pytest.approx(exact, abs=0.005)


def test_counts_that_are_none() -> None:
    band = wave(6, 2)
    for counts, words in (
        (np.ones(6), r"one number for each of the 7 outputs; got float64 of shape \(6,\)"),
        (np.array([1, 2, 3, 4, 5, 6, -1]), "numbers from 0 on; got one that is negative"),
        (np.array([1, 2, 3, 4, 5, 6, np.nan]), "numbers from 0 on; got one that is missing"),
        (np.zeros(7), "at least one report; got none"),
        (["a"] * 7, "one number for each of the 7 outputs"),
        ([[1], [2, 3]], "one number for each of the 7 outputs; got a list"),
    ):
        with pytest.raises(InputError, match=words):
            BandCounts(band, counts)
    with pytest.raises(InputError, match="within the window must be likelier than the others"):
        BandCounts(Band(3, 1, 1 / 3, 1 / 3), np.ones(3))
