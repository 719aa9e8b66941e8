"""A private answer explained by public columns: the model, its errors and its tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rumor.core.errors import InputError, shown
from rumor.core.reports import as_reports
from rumor.estimators.compare.overall import beyond
from rumor.estimators.compare.sample import two_sided
from rumor.estimators.regress.fit import Answers, Fitted, fit
from rumor.kinds import kind_of
from rumor.kinds.base import Kind
from rumor.kinds.formula import Design, column_names, design
from rumor.mechanisms.base import Mechanism
from rumor.results.regression import Regression, TermTest


def regress(
    mechanism: Mechanism,
    reports: object,
    columns: Any,
    formula: str | None = None,
    *,
    reference: str | int | None = None,
) -> Regression:
    """Logistic regression of a private choice on public columns; multinomial with three or more.

    `columns` hold what is publicly known of the people who made the reports, in the same order: a
    mapping from names to arrays, a data frame or an Arrow table. The `formula` is a sum of
    them, "age + country" (by default all of them); more than sums needs the package formulaic.
    Coefficients are log-odds against the `reference`, by default the first value. They are of the
    answers themselves: the noise of the mechanism is part of the model.
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
    """The same for a question whose kind is known."""
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
        raise InputError("a regression needs people whose columns are all known; got none")
    # What is left may be numbers where unknown ones made it a list of anything.
    said = design(asked, {name: np.asarray(c[whole].tolist()) for name, c in named.items()})
    chances, outputs, channel = kind.chances(mechanism, rows[whole])
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
        p_value=two_sided((full.coefficients / errors).reshape(-1)).reshape(errors.shape),
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
    """Fits of the same reports by different columns; equal rows are counted, not repeated."""

    def __init__(self, chances: Any, outputs: Any, channel: Any, reference: int) -> None:
        self._chances, self._outputs = chances, outputs
        self._channel, self._reference = channel, reference

    def __call__(self, matrix: Any) -> Fitted:
        people = np.ones(len(matrix))
        if self._outputs is None:
            return fit(matrix, Answers(self._chances, people), self._reference)
        rows = np.column_stack([matrix, self._outputs])
        _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
        answers = Answers(self._chances[first], counts.astype(np.float64), self._channel)
        return fit(matrix[first], answers, self._reference)


def _tests(said: Design, full: Fitted, fits: _Fits) -> list[TermTest]:
    """Each term against the model without it."""
    return [_ratio(term, full, fits(said.without(term))) for term in said.terms]


def _ratio(name: str, full: Fitted, less: Fitted) -> TermTest:
    statistic = max(0.0, 2 * (full.log_likelihood - less.log_likelihood))
    freedom = full.coefficients.size - less.coefficients.size
    return TermTest(name, statistic, freedom, beyond(statistic, freedom))


def _reference(values: list[object], asked: str | int | None) -> int:
    if asked is None:
        return 0
    for place, value in enumerate(values):
        if value == asked or str(value) == str(asked):
            return place
    raise InputError(f"the reference must be one of the answers; got {shown(asked)}")


def _table(columns: Any) -> dict[str, Any]:
    """Columns by name, as arrays."""
    if hasattr(columns, "column_names"):  # Arrow
        columns = {name: columns[name].to_pylist() for name in columns.column_names}
    if not isinstance(columns, Mapping) and not hasattr(columns, "keys"):
        raise InputError(f"columns must be a table or a mapping from names; got {shown(columns)}")
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
