"""Texts as bits: prefix codes with an end mark, the same in every language.

A code is rows [length, symbol, symbol, ...], shortest first. A symbol is a text, "" being the end
mark, or a number from 194 to 244: the first byte of UTF-8 of characters that have no symbol of
their own, behind which each further byte comes as its six low bits. Code words are given out in
order, counting upwards, and shifted left where a row is longer (a canonical code): no code word is
the beginning of another as long as there is room for all, which is what is checked.

A text is written in Unicode normal form C: at each place the longest symbol that fits, at last the
end mark. A text with a character that has neither symbol nor first byte ends there, unwritten.
"""

from __future__ import annotations

import functools
import heapq
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rumor.core.canonical import Json, is_unicode, well_formed
from rumor.core.errors import InputError, shown
from rumor.core.files import PathLike

Symbol = str | int
END = ""

MAX_LENGTH = 32
MAX_SYMBOLS = 4096
_MAX_CHARACTERS = 32
FIRST_LEAD, LAST_LEAD = 194, 244
_TAIL_BITS = 6


@dataclass(frozen=True)
class Written:
    """A text as bits, the first bit on top; `ended` unless it was cut off or cannot be written."""

    bits: int
    length: int
    ended: bool
    broken: bool = False
    """Whether it stops at a character that the code does not have."""


@dataclass(frozen=True)
class PrefixCode:
    """Symbols with the lengths of their code words, in the order that gives the words out."""

    rows: tuple[tuple[int, tuple[Symbol, ...]], ...]

    @classmethod
    def of(cls, rows: object) -> PrefixCode:
        """From what a contract or a file says, or the sentence that says what is wrong."""
        if not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)) or not rows:
            raise InputError(
                f"a code must be a list of rows [length, symbol, ...]; got {shown(rows)}"
            )
        return cls(tuple(_checked_row(row) for row in rows))

    @classmethod
    def load(cls, path: PathLike) -> PrefixCode:
        """From a JSON file of such rows."""
        try:
            rows = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as problem:
            raise InputError(
                f"{path}: a code's file must be readable; {problem.strerror}"
            ) from None
        except (ValueError, RecursionError):  # not UTF-8, or not JSON
            raise InputError(f"{path}: a code must be JSON in UTF-8; got something else") from None
        try:
            return cls.of(rows)
        except InputError as problem:
            raise InputError(f"{path}: {problem}") from None

    @classmethod
    def from_weights(cls, weights: Mapping[Symbol, int]) -> PrefixCode:
        """Huffman's code for symbols of these frequencies, any whole numbers above 0.

        Of equal weights the earlier symbol counts as the rarer one, and a joined group as later
        than any symbol, so that the same weights give the same code everywhere.
        """
        # The members of a group and their depths in it.
        heap: list[tuple[int, int, list[tuple[Symbol, int]]]] = [
            (weight, place, [(symbol, 0)]) for place, (symbol, weight) in enumerate(weights.items())
        ]
        heapq.heapify(heap)
        place = len(heap)
        while len(heap) > 1:
            (one, _, left), (two, _, right) = heapq.heappop(heap), heapq.heappop(heap)
            joined = [(symbol, depth + 1) for symbol, depth in (*left, *right)]
            heapq.heappush(heap, (one + two, place, joined))
            place += 1
        depths = dict(heap[0][2])
        lengths = sorted(set(depths.values()))
        return cls.of([[n, *(s for s in weights if depths[s] == n)] for n in lengths])

    def __post_init__(self) -> None:
        lengths = [length for length, _ in self.rows]
        if lengths != sorted(set(lengths)):
            raise InputError(f"the rows of a code must have growing lengths; got {shown(lengths)}")
        symbols = [symbol for _, row in self.rows for symbol in row]
        if not 2 <= len(symbols) <= MAX_SYMBOLS:
            raise InputError(f"a code must have 2 to {MAX_SYMBOLS:,} symbols; got {len(symbols):,}")
        if len(set(symbols)) != len(symbols):
            twice = next(s for i, s in enumerate(symbols) if s in symbols[:i])
            raise InputError(f"the symbols of a code must be distinct; got {shown(twice)} twice")
        if END not in symbols:
            raise InputError(
                'a code must have an end mark, the symbol ""; '
                "without one no text can be told from longer ones; got none"
            )
        room = sum(len(row) << (MAX_LENGTH - length) for length, row in self.rows)
        if room > 1 << MAX_LENGTH:
            raise InputError(
                f"the code words of a code must be prefix-free: lengths l of all symbols with the "
                f"sum of 2^-l at most 1; got {room / (1 << MAX_LENGTH):.4g}"
            )

    def to_json(self) -> list[Json]:
        """The rows as a contract writes them."""
        return [[length, *symbols] for length, symbols in self.rows]

    @functools.cached_property
    def words(self) -> dict[Symbol, tuple[int, int]]:
        """The code word of each symbol, as an integer, and its length."""
        found: dict[Symbol, tuple[int, int]] = {}
        word = last = 0
        for length, symbols in self.rows:
            word <<= length - last
            last = length
            for symbol in symbols:
                found[symbol] = word, length
                word += 1
        return found

    @functools.cached_property
    def _longest(self) -> int:
        """The characters of the longest symbol."""
        return max(len(s) for s in self.words if isinstance(s, str))

    def write(self, text: str, most: int | None = None) -> Written:
        """The bits of a text with its end mark, or the first `most` of them."""
        text = normal(text)
        bits = length = place = 0
        while most is None or length < most:
            if place == len(text):
                word, size = self.words[END]
                return _cut(bits << size | word, length + size, most)
            found = self._next(text, place)
            if found is None:
                return Written(bits, length, ended=False, broken=True)
            word, size, used = found
            bits, length, place = bits << size | word, length + size, place + used
        return Written(bits >> (length - most), most, ended=False)

    def _next(self, text: str, place: int) -> tuple[int, int, int] | None:
        """Code word, its length and the characters it stands for, at a place of a text."""
        for used in range(min(self._longest, len(text) - place), 0, -1):
            found = self.words.get(text[place : place + used])
            if found is not None:
                return *found, used
        first, *rest = text[place].encode("utf-8")
        found = self.words.get(first)
        if found is None:
            return None
        word, size = found
        for byte in rest:
            word, size = word << _TAIL_BITS | byte & 0x3F, size + _TAIL_BITS
        return word, size, 1

    def read(self, bits: int, length: int) -> str | None:
        """The text of bits that `write` gave, with or without what follows the end mark.

        Where there is no end mark, as much of the text as the bits decide. None where no text
        is written so.
        """
        symbols = {(size, word): symbol for symbol, (word, size) in self.words.items()}
        text, place = "", 0
        while place < length:
            for size in range(1, min(MAX_LENGTH, length - place) + 1):
                key = size, _part(bits, length, place, size)
                if key in symbols:
                    break
            else:
                return text
            symbol, place = symbols[key], place + size
            if symbol == END:
                return text
            if isinstance(symbol, int):
                tails = tail_bytes(symbol)
                if place + _TAIL_BITS * tails > length:
                    return text
                parts = [_part(bits, length, place + _TAIL_BITS * i, 6) for i in range(tails)]
                place += _TAIL_BITS * tails
                try:
                    symbol = bytes([symbol, *(0x80 | part for part in parts)]).decode("utf-8")
                except UnicodeDecodeError:
                    return None
            text += symbol
        return text

    def bits_per_character(self) -> tuple[float, float]:
        """The mean and the variance of the bits of a character, in texts that suit the code.

        Those are texts whose symbols come as often as their lengths are short for: 2^-length.
        """
        total = mean = square = 0.0
        for symbol, (_, size) in self.words.items():
            if symbol == END:
                continue
            whole = size + (_TAIL_BITS * tail_bytes(symbol) if isinstance(symbol, int) else 0)
            characters = len(symbol) if isinstance(symbol, str) else 1
            weight = 2.0**-size * characters
            total += weight
            mean += weight * whole / characters
            square += weight * (whole / characters) ** 2
        return mean / total, square / total - (mean / total) ** 2


def normal(text: str) -> str:
    """A text as codes write it: any text, in Unicode normal form C."""
    return unicodedata.normalize("NFC", well_formed(text))


def tail_bytes(lead: int) -> int:
    """How many bytes follow this first byte of a character."""
    return 1 + (lead >= 0xE0) + (lead >= 0xF0)


def _part(bits: int, length: int, place: int, size: int) -> int:
    return bits >> (length - place - size) & ((1 << size) - 1)


def _cut(bits: int, length: int, most: int | None) -> Written:
    if most is None or length <= most:
        return Written(bits, length, ended=True)
    return Written(bits >> (length - most), most, ended=False)


def _checked_row(row: object) -> tuple[int, tuple[Symbol, ...]]:
    rule = "a row of a code must be [length, symbol, ...]"
    if not isinstance(row, Sequence) or isinstance(row, (str, bytes)) or len(row) < 2:
        raise InputError(f"{rule}; got {shown(row)}")
    length, *symbols = row
    if isinstance(length, bool) or not isinstance(length, int) or not 1 <= length <= MAX_LENGTH:
        raise InputError(f"{rule} with a length from 1 to {MAX_LENGTH}; got {shown(length)}")
    for symbol in symbols:
        if isinstance(symbol, str):
            fits = is_unicode(symbol) and len(symbol) <= _MAX_CHARACTERS
            fits = fits and unicodedata.normalize("NFC", symbol) == symbol
        else:
            whole = isinstance(symbol, int) and not isinstance(symbol, bool)
            fits = whole and FIRST_LEAD <= symbol <= LAST_LEAD
        if not fits:
            raise InputError(
                f"a symbol must be a text of up to {_MAX_CHARACTERS} characters in normal form C, "
                f"or the first byte of characters, from {FIRST_LEAD} to {LAST_LEAD}; "
                f"got {shown(symbol)}"
            )
    return length, tuple(symbols)
