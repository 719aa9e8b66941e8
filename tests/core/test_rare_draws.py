"""The rare paths of bulk draws, and what reaches them: nobody waits for odds of 2^-32.

Bulk code decides most rows by half a word and settles the rest: a coin whose half ties with
the threshold's, a pick that would be biased. Scripted words put every row there, and the
answers are those of plain integers. The law at the end holds the thresholds that reach bulk
code to those that the reference draw hands to `coin`, for every mechanism.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.core import randomness
from rumor.core.coins import keep_or_replace
from rumor.core.exact import WORD
from rumor.core.loops.compiled import reports as kernels
from rumor.core.loops.plain import reports as twins
from rumor.core.pairs import StepTable, WideTable
from rumor.core.randomness import Keyed, Seeded, Stream, System
from rumor.mechanisms import REGISTRY, Mechanism
from rumor.mechanisms.capped import drawn_slots
from rumor.mechanisms.keyvalue import NOTHING
from rumor.privacy.audit.enumeration import EnumeratingDraws
from tests.javascript import node
from tests.laws.laws import forced, some_inputs
from tests.scripted import Scripted, ScriptedSource

HALF = 1 << 32
LOW = HALF - 1
PATHS = ["plain", "compiled"]
BOTH = [kernels, twins]


def edges(bound: int) -> list[int]:
    """32-bit numbers around which the low half of number * bound crosses the rejection."""
    found = {0, 1, LOW, LOW - 1, HALF // 2}
    for k in range(1, min(bound, 5)):
        start = -(-(k << 32) // bound)
        found |= {start - 1, start, start + 1}
    return sorted(number for number in found if 0 <= number < HALF)


def rejected(number: int, bound: int) -> bool:
    """Whether a 32-bit number must not decide a uniform integer below the bound."""
    return number * bound % HALF < HALF % bound


# --- Slots of people with keys ---------------------------------------------------------------


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 6, 10, 1000, (1 << 31) + 1])
def test_slots_are_uniform_without_the_biased_words(bound: int) -> None:
    halves = edges(bound)
    refill = [(LOW << 32) + 5] * len(halves)  # the largest high half is never rejected
    stream = Scripted([(half << 32) + 7 for half in halves] + refill)
    found = drawn_slots(stream, np.full(len(halves), bound, dtype=np.int64))
    expected = [bound - 1 if rejected(h, bound) else h * bound >> 32 for h in halves]
    assert found.tolist() == expected
    assert stream.left == len(refill) - sum(rejected(h, bound) for h in halves)


def test_a_slot_that_is_rejected_again_keeps_its_own_bound() -> None:
    """Word 0 is biased for 3 and for 5, never for 4: rows 0 and 2 draw again, by their bounds."""
    stream = Scripted([0, 0, 0, 0, 0, LOW << 32, LOW << 32])
    assert drawn_slots(stream, np.array([3, 4, 5])).tolist() == [2, 0, 4]
    assert stream.left == 0


@pytest.mark.parametrize(("slot_word", "own"), [(0, True), (LOW << 32, False)])
def test_who_holds_fewer_keys_than_the_cap_has_empty_slots(slot_word: int, own: bool) -> None:
    """One key of two, a cap of two: the second slot is empty, whatever the truth is worth."""
    person = [[None, 1.0]]
    sampling = rumor.ItemSampling(keys=2, epsilon=1.0, cap=2, steps=2)
    script = ScriptedSource([0, slot_word, 0, WORD - 1])  # honest; the slot; up; a pick for nothing
    assert sampling.privatize(person, random=script)[0, 0] == (3 if own else 0)
    pckv = rumor.PckvGrr(keys=2, epsilon=1.0, cap=2, steps=2)
    script = ScriptedSource([slot_word, 0, 0])  # the slot; plus; the truth
    # Dummy keys come behind the two: the first of them is key 2.
    assert pckv.privatize(person, random=script)[0, 0] == (2 if own else 4)


# --- One key and its sign, two halves of one word --------------------------------------------

KEYS, STEPS = 6, 5
# A row holds 0, 1 and 5 fifths of the range, and not the other keys; NaN is what is not held.
ROW = np.array([0.0, 0.2, 1.0, np.nan, 0.6, np.nan])
STEPS_OF_ROW = [0, 1, 5, -1, 3, -1]


def half_words() -> list[tuple[int, int]]:
    return [(key, step) for key in edges(KEYS) for step in edges(STEPS)]


def expected_signs(pairs: Sequence[tuple[int, int]]) -> tuple[list[int], list[int], list[int]]:
    keys, signs, rare = [], [], []
    for row, (high, low) in enumerate(pairs):
        key, draw = high * KEYS >> 32, low * STEPS >> 32
        step = STEPS_OF_ROW[key]
        keys.append(key)
        signs.append(0 if step < 0 else 1 if draw < step else 2)
        if rejected(high, KEYS) or rejected(low, STEPS):
            rare.append(row)
    return keys, signs, rare


@pytest.mark.parametrize("module", BOTH, ids=lambda module: module.__name__)
def test_keys_and_signs_from_half_words(module: ModuleType) -> None:
    pairs = half_words()
    words = np.array([(high << 32) + low for high, low in pairs], dtype=np.uint64)
    keys, signs, rare = expected_signs(pairs)
    cells = np.tile(ROW, (len(pairs), 1))
    codes = np.tile(np.array([0, 1, 5, 255, 3, 255], dtype=np.uint8), (len(pairs), 1))
    for table in (cells, codes):
        out: list[Any] = [np.empty(len(pairs), dtype=np.int64) for _ in range(2)]
        flagged = np.empty(len(pairs) + 1, dtype=np.int64)
        if table is cells:
            ends = (np.float64(0), np.float64(1), 0.0, 1.0, float(STEPS))
            found, bad = module.pick_signs(words, table, STEPS, *ends, True, *out, flagged)
            assert not bad
        else:
            found = module.pick_steps(words, table, STEPS, 255, *out, flagged)
        assert flagged[:found].tolist() == rare
        sure = np.setdiff1d(np.arange(len(pairs)), rare)
        assert out[0][sure].tolist() == np.array(keys)[sure].tolist()
        assert out[1][sure].tolist() == np.array(signs)[sure].tolist()


@pytest.mark.parametrize("module", BOTH, ids=lambda module: module.__name__)
def test_cells_are_looked_at_when_strangers_are_refused(module: ModuleType) -> None:
    ends = (np.float64(0), np.float64(1), 0.0, 1.0, float(STEPS))
    keys = np.array([[0, 4], [2, 3]])
    for outside, refuse, bad in ((1.5, True, True), (-0.5, True, True), (1.5, False, False)):
        cells = np.tile(ROW, (2, 1))
        cells[1, 1] = outside  # nobody's pick
        steps = np.empty((2, 2), dtype=np.int32)
        assert module.pick_cells(cells, keys, *ends, STEPS, refuse, steps) == bad
        assert steps.tolist() == [[0, 3], [5, -1]]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("checked", [False, True])
def test_biased_picks_are_settled_by_whole_words(path: str, checked: bool) -> None:
    """Row 1 is biased: below(6) then gives key 2, and below(5) = 3 is under its step of 5."""
    block = rumor.KeyValueBlock(keys=KEYS, epsilon=1.0, low=0.0, high=1.0, steps=STEPS, block=1)
    people: Any = np.tile(ROW, (3, 1))
    pairs = block.checked(people) if checked else block.read(people)
    assert isinstance(pairs, StepTable if checked else WideTable)
    sure = (LOW << 32) + LOW  # key 5, not held
    # 2**64 * 2.5 / 6 and * 3.5 / 5: the middle of what stands for 2 and for 3.
    stream = Scripted([sure, 0, sure, 5 * WORD // 12, 7 * WORD // 10])
    keys, signs = (np.empty(3, dtype=np.int64) for _ in range(2))
    with forced(path):
        pairs.sampled(stream, 0, keys, signs)
    assert keys.tolist() == [5, 2, 5]
    assert signs.tolist() == [NOTHING, 1, NOTHING]
    assert stream.left == 0


# --- Hadamard response -----------------------------------------------------------------------


def hadamard_output(oracle: rumor.HadamardResponse, code: int, even: bool, pick: int) -> int:
    """The pick-th output with this parity, in order, then those of the other blocks."""
    outputs = [int.from_bytes(row.tobytes(), "little") for row in oracle.outputs()]
    block = code // (oracle.block - 1)
    own = range(block * oracle.block, (block + 1) * oracle.block)
    row = 1 + code % (oracle.block - 1)
    inside = [y for y in own if ((row & (y - own[0])).bit_count() % 2 == 0) == even]
    return (inside if even else [*inside, *(y for y in outputs if y not in own)])[pick]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("code", [0, 2, 4, 9])
def test_ties_and_biased_picks_of_hadamard_response(path: str, code: int) -> None:
    oracle = rumor.HadamardResponse(domain=10, epsilon=2.0, blocks=4)
    high, low, far = oracle.supported >> 32, oracle.supported & LOW, oracle.alphabet - oracle.half
    assert HALF % far > 0  # some picks are biased
    assert 0 < low < LOW
    tie, lie = high << 32, (high + 1) << 32
    # Kept and denied by the high half; a tie that falls and one that does not, whatever their
    # low halves; a lie whose pick is biased.
    first = [tie - HALF + LOW, lie + LOW, tie + LOW, tie + 3, lie]
    coins = [(low - 1) << 32, low << 32, 0]
    near = [WORD - 1] * 3  # the last of the near ones
    picks = [WORD - 1, WORD - 1, 7 * WORD // (2 * far)]  # the last of the far ones, and the fourth
    source = ScriptedSource([*first, *coins, *near, *picks])
    with forced(path):
        batch = oracle.privatize([code] * len(first), random=source)
    found = [int.from_bytes(row.tobytes(), "little") for row in batch]
    decided = [
        (True, oracle.half - 1), (False, far - 1), (True, oracle.half - 1), (False, far - 1),
        (False, 3),
    ]  # fmt: skip
    assert found == [hadamard_output(oracle, code, *one) for one in decided]
    assert source.scripted.left == 0
    alone = ScriptedSource([tie + LOW, (low - 1) << 32, WORD - 1, WORD - 1])
    with forced(path):  # a batch in which nothing is rare but one tie, which falls
        batch = oracle.privatize([code], random=alone)
    assert batch[0, 0] == hadamard_output(oracle, code, True, oracle.half - 1)
    assert alone.scripted.left == 0


@pytest.mark.parametrize("module", BOTH, ids=lambda module: module.__name__)
def test_hadamard_outputs_by_plain_integers(module: ModuleType) -> None:
    oracle = rumor.HadamardResponse(domain=10, epsilon=2.0, blocks=4)
    high, far = oracle.supported >> 32, oracle.alphabet - oracle.half
    words, codes = [], []
    for code in (0, 1, 2, 5, 8, 9):
        for top in (0, high - 1, high, high + 1, LOW):
            for low in edges(far):
                words.append((top << 32) + low)
                codes.append(code)
    out: Any = np.empty(len(words), dtype=np.uint8)
    flagged = np.empty(len(words) + 1, dtype=np.int64)
    rare = module.hadamard_outputs(
        np.array(words, dtype=np.uint64), np.array(codes), np.uint64(oracle.supported),
        np.int64(oracle.block), np.int64(oracle.alphabet), out, flagged,
    )  # fmt: skip
    expected = [
        i for i, word in enumerate(words)
        if word >> 32 == high or (word >> 32 > high and rejected(word & LOW, far))
    ]  # fmt: skip
    assert flagged[:rare].tolist() == expected
    for i in np.setdiff1d(np.arange(len(words)), expected).tolist():
        even = words[i] >> 32 < high
        pick = (words[i] & LOW) * (oracle.half if even else far) >> 32
        assert out[i] == hadamard_output(oracle, codes[i], even, pick), (words[i], codes[i])


# --- Whole words that hit a threshold --------------------------------------------------------


def source_of(*rounds: tuple[int, int]) -> ScriptedSource:
    """Words by rounds of (word, how many)."""
    return ScriptedSource([word for word, count in rounds for _ in range(count)])


def test_whole_words_on_a_threshold_do_not_fall() -> None:
    """A coin falls below its threshold; on it, it does not. Bulk code that compares whole words."""
    harmony = rumor.Harmony(epsilon=1.0, steps=1)
    for word, said in ((harmony.truth - 1, 1), (harmony.truth, 0)):
        batch = harmony.privatize([1.0, 1.0], random=source_of((word, 2)))
        assert batch.ravel().tolist() == [said] * 2
    piecewise = rumor.Piecewise(epsilon=2.0, steps=6)
    last = WORD - 1  # never rejected: the last of any range
    for word, output in (
        (piecewise.inside - 1, piecewise.window - 1),
        (piecewise.inside, piecewise.alphabet - 1),
    ):
        batch = piecewise.privatize([-1.0], random=source_of((word, 1), (last, 2)))
        assert int.from_bytes(batch.tobytes(), "little") == output
    privkv = rumor.PrivKV(keys=1, epsilon=2.0, steps=2, split="exact")
    for word, said in ((privkv.key_truth - 1, 1), (privkv.key_truth, 0)):
        # The only key, held at the high end (rounded up), its sign kept: then the key's coin.
        script = source_of((last, 1), (0, 1), (0, 1), (word, 1))
        assert privkv.privatize([[1.0]], random=script)[0, -1] == said
    for word, said in ((privkv.value_truth - 1, 1), (privkv.value_truth, 2)):
        script = source_of((last, 1), (0, 1), (word, 1), (0, 1))
        assert privkv.privatize([[1.0]], random=script)[0, -1] == said
    sampling = rumor.ItemSampling(keys=1, epsilon=1.0, cap=1, steps=1)
    for word, said in ((sampling.truth - 1, 1), (sampling.truth, 0)):
        # Its one slot, rounded up; the other output would be the last: nothing.
        script = source_of((word, 1), (last, 1), (last, 1), (last, 1))
        assert sampling.privatize([[1.0]], random=script)[0, 0] == said


# --- Values kept or replaced, subsets completed ----------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_a_tie_is_settled_over_all_other_values(path: str) -> None:
    """Every lie after a tie: the new word decides among all others, none of them twice."""
    domain, code = 7, 2
    threshold = (9 << 32) + 5
    lies = [(2 * k + 1) * WORD // (2 * (domain - 1)) for k in range(domain - 1)]
    tie = [(9 << 32) + LOW] * len(lies)  # a low half that is not biased: only the tie is rare
    with forced(path):
        stream = Scripted([*tie, *([5 << 32] * len(lies)), *lies])
        kept = keep_or_replace(stream, np.full(len(lies), code), domain, threshold)
    assert kept.tolist() == [0, 1, 3, 4, 5, 6]
    with forced(path):
        stream = Scripted([*tie, *([4 << 32] * len(lies)), *lies])
        kept = keep_or_replace(stream, np.full(len(lies), code), domain, threshold)
    assert kept.tolist() == [code] * len(lies)


@pytest.mark.parametrize("module", BOTH, ids=lambda module: module.__name__)
@pytest.mark.parametrize("included", [0, 1])
def test_subsets_are_completed_by_uniform_positions(module: ModuleType, included: int) -> None:
    """Biased words, the person's own value and positions that change nothing are passed over."""
    domain, size, code = 70, 3, 65

    def word(position: int) -> int:
        return (2 * position + 1) * HALF // (2 * domain)

    assert rejected(0, domain)
    assert not any(rejected(word(p), domain) for p in range(domain))
    # Too few: position 3 is there already, 65 is the person's own, 0 is biased.
    few = np.array([[1 << 3, 0]], dtype=np.uint64)
    halves = np.array([0, word(65), word(3), word(69), word(68), word(1)], dtype=np.uint32)
    codes, flags = np.array([code]), np.array([included], dtype=np.uint8)
    done = module.complete_subsets(few, codes, flags, size, domain, halves, 0)
    assert done == 1
    want = {3, 69, 65} if included else {3, 69, 68}
    assert bits(few) == want
    # Too many, the own one among them: positions that are not there are passed over.
    many = np.array([[0b11110, 1 << 1]], dtype=np.uint64)  # 1 to 4 and 65
    halves = np.array([word(9), word(65), word(2), word(2), word(4)], dtype=np.uint32)
    assert module.complete_subsets(many, codes, flags, size, domain, halves, 0) == 1
    assert bits(many) == ({1, 3, 65} if included else {1, 3, 4})
    # Words that run out: the row stays, and is taken up again where it was left.
    rest = np.array([[0, 0]], dtype=np.uint64)
    assert module.complete_subsets(rest, codes, flags, size, domain, halves[:1], 0) == 0
    assert module.complete_subsets(rest, codes, flags, size, domain, halves[2:], 0) == 1
    assert bits(rest) == ({9, 2, 65} if included else {9, 2, 4})
    lists = np.empty((1, 3), dtype=np.uint32)
    module.list_bits(many, lists)
    assert lists[0].tolist() == sorted(bits(many))


def bits(bitmaps: np.ndarray) -> set[int]:
    lanes = np.unpackbits(bitmaps.astype("<u8").view(np.uint8), bitorder="little")
    return set(np.flatnonzero(lanes).tolist())


@pytest.mark.parametrize("module", BOTH, ids=lambda module: module.__name__)
@pytest.mark.parametrize(("bits_", "count", "domain"), [(32, 11, 300), (64, 6, 2100)])
def test_hashes_by_plain_integers(module: ModuleType, bits_: int, count: int, domain: int) -> None:
    """Counts, sums over values and sums over reports, spans of 0 and of everything included."""
    random, mask = np.random.default_rng(7), (1 << bits_) - 1
    a, c = ([int(x) & mask for x in random.integers(0, WORD, count, np.uint64)] for _ in range(2))
    span = [0, mask, *(int(x) & mask for x in random.integers(0, WORD, count - 2, np.uint64))]
    c[0] = (-a[0] * 5) & mask  # the hash of value 5 is exactly the span of report 0
    inside = np.array([[(x * v + y) & mask <= s for v in range(domain)]
                       for x, y, s in zip(a, c, span, strict=True)])  # fmt: skip
    given = [np.array(part, dtype=np.uint64) for part in (a, c, span)]
    counts = np.ones(domain, dtype=np.int64)
    module.count_hashes(*given, np.uint64(mask), counts)
    assert counts.tolist() == (1 + inside.sum(axis=0)).tolist()
    h, w = random.normal(size=domain), random.normal(size=count)
    forward = module.hash_forward(*given, np.uint64(mask), h)
    np.testing.assert_allclose(forward, inside @ h, atol=1e-9)
    adjoint = module.hash_adjoint(*given, np.uint64(mask), w, domain)
    np.testing.assert_allclose(adjoint, w @ inside, atol=1e-9)


@pytest.mark.parametrize("module", BOTH, ids=lambda module: module.__name__)
def test_ties_on_the_rest_do_not_fall(module: ModuleType) -> None:
    """Three lanes tie: the settling word is below what is left of the threshold, on it, above."""
    rest = 1 << 40
    lanes: Any = np.array([0b100], dtype=np.uint64)
    ties = np.array([0b1011], dtype=np.uint64)
    settling = np.array([rest - 1, rest, rest + 1], dtype=np.uint64)
    module.settle_ties(lanes, ties, settling, np.uint64(rest))
    assert lanes.tolist() == [0b101]


def test_large_batches_go_through_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain loops unpack some rows at a time: each block has weights and sums of its own."""
    monkeypatch.setattr(twins, "_UNPACKED", 8 * 3 * 4)  # four rows of three bytes
    random = np.random.default_rng(2)
    rows = random.integers(0, 256, (11, 3), dtype=np.uint8)
    lanes = np.unpackbits(rows, axis=1, bitorder="little")
    h, w = random.normal(size=24), random.normal(size=11)
    assert twins.count_columns(rows).tolist() == lanes.sum(axis=0).tolist()
    np.testing.assert_allclose(twins.bits_forward(rows, h), lanes @ h)
    np.testing.assert_allclose(twins.bits_adjoint(rows, w), w @ lanes)
    a, c, span = (random.integers(0, WORD, 11, np.uint64) for _ in range(3))
    inside = a[:, None] * np.arange(24, dtype=np.uint64) + c[:, None] <= span[:, None]
    mask = np.uint64(WORD - 1)
    np.testing.assert_allclose(twins.hash_forward(a, c, span, mask, h), inside @ h)
    np.testing.assert_allclose(twins.hash_adjoint(a, c, span, mask, w, 24), w @ inside)


# --- The client for browsers -----------------------------------------------------------------


def test_rare_words_in_the_browser() -> None:
    """Coins whose high halves tie, and integers whose word is biased, as Python decides them."""
    threshold = (0x55555555 << 32) + 0x80000000
    coins = [threshold - 1, threshold, threshold + 1, threshold - HALF, threshold + HALF,
             (0x55555555 << 32) + LOW, 0x55555555 << 32]  # fmt: skip
    whole = 1 << 63  # a low half of 0: no tie may fall
    asks: list[tuple[str, str]] = [("coin", str(threshold))] * len(coins)
    expected = [int(word < threshold) for word in coins]
    words, asks = [*coins, whole, whole - 1], [*asks, ("coin", str(whole)), ("coin", str(whole))]
    expected += [0, 1]
    for bound in (3, 10, 1000, (1 << 32) - 1):
        biased = [0, *(-(-(k << 64) // bound) for k in (1, 2))]
        biased = [word for word in biased if word * bound % WORD < WORD % bound]
        assert biased
        for word in biased:
            words += [word, WORD - 1]
            asks.append(("below", str(bound)))
            expected.append(bound - 1)
    found = node("scripted.mjs", given={"words": [str(word) for word in words], "asks": asks})
    assert found == {"answers": expected, "left": 0}


# --- Entropy ---------------------------------------------------------------------------------


def test_every_call_takes_32_new_bytes_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """One seed for a stream and for a batch of any size, used whole; a new one after a fork."""
    asked: list[int] = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return bytes((len(asked) + i) % 256 for i in range(count))

    monkeypatch.setattr(randomness, "os", os)  # the real one, as on a device
    monkeypatch.setattr(os, "urandom", urandom)
    stream = System().stream()
    assert asked == [32]
    seed = bytes((1 + i) % 256 for i in range(32))
    assert stream.words(9).tolist() == Stream(seed).words(9).tolist()
    oracle = rumor.RandomizedResponse(domain=5, epsilon=1.0)
    oracle.report(1)
    assert asked == [32] * 2
    oracle.privatize([1] * 1000)
    assert asked == [32] * 3
    rappor = rumor.Rappor.full(key=b"key", bits=8, hashes=1, cohorts=1)
    rappor.report_memoised("word", permanent=Keyed(bytes(16)))
    assert asked == [32] * 4
    held, own = System().stream(), os.getpid()
    held.words(1)
    monkeypatch.setattr(os, "getpid", lambda: own + 1)  # as a child of a fork sees it
    child = held.words(2).tolist()
    assert asked == [32] * 6
    renewed = Stream(bytes((6 + i) % 256 for i in range(32)))
    assert child == renewed.words(2).tolist()
    held.words(2)
    assert asked == [32] * 6, "once is enough"


# --- Thresholds ------------------------------------------------------------------------------


class RecordingDraws(EnumeratingDraws):
    """Draws that remember the thresholds of their coins."""

    def __init__(self, path: list[int], public: bytes, seen: set[int]) -> None:
        super().__init__(path, public)
        self._seen = seen

    def coin(self, threshold: int) -> bool:
        self._seen.add(threshold)
        return super().coin(threshold)

    def below(self, bound: int) -> int:
        # Which coins come does not depend on the pick: its first and last stand for all.
        return bound - 1 if bound > 2 and self._choose(2) else super().below(min(bound, 1))

    def first(self, attempt: Callable[[], Any], fits: Callable[[Any], bool]) -> Any:
        return attempt()  # nor on whether it fits


def thresholds_of_draws(mechanism: Mechanism, values: Sequence[object]) -> set[int]:
    """Every threshold that the reference draw of these values can hand to `coin`."""
    seen: set[int] = set()
    for value in values:
        path: list[int] = []
        for _ in range(2000):
            draws = RecordingDraws(path, mechanism.publics()[0], seen)
            mechanism.draw(value, draws)
            path = draws.taken
            while path and path[-1] + 1 == draws.arity[len(path) - 1]:
                path.pop()
            if not path:
                break
            path[-1] += 1
    return seen


class Compared(np.ndarray):
    """Words that remember what they are compared with."""

    seen: set[int]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        plain = [np.asarray(x) for x in inputs]
        if ufunc is np.less and isinstance(inputs[0], Compared):
            self.seen.update(int(t) for t in np.ravel(plain[1]))
        return getattr(ufunc, method)(*plain, **more)


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[int]]:
    """The thresholds that bulk code is given, wherever it takes them."""
    seen: set[int] = set()
    place = {"bernoulli_words": 2, "fill_bernoulli": 2, "keep_or_replace": 3}

    def recorded(function: Callable[..., Any], argument: int) -> Callable[..., Any]:
        def wrapper(*arguments: Any) -> Any:
            seen.add(int(arguments[argument]))
            return function(*arguments)

        return wrapper

    with monkeypatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if not name.startswith("rumor.mechanisms."):
                continue
            for function, argument in place.items():
                # The rough bits that a subset is begun with need no exact chance.
                rough = name.endswith("subset_selection") and function == "fill_bernoulli"
                if hasattr(module, function) and not rough:
                    patch.setattr(module, function, recorded(getattr(module, function), argument))
        patch.setattr(twins, "hadamard_outputs", recorded(twins.hadamard_outputs, 2))
        whole = Stream.words

        def words(stream: Stream, count: int) -> Any:
            found = whole(stream, count).view(Compared)
            found.seen = seen
            return found

        patch.setattr(Stream, "words", words)
        yield seen


MECHANISMS = [
    pytest.param(example, id=f"{kind.name}-{index}")
    for kind in REGISTRY
    for index, example in enumerate(kind.examples())
]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bulk_code_is_given_the_thresholds_of_the_draw(
    mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = some_inputs(mechanism, 3)
    with watched(monkeypatch) as seen, forced("plain"):
        mechanism.privatize(values * 40, random=Seeded(1))
    certain = {0, WORD}  # an absent stage of noise needs no coin
    assert seen - certain == thresholds_of_draws(mechanism, values) - certain
    assert seen or mechanism.by_hand  # dice have faces, and no thresholds
