"""Reading a column of open words. Also: what `rumor init` asks."""

from __future__ import annotations

from rumor.kinds.interviews import InitPrompt
from rumor.kinds.reading import Reader
from rumor.mechanisms.open_words.open_words import OpenWords

ABOUT = "a word that nobody has listed"
ASKS: tuple[InitPrompt, ...] = ()


def reader(mechanism: OpenWords) -> Reader:
    """Texts, whatever the code."""
    return Reader("text")
