"""The gain of one report: how far it favours one value over another.

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
    """The distribution of V as exact fractions; the mass that is left over lies at 0."""

    atoms: Atoms

    @classmethod
    def at(cls, blanket: Blanket, factor: Fraction) -> Gains:
        """Return the gains of a mechanism with this `blanket` at E = `factor`."""
        atoms: Atoms = {}
        for part in blanket.parts:
            for value, weight in _largest(part, factor).items():
                atoms[value] = atoms.get(value, Fraction(0)) + part.share * weight
        return cls(atoms)

    @property
    def local_delta(self) -> Fraction:
        """E[V_+], the exact delta of one report alone, and never less than that of a batch."""
        return sum((v * weight for v, weight in self.atoms.items() if v > 0), Fraction(0))

    @property
    def zero_mass(self) -> Fraction:
        """The mass at 0 that the atoms leave over."""
        return 1 - sum(self.atoms.values(), Fraction(0))


def _largest(part: BlanketPart, factor: Fraction) -> Atoms:
    """Return a distribution that lies above those of all pairs, in convex order."""
    laws: list[Atoms] = []
    for pair in part.pairs:
        law: Atoms = {}
        for row in pair:
            value = row.first - factor * row.second
            law[value] = law.get(value, Fraction(0)) + row.weight
        laws.append(law)
    return laws[0] if len(laws) == 1 else _convex_upper_bound(laws)


def _convex_upper_bound(laws: Sequence[Atoms]) -> Atoms:
    """Return the least distribution above all `laws`, which have one mean and one mass.

    The mass beyond a level, E (V - level)_+, is convex in the level and decides the order. At every
    value that any of them can take (and at 0, so that one person's delta stays exact) the largest
    counts; straight lines between these lie above all of them.
    """
    levels = sorted({Fraction(0), *(value for law in laws for value in law)})
    beyond = [max(_mass_beyond(law, level) for law in laws) for level in levels]
    mass = sum(laws[0].values(), Fraction(0))
    slopes = [(b - a) / (y - x) for (x, a), (y, b) in pairwise(zip(levels, beyond, strict=True))]
    changes = pairwise([-mass, *slopes, Fraction(0)])
    return {level: after - before for level, (before, after) in zip(levels, changes, strict=True)}


def _mass_beyond(law: Atoms, level: Fraction) -> Fraction:
    return sum((w * (v - level) for v, w in law.items() if v > level), Fraction(0))
