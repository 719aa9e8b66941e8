"""Keys, keystream, reference draws and bulk coins, held to published vectors and to integers."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from rumor.core.coins import (
    CHUNK_WORDS,
    bernoulli_words,
    fill_bernoulli,
    keep_or_replace,
    tied_coins,
)
from rumor.core.errors import InputError
from rumor.core.exact import WORD
from rumor.core.randomness import Keyed, Seeded, Stream, StreamDraws, System, encode_context
from rumor.core.reports import Reports
from rumor.mechanisms import from_description
from tests import reference
from tests.laws.laws import forced
from tests.scripted import Scripted

VECTORS = json.loads(
    (Path(__file__).parents[1] / "vectors" / "randomness.json").read_text(encoding="utf-8")
)
SECRET = bytes.fromhex(VECTORS["secret"])
SEED = bytes(range(100, 132))
PATHS = ["plain", "compiled"]


# --- Published vectors -----------------------------------------------------------------------


def test_the_published_vectors_are_those_of_the_specification() -> None:
    """The file is what plain integers give: neither can drift without the other."""
    assert json.loads(json.dumps(reference.vectors())) == VECTORS


@pytest.mark.parametrize("vector", VECTORS["keyed"], ids=lambda v: repr(v["context"]))
def test_keyed_streams(vector: dict[str, Any]) -> None:
    keyed = Keyed(SECRET, *vector["context"])
    assert [str(word) for word in keyed.stream().words(5)] == vector["words"]
    assert [str(word) for word in keyed.stream().words(5)] == vector["words"], "it stays the same"


@pytest.mark.parametrize("number", sorted({v["number"] for v in VECTORS["seeded"]}))
def test_seeded_streams(number: str) -> None:
    source = Seeded(int(number))
    for vector in (v for v in VECTORS["seeded"] if v["number"] == number):
        assert [str(word) for word in source.stream().words(5)] == vector["words"]


@pytest.mark.parametrize("vector", VECTORS["draws"], ids=lambda v: v["seed"][:8])
def test_reference_draws(vector: dict[str, Any]) -> None:
    """Also that a draw takes the words that it says, no more: the word after it is the next."""
    seed = bytes.fromhex(vector["seed"])
    draws = StreamDraws(Stream(seed))
    found: list[str] = []
    for step in VECTORS["steps"]:
        ((kind, argument),) = step.items()
        drawn = getattr(draws, kind)(int(argument))
        found.append(drawn.hex() if isinstance(drawn, bytes) else str(int(drawn)))
    assert found == vector["answers"]
    stream = Stream(seed)
    stream.seek(int(vector["words_taken"]))
    assert draws.word() == int(stream.words(1)[0])


@pytest.mark.parametrize(
    "vector", VECTORS["reports"], ids=lambda v: "-".join(map(str, v["context"]))
)
def test_reference_reports(vector: dict[str, Any]) -> None:
    mechanism = from_description(vector["mechanism"])
    keyed = Keyed(SECRET, *vector["context"])
    assert mechanism.report(vector["value"], random=keyed).hex() == vector["report"]


def test_every_kind_of_published_report_has_several_outcomes() -> None:
    """Vectors of a draw that always goes the same way would pin nothing."""
    for description, values in reference.MECHANISMS:
        for value in values:
            found = {
                v["report"]
                for v in VECTORS["reports"]
                if v["mechanism"] == description and v["value"] == value
            }
            assert len(found) >= 3


# --- The keystream ---------------------------------------------------------------------------


def test_the_keystream_is_the_one_of_nist() -> None:
    """SP 800-38A, F.5.1: the output blocks of CTR-AES128."""
    key = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    blocks = (
        "ec8cdf7398607cb0f2d21675ea9ea1e4"
        "362b7c3c6773516318a077d7fc5073ae"
        "6a2cc3787889374fbeb4c81b17ba6c44"
        "e89c399ff0f198c6d40a31db156cabfe"
    )
    out = np.empty(64, dtype=np.uint8)
    Stream(key + counter).fill(out)
    assert out.tobytes().hex() == blocks
    first = int.from_bytes(bytes.fromhex(blocks)[:8], "little")
    assert Stream(key + counter).words(1).tolist() == [first]


def test_the_keystream_is_aes_ctr_at_any_length() -> None:
    """Across the internal chunks of 64 kB, whole and with a remainder."""
    zeros = bytes(300_003)
    cipher = Cipher(algorithms.AES(SEED[:16]), modes.CTR(SEED[16:])).encryptor()
    expected = cipher.update(zeros)
    for size in (1, 65_535, 65_536, 65_537, 300_003):
        out = np.empty(size, dtype=np.uint8)
        Stream(SEED).fill(out)
        assert out.tobytes() == expected[:size]


def test_the_counter_wraps_at_its_end() -> None:
    """The last counter block is followed by block zero, as in every implementation of CTR."""
    seed = bytes(16) + b"\xff" * 16
    words = reference.keystream_words(seed)
    assert Stream(seed).words(6).tolist() == [next(words) for _ in range(6)]
    stream = Stream(seed)
    stream.seek(3)
    again = reference.keystream_words(seed)
    assert stream.words(2).tolist() == [next(again) for _ in range(5)][3:]


@given(st.integers(0, 5000), st.integers(1, 50))
def test_seeking_is_random_access(start: int, count: int) -> None:
    whole = Stream(SEED).words(start + count)
    stream = Stream(SEED)
    stream.seek(start)
    assert stream.words(count).tolist() == whole[start:].tolist()


@given(st.lists(st.integers(0, 200), max_size=8))
def test_words_come_in_order_however_they_are_asked_for(sizes: list[int]) -> None:
    stream = Stream(SEED)
    pieces = [stream.words(size) for size in sizes]
    assert np.concatenate([*pieces, stream.words(1)]).tolist() == (
        Stream(SEED).words(sum(sizes) + 1).tolist()
    )


def test_far_words_need_no_near_ones() -> None:
    stream = Stream(SEED)
    stream.seek(2**70)
    block = (int.from_bytes(SEED[16:], "big") + 2**69) % 2**128
    expected = reference.keystream_words(SEED[:16] + block.to_bytes(16, "big"))
    assert stream.words(2).tolist() == [next(expected), next(expected)]


# --- Keys ------------------------------------------------------------------------------------


PARTS = st.lists(st.text("a\0é", max_size=3), max_size=3)  # few letters, so that many agree


@given(PARTS, PARTS)
def test_contexts_that_differ_are_encoded_apart(one: list[str], two: list[str]) -> None:
    assert (encode_context(*one) == encode_context(*two)) == (one == two)


def test_contexts_take_text_bytes_and_integers() -> None:
    assert encode_context("é", b"\xff", 12) == (
        b"\2\0\0\0\xc3\xa9" + b"\1\0\0\0\xff" + b"\2\0\0\x0012"
    )
    assert encode_context("12") == encode_context(12) == encode_context(b"12")


def test_keys_depend_on_the_secret_and_are_not_shown() -> None:
    other = Keyed(SECRET[::-1], "context")
    assert other.stream().words(2).tolist() != Keyed(SECRET, "context").stream().words(2).tolist()
    assert repr(other) == "Keyed(...)"
    assert repr(Seeded(7)) == "Seeded(7)"
    assert repr(System()) == "System()"


def test_a_longer_context_extends_a_shorter_one() -> None:
    keyed = Keyed(SECRET, "permanent", 1)
    assert keyed.digest() == reference.keyed_seed(SECRET, "permanent", 1)
    assert keyed.extend("homepage", 2).digest() == (
        reference.keyed_seed(SECRET, "permanent", 1, "homepage", 2)
    )


def test_bad_keys_are_refused() -> None:
    with pytest.raises(InputError, match="at least 16 bytes; got 15"):
        Keyed(bytes(15))
    with pytest.raises(InputError, match="at least 16 bytes; got 'text'"):
        Keyed("text")  # type: ignore[arg-type]
    for wrong in (True, 1.0, "1", None):
        with pytest.raises(InputError, match="a seed must be an integer"):
            Seeded(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="32 bytes; got 31"):
        Stream(bytes(31))
    int_like: Any = np.int64(7)
    assert Seeded(int_like).stream().words(3).tolist() == Seeded(7).stream().words(3).tolist()


@pytest.mark.parametrize("threshold", [1, 1 << 32, (1 << 63) + 1, WORD - 1])
def test_a_coin_is_below_its_threshold(threshold: int) -> None:
    """One word each: falling below the threshold, on it and above it."""
    words = [threshold - 1, threshold, min(threshold + 1, WORD - 1)]
    draws = StreamDraws(Scripted([*words, *([0] * 61)]))
    assert [draws.coin(threshold) for _ in words] == [True, False, False]


# --- Uniform integers ------------------------------------------------------------------------


@given(st.integers(1, WORD), st.lists(st.integers(0, WORD - 1), min_size=1, max_size=5))
def test_scalar_integers_are_the_high_half_without_the_biased_words(
    bound: int, script: list[int]
) -> None:
    """Of the words that are kept, every answer has exactly floor(2**64 / bound)."""
    kept = [w * bound // WORD for w in script if w * bound % WORD >= WORD % bound]
    draws = StreamDraws(Scripted(script + [WORD - 1] * 64))
    draws._BATCH = len(script) + 64
    assert draws.below(bound) == ([*kept, (WORD - 1) * bound // WORD])[0]


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 6, 7, 10, 100, 255, 256])
def test_every_answer_owns_equally_many_words(bound: int) -> None:
    """The counting argument on 8-bit words, where all words can be listed."""
    small = 1 << 8
    kept = [w * bound // small for w in range(small) if w * bound % small >= small % bound]
    assert np.bincount(kept).tolist() == [small // bound] * bound


@given(st.integers(1, 1 << 32), st.lists(st.integers(0, WORD - 1), min_size=1, max_size=20))
def test_bulk_integers_are_the_scalar_ones(bound: int, script: list[int]) -> None:
    """Rejected words are drawn anew; the script puts words at the edges of rejection."""
    # Words whose product ends in small low halves: 0, and the multiples next to 2**64 k / n.
    edges = [-(-(k << 64) // bound) % WORD for k in range(3)]
    words = [*script, *edges]
    refills = [WORD - 1] * len(words)
    bulk = Scripted([*words, *refills])
    expected = [w * bound // WORD if w * bound % WORD >= WORD % bound else bound - 1 for w in words]
    assert bulk.below(bound, len(words)).tolist() == expected
    assert bulk.left == len(refills) - sum(w * bound % WORD < WORD % bound for w in words)


def test_a_biased_word_is_rejected_again_and_again() -> None:
    bulk = Scripted([0, 1 << 63, 0, 0, 3 << 62])
    assert bulk.below(3, 2).tolist() == [2, 1], "word 0 would be one answer too many"
    assert bulk.left == 0
    with pytest.raises(InputError, match=r"1..2\^32; got 0"):
        Stream(SEED).below(0, 1)
    with pytest.raises(InputError, match=r"1..2\^32; got 4294967297"):
        Stream(SEED).below((1 << 32) + 1, 1)
    assert Stream(SEED).below(5, 0).size == 0


# --- Bulk coins ------------------------------------------------------------------------------

THRESHOLDS = [
    1,
    2,
    3,
    255,
    256,
    (1 << 32) - 1,
    1 << 32,
    (1 << 56) - 1,
    1 << 56,
    (1 << 56) + 1,
    0x0100000000000001,
    0x0180000000000000,
    0x7FFFFFFFFFFFFFFF,
    1 << 63,
    (1 << 63) + 1,
    3 << 62,
    0xAAAAAAAAAAAAAAAA,
    0x5555555555555555,
    0xFF00000000000000,
    0xFF00000000000001,
    0xFFFFFFFF00000000,
    0xFE00000000000000,
    WORD - 2,
    WORD - 1,
]


def lanes_of(words: np.ndarray) -> np.ndarray:
    """The bits of words, lowest first."""
    return np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")


def compared_lane_by_lane(stream: Stream, count: int, threshold: int) -> np.ndarray:
    """The same bits as `fill_bernoulli`, each lane put together as one 64-bit integer.

    Per chunk come the planes (top bits of all lanes, at most eight and none for trailing
    zeros of the threshold), then a word for each lane that ties; the word's top bits are
    the lane's lower ones. A lane is 1 when its integer is below the threshold.
    """
    zeros = (threshold & -threshold).bit_length() - 1
    depth = min(8, 64 - zeros)
    result = []
    for start in range(0, count, CHUNK_WORDS):
        size = min(CHUNK_WORDS, count - start)
        integers = np.zeros(size * 64, dtype=np.uint64)
        for k in range(depth):
            integers |= lanes_of(stream.words(size)).astype(np.uint64) << np.uint64(63 - k)
        top = threshold >> (64 - depth) << (64 - depth)
        tied = np.flatnonzero(integers == np.uint64(top))
        if zeros < 64 - depth:
            integers[tied] |= stream.words(tied.size) >> np.uint64(depth)
        result.append(integers < np.uint64(threshold))
    return np.concatenate(result)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("threshold", THRESHOLDS, ids=hex)
def test_bulk_coins_are_integer_comparisons(path: str, threshold: int) -> None:
    count = CHUNK_WORDS + 37
    with forced(path):
        bits = bernoulli_words(Seeded(threshold).stream(), count, threshold)
    expected = compared_lane_by_lane(Seeded(threshold).stream(), count, threshold)
    assert (lanes_of(bits) == expected).all()


@pytest.mark.parametrize("path", PATHS)
@given(
    st.integers(1, WORD - 1),
    st.lists(st.integers(0, WORD - 1), min_size=64, max_size=64),
)
def test_bulk_coins_with_all_lanes_tied(path: str, threshold: int, low: list[int]) -> None:
    """64 lanes that all begin like the threshold, so that every one needs its tie settled."""
    depth = min(8, 64 - ((threshold & -threshold).bit_length() - 1))
    top = threshold >> (64 - depth)
    planes = [WORD - 1 if top >> (depth - 1 - k) & 1 else 0 for k in range(depth)]
    out = np.empty(1, dtype=np.uint64)
    with forced(path):
        fill_bernoulli(Scripted([*planes, *low]), out, threshold)
    expected = [(top << 64 - depth) + (word >> depth) < threshold for word in low]
    assert lanes_of(out).tolist() == expected


@pytest.mark.parametrize("path", PATHS)
def test_ties_of_the_high_half_are_settled_by_the_low_half(path: str) -> None:
    """k-RR's single word: equal high halves (one in 2**32) go to a further word."""
    threshold = (0x55555555 << 32) + 0x80000000
    tie = 0x55555555 << 32
    codes = np.array([3, 3, 3, 3])
    # Kept by its high half; two ties; a lie by its high half, whose pick is 9 of 10 others.
    first = [0, tie, tie + 5, (0xFFFFFFFF << 32) + 0xFFFFFFFF]
    settle = [0x7FFFFFFF << 32, 0x80000000 << 32]  # below the low half, and not
    lies = [0, 5 << 60]  # 0 is biased for 10 others: drawn again
    with forced(path):
        stream = Scripted([*first, *settle, *lies, 9 << 60])
        kept = keep_or_replace(stream, codes, 11, threshold)
    # The second tie lies: (5 << 60) * 10 >> 64 is 3, which skips the value 3 itself.
    assert kept.tolist() == [3, 3, 4, 10]
    assert stream.left == 0
    words = np.array([tie, tie, tie + (1 << 32)], dtype=np.uint64)
    coins = tied_coins(Scripted([0, WORD - 1, 0]), words, threshold)
    assert coins.tolist() == [True, False, False]


@pytest.mark.parametrize("path", PATHS)
def test_lies_whose_pick_is_biased_are_drawn_again(path: str) -> None:
    """2**32 mod 10 is 6: low halves whose product ends in 0..5 would favour an answer."""
    high = 0xFFFFFFFF << 32
    # 0 * 10 ends in 0: biased. 0x1999999A * 10 = 2**32 + 4: biased. 1 * 10: fine, pick 0.
    first = [high, high + 0x1999999A, high + 1]
    refused = 2
    settle, lies = [0] * refused, [7 << 60, 9 << 60]
    with forced(path):
        stream = Scripted([*first, *settle, *lies])
        kept = keep_or_replace(stream, np.array([10, 10, 10]), 11, 1 << 40)
    assert kept.tolist() == [7 * 10 // 16, 9 * 10 // 16, 0]
    assert stream.left == 0


# --- Processes and threads -------------------------------------------------------------------

FORK = """
import os
from rumor.core.randomness import System, StreamDraws

source = System()
held = source.stream()
before = held.words(4).tolist()
reading, writing = os.pipe()
child = os.fork()
mine = held.words(4).tolist() + source.stream().words(4).tolist() + held.words(4).tolist()
if child == 0:
    os.write(writing, repr(mine).encode())
    os._exit(0)
os.waitpid(child, 0)
theirs = eval(os.read(reading, 10_000))
assert len(set(before + mine + theirs)) == 4 + 12 + 12, (before, mine, theirs)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_parent_and_child_never_share_words() -> None:
    """In a process of its own: the test runner has threads, which do not survive a fork."""
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_system_streams_are_never_the_same() -> None:
    source = System()
    words = [int(source.stream().words(1)[0]) for _ in range(100)]
    assert len(set(words)) == 100


def test_threads_share_a_source_and_no_stream() -> None:
    source, found, lock = Seeded(11), [], threading.Lock()

    def take() -> None:
        own = [int(source.stream().words(1)[0]) for _ in range(100)]
        with lock:
            found.extend(own)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = Seeded(11)
    assert sorted(found) == sorted(int(alone.stream().words(1)[0]) for _ in range(800))
    assert len(set(found)) == 800


def test_a_seed_repeats_a_program() -> None:
    def program(seed: int) -> list[Reports]:
        source = Seeded(seed)
        mechanism = from_description(reference.MECHANISMS[2][0])
        return [mechanism.privatize([0, 1, 2], random=source) for _ in range(3)]

    one, two, three = (np.array(program(seed)) for seed in (5, 5, 6))
    assert (one == two).all()
    assert (one != three).any()
    assert (one[0] != one[1]).any(), "every call has noise of its own"
