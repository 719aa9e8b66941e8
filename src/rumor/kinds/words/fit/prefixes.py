"""The support of each prefix in one level's reports, with frequent prefixes subtracted.

The grammar of a code says which bits can follow which prefix of a word. A state is what a prefix
leaves open: the place in a code word, or the number of bits of a character still to come. Bits
that no word is written with lead to a state that nothing leaves; after the end mark there are
zeros alone. Some sequences remain possible that are no word (a text that the code would have
written with longer symbols); they are rejected when words are read.

The null distribution is that of a prefix that nobody has, by the symmetry of its hashes. Whatever
the table of a level contains (noise, frequent words, rare ones, fake reports), such a prefix falls
into a uniform bucket of every cohort, independently. Given the table, its support is a sum of
independent draws, one from each row: the mean is n / g, the variance is sum_k (g sum_y C_ky^2 -
n_k^2) / g^2, and the logarithm of the moment generating function is K(t) = sum_k ln mean_y exp(t
C_ky). Nothing is assumed about people.

With large supports the sum is normal. With small ones it is skewed, and a normal approximation
detects words that are absent. So a support is turned into the z-score of equal tail probability by
the saddle point (Barndorff-Nielsen, "Inference on full or partial parameters based on the
standardized signed log likelihood ratio", 1986): with x = K'(t), w = sign(t) sqrt(2 (t x - K(t)))
and u = t sqrt(K''(t)), the z-score is w + ln(u / w) / w. A discrete distribution is evaluated in
the middle of its jumps: words are judged by sums over several levels.

Frequent prefixes are subtracted before the others are scored. A frequent prefix fills one bucket
in each cohort, and every other prefix that falls into some of these gains by it: collisions are
noise, and the largest noise where people agree most. So prefixes that are surely present are
fitted together, their part is subtracted, and the others are scored on the remainder. A fitted
prefix has its own part added back. Prefixes that nobody has stay uniform over the buckets of the
remainder, since no fit depends on their hashes: their null distribution is that of the remainder.
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
# The first bits after these first bytes are restricted, else the bytes are no UTF-8.
_ALLOWED = {0xE0: ("1",), 0xED: ("0",), 0xF0: ("1", "01"), 0xF4: ("00",)}


class Grammar:
    """The states of a code, and the transition by each bit.

    Where all words have one length in characters, states count the characters so far: a word ends
    exactly at that length.
    """

    def __init__(self, code: PrefixCode) -> None:
        length = code.length
        self._next: list[list[int]] = [[DEAD, DEAD], [ENDED, DEAD], [DEAD, DEAD]]
        # The start of each symbol, by the number of characters before it where they are counted.
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
        """Add transitions so that `bits` lead from `state` to `goal`, along existing ones."""
        *before, last = map(int, bits)
        for bit in before:
            if self._next[state][bit] == DEAD:
                self._next[state][bit] = self._new()
            state = self._next[state][bit]
        self._next[state][last] = goal

    def _tail(self, left: int, goal: int) -> int:
        """Return the state in which `left` arbitrary bits of a character remain before `goal`."""
        if (left, goal) not in self._tails:
            state = self._tails[left, goal] = self._new()
            self._next[state] = [self._tail(left - 1, goal)] * 2
        return self._tails[left, goal]

    def after(self, states: States, step: int) -> States:
        """Return the states after every chunk of `step` bits, (states, 2^step)."""
        found = states[:, None]
        for _ in range(step):
            found = self.table[found].reshape(len(states), 2 * found.shape[1])
        return found

    def growth(self, step: int, depth: int) -> tuple[Vector, Vector]:
        """Return the number of a prefix's extensions at each level that continue, and that end.

        The numbers are means over all continuing prefixes, each equally likely.
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
    """Return the `chunks` as one integer, the first in the highest bits."""
    bits = 0
    for chunk in chunks:
        bits = bits << step | int(chunk)
    return bits


def read_word(code: PrefixCode, chunks: NDArray[np.integer], step: int) -> str | None:
    """Return the ended word that `chunks` encode, or None where they encode no word."""
    bits, length = bits_of(chunks, step), step * len(chunks)
    word = code.read(bits, length)
    if word is None:
        return None
    written = code.write(word)
    if written.broken or written.length > length:
        return None
    return word if written.bits << (length - written.length) == bits else None


# Abscissas of the z-score curve, in units of 1 / standard deviation; linear in between.
_TILTS = np.array([*np.arange(-6.0, -0.4, 0.5), *np.arange(0.5, 6.1, 0.5), *np.arange(7.0, 15.1)])


def variance(table: NDArray[np.number]) -> float:
    """Return the variance of an absent prefix's support; exact where counts are integers."""
    buckets = table.shape[1]
    if table.dtype.kind in "iu":
        wide = table.astype(object)  # Python's integers hold squares of any size
        squares = buckets * (wide**2).sum() - (wide.sum(axis=1) ** 2).sum()
        return float(int(squares) / buckets**2)
    centred = table - table.mean(axis=1, keepdims=True)
    return float((centred**2).sum() / buckets)


class NullLaw:
    """The null distribution of supports, as a map from supports to z-scores."""

    def __init__(self, table: NDArray[np.number]) -> None:
        centred = table - table.mean(axis=1, keepdims=True)
        self.mean = float(table.mean(axis=1).sum())
        self.deviation = math.sqrt(variance(table))
        if self.deviation == 0:
            self._supports = self._deviates = np.zeros(1)
            return
        curve = [self._point(centred, tilt / self.deviation) for tilt in _TILTS]
        self._supports, self._deviates = (np.array(part) for part in zip(*curve, strict=True))
        # At the far ends all mass is in one place, and rounding decides: only increasing points
        # stay.
        grows = np.concatenate([[True], np.diff(np.maximum.accumulate(self._supports)) > 0])
        grows[1:] &= np.diff(np.maximum.accumulate(self._deviates)) > 0
        self._supports, self._deviates = self._supports[grows], self._deviates[grows]

    def _point(self, centred: Vector, t: float) -> tuple[float, float]:
        """Return a support above the mean, and its z-score."""
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
        """Return the z-score of each support, from its upper tail probability."""
        if self._supports.size < 2:  # hardly any reports: no information
            return np.zeros(supports.shape)
        x = supports - self.mean
        found = np.interp(x, self._supports, self._deviates)
        # Beyond the last point the curve continues linearly, which preserves order.
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
    """The prefixes of one level: z-scores, supports above chance, and the noise of those."""

    deviates: Vector
    excess: Vector
    deviation: float
    people: int


def support(
    counts: NDArray[np.int64], stems: PrefixHashes, level: int, fingerprints: Words, delta: float
) -> Support:
    """Return the support of the prefixes `fingerprints` in the table of one level.

    `delta` is the additional probability that people with a prefix report its bucket rather than
    another.
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
