"""Reading of a column of words; the prompts of `rumor init`."""

from __future__ import annotations

from rumor.kinds.interviews import InitPrompt
from rumor.kinds.reading import Reader
from rumor.mechanisms.rappor.rappor import Rappor

ABOUT = "one word of many that you can list"
ASKS: tuple[InitPrompt, ...] = ()


def reader(rappor: Rappor) -> Reader:
    """Return the reader of a column of texts, for any filter."""
    return Reader("text")
