"""Numbers in a table: a column of them, as it is."""

from __future__ import annotations

from rumor.kinds.reading import Reader
from rumor.mechanisms.mean import MeanMechanism


def reader(mechanism: MeanMechanism) -> Reader:
    """Numbers, whatever the mechanism."""
    return Reader("number")
