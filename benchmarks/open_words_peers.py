"""The peers of open words, written from their papers and drawn by their law.

None of them names how often it is wrong, so each answers with its k best strings. Their oracle is
optimal local hashing. Counts are drawn by its law, without reports: of n people the c who hold a
string support it with the chance p = 1/2, all others with q = 1 / (e^eps + 1), and for strings that
nobody holds the normal law of the same variance stands in. Strings are padded to a length that the
peers are told, over an alphabet that they are told too, at as many bits as its letters need.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.open_words_worlds import World

Counts = NDArray[np.int64]
# Candidates looked at in one step, at most.
_WIDEST = 1 << 20
_PAD = "\0"
_HASH = 256
_MOST_PIECES = 1 << 26


@dataclass(frozen=True, eq=False)
class Padded:
    """The words of a world as letters of a known alphabet, 0 behind the last."""

    letters: NDArray[np.int64]
    size: int
    """Letters of the alphabet, padding included."""

    @classmethod
    def of(cls, world: World, length: int) -> Padded:
        """Cut and padded to a length; the rarest letters are one, since a letter's bits are dear.

        As few bits as hold the letters of 99.5 % of what people write, and one for all others.
        """
        texts = [word[:length].ljust(length, _PAD) for word in world.words]
        mass: dict[str, float] = {}
        for text, share in zip(texts, world.shares.tolist(), strict=True):
            for letter in text.rstrip(_PAD):
                mass[letter] = mass.get(letter, 0.0) + share
        ordered = sorted(mass, key=lambda letter: -mass[letter])
        covered = np.cumsum([mass[letter] for letter in ordered]) / sum(mass.values())
        size = 1 << (int(np.searchsorted(covered, 0.995)) + 2).bit_length()
        codes = {letter: min(i + 1, size - 1) for i, letter in enumerate(ordered)}
        table = np.array([[codes.get(letter, 0) for letter in text] for text in texts])
        return cls(table, min(size, len(ordered) + 1))

    @property
    def bits(self) -> int:
        """Of a letter."""
        return max(1, (self.size - 1).bit_length())

    @functools.cached_property
    def rows(self) -> NDArray[np.int64]:
        """All letters as bits."""
        shifts = np.arange(self.bits - 1, -1, -1)
        return (self.letters[:, :, None] >> shifts & 1).reshape(len(self.letters), -1)

    @functools.cached_property
    def numbers(self) -> NDArray[np.object_]:
        """All bits of each word as one integer."""
        return _numbers(self.rows)


def noise(people: int, epsilon: float) -> float:
    """The standard deviation of a count of a string that nobody holds."""
    power = math.exp(epsilon)
    return math.sqrt(people * 4 * power) / (power - 1)


def counted(held: float, people: int, epsilon: float, rng: np.random.Generator) -> float:
    """The count of a string that so many of some people hold, as hashing estimates it."""
    truth, chance = 0.5, 1 / (math.exp(epsilon) + 1)
    support = rng.binomial(int(held), truth) + rng.binomial(people - int(held), chance)
    return float((support - people * chance) / (truth - chance))


def pem(
    world: World, counts: Counts, epsilon: float, k: int, step: int, rng: np.random.Generator
) -> list[str]:
    """Wang, Li and Jha, "Locally differentially private heavy hitter identification", 2017.

    People are split into groups; group i reports its first bits, `step` more than group i - 1.
    The 2k best prefixes of each group are extended, and the last group ranks.
    """
    padded = _padded(world)
    bits = padded.rows
    total = bits.shape[1]
    ends = list(range(total, 0, -step))[::-1]
    while len(ends) > 1 and k << ends[0] < _WIDEST and ends[1] <= math.log2(_WIDEST):
        ends.pop(0)
    groups = _split(counts, len(ends), rng)
    kept, before = [0], 0
    for end, held in zip(ends, groups, strict=True):
        more, spread = end - before, noise(int(held.sum()), epsilon)
        # The people behind each prefix that was kept, by what follows it.
        behind: dict[int, dict[int, int]] = {prefix: {} for prefix in kept}
        rows = np.flatnonzero(held)
        values = _numbers(bits[rows, :end])
        for value, count in zip(values, held[rows].tolist(), strict=True):
            if (value >> more) in behind:
                own, tail = behind[value >> more], value & (1 << more) - 1
                own[tail] = own.get(tail, 0) + count
        best: list[tuple[float, int]] = []
        for prefix, tails in behind.items():
            estimates = spread * rng.standard_normal(1 << more, dtype=np.float32)
            for tail, count in tails.items():
                estimates[tail] = counted(count, int(held.sum()), epsilon, rng)
            top = np.argpartition(-estimates, min(2 * k, estimates.size - 1))[: 2 * k]
            best += [(float(estimates[i]), (prefix << more) + int(i)) for i in top]
        kept = [value for _, value in sorted(best, reverse=True)[: 2 * k]]
        before = end
    known: dict[int, str] = {}
    for value, word in zip(padded.numbers, world.words, strict=True):
        known.setdefault(value, word)
    return [known.get(value, f"({value})") for value in kept[:k]]


def treehist(
    world: World, counts: Counts, epsilon: float, k: int, rng: np.random.Generator
) -> list[str]:
    """Bassily, Nissim, Stemmer and Thakurta, "Practical locally private heavy hitters", 2017.

    Half of epsilon for a prefix of two letters more at each level, a level for each person; half
    for the whole string, by which the strings at the leaves are counted.
    """
    padded = _padded(world)
    levels = padded.letters.shape[1] // 2
    if k * padded.size**2 > _MOST_PIECES:
        return []
    groups = _split(counts, levels, rng)
    kept: list[tuple[int, ...]] = [()]
    for level, held in enumerate(groups):
        true = _tuples(padded, held, 0, 2 * (level + 1))
        spread = noise(int(held.sum()), epsilon / 2)
        best: list[tuple[float, tuple[int, ...]]] = []
        for prefix in kept:
            estimates = spread * rng.standard_normal((padded.size, padded.size))
            for value, count in true.items():
                if value[:-2] == prefix:
                    estimates[value[-2:]] = counted(count, int(held.sum()), epsilon / 2, rng)
            order = np.argpartition(-estimates, min(k, estimates.size - 1), axis=None)[:k]
            places = [divmod(int(place), padded.size) for place in order]
            best += [(float(estimates[place]), (*prefix, *place)) for place in places]
        kept = [prefix for _, prefix in sorted(best, reverse=True)[:k]]
    return _ranked(world, padded, counts, epsilon / 2, kept, k, rng)


def fragments(
    world: World, counts: Counts, epsilon: float, k: int, rng: np.random.Generator
) -> list[str]:
    """Apple, "Learning with privacy at scale", 2017: sequence fragment puzzle.

    Half of epsilon for two letters at a random place together with one byte that the string hashes
    to, half for the whole string. Frequent pieces with the same byte are put together.
    """
    padded = _padded(world)
    places = padded.letters.shape[1] // 2
    if padded.size**2 * _HASH > _MOST_PIECES:
        return []  # a script of thousands of letters has more pieces than are counted
    byte = rng.integers(0, _HASH, size=len(world.words))
    groups = _split(counts, places, rng)
    by_place: list[dict[int, list[int]]] = []
    for place, held in enumerate(groups):
        pieces = padded.size**2
        codes = padded.letters[:, 2 * place] * padded.size + padded.letters[:, 2 * place + 1]
        true = np.bincount(codes * _HASH + byte, weights=held, minlength=pieces * _HASH)
        people = int(held.sum())
        estimates = noise(people, epsilon / 2) * rng.standard_normal(true.size)
        for piece in np.flatnonzero(true).tolist():
            estimates[piece] = counted(true[piece], people, epsilon / 2, rng)
        top = np.argpartition(-estimates, 2 * k)[: 2 * k]
        found: dict[int, list[int]] = {}
        for piece in top.tolist():
            found.setdefault(piece % _HASH, []).append(piece // _HASH)
        by_place.append(found)
    whole: list[tuple[int, ...]] = []
    for same in set.intersection(*(set(found) for found in by_place)):
        strings: list[tuple[int, ...]] = [()]
        for found in by_place:
            strings = [
                (*string, *divmod(piece, padded.size))
                for string in strings
                for piece in found[same]
            ][:1000]
        whole += strings
    return _ranked(world, padded, counts, epsilon / 2, whole, k, rng)


Peer = Callable[[World, Counts, float, int, np.random.Generator], list[str]]
PEERS: dict[str, Peer] = {"TreeHist": treehist, "fragments": fragments}
PEM_STEPS = (8, 14)
_cache: dict[str, Padded] = {}


def _padded(world: World) -> Padded:
    if world.name not in _cache:
        length = world.fixed or world.longest + world.longest % 2
        _cache[world.name] = Padded.of(world, length)
    return _cache[world.name]


def _numbers(bits: NDArray[np.int64]) -> NDArray[np.object_]:
    """Rows of bits as Python's integers."""
    out = np.zeros(len(bits), dtype=object)
    for start in range(0, bits.shape[1], 32):
        part = bits[:, start : start + 32]
        value = part @ (1 << np.arange(part.shape[1] - 1, -1, -1))
        out = out * (1 << part.shape[1]) + value.astype(object)
    return out


def _split(counts: Counts, groups: int, rng: np.random.Generator) -> Counts:
    """The people of each word over so many groups."""
    out = np.zeros((groups, counts.size), dtype=np.int64)
    held = np.flatnonzero(counts)
    out[:, held] = rng.multinomial(counts[held], [1 / groups] * groups).T
    return out


def _tuples(padded: Padded, held: Counts, first: int, last: int) -> dict[tuple[int, ...], int]:
    true: dict[tuple[int, ...], int] = {}
    rows = np.flatnonzero(held)
    parts = padded.letters[rows, first:last].tolist()
    for letters, count in zip(parts, held[rows].tolist(), strict=True):
        key = tuple(letters)
        true[key] = true.get(key, 0) + count
    return true


def _ranked(
    world: World,
    padded: Padded,
    counts: Counts,
    epsilon: float,
    strings: list[tuple[int, ...]],
    k: int,
    rng: np.random.Generator,
) -> list[str]:
    """The best of some strings, by everybody's report of the whole."""
    known: dict[tuple[int, ...], int] = {}
    for row, letters in enumerate(padded.letters.tolist()):
        known.setdefault(tuple(letters), row)
    people, scored = int(counts.sum()), []
    for string in strings:
        there = known.get(string)
        held = 0 if there is None else int(counts[there])
        name = f"({string})" if there is None else world.words[there]
        scored.append((counted(held, people, epsilon, rng), name))
    return [name for _, name in sorted(scored, reverse=True)[:k]]
