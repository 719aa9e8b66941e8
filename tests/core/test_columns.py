"""Columns from every usual library, and a sentence for each that is not one."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumor.core.checks import checked_size
from rumor.core.columns import checked_labels, encode, split_domain
from rumor.core.errors import InputError

LABELS = ("news", "mail", "blank", "déjà vu")
POSITIONS = {label: i for i, label in enumerate(LABELS)}

CODES = [2, 0, 3, 1, 0]
NAMES = [LABELS[code] for code in CODES]

INTEGERS: dict[str, Any] = {
    "list": CODES,
    "tuple": tuple(CODES),
    "numpy int64": np.array(CODES),
    "numpy uint8": np.array(CODES, dtype=np.uint8),
    "numpy int16, big-endian": np.array(CODES, dtype=">i2"),
    "numpy int64, big-endian": np.array(CODES, dtype=">i8"),
    "numpy uint64": np.array(CODES, dtype=np.uint64),
    "numpy with a stride": np.array([c for code in CODES for c in (code, 9)])[::2],
    "numpy read-only": np.frombuffer(np.array(CODES).tobytes(), dtype=np.int64),
    "numpy masked array without a mask": np.ma.array(CODES),
    "numpy scalars in a list": [np.int32(code) for code in CODES],
    "arrow": pa.array(CODES),
    "arrow uint16": pa.array(CODES, type=pa.uint16()),
    "arrow chunked": pa.chunked_array([CODES[:2], [], CODES[2:]]),
    "arrow table column": pa.table({"v": CODES})["v"],
    "pandas": pd.Series(CODES),
    "pandas Int64": pd.Series(CODES, dtype="Int64"),
    "pandas arrow": pd.Series(CODES, dtype="int64[pyarrow]"),
    "pandas with another index": pd.Series(CODES, index=[5, 4, 3, 2, 1]),
    "polars": pl.Series(CODES),
    "polars UInt8": pl.Series(CODES, dtype=pl.UInt8),
}

TEXTS: dict[str, Any] = {
    "list": NAMES,
    "tuple": tuple(NAMES),
    "numpy str": np.array(NAMES),
    "numpy object": np.array(NAMES, dtype=object),
    "numpy StringDType": np.array(NAMES, dtype=np.dtypes.StringDType()),
    "arrow": pa.array(NAMES),
    "arrow large": pa.array(NAMES, type=pa.large_string()),
    "arrow dictionary": pa.array(NAMES).dictionary_encode(),
    "arrow chunked dictionary": pa.chunked_array([NAMES[:2], NAMES[2:]]).dictionary_encode(),
    "pandas": pd.Series(NAMES),
    "pandas object": pd.Series(NAMES, dtype=object),
    "pandas categorical": pd.Series(NAMES, dtype="category"),
    "polars": pl.Series(NAMES),
    "polars categorical": pl.Series(NAMES, dtype=pl.Categorical),
    "polars enum": pl.Series(NAMES, dtype=pl.Enum(LABELS)),
    "decomposed letters": [unicodedata.normalize("NFD", name) for name in NAMES],
}


@pytest.mark.parametrize("values", INTEGERS.values(), ids=INTEGERS.keys())
def test_integers(values: Any) -> None:
    # Without labels they are positions; with labels they are what a label says.
    ratings = {"3": 0, "2": 1, "1": 2, "0": 3}
    for positions, expected in ((None, CODES), (ratings, [3 - code for code in CODES])):
        codes = encode(values, 4, positions)
        assert codes.tolist() == expected
        assert codes.dtype == np.int64
    rule = r"labels \(news, mail, blank, déjà vu\) is; got another integer at index 0"
    with pytest.raises(InputError, match=rule):
        encode(values, 4, POSITIONS)


@pytest.mark.parametrize("values", TEXTS.values(), ids=TEXTS.keys())
def test_labels(values: Any) -> None:
    codes = encode(values, 4, POSITIONS)
    assert codes.tolist() == CODES
    assert codes.dtype == np.int64
    with pytest.raises(InputError, match="integers from 0 to 3, since the domain has no labels"):
        encode(values, 4, None)


EMPTY: list[Any] = [
    *([], (), np.array([]), np.array([], dtype=np.int64), pa.array([], type=pa.int64())),
    *(pd.Series([], dtype="int64"), pl.Series([], dtype=pl.Int64), range(0)),
]


@pytest.mark.parametrize("values", EMPTY, ids=lambda v: type(v).__name__)
def test_an_empty_batch(values: Any) -> None:
    for positions in (None, POSITIONS):
        with pytest.raises(InputError, match="at least one answer; got an empty batch"):
            encode(values, 4, positions)


MISSING: dict[str, tuple[Any, str]] = {
    "arrow": (pa.array([1, None]), "values must not be missing; got 1 nulls"),
    "arrow text": (pa.array(["news", None, None]), "values must not be missing; got 2 nulls"),
    "polars": (pl.Series([1, None]), "values must not be missing; got 1 nulls"),
    "polars text": (pl.Series(["news", None]), "values must not be missing; got 1 nulls"),
    "numpy masked": (np.ma.array([1, 2], mask=[False, True]), "not be missing; got 1 masked"),
    "pandas": (pd.Series([1, None]), "got dtype float64"),
    "pandas Int64": (pd.Series([1, None], dtype="Int64"), "got dtype float64"),
    # What pandas keeps for it: NaN from version 3 on, None before.
    "pandas text": (
        pd.Series(["news", None]),
        r"one of the domain's .*; got (a number|nothing) at index 1",
    ),
    "list": ([1, None], "an integer .* labels .*; got another integer at index 0"),
    "texts": (["news", None], "a label must be one of the domain's .*; got nothing at index 1"),
}


@pytest.mark.parametrize(("values", "sentence"), MISSING.values(), ids=MISSING.keys())
def test_missing_values(values: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        encode(values, 4, POSITIONS)
    with pytest.raises(InputError):
        encode(values, 4, None)


WRONG: dict[str, tuple[Any, str]] = {
    "a float": ([1.0, 2.0], "integers from 0 to 3 or labels; got dtype float64"),
    "nan": (np.array([np.nan]), "got dtype float64"),
    "numpy booleans": (np.array([True, False]), "got dtype bool"),
    "polars booleans": (pl.Series([True, False]), "got dtype bool"),
    "booleans": ([True, False], "a label must be one of .*; got a boolean at index 0"),
    "a boolean among integers": (
        [1, True],
        "an integer .* labels .*; got another integer at index 0",
    ),
    "integers among texts": (
        [1, "news"],
        "an integer .* labels .*; got another integer at index 0",
    ),
    "texts among integers": (
        ["news", 1],
        "an integer .* labels .*; got another integer at index 1",
    ),
    "bytes": ([b"news"], r"got dtype \|S4"),
    "dates": (np.array(["2024-01-01"], dtype="M8[D]"), r"got dtype datetime64\[D\]"),
    "complex": (np.array([1j]), "got dtype complex128"),
    "a huge integer": ([2**70], "an integer .* labels .*; got another integer at index 0"),
    "two columns": (np.zeros((2, 2), dtype=int), r"one column; got an array of shape \(2, 2\)"),
    "nested lists": ([[1, 2], [3, 4]], r"one column; got an array of shape \(2, 2\)"),
    "ragged lists": ([[1], [2, 3]], r"one column; got lists of several lengths"),
    "ragged booleans": ([True, [1]], "a label must be one of .*; got a boolean at index 0"),
    "arrow lists": (
        pa.array([[1], [2, 3]]),
        r"a label must be one of .*; got a ndarray at index 0",
    ),
    "polars lists": (
        pl.Series([[1], [2, 3]]),
        r"a label must be one of .*; got a ndarray at index 0",
    ),
    "a pandas frame": (pd.DataFrame({"a": [1], "b": [2]}), r"one column; .* shape \(1, 2\)"),
    "a polars frame": (pl.DataFrame({"a": [1], "b": [2]}), r"one column; .* shape \(1, 2\)"),
    "an arrow table": (pa.table({"a": [1], "b": [2]}), r"one column; .* shape \(1, 2\)"),
    "a scalar array": (np.array(3), r"one column; got an array of shape \(\)"),
    "a set": ({1, 2}, r"one column; got an array of shape \(\)"),
    "one integer": (3, "a column of answers, not one value; got a number"),
    "one text": ("news", "a column of answers, not one value; got a text"),
    "one bytes": (b"news", "a column of answers, not one value; got bytes"),
    "nothing": (None, "a column of answers, not one value; got nothing"),
    "a generator": (iter([1]), "a column of answers, not one value; got a list_iterator"),
    "negative": ([1, -1], "an integer .* labels .*; got another integer at index 0"),
    "too large": (
        np.array([1, 4], dtype=np.uint8),
        "an integer .* labels .*; got another integer at index 0",
    ),
    "far too large": (np.array([2**64 - 1], dtype=np.uint64), "got another integer at index 0"),
    "most negative": (np.array([-(2**63)]), "got another integer at index 0"),
    "an unknown label": (
        ["news", "newz"],
        r"one of the domain's \(news, .*; got another text at index 1",
    ),
    "another case": (["News"], "got another text at index 0"),
    "an empty label": ([""], "got another text at index 0"),
}


@pytest.mark.parametrize(("values", "sentence"), WRONG.values(), ids=WRONG.keys())
def test_what_is_not_a_column_of_answers(values: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as problem:
        encode(values, 4, POSITIONS)
    assert "\n" not in str(problem.value)
    if not isinstance(values, type(iter([]))):
        with pytest.raises(InputError):
            encode(values, 4, None)


def test_without_labels_the_place_of_what_is_no_integer_is_named() -> None:
    for values, kind in (([1, True], "a boolean"), ([1, None], "nothing"), ([0, "a"], "a text")):
        with pytest.raises(InputError, match=f"has no labels; got {kind} at index 1$"):
            encode(values, 4, None)


@given(st.lists(st.integers(-3, 12), min_size=1, max_size=20), st.integers(2, 10))
def test_integers_pass_exactly_when_all_are_in_range(values: list[int], domain: int) -> None:
    if all(0 <= value < domain for value in values):
        assert encode(values, domain, None).tolist() == values
    else:
        with pytest.raises(InputError, match="values must lie in"):
            encode(values, domain, None)


def test_labels_are_distinct_texts_in_one_normal_form() -> None:
    assert checked_labels(["a", "é", "e\u0301x"]) == ("a", "é", "éx")
    for labels, sentence in (
        (["a", "a"], "labels must be distinct; got 'a' more than once"),
        (["é", "e\u0301"], "labels must be distinct; got 'é' more than once"),
        (["a", ""], "a label must be a non-empty string; got '' at position 1"),
        (["a", 1], "a label must be a non-empty string; got 1 at position 1"),
        (["\ud800"], "a label must be valid Unicode; .* at position 0"),
        (
            ["a", "b\0"],
            r"a label must be text without control characters; got U\+0000 at position 1",
        ),
        (["\x1b[2J"], r"without control characters; got U\+001B at position 0"),
        (["a\nb"], r"without control characters; got U\+000A at position 0"),
        (["x\ufffe"], r"without control characters; got U\+FFFE at position 0"),
    ):
        with pytest.raises(InputError, match=sentence):
            checked_labels(labels)


def test_a_domain_is_a_size_or_labels() -> None:
    assert split_domain(5, 2, 10) == (5, None)
    assert split_domain(np.int32(5), 2, 10) == (5, None)
    assert split_domain(["a", "b"], 2, 10) == (2, ("a", "b"))
    wrong: list[tuple[object, str]] = [
        (1, "domain must be an integer from 2 to 10; got 1"),
        (11, "domain must be an integer from 2 to 10; got 11"),
        (0, "got 0"),
        (-5, "got -5"),
        (True, "got True"),
        (5.0, "got 5.0"),
        ("ab", "got 'ab'"),
        (None, "got None"),
        ([], r"domain \(the number of labels\) must be an integer from 2 to 10; got 0"),
        (["a"], r"domain \(the number of labels\) must be .*; got 1"),
        (range(3), "a label must be a non-empty string; got 0"),
    ]
    for domain, sentence in wrong:
        with pytest.raises(InputError, match=sentence):
            split_domain(domain, 2, 10)


def test_large_numbers_are_shown_in_groups() -> None:
    with pytest.raises(InputError, match="size must be an integer from 2 to 1,000,000; got 2,500,"):
        checked_size("size", 2_500_000, 2, 1_000_000)
