"""Everything that the five documents contain, each with the command that shows it."""

from __future__ import annotations

from collections.abc import Iterator

from rumor.papers import DOCUMENTS, paper
from rumor.papers.model import ChecklistItem


def items() -> Iterator[tuple[str, str, ChecklistItem]]:
    """Yield the number of the document, the name of its paper, and the item."""
    for number, name in DOCUMENTS.items():
        for entry in paper(name).checklist:
            yield number, name, entry


def rows() -> list[tuple[str, str, str, str]]:
    """Return a row per item: document, item, description, and command (or why there is none)."""
    return [
        (number, entry.what, entry.says, entry.shown or f"none: {entry.note}")
        for number, _, entry in items()
    ]


def items_sentence() -> str:
    """Return the number of items in a sentence."""
    found = list(items())
    without = sum(not entry.shown for _, _, entry in found)
    text = (
        f"{len(found)} items of {len(DOCUMENTS)} documents, {len(found) - without} with a command"
    )
    return f"{text}, {without} refused with a reason." if without else f"{text}."
