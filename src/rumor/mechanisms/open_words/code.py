"""Texts as bits: prefix codes, with an end mark or of one length, the same in every language.

A code is rows [length, symbol, symbol, ...], shortest first. A symbol is a text, "" being the end
mark, or a number from 194 to 244: the first byte of UTF-8 of characters that have no symbol of
their own, behind which each further byte comes as its six low bits. Code words are given out in
order, counting upwards, and shifted left where a row is longer (a canonical code): no code word is
the beginning of another as long as there is room for all, which is what is checked.

A text is written in Unicode normal form C: at each place the longest symbol that fits, at last the
end mark. A text with a character that has neither symbol nor first byte ends there, unwritten.

Where all texts have one length in characters, the code says it, as {"length": 6, "rows": [...]},
and has no end mark: a text of that length ends by itself, and no bit of any other is written.
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
from rumor.core.checks import checked_size
from rumor.core.errors import InputError, format_value
from rumor.core.files import PathLike

Symbol = str | int
END = ""

MAX_LENGTH = 32
MAX_SYMBOLS = 4096
MAX_CHARACTERS = 256
_MAX_SYMBOL = 32
FIRST_LEAD, LAST_LEAD = 194, 244
_TAIL_BITS = 6


@dataclass(frozen=True)
class Written:
    """A text as bits, the first bit on top; `ended` unless it was cut off or cannot be written."""

    bits: int
    length: int
    ended: bool
    broken: bool = False
    """Whether the text stops at a character that the code lacks, or has the wrong length."""


@dataclass(frozen=True)
class PrefixCode:
    """Symbols with the lengths of their code words, in the order that gives the words out."""

    rows: tuple[tuple[int, tuple[Symbol, ...]], ...]
    length: int | None = None
    """The number of characters of every text; None if the code has an end mark."""

    @classmethod
    def of(cls, given: object, length: int | None = None) -> PrefixCode:
        """Return the code `given` by a contract or a file, or raise an error that says the fault.

        With a `length`, it is the code for texts of that many characters: without its end mark, if
        it has one.
        """
        rows, own = given, None
        if isinstance(given, Mapping):
            if set(given) != {"length", "rows"}:
                raise InputError(
                    "a code of one length must be its length and its rows, "
                    f'{{"length": 6, "rows": [...]}}; got {format_value(sorted(map(str, given)))}'
                )
            rows, own = given["rows"], given["length"]
            checked_size("the length of a code's texts", own, 1, MAX_CHARACTERS)
        if not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)) or not rows:
            raise InputError(
                f"a code must be a list of rows [length, symbol, ...]; got {format_value(rows)}"
            )
        checked = tuple(_checked_row(row) for row in rows)
        if length is None:
            return cls(checked, own)
        if own is None and any(END in row for _, row in checked):
            return cls(checked).of_length(length)
        wanted = checked_size("length", length, 1, MAX_CHARACTERS)
        if own not in (None, wanted):
            raise InputError(f"length must be that of the code, {own}; got {wanted:,}")
        return cls(checked, wanted)

    @classmethod
    def load(cls, path: PathLike, length: int | None = None) -> PrefixCode:
        """Return the code in the JSON file at `path`, which holds such rows."""
        try:
            rows = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as problem:
            raise InputError(
                f"{path}: a code's file must be readable; {problem.strerror}"
            ) from None
        except (ValueError, RecursionError):  # not UTF-8, or not JSON
            raise InputError(f"{path}: a code must be JSON in UTF-8; got something else") from None
        try:
            return cls.of(rows, length)
        except InputError as problem:
            raise InputError(f"{path}: {problem}") from None

    @classmethod
    def from_weights(cls, weights: Mapping[Symbol, int], length: int | None = None) -> PrefixCode:
        """Return Huffman's code for symbols of these frequencies, any whole numbers above 0.

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
        rows = [[n, *(s for s in weights if depths[s] == n)] for n in lengths]
        return cls.of(rows, length)

    def of_length(self, length: int) -> PrefixCode:
        """Return the code for texts of `length` characters: the
        other symbols get the end mark's room.
        """
        sizes = {symbol: size for symbol, (_, size) in self.words.items() if symbol != END}
        weights = {symbol: 1 << (MAX_LENGTH - size) for symbol, size in sizes.items()}
        return PrefixCode.from_weights(weights, length)

    def __post_init__(self) -> None:
        lengths = [length for length, _ in self.rows]
        if lengths != sorted(set(lengths)):
            raise InputError(
                f"the rows of a code must have growing lengths; got {format_value(lengths)}"
            )
        symbols = [symbol for _, row in self.rows for symbol in row]
        if not 2 <= len(symbols) <= MAX_SYMBOLS:
            raise InputError(f"a code must have 2 to {MAX_SYMBOLS:,} symbols; got {len(symbols):,}")
        if len(set(symbols)) != len(symbols):
            twice = next(s for i, s in enumerate(symbols) if s in symbols[:i])
            raise InputError(
                f"the symbols of a code must be distinct; got {format_value(twice)} twice"
            )
        if self.length is None and END not in symbols:
            raise InputError(
                'a code must have an end mark, the symbol ""; '
                "without one no text can be told from longer ones; got none"
            )
        if self.length is not None and END in symbols:
            raise InputError(
                f'a code of one length must have no end mark, the symbol "": '
                f"a text ends after its {self.length:,} characters; got one"
            )
        room = sum(len(row) << (MAX_LENGTH - length) for length, row in self.rows)
        if room > 1 << MAX_LENGTH:
            raise InputError(
                f"the code words of a code must be prefix-free: lengths l of all symbols with the "
                f"sum of 2^-l at most 1; got {room / (1 << MAX_LENGTH):.4g}"
            )

    def to_json(self) -> Json:
        """Return the rows as a contract writes them, with the
        length of all texts if they have one.
        """
        rows: list[Json] = [[length, *symbols] for length, symbols in self.rows]
        return rows if self.length is None else {"length": self.length, "rows": rows}

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
        """The number of characters of the longest symbol."""
        return max(len(s) for s in self.words if isinstance(s, str))

    def write(self, text: str, most: int | None = None) -> Written:
        """Return the bits of a text with its end mark, or the first `most` of them."""
        text = normal(text)
        if self.length is not None and len(text) != self.length:
            return Written(0, 0, ended=False, broken=True)
        bits = length = place = 0
        while most is None or length < most:
            if place == len(text):
                end, size = self.words.get(END, (0, 0))
                return _cut(bits << size | end, length + size, most)
            found = self._next(text, place)
            if found is None:
                return Written(bits, length, ended=False, broken=True)
            word, size, used = found
            bits, length, place = bits << size | word, length + size, place + used
        return _cut(bits, length, most, ended=END not in self.words and place == len(text))

    def _next(self, text: str, place: int) -> tuple[int, int, int] | None:
        """Return the next code word of a text, its length, and how
        many characters it stands for.
        """
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
        """Return the text of bits that `write` gave, with or without bits behind the end mark.

        Without an end mark, the result is as much of the text as the bits decide. None if no text
        has these bits.
        """
        symbols = {(size, word): symbol for symbol, (word, size) in self.words.items()}
        text, place = "", 0
        while place < length and len(text) != self.length:
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

    @property
    def end_bits(self) -> int:
        """The number of bits of the end mark; 0 if all texts have one length."""
        return self.words.get(END, (0, 0))[1]

    @property
    def most_bits(self) -> int:
        """The number of bits of the character that has the longest code word."""
        return max(
            _whole(symbol, size) for symbol, (_, size) in self.words.items() if symbol != END
        )

    def bits_per_character(self) -> tuple[float, float]:
        """Return the mean and the variance of the bits of a character, in texts that suit the code.

        A text suits the code if each symbol has the frequency 2^-length.
        """
        total = mean = square = 0.0
        for symbol, (_, size) in self.words.items():
            if symbol == END:
                continue
            whole = _whole(symbol, size)
            characters = len(symbol) if isinstance(symbol, str) else 1
            weight = 2.0**-size * characters
            total += weight
            mean += weight * whole / characters
            square += weight * (whole / characters) ** 2
        return mean / total, square / total - (mean / total) ** 2


def normal(text: str) -> str:
    """Return a text in the form that codes write: Unicode normal form C."""
    return unicodedata.normalize("NFC", well_formed(text))


def tail_bytes(lead: int) -> int:
    """Return the number of bytes that follow this first byte of a character."""
    return 1 + (lead >= 0xE0) + (lead >= 0xF0)


def _whole(symbol: Symbol, size: int) -> int:
    """Return the bits of a symbol with those that follow a first byte."""
    return size + (_TAIL_BITS * tail_bytes(symbol) if isinstance(symbol, int) else 0)


def _part(bits: int, length: int, place: int, size: int) -> int:
    return bits >> (length - place - size) & ((1 << size) - 1)


def _cut(bits: int, length: int, most: int | None, *, ended: bool = True) -> Written:
    if most is None or length <= most:
        return Written(bits, length, ended)
    return Written(bits >> (length - most), most, ended=False)


def _checked_row(row: object) -> tuple[int, tuple[Symbol, ...]]:
    rule = "a row of a code must be [length, symbol, ...]"
    if not isinstance(row, Sequence) or isinstance(row, (str, bytes)) or len(row) < 2:
        raise InputError(f"{rule}; got {format_value(row)}")
    length, *symbols = row
    if isinstance(length, bool) or not isinstance(length, int) or not 1 <= length <= MAX_LENGTH:
        raise InputError(f"{rule} with a length from 1 to {MAX_LENGTH}; got {format_value(length)}")
    for symbol in symbols:
        if isinstance(symbol, str):
            fits = is_unicode(symbol) and len(symbol) <= _MAX_SYMBOL
            fits = fits and unicodedata.normalize("NFC", symbol) == symbol
        else:
            whole = isinstance(symbol, int) and not isinstance(symbol, bool)
            fits = whole and FIRST_LEAD <= symbol <= LAST_LEAD
        if not fits:
            raise InputError(
                f"a symbol must be a text of up to {_MAX_SYMBOL} characters in normal form C, "
                f"or the first byte of characters, from {FIRST_LEAD} to {LAST_LEAD}; "
                f"got {format_value(symbol)}"
            )
    return length, tuple(symbols)
