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
from rumor.analysis.regress.formula import column_names, design, right_side
from rumor.analysis.regress.result import Regression, TermTest
from rumor.analysis.survey import read_rows
from rumor.contract.collection import Question
from rumor.core.errors import InputError, format_value
from rumor.core.reports import Reports, as_reports
from rumor.core.types import Vector
from rumor.estimators.groups import chi_squared_tail, two_sided_p_value
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
) -> Regression:
    """Regress a private choice on public columns: logistic, or multinomial with three or more.

    `columns` hold what is publicly known of the people who made the reports, in the same order: a
    mapping from names to arrays, a data frame or an Arrow table. The `formula` is a sum of
    them, "age + country" (by default all of them); other formulas need the package formulaic.
    Coefficients are log-odds against the `reference`, by default the first value. They describe
    the true answers: the noise of the mechanism is part of the model. A weak penalty keeps them
    finite, and intervals are by profile. Columns that are constant, or follow from others, are left
    out and named.
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
    chances, outputs, channel = kind.report_likelihoods(mechanism, rows[whole])
    said, dropped = design(
        asked, {name: np.asarray(c[whole].tolist()) for name, c in named.items()}
    ).independent()
    values: list[Any] = list(mechanism.labels or range(chances.shape[1]))
    at = _reference(values, reference)
    rare = _rare(kind, mechanism, rows[whole], values)
    full = _fitted(said.matrix, chances, outputs, channel, at)
    null = _fitted(np.ones((len(said.matrix), 1)), chances, outputs, channel, at)
    errors, roots = full.stderr, full.signed_roots()
    every = [place for places in said.terms.values() for place in places]
    told = []
    if values[at] in rare:
        told.append(f"{values[at]!r} is too rare for a reference: name another (--reference).")
    if not full.is_profiled:
        told.append(
            f"{full.scaled.size:,} coefficients are too many for profiles: intervals and p-values "
            f"are made of standard errors."
        )
    return Regression(
        terms=said.names,
        values=[value for i, value in enumerate(values) if i != at],
        reference=values[at],
        coefficients=full.coefficients,
        stderr=errors,
        roots=roots,
        p_value=two_sided_p_value(roots.reshape(-1)).reshape(errors.shape),
        covariance=full.covariance,
        profile=full.profile,
        deviations=said.matrix.std(axis=0),
        log_likelihood=full.log_likelihood,
        null_log_likelihood=null.log_likelihood,
        whole_likelihood=channel is not None,
        overall=_test("all columns", full, every),
        tests=[_test(term, full, places) for term, places in said.terms.items()],
        rare=tuple(value for value in rare if value != values[at]),
        reports=int(whole.sum()),
        left_out=int((~whole).sum()),
        epsilon=mechanism.epsilon,
        formula=asked,
        heading=heading,
        notes=(*notes, *dropped, *told),
    )


def _fitted(
    matrix: Vector, chances: Vector, outputs: Any, channel: Any, reference: int
) -> FittedModel:
    """Return the fit by the columns in `matrix`; equal rows are counted, not repeated."""
    if outputs is None:
        return fit(matrix, Likelihoods(chances, np.ones(len(matrix))), reference)
    rows = np.column_stack([matrix, outputs])
    _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
    answers = Likelihoods(chances[first], counts.astype(np.float64), channel)
    return fit(matrix[first], answers, reference)


_RARE = 2.0  # standard errors within which of 0 an answer's share lies


def _rare(kind: Kind[Any], mechanism: Mechanism, reports: Reports, values: list[Any]) -> list[Any]:
    """Return the values of which reports do not show that anybody holds them."""
    summary = Summary.empty(mechanism).update(reports)
    shares = kind.measures(mechanism, summary, "population", {}).sample
    few = shares.mean < _RARE * shares.stderr
    return [value for value, is_rare in zip(values, few, strict=True) if is_rare]


def _test(name: str, full: FittedModel, places: Sequence[int]) -> TermTest:
    """Test the columns at `places` by what the model loses without them."""
    statistic = full.loss_without(places)
    freedom = len(places) * full.coefficients.shape[1]
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
