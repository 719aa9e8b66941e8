"""Atoms: single values with more weight than a smooth curve gives them.

The gain of an atom at x is U^2/2V: U the derivative of the log-likelihood by its weight, V the
information of that derivative once all other parameters are re-optimised. An atom at an end of the
range is expected (values outside the range go there) and cheap.
"""

from __future__ import annotations

import math

import numpy as np

from rumor.core.types import Rows, Vector
from rumor.kinds.ordered.fit.likelihood import BandCounts, ShapeFit, likelihood_gradient, penalised
from rumor.kinds.ordered.fit.shapes import Shape

SURPRISE = 1.0
"""The prior cost of anything that is not smooth, besides its place."""
# Places of an atom are kept while their likelihood is within e^-12 of the best.
_REACH = 12.0
_PLACES = 41


def place_costs(domain: int) -> Vector:
    """Return the prior cost of an atom at each value, as minus a logarithm."""
    found = np.full(domain, SURPRISE + math.log(2 * domain))
    found[[0, -1]] = SURPRISE + math.log(4)
    return found


def gains(seen: BandCounts, member: ShapeFit) -> tuple[Vector, Vector]:
    """Return the gain of an atom at each value, and the weight that the atom would have."""
    pull = seen.adjoint(seen.counts / member.outputs) - seen.people
    crossed = seen.people * seen.adjoint(member.slopes / member.outputs[:, None])
    answered = ((crossed @ member.covariance) * crossed).sum(axis=1)
    information = seen.people * (seen.squares(1 / member.outputs) - 1) - answered
    # Where the curve can do what an atom does, the gain is zero.
    least = 1e-9 * seen.people
    gain = np.where((pull > 0) & (information > least), pull, 0.0)
    gain[list(member.shape.atoms)] = 0.0
    weight = gain / np.maximum(information, least)
    return np.asarray(gain * weight / 2), np.asarray(weight)


def with_atom(member: ShapeFit, weight: float) -> Vector:
    """Return a fit's parameters and those of one more atom of about this `weight`."""
    share = min(max(weight, 1e-3), 0.9)
    shape, here = member.shape, member.parameters
    whole = np.logaddexp.reduce(np.append(shape.heights(here), here[shape.curve :]))
    return np.append(here, math.log(share / (1 - share)) + whole)


def places(seen: BandCounts, member: ShapeFit) -> list[tuple[Rows, Vector]]:
    """Return, for each atom of a fit, the values where it may lie, and their probabilities.

    The atom is moved, all parameters are re-optimised in one step, and the likelihood that is
    reached counts: the likelihood predicted by the step is far off where an atom has nearly all
    the weight.
    """
    return [_places(seen, member, number) for number in range(len(member.shape.atoms))]


def _places(seen: BandCounts, member: ShapeFit, number: int) -> tuple[Rows, Vector]:
    shape, home = member.shape, member.shape.atoms[number]
    heights = {home: penalised(seen, shape, member.parameters, member.outputs)}
    for direction in (-1, 1):
        value, missed = home + direction, 0
        while missed < 2 and len(heights) < _PLACES and 0 <= value < seen.domain:
            if value not in shape.atoms:
                atoms = (*shape.atoms[:number], value, *shape.atoms[number + 1 :])
                moved = Shape(seen.domain, shape.law, shape.extras, atoms)
                heights[value] = answered(seen, member, moved)[0]
                missed = missed + 1 if heights[value] < max(heights.values()) - _REACH else 0
            value += direction
    values = np.array(sorted(heights))
    logs = np.array([heights[value] for value in values.tolist()])
    likely = np.exp(logs - logs.max())
    return values, np.asarray(likely / likely.sum())


def answered(seen: BandCounts, member: ShapeFit, moved: Shape) -> tuple[float, Vector]:
    """Return likelihood and parameters of the shape `moved` after one step of all parameters."""
    here = member.parameters
    outputs = seen.forward(moved.frequency(here))
    height = penalised(seen, moved, here, outputs)
    gradient = likelihood_gradient(seen, moved, here, outputs) - moved.precision @ here
    there = here + member.covariance @ gradient
    reached = penalised(seen, moved, there, seen.forward(moved.frequency(there)))
    return (reached, there) if reached > height else (height, here)
