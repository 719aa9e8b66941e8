"""Columns of answers, integers or labels, from any of the usual libraries."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumor.core.canonical import is_unicode
from rumor.core.checks import checked_size
from rumor.core.errors import AnswerError, InputError, format_value, type_in_words
from rumor.core.plain_text import no_text
from rumor.core.types import Codes


def normalized_name(name: str) -> str:
    """Return a column name with case, width and separators normalised, to find similar names."""
    return re.sub(r"[-_.\s]+", "-", unicodedata.normalize("NFKC", name).casefold().strip())


def checked_labels(labels: Sequence[object]) -> tuple[str, ...]:
    """Return `labels` as a tuple of distinct, non-empty strings in Unicode normal form C."""
    checked: list[str] = []
    for position, label in enumerate(labels):
        if not isinstance(label, str) or not label:
            raise InputError(
                f"a label must be a non-empty string; got {format_value(label)} at position "
                f"{position}"
            )
        try:
            label.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(
                f"a label must be valid Unicode; got {format_value(label)} at position {position}"
            ) from None
        odd = no_text(label)
        if odd is not None:
            raise InputError(
                f"a label must be text without control characters; got {odd} at position {position}"
            )
        checked.append(unicodedata.normalize("NFC", label))
    if len(set(checked)) != len(checked):
        repeated = next(label for i, label in enumerate(checked) if label in checked[:i])
        raise InputError(f"labels must be distinct; got {format_value(repeated)} more than once")
    return tuple(checked)


def split_domain(domain: object, low: int, high: int) -> tuple[int, tuple[str, ...] | None]:
    """Return the size of `domain`, and its labels if it is a list of labels."""
    if isinstance(domain, Sequence) and not isinstance(domain, (str, bytes)):
        labels = checked_labels(domain)
        checked_size("domain (the number of labels)", len(labels), low, high)
        return len(labels), labels
    return checked_size("domain", domain, low, high), None


def named_domain(domain: object, labels: Sequence[str] | None) -> object:
    """Return a domain given by `domain=`, by `labels=`, or by both if they agree."""
    if labels is None:
        if domain is None:
            raise InputError("a mechanism needs domain=, a number of values, or labels=; got none")
        return domain
    if isinstance(labels, (str, bytes)):
        raise InputError(f"labels must be a list of texts; got {format_value(labels)}")
    names = checked_labels(list(labels))
    if domain is None:
        return names
    if isinstance(domain, (int, np.integer)) and len(names) == domain:
        return names
    raise InputError(
        f"a domain with labels is their number or left out; got {len(names):,} labels "
        f"and domain {format_value(domain)}"
    )


def answers(values: object) -> NDArray[Any]:
    """Return one column of at least one answer, from any of the usual libraries."""
    column = as_column(values)
    if column.ndim != 1:
        raise InputError(f"values must be one column; got an array of shape {column.shape}")
    if column.size == 0:
        raise InputError("values must hold at least one answer; got an empty batch")
    return column


def one_code(encoded: Callable[[object], Codes], value: object, rule: str) -> int:
    """Return the position of one answer by the column encoder `encoded`, or raise an
    AnswerError.
    """
    try:
        return int(encoded([value])[0])
    except AnswerError as problem:  # one answer has no index
        raise AnswerError(problem.rule, got=problem.got) from None
    except InputError:
        raise AnswerError(rule, got=type_in_words(value)) from None


def encode(values: object, domain: int, positions: Mapping[str, int] | None) -> Codes:
    """Return a column of answers as positions 0..domain-1.

    Without labels the answers are these positions. With labels they are labels, and an integer
    stands for its decimal text: a rating of 1 is the label "1", wherever that is in the list.
    """
    column = answers(values)
    if column.dtype.kind in "iu":
        if positions is None:
            return _checked_range(column, domain)
        distinct, which = np.unique(column, return_inverse=True)
        codes = np.array([positions.get(str(value), -1) for value in distinct.tolist()], np.int64)
        if (codes < 0).any():
            raise _no_such_label(positions, int(np.flatnonzero(codes[which] < 0)[0]))
        return np.asarray(codes[which])
    if column.dtype.kind in "UTO":
        return _looked_up(column, domain, positions)
    raise InputError(
        f"values must be integers from 0 to {domain - 1:,} or labels; got dtype {column.dtype}"
    )


def words_and_codes(values: object) -> tuple[list[str], Codes]:
    """Return the distinct words of a column of texts, and the index of each row's word."""
    column = answers(values)
    if column.dtype.kind not in "UTO":
        raise InputError(f"values must be texts; got dtype {column.dtype}")
    rows = column.tolist()
    for row, word in enumerate(rows):
        if not isinstance(word, str):
            raise AnswerError("values must be texts", row, type_in_words(word))
    positions = {word: i for i, word in enumerate(dict.fromkeys(rows))}
    for word in positions:
        if not is_unicode(word):
            raise AnswerError("values must be valid Unicode", rows.index(word), "half a character")
    codes = np.fromiter(map(positions.__getitem__, rows), np.int64, len(rows))
    return list(positions), codes


def as_column(values: object) -> NDArray[np.generic]:
    """Return any column as a numpy array (numpy, Arrow, pandas, Polars, sequences)."""
    if isinstance(values, np.ndarray):
        if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
            missing = int(np.ma.getmaskarray(values).sum())
            raise InputError(f"values must not be missing; got {missing} masked")
        return np.asarray(values)
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        rule = "values must be a column of answers, not one value"
        raise InputError(f"{rule}; got {type_in_words(values)}")
    if hasattr(values, "to_numpy"):
        nulls = getattr(values, "null_count", None)  # Arrow: an attribute; Polars: a method
        count = nulls() if callable(nulls) else nulls
        if isinstance(count, int) and count:  # of a Polars frame it is a frame
            raise InputError(f"values must not be missing; got {count} nulls")
        if type(values).__module__.startswith("pyarrow"):
            return _from_arrow(values)
        return np.asarray(values.to_numpy())
    # numpy would make text of [1, "a"] and integers of [1, True]: such lists stay as they are.
    if isinstance(values, Sequence) and any(isinstance(v, (str, bool, np.bool_)) for v in values):
        column = np.empty(len(values), dtype=object)
        column[:] = values
        return column
    return _array(values)


def _array(values: object) -> NDArray[np.generic]:
    with contextlib.suppress(ValueError):  # which may quote an answer
        return np.asarray(values)
    raise InputError("values must be one column; got lists of several lengths")


def _from_arrow(values: object) -> NDArray[np.generic]:
    import pyarrow as pa

    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    assert isinstance(array, pa.Array)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _checked_range(column: NDArray[np.generic], domain: int) -> Codes:
    if column.dtype == np.int64 and int(column.view(np.uint64).max()) < domain:
        return column.view(np.int64)  # one pass: as unsigned, negative numbers are huge
    low, high = int(column.min()), int(column.max())
    if low < 0 or high >= domain:
        row = int(np.argmin(column) if low < 0 else np.argmax(column))
        raise AnswerError(f"values must lie in 0..{domain - 1:,}", row, "another integer")
    return column.astype(np.int64, copy=False)


def _looked_up(
    column: NDArray[np.generic], domain: int, positions: Mapping[str, int] | None
) -> Codes:
    if positions is None:
        whole = (isinstance(v, int) and not isinstance(v, bool) for v in column.tolist())
        row = next((i for i, fits in enumerate(whole) if not fits), None)
        if row is None:  # integers among objects
            return _checked_range(column, domain)
        rule = f"values must be integers from 0 to {domain - 1:,}, since the domain has no labels"
        raise AnswerError(rule, row, type_in_words(column.tolist()[row]))
    distinct: dict[object, int] = {}
    codes = np.empty(column.size, dtype=np.int64)
    for index, value in enumerate(column.tolist()):
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value) if abs(value) < 1 << 64 else ""
            if value not in positions:
                raise _no_such_label(positions, index)
        code = distinct.get(value) if isinstance(value, str) else None
        if code is None:
            code = distinct[value] = _position(value, positions, index)
        codes[index] = code
    return codes


def _position(value: object, positions: Mapping[str, int], row: int) -> int:
    if isinstance(value, str):
        code = positions.get(unicodedata.normalize("NFC", value))
        if code is not None:
            return code
    got = "another text" if isinstance(value, str) else type_in_words(value)
    raise AnswerError(f"a label must be one of the domain's ({_first(positions)})", row, got)


def _no_such_label(positions: Mapping[str, int], row: int) -> AnswerError:
    """Return the error for an integer that is no label."""
    rule = f"an integer must be written as one of the labels ({_first(positions)}) is"
    return AnswerError(rule, row, "another integer")


def _first(positions: Mapping[str, int]) -> str:
    return ", ".join(list(positions)[:5]) + (", ..." if len(positions) > 5 else "")
