"""Options that the analyst's commands share: counted reports and written files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from rumor.cli.common import keep_inputs, started_engine
from rumor.cli.estimate import (
    Assume,
    Candidates,
    CountedRows,
    DayRange,
    DistinctIds,
    Engine,
    EstimateFiles,
    EstimationOptions,
    Master,
    Plot,
    PlotWidth,
    SkipInvalid,
    check_chart_file,
)
from rumor.cli.options import PrintedForm, opt, option

if TYPE_CHECKING:
    from rumor.analysis.combine.result import WeightedGroups
    from rumor.analysis.compare.method import Counting
    from rumor.results.rows import Tabular
    from rumor.results.view import View

DifferentPeople = Annotated[
    bool,
    option(
        "--different-people", "State that no respondent is in two of the groups, days or files."
    ),
]


@dataclass(frozen=True)
class CountingOptions:
    """Options that select the reports to count, and the engine."""

    days: DayRange = field(default_factory=DayRange)
    distinct_ids: DistinctIds = False
    skip_invalid: SkipInvalid = False
    engine: Engine = "local"
    master: Master = None
    candidates: Candidates = None
    assume: Assume = None

    @contextmanager
    def counting(self) -> Iterator[Counting]:
        """Yield a `Counting` with the engine and the days of these options; show a progress bar."""
        from rumor.analysis.compare.method import Counting

        window = self.days.window()
        with started_engine(self.engine, self.master) as (start, on_progress):
            # A new engine for each file that is counted.
            engine: Any = _RestartableEngine(start)
            yield Counting(
                engine,
                window,
                self.distinct_ids,
                self.skip_invalid,
                self.candidates,
                on_progress,
                self.assume,
            )


class _RestartableEngine:
    """An engine that starts anew whenever it is entered."""

    def __init__(self, start: Any) -> None:
        self._start, self._running = start, []  # type: ignore[var-annotated]

    def __enter__(self) -> Any:
        running = self._start()
        self._running.append(running)
        return running.__enter__()

    def __exit__(self, *problem: Any) -> Any:
        return self._running.pop().__exit__(*problem)


@dataclass(frozen=True)
class OutputFiles:
    """Options for the written files and the printed result."""

    plot: Plot = None
    plot_width: PlotWidth = None
    csv: str | None = opt("--csv FILE", "Write the rows as CSV too.")
    form: PrintedForm = field(default_factory=PrintedForm)

    def check(self, *inputs: str | None) -> None:
        """Refuse files that would replace what is read, or that no chart can be."""
        self.form.check()
        keep_inputs(*inputs, plot=self.plot, csv=self.csv)
        check_chart_file(self.plot, self.plot_width)

    def deliver(
        self, result: Tabular | WeightedGroups, view: View, title: str | None = None
    ) -> None:
        """Write what was asked for, and print the rest."""
        if self.csv is not None:
            from rumor.core.files import write_whole

            write_whole(self.csv, result.to_csv(view).encode("utf-8"))
        if self.plot is not None:
            result.plot(self.plot, view, title=title, width=self.plot_width)
        self.form.print(lambda: result.table(view), lambda: result.to_dict(view))


def check_engine_for_weights(engine: str) -> None:
    """Refuse engines that count: each report is read with the weight beside it."""
    from rumor.core.errors import InputError

    if engine != "local":
        raise InputError(
            f"reports of people with weights are read in this process; got --engine {engine}"
        )


def print_weighted(
    collection: str,
    reports: str,
    question: str | None,
    how: EstimationOptions,
    rows: CountedRows,
    skip_invalid: bool,
    view: View,
    written: EstimateFiles,
    form: PrintedForm,
) -> None:
    """Print an estimate of groups weighted to a population, or of people with weights."""
    from rumor.analysis.combine.method import weigh_reports, weigh_stored_people
    from rumor.analysis.compare.method import ReportSelection
    from rumor.core.errors import InputError

    if how.method != "auto" or how.option or written.save_summary is not None:
        raise InputError(
            "weighted estimates are unbiased ones and no summary; got --method, --option or "
            "--save-summary"
        )
    if rows.survey.is_of_people:
        check_engine_for_weights(how.engine)
    counted = CountingOptions(
        rows.days,
        rows.distinct_ids,
        skip_invalid,
        how.engine,
        how.master,
        how.candidates,
        how.assume,
    )
    with counted.counting() as counting:
        stored = ReportSelection(collection, reports, question, counting=counting)
        if rows.survey.is_of_people:
            columns = rows.survey.columns()
            found = weigh_stored_people(stored, columns, by=rows.by, of=view.of)
        else:
            found = weigh_reports(stored, *(rows.survey.weights or ()), by=rows.by, of=view.of)
    OutputFiles(written.plot, written.plot_width, written.csv, form).deliver(
        found, view, title=found.heading
    )
