"""All laws with the same columns and atoms beside them, each fitted as far as it matters."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.ordered.laws import Law, families
from rumor.estimators.ordered.scoring import Fit, fit
from rumor.estimators.ordered.seen import Seen
from rumor.estimators.ordered.shape import Extra, Shape

# An order is left once its evidence has fallen so far below its best.
_HOPELESS = 9.0
_HOPELESS_ROUGH = 6.0


@dataclass(frozen=True, eq=False)
class Group:
    """The fits of all laws with the same beside them, and what that costs beforehand."""

    extras: tuple[Extra, ...]
    atoms: tuple[int, ...]
    fits: list[Fit]
    cost: float
    room: float = 0.0
    """The logarithm of at how many places, in effect, what is beside may lie."""

    @cached_property
    def scores(self) -> Vector:
        """The logarithms of the fits' weights, up to a constant."""
        beside = self.room - self.cost
        return np.array([each.evidence + each.shape.law.odds + beside for each in self.fits])

    @property
    def score(self) -> float:
        """The logarithm of their summed weight."""
        return float(np.logaddexp.reduce(self.scores))

    @property
    def best(self) -> Fit:
        """The fit of the largest weight."""
        return self.fits[int(self.scores.argmax())]


def climb(
    seen: Seen,
    extras: tuple[Extra, ...] = (),
    atoms: tuple[int, ...] = (),
    cost: float = 0.0,
    starts: Mapping[Law, Vector] | None = None,
    hopeless: Set[Law] = frozenset(),
) -> Group:
    """The fits of every order, from the smoothest law on; `starts` are parameters to begin at.

    Laws that intervals rest on are fitted in any case, as far as they differ in evidence; those
    that are `hopeless` are left out.
    """
    found: list[Fit] = []
    for family in families(seen.domain):
        floored = any(law.rough for law in family)
        best = rough = -np.inf
        before: list[Vector] = []
        for law in family:
            if law in hopeless:
                continue
            known = [starts[law]] if starts is not None and law in starts else []
            now = fit(seen, Shape(seen.domain, law, extras, atoms), before + known)
            found.append(now)
            before = [now.parameters]
            best = max(best, now.evidence)
            if law.rough:
                rough = max(rough, now.evidence)
            done = not floored or (law.rough and now.evidence < rough - _HOPELESS_ROUGH)
            if done and now.evidence < best - _HOPELESS:
                break
    return Group(extras, atoms, found, cost)
