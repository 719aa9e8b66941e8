"""Views: how an answer is shown, from the caller's options down to table and chart."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal, TypedDict

from rumor.core.deprecation import old_names
from rumor.core.errors import InputError, format_value
from rumor.core.exact import CONFIDENCE
from rumor.core.types import Target, checked_target
from rumor.results.intervals import checked_level

Order = Literal["estimate", "given"]
ROWS_SHOWN = 20


class ViewOptions(TypedDict, total=False):
    """The options of a view by name."""

    level: float
    of: str
    simultaneous: bool
    rows: int | None
    order: str | None


@old_names(filed="for_file")
@dataclass(frozen=True)
class View:
    """The intervals to show, with the number and the order of the rows.

    The order decides what an interval has to cover. In the order of the "estimate" a row is
    seen because it came out high, and intervals make up for that. In the order "given" every
    value is there whatever came out, and its interval is that of a value named in advance.
    None, for order and rows, leaves it to what is made: tables and charts show the first
    rows of the estimate, files hold every value.
    """

    level: float = CONFIDENCE
    of: str = "population"
    simultaneous: bool = False
    rows: int | None = None
    order: str | None = None

    def __post_init__(self) -> None:
        checked_level(self.level)
        checked_target(self.of)
        if self.order not in (None, "estimate", "given"):
            raise InputError(
                f'an order must be "estimate" or "given"; got {format_value(self.order)}'
            )
        if self.rows is not None and (
            isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 1
        ):
            raise InputError(
                f"rows must be a whole number from 1 on; got {format_value(self.rows)}"
            )

    @property
    def target(self) -> Target:
        """The target of the intervals."""
        return checked_target(self.of)

    @property
    def chosen(self) -> bool:
        """Whether the rows are shown because of their estimates."""
        return self.order == "estimate" and not self.simultaneous

    def on_screen(self) -> View:
        """Return the view of a table or a chart: by default the first rows of the estimate."""
        return dataclasses.replace(
            self, rows=self.rows or ROWS_SHOWN, order=self.order or "estimate"
        )

    def for_file(self, listing: Order) -> View:
        """Return the view of a file: every row in the order of
        `listing`; if rows are limited, the first.
        """
        unsaid = "estimate" if self.rows is not None else listing
        return dataclasses.replace(self, order=self.order or unsaid)


def make_view(view: View | float | None, options: ViewOptions) -> View:
    """Return `view`, or the view of a level, changed by options that were given by name."""
    base = view if isinstance(view, View) else View() if view is None else View(level=view)
    return dataclasses.replace(base, **options)
