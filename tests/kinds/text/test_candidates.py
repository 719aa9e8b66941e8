"""Candidate maps: the bits of words, in an order of their own, kept on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rumor
from rumor.kinds.text.fit import candidates as module
from rumor.kinds.text.fit.candidates import candidate_map
from rumor.kinds.word_lists import checked_words, read_words
from rumor.mechanisms.rappor.bloom import BloomFilter

BLOOM = BloomFilter(bits=8, hashes=3, cohorts=4, key=b"map")
WORDS = [f"word {i}" for i in range(50)]


def bits_of(row: np.ndarray, cohort: int) -> set[int]:
    part = row[cohort * BLOOM.hashes : (cohort + 1) * BLOOM.hashes].tolist()
    return {bit for bit in part if bit != BLOOM.bits}


def test_rows_are_the_bits_of_the_filter_each_once() -> None:
    made = candidate_map(BLOOM, WORDS)
    assert made.rows.dtype == np.uint8
    for row, index in zip(made.rows, made.order, strict=True):
        for cohort in range(BLOOM.cohorts):
            positions = BLOOM.positions(WORDS[index], cohort)
            assert bits_of(row, cohort) == set(positions)
            repeated = (row[cohort * 3 : cohort * 3 + 3] == BLOOM.bits).sum()
            assert repeated == len(positions) - len(set(positions))


def test_the_map_does_not_depend_on_the_order_of_the_words() -> None:
    forward, backward = candidate_map(BLOOM, WORDS), candidate_map(BLOOM, WORDS[::-1])
    assert np.array_equal(forward.rows, backward.rows)
    assert [WORDS[i] for i in forward.order] == [WORDS[::-1][i] for i in backward.order]
    assert forward.restore(forward.order).tolist() == list(range(50))


@pytest.mark.parametrize(("bits", "dtype"), [(128, "u1"), (256, "u2"), (65_536, "u4")])
def test_integers_are_as_small_as_the_filter_allows(bits: int, dtype: str) -> None:
    made = candidate_map(BloomFilter(bits, 2, 2, b"k"), WORDS)
    assert made.rows.dtype == np.dtype(dtype)


def test_a_kept_map_is_read_and_a_damaged_one_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = candidate_map(BLOOM, WORDS, cache=tmp_path)
    (file,) = tmp_path.iterdir()
    monkeypatch.setattr(module, "_built", lambda *_: pytest.fail("built although it was kept"))
    read = candidate_map(BLOOM, WORDS, cache=tmp_path)
    assert np.array_equal(read.rows, made.rows)
    assert np.array_equal(read.order, made.order)
    monkeypatch.undo()
    whole = file.read_bytes()
    for damage in (whole[:-1], b"x" + whole[1:], whole[:30] + b"\xff" * (len(whole) - 30)):
        file.write_bytes(damage)
        assert np.array_equal(candidate_map(BLOOM, WORDS, cache=tmp_path).rows, made.rows)
        assert file.read_bytes() == whole


def test_other_keys_filters_and_dictionaries_have_other_files(tmp_path: Path) -> None:
    candidate_map(BLOOM, WORDS, cache=tmp_path)
    candidate_map(BloomFilter(8, 3, 4, b"another"), WORDS, cache=tmp_path)
    candidate_map(BloomFilter(16, 3, 4, b"map"), WORDS, cache=tmp_path)
    candidate_map(BLOOM, ["word 1", "2", *WORDS[2:]], cache=tmp_path)
    candidate_map(BLOOM, ["word 12", *WORDS[2:12], *WORDS[13:]], cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 5


def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    assert len(candidate_map(BLOOM, WORDS, cache=in_the_way)) == 50


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    words = [str(i) for i in range(40_000)]
    candidate_map(BLOOM, words, on_progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (40_000, 40_000)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (None, "decoding words needs candidates, a list of texts; got none"),
        ([], "candidates must be at least one word; got none"),
        ("word", "candidates must be a list of texts; got 'word'"),
        (7, "candidates must be a list of texts; got 7"),
        (["a", ""], "a candidate must be a non-empty text; got '' at position 1"),
        (["a", b"b"], "a candidate must be a non-empty text; got b'b' at position 1"),
        (["a", "b", "a"], "candidates must be distinct; got 'a' more than once"),
        (["\u00e9", "e\u0301"], "candidates must be distinct; got 'é' more than once"),
        (["\ud800"], "a candidate must be valid Unicode"),
    ],
)
def test_bad_candidates_are_refused(words: object, sentence: str) -> None:
    with pytest.raises(rumor.InputError, match=sentence):
        checked_words(words)


def test_columns_of_the_usual_libraries_are_taken() -> None:
    import pandas as pd  # type: ignore[import-untyped]
    import pyarrow as pa

    for column in (np.array(WORDS), pa.array(WORDS), pd.Series(WORDS), iter(WORDS), tuple(WORDS)):
        assert list(checked_words(column)) == WORDS


def test_a_dictionary_larger_than_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_available_memory", lambda: 5_000)
    with pytest.raises(rumor.InputError, match="candidates must fit in memory: 50 words of 4"):
        candidate_map(BLOOM, WORDS)


def test_words_are_read_from_files(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_bytes("\ufeffone\r\ntwo words\nthree".encode())
    assert read_words(file) == ["one", "two words", "three"]
    for data, sentence in (
        (b"", "candidates must be at least one word; got an empty file"),
        (b"one\n\ntwo\n", "candidates must be non-empty; line 2 is empty"),
        (b"one\ntw\xff\n", "candidates must be UTF-8 text; got the byte 0xff in line 2"),
    ):
        file.write_bytes(data)
        with pytest.raises(rumor.InputError, match=sentence):
            read_words(file)
    with pytest.raises(rumor.InputError, match="candidates must be a file that can be read"):
        read_words(tmp_path / "nowhere.txt")
