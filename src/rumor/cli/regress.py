"""`rumor regress`: a private answer explained by public columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from rumor.cli.analyst_options import DifferentPeople, OutputFiles
from rumor.cli.estimate import DayRange, DistinctIds, SkipInvalid, SurveyOptions
from rumor.cli.options import CollectionFile, Level, QuestionId, argument, opt
from rumor.core.exact import CONFIDENCE

if TYPE_CHECKING:
    from rumor.results.rows import Tabular

Reports = Annotated[
    str, argument("REPORTS", "A reports file (.parquet) with public columns, or a folder of them.")
]
Formula = Annotated[str, argument("FORMULA", 'The model, as in "answer ~ age + country".')]


@dataclass(frozen=True)
class RegressionOptions:
    """Options that choose the dependent variable, and what of the model is printed."""

    question: QuestionId = None
    reference: str | None = opt(
        "--reference ANSWER", "The reference category of the odds (default: the first label)."
    )
    linear: bool = opt(
        "--linear",
        "Least squares of shares, in place of log-odds (numbers always have least squares).",
        default=False,
    )
    predict: str | None = opt(
        "--predict TABLE",
        "Print the probability of each answer, or the mean, for every row of this table of public "
        "columns.",
    )
    margins: bool = opt(
        "--margins",
        "Print average marginal effects: the mean change of probabilities, or of the mean, with "
        "each column.",
        default=False,
    )


def regress(
    collection: CollectionFile,
    reports: Reports,
    formula: Formula,
    *,
    explained: RegressionOptions,
    survey: SurveyOptions,
    days: DayRange,
    level: Level = CONFIDENCE,
    different_people: DifferentPeople = False,
    distinct_ids: DistinctIds = False,
    skip_invalid: SkipInvalid = False,
    written: OutputFiles,
) -> None:
    """Fit a regression of private answers on public columns.

    Logistic regression of two answers, multinomial of more, proportional odds of ordered
    labels, least squares of numbers and sets. The noise of the reports is part of the model, so
    that coefficients are those of the answers themselves. With weights, strata or clusters,
    errors are those of the survey design.

    A formula may also explain a public column by the question, a choice: "wage ~ member + age".

    \b
    Example:
      rumor regress survey.toml reports.parquet "smokes ~ age + country"
    """
    from rumor.analysis.compare.method import Counting, ReportSelection
    from rumor.analysis.regress.method import regress_reports
    from rumor.core.errors import InputError
    from rumor.results.view import View

    if explained.predict is not None and explained.margins:
        raise InputError("predictions and marginal effects are two tables; got both options")
    view = View(level)
    written.check(collection, reports, explained.predict, *(survey.weights or ()))
    counting = Counting(window=days.window(), distinct_ids=distinct_ids, skip_invalid=skip_invalid)
    stored = ReportSelection(collection, reports, explained.question, different_people, counting)
    drawn = None if survey.first_given is None else survey.columns()
    found = regress_reports(stored, formula, explained.reference, drawn, explained.linear)
    shown: Tabular = found
    if explained.predict is not None:
        shown = found.predict(explained.predict)
    elif explained.margins:
        shown = found.margins()
    written.deliver(shown, view, title=found.heading.split("\n")[0])
