"""Exact sampling from one keystream, keyed in three ways.

Every random decision is made by uniform 64-bit words: a coin of probability t / 2**64
falls when a word is below the integer t. The words are the AES-128-CTR keystream of a
32-byte seed, read as little-endian integers; the first 16 bytes of the seed are the
key, the last 16 the first counter block. What differs is where the seed comes from:

- `System`: the operating system, afresh for every call. For people.
- `Keyed`: HMAC-SHA-256 of a secret and a context. For answers that must stay the same.
- `Seeded`: a number. For simulation and tests; whoever knows it can undo the noise.

A source makes streams (`source.stream()`) and may be shared between threads; a stream
is a position in one keystream and belongs to one thread. A System stream that finds
itself in a forked child takes a new seed, so parent and child never share words.

*Reference draws* (`Draws`) spell out which words decide what, in which order. Keyed
answers and clients in other languages follow them; test vectors pin them.
"""

from __future__ import annotations

import abc
import hashlib
import hmac
import itertools
import os
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from rumor.core.errors import InputError, format_value
from rumor.core.exact import WORD

Words = NDArray[np.uint64]
T = TypeVar("T")

# A chunk of zeros to encrypt: 64 kB stays in the second-level cache (measured fastest).
_CHUNK_BYTES = 1 << 16
_ZEROS = bytes(_CHUNK_BYTES)
_BLOCK = 16
_COUNTERS = 1 << 128


class Stream:
    """A position in one keystream."""

    def __init__(self, seed: bytes, *, renew: Callable[[], bytes] | None = None) -> None:
        if len(seed) != 32:
            raise InputError(f"a stream's seed must have 32 bytes; got {len(seed)}")
        self._renew = renew
        self._start(seed)

    def _start(self, seed: bytes) -> None:
        self._key, self._origin = seed[:16], int.from_bytes(seed[16:], "big")
        self._process = os.getpid()
        self.seek(0)

    def seek(self, word: int) -> None:
        """Go to `word`, counted from the start of the keystream."""
        block, rest = divmod(word * 8, _BLOCK)
        counter = (self._origin + block) % _COUNTERS
        mode = modes.CTR(counter.to_bytes(_BLOCK, "big"))
        self._encryptor = Cipher(algorithms.AES(self._key), mode).encryptor()
        if rest:
            self._encryptor.update(_ZEROS[:rest])

    def fill(self, out: NDArray[np.generic]) -> None:
        """Overwrite the contiguous array `out` with the next keystream bytes."""
        if self._renew is not None and os.getpid() != self._process:
            self._start(self._renew())
        view = out.reshape(-1).view(np.uint8).data
        encryptor, total = self._encryptor, len(view)
        for start in range(0, total, _CHUNK_BYTES):
            size = min(_CHUNK_BYTES, total - start)
            zeros = _ZEROS if size == _CHUNK_BYTES else memoryview(_ZEROS)[:size]
            encryptor.update_into(zeros, view[start : start + size])

    def words(self, count: int) -> Words:
        """Return the next `count` words, as little-endian unsigned integers."""
        out = np.empty(count, dtype="<u8")
        if count:
            self.fill(out)
        return out.astype(np.uint64, copy=False)

    def below(self, bound: int, count: int) -> Words:
        """Return `count` uniform integers below `bound`, without modulo bias.

        The distribution is that of `Draws.below`; rejected words are replaced in further rounds.
        """
        if not 1 <= bound <= 1 << 32:
            raise InputError(f"a bulk bound must lie in 1..2^32; got {bound}")
        # The high half of word * bound, from two 32-bit halves; its low half decides
        # the rejection (Lemire, "Fast random integer generation in an interval").
        words, factor = self.words(count), np.uint64(bound)
        reject = np.uint64(WORD % bound)
        low_mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
        result = ((words >> half) * factor + (((words & low_mask) * factor) >> half)) >> half
        bad = np.flatnonzero(words * factor < reject)
        if bad.size:
            result[bad] = self.below(bound, int(bad.size))
        return result


class RandomSource(Protocol):
    """A source of randomness: an object that makes streams."""

    def stream(self) -> Stream:
        """Return a new stream for one call."""
        ...

    def draws(self) -> Draws:
        """Return reference draws from a new stream."""
        ...


class Keystreams(abc.ABC):
    """A random source whose reference draws come from its streams."""

    @abc.abstractmethod
    def stream(self) -> Stream:
        """Return a new stream for one call."""

    def draws(self) -> Draws:
        """Return reference draws from a new stream."""
        return StreamDraws(self.stream())


class System(Keystreams):
    """The operating system's randomness: a fresh seed for every call."""

    def stream(self) -> Stream:
        """Return a stream that nobody can predict or repeat."""
        return Stream(os.urandom(32), renew=lambda: os.urandom(32))

    def __repr__(self) -> str:
        return "System()"


class Keyed(Keystreams):
    """Randomness determined by a secret and a context, and unpredictable without the secret.

    The seed is HMAC-SHA-256(secret, message), the message being each context part with
    its length in front (four bytes, little-endian), text as UTF-8 and integers as
    decimal text. Lengths keep ("ab", "c") apart from ("a", "bc").
    """

    def __init__(self, secret: bytes, *context: str | bytes | int) -> None:
        if not isinstance(secret, bytes) or len(secret) < 16:
            size = len(secret) if isinstance(secret, bytes) else format_value(secret)
            raise InputError(f"a secret must be at least 16 bytes; got {size}")
        self._secret, self._context = secret, context

    def extend(self, *context: str | bytes | int) -> Keyed:
        """Return a source with the same secret and a longer `context`."""
        return Keyed(self._secret, *self._context, *context)

    def digest(self) -> bytes:
        """Return the 32 bytes that secret and context determine: a stream's seed, or a keyed
        tag.
        """
        return hmac.new(self._secret, encode_context(*self._context), hashlib.sha256).digest()

    def stream(self) -> Stream:
        """Return the stream of this secret and context, from its start, at every call."""
        return Stream(self.digest())

    def __repr__(self) -> str:
        return "Keyed(...)"


class Seeded(Keystreams):
    """Reproducible randomness for simulation. Never for people: it can be undone.

    Each call takes the next of a sequence of independent streams, so a program that
    makes the same calls in the same order sees the same noise. The n-th stream's seed
    is SHA-256 of the context ("rumor seeded stream", seed, n); further context stands before n.
    """

    def __init__(self, seed: int, *context: str | int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise InputError(f"a seed must be an integer; got {format_value(seed)}")
        self._number, self._context = int(seed), context
        self._calls = itertools.count()  # next() on it is atomic, so threads may share it

    def stream(self) -> Stream:
        """Return the next stream of the sequence."""
        context = (*self._context, next(self._calls))
        encoded = encode_context("rumor seeded stream", self._number, *context)
        return Stream(hashlib.sha256(encoded).digest())

    def extend(self, *context: str | int) -> Seeded:
        """Return a source with the same seed and a longer `context`, whatever was drawn here."""
        return Seeded(self._number, *self._context, *context)

    def __repr__(self) -> str:
        return f"Seeded({', '.join(map(repr, (self._number, *self._context)))})"


def encode_context(*parts: str | bytes | int) -> bytes:
    """Return context `parts` as one byte string, each part with its length in front."""
    encoded = bytearray()
    for part in parts:
        raw = part if isinstance(part, bytes) else str(part).encode("utf-8")
        encoded += len(raw).to_bytes(4, "little") + raw
    return bytes(encoded)


class Draws(Protocol):
    """The random decisions of a reference draw, real or enumerated by the same code."""

    def coin(self, threshold: int) -> bool:
        """Return True with probability `threshold` / 2**64."""
        ...

    def below(self, bound: int) -> int:
        """Return a uniform integer in 0..`bound`-1."""
        ...

    def public(self, count: int) -> bytes:
        """Return `count` uniform bytes that the report shows, whatever the value (a hash seed)."""
        ...

    def first(self, attempt: Callable[[], T], fits: Callable[[T], bool]) -> T:
        """Repeat `attempt` until its result `fits`, and return that result; draw nothing
        further.
        """
        ...


class StreamDraws:
    """Reference draws from a stream: this class *is* the specification of the word order.

    `coin(t)` takes one word w and is true when w < t. `below(n)` takes a word w; the
    answer is the high 64 bits of w * n unless the low 64 bits are below 2**64 mod n, in
    which case it starts over with the next word. `public(n)` takes the words that n bytes
    need and gives their first n bytes, each word in little-endian order.

    It reads words ahead, so it is made for one report and never kept across a fork.
    """

    # Small draws are usual (a report of a few dozen bits): words come in small batches.
    _BATCH = 64

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._words: list[int] = []

    def word(self) -> int:
        """Return the next word of the stream."""
        if not self._words:
            self._words = self._stream.words(self._BATCH).tolist()
            self._words.reverse()
        return self._words.pop()

    def coin(self, threshold: int) -> bool:
        """Return whether the next word is below `threshold`."""
        return self.word() < threshold

    def below(self, bound: int) -> int:
        """Return the high half of word times `bound`, rejecting words that would bias it."""
        reject = WORD % bound
        while True:
            product = self.word() * bound
            if product % WORD >= reject:
                return product // WORD

    def public(self, count: int) -> bytes:
        """Return the first `count` bytes of whole words."""
        words = [self.word() for _ in range((count + 7) // 8)]
        return b"".join(word.to_bytes(8, "little") for word in words)[:count]

    def first(self, attempt: Callable[[], T], fits: Callable[[T], bool]) -> T:
        """Call `attempt` until its result `fits`."""
        while not fits(found := attempt()):
            pass
        return found


def floyd(draws: Draws, total: int, count: int) -> list[int]:
    """Return `count` of `total` places in ascending order, all subsets equally likely.

    Floyd's algorithm: for j from total - count to total - 1, below(j + 1), or j when that is
    already taken.
    """
    chosen: set[int] = set()
    for j in range(total - count, total):
        pick = draws.below(j + 1)
        chosen.add(j if pick in chosen else pick)
    return sorted(chosen)
