"""Reading a column of ordered answers: labels, or numbers. Also: what `rumor init` asks."""

from __future__ import annotations

import functools

from rumor.kinds.interviews import LABELS
from rumor.kinds.reading import Reader, positions
from rumor.mechanisms.wave.wave import Wave

ABOUT = "an answer on a scale, such as often, seldom, never"
ASKS = (LABELS,)


def reader(wave: Wave) -> Reader:
    """Positions of labels, or numbers as they are."""
    if wave.labels is None:
        return Reader("number")
    return Reader("text", functools.partial(positions, wave))
