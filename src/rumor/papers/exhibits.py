"""What a paper shows beside its claims: tables, and figures of points to be drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table that is no list of claims."""

    name: str
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    @classmethod
    def of_rows(cls, name: str, title: str, rows: Sequence[Mapping[str, str]]) -> Table:
        """One whose rows say what stands over each cell."""
        return cls(name, title, tuple(rows[0]), [tuple(row.values()) for row in rows])


@dataclass(frozen=True)
class Point:
    """A point of a figure; low and high are the ends of its error bar."""

    series: str
    x: float
    y: float
    facet: str = ""
    low: float | None = None
    high: float | None = None
    text: str = ""
    """What stands in the cell of a grid."""


@dataclass(frozen=True)
class Figure:
    """Points to be drawn, a panel for each facet."""

    name: str
    title: str
    x: str
    y: str
    points: Sequence[Point]
    kind: str = "line"
    """"line", "bar", "tick", or "grid": a matrix, whose rows are series and columns x."""
    log_x: bool = False
    log_y: bool = False
    columns: int = 3
    shared: bool = True
    """Whether all panels have one vertical scale."""
    note: str = ""
