"""Regression of a private answer on public columns: the model, its errors and its tests.

`regress_reports` does the work of the command `rumor regress`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rumor.analysis.compare.method import ReportSelection
from rumor.analysis.estimate import as_collection
from rumor.analysis.people import repeated_within
from rumor.analysis.regress.fit import FittedModel, Likelihoods, fit
from rumor.analysis.regress.formula import Design, column_names, design, right_side
from rumor.analysis.regress.result import Regression, TermTest
from rumor.analysis.survey import read_rows
from rumor.contract.collection import Question
from rumor.core.errors import InputError, format_value
from rumor.core.reports import as_reports
from rumor.estimators.groups import chi_squared_tail, two_sided_p_value
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
) -> Regression:
    """Regress a private choice on public columns: logistic, or multinomial with three or more.

    `columns` hold what is publicly known of the people who made the reports, in the same order: a
    mapping from names to arrays, a data frame or an Arrow table. The `formula` is a sum of
    them, "age + country" (by default all of them); other formulas need the package formulaic.
    Coefficients are log-odds against the `reference`, by default the first value. They describe
    the true answers: the noise of the mechanism is part of the model.
    """
    return regress_kind(kind_of(mechanism), mechanism, reports, columns, formula, reference)


def regress_kind(
    kind: Kind[Any],
    mechanism: Mechanism,
    reports: object,
    columns: Any,
    formula: str | None,
    reference: str | int | None,
    heading: str = "",
    notes: tuple[str, ...] = (),
) -> Regression:
    """Regress a private choice of a known `kind` on public columns."""
    mechanism.validate(reports).require()
    known, rows = _table(columns), as_reports(reports, mechanism.width)
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
    # Without missing values, a list of objects may become numbers.
    said = design(asked, {name: np.asarray(c[whole].tolist()) for name, c in named.items()})
    chances, outputs, channel = kind.report_likelihoods(mechanism, rows[whole])
    values: list[Any] = list(mechanism.labels or range(chances.shape[1]))
    at = _reference(values, reference)
    fits = _Fits(chances, outputs, channel, at)
    full, null = fits(said.matrix), fits(np.ones((len(said.matrix), 1)))
    errors = np.sqrt(np.diag(full.covariance)).reshape(-1, len(said.names)).T
    return Regression(
        terms=said.names,
        values=[value for i, value in enumerate(values) if i != at],
        reference=values[at],
        coefficients=full.coefficients,
        stderr=errors,
        p_value=two_sided_p_value((full.coefficients / errors).reshape(-1)).reshape(errors.shape),
        covariance=full.covariance,
        log_likelihood=full.log_likelihood,
        null_log_likelihood=null.log_likelihood,
        whole_likelihood=channel is not None,
        overall=_ratio("all columns", full, null),
        tests=_tests(said, full, fits),
        reports=int(whole.sum()),
        left_out=int((~whole).sum()),
        epsilon=mechanism.epsilon,
        formula=asked,
        heading=heading,
        notes=notes,
    )


class _Fits:
    """Fits of some reports by different columns; equal rows are counted, not repeated."""

    def __init__(self, chances: Any, outputs: Any, channel: Any, reference: int) -> None:
        self._chances, self._outputs = chances, outputs
        self._channel, self._reference = channel, reference

    def __call__(self, matrix: Any) -> FittedModel:
        people = np.ones(len(matrix))
        if self._outputs is None:
            return fit(matrix, Likelihoods(self._chances, people), self._reference)
        rows = np.column_stack([matrix, self._outputs])
        _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
        answers = Likelihoods(self._chances[first], counts.astype(np.float64), self._channel)
        return fit(matrix[first], answers, self._reference)


def _tests(said: Design, full: FittedModel, fits: _Fits) -> list[TermTest]:
    """Test each term against the model without it."""
    return [_ratio(term, full, fits(said.without(term))) for term in said.terms]


def _ratio(name: str, full: FittedModel, less: FittedModel) -> TermTest:
    statistic = max(0.0, 2 * (full.log_likelihood - less.log_likelihood))
    freedom = full.coefficients.size - less.coefficients.size
    return TermTest(name, statistic, freedom, chi_squared_tail(statistic, freedom))


def _reference(values: list[object], asked: str | int | None) -> int:
    if asked is None:
        return 0
    for place, value in enumerate(values):
        if value == asked or str(value) == str(asked):
            return place
    raise InputError(f"the reference must be one of the answers; got {format_value(asked)}")


def _table(columns: Any) -> dict[str, Any]:
    """Return columns by name, as arrays."""
    if hasattr(columns, "column_names"):  # Arrow
        columns = {name: columns[name].to_pylist() for name in columns.column_names}
    if not isinstance(columns, Mapping) and not hasattr(columns, "keys"):
        raise InputError(
            f"columns must be a table or a mapping from names; got {format_value(columns)}"
        )
    found: dict[str, Any] = {str(name): np.asarray(columns[name]) for name in columns}
    if not found:
        raise InputError("a regression needs a public column at least; got none")
    return found


def _missing(column: Any) -> Any:
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind == "O":
        return np.array([value is None or value != value for value in column])
    return np.zeros(len(column), dtype=np.bool_)


def regress_reports(
    stored: ReportSelection, formula: str, reference: str | None = None
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
        return names

    how = stored.counting
    rows = read_rows(
        as_collection(stored.collection),
        stored.path,
        stored.question,
        how.window,
        chosen,
        skip_invalid=how.skip_invalid,
        what="a regression",
    )
    asked = rows.question
    names = [name for name in rows.columns.column_names if name != "day"]
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
