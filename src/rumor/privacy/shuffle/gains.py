"""The gain of one report: what it speaks for one value rather than for another.

With E = e^epsilon and n people, all of whose reports are drawn alike (mechanisms/blanket.py),

    delta(E) <= (1/n) E[(V_1 + ... + V_n)_+],

where V is 0 unless the report is of the blanket, and P(y | first) / b(y) - E P(y | second) / b(y)
where it is (Balle et al. 2019, with the number of reports of the blanket drawn exactly). For one
person this is the exact delta. The right-hand side grows with V in convex order: of two tables one
may take what lies above both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from rumor.mechanisms.blanket import Blanket, BlanketPart

Atoms = dict[Fraction, Fraction]
"""Values with their masses."""


@dataclass(frozen=True)
class Gains:
    """The law of V as exact fractions; what its masses leave over is at 0."""

    atoms: Atoms

    @classmethod
    def at(cls, blanket: Blanket, factor: Fraction) -> Gains:
        """That of a mechanism, at E."""
        atoms: Atoms = {}
        for part in blanket.parts:
            for value, weight in _largest(part, factor).items():
                atoms[value] = atoms.get(value, Fraction(0)) + part.share * weight
        return cls(atoms)

    @property
    def alone(self) -> Fraction:
        """E[V_+]: the exact delta of one report alone, and never less than that of a crowd."""
        return sum((v * weight for v, weight in self.atoms.items() if v > 0), Fraction(0))

    @property
    def nothing(self) -> Fraction:
        """The mass at 0 that the atoms leave over."""
        return 1 - sum(self.atoms.values(), Fraction(0))


def _largest(part: BlanketPart, factor: Fraction) -> Atoms:
    """A law that lies above those of all pairs, in convex order."""
    laws: list[Atoms] = []
    for pair in part.pairs:
        law: Atoms = {}
        for row in pair:
            value = row.first - factor * row.second
            law[value] = law.get(value, Fraction(0)) + row.weight
        laws.append(law)
    return laws[0] if len(laws) == 1 else _above(laws)


def _above(laws: Sequence[Atoms]) -> Atoms:
    """The least such law, all of them having one mean and one mass.

    What a law has beyond a level, E (V - level)_+, is convex in the level and decides the order. At
    every value that a law can take (and at 0, so that one person's delta stays exact) the largest
    counts; straight lines between these lie above all laws.
    """
    levels = sorted({Fraction(0), *(value for law in laws for value in law)})
    beyond = [max(_beyond(law, level) for law in laws) for level in levels]
    mass = sum(laws[0].values(), Fraction(0))
    slopes = [(b - a) / (y - x) for (x, a), (y, b) in pairwise(zip(levels, beyond, strict=True))]
    changes = pairwise([-mass, *slopes, Fraction(0)])
    return {level: after - before for level, (before, after) in zip(levels, changes, strict=True)}


def _beyond(law: Atoms, level: Fraction) -> Fraction:
    return sum((w * (v - level) for v, w in law.items() if v > level), Fraction(0))
