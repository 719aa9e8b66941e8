"""The maximum-likelihood frequencies, to a certified gap, in a few dozen updates.

The plain Bayesian update is slow because it moves each frequency in proportion to itself.
But the Hessian of the log-likelihood, on changes that keep the sum, is nearly diagonal:
supports of different values are nearly independent. So a gradient step in the metric of
that diagonal (`Likelihood.curvature`), projected onto the simplex in the same metric, is
nearly a Newton step. It is accelerated (Nesterov's momentum, begun anew when it overshoots);
whenever the likelihood falls, the plain update, which cannot fall, takes the step instead.

The certificate: F is concave and G its gradient, so for every h', F(h') - F(h) is at most
max G - h'G = max G - 1. Plain updates need thousands of passes for a gap of 1e-6; these
need 5 to 60 (docs/explanation/estimation.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.frequency.likelihood import Likelihood, Update
from rumor.estimators.frequency.linear import project

# The metric is measured anew after this many steps: it costs half an update or so.
_REFRESH = 6
_SMALLEST = 1e-12


@dataclass(frozen=True)
class Solution:
    """Frequencies, the gap that certifies them, and the number of updates."""

    frequency: Vector
    gap: float
    log_likelihood: float
    updates: int


def maximize(
    likelihood: Likelihood, start: Vector, *, gap: float = 1e-6, max_updates: int = 2000
) -> Solution:
    """Return the maximum-likelihood frequencies, from a positive `start` to a small enough gap.

    `updates` counts passes over the reports, those for the metric included.
    """
    here, before, momentum, damping = start, start, 1.0, 1.0
    metric, age = np.zeros(0), _REFRESH
    best, kept = Solution(start, math.inf, -math.inf, 0), None
    updates, height = 0, -math.inf
    while True:
        now = likelihood.update(here)
        updates += 1
        if now.gap < best.gap:
            best = Solution(here, now.gap, now.log_likelihood, updates)
        if best.gap <= gap or updates >= max_updates:
            return Solution(best.frequency, best.gap, best.log_likelihood, updates)
        if kept is not None and now.log_likelihood < height - 1e-14 * abs(height):
            # Too much momentum, or too long a step: the directions left out are steep.
            damping *= 1.1 if momentum > 3 else 2.0
            here = _plain(*kept)
            before, momentum, age, kept = here, 1.0, _REFRESH, None
            continue
        if age >= _REFRESH:
            metric, age = _metric(likelihood, here), 0
            updates += 1
        kept, height, age = (here, now), now.log_likelihood, age + 1
        scaled = metric * damping
        step = project_scaled(here + now.gradient / scaled, scaled)
        if now.gradient @ (step - before) < 0:
            momentum = 1.0
        faster = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
        ahead = step + (momentum - 1) / faster * (step - before)
        here = project_scaled(ahead, scaled) if ahead.min() < 0 else ahead
        before, momentum = step, faster


def _plain(here: Vector, at: Update) -> Vector:
    """Return the result of the plain Bayesian update."""
    moved = here * at.gradient
    return np.asarray(moved / moved.sum())


def _metric(likelihood: Likelihood, here: Vector) -> Vector:
    """Return the curvature, enlarged for the correlations that the diagonal leaves out.

    With n reports and m values in play, sample correlations raise the largest eigenvalue
    by (1 + sqrt(m / n))^2 (Marchenko and Pastur).
    """
    playing = int((here > 0.01 / here.size).sum())
    room = (1 + math.sqrt(playing / likelihood.independent)) ** 2
    curvature = likelihood.curvature(here)
    # One report alone has no curvature at all; frequencies and gradients are about 1.
    floor = _SMALLEST * max(float(curvature.max()), 1.0)
    return np.maximum(curvature, floor) * min(4.0, max(1.2, room))


def project_scaled(target: Vector, metric: Vector) -> Vector:
    """Return the point of the simplex nearest to `target`, squared distances weighted by `metric`.

    It is max(0, target - t / metric) for one t, found by sorting the t at which each
    coordinate reaches zero.
    """
    reach = target * metric
    order = np.argsort(-reach)
    level = (np.cumsum(target[order]) - 1) / np.cumsum(1 / metric[order])
    last = int(np.flatnonzero(reach[order] > level)[-1])
    point = np.maximum(0.0, target - level[last] / metric)
    return np.asarray(point / point.sum())


def interior_start(unbiased: Vector) -> Vector:
    """Return a starting point: the projection of the linear estimate, moved a little inside."""
    return np.asarray(0.98 * project(unbiased) + 0.02 / unbiased.size)


def single_support(counts: Vector, hit: float, miss: float) -> Vector:
    """Return the maximum in closed form if every report supports one value (randomised response).

    Counts are multinomial with probabilities miss + (hit - miss) h. Those of the values with
    h > 0 are proportional to their counts, and the values with the largest counts have it.
    """
    order = np.argsort(-counts, kind="stable")
    ranked = counts[order].astype(np.float64)
    shares = (hit - miss + miss * np.arange(1, ranked.size + 1)) / np.cumsum(ranked)
    last = int(np.flatnonzero(ranked * shares > miss)[-1])
    frequency = np.maximum(counts * shares[last] - miss, 0.0)
    return np.asarray(frequency / frequency.sum())
