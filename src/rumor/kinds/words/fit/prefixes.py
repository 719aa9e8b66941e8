"""The support of each prefix in one level's reports, frequent prefixes taken out.

Which bits can follow which: the beginnings of words that a prefix code can write.

A state is what a beginning leaves open: how far into a code word it is, or how many bits of a
character are still to come. Bits that no word is written with lead to a state that nothing leaves;
behind the end mark there are zeros alone. What remains possible here and is still no word (a text
that the code would have written with longer symbols) is sorted out when words are read.

The law of a stem that nobody has, by the symmetry of its hashes.

Whatever the table of a level holds (noise, frequent words, rare ones, lies), a stem that nobody has
falls into a uniform bucket of every cohort, independently. Given the table, its support is a sum of
independent draws, one from each row: the mean is n / g, the variance is
sum_k (g sum_y C_ky^2 - n_k^2) / g^2, and the logarithm of the moment generating function is
K(t) = sum_k ln mean_y exp(t C_ky). Nothing is assumed about people.

Where supports are many the sum is normal. Where they are few it is skewed, and a normal law finds
words that are not there. So a support is turned into the normal deviate of the same tail by the
saddle point (Barndorff-Nielsen, "Inference on full or partial parameters based on the standardized
signed log likelihood ratio", 1986): with x = K'(t), w = sign(t) sqrt(2 (t x - K(t))) and
u = t sqrt(K''(t)), the deviate is w + ln(u / w) / w. A law that jumps is
met in the middle of its jumps: words are judged by sums over several levels.

How much of a level's reports speaks for each stem, frequent stems taken out of the others' way.

A frequent stem fills one bucket in each cohort, and every other stem that falls into some of these
gains by it: collisions are noise, and the largest of it where people agree most. So stems that are
surely there are fitted together, their part is subtracted, and the others are looked at in what is
left. A stem that was fitted has its own part back. What nobody has stays uniform over the buckets
of whatever is left, since no fit has looked at its hashes: its law is that of the remainder.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.loops import discover_loops
from rumor.core.types import Vector
from rumor.mechanisms.open_words.code import END, PrefixCode, tail_bytes
from rumor.mechanisms.open_words.prefix_hashes import PrefixHashes, Words

States = NDArray[np.int32]

DEAD, ENDED, START = 0, 1, 2
# The first bits behind these first bytes must be one of few, else the bytes are no UTF-8.
_ALLOWED = {0xE0: ("1",), 0xED: ("0",), 0xF0: ("1", "01"), 0xF4: ("00",)}


class Grammar:
    """The states of a code, and what each bit makes of them.

    Where all words have one length in characters, states know how many there are so far: a word
    that is whole ends, and no other does.
    """

    def __init__(self, code: PrefixCode) -> None:
        length = code.length
        self._next: list[list[int]] = [[DEAD, DEAD], [ENDED, DEAD], [DEAD, DEAD]]
        # Where the next symbol starts, by the characters before it where they are counted.
        starts = [START, *(self._new() for _ in range((length or 1) - 1)), ENDED]
        self._tails: dict[tuple[int, int], int] = {(0, start): start for start in starts}
        for written, start in enumerate(starts[:-1]):
            for symbol, (word, size) in code.words.items():
                bits = format(word, f"0{size}b")
                more = 1 if isinstance(symbol, int) else len(symbol)
                if length is not None and written + more > length:
                    continue
                goal = START if length is None else starts[written + more]
                if isinstance(symbol, int):
                    for head in _ALLOWED.get(symbol, ("",)):
                        left = 6 * tail_bytes(symbol) - len(head)
                        self._path(start, bits + head, self._tail(left, goal))
                else:
                    self._path(start, bits, ENDED if symbol == END else goal)
        self.table: States = np.array(self._next, dtype=np.int32)

    def _new(self) -> int:
        self._next.append([DEAD, DEAD])
        return len(self._next) - 1

    def _path(self, state: int, bits: str, goal: int) -> None:
        """Lead these bits from a state to a goal, along the path that is there."""
        *before, last = map(int, bits)
        for bit in before:
            if self._next[state][bit] == DEAD:
                self._next[state][bit] = self._new()
            state = self._next[state][bit]
        self._next[state][last] = goal

    def _tail(self, left: int, goal: int) -> int:
        """The state with so many bits of a character to come, whatever they are, before a goal."""
        if (left, goal) not in self._tails:
            state = self._tails[left, goal] = self._new()
            self._next[state] = [self._tail(left - 1, goal)] * 2
        return self._tails[left, goal]

    def after(self, states: States, step: int) -> States:
        """The states behind every chunk of `step` bits, (states, 2^step)."""
        found = states[:, None]
        for _ in range(step):
            found = self.table[found].reshape(len(states), 2 * found.shape[1])
        return found

    def growth(self, step: int, depth: int) -> tuple[Vector, Vector]:
        """How many extensions a beginning has at each level that go on, and how many that end.

        On average over all beginnings that go on, each as likely as another.
        """
        going, ended = np.zeros(depth), np.zeros(depth)
        paths: Vector = np.zeros(len(self.table))
        paths[START] = 1.0
        for level in range(depth):
            for _ in range(step):
                after = np.bincount(self.table.T.reshape(-1), np.tile(paths, 2), paths.size)
                paths = np.asarray(after, dtype=np.float64)
                paths[DEAD] = 0.0
            ended[level], paths[ENDED] = paths[ENDED], 0.0
            going[level] = paths.sum()
            paths /= going[level] or 1.0
        return going, ended


def bits_of(chunks: Iterator[int] | NDArray[np.integer], step: int) -> int:
    """Chunks as one integer, the first on top."""
    bits = 0
    for chunk in chunks:
        bits = bits << step | int(chunk)
    return bits


def read_word(code: PrefixCode, chunks: NDArray[np.integer], step: int) -> str | None:
    """The ended word that is written so, or None where no word is."""
    bits, length = bits_of(chunks, step), step * len(chunks)
    word = code.read(bits, length)
    if word is None:
        return None
    written = code.write(word)
    if written.broken or written.length > length:
        return None
    return word if written.bits << (length - written.length) == bits else None


# Where the curve is worked out, in units of 1 / standard deviation: straight lines in between.
_TILTS = np.array([*np.arange(-6.0, -0.4, 0.5), *np.arange(0.5, 6.1, 0.5), *np.arange(7.0, 15.1)])


def variance(table: NDArray[np.number]) -> float:
    """The variance of the support of a stem that nobody has; exact where counts are integers."""
    buckets = table.shape[1]
    if table.dtype.kind in "iu":
        wide = table.astype(object)  # no square is too large for Python's integers
        squares = buckets * (wide**2).sum() - (wide.sum(axis=1) ** 2).sum()
        return float(int(squares) / buckets**2)
    centred = table - table.mean(axis=1, keepdims=True)
    return float((centred**2).sum() / buckets)


class NullLaw:
    """Supports as normal deviates, for stems that nobody has."""

    def __init__(self, table: NDArray[np.number]) -> None:
        centred = table - table.mean(axis=1, keepdims=True)
        self.mean = float(table.mean(axis=1).sum())
        self.deviation = math.sqrt(variance(table))
        if self.deviation == 0:
            self._supports = self._deviates = np.zeros(1)
            return
        curve = [self._point(centred, tilt / self.deviation) for tilt in _TILTS]
        self._supports, self._deviates = (np.array(part) for part in zip(*curve, strict=True))
        # At the far ends all mass is in one place, and rounding decides: keep what grows.
        grows = np.concatenate([[True], np.diff(np.maximum.accumulate(self._supports)) > 0])
        grows[1:] &= np.diff(np.maximum.accumulate(self._deviates)) > 0
        self._supports, self._deviates = self._supports[grows], self._deviates[grows]

    def _point(self, centred: Vector, t: float) -> tuple[float, float]:
        """A support above the mean, and its deviate."""
        tilted = t * centred
        top = tilted.max(axis=1, keepdims=True)
        weights = np.exp(tilted - top)
        total = weights.sum(axis=1, keepdims=True)
        logs = float((np.log(total) + top).sum()) - len(centred) * math.log(centred.shape[1])
        weights /= total
        means = (weights * centred).sum(axis=1)
        spread = float((weights * centred**2).sum() - (means**2).sum())
        support = float(means.sum())
        w = math.copysign(math.sqrt(max(2 * (t * support - logs), 1e-300)), t)
        u = t * math.sqrt(max(spread, 1e-300))
        return support, w + math.log(u / w) / w

    def deviates(self, supports: Vector) -> Vector:
        """The normal deviate of each support: how unlikely as much or more is."""
        if self._supports.size < 2:  # hardly anybody is there: it says nothing
            return np.zeros(supports.shape)
        x = supports - self.mean
        found = np.interp(x, self._supports, self._deviates)
        # Beyond the last point the curve goes on as it went, so that order is kept.
        last = self._supports.size - 1
        slope = (self._deviates[last] - self._deviates[last - 1]) / (
            self._supports[last] - self._supports[last - 1]
        )
        beyond = x > self._supports[last]
        found[beyond] += slope * (x[beyond] - self._supports[last])
        return np.asarray(found)


_STRONG = 4.5
_MOST_STRONG = 400
_ROUNDS = 2
_PASSES = 4


@dataclass(frozen=True)
class Support:
    """The stems of one level: deviates, supports above chance, and the noise of those."""

    deviates: Vector
    excess: Vector
    deviation: float
    people: int


def support(
    counts: NDArray[np.int64], stems: PrefixHashes, level: int, fingerprints: Words, delta: float
) -> Support:
    """What the table of one level says of these stems.

    `delta` is how much likelier people of a stem are to report its bucket than another one.
    """
    people = counts.sum(axis=1)
    left: Vector = counts - people[:, None] / counts.shape[1]
    excess = _sums(stems, level, fingerprints, left)
    noise = variance(counts) ** 0.5
    weights = delta * people
    full = float(weights.sum()) * (1 - 1 / counts.shape[1])
    for _ in range(_ROUNDS):
        strong = _strongest(excess, noise)
        if not strong.size:
            break
        left = counts - people[:, None] / counts.shape[1]
        shares = np.zeros(strong.size)
        places = stems.rows(fingerprints[strong], level)
        discover_loops().descend_buckets(places, weights, left, shares, _PASSES)
        excess = _sums(stems, level, fingerprints, left)
        excess[strong] += shares * full
        noise = variance(left) ** 0.5
    law = NullLaw(left)
    return Support(law.deviates(excess), excess, law.deviation, int(people.sum()))


def _strongest(excess: Vector, noise: float) -> NDArray[np.intp]:
    strong = np.flatnonzero(excess > _STRONG * noise) if noise > 0 else np.zeros(0, np.intp)
    order = np.argsort(-excess[strong], kind="stable")
    return np.asarray(strong[order[:_MOST_STRONG]])


def _sums(stems: PrefixHashes, level: int, fingerprints: Words, table: Vector) -> Vector:
    a, b = stems.hashes
    out = np.empty(fingerprints.size)
    discover_loops().sum_buckets(fingerprints, a[level], b[level], np.ascontiguousarray(table), out)
    return out
