"""The beginnings that a code can write: every word's, and no bits that are nobody's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumor.core.code_tables import NAMES, shipped_code
from rumor.core.prefix_code import END, PrefixCode
from rumor.estimators.discover.grammar import DEAD, ENDED, START, Grammar, bits_of, read_word

GRAMMARS = {name: Grammar(shipped_code(name)) for name in NAMES}
OF_ONE_LENGTH = {
    (name, length): Grammar(shipped_code(name), length) for name in NAMES for length in range(1, 7)
}


def state_after(grammar: Grammar, bits: str) -> int:
    state = START
    for bit in bits:
        state = int(grammar.table[state, int(bit)])
    return state


@given(st.text("aeß検索🙂éw.\u0800\ud7ff\ue000\U0010ffff", max_size=8), st.sampled_from(NAMES))
def test_every_word_can_be_followed_to_its_end(word: str, name: str) -> None:
    written = shipped_code(name).write(word)
    bits = format(written.bits, f"0{written.length}b")
    assert state_after(GRAMMARS[name], bits) == ENDED
    assert state_after(GRAMMARS[name], bits + "000") == ENDED
    assert state_after(GRAMMARS[name], bits + "01") == DEAD
    assert DEAD not in {state_after(GRAMMARS[name], bits[:n]) for n in range(len(bits))}


@given(st.text("aeß検🙂w", max_size=6), st.sampled_from(NAMES), st.integers(1, 6))
def test_words_of_one_length_end_there_and_nowhere_else(word: str, name: str, length: int) -> None:
    written = shipped_code(name).write(word)
    bits = format(written.bits, f"0{written.length}b")
    ends = state_after(OF_ONE_LENGTH[name, length], bits) == ENDED
    assert ends == (len(word) == length)
    if ends:
        states = [state_after(OF_ONE_LENGTH[name, length], bits[:n]) for n in range(len(bits) + 1)]
        assert DEAD not in states
        # Behind the last character there is one way on.
        whole = bits[: -shipped_code(name).words[END][1]]
        state = state_after(OF_ONE_LENGTH[name, length], whole)
        assert DEAD in OF_ONE_LENGTH[name, length].table[state]


@pytest.mark.parametrize("broken", ["E0 80 80", "ED A0 80", "F0 80 80 80", "F4 90 80 80"])
def test_bytes_that_are_no_character_lead_nowhere(broken: str) -> None:
    lead, *rest = bytes.fromhex(broken.replace(" ", ""))
    code = shipped_code("utf-8")
    word, size = code.words[lead]
    bits = format(word, f"0{size}b") + "".join(format(byte & 63, "06b") for byte in rest)
    assert state_after(GRAMMARS["utf-8"], bits) == DEAD


def test_bits_without_a_symbol_lead_nowhere() -> None:
    grammar = Grammar(PrefixCode.of([[2, "a", "", "b"]]))
    assert state_after(grammar, "11") == DEAD
    assert state_after(grammar, "0010") == START


def test_chunks_are_bits_one_after_the_other() -> None:
    grammar = GRAMMARS["latin"]
    after = grammar.after(np.array([START, ENDED], dtype=np.int32), 5)
    assert after.shape == (2, 32)
    for chunk in range(32):
        assert after[0, chunk] == state_after(grammar, format(chunk, "05b"))
    assert after[1].tolist() == [ENDED] + [DEAD] * 31


def test_only_words_as_they_are_written_are_read() -> None:
    code = PrefixCode.of([[2, "a", "b", ""], [3, "ab"]])
    whole = np.array([0b110, 0b100, 0b000])  # "ab", the end mark, zeros
    assert read_word(code, whole, 3) == "ab"
    apart = np.array([0b000, 0b110, 0b000])  # "a", "b", the end mark: nobody writes it so
    assert read_word(code, apart, 3) is None
    assert read_word(code, np.array([0b000, 0b001]), 3) is None, "no end mark"
    assert bits_of(whole, 3) == 0b110100000
