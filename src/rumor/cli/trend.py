"""`rumor trend`: how answers move from day to day, and where they changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from rumor.cli.analyst_options import CountingOptions, DifferentPeople, OutputFiles
from rumor.cli.options import (
    CollectionFile,
    Level,
    QuestionId,
    Top,
    argument,
    opt,
    opt_count,
    option,
)
from rumor.core.errors import InputError
from rumor.core.exact import CONFIDENCE

if TYPE_CHECKING:
    from rumor.analysis.trend.grouped import GroupedTrends
    from rumor.analysis.trend.result import Trend
    from rumor.analysis.trend.watch import Watch

Reports = Annotated[str, argument("REPORTS", "A reports file (.parquet), or a folder of them.")]
Every = Annotated[
    str | None,
    option("--every day|week", "The length of a period (default: day; week with --watch)."),
]
By = Annotated[
    str | None,
    option(
        "--by COLUMN",
        "A trend for each group of this public column, or of several (country,version).",
    ),
]


@dataclass(frozen=True)
class WatchOptions:
    """Options of a watch that is looked at again and again."""

    watch: bool = opt(
        "--watch", "Raise alarms for changes that stay valid however often you look.", default=False
    )
    horizon: int | None = opt_count(
        "--horizon N", "The periods of a watch, after which it begins anew (default: 52).", min=2
    )
    false_alarms: float | None = opt(
        "--false-alarms P",
        "The share of watches with an alarm if nothing changes, at most (default: 0.05).",
    )

    def given(self) -> dict[str, float]:
        """Return horizon and false alarms as far as they are given; refuse them without --watch."""
        found = {"horizon": self.horizon, "false_alarms": self.false_alarms}
        named = {name: value for name, value in found.items() if value is not None}
        if named and not self.watch:
            got = " and ".join("--" + name.replace("_", "-") for name in named)
            raise InputError(f"--horizon and --false-alarms need --watch; got {got} alone")
        return named


def trend(
    collection: CollectionFile,
    reports: Reports,
    question: QuestionId = None,
    every: Every = None,
    by: By = None,
    level: Level = CONFIDENCE,
    top: Top = None,
    *,
    watch: WatchOptions,
    different_people: DifferentPeople = False,
    counted: CountingOptions,
    written: OutputFiles,
) -> None:
    """Estimate trends over time, and test for changes.

    The smoothness is learned from the data. The largest change of each value is tested, with a
    p-value that is adjusted for searching every day and valid for one look. With --watch, run the
    command as often as you like: alarms say which values changed, since when and how much.
    With --by there is a trend for each group, and a small chart for each with the same axes.

    \b
    Example:
      rumor trend examples/browser.toml reports/ --every week --plot trend.html
      rumor trend examples/browser.toml reports/ --by country --plot countries.png
      rumor trend examples/browser.toml reports/ --watch --horizon 26
    """
    from rumor.analysis.compare.method import ReportSelection
    from rumor.analysis.trend.method import follow_groups, follow_reports
    from rumor.analysis.trend.watching import watch_reports
    from rumor.results.view import View

    view = View(level, rows=top)
    written.check(collection, reports)
    promise: dict[str, Any] = watch.given()
    if watch.watch and by is not None:
        raise InputError(f"--watch follows all reports together; got --by {by} beside it")
    with counted.counting() as counting:
        stored = ReportSelection(collection, reports, question, different_people, counting)
        found: Trend | GroupedTrends | Watch
        if watch.watch:
            found = watch_reports(stored, every or "week", **promise)
        elif by is not None:
            found = follow_groups(stored, by, every or "day")
        else:
            found = follow_reports(stored, every or "day")
    written.deliver(found, view, title=found.heading)
