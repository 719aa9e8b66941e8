"""Paths that few designs, widths or draws take, held to their laws or to counts by hand."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.core.errors import InputError
from rumor.core.exact import WORD, exp
from rumor.mechanisms.aliases import unknown_mechanism
from rumor.mechanisms.blanket import worst_case_blanket
from rumor.mechanisms.open_words.code import PrefixCode
from rumor.mechanisms.rappor.rappor import Rappor
from rumor.mechanisms.rappor.two_stage import TwoStageNoise
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.window import below_each


class Words:
    """A stream of words that are written down."""

    def __init__(self, words: Iterable[int]) -> None:
        self._left = deque(words)

    def words(self, count: int) -> Any:
        return np.array([self._left.popleft() for _ in range(count)], dtype=np.uint64)


def test_a_word_that_would_favour_some_integers_is_drawn_again() -> None:
    # Of 2^64 words, 2^64 mod 3 = 1 is too many: 0 is drawn anew, alone, however often it comes.
    bounds = np.array([3, 3, 3, 7, 2**32], dtype=np.uint64)
    third = WORD // 3
    first = [0, third + 1, 0, WORD - 1, WORD - 1]
    stream = Words([*first, 0, third, 2 * third + 1])
    drawn = below_each(stream, bounds)  # type: ignore[arg-type]
    assert drawn.tolist() == [2, 1, 0, 6, 2**32 - 1]
    assert not stream._left


def expected_word(word: int, bound: int) -> int | None:
    """Return the integer that a word stands for, or None where it is refused: exactly."""
    return None if word * bound % WORD < WORD % bound else word * bound // WORD


def test_integers_of_words_are_those_of_exact_arithmetic() -> None:
    chance = np.random.default_rng(7)
    for bound in (3, 5, 1000, 2**31 - 1, 2**32 - 5):
        edges = [(WORD * i) // bound + j for i in (0, 1, bound - 1) for j in (-1, 0, 1)]
        words = [w for w in edges if 0 <= w < WORD]
        words += chance.integers(0, WORD, 50, dtype=np.uint64).tolist()
        for word in words:
            answer = expected_word(word, bound)
            stream = Words([word] if answer is not None else [word, WORD - 1])
            found = below_each(stream, np.array([bound], dtype=np.uint64))  # type: ignore[arg-type]
            assert found.tolist() == [bound - 1 if answer is None else answer]


def test_pairs_of_lists_are_counted_as_pairs_of_bitmaps() -> None:
    wide = rumor.SetSelect(domain=60, epsilon=1.0, cap=2, size=2, counted="pairs")
    assert not wide.bitmap
    lists = [[0, 1], [0, 1], [58, 59], [3, 40]]
    reports = np.array(lists, dtype=np.uint8)
    tally = wide.tally(reports)
    assert tally[:60].tolist() == np.bincount(reports.reshape(-1), minlength=60).tolist()
    pairs = dict(zip(itertools.combinations(range(60), 2), tally[60:].tolist(), strict=True))
    assert {pair: count for pair, count in pairs.items() if count} == {
        (0, 1): 2, (58, 59): 1, (3, 40): 1,
    }  # fmt: skip
    drawn = wide.privatize([[1, 2], [5]] * 200, random=rumor.Seeded(3))
    both = (drawn < 60).all(axis=1)  # the other lists have an option fewer
    assert 0 < both.sum() < len(drawn)
    assert wide.tally(drawn)[60:].sum() == both.sum()


def test_ratios_of_wide_reports_are_those_of_the_model() -> None:
    wide = rumor.SetSelect(domain=64, epsilon=1.5, cap=1, size=20)
    assert wide.width > 7
    reports = wide.privatize([[1]] * 30 + [[9]] * 30, random=rumor.Seeded(5))
    reports = np.concatenate([reports, reports[:7]])
    ratios = wide.log_likelihood_ratio(reports, [1], [9])
    for report, ratio in zip(reports, ratios.tolist(), strict=True):
        above, below = (wide.probability(report.tobytes(), value) for value in ([1], [9]))
        assert ratio == pytest.approx(math.log(above) - math.log(below), abs=1e-12)
    assert {round(ratio, 9) for ratio in ratios.tolist()} <= {
        0.0, round(wide.epsilon, 9), -round(wide.epsilon, 9)
    }  # fmt: skip


@pytest.mark.parametrize(("p", "q"), [(0.0, 0.5), (0.25, 1.0), (0.0, 1.0)])
def test_a_stage_without_noise_changes_nothing(p: float, q: float) -> None:
    noise = TwoStageNoise.of(0.5, p, q)
    bits = 64 * 500
    for value in (0, 1):
        words = np.full(500, ~np.uint64(0) if value else np.uint64(0))
        noise.apply(rumor.Seeded(11).stream(), words)
        ones = (
            int(np.bitwise_count(words).sum())
            if hasattr(np, "bitwise_count")
            else sum(int(word).bit_count() for word in words.tolist())
        )
        kept = 0.75 if value else 0.25
        expected = kept * q + (1 - kept) * p
        spread = math.sqrt(bits * expected * (1 - expected))
        assert abs(ones - bits * expected) < 5 * spread
    # Where nothing is flipped, what p and q leave certain is certain.
    sure = TwoStageNoise(flip=1, low=0, high=WORD // 2)
    words = np.zeros(500, dtype=np.uint64)
    sure.apply(rumor.Seeded(12).stream(), words)
    assert not words.any()
    sure = TwoStageNoise(flip=1, low=WORD // 2, high=WORD)
    words = np.full(500, ~np.uint64(0))
    sure.apply(rumor.Seeded(12).stream(), words)
    assert (words == ~np.uint64(0)).all()


def chance(one: int, flip: float, p: float, q: float, told: tuple[int, ...]) -> float:
    """Return the chance that a bit's reports are `told`, over its permanent bit."""
    total = 0.0
    for permanent in (0, 1):
        share = 1 - flip if permanent == one else flip
        shown = q if permanent else p
        total += share * math.prod(shown if bit else 1 - shown for bit in told)
    return total


def test_the_ratio_of_a_transcript_is_that_of_its_bits() -> None:
    rappor = Rappor(bits=8, hashes=2, cohorts=3, f=0.5, p=0.25, q=0.75, key=b"k")
    device = rumor.Keyed(bytes(32), "device")
    made = [
        rappor.permanence.report_memoised("x", permanent=device, random=rumor.Seeded(n))
        for n in range(6)
    ]
    transcripts = np.frombuffer(b"".join(made), np.uint8).reshape(2, 3, rappor.width)
    found = rappor.permanence.transcript_log_ratio(transcripts, "one", "two")
    for transcript, ratio in zip(transcripts.tolist(), found.tolist(), strict=True):
        cohort = transcript[0][0]
        own = [
            int.from_bytes(rappor.bloom.filter(word, cohort), "little") for word in ("one", "two")
        ]
        expected = 0.0
        for bit in range(8):
            told = tuple(row[1] >> bit & 1 for row in transcript)
            above, below = (chance(word >> bit & 1, 0.25, 0.25, 0.75, told) for word in own)
            expected += math.log(above) - math.log(below)
        assert ratio == pytest.approx(expected, abs=1e-9)
    # Without permanent noise every report is one of its own.
    fresh = Rappor(bits=8, hashes=2, cohorts=3, f=0, p=0.25, q=0.75, key=b"k")
    each = fresh.log_likelihood_ratio(transcripts.reshape(6, -1), "one", "two").reshape(2, 3)
    together = fresh.permanence.transcript_log_ratio(transcripts, "one", "two")
    assert together == pytest.approx(each.sum(axis=1), abs=1e-12)


@pytest.mark.parametrize(("hashes", "is_worst"), [(12, False), (13, True)])
def test_a_word_with_many_bits_has_the_blanket_of_its_epsilon(hashes: int, is_worst: bool) -> None:
    one = Rappor(bits=64, hashes=hashes, cohorts=1, f=0.5, p=0.5, q=0.75, key=b"k")
    worst = worst_case_blanket(exp(one.epsilon) * (1 + Fraction(1, 10**100)))
    assert (one.blanket() == worst) is is_worst


def test_copies_of_a_permanent_word_say_nothing_more() -> None:
    words = rumor.OpenWords(
        code=[[1, "a"], [2, "b", ""]], step=1, weights=[1, 1], key=b"k", cohorts=2, epsilon=1.0
    )
    reports = words.privatize(["a", "b", "ab", "ba"] * 5, random=rumor.Seeded(2))
    copies = np.repeat(reports[:, None, :], 4, axis=1)
    alone = words.log_likelihood_ratio(reports, "a", "b")
    found = words.permanence.transcript_log_ratio(copies, "a", "b")
    assert found.tolist() == alone.tolist()
    assert max(abs(found)) == pytest.approx(words.epsilon, abs=1e-9)


def test_a_code_reads_as_much_of_a_text_as_the_bits_decide() -> None:
    code = PrefixCode.of([[1, "a"], [2, "b"], [3, ""], [4, 195], [5, 226]])
    texts = ["", "a", "abba", "é", "aéb", "€", "b€a"]
    for text in texts:
        written = code.write(text)
        assert code.read(written.bits, written.length) == text
        decided = []
        for length in range(written.length + 1):
            found = code.read(written.bits >> (written.length - length), length)
            assert found is not None
            assert text.startswith(found)
            decided.append(len(found))
        assert decided == sorted(decided)
        assert decided[-1] == len(text)
    # Bytes that no text has.
    odd = PrefixCode.of([[1, ""], [2, 0xED, "a"]])
    word, size = odd.words[0xED]
    bits = (word << 12) | (0x20 << 6) | 0x00  # 0xED 0xA0 0x80: half of a surrogate pair
    assert odd.read(bits, size + 12) is None
    assert odd.read((word << 12) | (0x1F << 6) | 0x3F, size + 12) == "\ud7ff"


def test_the_score_of_an_answer_on_paper_is_its_own_part_of_all_scores() -> None:
    asked = rumor.PaperDesign(domain=("yes", "no"), design="forced-response", yes="1/4", no="1/12")
    reports = asked.without_labels().privatize([0] * 30 + [1] * 70, random=rumor.Seeded(1))
    tally = Summary.empty(asked).update(reports).tally
    whole = asked.score(tally, 100)
    p, q = 11 / 12, 1 / 4
    for member, (hit, miss) in enumerate([(p, q), (1 - q, 1 - p)]):
        one = asked.group_score(tally, 100, np.array([member]))
        shown = float(asked.support_counts(tally)[member]) / 100
        assert one.gain == pytest.approx(p - q)
        assert one.excess.tolist() == pytest.approx([shown - miss])
        assert one.excess.tolist() == [whole.excess[member]]
        assert one.ends == pytest.approx((-miss, 1 - miss))
        for share in (0.0, 0.3, 1.0):
            constant, linear, square = (float(np.ravel(x)[0]) for x in one.spread["population"])
            chance = miss + (hit - miss) * share
            assert constant + linear * share + square * share**2 == pytest.approx(
                chance * (1 - chance)
            )
    both = asked.group_score(tally, 100, np.array([0, 1]))
    assert np.ravel(both.excess).tolist() == pytest.approx([both.gain])  # together they are all


def test_a_name_that_several_kinds_have_suggests_the_one_of_this_kind() -> None:
    assert str(unknown_mechanism("grr", ["pckv-grr", "privkv"])) == (
        "a mechanism must be one of auto, pckv-grr, privkv; got 'grr' (did you mean 'pckv-grr'?)"
    )
    assert isinstance(unknown_mechanism("grr", ["privkv"], auto=False), InputError)
    assert str(unknown_mechanism("grr", ["privkv"], auto=False)) == (
        "a mechanism must be one of privkv; got 'grr', which is 'randomized-response', for "
        "questions of kind 'choice'"
    )
