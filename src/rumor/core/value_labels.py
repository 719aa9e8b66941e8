"""The labels that statistics packages keep in a file: of values, in their order, and of columns.

They travel with the columns of a table, as metadata of Arrow, so that a draft of a collection can
ask what the file asks: answers that nobody gave keep their place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from rumor.core.extras import import_optional
from rumor.core.plain_text import no_text

_KEY = b"rumor labels"


@dataclass(frozen=True)
class ColumnLabels:
    """What a file says of one column."""

    text: str = ""
    """The label of the column, as the question in words; empty if it has none."""
    values: tuple[str, ...] = ()
    """The labels of its values, by their codes; those of missing values are left out."""
    is_ordered: bool = False
    """Whether the file says that the values have an order."""


def stata_labels(reader: Any) -> dict[str, ColumnLabels]:
    """Return the labels that pandas' `reader` of a Stata file knows, by column.

    Stata files name each list of value labels; it is a column's if both have one name, as pandas
    and most people write it.
    """
    lists = reader.value_labels()
    return {
        name: ColumnLabels(_text(label), _in_order(lists.get(name, {})))
        for name, label in reader.variable_labels().items()
    }


def spss_labels(path: Path) -> dict[str, ColumnLabels]:
    """Return the labels of the SPSS file at `path`, by column."""
    pyreadstat: Any = import_optional("pyreadstat", "an SPSS file")
    _, found = pyreadstat.read_sav(path, metadataonly=True, user_missing=True)
    known = {}
    for name, label in found.column_names_to_labels.items():
        missing = found.missing_ranges.get(name, [])
        values = {
            code: value
            for code, value in found.variable_value_labels.get(name, {}).items()
            if not any(_is_within(code, one["lo"], one["hi"]) for one in missing)
        }
        is_ordered = found.variable_measure.get(name) == "ordinal"
        known[name] = ColumnLabels(_text(label), _in_order(values), is_ordered)
    return known


def _is_within(code: Any, low: Any, high: Any) -> bool:
    numbers = isinstance(code, (int, float))
    return code == low or (numbers and low <= code <= high)


def _in_order(values: Mapping[Any, str]) -> tuple[str, ...]:
    """Return labels by their codes, numbers as numbers."""
    return tuple(dict.fromkeys(str(values[code]) for code in sorted(values)))


def _text(label: object) -> str:
    """Return the label of a column if it is a text that a contract takes, else nothing."""
    text = "" if label is None else str(label).strip()
    return "" if no_text(text) is not None else text


def with_labels(table: pa.Table, labels: Mapping[str, ColumnLabels]) -> pa.Table:
    """Return `table` with the `labels` of its columns in its schema."""
    fields = [
        field.with_metadata({_KEY: json.dumps(asdict(labels[field.name]))})
        if field.name in labels
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def labels_of(field: pa.Field, seen: Sequence[str]) -> ColumnLabels:
    """Return what the file says of a column; values only if they name all that were `seen`."""
    kept = (field.metadata or {}).get(_KEY)
    if kept is None:
        return ColumnLabels()
    said = json.loads(kept)
    values = tuple(value.strip() for value in said["values"])
    fit = len(values) > 1 and set(seen) <= set(values) and len(set(values)) == len(values)
    return ColumnLabels(said["text"], values if fit else (), said["is_ordered"] and fit)
