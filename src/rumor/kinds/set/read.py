"""Reading of sets: a column of lists or of delimited texts, or a column for each option.

A list is an Arrow list (Parquet) or a text such as "bus|car"; an empty list is a person who chose
nothing. Otherwise each option has a column of its name, with yes or no (true, 1; false, 0).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rumor.core.answer_table import AnswerTable
from rumor.core.errors import AnswerError, InputError, format_value
from rumor.core.option_sets import OptionSets, from_table, naming_the_person, sets_of
from rumor.core.types import Codes
from rumor.kinds.interviews import LABELS, cap_prompt
from rumor.kinds.reading import Reader, positions, require_present
from rumor.kinds.set.question import option_names
from rumor.mechanisms.sets import SetMechanism

ABOUT = "any of a list of answers"
ASKS = (LABELS, cap_prompt("answers", optional=False))


_YES_OR_NO = "a column of an option must hold yes or no"
# The spellings of yes and no; a column of nulls alone is reported at its first row.
_READABLE: Sequence[Callable[[pa.DataType], bool]] = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_null,
)
_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")


def read_sets(
    mechanism: SetMechanism, table: AnswerTable, column: str | None, id: str, keep: Sequence[str]
) -> Iterator[tuple[OptionSets, pa.RecordBatch]]:
    """Yield people's options, batch by batch, with the columns `keep`."""
    if column is None:
        return _wide(mechanism, table, id, keep)
    reader = Reader(
        "text", functools.partial(_listed, mechanism, table.mark), blank_is_missing=False
    )
    return reader.read(table, column, keep)


def _listed(mechanism: SetMechanism, mark: str, column: pa.Array) -> OptionSets:
    """Return the sets in a `column` of lists, or of texts split at `mark`."""
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    lists = pc.split_pattern(column, mark) if text else column
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
        raise InputError(f"a column of sets must hold lists or texts; got {column.type}")
    flat, sizes = lists.flatten(), np.asarray(pc.list_value_length(lists), dtype=np.int64)
    if text:
        flat = pc.utf8_trim_whitespace(flat)
        said = np.asarray(pc.utf8_length(flat)) > 0
        people = np.repeat(np.arange(sizes.size), sizes)
        flat, sizes = flat.filter(pa.array(said)), np.bincount(people[said], minlength=sizes.size)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    codes = starts[:0]
    if len(flat):
        codes = naming_the_person(lambda: _positions(mechanism, flat), starts)
    return sets_of(codes, starts, mechanism.domain)


def _positions(mechanism: SetMechanism, flat: pa.Array) -> Codes:
    """Return the positions of options in `flat`: labels, or numbers where there are none."""
    whole = mechanism.labels is None and pa.types.is_string(flat.type)
    numbered = flat
    if whole:
        plain = pc.match_substring_regex(flat, "^[0-9]{1,6}$")
        row = pc.index(plain, False).as_py()
        if row >= 0:
            rule = f"an option must be an integer from 0 to {mechanism.domain - 1:,}"
            raise AnswerError(rule, row, "something else")
        numbered = pc.cast(flat, pa.int64())
    codes: Codes = positions(mechanism, require_present(numbered))
    return codes


def _wide(
    mechanism: SetMechanism, table: AnswerTable, id: str, keep: Sequence[str]
) -> Iterator[tuple[OptionSets, pa.RecordBatch]]:
    names = option_names(mechanism)
    missing = next((name for name in names if name not in table.schema.names), None)
    if missing is not None:
        raise InputError(
            f"{table.path}: the table must have a column {id!r} of sets, or a column of yes and no "
            f"for each option; got none for {format_value(missing)}"
        )
    before = 0
    cells = ["text"] * (len(names) + len(keep))
    for batch in table.answered_batches([*names, *keep], cells, len(names)):
        columns = []
        for place, name in enumerate(names):
            with table.locate_errors(name, before):
                columns.append(_said(batch.column(place)))
        yield from_table(np.stack(columns, axis=1), mechanism.domain), batch
        before += len(batch)


def _said(column: pa.Array) -> NDArray[np.bool_]:
    """Return a `column` of yes and no, in any spelling, as booleans."""
    if pa.types.is_boolean(column.type) and not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.bool_)
    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    if not any(of(plain.type) for of in _READABLE):
        raise InputError(f"{_YES_OR_NO}; got {column.type}")
    texts = pc.utf8_lower(pc.utf8_trim_whitespace(pc.cast(plain, pa.string())))
    yes, no = (pc.is_in(texts, value_set=pa.array(words)) for words in (_YES, _NO))
    known = pc.fill_null(pc.or_(yes, no), False)
    row = pc.index(known, False).as_py()
    if row >= 0:
        raise AnswerError(_YES_OR_NO, row, "something else")
    return np.asarray(yes.to_numpy(zero_copy_only=False), dtype=np.bool_)
