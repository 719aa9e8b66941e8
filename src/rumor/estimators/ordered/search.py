"""The laws that the counts leave possible: curves, atoms and declared heaps, with their weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rumor.core.types import Rows, Vector
from rumor.estimators.ordered import atoms as single
from rumor.estimators.ordered import heaps
from rumor.estimators.ordered.ladder import climb, total
from rumor.estimators.ordered.laws import smoother
from rumor.estimators.ordered.scoring import Fit, Shape, fit
from rumor.estimators.ordered.seen import Seen

# Heaps are tried on so many of the best fits, and with so many laws that are smoother: a curve
# that had to follow the heaps is rougher than the one beneath them.
_TRIED = 2
_SMOOTHER = 2
_HOPELESS = 30.0
# Laws below this part of the whole are left out.
_LEAST = 1e-4

Places = list[tuple[Rows, Vector]]


@dataclass(frozen=True, eq=False)
class Member:
    """One law that the counts leave possible."""

    fit: Fit
    score: float
    """The logarithm of its weight, up to a constant."""
    places: Places = field(default_factory=list)
    """For each atom the values that it may lie at, and how likely each is."""

    def frequency(self, domain: int) -> Vector:
        """The law of the values, each atom spread over where it may lie."""
        found, weights = self.fit.shape.cells(domain, self.fit.parameters)
        for weight, (values, likely) in zip(weights, self.places, strict=True):
            np.add.at(found, values, weight * likely)
        return found


@dataclass(frozen=True, eq=False)
class _Group:
    """Fits with the same atoms and the same declaration, and what those cost beforehand."""

    fits: list[Fit]
    cost: float

    @property
    def score(self) -> float:
        return total(self.fits) - self.cost


def possible(seen: Seen, spacings: Sequence[tuple[int, int]]) -> list[Member]:
    """All laws of weight, with where their atoms lie."""
    groups = [_Group(climb(seen), 0.0)]
    if spacings:
        declared = _heaped(seen, groups[0], spacings)
        groups += declared
    leading = max(groups, key=lambda group: group.score)
    if seen.domain >= single.FEWEST_VALUES:
        groups += _with_atoms(seen, leading)
    return _weighed(seen, groups)


def _with_atoms(seen: Seen, start: _Group) -> list[_Group]:
    """One atom after the other while the evidence rises, and the first that does not raise it."""
    found: list[_Group] = []
    here = start
    for _ in range(single.MOST):
        chosen = single.best_atom(seen, here.fits)
        if chosen is None:
            break
        value, starts = chosen
        shape = here.fits[0].shape
        atoms = (*shape.atoms, value)
        more = single.cost(atoms, seen.domain) - single.cost(shape.atoms, seen.domain)
        there = _Group(climb(seen, atoms, shape.offset, starts), here.cost + more)
        found.append(there)
        if there.score <= here.score:
            break
        here = there
    return found


def _heaped(seen: Seen, plain: _Group, spacings: Sequence[tuple[int, int]]) -> list[_Group]:
    """The declared round numbers on top of the best fits; all laws at the best part found."""
    price = math.log(len(heaps.PARTS) * len(spacings))
    ranked = sorted(plain.fits, key=lambda member: -member.evidence)[:_TRIED]
    found: list[Fit] = []
    for spacing, first in spacings:
        for part in heaps.PARTS:
            offset = heaps.offset(seen.domain, spacing, first, part)
            for member in ranked:
                start = member.parameters
                for law in smoother(member.shape.law, seen.domain, _SMOOTHER):
                    found.append(fit(seen, Shape(law, (), offset), [start]))
                    start = found[-1].parameters
                    if found[-1].evidence < ranked[0].evidence - _HOPELESS:
                        break
    best = max(found, key=lambda member: member.evidence)
    groups = [_Group([member], price) for member in found]
    if best.evidence - price > ranked[0].evidence - 3:
        groups.append(_Group(climb(seen, (), best.shape.offset), price))
    return groups


def _weighed(seen: Seen, groups: list[_Group]) -> list[Member]:
    """The fits of all groups that have weight, each with its atoms' places."""
    top = max(
        member.evidence + member.shape.law.odds - group.cost
        for group in groups
        for member in group.fits
    )
    found = []
    for group in groups:
        scores = [member.evidence + member.shape.law.odds - group.cost for member in group.fits]
        rough = max(
            (s for s, m in zip(scores, group.fits, strict=True) if m.shape.law.rough),
            default=-math.inf,
        )
        best = max(scores)
        if best < top + math.log(_LEAST) and rough < top + math.log(_LEAST):
            continue
        leader = group.fits[int(np.argmax(scores))]
        where = single.places(seen, leader)
        found += [
            Member(member, score, where) for member, score in zip(group.fits, scores, strict=True)
        ]
    return found
