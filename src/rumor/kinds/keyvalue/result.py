"""The estimated frequency and mean of every key.

As with frequencies, three results stay apart: the method's answer, the linear (unbiased) estimate
with its standard error, and the confidence interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from rumor.core.errors import InputError, format_value
from rumor.core.exact import CONFIDENCE, PLANNED
from rumor.core.plain_text import (
    aligned,
    bar,
    decimals_for,
    digits_for,
    one_line,
    percent,
    rows_left_out,
    wrapped,
)
from rumor.core.types import Rows, Vector, checked_target
from rumor.kinds.keyvalue.intervals import KeyIntervals
from rumor.mechanisms.cap_sampling import Kept
from rumor.results.intervals import Bounds, EqualTails, Tails, share_ends
from rumor.results.rows import Column
from rumor.results.selection import RankedRows, both_sided_tails, split_tails
from rumor.results.view import ROWS_SHOWN, View, ViewOptions

if TYPE_CHECKING:
    import altair as alt

QUANTITIES = ("frequency", "mean")


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyValueEstimate(RankedRows):
    """The share of people with each key, and the mean of their values.

    `frequency` and `mean` are the method's answers. `unbiased` (of the frequency) and `product`
    (of frequency times mean, values scaled to [-1, 1]) are linear estimates; `stderr` and
    `mean_stderr` are the standard errors of `unbiased` and of the ratio of the two.
    `frequency_known` and `mean_known` mark the keys with informative reports; elsewhere the answer
    is no better than the prior.
    """

    _COVERED = (
        "intervals adjusted for ranking: on average at least {level} of those shown contain the "
        "true share, and as many the true mean"
    )
    _NAMED = "a key"
    ANY_LOOK: ClassVar[bool] = True

    mean: Vector = field(repr=False)
    product: Vector = field(repr=False)
    mean_stderr: Vector = field(repr=False)
    frequency_known: np.ndarray[tuple[int], np.dtype[np.bool_]] = field(repr=False)
    mean_known: np.ndarray[tuple[int], np.dtype[np.bool_]] = field(repr=False)
    range: tuple[float, float]
    intervals: KeyIntervals = field(repr=False)
    kept: Kept | None = None
    """The effect of the cap, where a report draws from fewer keys than a person may have."""

    def interval(
        self,
        level: float = CONFIDENCE,
        *,
        quantity: str = "frequency",
        of: str = "population",
        simultaneous: bool = False,
        looks: str = "one",
        users: int = PLANNED,
    ) -> Bounds:
        """Return a confidence interval for the "frequency" or the "mean" of every key.

        A key must be named in advance; keys at the top of the estimate are covered less often. The
        intervals are Clopper and Pearson's for frequencies and Fieller's for means: the whole
        range where the key is too rare. They are for the population: a report is about keys drawn
        at random, so these people differ from the population by next to nothing. Each key's
        interval covers with the given level; when `simultaneous`, all intervals of a quantity
        cover at once. They are for "one" of the `looks` at the reports, or hold at "any" look,
        where they are shortest once `users` have reported.
        """
        view = View(level, of, simultaneous, order="given", looks=looks, users=users)
        return self.bounds(range(len(self.values)), view, quantity)

    def bounds(self, rows: Sequence[int], view: View, quantity: str = "frequency") -> Bounds:
        """Return the intervals of the keys `rows`, as the `view` covers them.

        In the order of the estimate, keys were selected for their share, so the lower tail of the
        share is adjusted. Their means were not selected, but may depend on the selection in either
        direction, so both tails are adjusted.
        """
        self._require(view.of)
        places, count = np.asarray(rows, dtype=np.intp), len(self.values)
        if not view.chosen:
            items = count if view.simultaneous else 1
            alike = EqualTails.of(view.level, items, self.look(view)).rows(places.size)
            return self._ends(places, quantity, alike)
        pay = split_tails if quantity == "frequency" else both_sided_tails
        # A longer list is read from its top as well: its first rows are covered as if alone.
        first = min(places.size, ROWS_SHOWN)
        tails = pay(view.level, places.size, first, count, self.look(view))
        return self._ends(places, quantity, tails)

    def _require(self, of: str) -> None:
        if checked_target(of) != "population":
            raise InputError(
                'key-value estimates have intervals of the "population" only; got '
                f"{format_value(of)}"
            )

    def _ends(self, rows: Rows, quantity: str, tails: Tails) -> Bounds:
        if quantity == "frequency":
            low, high = self.intervals.frequency(rows, tails)
            reach = 2 * np.nan_to_num(self.stderr[rows], nan=0.0, posinf=1.0)
            # Noise may bring a whole interval below 0 or above 1, where it is clipped.
            low, high = share_ends(low, high, np.where(high > low, 0.0, reach))
            answer, limits = self.frequency[rows], (0.0, 1.0)
        elif quantity == "mean":
            low, high = self.intervals.mean(rows, tails)
            answer, limits = self.mean[rows], self.range
        else:
            raise InputError(
                f"an interval's quantity must be one of {', '.join(QUANTITIES)}; "
                f"got {format_value(quantity)}"
            )
        low, high, answer = (np.clip(x, *limits) for x in (low, high, answer))
        # fmin and fmax: an unknown answer widens no interval.
        return np.fmin(low, answer), np.fmax(high, answer)

    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        """Return a row for each key; NaN where there is no answer becomes None."""
        places = np.asarray(rows, dtype=np.intp)
        cells: dict[str, Column] = {"value": [self.values[i] for i in rows]}
        for quantity, answer, error, known in (
            ("frequency", self.frequency, self.stderr, self.frequency_known),
            ("mean", self.mean, self.mean_stderr, self.mean_known),
        ):
            low, high = self.bounds(rows, view, quantity)
            prefix = "" if quantity == "frequency" else "mean_"
            cells[quantity] = _plain(answer[places])
            cells[f"{prefix}low"], cells[f"{prefix}high"] = _plain(low), _plain(high)
            cells[f"{prefix}stderr"] = _plain(error[places])
            cells[f"{prefix}known"] = known[places]
        cells["unbiased"] = _plain(self.unbiased[places])
        cells["product"] = _plain(self.product[places])
        return cells

    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return the most frequent keys as text; a ? marks answers that are no better than
        the prior.
        """
        seen = self.checked_view(view, options).on_screen()
        order = self.row_indices(seen)
        low, high = self.bounds(order, seen)
        mlow, mhigh = self.bounds(order, seen, "mean")
        digits = decimals_for(_least(self.stderr[order]))
        decimals = digits_for(_least(self.mean_stderr[order]))
        full = float(np.nan_to_num(self.frequency[order]).max())

        def share(number: float) -> str:
            return "none" if np.isnan(number) else percent(number, digits)

        def mean(number: float) -> str:
            return "none" if np.isnan(number) else f"{number:.{decimals}f}"

        body = [
            (
                one_line(self.values[i]),
                share(self.frequency[i]) + ("" if self.frequency_known[i] else " ?"),
                f"{share(low[k])} to {share(high[k])}",
                mean(self.mean[i]) + ("" if self.mean_known[i] else " ?"),
                f"{mean(mlow[k])} to {mean(mhigh[k])}",
                bar(float(np.nan_to_num(self.frequency[i])), full),
            )
            for k, i in enumerate(order)
        ]
        level = f"{percent(seen.level)} interval"
        head = ("key", "share", level, "mean", level)
        lines = [aligned((*head, ""), body, left=(0, 5))]
        lines += rows_left_out(len(self.values) - len(order), "less frequent key")
        unknown = int((~self.mean_known).sum() + (~self.frequency_known).sum())
        if unknown:
            lines.append(f"? marks estimates that rest on the prior alone: {unknown:,}")
        return "\n".join([*lines, *self.footer(seen), *map(wrapped, self.notes), *self.warnings])

    @property
    def notes(self) -> list[str]:
        """Sentences on the effect of the cap on shares and means; none without a cap."""
        return [] if self.kept is None else [self.kept.interval_sentence]

    def extra_fields(self, view: View) -> dict[str, object]:
        """Return the cap and its effect."""
        cap = len(self.values) if self.kept is None else self.kept.cap
        return {"cap": cap, "notes": self.notes}

    def picture(
        self, view: View, title: str | None, truth: tuple[Vector, Vector] | None
    ) -> alt.HConcatChart:
        """Return a chart of shares and means side by side with their intervals."""
        from rumor.kinds.keyvalue.picture import keyvalue_chart

        return keyvalue_chart(self, view, title, truth)


def _least(errors: Vector) -> float:
    known = errors[np.isfinite(errors)]
    return float(known.min()) if known.size else 0.0


def _plain(numbers: Vector) -> list[object]:
    return [None if np.isnan(number) else float(number) for number in numbers]
