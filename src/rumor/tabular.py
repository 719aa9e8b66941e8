"""What every estimate can be turned into: rows as Arrow, CSV, plain data and text."""

from __future__ import annotations

import abc
import csv
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

Columns = dict[str, list[object]]
ROWS_SHOWN = 20


class Tabular(abc.ABC):
    """An estimate as a table: whoever gives the columns has all the other forms."""

    reports: int
    epsilon: float
    method: str
    diagnostics: Mapping[str, object]

    @abc.abstractmethod
    def columns(
        self, level: float = 0.95, *, of: str = "population", simultaneous: bool = False
    ) -> Columns:
        """The estimate as columns."""

    @abc.abstractmethod
    def ranking(self, rows: int = ROWS_SHOWN) -> list[int]:
        """The indices of the rows to show first."""

    @abc.abstractmethod
    def table(
        self,
        level: float = 0.95,
        *,
        of: str = "population",
        simultaneous: bool = False,
        rows: int = ROWS_SHOWN,
    ) -> str:
        """The estimate as text."""

    def to_arrow(
        self, level: float = 0.95, *, of: str = "population", simultaneous: bool = False
    ) -> pa.Table:
        """The estimate as an Arrow table."""
        import pyarrow as pa

        return pa.table(self.columns(level, of=of, simultaneous=simultaneous))

    def to_csv(
        self, level: float = 0.95, *, of: str = "population", simultaneous: bool = False
    ) -> str:
        """The estimate as CSV text, in full precision."""
        return csv_text(self.columns(level, of=of, simultaneous=simultaneous))

    def to_dict(
        self, level: float = 0.95, *, of: str = "population", simultaneous: bool = False
    ) -> dict[str, object]:
        """The estimate as plain data for JSON: {"reports": n, "estimates": [...]}."""
        columns = self.columns(level, of=of, simultaneous=simultaneous)
        return self._plain(columns, level, of, simultaneous)

    def _plain(
        self, columns: Columns, level: float, of: str, simultaneous: bool, **beside: object
    ) -> dict[str, object]:
        """Rows of these columns as plain data, with what there is to say beside them."""
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return {
            "reports": self.reports,
            "epsilon": self.epsilon,
            "method": self.method,
            "level": level,
            "of": of,
            "simultaneous": simultaneous,
            **beside,
            "diagnostics": dict(self.diagnostics),
            "estimates": rows,
        }

    def _facts(self, of: str, simultaneous: bool) -> str:
        """The line that every table ends with."""
        jointly = ", all covering at once" if simultaneous else ""
        return (
            f"{self.reports:,} reports, epsilon {self.epsilon:.4g} each; "
            f"method {self.method}; intervals of the {of}{jointly}"
        )

    def __str__(self) -> str:
        return self.table()


def csv_text(columns: Columns) -> str:
    """Columns as CSV text, their names first."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
