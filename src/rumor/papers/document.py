"""The documents: what each is called and a checklist of all it contains (documents/NAME.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rumor.papers.exhibits import Figure, Table
from rumor.papers.model import Cell, Claim, Entry, Paper, Results


def paper_of(
    document: str,
    *,
    cells: Sequence[Cell],
    claims: Sequence[Claim] = (),
    tables: Callable[[Results], Sequence[Table]],
    figures: Callable[[Results], Sequence[Figure]],
) -> Paper:
    """A document, reproduced by these cells."""
    file = Path(__file__).parent / "documents" / f"{document}.toml"
    said = tomllib.loads(file.read_text(encoding="utf-8"))
    checklist = [_entry(**entry) for entry in said["entry"]]
    made = cells, claims, tables, figures
    return Paper(document, said["title"], said["source"], checklist, *made)


def _entry(what: str, says: str, code: Sequence[str] = (), **rest: Any) -> Entry:
    return Entry(what, says, tuple(code), **rest)
