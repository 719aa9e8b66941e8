"""Formulas: columns of a table as columns of a regression, names as one for each value.

Sums such as "age + country" are read here. Products, powers and splines need the package
formulaic.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rumor.core.answer_table import AnswerTable
from rumor.core.checks import nearest
from rumor.core.errors import InputError, format_value
from rumor.core.types import Vector

INTERCEPT = "Intercept"
_NAME = r"[^\W\d][\w.]*"
_PLAIN = re.compile(rf"(?:(?P<name>{_NAME})|C\(\s*(?P<forced>{_NAME})\s*\)|1)")
_MAX_COLUMNS = 200
_DEPENDENT = 1e-8  # the part of a column that others must leave


@dataclass(frozen=True)
class Design:
    """The columns of a regression, by name, and which of them each term stands for."""

    names: Sequence[str]
    terms: Mapping[str, Sequence[int]]
    matrix: Vector
    read: Callable[[Mapping[str, Any]], Vector] = field(repr=False)
    """Returns the same columns of other people, of whom the named columns are known."""
    categories: frozenset[str] = frozenset()
    """The columns of numbers that are taken for names: C(COLUMN)."""

    def chosen(self, kept: Sequence[int]) -> Design:
        """Return the columns at the places `kept`, and the terms that have some of them."""
        terms = {
            term: [kept.index(place) for place in places if place in kept]
            for term, places in self.terms.items()
        }

        def read(columns: Mapping[str, Any]) -> Vector:
            return np.asarray(self.read(columns)[:, kept])

        return Design(
            [self.names[k] for k in kept],
            {term: places for term, places in terms.items() if places},
            self.matrix[:, kept],
            read,
            self.categories,
        )

    def independent(self) -> tuple[Design, list[str]]:
        """Return the columns that vary and follow from none before them, and the others in words.

        The order of the formula decides which of two equal columns stays.
        """
        kept: list[int] = []
        basis = np.zeros((len(self.matrix), 0))
        notes = [
            f"column {term!r} is the same for everyone: left out."
            for term, places in self.terms.items()
            if not len(places)
        ]
        for place, name in enumerate(self.names):
            column = self.matrix[:, place]
            rest = column / (np.abs(column).max() or 1.0)
            size = float(np.linalg.norm(rest))
            for _ in range(2):  # once more against rounding
                rest = rest - basis @ (basis.T @ rest)
            left = float(np.linalg.norm(rest))
            if left > _DEPENDENT * size:
                kept.append(place)
                basis = np.column_stack([basis, rest / left])
            elif np.ptp(column) == 0:
                notes.append(f"column {name!r} is the same for everyone: left out.")
            else:
                notes.append(f"column {name!r} follows from those before it: left out.")
        if not any(place in kept for places in self.terms.values() for place in places):
            raise InputError(
                f"a regression needs a column that varies; got {', '.join(self.terms)}"
            )
        return self.chosen(kept), notes


def as_columns(table: Any, names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the columns of a `table` by name, as arrays; those with these `names` of a file."""
    if isinstance(table, (str, Path)):
        file = AnswerTable.open(table)
        batches = list(file.batches(names))
        table = pa.Table.from_batches(batches) if batches else {name: [] for name in names}
    if hasattr(table, "column_names"):  # Arrow
        table = {name: table[name].to_pylist() for name in table.column_names}
    if not isinstance(table, Mapping) and not hasattr(table, "keys"):
        raise InputError(
            f"columns must be a table or a mapping from names; got {format_value(table)}"
        )
    found: dict[str, Any] = {str(name): np.asarray(table[name]) for name in table}
    if not found:
        raise InputError("a regression needs a public column at least; got none")
    return found


def right_side(formula: str) -> str:
    """Return the explaining side of a formula."""
    left, tilde, right = formula.rpartition("~")
    if not right.strip() or "~" in left:
        raise InputError(
            f"a formula is written ANSWER ~ COLUMN + COLUMN; got {format_value(formula)}"
        )
    return right if tilde else formula


def column_names(formula: str, known: Sequence[str]) -> list[str]:
    """Return those of the `known` columns that a formula names."""
    words = re.findall(_NAME, right_side(formula))
    return [name for name in known if name in words]


def design(formula: str, columns: Mapping[str, Any]) -> Design:
    """Return the columns that a formula asks for, with an intercept."""
    right = right_side(formula)
    named = frozenset(re.findall(rf"\bC\(\s*({_NAME})", right))
    return replace(_design(formula, right, columns), categories=named)


def _design(formula: str, right: str, columns: Mapping[str, Any]) -> Design:
    for name in column_names(formula, list(columns)):
        _check_complete(name, np.asarray(columns[name]))
    parts = [part.strip() for part in right.split("+")]
    read = [_PLAIN.fullmatch(part) for part in parts]
    if not all(read):
        return _read_with_formulaic(formula, right, columns)
    names, terms = [INTERCEPT], dict[str, Sequence[int]]()
    coded: list[_Coding] = []
    for part, one in zip(parts, read, strict=True):
        assert one is not None
        name = one["name"] or one["forced"]
        if name is None or part in terms:
            continue
        if name not in columns:
            known = list(columns)
            raise InputError(
                f"a formula names public columns of the reports ({', '.join(known)}); "
                f"got {nearest(name, known)}"
            )
        found = _Coding.of(name, part, np.asarray(columns[name]), one["forced"] is not None)
        terms[part] = range(len(names), len(names) + len(found.names))
        names += found.names
        coded.append(found)
    if not terms:
        raise InputError(f"a formula must name a column at least; got {format_value(formula)}")

    def read_columns(known: Mapping[str, Any]) -> Vector:
        made = [one.code(np.asarray(known[one.column])) for one in coded]
        return np.hstack([np.ones((len(made[0]), 1)), *made])

    return _checked_design(Design(names, terms, read_columns(columns), read_columns))


def _check_complete(name: str, column: Any) -> None:
    """Refuse missing values: the analyst decides whose row is left out."""
    holes = np.array([value is None or value != value for value in column.tolist()])
    if holes.any():
        raise InputError(
            f"a column of a regression must have a value in every row; "
            f"{name} has none in row {int(holes.argmax()) + 1:,} ({int(holes.sum()):,} in all)"
        )


@dataclass(frozen=True)
class _Coding:
    """A number as it is, anything else as 0 and 1 for each value but the first."""

    column: str
    term: str
    values: Sequence[Any] | None
    """The values of a column that is not taken for a number."""

    @classmethod
    def of(cls, name: str, term: str, column: Any, forced: bool) -> _Coding:
        is_number = column.dtype.kind in "iuf" and not forced
        return cls(name, term, None if is_number else sorted_values(column))

    @property
    def names(self) -> list[str]:
        if self.values is None:
            return [self.term]
        return [f"{self.term}[T.{value}]" for value in self.values[1:]]

    def code(self, column: Any) -> Vector:
        if self.values is None:
            return np.asarray(column[:, None], dtype=np.float64)
        others = [value for value in column.tolist() if value not in self.values]
        if others:
            raise InputError(
                f"rows to predict must have values of {self.column!r} that respondents have "
                f"({', '.join(map(str, self.values))}); got {format_value(others[0])}"
            )
        coded = [(column == value).astype(np.float64) for value in self.values[1:]]
        return np.column_stack(coded) if coded else np.zeros((len(column), 0))


def sorted_values(column: Any) -> list[Any]:
    """Return the different values of a `column`, in order."""
    return sorted(set(column.tolist()), key=lambda v: (str(type(v)), v))


def _checked_design(found: Design) -> Design:
    if len(found.names) > _MAX_COLUMNS:
        raise InputError(
            f"a regression has at most {_MAX_COLUMNS} columns; got {len(found.names):,}"
        )
    if not np.isfinite(found.matrix).all():
        raise InputError("the columns of a regression must be finite numbers; some are not")
    return found


def _read_with_formulaic(formula: str, right: str, columns: Mapping[str, Any]) -> Design:
    try:
        formulaic = importlib.import_module("formulaic")
        pandas = importlib.import_module("pandas")
    except ModuleNotFoundError:
        raise InputError(
            f"a formula is a sum of columns, unless the package formulaic is installed; "
            f"got {format_value(formula)}"
        ) from None
    try:
        frame = pandas.DataFrame(dict(columns))
        # Missing numbers are refused below by their row: none is left out in silence.
        with np.errstate(all="ignore"):
            made: Any = formulaic.model_matrix(right, frame, context={}, na_action="ignore")
    except (formulaic.errors.FormulaicError, SyntaxError, ValueError, KeyError):
        raise InputError(
            f"a formula must be one that formulaic reads, of the columns "
            f"{', '.join(columns)}; got {format_value(formula)}"
        ) from None
    names = list(made.columns)
    slices = {
        str(term): range(*s.indices(len(names))) for term, s in made.model_spec.term_slices.items()
    }
    terms = {term: places for term, places in slices.items() if term != "1"}

    def read(known: Mapping[str, Any]) -> Vector:
        try:
            with warnings.catch_warnings():  # of values that respondents do not have
                warnings.simplefilter("error")
                rows = made.model_spec.get_model_matrix(pandas.DataFrame(dict(known)))
        except (formulaic.errors.FormulaicError, Warning, ValueError, KeyError):
            raise InputError(
                f"rows to predict must have values of {', '.join(columns)} that respondents have; "
                f"got another"
            ) from None
        return np.asarray(rows, dtype=np.float64)

    matrix = np.asarray(made, dtype=np.float64)
    return _checked_design(Design(names, terms, matrix, read))
