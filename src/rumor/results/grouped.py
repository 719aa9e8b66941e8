"""Estimates of several groups, as one object with a row for each estimate of each group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from rumor.core.extras import import_optional
from rumor.core.plain_text import one_line
from rumor.results.rows import Columns, csv_text
from rumor.results.view import View, ViewOptions


class GroupedEstimates(dict[str, Any]):
    """The estimates of groups by their names, in order: `estimates["DE"]` is that of one group."""

    def __init__(self, by: str, estimates: dict[str, Any]) -> None:
        super().__init__(estimates)
        self.by = by
        """The public column, the period, or several of them, that groups are of."""

    def columns(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> Columns:
        """Return the rows of all groups, column by column; `stratum` says whose each row is."""
        whole: Columns = {}
        for name, estimate in self.items():
            columns = estimate.columns(view, **options)
            rows = len(next(iter(columns.values())))
            for key, column in {"stratum": [name] * rows, **columns}.items():
                whole.setdefault(key, []).extend(column)
        return whole

    def to_pandas(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> Any:
        """Return the rows of all groups as a pandas DataFrame."""
        pandas = import_optional("pandas", "a pandas DataFrame")
        return pandas.DataFrame(self.columns(view, **options))

    def to_polars(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> Any:
        """Return the rows of all groups as a Polars DataFrame."""
        polars = import_optional("polars", "a Polars DataFrame")
        return polars.DataFrame(self.columns(view, **options))

    def to_csv(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return the rows of all groups as CSV text, in full precision."""
        return csv_text(self.columns(view, **options))

    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return a table for each group as text."""
        return self._each(lambda estimate: estimate.table(view, **options))

    def summary(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return the table of each group as text between rules, as statistics packages do."""
        return self._each(lambda estimate: estimate.summary(view, **options))

    def _each(self, make: Callable[[Any], str]) -> str:
        """Return the text that `make` returns of each group's estimate, below the group's name."""
        return "\n\n".join(
            f"{self.by} = {one_line(name)}\n{make(estimate)}" for name, estimate in self.items()
        )

    def to_markdown(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return the tables of all groups as Markdown."""
        from rumor.results.publication import as_markdown

        return as_markdown(lambda: self.table(view, **options))

    def to_latex(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return the tables of all groups as LaTeX, for a paper that uses booktabs."""
        from rumor.results.publication import as_latex

        return as_latex(lambda: self.table(view, **options))

    def __str__(self) -> str:
        return self.table()
