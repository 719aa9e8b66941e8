"""A small choice of cells in which every two values of different axes meet: all pairs.

Greedy: each further cell is the one that covers the most pairs that are not covered yet, where a
cell of a world that is made anyway is preferred to one of a new world. The same cells come out at
every run.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray


def covering(
    values: Sequence[Sequence[Hashable]],
    worlds: Sequence[Hashable],
    costs: Sequence[float],
    made: Collection[Hashable] = (),
) -> list[int]:
    """The places of cells that have every pair of values which any cell has.

    `values` are those of each cell, one for each axis; `worlds` what each cell is made of, and
    `costs` what making that costs, in pairs, unless it is among those that are `made` anyway.
    """
    axes = [_numbered(axis) for axis in zip(*values, strict=True)]
    of_world = _numbered(worlds)
    columns, count = [], 0
    for one, other in itertools.combinations(axes, 2):
        size = int(other.max()) + 1
        columns.append(count + one * size + other)
        count += (int(one.max()) + 1) * size
    table = np.stack(columns, axis=1)
    left = np.zeros(count, dtype=np.bool_)
    left[table] = True
    cost = np.array(
        [0.0 if world in made else each for world, each in zip(worlds, costs, strict=True)]
    )
    chosen: list[int] = []
    while left.any():
        gain = left[table].sum(axis=1)
        score = np.where(gain > 0, gain - cost, -np.inf)
        best = int(np.argmax(score))
        left[table[best]] = False
        cost[of_world == of_world[best]] = 0.0
        chosen.append(best)
    return chosen


def _numbered(names: Sequence[Hashable]) -> NDArray[np.int64]:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names])
