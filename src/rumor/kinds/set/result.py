"""Shares of options, of which a person may choose several; and of pairs, where they are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Unpack

from rumor.core.plain_text import rows_left_out, wrapped
from rumor.mechanisms.cap_sampling import Kept
from rumor.results.estimate import Estimate
from rumor.results.rows import Column
from rumor.results.view import View, ViewOptions


@dataclass(frozen=True, eq=False, kw_only=True)
class PairEstimate(Estimate):
    """The share of people who chose both of two options, for every pair."""

    members: Sequence[tuple[int | str, int | str]]
    _ASIDE: ClassVar[tuple[str, str]] = ("chosen together", "std. error")

    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        """Return the columns first, second, frequency, low, high, unbiased and stderr."""
        found = super().cells(rows, view)
        del found["value"]
        first, second = ([self.members[i][side] for i in rows] for side in (0, 1))
        return {"first": first, "second": second, **found}


@dataclass(frozen=True, eq=False, kw_only=True)
class SetEstimate(Estimate):
    """The share of people who chose each option: shares have no sum."""

    cap: int
    """The largest number of a person's options that a report draws from."""
    kept: Kept | None = None
    """The effect of the cap, where the cap is below the number of options."""
    pairs: PairEstimate | None = None
    """The estimate of pairs, where pairs are counted."""
    _ASIDE: ClassVar[tuple[str, str]] = ("option", "std. error")

    def extra_fields(self, view: View) -> dict[str, object]:
        """Return the cap, its effect, and the estimate of pairs where pairs are counted."""
        told = {**super().extra_fields(view), "cap": self.cap, "notes": self.notes}
        if self.pairs is None:
            return told
        columns = self.pairs.columns(view)
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        return {**told, "pairs": list(rows)}

    @property
    def notes(self) -> list[str]:
        """Sentences on the effect of the cap on shares; none without a cap."""
        return [] if self.kept is None else [self.kept.interval_sentence]

    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return the most frequent options as text, then the most frequent pairs."""
        text = "\n".join([super().table(view, **options), *map(wrapped, self.notes)])
        if self.pairs is None:
            return text
        seen = self.checked_view(view, options).on_screen()
        order = self.pairs.row_indices(seen)
        rest = rows_left_out(len(self.pairs.values) - len(order), "less frequent pair")
        shown = self.pairs._shares(order, seen)
        return "\n".join([text, "", shown, *rest, self.pairs.coverage_sentence(seen)])
