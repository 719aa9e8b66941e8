"""Single values that hold more than a smooth curve gives them, found one at a time.

What an atom at x would gain under a fit is U^2/2V: U the derivative of the log-likelihood by its
weight, V the information of that derivative once all other parameters have answered. The atom is
chosen for the best fit that it would lead to, rough or smooth: an atom may buy smoothness. An
atom at an end of the range is expected (values outside the range go there) and cheap.
"""

from __future__ import annotations

import math

import numpy as np

from rumor.core.types import Rows, Vector
from rumor.estimators.ordered.laws import Law
from rumor.estimators.ordered.scoring import Fit, Shape, penalised
from rumor.estimators.ordered.seen import Seen

FEWEST_VALUES = 5
MOST = 12
_SURPRISE = 1.0
# Where an atom lies is known up to values whose likelihood is within e^-12 of the best.
_REACH = 12.0
_PLACES = 41


def cost(atoms: tuple[int, ...], domain: int) -> float:
    """How unlikely these atoms are beforehand, as minus a logarithm."""
    each = [
        _SURPRISE + (math.log(4) if value in (0, domain - 1) else math.log(2 * domain))
        for value in atoms
    ]
    return sum(each) - math.lgamma(len(atoms) + 1)


def gains(seen: Seen, member: Fit) -> tuple[Vector, Vector]:
    """What an atom at each value would gain, and the weight that it would have."""
    share = seen.counts / member.outputs
    pull = seen.adjoint(share) - seen.people
    crossed = seen.people * seen.adjoint(member.slopes / member.outputs[:, None])
    answered = ((crossed @ member.covariance) * crossed).sum(axis=1)
    information = seen.people * (seen.squares(1 / member.outputs) - 1) - answered
    # Where the curve can do what an atom does there is nothing to gain.
    least = 1e-9 * seen.people
    gain = np.where((pull > 0) & (information > least), pull, 0.0)
    weight = gain / np.maximum(information, least)
    return np.asarray(gain * weight / 2), np.asarray(weight)


def best_atom(seen: Seen, fits: list[Fit]) -> tuple[int, dict[Law, Vector]] | None:
    """The atom that leads furthest, and where each law may begin with it; None if none gains."""
    taken = list(fits[0].shape.atoms)
    edge = np.zeros(seen.domain)
    edge[[0, -1]] = math.log(seen.domain / 2)
    found, weights = -np.inf, []
    value = -1
    for member in fits:
        gain, weight = gains(seen, member)
        gain[taken] = 0.0
        weights.append(weight)
        reached = np.where(gain > 0, gain + edge, -np.inf)
        place = int(reached.argmax())
        if member.evidence + reached[place] > found:
            found, value = member.evidence + float(reached[place]), place
    if value < 0:
        return None
    starts = {
        member.shape.law: with_atom(seen, member, float(weight[value]))
        for member, weight in zip(fits, weights, strict=True)
    }
    return value, starts


def with_atom(seen: Seen, member: Fit, weight: float) -> Vector:
    """A fit's parameters and those of one more atom of about this weight."""
    share = min(max(weight, 1e-3), 0.9)
    shape = member.shape
    curve = len(shape.law.precision)
    heights = shape.curves(seen.domain) @ member.parameters[:curve]
    if shape.offset is not None:
        heights = heights + shape.offset
    whole = np.logaddexp.reduce(np.append(heights, member.parameters[curve:]))
    return np.append(member.parameters, math.log(share / (1 - share)) + whole)


def places(seen: Seen, member: Fit) -> list[tuple[Rows, Vector]]:
    """For each atom of a fit the values that it may lie at, and how likely each is.

    The atom is moved, all parameters answer in one step, and the likelihood that is reached
    counts: that which the step foretells is far off where an atom is nearly all there is.
    """
    return [_places(seen, member, number) for number in range(len(member.shape.atoms))]


def _places(seen: Seen, member: Fit, number: int) -> tuple[Rows, Vector]:
    shape, home = member.shape, member.shape.atoms[number]
    others = set(shape.atoms) - {home}
    top = penalised(seen, shape, member.parameters, member.outputs)
    heights = {home: top}
    for direction in (-1, 1):
        step, missed = direction, 0
        while missed < 2 and len(heights) < _PLACES and 0 <= home + step < seen.domain:
            value = home + step
            step += direction
            if value in others:
                continue
            heights[value] = _moved(seen, member, number, value)
            missed = missed + 1 if heights[value] < max(heights.values()) - _REACH else 0
    values = np.array(sorted(heights))
    logs = np.array([heights[value] for value in values.tolist()])
    likely = np.exp(logs - logs.max())
    return values, np.asarray(likely / likely.sum())


def _moved(seen: Seen, member: Fit, number: int, value: int) -> float:
    """The penalised likelihood once an atom lies elsewhere and everything has answered."""
    shape = member.shape
    atoms = (*shape.atoms[:number], value, *shape.atoms[number + 1 :])
    moved = Shape(shape.law, atoms, shape.offset)
    here = member.parameters
    smooth, weights = moved.cells(seen.domain, here)
    frequency = moved.frequency(seen.domain, here)
    outputs = seen.forward(frequency)
    height = penalised(seen, moved, here, outputs)
    pull = seen.adjoint(seen.counts / outputs)
    curve = len(shape.law.precision)
    gradient = np.empty(moved.size)
    gradient[:curve] = moved.curves(seen.domain).T @ (smooth * (pull - seen.people))
    gradient[curve:] = weights * (pull[list(atoms)] - seen.people)
    gradient -= moved.precision @ here
    there = here + member.covariance @ gradient
    outputs = seen.forward(moved.frequency(seen.domain, there))
    return max(height, penalised(seen, moved, there, outputs))
