"""Steps: places at which the density jumps, such as a minimum age or an opening hour.

A step at x adds a constant to the log-density of all values from x on. Its gain is U^2/2V as for
atoms: U the derivative of the log-likelihood by the constant, V its information once all other
parameters are re-optimised.
"""

from __future__ import annotations

import math

import numpy as np

from rumor.core.types import Rows, Vector
from rumor.kinds.ordered.fit.atoms import answered
from rumor.kinds.ordered.fit.likelihood import BandCounts, ShapeFit, penalised
from rumor.kinds.ordered.fit.shapes import Extra, Shape, Step

# Steps are searched at no more places than this.
_PLACES = 96
_HIGHEST = 3.0
_REACH = 12.0
_WHERE = 21


def price(domain: int, count: int) -> float:
    """Return the prior cost of one more step where there are `count` already."""
    return math.log(2 * domain) - math.log(count + 1)


def at(extras: tuple[Extra, ...]) -> list[int]:
    """Return the places of the steps in `extras`."""
    return [extra.at for extra in extras if isinstance(extra, Step)]


def gains(seen: BandCounts, member: ShapeFit) -> tuple[Rows, Vector, Vector]:
    """Return places, the gain of a step at each, and its height."""
    smooth, _ = member.shape.cells(member.parameters)
    every = -(-seen.domain // _PLACES)
    places = np.arange(every, seen.domain, every)
    pull = seen.adjoint(seen.counts / member.outputs) - seen.people
    after = np.cumsum((smooth * pull)[::-1])[::-1][places]
    upper = np.cumsum(smooth[::-1])[::-1][places]
    # The derivatives of f by each step, a column each; they sum to 0.
    columns = np.where(np.arange(seen.domain)[:, None] >= places, smooth[:, None], 0.0)
    columns -= np.outer(member.frequency, upper)
    scaled = seen.within(columns) / np.sqrt(member.outputs)[:, None]
    slopes = member.slopes / np.sqrt(member.outputs)[:, None]
    crossed = seen.people * (scaled.T @ slopes)
    explained = ((crossed @ member.covariance) * crossed).sum(axis=1)
    information = seen.people * (scaled**2).sum(axis=0) - explained
    least = 1e-6 * seen.people * np.maximum(upper * (1 - upper), 1e-9)
    free = (information > least) & ~np.isin(places, at(member.shape.extras))
    height = np.where(free, after, 0.0) / np.maximum(information, least)
    gain = np.asarray(height * after / 2)
    return places, gain, np.asarray(np.clip(height, -_HIGHEST, _HIGHEST))


def moves(seen: BandCounts, member: ShapeFit) -> list[tuple[Vector, Vector]]:
    """Return, for each step of a fit, the distributions at its possible places, with
    probabilities.
    """
    return [
        _moves(seen, member, number)
        for number, extra in enumerate(member.shape.extras)
        if isinstance(extra, Step)
    ]


def _moves(seen: BandCounts, member: ShapeFit, number: int) -> tuple[Vector, Vector]:
    shape = member.shape
    home = at(shape.extras[number:])[0]
    top = penalised(seen, shape, member.parameters, member.outputs)
    heights, laws, highest = [top], [member.frequency], top
    for direction in (-1, 1):
        place, missed = home + direction, 0
        while missed < 2 and len(laws) < _WHERE and 0 < place < seen.domain:
            extras = (*shape.extras[:number], Step(place), *shape.extras[number + 1 :])
            moved = Shape(seen.domain, shape.law, extras, shape.atoms)
            height, parameters = answered(seen, member, moved)
            highest = max(highest, height)
            heights.append(height)
            laws.append(moved.frequency(parameters))
            missed = missed + 1 if height < highest - _REACH else 0
            place += direction
    likely = np.exp(np.array(heights) - highest)
    return np.array(laws), np.asarray(likely / likely.sum())
