"""Single values that hold more than a smooth curve gives them.

What an atom at x would gain under a fit is U^2/2V: U the derivative of the log-likelihood by its
weight, V the information of that derivative once all other parameters have answered. An atom at
an end of the range is expected (values outside the range go there) and cheap.
"""

from __future__ import annotations

import math

import numpy as np

from rumor.core.types import Rows, Vector
from rumor.kinds.ordered.fit.likelihood import Fit, Seen, likelihood_gradient, penalised
from rumor.kinds.ordered.fit.shapes import Shape

SURPRISE = 1.0
"""What anything that is not smooth costs, besides its place."""
# Where an atom lies is known up to values whose likelihood is within e^-12 of the best.
_REACH = 12.0
_PLACES = 41


def place_costs(domain: int) -> Vector:
    """How unlikely an atom at each value is beforehand, as minus a logarithm."""
    found = np.full(domain, SURPRISE + math.log(2 * domain))
    found[[0, -1]] = SURPRISE + math.log(4)
    return found


def gains(seen: Seen, member: Fit) -> tuple[Vector, Vector]:
    """What an atom at each value would gain, and the weight that it would have."""
    pull = seen.adjoint(seen.counts / member.outputs) - seen.people
    crossed = seen.people * seen.adjoint(member.slopes / member.outputs[:, None])
    answered = ((crossed @ member.covariance) * crossed).sum(axis=1)
    information = seen.people * (seen.squares(1 / member.outputs) - 1) - answered
    # Where the curve can do what an atom does there is nothing to gain.
    least = 1e-9 * seen.people
    gain = np.where((pull > 0) & (information > least), pull, 0.0)
    gain[list(member.shape.atoms)] = 0.0
    weight = gain / np.maximum(information, least)
    return np.asarray(gain * weight / 2), np.asarray(weight)


def with_atom(member: Fit, weight: float) -> Vector:
    """A fit's parameters and those of one more atom of about this weight."""
    share = min(max(weight, 1e-3), 0.9)
    shape, here = member.shape, member.parameters
    whole = np.logaddexp.reduce(np.append(shape.heights(here), here[shape.curve :]))
    return np.append(here, math.log(share / (1 - share)) + whole)


def places(seen: Seen, member: Fit) -> list[tuple[Rows, Vector]]:
    """For each atom of a fit the values that it may lie at, and how likely each is.

    The atom is moved, all parameters answer in one step, and the likelihood that is reached
    counts: that which the step foretells is far off where an atom is nearly all there is.
    """
    return [_places(seen, member, number) for number in range(len(member.shape.atoms))]


def _places(seen: Seen, member: Fit, number: int) -> tuple[Rows, Vector]:
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


def answered(seen: Seen, member: Fit, moved: Shape) -> tuple[float, Vector]:
    """A shape like that of a fit once all parameters answered in a step: likelihood, parameters."""
    here = member.parameters
    outputs = seen.forward(moved.frequency(here))
    height = penalised(seen, moved, here, outputs)
    gradient = likelihood_gradient(seen, moved, here, outputs) - moved.precision @ here
    there = here + member.covariance @ gradient
    reached = penalised(seen, moved, there, seen.forward(moved.frequency(there)))
    return (reached, there) if reached > height else (height, here)
