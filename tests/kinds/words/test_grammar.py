"""The beginnings that a code can write: every word's, and no bits that are nobody's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumor.kinds.words.code_tables import NAMES, shipped_code
from rumor.kinds.words.fit.prefixes import DEAD, ENDED, START, Grammar, bits_of, read_word
from rumor.mechanisms.open_words.code import PrefixCode

GRAMMARS = {name: Grammar(shipped_code(name)) for name in NAMES}
OF_ONE_LENGTH = {
    (name, length): shipped_code(name).of_length(length) for name in NAMES for length in range(1, 7)
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


@given(st.text("aeß検🙂w.", min_size=1, max_size=6), st.sampled_from(NAMES))
def test_words_of_one_length_end_with_their_last_character(word: str, name: str) -> None:
    code = OF_ONE_LENGTH[name, len(word)]
    written, grammar = code.write(word), Grammar(code)
    bits = format(written.bits, f"0{written.length}b")
    states = [state_after(grammar, bits[:n]) for n in range(len(bits) + 1)]
    assert states[-1] == ENDED
    assert DEAD not in states
    assert ENDED not in states[:-1]
    assert state_after(grammar, bits + "00") == ENDED
    assert state_after(grammar, bits + "1") == DEAD


CODES = {
    "with an end mark": PrefixCode.of([[2, "a", "", "b"], [4, "ab", 195]]),
    "of three letters": PrefixCode.of({"length": 3, "rows": [[1, "a"], [2, "b"], [3, "ab", "c"]]}),
}


@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
@pytest.mark.parametrize("step", [1, 3, 4])
def test_growth_counts_what_all_extensions_come_to(code: PrefixCode, step: int) -> None:
    """Every beginning that goes on is extended by every chunk, level by level."""
    grammar, states = Grammar(code), np.array([START], dtype=np.int32)
    going, ended = grammar.growth(step, 4)
    for level in range(4):
        after = grammar.after(states, step)
        on = after[(after != DEAD) & (after != ENDED)]
        assert going[level] == pytest.approx(on.size / max(1, states.size))
        assert ended[level] == pytest.approx((after == ENDED).sum() / max(1, states.size))
        states = on


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
