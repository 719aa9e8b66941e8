"""Tabular estimates: rows as Arrow, CSV, plain data and text."""

from __future__ import annotations

import abc
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from rumor.core.checks import nearest
from rumor.core.deprecation import old_names
from rumor.core.errors import InputError
from rumor.core.extras import explain_missing_extra, import_optional
from rumor.core.files import PathLike
from rumor.core.plain_text import percent, wrapped
from rumor.core.types import Vector
from rumor.results.sequences import OneLook
from rumor.results.shares import Share
from rumor.results.view import ROWS_SHOWN as ROWS_SHOWN
from rumor.results.view import Order, View, ViewOptions, make_view

if TYPE_CHECKING:
    import pyarrow as pa

Columns = dict[str, list[object]]

TARGETS = {"population": "the population", "people": "these respondents"}
"""The targets of intervals, in words."""
VALID_FOR = {"one": "valid for one look", "any": "valid at any look"}
"""The looks at which intervals hold, in words."""
Column = NDArray[Any] | Sequence[object]


# Characters that spreadsheets take for the beginning of a formula, wide forms included.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_PARTS = re.compile('[,;"\t\r\n]')
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")


class EstimateRow(dict[str, Any]):
    """One row of an estimate; its columns are attributes as well."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f"the row has no column {name!r}; it has {', '.join(self)}")


@old_names(listed="row_indices", covers="coverage_sentence")
@dataclass(frozen=True, eq=False, kw_only=True)
class Tabular(abc.ABC):
    """An estimate as a table: a subclass gives the columns, and all other forms follow.

    A method takes a `View`, a level, or options by name: level, of, simultaneous, rows, order,
    looks and users.
    """

    LISTING: ClassVar[Order] = "given"
    """The order of rows in files, unless one is asked for."""
    ANY_LOOK: ClassVar[bool] = False
    """Whether there are intervals that hold at any look."""
    _ONE_LOOK: ClassVar[str] = "these intervals are valid for one look"
    """The reason why there are none."""

    reports: int
    epsilon: float
    """The loss of one report; of several mechanisms, the largest."""
    method: str
    diagnostics: Mapping[str, object] = field(default_factory=dict)

    @abc.abstractmethod
    def row_indices(self, view: View) -> list[int]:
        """Return the indices of the rows of a view, in its order."""

    @abc.abstractmethod
    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        """Return `rows` as columns, with intervals that cover them as `view` says."""

    @abc.abstractmethod
    def coverage_sentence(self, view: View) -> str:
        """Return which rows the intervals of a view cover, in one sentence."""

    @abc.abstractmethod
    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return the estimate as text."""

    @abc.abstractmethod
    def picture(self, view: View, title: str | None, truth: Any) -> Any:
        """Return a view of the estimate as a chart, beside the truth if it is known."""

    def checked_view(self, view: View | float | None, options: ViewOptions) -> View:
        """Return `view` changed by `options`; refuse any look where intervals are for one look."""
        asked = make_view(view, options)
        self.look(asked)
        return asked

    def look(self, view: View) -> OneLook:
        """Return the look, or looks, at which the intervals of `view` hold."""
        if view.looks != "one" and not self.ANY_LOOK:
            raise InputError(f'looks must be "one" here: {self._ONE_LOOK}; got "{view.looks}"')
        return view.look(self.reports)

    def plot(
        self,
        path: PathLike | None = None,
        view: View | float | None = None,
        *,
        title: str | None = None,
        truth: Any = None,
        width: float | None = None,
        **options: Unpack[ViewOptions],
    ) -> Any:
        """Return the estimate as a chart (Altair's), written to `path` if there is one.

        The suffix of `path` gives the format: .html, .png or .svg. A .png or .svg file may have a
        `width` in millimetres.
        """
        from rumor.results.chart_files import save_if_named

        with explain_missing_extra("a chart"):
            chart = self.picture(self.checked_view(view, options), title, truth)
            return save_if_named(chart, path, width)

    def columns(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> Columns:
        """Return the estimate as columns: every value in its order,
        or the first of the estimate.
        """
        filed = self.checked_view(view, options).for_file(self.LISTING)
        found = self.cells(self.row_indices(filed), filed)
        return {
            name: column.tolist() if isinstance(column, np.ndarray) else list(column)
            for name, column in found.items()
        }

    def to_arrow(
        self, view: View | float | None = None, **options: Unpack[ViewOptions]
    ) -> pa.Table:
        """Return the estimate as an Arrow table."""
        arrow: Any = import_optional("pyarrow", "an Arrow table")
        return arrow.table(self.columns(view, **options))

    def to_pandas(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> Any:
        """Return the estimate as a pandas DataFrame."""
        pandas = import_optional("pandas", "a pandas DataFrame")
        return pandas.DataFrame(self.columns(view, **options))

    def to_polars(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> Any:
        """Return the estimate as a Polars DataFrame."""
        polars = import_optional("polars", "a Polars DataFrame")
        return polars.DataFrame(self.columns(view, **options))

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        """Return the dataframe interchange protocol: any library
        that speaks it can take the rows.
        """
        return self.to_arrow().__dataframe__(nan_as_null, allow_copy)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as an Arrow stream."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __getitem__(self, name: object) -> EstimateRow:
        """Return the row of a value that was named in advance; a tuple names the first columns."""
        asked = name if isinstance(name, tuple) else (name,)
        columns = self.columns(View(order="given"))
        heads = list(columns.values())[: len(asked)]
        for place, found in enumerate(zip(*heads, strict=True)):
            if found == asked:
                return EstimateRow((key, column[place]) for key, column in columns.items())
        known = [str(value) for value in heads[0]]
        raise InputError(f"the estimate has no row of {nearest(str(asked[0]), known)}")

    def __iter__(self) -> Iterator[EstimateRow]:
        """Yield row by row, in the order of a file."""
        columns = self.columns()
        for row in zip(*columns.values(), strict=True):
            yield EstimateRow(zip(columns, row, strict=True))

    def _repr_html_(self) -> str:
        """Return the chart, if charts can be drawn, and the first rows, for notebooks."""
        from rumor.results.notebook import notebook_html

        return notebook_html(self)

    def to_csv(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return the estimate as CSV text, in full precision."""
        return csv_text(self.columns(view, **options))

    def to_markdown(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return the table of the estimate as Markdown."""
        from rumor.results.publication import as_markdown

        return as_markdown(lambda: self.table(view, **options))

    def to_latex(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return the table of the estimate as LaTeX, for a paper that uses booktabs."""
        from rumor.results.publication import as_latex

        return as_latex(lambda: self.table(view, **options))

    def summary(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return the table of the estimate as text between rules, as statistics packages do."""
        from rumor.results.publication import as_summary

        seen = self.checked_view(view, options)
        facts = (
            ("Method", self.method),
            ("Reports", f"{self.reports:,}"),
            ("Epsilon per report", f"{self.epsilon:.4g}"),
            ("Confidence level", percent(seen.level)),
            ("Intervals for", TARGETS[seen.of]),
            ("Valid for", f"{seen.looks} look"),
        )
        return as_summary(lambda: self.table(seen), facts)

    def to_dict(
        self, view: View | float | None = None, **options: Unpack[ViewOptions]
    ) -> dict[str, object]:
        """Return the estimate as plain data for JSON: {"reports": n, "estimates": [...]}."""
        filed = self.checked_view(view, options).for_file(self.LISTING)
        columns = self.columns(filed)
        return {
            "reports": self.reports,
            "epsilon": self.epsilon,
            "method": self.method,
            "level": filed.level,
            "of": filed.of,
            "simultaneous": filed.simultaneous,
            "looks": filed.looks,
            "order": filed.order,
            "covers": self.coverage_sentence(filed),
            "explanation": [*self.details(filed), *self.warnings],
            **self.extra_fields(filed),
            "diagnostics": dict(self.diagnostics),
            "estimates": [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ],
        }

    def together(self, values: Sequence[int | str], view: View) -> Share:
        """Return the share of several values together, if an estimate is of values people hold."""
        raise InputError(
            "shares of several values need the counts of a frequency oracle or a channel that can "
            "be inverted; this estimate has none"
        )

    def extra_fields(self, view: View) -> dict[str, object]:
        """Return the plain data besides the rows, at the level of a `view`."""
        return {}

    def footer(self, view: View) -> list[str]:
        """Return the lines under a table: at most three, each complete by itself."""
        return [
            f"{self.reports:,} reports, epsilon {self.epsilon:.4g} per report; "
            f"method {self.method}{self._validity(view)}",
            self.coverage_sentence(view),
        ]

    def _validity(self, view: View) -> str:
        """Return the target and the looks of the intervals of a `view`, to end a line."""
        return f"; confidence intervals for {TARGETS[view.of]}, {VALID_FOR[view.looks]}"

    def details(self, view: View) -> list[str]:
        """Return further sentences about the numbers, each complete by itself."""
        return poisoning_line(self.diagnostics)

    @property
    def warnings(self) -> list[str]:
        """The problems of the estimate, in sentences; tables always show them."""
        warning = self.diagnostics.get("warning")
        return [] if warning is None else [f"note: {warning}"]

    def explain(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return as text the sentences that the footer of a table leaves out (`--explain`)."""
        return "\n".join(
            wrapped(line) for line in self.details(self.checked_view(view, options).on_screen())
        )

    def __str__(self) -> str:
        return self.table()


def poisoning_line(diagnostics: Mapping[str, object]) -> list[str]:
    """Return how far fake reports could move an estimate, if `diagnostics` has the bound."""
    bound = diagnostics.get("fake_clients")
    return [str(bound["sentence"])] if isinstance(bound, Mapping) else []


def coverage(view: View, values: int, ranked: str, named: str) -> str:
    """Return the coverage of the intervals of a `view`, as a sentence.

    `ranked` is the sentence's end for rows that are shown because of their estimates; `named` is
    the word for a single row.
    """
    if view.chosen and not view.simultaneous:
        return ranked.format(level=percent(view.level))
    return all_or_each(view, values, named)


def all_or_each(view: View, values: int, named: str) -> str:
    """Return the coverage of rows that are shown whatever their estimates are."""
    level = percent(view.level)
    if view.simultaneous:
        return f"simultaneous {level} confidence intervals: all {values:,} hold together"
    return f"{level} confidence intervals, each for {named} chosen before seeing the data"


def finite(numbers: Sequence[float] | Vector) -> list[object]:
    """Return numbers as a column, unknown ones as None."""
    return [float(x) if np.isfinite(x) else None for x in numbers]


def csv_text(columns: Columns) -> str:
    """Return columns as CSV text, their names first.

    A spreadsheet runs a text that begins like a formula; an apostrophe in front keeps it a text.
    """
    rows = [columns, *zip(*columns.values(), strict=True)]
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    if isinstance(value, str) and text.startswith(_FORMULA) and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    # Spreadsheets also split at semicolons and tabs, and lines at every kind of end.
    return '"' + text.replace('"', '""') + '"' if _PARTS.search(text) else text
