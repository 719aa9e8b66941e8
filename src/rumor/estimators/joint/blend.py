"""How much of the answer is the drawn table, and how much the plain one.

A table that is drawn towards independence has less noise, but cells that nobody is in are drawn
away from zero, where the plain estimate would be cut off. Where many cells are empty the plain one
is the better by a tenth. Which it is, the reports say: Stein's unbiased estimate of the risk of
either is its distance from what was observed, in the metric of the noise, and twice its degrees of
freedom. The two are averaged by exp(-risk / 2) (Leung and Barron, "Information theory and mixing
least-squares regressions", 2006).
"""

from __future__ import annotations

import math

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.joint.bayes import Shrunk
from rumor.estimators.joint.coordinates import Matrix, contrasts
from rumor.estimators.joint.linear import Moments
from rumor.estimators.joint.nearest import nearest_table

_ROUNDING = 1e-12


def averaged(plain: Moments, drawn: Shrunk) -> list[tuple[float, Moments]]:
    """Both, with their weights."""
    weight = weight_of_model(plain, drawn)
    return [(weight, drawn), (1 - weight, plain)]


def weight_of_model(plain: Moments, drawn: Shrunk) -> float:
    """The weight of the drawn table beside the plain one."""
    basis = contrasts(plain.mean.size)
    noise = basis.T @ plain.covariance @ basis
    identity = np.eye(len(noise))
    risks = []
    for known, kept in ((drawn, drawn.kept), (plain, identity)):
        found = nearest_table(known)
        away = basis.T @ (plain.mean - found)
        freedom = _freedom(found, basis.T @ known.covariance @ basis, kept, basis)
        risks.append(float(away @ np.linalg.solve(noise, away)) + 2 * freedom)
    return 1 / (1 + math.exp(min(max((risks[0] - risks[1]) / 2, -700.0), 700.0)))


def _freedom(table: Vector, covariance: Matrix, kept: Matrix, basis: Matrix) -> float:
    """The degrees of freedom of a nearest table: those of its cells that are not cut off."""
    inside = np.flatnonzero(table > _ROUNDING)
    if inside.size < 2:
        return 0.0
    face = np.zeros((table.size, inside.size - 1))
    face[inside] = contrasts(inside.size)
    directions = basis.T @ face
    rounding = _ROUNDING * np.trace(covariance) * np.eye(len(covariance))
    weighed = np.linalg.solve(covariance + rounding, directions).T
    return float(np.trace(np.linalg.solve(weighed @ directions, weighed @ kept @ directions)))
