"""Reading of a column of numbers; the prompts of `rumor init`."""

from __future__ import annotations

from rumor.kinds.interviews import HIGH, LOW
from rumor.kinds.reading import Reader
from rumor.mechanisms.mean import MeanMechanism

ABOUT = "a number"
ASKS = (LOW, HIGH)


def reader(mechanism: MeanMechanism) -> Reader:
    """Return the reader of a column of numbers, for any `mechanism`."""
    return Reader("number")
