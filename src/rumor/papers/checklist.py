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


def missing(entry: ChecklistItem, printed: str) -> list[str]:
    """Return the texts of `entry.prints` that are not in what its command `printed`.

    Any run of spaces and line ends is one space, on both sides.
    """
    plain = " ".join(printed.split())
    return [text for text in entry.prints if " ".join(text.split()) not in plain]


def items_sentence() -> str:
    """Return the number of items in a sentence."""
    found = [entry for _, _, entry in items() if not entry.beyond]
    without = sum(not entry.shown for entry in found)
    own = sum(entry.beyond for _, _, entry in items())
    text = (
        f"{len(found)} items of {len(DOCUMENTS)} documents, {len(found) - without} with a command"
    )
    text = f"{text}, {without} without one for a reason" if without else text
    return f"{text}; {own} more go beyond the documents." if own else f"{text}."
