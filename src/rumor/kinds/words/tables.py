"""Open words in a table: a column of them, as it is."""

from __future__ import annotations

from rumor.kinds.reading import Reader
from rumor.mechanisms.open_words import OpenWords


def reader(mechanism: OpenWords) -> Reader:
    """Texts, whatever the code."""
    return Reader("text")
