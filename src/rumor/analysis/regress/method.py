"""Regression of a private answer on public columns: the model, its errors and its tests.

`regress_reports` does the work of the command `rumor regress`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rumor.analysis.compare.method import ReportSelection
from rumor.analysis.estimate import as_collection
from rumor.analysis.people import repeated_within
from rumor.analysis.regress.formula import as_columns, column_names, design, right_side
from rumor.analysis.regress.models import MODELS, Task
from rumor.analysis.regress.outcome import OutcomeFormula, explain_outcome, left_side
from rumor.analysis.regress.response import Response
from rumor.analysis.regress.result import Regression
from rumor.analysis.survey import DesignColumns, read_rows
from rumor.contract.collection import Question
from rumor.core.errors import InputError
from rumor.core.reports import as_reports
from rumor.core.types import Vector
from rumor.estimators.survey import Survey, SurveyDesign
from rumor.kinds import KINDS, kind_of
from rumor.kinds.base import Kind
from rumor.mechanisms.base import Mechanism


def regress(
    mechanism: Mechanism,
    reports: object,
    columns: Any,
    formula: str | None = None,
    *,
    reference: str | int | None = None,
    design: SurveyDesign | None = None,
    linear: bool = False,
    private: str | None = None,
) -> Regression:
    """Regress private answers on public columns.

    A choice has a logistic model, or a multinomial one with three answers or more; ordered labels
    have proportional odds; numbers, and shares where `linear` asks for them, least squares.

    `columns` hold what is publicly known of the people who made the reports, in the same order: a
    mapping from names to arrays, a data frame or an Arrow table. The `formula` is a sum of
    them, "age + country" (by default all of them); other formulas need the package formulaic.
    Coefficients are log-odds against the `reference`, by default the first value. They describe
    the true answers: the noise of the mechanism is part of the model. A weak penalty keeps them
    finite, and intervals are by profile. With a `design` people have weights, and errors are those
    of their strata and clusters. Columns that are constant, or follow from others, are left
    out and named.

    With `private` the formula explains a public column by the private answers to a choice, which
    it calls by this name: "wage ~ member + age".
    """
    kind = kind_of(mechanism)
    return regress_kind(
        kind,
        mechanism,
        reports,
        columns,
        formula,
        reference,
        drawn=design,
        linear=linear,
        private=private,
    )


def regress_kind(
    kind: Kind[Any],
    mechanism: Mechanism,
    reports: object,
    columns: Any,
    formula: str | None,
    reference: str | int | None,
    heading: str = "",
    notes: tuple[str, ...] = (),
    drawn: SurveyDesign | None = None,
    linear: bool = False,
    private: str | None = None,
) -> Regression:
    """Regress private answers of a known `kind` on public columns, or a public column on them."""
    side = None if private is None else OutcomeFormula.read(formula or "", private)
    model = _checked_model(kind, mechanism, linear, side is not None)
    mechanism.validate(reports).require()
    known, rows = as_columns(columns), as_reports(reports, mechanism.width)
    for name, column in known.items():
        if len(column) != len(rows):
            raise InputError(
                f"every column must have a row for each of the {len(rows):,} reports; "
                f"{name!r} has {len(column):,}"
            )
    asked = " + ".join(known) if formula is None else formula
    wanted = column_names(asked, list(known)) if side is None else side.names(list(known))
    named = {name: known[name] for name in wanted} or known
    whole = ~np.any([_missing(column) for column in named.values()], axis=0)
    if not whole.any():
        raise InputError(
            "a regression needs at least one respondent without missing columns; got none"
        )
    survey = None if drawn is None else drawn.resolve(len(rows))
    if survey is not None:
        whole &= survey.kept
    # Without missing values, a list of objects may become numbers.
    public = {name: np.asarray(c[whole].tolist()) for name, c in named.items()}
    said, dropped = design(asked, public).independent() if side is None else side.design(public)
    people = np.ones(len(rows)) if survey is None else _spread_out(survey)
    task = Task(kind, mechanism, rows[whole], said, people[whole], survey, whole, reference)
    if side is None:
        found = MODELS[model](task)
    else:
        found = explain_outcome(task, side, public.pop(side.outcome), linear)
        public[side.private] = np.array([str(value) for value in found.hidden_values])
    every = [place for places in found.places.values() for place in places]
    told = []
    if survey is not None:
        told += [*survey.sentences(), *survey.notes]
        if survey.clustered and survey.clusters < _FEW_CLUSTERS:
            told.append(
                f"{survey.clusters:,} clusters are few for a regression: below {_FEW_CLUSTERS}, "
                f"95% intervals may hold 91% to 93%."
            )
    columns = dict(zip(said.names, said.matrix.std(axis=0), strict=True))
    return Regression(
        terms=found.terms,
        values=found.values,
        reference=found.reference,
        coefficients=found.coefficients,
        stderr=found.errors.stderr,
        roots=found.errors.roots,
        p_value=found.errors.p_value,
        covariance=found.errors.covariance,
        profile=found.errors.profile,
        response=Response(
            answers=found.answers,
            shown=found.shown,
            is_share=found.is_share,
            is_bounded=found.is_bounded,
            expect=found.expect,
            covariance=found.errors.covariance,
            design=found.design,
            columns=public,
            people=people[whole],
            freedom=found.freedom,
            hidden=found.hidden,
        ),
        deviations=np.array([columns.get(term, 0.0) for term in found.terms]),
        is_odds=found.is_odds,
        meaning=found.meaning,
        log_likelihood=found.log_likelihood,
        null_log_likelihood=found.null_log_likelihood,
        whole_likelihood=found.whole_likelihood,
        overall=found.errors.test("all columns", every),
        tests=[found.errors.test(term, places) for term, places in found.places.items()],
        rare=found.rare,
        reports=int(whole.sum()),
        left_out=int((~whole).sum()),
        epsilon=mechanism.epsilon,
        formula=asked,
        heading=heading,
        notes=(*notes, *dropped, *told, *found.notes),
        method=found.method,
    )


def _spread_out(survey: Survey) -> Vector:
    """Return the weights at their people's places, 0 where somebody has none."""
    found = np.zeros(survey.kept.size)
    found[survey.kept] = survey.weights
    return found


_FEW_CLUSTERS = 40


def _checked_model(kind: Kind[Any], mechanism: Mechanism, linear: bool, explains: bool) -> str:
    """Return the name of the model of this `kind` of answers, or of what it `explains`."""
    models = kind.regression_models(mechanism)
    if explains and "odds" not in models:
        raise InputError(
            f"private answers that explain a public column are those to a choice; got kind "
            f"{kind.name!r}"
        )
    if not models:
        raise InputError(
            f"a regression explains a choice, a set, a number or ordered answers by public "
            f"columns; got kind {kind.name!r}"
        )
    return "linear" if linear else models[0]


def _missing(column: Any) -> Any:
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind == "O":
        return np.array([value is None or value != value for value in column])
    return np.zeros(len(column), dtype=np.bool_)


def regress_reports(
    stored: ReportSelection,
    formula: str,
    reference: str | None = None,
    drawn: DesignColumns | None = None,
    linear: bool = False,
) -> Regression:
    """Regress a question's answer on public columns of a reports file or folder.

    The reports are read here, whichever engine counts, each report once.
    """
    right_side(formula)
    outcome = left_side(formula)

    def chosen(public: Sequence[str]) -> list[str]:
        names = column_names(formula, public)
        if outcome in public and outcome not in names:
            names.append(outcome)
        if not names:
            raise InputError(
                f"a formula names public columns of the reports ({', '.join(public) or 'none'}); "
                f"got {formula!r}"
            )
        return [*names, *(() if drawn is None else drawn.names(public))]

    how = stored.counting
    rows = read_rows(
        as_collection(stored.collection),
        stored.path,
        stored.question,
        how.window,
        chosen,
        skip_invalid=how.skip_invalid,
        distinct_ids=how.distinct_ids,
        what="a regression",
    )
    asked = rows.question
    public = [name for name in rows.columns.column_names if name != "day"]
    private = asked.id if outcome in public and outcome != asked.id else None
    names = column_names(formula, public) if private is None else public
    columns = pa.table({name: _numbers(rows.columns.column(name)) for name in names})
    return regress_kind(
        KINDS[asked.kind],
        asked.mechanism,
        rows.reports,
        columns,
        formula,
        reference,
        heading=_heading(asked, formula, None if private is None else outcome),
        notes=tuple(repeated_within(asked, stored.different_people)),
        drawn=None if drawn is None else drawn.design(rows.columns),
        linear=linear,
        private=private,
    )


def _heading(asked: Question, formula: str, outcome: str | None) -> str:
    told = f"{outcome or asked.id} ~ {right_side(formula).strip()}"
    return f"{asked.id}: {asked.text}\n{told}" if asked.text else told


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with texts of numbers as numbers; any other stays as it is."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return column
    try:
        return pc.cast(column, pa.float64())
    except pa.ArrowInvalid:
        return column
