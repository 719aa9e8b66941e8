"""Crowds with words that nobody listed: what benchmarks/open_words.py judges with.

Words and their frequencies come from the package wordfreq (the 60,000 most frequent of a language).
Which truths are judged was fixed by a rule before any was looked at: English, German, Japanese, the
addresses and the twenty strings below, run r with the contract key "judge WORLD r" and the seed r.
Settings were chosen on French and Spanish words and on other strings of five, six and seven
letters, with the keys "tune WORLD r".
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.randomness import Seeded
from rumor.core.types import Tally
from rumor.kinds.words.code_tables import shipped_code
from rumor.mechanisms.open_words.code import PrefixCode
from rumor.mechanisms.open_words.design import open_words
from rumor.mechanisms.open_words.open_words import OpenWords
from rumor.mechanisms.open_words.prefix_hashes import Pieces

WORDS = 60_000
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, eq=False)
class World:
    """Words, most frequent first, the share of people who hold each, and how they are asked."""

    name: str
    words: tuple[str, ...]
    shares: NDArray[np.float64]
    code: PrefixCode
    longest: int

    @property
    def fixed(self) -> int | None:
        """The length of all words, where they have one and everybody is told it."""
        return self.code.length

    @functools.cached_property
    def pieces(self) -> Pieces:
        """All words in their code: every run of the world has the same."""
        return self.mechanism(1.0, "any").stems.pieces(self.words)

    def top(self, k: int) -> set[str]:
        """The k most frequent words."""
        return set(self.words[:k])

    def mechanism(self, epsilon: float, key: str) -> OpenWords:
        """The contract of a run."""
        return open_words(
            epsilon=epsilon,
            code=self.code,
            longest=None if self.fixed else self.longest,
            key=key.encode(),
        )


@dataclass(frozen=True, eq=False)
class Crowd:
    """People of a world, and the tally of their reports."""

    mechanism: OpenWords
    counts: NDArray[np.int64]
    tally: Tally


def crowd(world: World, people: int, epsilon: float, run: int, purpose: str = "judge") -> Crowd:
    """Run r of a world: its contract, its people, their reports."""
    mechanism = world.mechanism(epsilon, f"{purpose} {world.name} {run}")
    rng = np.random.default_rng([run, len(purpose)])
    counts = rng.multinomial(people, world.shares)
    held = np.flatnonzero(counts)
    chunks, ended = world.pieces
    table = mechanism.stems.table([world.words[i] for i in held], (chunks[held], ended[held]))
    codes = np.repeat(np.arange(held.size), counts[held])
    reports = mechanism.privatize_prefixes(table, codes, random=Seeded(run))
    return Crowd(mechanism, counts, mechanism.tally(reports))


LATIN, UTF8, URL = (shipped_code(name) for name in ("latin", "utf-8", "url"))


def _language(name: str, code: PrefixCode, longest: int) -> World:
    import wordfreq  # type: ignore[import-not-found,import-untyped,unused-ignore]

    known = wordfreq.get_frequency_dict(name)
    ordered = sorted(known, key=lambda word: (-known[word], word))[:WORDS]
    shares = np.array([known[word] for word in ordered])
    return World(name, tuple(ordered), shares / shares.sum(), code, longest)


def _addresses() -> World:
    """20,000 made-up addresses with Zipf's law: a site, mostly .com, mostly with a path."""
    rng = np.random.default_rng(2022)
    syllables = [c + v for c in "bcdfghklmnprstvw" for v in "aeiou"]
    sites = ["".join(rng.choice(syllables, size=rng.integers(2, 5))) for _ in range(2000)]
    paths = ["".join(rng.choice(syllables, size=rng.integers(1, 4))) for _ in range(500)]
    ends = rng.choice(
        [".com", ".org", ".net", ".de", ".io"], size=2000, p=[0.6, 0.15, 0.1, 0.1, 0.05]
    )
    heads = rng.choice(["https://www.", "https://", "http://"], size=2000, p=[0.5, 0.4, 0.1])
    found: dict[str, None] = {}
    while len(found) < 20_000:
        site = int(rng.integers(2000))
        address = heads[site] + sites[site] + ends[site] + "/"
        for _ in range(int(rng.integers(0, 3))):
            address += paths[int(rng.integers(500))] + "/"
        found[str(address)] = None
    shares = 1 / np.arange(1, 20_001)
    return World("url", tuple(found), shares / shares.sum(), URL, 40)


def _strings(name: str, count: int, length: int, power: float, seed: int) -> World:
    """Strings of one length with Zipf's law of this power, one set for all runs."""
    rng = np.random.default_rng(seed)
    words = tuple("".join(rng.choice(list(LETTERS), size=length)) for _ in range(count))
    shares = np.arange(1, count + 1) ** -power
    return World(name, words, shares / shares.sum(), alike(length), length)


def alike(length: int) -> PrefixCode:
    """A code of one's own for strings of one length: letters that are all alike, no end mark."""
    return PrefixCode.from_weights(dict.fromkeys(LETTERS, 1), length)


def _null() -> World:
    """60,000 equally likely strings of five to ten letters: no word is frequent."""
    rng = np.random.default_rng(6)
    sizes = rng.integers(5, 11, size=WORDS)
    words = tuple(dict.fromkeys("".join(rng.choice(list(LETTERS), size=n)) for n in sizes))
    return World("null", words, np.full(len(words), 1 / len(words)), LATIN, 12)


def _overlong() -> World:
    """English, but three people in ten hold one string that is too long to be named."""
    english = world("en")
    words = (*english.words, "overlong " * 20)
    return World("overlong", words, np.append(0.7 * english.shares, 0.3), LATIN, 12)


_WORLDS: dict[str, Callable[[], World]] = {
    "en": lambda: _language("en", LATIN, 12),
    "de": lambda: _language("de", LATIN, 12),
    "fr": lambda: _language("fr", LATIN, 12),
    "es": lambda: _language("es", LATIN, 12),
    "ja": lambda: _language("ja", UTF8, 5),
    "url": _addresses,
    "six": lambda: _strings("six", 20, 6, 0.7, 20),
    # For choosing settings, not for judging.
    "seven": lambda: _strings("seven", 30, 7, 0.8, 7),
    "five": lambda: _strings("five", 25, 5, 0.6, 5),
    "sixt": lambda: _strings("sixt", 25, 6, 0.7, 66),
    "null": _null,
    # No string is frequent.
    "plates": lambda: _strings("plates", WORDS, 6, 0.0, 21),
    "overlong": _overlong,
}
TUNING = ("fr", "es", "five", "sixt", "seven")


@functools.cache
def world(name: str) -> World:
    """A world by its name."""
    return _WORLDS[name]()
