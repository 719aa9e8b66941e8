"""What a verb looks at: the options that commands have in common, as axes."""

from __future__ import annotations

from dataclasses import dataclass

FORMS = ("all", "groups", "weights", "periods", "methods")
"""What a verb makes of the rows: see `Commands._options`."""
SPANS = ("every", "window")
"""Of which days the rows are."""
TROUBLES = ("none", "repeated", "invalid")
"""What is among the rows and must be left out."""


@dataclass(frozen=True, order=True)
class Look:
    """A verb and the rows that it looks at."""

    verb: str
    form: str = "all"
    span: str = "every"
    trouble: str = "none"
