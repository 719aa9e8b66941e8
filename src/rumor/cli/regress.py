"""`rumor regress`: a private answer explained by public columns."""

from __future__ import annotations

from typing import Annotated

from rumor.cli.desk import DifferentPeople, Files
from rumor.cli.estimate import DayRange, SkipInvalid
from rumor.cli.options import AsJson, CollectionFile, Level, QuestionId, argument, option

Reports = Annotated[
    str, argument("REPORTS", "A reports file (.parquet) with kept columns, or a folder of them.")
]
Formula = Annotated[
    str, argument("FORMULA", 'What explains the answer, as in "answer ~ age + country".')
]
Reference = Annotated[
    str | None,
    option("--reference ANSWER", "The answer that odds are against (by default the first)."),
]


def regress(
    collection: CollectionFile,
    reports: Reports,
    formula: Formula,
    question: QuestionId = None,
    reference: Reference = None,
    *,
    days: DayRange,
    level: Level = 0.95,
    different_people: DifferentPeople = False,
    skip_invalid: SkipInvalid = False,
    written: Files,
    as_json: AsJson = False,
) -> None:
    """Explain a private choice by public columns.

    Logistic regression of two answers, multinomial of more. The noise of the reports is part
    of the model, so that coefficients are those of the answers themselves.

    \b
    Example:
      rumor regress survey.toml reports.parquet "smokes ~ age + country"
    """
    from rumor.engines.regressing import regress_reports
    from rumor.results.view import View

    view = View(level)
    written.check(collection, reports)
    found = regress_reports(
        collection,
        reports,
        formula,
        question=question,
        reference=reference,
        window=days.window(),
        different_people=different_people,
        skip_invalid=skip_invalid,
    )
    written.deliver(found, view, as_json, title=found.heading.split("\n")[0])
