"""How well a distribution is known whose atoms and steps may lie elsewhere, by its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rumor.core.types import Vector
from rumor.kinds.ordered.fit.average import OrderedFit, fit_ordered
from rumor.mechanisms.wave.band import Band

DOMAIN = 24


def _fitted(law: Vector, people: int) -> OrderedFit:
    width, odds = 4, math.exp(2.0)
    outside = 1 / (width * odds + DOMAIN - 1)
    band = Band(DOMAIN, width, odds * outside, outside)
    return fit_ordered(band, np.rint(people * band.forward(law / law.sum())))


def _atom() -> OrderedFit:
    law = np.full(DOMAIN, 0.85 / DOMAIN)
    law[9] += 0.15
    return _fitted(law, 300)


def _steps() -> OrderedFit:
    return _fitted(np.where(np.arange(DOMAIN) < 10, 20.0, 1.0), 150)


def _by_places(found: OrderedFit, functional: Vector) -> tuple[float, float, float]:
    """Return the variance of parameters and laws, of the places of atoms and of those of steps."""
    rough = np.array([member.fit.shape.law.rough for member in found.members])
    scores = np.array([member.score for member in found.members])
    weights = np.where(rough, np.exp(scores - scores[rough].max()), 0.0)
    weights /= weights.sum()
    weights[weights <= 1e-3] = 0.0
    weights /= weights.sum()
    value = float(functional @ found.frequency)
    smooth = atoms = steps = 0.0
    for member, weight in zip(found.members, weights.tolist(), strict=True):
        one, here, small = member.fit, member.fit.parameters, 1e-5
        ends = (small * row for row in np.eye(here.size))
        slope = np.array(
            [
                functional @ (one.shape.frequency(here + e) - one.shape.frequency(here - e))
                for e in ends
            ]
        ) / (2 * small)
        smooth += weight * float(slope @ np.linalg.inv(one.information) @ slope)
        smooth += weight * float(functional @ member.frequency - value) ** 2
        masses = one.shape.cells(here)[1]
        for mass, (values, likely) in zip(masses.tolist(), member.places, strict=True):
            # An atom of this mass that lies at a random one of some values.
            middle = float(likely @ functional[values])
            atoms += weight * float(likely @ (mass * (functional[values] - middle)) ** 2)
        for differences, likely in member.moves:
            moved = differences @ functional
            steps += weight * float(likely @ (moved - likely @ moved) ** 2)
    return smooth, atoms, steps


@pytest.mark.parametrize("functional", [np.arange(24.0), np.arange(24.0) < 10, np.eye(24)[9]])
def test_an_atom_that_may_lie_elsewhere_adds_its_scatter(functional: Vector) -> None:
    found, functional = _atom(), np.asarray(functional, dtype=np.float64)
    parts = _by_places(found, functional)
    assert found.linear(functional)[1] == pytest.approx(math.sqrt(sum(parts)), rel=1e-6)
    assert parts[1] > 1e-3 * sum(parts)


@pytest.mark.parametrize("functional", [np.arange(24.0), np.arange(24.0) < 10])
def test_a_step_that_may_lie_elsewhere_adds_its_scatter(functional: Vector) -> None:
    found, functional = _steps(), np.asarray(functional, dtype=np.float64)
    parts = _by_places(found, functional)
    assert found.linear(functional)[1] == pytest.approx(math.sqrt(sum(parts)), rel=1e-6)
    assert parts[2] > 1e-3 * sum(parts)
