"""Prefix codes: what is written is read again, whatever it is, and bad codes get one sentence."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumor.core.canonical import digest
from rumor.core.errors import InputError
from rumor.kinds.words.code_tables import NAMES, shipped_code
from rumor.mechanisms.open_words.code import PrefixCode, Symbol, Written, normal

CODES = [shipped_code(name) for name in NAMES]
SMALL = PrefixCode.of([[1, "a"], [2, "b"], [4, "", "ab", "é", 195]])
DIGESTS = {"latin": "7466855421d4", "utf-8": "c833e60b9bb3", "url": "e8081f3b322e"}
LENGTHS = {"latin": 109, "utf-8": 142, "url": 88}
TEXTS = st.one_of(st.text(max_size=12), st.text("abcdeé ß検🙂.w", max_size=12))


def written(code: PrefixCode, text: str) -> str:
    found = code.write(text)
    return format(found.bits, f"0{found.length}b") if found.length else ""


def test_code_words_are_given_out_in_order() -> None:
    assert {symbol: format(word, f"0{size}b") for symbol, (word, size) in SMALL.words.items()} == {
        "a": "0",
        "b": "10",
        "": "1100",
        "ab": "1101",
        "é": "1110",
        195: "1111",
    }


def test_the_longest_symbol_is_written_and_other_characters_by_their_bytes() -> None:
    assert written(SMALL, "abb") == "1101" + "10" + "1100"
    assert written(SMALL, "é") == written(SMALL, "e\u0301") == "1110" + "1100"
    assert written(SMALL, "ü") == "1111" + format(0xBC & 63, "06b") + "1100"
    assert written(SMALL, "") == "1100"


def test_a_character_that_a_code_lacks_ends_what_is_written() -> None:
    found = SMALL.write("ac")
    assert (found.bits, found.length, found.ended, found.broken) == (0, 1, False, True)
    assert SMALL.write("検").length == 0


@pytest.mark.parametrize("most", range(1, 12))
def test_the_first_bits_are_those_of_the_whole(most: int) -> None:
    whole, part = written(SMALL, "bab"), SMALL.write("bab", most)
    assert part.length == min(most, len(whole))
    assert format(part.bits, f"0{part.length}b") == whole[:most]
    assert part.ended == (most >= len(whole))


@given(TEXTS, st.sampled_from(CODES), st.integers(0, 9))
def test_what_is_written_is_read(text: str, code: PrefixCode, zeros: int) -> None:
    found = code.write(text)
    if found.broken:  # shipped codes have no control characters
        assert any(ord(c) < 32 or ord(c) == 127 for c in text)
        return
    assert found.ended
    assert code.read(found.bits << zeros, found.length + zeros) == normal(text)
    cut = code.read(found.bits >> 3, found.length - 3)
    assert cut is not None
    assert normal(text).startswith(cut)


@given(TEXTS, TEXTS, st.sampled_from([*CODES, SMALL]))
def test_no_text_begins_another(one: str, other: str, code: PrefixCode) -> None:
    first, second = code.write(one), code.write(other)
    if first.ended and second.ended and normal(one) != normal(other):
        size = min(first.length, second.length)
        assert first.bits >> first.length - size != second.bits >> second.length - size


@given(st.text("abcdeé ß検🙂.w", min_size=1, max_size=8), st.sampled_from(CODES), st.integers(0, 9))
def test_texts_of_one_length_end_by_themselves(text: str, code: PrefixCode, zeros: int) -> None:
    text = normal(text)
    own = code.of_length(len(text))
    found = own.write(text)
    assert found.ended
    assert own.read(found.bits << zeros, found.length + zeros) == text
    for most in (found.length - 1, found.length, found.length + 1):
        assert own.write(text, most).ended == (most >= found.length)
    for other in (text[1:], text + "a", ""):
        assert own.write(other) == Written(0, 0, ended=False, broken=True), "no bit of it"


def test_without_an_end_mark_letters_have_its_room_and_a_contract_says_the_length() -> None:
    own = SMALL.of_length(2)
    assert own.to_json() == {"length": 2, "rows": [[1, "a"], [2, "b"], [3, 195], [4, "ab", "é"]]}
    assert own.end_bits == 0 < SMALL.end_bits
    assert PrefixCode.of(own.to_json()) == own
    assert PrefixCode.of(json.loads(json.dumps(own.to_json()))) == own
    assert PrefixCode.of([[1, "a"], [2, "b"]], 3) == PrefixCode.of(
        {"length": 3, "rows": [[1, "a"], [2, "b"]]}, 3
    )
    assert PrefixCode.of(SMALL.to_json(), 2) == own
    assert written(own, "ab") == "1110", "the longest symbol"


@given(st.dictionaries(st.sampled_from("abcdefghij"), st.integers(1, 1000), min_size=1))
def test_frequent_symbols_have_no_longer_words(weights: dict[Symbol, int]) -> None:
    code = PrefixCode.from_weights({"": 7, **weights})
    lengths = {symbol: size for symbol, (_, size) in code.words.items()}
    assert sum(Fraction(1, 2**size) for size in lengths.values()) == 1, "no bits are wasted"
    for one in weights:
        for other in weights:
            assert weights[one] <= weights[other] or lengths[one] <= lengths[other]


def test_shipped_codes_stay_as_they_are() -> None:
    # Contracts carry their codes whole; new contracts of the same wish should still be equal.
    found = {name: digest(shipped_code(name).to_json())[:12] for name in NAMES}
    assert found == DIGESTS
    lengths = {name: shipped_code(name).write("example.com/wörter").length for name in NAMES}
    assert lengths == LENGTHS


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "code.json"
    path.write_text(json.dumps(SMALL.to_json()), encoding="utf-8")
    assert PrefixCode.load(path) == SMALL
    for text in ("[[1", "\ufeff", "[" * 5000):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"code.json: a code must be JSON in UTF-8"):
            PrefixCode.load(path)
    path.write_text("[[1, 5]]", encoding="utf-8")
    with pytest.raises(InputError, match=r"code.json: a symbol must be"):
        PrefixCode.load(path)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("ab", "must be a list of rows"),
        ([], "must be a list of rows"),
        ([[1]], r"must be \[length, symbol, ...\]"),
        ([[0, "a", ""]], "a length from 1 to 32"),
        ([[True, "a", ""]], "a length from 1 to 32"),
        ([[33, "a", ""]], "a length from 1 to 32"),
        ([[1, "a"], [1, ""]], "growing lengths"),
        ([[2, "a"], [1, ""]], "growing lengths"),
        ([[1, "a", "b"]], "must have an end mark"),
        ([[1, "a", "", "b"]], r"prefix-free.*got 1.5"),
        ([[1, ""], [2, "a", "b", "c"]], r"prefix-free.*got 1.25"),
        ([[2, "a", "", "a"]], "distinct; got 'a' twice"),
        ([[1, ""]], "2 to 4,096 symbols; got 1"),
        ([[1, "", 193]], "from 194 to 244; got 193"),
        ([[1, "", True]], "got True"),
        ([[1, "", "e\u0301"]], "normal form C"),
        ([[1, "", "\ud800"]], "normal form C"),
        ([[1, "", "a" * 33]], "up to 32 characters"),
        ({"length": 3, "rows": [[1, "a", ""]]}, "must have no end mark.*after its 3 characters"),
        ({"length": 0, "rows": [[1, "a", "b"]]}, "texts must be an integer from 1 to 256; got 0"),
        (
            {"length": "3", "rows": [[1, "a", "b"]]},
            "integer from 1 to 256; got '3'",
        ),
        (
            {"length": 3, "row": [[1, "a", "b"]]},
            r"and its rows.*got \['length', 'row'\]",
        ),
        ({"length": 3, "rows": []}, "must be a list of rows"),
    ],
)
def test_a_bad_code_is_refused_in_a_sentence(rows: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        PrefixCode.of(rows)


def test_a_name_that_is_none() -> None:
    with pytest.raises(InputError, match="code must be one of latin, utf-8, url; got 'klingon'"):
        shipped_code("klingon")
