"""Reading a column of numbers. Also: what `rumor init` asks."""

from __future__ import annotations

from rumor.kinds.interviews import HIGH, LOW
from rumor.kinds.reading import Reader
from rumor.mechanisms.mean import MeanMechanism

ABOUT = "a number"
ASKS = (LOW, HIGH)


def reader(mechanism: MeanMechanism) -> Reader:
    """Numbers, whatever the mechanism."""
    return Reader("number")
