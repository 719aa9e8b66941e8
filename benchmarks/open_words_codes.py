"""Would a code that looks at the letter before find more words? Its length, on other languages.

    python -m benchmarks.open_words_codes            seconds; needs the package wordfreq

A prefix code that knows the letter before (order 1) is shorter on the languages it was made from.
What a report can tell falls with the bits of a word: the smallest share that is found goes with
the root of their number. Both codes, of order 0 and 1, are Huffman's on the letters of English,
French and Spanish, as often as they are used, and judged on the words of ranks 50 to 1,000 of
languages that were not asked. Letters outside the alphabet are escaped at eight bits.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

MADE_FROM = ("en", "fr", "es")
JUDGED_ON = ("de", "it", "nl", "pl", "sv", "id", "fi")
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz'-. 0123456789")
START, END, ESCAPE = "^", "$", "?"
_ESCAPED_BITS = 8
# What an unseen pair of letters counts, beside shares that sum to three.
_UNSEEN = 1e-5

Lengths = Mapping[str, Mapping[str, int]]


def words(language: str, count: int) -> list[tuple[str, float]]:
    """The words used most, with their shares."""
    import wordfreq  # type: ignore[import-not-found,import-untyped,unused-ignore]

    known = wordfreq.get_frequency_dict(language, wordlist="best")
    return sorted(known.items(), key=lambda each: -each[1])[:count]


def letters(word: str) -> Iterator[tuple[str, str]]:
    """Each letter of a word after the one before, the end last."""
    before = START
    for letter in (*(c if c in LETTERS else ESCAPE for c in word), END):
        yield before, letter
        before = letter


def made(order: int) -> Lengths:
    """The length of each letter's code, after each letter or after any."""
    contexts = (START, ESCAPE, *LETTERS) if order else ("",)
    seen = {each: dict.fromkeys((*LETTERS, ESCAPE, END), _UNSEEN) for each in contexts}
    for language in MADE_FROM:
        for word, share in words(language, 30_000):
            for before, letter in letters(word):
                seen[before if order else ""][letter] += share
    return {context: _huffman(counts) for context, counts in seen.items()}


def bits(code: Lengths, word: str) -> int:
    """How long a word is in a code."""
    plain = "" in code
    return sum(
        code["" if plain else before][letter] + _ESCAPED_BITS * (letter == ESCAPE)
        for before, letter in letters(word)
    )


def _huffman(counts: Mapping[str, float]) -> dict[str, int]:
    heap = [(count, number, [letter]) for number, (letter, count) in enumerate(counts.items())]
    heapq.heapify(heap)
    length: Counter[str] = Counter()
    for number in range(len(heap), 2 * len(heap) - 1):
        (first, _, some), (second, _, others) = heapq.heappop(heap), heapq.heappop(heap)
        length.update(some + others)
        heapq.heappush(heap, (first + second, number, some + others))
    return dict(length)


def main() -> int:
    """Bits of a word by both codes, and what that does to the share that is found."""
    codes = [made(0), made(1)]
    print("language     order 0  order 1   smallest share found, order 1 over order 0")
    sums: dict[str, list[float]] = defaultdict(list)
    for language in (*MADE_FROM, *JUDGED_ON):
        tail = words(language, 1_000)[50:]
        total = sum(share for _, share in tail)
        zero, one = (sum(s * bits(code, w) for w, s in tail) / total for code in codes)
        gain = math.sqrt(one / zero)
        group = "made from" if language in MADE_FROM else "judged on"
        sums[group].append(gain)
        print(f"{language} {group:9} {zero:8.1f} {one:8.1f}   {gain:.3f}")
    for group, gains in sums.items():
        print(f"{group}: {math.exp(sum(map(math.log, gains)) / len(gains)):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
