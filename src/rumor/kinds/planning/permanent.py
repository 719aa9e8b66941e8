"""Permanent noise for a wish: f, p and q from the loss of one report and of all of them.

With h bits to an answer, any number of reports costs 2 h ln((1 - f/2) / (f/2)), which fixes
f. Given f, the least noise at a given loss of one report has q* = 1/2 and
p* = 1 / (1 + e^(epsilon/h)), as optimised unary encoding; p and q follow, since
p* = (f/2) q + (1 - f/2) p and q* the other way round. Where that would need p < 0 (the
lifetime is short of about twice epsilon), p = 0 and q is as large as epsilon allows.
Numbers are rounded to six decimals, towards privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rumor.core.errors import InputError

_UNITS = 1_000_000
# What all reports may cost by default: this many times one report.
LIFETIME = 2.0


@dataclass(frozen=True)
class PermanentNoise:
    """RAPPOR's three numbers."""

    f: float
    p: float
    q: float


def permanent_noise(epsilon: float, lifetime: float, hashes: int = 1) -> PermanentNoise:
    """The noise of least variance with these losses, one report and any number of them."""
    if lifetime < epsilon:
        raise InputError(
            f"the lifetime must be at least the epsilon of one report, {epsilon:g}; "
            f"got {lifetime:g}"
        )
    f = _up(2 / (1 + math.exp(lifetime / (2 * hashes))))
    half = f / 2
    p_star = 1 / (1 + math.exp(epsilon / hashes))
    p = ((1 - half) * p_star - half / 2) / (1 - f)
    q = ((1 - half) / 2 - half * p_star) / (1 - f)
    if p < 0:
        p, q = 0.0, _largest_q(half, epsilon / hashes)
    return PermanentNoise(f, _up(max(p, 0.0)), _down(min(q, 1.0)))


def _largest_q(half: float, epsilon: float) -> float:
    """The largest q at which one bit with p = 0 loses at most epsilon."""

    def loss(q: float) -> float:
        high, low = (1 - half) * q, half * q
        return math.log(high * (1 - low) / (low * (1 - high)))

    low, high = 0.0, 1.0
    if loss(1.0) <= epsilon:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) <= epsilon else (low, middle)
    return low


def _up(x: float) -> float:
    return math.ceil(x * _UNITS) / _UNITS


def _down(x: float) -> float:
    return math.floor(x * _UNITS) / _UNITS
