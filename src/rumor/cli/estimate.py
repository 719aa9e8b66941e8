"""`rumor estimate`: reports or a summary of them in, estimates out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rumor.cli.common import keep_inputs, parse_day, started_engine
from rumor.cli.methods import Method, MethodOptions, read_options
from rumor.cli.options import (
    CollectionFile,
    Level,
    PrintedForm,
    QuestionId,
    Top,
    argument,
    opt,
    opt_count,
    option,
)
from rumor.core.errors import InputError, format_value
from rumor.core.exact import CONFIDENCE, PLANNED

if TYPE_CHECKING:
    from rumor.analysis.estimate import Analysis
    from rumor.analysis.survey import DesignColumns
    from rumor.core.types import Days

Reports = Annotated[
    str, argument("REPORTS", "A reports file (.parquet), a folder of them, or a saved summary.")
]
Engine = Annotated[
    str,
    option(
        "--engine local|spark|gpu",
        "Where to count reports: in threads of this process, with Spark, or on a GPU.",
    ),
]
Master = Annotated[
    str | None,
    option("--master URL", "The address of the Spark cluster (default: this machine, local[*])."),
]
Candidates = Annotated[
    str | None,
    option("--candidates FILE", "For text questions: the candidate words, one per line."),
]
DistinctIds = Annotated[
    bool, option("--distinct-ids", "Count reports with the same id once, if files overlap.")
]
Share = Annotated[
    list[str] | None,
    option(
        "--share VALUE",
        "Also estimate the share of several values together; repeat the option for each.",
    ),
]
Assume = Annotated[
    str | None,
    option(
        "--assume nothing|smooth",
        "For ordered questions: intervals without assumptions (default), or shorter ones that "
        "assume a smooth distribution.",
    ),
]
Plot = Annotated[str | None, option("--plot FILE", "Also draw a chart (.html, .png or .svg).")]
PlotWidth = Annotated[
    float | None,
    option(
        "--plot-width MM",
        "The chart's width in millimetres, for a journal (.png or .svg): 85, 175.",
    ),
]
Explain = Annotated[
    bool,
    option(
        "--explain",
        "Also print what the lines under a table leave out: what may not be added up, the smallest "
        "detectable share, the poisoning bound.",
    ),
]
SkipInvalid = Annotated[
    bool, option("--skip-invalid", "Leave out invalid reports and print their number.")
]


@dataclass(frozen=True)
class EstimationOptions:
    """Options for the method, the engine and the candidates."""

    method: Method = "auto"
    option: MethodOptions = None
    engine: Engine = "local"
    master: Master = None
    candidates: Candidates = None
    fdr: float | None = opt(
        "--fdr --detection-level SHARE",
        "The false discovery rate, for text questions (default: 0.05).",
    )

    assume: Assume = None

    def options(self) -> dict[str, Any]:
        """Return the options of a method that are said here."""
        found = read_options(self.option, self.assume)
        if self.fdr is not None:
            if "level" in found:
                raise InputError("--fdr is the option level; got both")
            found["level"] = self.fdr
        return found


@dataclass(frozen=True)
class DayRange:
    """Options for the days whose reports are counted."""

    first: str | None = opt("--from YYYY-MM-DD", "Only reports of this day and later.")
    last: str | None = opt("--to YYYY-MM-DD", "Only reports up to and including this day.")

    def window(self) -> Days:
        """Return the first and the last day, read."""
        return parse_day("--from", self.first), parse_day("--to", self.last)


Earlier = Annotated[
    list[str] | None,
    option(
        "--earlier COLLECTION=REPORTS",
        "For PrivKVM: an earlier round, its contract and its reports; repeat the option for each.",
    ),
]


@dataclass(frozen=True)
class SurveyOptions:
    """Options for people with weights, and how they were drawn."""

    weights: list[str] | None = opt(
        "--weights FILE",
        "Weight groups to a population: a CSV file of a public column's values and their sizes; "
        "repeat the option to rake to several columns.",
    )
    weight_column: str | None = opt(
        "--weight-column COLUMN", "The public column with the weight of each person."
    )
    strata: str | None = opt(
        "--strata COLUMN", "The public column with the stratum that each person was drawn from."
    )
    cluster: str | None = opt(
        "--cluster COLUMN",
        "The public column with the cluster (a school, a household) that each person was drawn in.",
    )

    def columns(self) -> DesignColumns:
        """Return the columns of the survey design, with the margins read."""
        from rumor.analysis.combine.method import read_margins
        from rumor.analysis.survey import DesignColumns

        margins = read_margins(self.weights or ())
        return DesignColumns(self.weight_column, self.strata, self.cluster, margins)

    @property
    def is_of_people(self) -> bool:
        """Whether each person has a weight, not only each group."""
        return bool(
            self.weight_column or self.strata or self.cluster or len(self.weights or ()) > 1
        )

    @property
    def first_given(self) -> str | None:
        """The first of these options that is given, or None."""
        given = {
            "--weights": self.weights,
            "--weight-column": self.weight_column,
            "--strata": self.strata,
            "--cluster": self.cluster,
        }
        return next((name for name, value in given.items() if value is not None), None)


@dataclass(frozen=True)
class CountedRows:
    """Options that select the reports to count, and how they are grouped."""

    counts: bool = opt(
        "--counts",
        "REPORTS is a table of counts, made elsewhere: columns report and count, or value, count "
        "and reports.",
        default=False,
    )

    by: str | None = opt(
        "--by COLUMN",
        "Estimate each group separately: of a public column, of day, week or month, or of several "
        "with commas between them (week,country).",
    )
    survey: SurveyOptions = field(default_factory=SurveyOptions)
    days: DayRange = field(default_factory=DayRange)
    distinct_ids: DistinctIds = False
    linked: str | None = opt(
        "--linked REPORTS",
        "Reports of the linked question: estimate the cross table of both.",
    )
    on: str | None = opt(
        "--on COLUMN", "With --linked: the public column that identifies respondents in both files."
    )
    earlier: Earlier = None

    def rounds(self) -> list[tuple[str, str]]:
        """Return the contract and the reports of each earlier round."""
        found = []
        for given in self.earlier or ():
            contract, equals, reports = given.partition("=")
            if not (contract and equals and reports):
                raise InputError(
                    "an earlier round must be COLLECTION=REPORTS, its contract and its reports; "
                    f"got {format_value(given)}"
                )
            found.append((contract, reports))
        return found


@dataclass(frozen=True)
class IntervalOptions:
    """Options for intervals and shown rows: the fields of a View, in their order."""

    level: Level = CONFIDENCE
    of: str = opt(
        "--of population|people",
        "Target of the intervals: the population (sampling error and noise) or these "
        "respondents (noise only).",
        default="population",
    )
    simultaneous: bool = opt(
        "--simultaneous", "Simultaneous intervals: all of them hold together.", default=False
    )
    top: Top = None


@dataclass(frozen=True)
class LookOptions:
    """Options for how often the reports are read."""

    looks: str = opt(
        "--looks one|any",
        "How often the reports may be read. One: intervals are valid for one look, at a time that "
        "does not depend on the reports. Any: they hold at all looks together, and are longer.",
        default="one",
    )
    users: int | None = opt_count(
        "--users N",
        f"With --looks any: the number of reports at which intervals are shortest, fixed before "
        f"the first look (default: {PLANNED:,}).",
        min=1,
    )

    def fields(self) -> dict[str, Any]:
        """Return the fields of a View that are said here."""
        if self.users is None:
            return {"looks": self.looks}
        if self.looks != "any":
            raise InputError("--users is for --looks any; got it for one look")
        return {"looks": self.looks, "users": self.users}


@dataclass(frozen=True)
class EstimateFiles:
    """Options for the written files."""

    plot: Plot = None
    plot_width: PlotWidth = None
    csv: str | None = opt("--csv FILE", "Also write the estimates as CSV.")
    save_summary: str | None = opt(
        "--save-summary FILE", "Save the counts, for `rumor merge` and later estimates."
    )

    def check(self, *inputs: str | None) -> None:
        """Refuse files that would replace what is read, or that no chart can be."""
        keep_inputs(*inputs, plot=self.plot, csv=self.csv, save_summary=self.save_summary)
        check_chart_file(self.plot, self.plot_width)


def check_chart_file(plot: str | None, width: float | None) -> None:
    """Refuse a file that no chart can be, and a `width` without a picture."""
    if plot is None and width is None:
        return
    from rumor.results.chart_files import checked_chart_path, checked_width

    if plot is not None:
        checked_chart_path(plot)
    checked_width(width, plot)


def estimate(
    collection: CollectionFile,
    reports: Reports,
    question: QuestionId = None,
    *,
    how: EstimationOptions,
    rows: CountedRows,
    shown: IntervalOptions,
    watched: LookOptions,
    share: Share = None,
    written: EstimateFiles,
    skip_invalid: SkipInvalid = False,
    explain: Explain = False,
    form: PrintedForm,
) -> None:
    """Estimate shares, means, quantiles or words from reports.

    Files of any size are read in one pass and little memory; the methods bayes, em and refined
    go over the reports again.

    \b
    Example:
      rumor estimate examples/browser.toml reports.parquet
      rumor estimate examples/browser.toml reports/ --by country --from 2026-01-01 --plot by.html
      rumor estimate examples/words.toml reports.parquet --candidates words.txt
      rumor estimate examples/browser.toml reports.parquet -m em --option eta=1 --option norm=sum
      rumor estimate examples/browser.toml exported/ --engine spark --master spark://host:7077
      rumor estimate examples/browser.toml counts.csv --counts
      rumor estimate examples/browser.toml reports/ --looks any --users 50000
      rumor estimate habits.toml smokes.parquet --linked drinks.parquet --on person
      rumor estimate round-2.json reports-2.parquet --earlier round-1.toml=reports-1.parquet
    """
    from rumor.results.view import View

    # Everything that can be wrong with the options is said before anything is read.
    view = View(*vars(shown).values(), **watched.fields())
    form.check()
    how.options()
    earlier = [path for pair in rows.rounds() for path in pair]
    margins = rows.survey.weights or ()
    written.check(collection, reports, how.candidates, *margins, rows.linked, *earlier)
    common: dict[str, Any] = {
        "method": how.method,
        "window": rows.days.window(),
        "skip_invalid": skip_invalid,
        "view": view,
        "together": share or (),
    }
    if rows.linked is not None or rows.on is not None:
        analysis = _joined(collection, reports, question, how, rows, written, common)
    elif (weighed := rows.survey.first_given) is not None:
        if rows.counts:
            raise InputError(f"groups are weighed by their reports; got --counts with {weighed}")
        if rows.earlier:
            raise InputError(f"rounds are estimated without weights; got --earlier with {weighed}")
        from rumor.cli.analyst_options import print_weighted

        print_weighted(collection, reports, question, how, rows, skip_invalid, view, written, form)
        return
    else:
        analysis = _counted(collection, reports, question, how, rows, common)
    if written.save_summary is not None:
        analysis.summary().save(written.save_summary)
    if written.csv is not None:
        from rumor.core.files import write_whole

        write_whole(written.csv, analysis.to_csv().encode("utf-8"))
    if written.plot is not None:
        analysis.plot(Path(written.plot), written.plot_width)
    form.print(lambda: analysis.table(explain), analysis.to_dict)


def _counted(
    collection: str,
    reports: str,
    question: str | None,
    how: EstimationOptions,
    rows: CountedRows,
    common: Mapping[str, Any],
) -> Analysis:
    """Return the analysis of one question, counted by an engine."""
    from rumor.analysis.estimate import analyse

    source: Any = reports
    if rows.counts:
        from rumor.analysis.counted_table import summary_of_counts
        from rumor.contract.collection import Collection
        from rumor.core.answer_table import AnswerTable

        contract = Collection.load(collection)
        source = summary_of_counts(contract, contract.question(question), AnswerTable.open(reports))
    with started_engine(how.engine, how.master) as (start, on_progress):
        return analyse(
            collection,
            source,
            question=question,
            engine=start(),
            by=rows.by,
            distinct_ids=rows.distinct_ids,
            earlier=rows.rounds(),
            candidates=how.candidates,
            options=how.options(),
            on_progress=on_progress,
            **common,
        )


def _joined(
    collection: str,
    reports: str,
    question: str | None,
    how: EstimationOptions,
    rows: CountedRows,
    written: EstimateFiles,
    common: Mapping[str, Any],
) -> Analysis:
    """Return the analysis of two linked questions; refuse options of one question alone."""
    from rumor.analysis.linked import analyse_linked

    if rows.linked is None or rows.on is None:
        raise InputError("--linked and --on go together: other reports, and whose each one is")
    others = {
        "--question": question,
        "--counts": rows.counts,
        "--by": rows.by,
        rows.survey.first_given or "--weights": rows.survey.first_given,
        "--distinct-ids": rows.distinct_ids,
        "--engine": how.engine != "local",
        "--master": how.master,
        "--candidates": how.candidates,
        "--fdr": how.fdr,
        "--option": how.option,
        "--assume": how.assume,
        "--save-summary": written.save_summary,
        "--earlier": rows.earlier,
    }
    said = [name for name, value in others.items() if value not in (None, False)]
    if said:
        raise InputError(f"--linked joins two questions into one table; got {said[0]} beside it")
    return analyse_linked(collection, reports, rows.linked, on=rows.on, **common)
