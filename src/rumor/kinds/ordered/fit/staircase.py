"""Densities made of plateaus: the steps of the best staircase.

A search for one step at a time finds an edge of a smooth density. Where all is plateaus no single
step helps, since a curve that is rough enough for the others does without. So staircases without
any curve are built: a mixture of uniform distributions, one for each plateau, whose outputs are
differences of the running sums of the channel's columns. Every step is moved again after each new
step.
"""

from __future__ import annotations

import math

import numpy as np

from rumor.core.types import Rows, Vector
from rumor.kinds.ordered.fit.likelihood import BandCounts

MOST = 6
# Steps are searched at no more places than this, then moved value by value.
_PLACES = 96
# A staircase that is this far behind after four steps is abandoned.
_HOPELESS = 60.0
_TRIES = 4
# The prior variance of log-weights, around the uniform distribution: an empty plateau stays finite.
_VARIANCE = 20.0
_NEWTON = 12


def staircase(seen: BandCounts, target: float, price: float) -> tuple[int, ...]:
    """Return the steps of the best staircase, each at the prior cost `price`.

    The result is empty where four steps leave the likelihood far below the `target`.
    """
    search = _Search(seen)
    steps: list[int] = []
    best = search.height(steps)
    found: tuple[int, ...] = ()
    while len(steps) < MOST:
        steps = search.one_more(steps)
        for _ in range(len(steps) if len(steps) > 1 else 0):
            # The first step is removed and placed anew, in turn: all have moved after this.
            steps = search.one_more(steps[1:])
        if len(steps) > 2:
            steps = search.settled(steps)
        height = search.height(steps)
        if len(steps) >= _TRIES and height < target - _HOPELESS:
            return ()
        score = height - price * len(steps)
        if score > best:
            best, found = score, tuple(sorted(steps))
        elif len(steps) >= _TRIES:
            break
    return found


class _Search:
    """Running sums of the channel's columns, and the likelihoods of staircases by them."""

    def __init__(self, seen: BandCounts) -> None:
        self._seen = seen
        self._sums: dict[int, Vector] = {}
        self._heights: dict[tuple[int, ...], tuple[float, Vector, Vector]] = {}
        self._last: dict[int, Vector] = {}
        every = -(-seen.domain // _PLACES)
        self._places = np.arange(every, seen.domain, every)
        self._at_places = np.column_stack([self._below(place) for place in self._places.tolist()])

    def _below(self, place: int) -> Vector:
        """Return M applied to all values below `place`."""
        if place not in self._sums:
            below = (np.arange(self._seen.domain) < place).astype(np.float64)
            self._sums[place] = self._seen.forward(below)
        return self._sums[place]

    def height(self, steps: list[int]) -> float:
        """Return the largest likelihood of a staircase with these `steps`."""
        return self._fitted(tuple(sorted(steps)))[0]

    def _fitted(self, steps: tuple[int, ...]) -> tuple[float, Vector, Vector]:
        """Return the likelihood, the weights of the plateaus, and the outputs."""
        if steps not in self._heights:
            edges = np.array([0, *steps, self._seen.domain])
            sums = np.column_stack([self._below(place) for place in edges.tolist()])
            size = np.diff(edges)
            laws, middle = np.diff(sums, axis=1) / size, np.log(size / size.sum())
            start = self._last.get(len(steps), middle)
            self._heights[steps] = _mixture(self._seen.counts, laws, middle, start)
            self._last[len(steps)] = np.log(self._heights[steps][1])
        return self._heights[steps]

    def one_more(self, steps: list[int]) -> list[int]:
        """Return `steps` with the step of largest gain added: U^2/2V of splitting a plateau
        in two.
        """
        ordered = tuple(sorted(steps))
        _, weights, outputs = self._fitted(ordered)
        free: Rows = self._places[~np.isin(self._places, ordered)]
        columns = self._at_places[:, ~np.isin(self._places, ordered)]
        edges = np.array([0, *ordered, self._seen.domain])
        plateau = np.searchsorted(edges, free, side="right") - 1
        first, last = edges[plateau], edges[plateau + 1]
        low = np.column_stack([self._below(int(place)) for place in edges[:-1]])[:, plateau]
        high = np.column_stack([self._below(int(place)) for place in edges[1:]])[:, plateau]
        above = (high - columns) / (last - free)
        below = (columns - low) / (free - first)
        # The log-weights of the two parts move apart, their sum stays.
        part = (last - free) * (free - first) / (last - first) ** 2
        moved = weights[plateau] * part * (above - below)
        pull = (self._seen.counts / outputs) @ moved
        bend = self._seen.people * (moved**2 / outputs[:, None]).sum(axis=0)
        gain = np.where(bend > 0, pull**2 / np.maximum(bend, 1e-300), 0.0)
        return [*steps, int(free[gain.argmax()])]

    def settled(self, steps: list[int]) -> list[int]:
        """Return every step at its best place, by actual likelihoods rather than predicted
        gains.
        """
        here = list(steps)
        reach = -(-self._seen.domain // _PLACES)
        for number in range(len(here)):
            stride = reach
            while stride:
                options = [here[number] - stride, here[number], here[number] + stride]
                heights = [self._moved(here, number, place) for place in options]
                chosen = options[int(np.argmax(heights))]
                if chosen == here[number]:
                    stride //= 2
                here[number] = chosen
        return here

    def _moved(self, steps: list[int], number: int, place: int) -> float:
        rest = steps[:number] + steps[number + 1 :]
        if not 0 < place < self._seen.domain or place in rest:
            return -math.inf
        return self.height([*rest, place])


def _mixture(
    counts: Vector, laws: Vector, middle: Vector, start: Vector
) -> tuple[float, Vector, Vector]:
    """Return the penalised maximum of a mixture: likelihood, weights, outputs."""
    people = float(counts.sum())

    def at(logs: Vector) -> tuple[float, Vector, Vector]:
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        outputs = laws @ weights
        away = logs - middle
        height = float(counts @ np.log(outputs)) - float(away @ away) / (2 * _VARIANCE)
        return height, weights, outputs

    here = start
    now = at(here)
    for _ in range(_NEWTON):
        height, weights, outputs = now
        slopes = weights * (laws - outputs[:, None])
        gradient = (counts / outputs) @ slopes - (here - middle) / _VARIANCE
        bend = people * (slopes.T @ (slopes / outputs[:, None]))
        bend[np.diag_indices_from(bend)] += 1 / _VARIANCE
        step = np.linalg.solve(bend, gradient)
        for halving in range(10):
            there = here + 0.5**halving * step
            then = at(there)
            if then[0] >= height:
                break
        else:
            break
        here, now = there, then
        if float(gradient @ step) < 1e-2:
            break
    return now
