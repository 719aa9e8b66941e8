"""How far a beginning is trusted, and what its extensions have to pass for it.

A word that people hold stands out at every level, and not only at the one where it ends. What the
levels before say of its beginning may not be added to its test, since other words begin alike; but
they may say where to look. So each beginning that survives a level is trusted as far as chance does
not explain it: one less the rate of false ones among those that stand out at least as much. Its
extensions have a part of all chances to pass that is proportional to this trust, and words are
tested with weights proportional to it (Genovese, Roeder and Wasserman, "False discovery control
with p-value weighting", 2006): weights that average one, and that nothing has a say in which the
test looks at, leave the rate of false discoveries as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Vector

# What a beginning has at least: others may continue it that stand out more than it does.
LEAST_TRUST = 0.05
LEAST_THRESHOLD = 1.0
# More survivors than this many times those expected by chance are cut off.
_MOST = 4


@dataclass(frozen=True)
class Passed:
    """The candidates that go on, in their order, what each had to pass, and how each is trusted."""

    rows: NDArray[np.intp]
    threshold: Vector
    trust: Vector


def weights(trust: Vector) -> Vector:
    """Proportional to trust, one on average."""
    return np.asarray(trust / trust.mean()) if trust.size else trust


def threshold_for(part: Vector | float) -> Vector:
    """The deviate that this part of those that nobody has passes by chance."""
    from scipy.special import ndtri

    return np.asarray(np.maximum(LEAST_THRESHOLD, -ndtri(np.minimum(0.5, part))))


def passed(deviates: Vector, trust: Vector, beam: float) -> Passed:
    """Those of the candidates that pass, about `beam` of which by chance.

    `trust` is that of the beginning which each candidate extends.
    """
    from scipy.special import ndtr

    weight = weights(trust)
    part = beam / max(1, deviates.size)
    likely = np.flatnonzero(deviates > LEAST_THRESHOLD)
    weighted = ndtr(-deviates[likely]) / weight[likely]
    rows, weighted = likely[weighted < part], weighted[weighted < part]
    order = np.argsort(weighted, kind="stable")
    if rows.size > _MOST * beam:
        order = order[: int(_MOST * beam)]
        part = float(weighted[order[-1]])
    # The rate of false ones among all up to each, the smallest of those that reach further.
    by_chance = weighted[order] * deviates.size / np.arange(1, order.size + 1)
    false = np.minimum.accumulate(by_chance[::-1])[::-1]
    back = np.argsort(rows[order])
    rows = rows[order][back]
    return Passed(
        rows, threshold_for(part * weight[rows]), np.maximum(LEAST_TRUST, 1 - false)[back]
    )
