"""Formulas: columns of a table as columns of a regression, names as one for each value.

Sums such as "age + country" are read here. Products, powers and splines need the package
formulaic.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
        terms = {
            term: [kept.index(place) for place in places if place in kept]
            for term, places in self.terms.items()
        }
        found = {term: places for term, places in terms.items() if places}
        if not found:
            raise InputError(
                f"a regression needs a column that varies; got {', '.join(self.terms)}"
            )
        return Design([self.names[k] for k in kept], found, self.matrix[:, kept]), notes


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
    for name in column_names(formula, list(columns)):
        _check_complete(name, np.asarray(columns[name]))
    parts = [part.strip() for part in right.split("+")]
    read = [_PLAIN.fullmatch(part) for part in parts]
    if not all(read):
        return _read_with_formulaic(formula, right, columns)
    count = len(next(iter(columns.values()))) if columns else 0
    names, terms = [INTERCEPT], dict[str, Sequence[int]]()
    made = [np.ones(count)]
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
        found = _code_column(part, np.asarray(columns[name]), one["forced"] is not None)
        terms[part] = range(len(names), len(names) + len(found))
        names += list(found)
        made += list(found.values())
    if not terms:
        raise InputError(f"a formula must name a column at least; got {format_value(formula)}")
    return _checked_design(Design(names, terms, np.column_stack(made)))


def _check_complete(name: str, column: Any) -> None:
    """Refuse missing values: the analyst decides whose row is left out."""
    holes = np.array([value is None or value != value for value in column.tolist()])
    if holes.any():
        raise InputError(
            f"a column of a regression must have a value in every row; "
            f"{name} has none in row {int(holes.argmax()) + 1:,} ({int(holes.sum()):,} in all)"
        )


def _code_column(term: str, column: Any, forced: bool) -> dict[str, Vector]:
    """Return a number as it is, anything else as 0 and 1 for each value but the first."""
    if column.dtype.kind in "iuf" and not forced:
        return {term: column.astype(np.float64)}
    values = sorted(set(column.tolist()), key=lambda v: (str(type(v)), v))
    return {f"{term}[T.{v}]": (column == v).astype(np.float64) for v in values[1:]}


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
    return _checked_design(Design(names, terms, np.asarray(made, dtype=np.float64)))
