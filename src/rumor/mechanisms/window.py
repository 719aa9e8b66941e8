"""The window mechanism: the mean of one number from one of a few cells, each worth a public number.

It is the piecewise mechanism with a table of whole numbers in place of a straight line. The tables
that come with Rumor are nearly the best there are: benchmarks/window_design.py makes them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from rumor.core import exact
from rumor.core.checks import checked_size
from rumor.core.deprecation import old_names
from rumor.core.errors import InputError, format_value
from rumor.core.randomness import Draws, RandomSource, Stream, Words
from rumor.core.reports import Reports
from rumor.core.types import Codes, Tally, Vector
from rumor.core.typing import override
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.mean import MeanMechanism
from rumor.mechanisms.shapes import CountedIntegers
from rumor.mechanisms.windowed import WindowedResponse

# Limits of half the cells, and of a cell's value: with them every bound of a draw is below 2^32.
MOST_VALUES, LARGEST_VALUE = 32, 2047
_TABLES = Path(__file__).with_name("window_tables.json")


@old_names(worth="cell_values")
class Window(MeanMechanism, WindowedResponse, CountedIntegers):
    """A cell near the value, or any other: nearly the least noise that a mean can have.

    Model. N cells are worth f_0 < ... < f_{N-1}, whole numbers with f_i = -f_{N-1-i} (a contract
    says the upper half). A node k = 0..N-W has the W cells from k on as its window, and the sum
    S_k of what they are worth. A step j of G stands at T = (2j - G) S_{N-W}, between two nodes
    G S_k <= T < G S_{k+1}, and goes to one of them at random so that the mean is kept. At its node
    a cell is drawn as in windowed.py.
    Privacy: that of windowed.py on the nodes. A step's law is a mixture of those of two nodes,
    and lies between their two probabilities: no table costs privacy.
    The mean of what cells are worth is gain S_k at a node, hence exactly linear in the step.
    Report: the cell, one byte.
    """

    name = "window"
    _SHAPE_NAMES, _THRESHOLDS = ("window", "values"), ("inside",)
    values: list[int]
    """The values of the upper half of the cells, ascending."""

    def _calibrate(self, epsilon: float) -> None:
        self._load_shape(*table_for(exact.checked_epsilon(epsilon)))
        self.inside = self.best_inside(self.window, epsilon)

    @classmethod
    def with_table(cls, window: int, values: Sequence[int], *, epsilon: float, **grid: Any) -> Self:
        """Return a window mechanism with this `window` and these
        `values` of the upper half of the cells.
        """
        self = cls(epsilon=epsilon, **grid)
        self._load_shape(window, values)
        self.inside = self.best_inside(self.window, epsilon)
        return self

    def _load_shape(self, window: object, values: object) -> None:
        self.values = checked_values(values)
        self.window = checked_size("window", window, 1, 2 * len(self.values) - 1)

    def _check_identifiable(self) -> None:
        self._require_use(self.window, self.inside)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with the fewest cells, wide windows, and tables that are in use."""
        return [
            cls.with_table(1, [1], epsilon=1.0, steps=1),
            cls.with_table(2, [1, 3], epsilon=2.0, steps=6),
            cls.with_table(4, [1, 2, 5], low=0.0, high=24.0, epsilon=0.5, steps=12, outside="clip"),
            cls(epsilon=0.5),
            cls(low=0.0, high=24.0, epsilon=3.0, steps=7),
        ]

    @property
    @override
    def others(self) -> int:
        return 2 * len(self.values) - self.window

    @functools.cached_property
    def cell_values(self) -> list[int]:
        """The values of all cells."""
        return [-value for value in reversed(self.values)] + self.values

    @functools.cached_property
    def sums(self) -> list[int]:
        """The sums of the cells' values in the windows of the nodes, ascending."""
        return [sum(self.cell_values[k : k + self.window]) for k in range(self.others + 1)]

    @functools.cached_property
    def gain(self) -> Fraction:
        """The mean value of a report from a person at the high end."""
        return (self.exact_inside - self.exact_outside) * self.sums[-1]

    @functools.cached_property
    def _edges(self) -> Codes:
        """The places of the nodes among the positions of steps."""
        return self.grid.steps * np.array(self.sums, dtype=np.int64)

    @functools.cached_property
    def _gaps(self) -> Words:
        """The distances from each node to the next; nobody stands beyond the last."""
        return np.append(np.diff(self._edges), 1).astype(np.uint64)

    def _stands(self, steps: Codes) -> tuple[Codes, Codes]:
        """Return the node at or below each step, and the distance beyond it."""
        places = (2 * steps - self.grid.steps) * self.sums[-1]
        nodes = np.searchsorted(self._edges, places, side="right") - 1
        return nodes, places - self._edges[nodes]

    def _stand(self, value: object) -> tuple[int, int, int]:
        """Return one number's node, its distance beyond it, and
        that from there to the next node.
        """
        nodes, beyond = self._stands(np.array([self.code(value)]))
        return int(nodes[0]), int(beyond[0]), int(self._gaps[nodes[0]])

    def probability(self, report: bytes, value: object) -> Fraction:
        """Return the mixture of the probabilities at two nodes."""
        node, beyond, gap = self._stand(value)
        cell = int.from_bytes(report, "little")
        near = gap * (node <= cell < node + self.window)
        near += beyond * ((cell == node + self.window) - (cell == node))
        return self.exact_outside + (self.exact_inside - self.exact_outside) * Fraction(near, gap)

    def log_likelihood_ratio(self, reports: Reports, first: object, second: object) -> Vector:
        """Return the log-ratio of the probabilities, which take more than two values."""
        return Mechanism.log_likelihood_ratio(self, reports, first, second)

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw below(gap) to go to one of the two nodes beside the step, then near that node."""
        node, beyond, gap = self._stand(value)
        if beyond and draws.below(gap) < beyond:
            node += 1
        return self.draw_near(node, draws)

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        nodes, beyond = self._stands(self.encode(values))
        stream = source.stream()
        nodes += below_each(stream, self._gaps[nodes]) < beyond.astype(np.uint64)
        return self.privatize_near(nodes, stream)

    def moments(self, tally: Tally, reports: int) -> tuple[float, float]:
        """Return mean and variance of the cells' values, stretched to the range."""
        counts = [int(count) for count in tally]
        first = Fraction(sum(map(int.__mul__, self.cell_values, counts)), reports)
        second = Fraction(
            sum(w * w * n for w, n in zip(self.cell_values, counts, strict=True)), reports
        )
        half = self.grid.span / 2
        mean = self.grid.middle + half * float(first / self.gain)
        return mean, half**2 * float((second - first**2) / self.gain**2)

    @functools.cached_property
    def _at_nodes(self) -> tuple[Vector, Vector]:
        """The places of the nodes from -1 to 1, and the second moment of an estimate at each."""
        squares = [value * value for value in self.cell_values]
        everywhere = self.exact_outside * sum(squares)
        more = self.exact_inside - self.exact_outside
        within = [sum(squares[k : k + self.window]) for k in range(self.others + 1)]
        seconds = [float((everywhere + more * near) / self.gain**2) for near in within]
        return np.array(self.sums) / self.sums[-1], np.array(seconds)

    def variance(self, value: float | Vector, reports: int = 1) -> Vector:
        """Return the second moment, which is linear between nodes, less the square."""
        half = self.grid.span / 2
        x = (np.asarray(value, np.float64) - self.grid.middle) / half
        return np.asarray(half**2 * (np.interp(x, *self._at_nodes) - x**2) / reports)

    @property
    def worst_variance(self) -> float:
        """The variance at a node, or between two where half the second moment's slope stands."""
        at, seconds = self._at_nodes
        turns = np.clip(np.diff(seconds) / np.diff(at) / 2, at[:-1], at[1:])
        worst = self.variance(self.grid.middle + self.grid.span / 2 * np.append(turns, at))
        return float(worst.max())

    @property
    def least_variance(self) -> float:
        """The variance at a node: between two it is larger."""
        return float(self.variance(self.grid.middle + self.grid.span / 2 * self._at_nodes[0]).min())


def below_each(stream: Stream, bounds: Words) -> Words:
    """Return a uniform integer below each of `bounds`, at most
    2^32, by the rule of `Stream.below`.
    """
    words, half = stream.words(bounds.size), np.uint64(32)
    low = (words & np.uint64(0xFFFFFFFF)) * bounds >> half
    result = ((words >> half) * bounds + low) >> half
    # 2^64 modulo each bound, without leaving 64 bits.
    bad = np.flatnonzero(words * bounds < (~bounds + np.uint64(1)) % bounds)
    if bad.size:
        result[bad] = below_each(stream, bounds[bad])
    return result


def checked_values(values: object) -> list[int]:
    """Return the values of the upper half of the cells, as a contract writes them."""
    plain = isinstance(values, (list, tuple)) and 1 <= len(values) <= MOST_VALUES
    kept = list(values) if plain and isinstance(values, (list, tuple)) else []
    whole = bool(kept) and all(type(one) is int for one in kept)
    if not (whole and all(a < b for a, b in pairwise([0, *kept, LARGEST_VALUE + 1]))):
        raise InputError(
            f"values must be 1 to {MOST_VALUES} ascending integers from 1 to {LARGEST_VALUE:,}; "
            f"got {format_value(values)}"
        )
    return kept


@functools.cache
def tables() -> Mapping[float, tuple[int, list[int]]]:
    """Return the tables that come with Rumor, by the epsilon that each was made for, ascending."""
    read = json.loads(_TABLES.read_text(encoding="utf-8"))
    return {float(made): (one["window"], one["values"]) for made, one in read.items()}


def table_for(epsilon: float) -> tuple[int, list[int]]:
    """Return the window and the values of the table for `epsilon`: the next above, or the last."""
    last = max(tables())
    return tables()[min((made for made in tables() if made >= epsilon), default=last)]
