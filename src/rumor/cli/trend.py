"""`rumor trend`: how answers move from day to day, and where they changed."""

from __future__ import annotations

from typing import Annotated

from rumor.cli.analyst_options import CountingOptions, DifferentPeople, OutputFiles
from rumor.cli.options import CollectionFile, Level, QuestionId, Top, argument, option
from rumor.core.exact import CONFIDENCE

Reports = Annotated[str, argument("REPORTS", "A reports file (.parquet), or a folder of them.")]
Every = Annotated[str, option("--every day|week", "The length of a period.")]


def trend(
    collection: CollectionFile,
    reports: Reports,
    question: QuestionId = None,
    every: Every = "day",
    level: Level = CONFIDENCE,
    top: Top = None,
    *,
    different_people: DifferentPeople = False,
    counted: CountingOptions,
    written: OutputFiles,
) -> None:
    """Estimate trends over time, and test for changes.

    The smoothness is learned from the data. The largest change of each value is tested, with a
    p-value that is adjusted for searching every day.

    \b
    Example:
      rumor trend examples/browser.toml reports/ --every week --plot trend.html
    """
    from rumor.analysis.compare.method import ReportSelection
    from rumor.analysis.trend.method import follow_reports
    from rumor.results.view import View

    view = View(level, rows=top)
    written.check(collection, reports)
    with counted.counting() as counting:
        stored = ReportSelection(collection, reports, question, different_people, counting)
        found = follow_reports(stored, every)
    written.deliver(found, view, title=found.heading)
