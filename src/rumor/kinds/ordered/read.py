"""Reading of a column of ordered answers, labels or numbers; the prompts of `rumor init`."""

from __future__ import annotations

import functools

from rumor.kinds.interviews import LABELS
from rumor.kinds.reading import Reader, positions
from rumor.mechanisms.wave.wave import Wave

ABOUT = "an answer on a scale, such as often, seldom, never"
ASKS = (LABELS,)


def reader(wave: Wave) -> Reader:
    """Return the reader that maps labels to positions, and leaves numbers unchanged."""
    if wave.labels is None:
        return Reader("number")
    return Reader("text", functools.partial(positions, wave))
