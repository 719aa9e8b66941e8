"""Regression of a private answer on public columns: the model, its errors and its tests.

`regress_reports` does the work of the command `rumor regress`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import fdtrc

from rumor.analysis.compare.method import ReportSelection
from rumor.analysis.estimate import as_collection
from rumor.analysis.people import repeated_within
from rumor.analysis.regress.fit import FittedModel, Likelihoods, expect_shares, fit
from rumor.analysis.regress.formula import as_columns, column_names, design, right_side
from rumor.analysis.regress.response import Response
from rumor.analysis.regress.result import Regression, TermTest
from rumor.analysis.survey import DesignColumns, read_rows
from rumor.contract.collection import Question
from rumor.core.errors import InputError, format_value
from rumor.core.reports import Reports, as_reports
from rumor.core.types import Rows, Vector
from rumor.estimators.groups import chi_squared_tail, two_sided_p_value
from rumor.estimators.survey import Survey, SurveyDesign, student_p_value, student_quantile
from rumor.kinds import KINDS, kind_of
from rumor.kinds.base import Kind
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.summary import Summary


def regress(
    mechanism: Mechanism,
    reports: object,
    columns: Any,
    formula: str | None = None,
    *,
    reference: str | int | None = None,
    design: SurveyDesign | None = None,
) -> Regression:
    """Regress a private choice on public columns: logistic, or multinomial with three or more.

    `columns` hold what is publicly known of the people who made the reports, in the same order: a
    mapping from names to arrays, a data frame or an Arrow table. The `formula` is a sum of
    them, "age + country" (by default all of them); other formulas need the package formulaic.
    Coefficients are log-odds against the `reference`, by default the first value. They describe
    the true answers: the noise of the mechanism is part of the model. A weak penalty keeps them
    finite, and intervals are by profile. With a `design` people have weights, and errors are those
    of their strata and clusters. Columns that are constant, or follow from others, are left
    out and named.
    """
    kind = kind_of(mechanism)
    return regress_kind(kind, mechanism, reports, columns, formula, reference, drawn=design)


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
) -> Regression:
    """Regress a private choice of a known `kind` on public columns."""
    mechanism.validate(reports).require()
    known, rows = as_columns(columns), as_reports(reports, mechanism.width)
    for name, column in known.items():
        if len(column) != len(rows):
            raise InputError(
                f"every column must have a row for each of the {len(rows):,} reports; "
                f"{name!r} has {len(column):,}"
            )
    asked = " + ".join(known) if formula is None else formula
    named = {name: known[name] for name in column_names(asked, list(known))} or known
    whole = ~np.any([_missing(column) for column in named.values()], axis=0)
    if not whole.any():
        raise InputError(
            "a regression needs at least one respondent without missing columns; got none"
        )
    survey = None if drawn is None else drawn.resolve(len(rows))
    if survey is not None:
        whole &= survey.kept
    chances, outputs, channel = kind.report_likelihoods(mechanism, rows[whole])
    # Without missing values, a list of objects may become numbers.
    public = {name: np.asarray(c[whole].tolist()) for name, c in named.items()}
    said, dropped = design(asked, public).independent()
    values: list[Any] = list(mechanism.labels or range(chances.shape[1]))
    at = _reference(values, reference)
    rare = _rare(kind, mechanism, rows[whole], values)
    people = np.ones(len(rows)) if survey is None else _spread_out(survey)
    data = _Data(chances, outputs, channel, at, people[whole])
    full, where = data.fitted(said.matrix)
    null, _ = data.fitted(np.ones((len(said.matrix), 1)))
    every = [place for places in said.terms.values() for place in places]
    sure: _Profiles | _Sandwich = _Profiles(full)
    told = []
    if survey is not None:
        moved = np.zeros((len(rows), full.scaled.size))
        moved[whole] = full.model.influence(full.scaled)[where]
        sure = _Sandwich(full, survey.covariance(moved[survey.kept]), survey.freedom())
        told += survey.sentences()
        if survey.clustered and survey.clusters < _FEW_CLUSTERS:
            told.append(
                f"{survey.clusters:,} clusters are few for a regression: below {_FEW_CLUSTERS}, "
                f"95% intervals may hold 91% to 93%."
            )
    if values[at] in rare:
        told.append(f"{values[at]!r} is too rare for a reference: name another (--reference).")
    if survey is None and not full.is_profiled:
        told.append(
            f"{full.scaled.size:,} coefficients are too many for profiles: intervals and p-values "
            f"are made of standard errors."
        )
    return Regression(
        terms=said.names,
        values=[value for i, value in enumerate(values) if i != at],
        reference=values[at],
        coefficients=full.coefficients,
        stderr=sure.stderr,
        roots=sure.roots,
        p_value=sure.p_value,
        covariance=sure.covariance,
        profile=sure.profile,
        response=Response(
            answers=values,
            is_share=True,
            expect=functools.partial(
                expect_shares, coefficients=full.coefficients, reference=at, values=len(values)
            ),
            covariance=sure.covariance,
            design=said,
            columns=public,
            people=people[whole],
            freedom=math.inf if survey is None else survey.freedom(),
            reference=at,
        ),
        deviations=said.matrix.std(axis=0),
        log_likelihood=full.log_likelihood,
        null_log_likelihood=null.log_likelihood,
        whole_likelihood=channel is not None,
        overall=sure.test("all columns", every),
        tests=[sure.test(term, places) for term, places in said.terms.items()],
        rare=tuple(value for value in rare if value != values[at]),
        reports=int(whole.sum()),
        left_out=int((~whole).sum()),
        epsilon=mechanism.epsilon,
        formula=asked,
        heading=heading,
        notes=(*notes, *dropped, *told),
        method="penalised maximum likelihood" if survey is None else "weighted likelihood",
    )


@dataclass(frozen=True, eq=False)
class _Data:
    """Likelihoods of reports, and for how many people each counts."""

    chances: Vector
    outputs: Any
    channel: Any
    reference: int
    people: Vector

    def fitted(self, matrix: Vector) -> tuple[FittedModel, Rows]:
        """Return the fit by the columns in `matrix`, and each report's row in it.

        Equal rows are added up, not repeated.
        """
        if self.outputs is None:
            answers = Likelihoods(self.chances, self.people)
            return fit(matrix, answers, self.reference), np.arange(len(matrix))
        rows = np.column_stack([matrix, self.outputs])
        _, first, where = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        counts = np.bincount(where.reshape(-1), self.people).astype(np.float64)
        answers = Likelihoods(self.chances[first], counts, self.channel)
        return fit(matrix[first], answers, self.reference), where.reshape(-1)


def _spread_out(survey: Survey) -> Vector:
    """Return the weights at their people's places, 0 where somebody has none."""
    found = np.zeros(survey.kept.size)
    found[survey.kept] = survey.weights
    return found


class _Profiles:
    """What the likelihood says of coefficients, of people who count alike."""

    def __init__(self, full: FittedModel) -> None:
        self._full = full
        self.covariance, self.stderr = full.covariance, full.stderr
        self.roots, self.profile = full.signed_roots(), full.profile
        self.p_value = two_sided_p_value(self.roots.reshape(-1)).reshape(self.roots.shape)

    def test(self, name: str, places: Sequence[int]) -> TermTest:
        """Test the columns at `places` by what the model loses without them."""
        statistic = self._full.loss_without(places)
        freedom = len(places) * self._full.coefficients.shape[1]
        return TermTest(name, statistic, freedom, chi_squared_tail(statistic, freedom))


class _Sandwich:
    """What a survey design says of coefficients (Binder, International Statistical Review 51)."""

    def __init__(self, full: FittedModel, covariance: Vector, freedom: float) -> None:
        self._coefficients, self._freedom = full.coefficients, freedom
        self.covariance = covariance
        self.stderr = np.sqrt(np.diag(covariance)).reshape(full.coefficients.T.shape).T
        self.roots = full.coefficients / self.stderr
        normal = two_sided_p_value(self.roots.reshape(-1)).reshape(self.roots.shape)
        self.p_value = student_p_value(normal, freedom)

    def profile(self, z: float) -> tuple[Vector, Vector]:
        """Return both ends of the interval of each coefficient, by Student's distribution."""
        reach = student_quantile(z, self._freedom) * self.stderr
        return self._coefficients - reach, self._coefficients + reach

    def test(self, name: str, places: Sequence[int]) -> TermTest:
        """Test the columns at `places` by Wald's statistic and its F distribution."""
        some = np.zeros(self._coefficients.shape, dtype=np.bool_)
        some[list(places)] = True
        rows = np.flatnonzero(some.T.reshape(-1))
        away = self._coefficients.T.reshape(-1)[rows]
        statistic = float(
            away @ np.linalg.pinv(self.covariance[np.ix_(rows, rows)], hermitian=True) @ away
        )
        tail = float(fdtrc(rows.size, self._freedom, statistic / rows.size))
        return TermTest(name, statistic, rows.size, tail)


_FEW_CLUSTERS = 40
_RARE = 2.0  # standard errors within which of 0 an answer's share lies


def _rare(kind: Kind[Any], mechanism: Mechanism, reports: Reports, values: list[Any]) -> list[Any]:
    """Return the values of which reports do not show that anybody holds them."""
    summary = Summary.empty(mechanism).update(reports)
    shares = kind.measures(mechanism, summary, "population", {}).sample
    few = shares.mean < _RARE * shares.stderr
    return [value for value, is_rare in zip(values, few, strict=True) if is_rare]


def _reference(values: list[object], asked: str | int | None) -> int:
    if asked is None:
        return 0
    for place, value in enumerate(values):
        if value == asked or str(value) == str(asked):
            return place
    raise InputError(f"the reference must be one of the answers; got {format_value(asked)}")


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
) -> Regression:
    """Regress a question's answer on public columns of a reports file or folder.

    The reports are read here, whichever engine counts, each report once.
    """
    right_side(formula)

    def chosen(public: Sequence[str]) -> list[str]:
        names = column_names(formula, public)
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
    names = column_names(formula, public)
    columns = pa.table({name: _numbers(rows.columns.column(name)) for name in names})
    return regress_kind(
        KINDS[asked.kind],
        asked.mechanism,
        rows.reports,
        columns,
        formula,
        reference,
        heading=_heading(asked, formula),
        notes=tuple(repeated_within(asked, stored.different_people)),
        drawn=None if drawn is None else drawn.design(rows.columns),
    )


def _heading(asked: Question, formula: str) -> str:
    told = f"{asked.id} ~ {right_side(formula).strip()}"
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
