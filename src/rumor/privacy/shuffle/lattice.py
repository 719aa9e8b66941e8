"""Gains on a lattice: every value split onto its two neighbours, never downwards.

A split that keeps the mean is larger in convex order, so nothing is lost by it but sharpness. The
part that goes up is rounded up to 2^-40, which is larger still. Masses stay exact fractions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rumor.core.types import Vector
from rumor.privacy.shuffle.gains import Gains

_FINE = 1 << 40
# Steps that are tried at each size: one of them suits all values well.
_TRIES = 64


@dataclass(frozen=True)
class Tilt:
    """The distribution e^(tV) P / Z at which a gain is 0 on average, in doubles.

    It only chooses lattices: any choice gives a valid bound.
    """

    rate: float
    """The rate t."""
    values: Vector
    masses: Vector
    """The tilted masses of the values; the rest is at 0."""

    @property
    def variance(self) -> float:
        """The variance of one gain."""
        return float((self.masses * self.values**2).sum())

    @classmethod
    def of(cls, gains: Gains) -> Tilt:
        """Find the tilt by bisection: the tilted mean grows with t."""
        values = np.array([float(value) for value in gains.atoms])
        masses = np.array([float(weight) for weight in gains.atoms.values()])
        largest, nothing = float(values.max()), float(gains.zero_mass)

        def tilted(rate: float) -> Vector:
            return np.asarray(masses * np.exp(rate * (values - largest)))

        low, high = 0.0, 1.0 / largest
        while (tilted(high) * values).sum() < 0:
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            below = (tilted(middle) * values).sum() < 0
            low, high = (middle, high) if below else (low, middle)
        shares = tilted(high)
        total = shares.sum() + nothing * math.exp(-high * largest)
        return cls(high, values, shares / total)


@dataclass(frozen=True)
class Lattice:
    """Gains that are multiples of a step."""

    step: Fraction
    masses: dict[int, Fraction]
    """The masses by multiple of the step; they sum to 1."""

    @classmethod
    def of(cls, gains: Gains, step: Fraction) -> Lattice:
        """Return the gains on the lattice, each split onto two multiples of `step`."""
        masses = {0: gains.zero_mass}
        for value, weight in gains.atoms.items():
            place = value / step
            below = math.floor(place)
            up = Fraction(math.ceil((place - below) * _FINE), _FINE)
            for at, mass in ((below, weight * (1 - up)), (below + 1, weight * up)):
                if mass:
                    masses[at] = masses.get(at, Fraction(0)) + mass
        return cls(step, masses)


def chosen_step(gains: Gains, tilt: Tilt, people: int, finest: float, dearest: float) -> Fraction:
    """Return the coarsest step whose splits cost delta at most `dearest` of itself, or `finest`.

    A split adds variance, and n t^2 / 2 times that to the logarithm of delta. Steps are tried that
    put one of the weightiest values onto the lattice.
    """
    exact, sizes = list(gains.atoms), np.abs(tilt.values)
    weightiest = np.argsort(-tilt.masses * sizes**2)[:3].tolist()
    anchors: list[int] = [*weightiest, int(np.argmax(sizes))]
    wanted, price = max(math.sqrt(tilt.variance), finest), people * tilt.rate**2 / 2
    while True:
        tried = [
            (place, part)
            for place in anchors
            if sizes[place] >= wanted
            for part in _parts(sizes[place] / wanted)
        ]
        steps = np.array([sizes[place] / part for place, part in tried])
        places = tilt.values / steps[:, None]
        split = places - np.floor(places)
        added = (tilt.masses * split * (1 - split)).sum(axis=1) * steps**2
        best = int(np.argmin(added))
        if price * added[best] <= dearest or wanted / 2 < finest:
            place, part = tried[best]
            return abs(exact[place]) / part
        wanted /= 2


def _parts(least: float) -> range:
    """Return how many steps a value may be divided into, down to steps of half the size."""
    first = math.ceil(least)
    return range(first, 2 * first, math.ceil(first / _TRIES))
