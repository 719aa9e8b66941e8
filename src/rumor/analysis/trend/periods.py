"""Periods of a trend: the summaries of days, put together by day or week."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np

from rumor.core.checks import checked_choice
from rumor.core.errors import InputError, format_value
from rumor.core.types import Vector
from rumor.mechanisms.summary import Summary

EVERY = ("day", "week")


@dataclass(frozen=True)
class Periods:
    """Summaries of reports by period, in order; each period begins at `starts`."""

    every: str
    starts: tuple[datetime.date, ...]
    lasts: tuple[datetime.date, ...]
    summaries: tuple[Summary, ...]

    @classmethod
    def of(
        cls,
        days: Mapping[datetime.date, Summary],
        every: str,
        spans: Mapping[datetime.date, datetime.date] | None = None,
    ) -> Periods:
        """Return the summaries of `days` by period; `spans` gives the last day of a span of days.

        Spans that reach into a later period join it: their days cannot be told apart.
        """
        length = 7 if checked_choice("every", every, EVERY) == "week" else 1
        lasts: dict[datetime.date, datetime.date] = {}
        parts: dict[datetime.date, list[Summary]] = {}
        for day in sorted(days):
            start, end = _start(day, length), _start((spans or {}).get(day, day), length)
            before = next(reversed(lasts), None)
            if before is not None and start <= lasts[before]:
                start = before
            lasts[start] = max(end, lasts.get(start, end))
            parts.setdefault(start, []).append(days[day])
        whole = [reduce(lambda one, other: one + other, some) for some in parts.values()]
        return cls(every, tuple(parts), tuple(lasts.values()), tuple(whole))

    @property
    def length(self) -> int:
        """The days of a period."""
        return 7 if self.every == "week" else 1

    @property
    def names(self) -> list[str]:
        """The first day of each period; of several periods put together, the last day too."""
        return [
            first.isoformat()
            if first == last
            else f"{first}..{last + datetime.timedelta(days=self.length - 1)}"
            for first, last in zip(self.starts, self.lasts, strict=True)
        ]

    @property
    def gaps(self) -> Vector:
        """The number of periods from each one to the next."""
        return np.diff([day.toordinal() for day in self.starts]) / self.length

    @property
    def counts(self) -> list[int]:
        """The number of reports of each period."""
        return [summary.reports for summary in self.summaries]

    def since(self, first: int) -> Periods:
        """Return the periods from the index `first` on."""
        return Periods(self.every, self.starts[first:], self.lasts[first:], self.summaries[first:])


def _start(day: datetime.date, length: int) -> datetime.date:
    """Return the first day of the day's period."""
    return day - datetime.timedelta(days=day.weekday() if length == 7 else 0)


def read_day(day: object) -> datetime.date:
    """Return `day` as a date; a text is written YYYY-MM-DD."""
    if isinstance(day, datetime.date):
        return day if not isinstance(day, datetime.datetime) else day.date()
    try:
        return datetime.date.fromisoformat(str(day))
    except ValueError:
        raise InputError(
            f"a day must be a date, or written YYYY-MM-DD; got {format_value(day)}"
        ) from None
