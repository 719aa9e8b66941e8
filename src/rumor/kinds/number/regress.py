"""Regression of a number: least squares of unbiased reports."""

from __future__ import annotations

from rumor.mechanisms.mean import MeanMechanism


def models(mechanism: MeanMechanism) -> tuple[str, ...]:
    """Return the models of a regression."""
    return ("linear",)
