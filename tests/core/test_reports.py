"""Reports as bytes: batches, widths, validity, integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumor.core.errors import InputError, format_value
from rumor.core.reports import (
    Validity,
    as_reports,
    bytes_for,
    from_little_endian,
    little_endian,
    narrow_integers,
    wrong_widths,
)

BATCH = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.uint8)


def test_a_batch_is_an_array_or_byte_strings() -> None:
    assert as_reports(BATCH, 2) is BATCH
    assert (as_reports([b"\1\2", b"\3\4", b"\5\6"], 2) == BATCH).all()
    assert (as_reports((b"\1\2",), 2) == BATCH[:1]).all()
    backwards = as_reports(BATCH[:, ::-1], 2)
    assert backwards.flags.c_contiguous
    assert backwards.tolist() == [[2, 1], [4, 3], [6, 5]]
    assert as_reports([], 2).shape == (0, 2)
    assert as_reports(BATCH[:0], 2).shape == (0, 2)


@pytest.mark.parametrize(
    ("batch", "sentence"),
    [
        (BATCH.astype(np.int64), "got dtype int64"),
        (BATCH.astype(np.int8), "got dtype int8"),
        (BATCH[0], r"got shape \(2,\)"),
        (BATCH[:, :1], r"got shape \(3, 1\)"),
        (BATCH[None], r"got shape \(1, 3, 2\)"),
        (b"\1\2", "got bytes$"),
        (bytearray(b"\1\2"), "got bytes$"),
        ("ab", "got a text$"),
        (5, "got a number$"),
        ({b"\1\2"}, "got a set$"),
        ([b"\1\2", "ab"], "got a text at index 1$"),
        ([b"\1\2", b"\1"], "got 1 bytes at index 1"),
        ([b"\1\2", b"\1\2\3"], "got 3 bytes at index 1"),
        ([[1, 2]], "got a list at index 0$"),
    ],
    ids=format_value,
)
def test_what_is_not_a_batch(batch: object, sentence: str) -> None:
    with pytest.raises(InputError, match=rf"reports must be 2 bytes each .*; {sentence}"):
        as_reports(batch, 2)


def test_wrong_widths_are_a_verdict_and_not_an_error() -> None:
    verdict = wrong_widths([b"\1", b"\1\2", b""], 2)
    assert verdict is not None
    assert verdict.valid.tolist() == [False, True, False]
    assert verdict.reason == "a report has 2 bytes"
    assert wrong_widths([b"\1\2"], 2) is None
    assert wrong_widths(BATCH, 2) is None
    narrow = wrong_widths(BATCH, 3)
    assert narrow is not None
    assert narrow.valid.tolist() == [False] * 3
    assert wrong_widths([b"\1", "ab"], 2) is None, "another problem, another sentence"


def test_a_verdict_explains_and_requires() -> None:
    verdict = Validity(np.array([True, False, True, False]), "a report is even")
    assert not verdict.all
    assert [verdict.explain(i) for i in range(2)] == [None, "a report is even"]
    with pytest.raises(InputError) as problem:
        verdict.require()
    assert str(problem.value) == (
        "reports must be valid: a report is even; got 2 that are not, the first at index 1"
    )
    Validity(np.ones(3, dtype=bool), "never").require()
    assert Validity(np.ones(0, dtype=bool), "never").all


@given(
    st.integers(1, 7).flatmap(
        lambda w: st.tuples(
            st.just(w), st.lists(st.integers(0, 256**w - 1), min_size=1, max_size=20)
        )
    )
)
def test_integers_are_little_endian_bytes(drawn: tuple[int, list[int]]) -> None:
    width, numbers = drawn
    reports = little_endian(np.array(numbers, dtype=np.uint64), width)
    assert [row.tobytes() for row in reports] == [n.to_bytes(width, "little") for n in numbers]
    assert reports.flags.c_contiguous
    assert from_little_endian(reports).tolist() == numbers
    assert narrow_integers(reports).tolist() == numbers
    assert from_little_endian(np.asfortranarray(reports)).tolist() == numbers
    assert from_little_endian(reports[:0]).size == 0


@pytest.mark.parametrize(
    ("count", "width"),
    [(1, 1), (2, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 3), (1 << 24, 3), (1_000_000, 3)],
)
def test_the_width_of_a_number(count: int, width: int) -> None:
    assert bytes_for(count) == width
    assert (count - 1).to_bytes(width, "little")


def test_errors_show_long_values_cut() -> None:
    assert format_value("a" * 100) == "'" + "a" * 56 + "..."
    assert len(format_value(list(range(1000)))) == 60
    assert format_value(1.5) == "1.5"
