"""The test that two groups differ in nothing: what estimators find and results tell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Overall:
    """Which test it is, and how often chance alone gives as much."""

    test: str
    statistic: float
    freedom: int
    """Its degrees."""
    p_value: float
