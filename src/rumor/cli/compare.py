"""`rumor compare`: do groups differ, did something change?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from rumor.cli.analyst_options import (
    CountingOptions,
    DifferentPeople,
    OutputFiles,
    check_engine_for_weights,
)
from rumor.cli.common import print_json
from rumor.cli.estimate import IntervalOptions, SurveyOptions
from rumor.cli.options import CollectionFile, QuestionId, argument, opt, opt_count
from rumor.core.errors import InputError
from rumor.core.exact import PLANNED

if TYPE_CHECKING:
    from rumor.results.view import View

A = Annotated[str, argument("A", "A reports file, a folder of them, or a saved summary.")]
B = Annotated[str | None, argument("B", "The other reports; differences are B minus A.")]


@dataclass(frozen=True)
class ComparedGroups:
    """Options that choose the groups to compare."""

    by: str | None = opt(
        "--by COLUMN",
        "Compare the groups of a public column of A, or its days, weeks or months (day, week, "
        "month).",
    )
    against: str | None = opt(
        "--against GROUP", "Compare each group with this one instead of all pairs."
    )
    period: list[str] | None = opt(
        "--period FIRST..LAST", "Compare periods of days in A; repeat the option for each."
    )
    other: str | None = opt("--other FILE", "The collection of B, if it differs from that of A.")
    different_people: DifferentPeople = False
    cheating: bool = opt(
        "--cheating",
        "Estimate the share who do not follow a design on paper: A and B are random samples that "
        "were asked with other chances (--other).",
        default=False,
    )


@dataclass(frozen=True)
class WatchedComparison:
    """Options of a comparison that is read again and again."""

    watch: bool = opt(
        "--watch",
        "Intervals and p-values that hold at all looks together, however often reports are read.",
        default=False,
    )
    users: int | None = opt_count(
        "--users N",
        f"With --watch: the number of reports in both groups at which intervals are shortest, "
        f"fixed before the first look (default: {PLANNED:,}).",
        min=1,
    )

    def fields(self) -> dict[str, Any]:
        """Return the fields of a View that are said here."""
        if self.users is not None and not self.watch:
            raise InputError("--users is for --watch; got it for one look")
        found = {"looks": "any"} if self.watch else {}
        return found if self.users is None else {**found, "users": self.users}


def compare(
    collection: CollectionFile,
    one: A,
    another: B = None,
    question: QuestionId = None,
    *,
    groups: ComparedGroups,
    survey: SurveyOptions,
    counted: CountingOptions,
    shown: IntervalOptions,
    watched: WatchedComparison,
    written: OutputFiles,
) -> None:
    """Compare groups, days or files.

    Differences are of unbiased estimates, with intervals and tests. Each row has a p-value of its
    own and one among all rows (Holm); each pair has a test of whether it differs in anything. All
    are valid for one look; with --watch, run the command whenever reports come in.

    \b
    Example:
      rumor compare examples/browser.toml before.parquet after.parquet
      rumor compare examples/browser.toml reports/ --by country --against DE
      rumor compare examples/browser.toml reports/ --period 2026-03-01..2026-03-07 \\
        --period 2026-03-08..2026-03-14
      rumor compare examples/browser.toml reports/ --by version --watch --users 50000
      rumor compare half.toml half.parquet mirrored.parquet --other mirrored.toml --cheating
    """
    from rumor.analysis.compare.method import (
        ReportSelection,
        compare_reports,
        compare_stored_people,
        read_period,
    )
    from rumor.results.view import View

    view = View(*vars(shown).values(), **watched.fields())
    if groups.cheating:
        _print_cheating(
            (collection, one, another), question, groups, survey, counted, view, written
        )
        return
    written.check(collection, one, another, groups.other, *(survey.weights or ()))
    periods = [read_period(text) for text in groups.period or ()]
    if (weighed := survey.first_given) is not None:
        check_engine_for_weights(counted.engine)
        if groups.by is None or another is not None or periods:
            raise InputError(
                f"people with weights are compared by a public column of one file (--by); got "
                f"{weighed} without"
            )
        if watched.watch:
            raise InputError(
                f"comparisons of people with weights are for one look; got {weighed} with --watch"
            )
        with counted.counting() as counting:
            stored = ReportSelection(collection, one, question, groups.different_people, counting)
            found = compare_stored_people(
                stored, survey.columns(), groups.by, against=groups.against, of=view.of
            )
        written.deliver(found, view, title=found.heading)
        return
    with counted.counting() as counting:
        found = compare_reports(
            collection,
            one,
            another,
            question=question,
            other=groups.other,
            by=groups.by,
            against=groups.against,
            periods=periods,
            different_people=groups.different_people,
            of=view.of,
            counting=counting,
        )
    written.deliver(found, view, title=found.heading)


def _print_cheating(
    files: tuple[str, str, str | None],
    question: str | None,
    groups: ComparedGroups,
    survey: SurveyOptions,
    counted: CountingOptions,
    view: View,
    written: OutputFiles,
) -> None:
    """Print how many people do not follow a design; refuse options of a table."""
    from rumor.analysis.cheating import cheating
    from rumor.analysis.compare.method import count_samples, question_heading

    collection, one, another = files
    others = {
        "--by": groups.by,
        "--against": groups.against,
        "--period": groups.period,
        survey.first_given or "--weights": survey.first_given,
        "--watch": view.looks != "one",
        "--of": view.of != "population",
        "--simultaneous": view.simultaneous,
        "--top": view.rows,
        "--plot": written.plot,
        "--csv": written.csv,
        "--markdown": written.form.markdown,
        "--latex": written.form.latex,
    }
    said = [name for name, value in others.items() if value not in (None, False)]
    if another is None or said:
        raise InputError(
            f"--cheating is one estimate from two samples, A and B; got "
            f"{said[0] if said else 'no B'}"
        )
    with counted.counting() as counting:
        asked, (first, second) = count_samples(
            collection,
            one,
            another,
            question=question,
            other=groups.other,
            different_people=groups.different_people,
            counting=counting,
        )
    found = cheating(first, second, level=view.level)
    if written.form.as_json:
        print_json({"question": asked.id, **found.to_dict()})
    else:
        print(f"{question_heading(asked)}\n\n{found}")
