"""Reading a column of words. Also: what `rumor init` asks."""

from __future__ import annotations

from rumor.kinds.interviews import InitPrompt
from rumor.kinds.reading import Reader
from rumor.mechanisms.rappor.rappor import Rappor

ABOUT = "one word of many that you can list"
ASKS: tuple[InitPrompt, ...] = ()


def reader(rappor: Rappor) -> Reader:
    """Texts, whatever the filter."""
    return Reader("text")
