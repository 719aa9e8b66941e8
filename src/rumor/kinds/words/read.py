"""Reading of a column of open words; the prompts of `rumor init`."""

from __future__ import annotations

from rumor.kinds.interviews import InitPrompt
from rumor.kinds.reading import Reader
from rumor.mechanisms.open_words.open_words import OpenWords

ABOUT = "a word that nobody has listed"
ASKS: tuple[InitPrompt, ...] = ()


def reader(mechanism: OpenWords) -> Reader:
    """Return the reader of a column of texts, for any code."""
    return Reader("text")
