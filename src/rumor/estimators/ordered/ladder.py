"""All laws with the same atoms and the same declaration, each fitted as far as it matters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.ordered.laws import Law, families
from rumor.estimators.ordered.scoring import Fit, Shape, fit
from rumor.estimators.ordered.seen import Seen

# An order is left once its evidence has fallen so far below its best.
_HOPELESS = 9.0
_HOPELESS_ROUGH = 6.0


def climb(
    seen: Seen,
    atoms: tuple[int, ...] = (),
    offset: Vector | None = None,
    starts: Mapping[Law, Vector] | None = None,
) -> list[Fit]:
    """The fits of every order, from the smoothest law on; `starts` are parameters to begin at.

    Laws that intervals rest on are fitted in any case, as far as they differ in evidence.
    """
    found: list[Fit] = []
    for family in families(seen.domain):
        before: Vector | None = None
        best = rough = -np.inf
        for law in family:
            known = None if starts is None else starts.get(law)
            now = fit(
                seen,
                Shape(law, atoms, offset),
                [start for start in (before, known) if start is not None],
            )
            found.append(now)
            before = now.parameters
            best = max(best, now.evidence)
            if law.rough:
                rough = max(rough, now.evidence)
            floored = any(member.rough for member in family)
            done = not floored or (law.rough and now.evidence < rough - _HOPELESS_ROUGH)
            if done and now.evidence < best - _HOPELESS:
                break
    return found


def total(fits: list[Fit]) -> float:
    """The logarithm of the summed evidence."""
    logs = np.array([member.evidence + member.shape.law.odds for member in fits])
    return float(logs.max() + np.log(np.exp(logs - logs.max()).sum()))
