"""Regression of a set: least squares of the share of each option."""

from __future__ import annotations

from rumor.mechanisms.sets import SetMechanism


def models(mechanism: SetMechanism) -> tuple[str, ...]:
    """Return the models of a regression."""
    return ("linear",)
