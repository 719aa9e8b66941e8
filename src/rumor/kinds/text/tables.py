"""Words in a table: a column of them, as it is."""

from __future__ import annotations

from rumor.kinds.reading import Reader
from rumor.mechanisms.rappor import Rappor


def reader(rappor: Rappor) -> Reader:
    """Texts, whatever the filter."""
    return Reader("text")
