"""The test of a word that one level chose: what is left of that level's evidence, and all later.

The level that chose a word did so since its deviate there passed a threshold t. Later levels did
not take part in that. So of the deviates pooled over this level and all later ones, each with the
root of its people as its weight, the law under "nobody has it" is that of
sqrt(r) Z1 + sqrt(1 - r) Z2 given Z1 >= t, with r the share of the people at the choosing level and
Z1, Z2 normal: what selection used up is carved out, and nothing else is lost (Fithian, Sun and
Taylor, "Optimal inference after model selection", 2014).
"""

from __future__ import annotations

import numpy as np

from rumor.core.types import Vector

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_REACH = 8.0


def carved_p_values(pooled: Vector, share: Vector, threshold: Vector) -> Vector:
    """P(sqrt(r) Z1 + sqrt(1-r) Z2 >= pooled | Z1 >= threshold), for each word."""
    from scipy.special import ndtr

    root, rest = np.sqrt(share), np.sqrt(1 - share)
    # The integrand has its mass about the threshold, or where Z1 itself explains the sum.
    low = np.maximum(threshold, root * pooled - _REACH)
    high = np.maximum(threshold, root * pooled) + _REACH
    x = low[:, None] + (high - low)[:, None] * (_NODES + 1) / 2
    beyond = ndtr(-(pooled[:, None] - root[:, None] * x) / rest[:, None])
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    mass = (density * beyond * _WEIGHTS).sum(axis=1) * (high - low) / 2
    return np.asarray(np.clip(mass / ndtr(-threshold), 0.0, 1.0))
