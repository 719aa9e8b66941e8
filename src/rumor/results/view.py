"""Views: how an answer is shown, from the caller's options down to table and chart."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal, TypedDict

from rumor.core.deprecation import old_names
from rumor.core.errors import InputError, format_value
from rumor.core.exact import CONFIDENCE, PLANNED
from rumor.core.types import Target, checked_target
from rumor.results.intervals import checked_level
from rumor.results.sequences import OneLook, checked_looks, make_look

Order = Literal["estimate", "given"]
ROWS_SHOWN = 20


class ViewOptions(TypedDict, total=False):
    """The options of a view by name."""

    level: float
    of: str
    simultaneous: bool
    rows: int | None
    order: str | None
    looks: str
    users: int


@old_names(filed="for_file")
@dataclass(frozen=True)
class View:
    """The intervals to show, with the number and the order of the rows.

    The order decides what an interval has to cover. In the order of the "estimate" a row is
    seen because it came out high, and intervals make up for that. In the order "given" every
    value is there whatever came out, and its interval is that of a value named in advance.
    None, for order and rows, leaves it to what is made: tables and charts show the first
    rows of the estimate, files hold every value.

    Intervals are for "one" look, at a time that does not depend on the reports, or hold at "any"
    look: at all of them together, however often the reports are read. Those are shortest once
    `users` have reported, a number to be fixed before the first look.
    """

    level: float = CONFIDENCE
    of: str = "population"
    simultaneous: bool = False
    rows: int | None = None
    order: str | None = None
    looks: str = "one"
    users: int = PLANNED

    def __post_init__(self) -> None:
        checked_level(self.level)
        checked_target(self.of)
        if checked_looks(self.looks) == "any" and self.of != "population":
            raise InputError(
                f'intervals for any look are of the "population" only; got {format_value(self.of)}'
            )
        checked_whole("users", self.users)
        if self.order not in (None, "estimate", "given"):
            raise InputError(
                f'an order must be "estimate" or "given"; got {format_value(self.order)}'
            )
        if self.rows is not None:
            checked_whole("rows", self.rows)

    @property
    def target(self) -> Target:
        """The target of the intervals."""
        return checked_target(self.of)

    @property
    def chosen(self) -> bool:
        """Whether the rows are shown because of their estimates."""
        return self.order == "estimate" and not self.simultaneous

    def look(self, reports: int) -> OneLook:
        """Return the look, or looks, at which intervals hold, where there are `reports` so far."""
        return make_look(self.looks, reports, self.users)

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


def checked_whole(name: str, number: object) -> None:
    """Check that the `number` called `name` is a whole one from 1 on."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InputError(f"{name} must be a whole number from 1 on; got {format_value(number)}")


def make_view(view: View | float | None, options: ViewOptions) -> View:
    """Return `view`, or the view of a level, changed by options that were given by name."""
    base = view if isinstance(view, View) else View() if view is None else View(level=view)
    return dataclasses.replace(base, **options)
