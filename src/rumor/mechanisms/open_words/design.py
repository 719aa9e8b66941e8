"""The design of open words: the number of levels, and how often each is asked.

`longest` says up to how many characters words shall be named: code points, as the code expects
them. Words of that length need different
numbers of bits; two standard deviations above the mean, for letters as the code expects them, are
room for all but a few in a hundred, and never more than as many of the longest. What people see as
one character may be many code points that the code does not expect, and no number of them says how
many bits it takes: a family of four is one emoji, seven code points and as many bits as 38 Latin
letters. `fits` names words that there must be room for, whatever they are made of. Levels up to the
bits of a typical word have the same weight, and further ones less and less: short words are tested
by all later levels anyway, and nobody knows how long the frequent words are. Whole words have a
little less than a level's weight. Where all words have one length, as the code then says, nothing
is tested before the last levels: fewer, longer steps find more, as long as the last of them is not
mostly empty, and whole words have the weight of a level.

The numbers come from crowds of French and Spanish words and of strings of five to seven letters,
which benchmarks/open_words.py does not judge; they are flat about what is written here, and do not
depend on how many people there are or on epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rumor.core.checks import checked_size
from rumor.core.errors import InputError, format_value
from rumor.mechanisms.open_words.code import END, MAX_CHARACTERS, PrefixCode
from rumor.mechanisms.open_words.open_words import MAX_LEVELS, OpenWords

STEP = 7
LONGEST = 20
MOST_STEP_OF_ONE_LENGTH = 15
_ABOUT_AS_MANY = 1.25
COHORTS = 256
_WEIGHT = 20
_DECAY = 0.75
_WHOLE = 0.7
# If `typical` is not given, one level in this many has full weight: frequent words have about
# twenty bits in any script that its code suits.
_EVEN_PART = 3
# The least number of levels with full weight.
_EVEN_LEAST = 3


def _most_bits(code: PrefixCode, longest: int) -> float:
    """Return the number of bits reserved for words of up to
    `longest` characters, end mark included.
    """
    longest = checked_size("longest", longest, 1, MAX_CHARACTERS)
    if _alike(code):
        return longest * code.most_bits
    mean, variance = code.bits_per_character()
    widest = max(size for symbol, (_, size) in code.words.items() if symbol != END)
    usual = longest * mean + 2 * math.sqrt(longest * variance)
    return min(longest * widest, usual) + code.end_bits


def levels_for(
    code: PrefixCode,
    longest: int,
    typical: int | None = None,
    step: int = STEP,
    fits: Sequence[str] = (),
) -> tuple[int, ...]:
    """Return the weights of levels for words of up to `longest` characters, typically of `typical`.

    The levels have room for each word of `fits`, however long it is. If a word takes more bits than
    all levels have, the levels up to its end have equal weight: each of its bits must be found.
    """
    mean, _ = code.bits_per_character()
    depth = min(MAX_LEVELS - 1, max(1, math.ceil(_most_bits(code, longest) / step)))
    needed = max((math.ceil(_room_for(code, word, step) / step) for word in fits), default=0)
    even = max(_EVEN_LEAST, depth // _EVEN_PART)
    if typical is not None:
        typical = checked_size("typical", typical, 1, longest)
        even = math.ceil((typical * mean + code.end_bits) / step)
    if needed > depth:
        depth = even = needed
    weights = [_WEIGHT * _DECAY ** max(0, level + 1 - even) for level in range(depth)]
    whole = _WHOLE if code.length is None else 1.0
    return tuple(max(1, round(weight)) for weight in (*weights, _WEIGHT * whole))


def _room_for(code: PrefixCode, word: str, step: int) -> int:
    """Return the bits of a `word` that must be nameable, or refuse one that cannot be."""
    written, most = code.write(word), step * (MAX_LEVELS - 1)
    if not written.ended:
        raise InputError(
            f"the code must be able to write every word of fits; got {format_value(word)}"
        )
    if written.length > most:
        raise InputError(
            f"a word of fits must take at most {most:,} bits in the code; "
            f"got {format_value(word)}, which takes {written.length:,}"
        )
    return written.length


def _alike(code: PrefixCode) -> bool:
    """Return whether words have one length and the code writes
    all of them with about as many bits.
    """
    mean, _ = code.bits_per_character()
    return code.length is not None and code.most_bits <= _ABOUT_AS_MANY * mean


def _step_of_one_length(code: PrefixCode, length: int) -> int:
    """Return the bits of a level for words of one length: at most
    fifteen, in few equally full levels.

    If a code writes some words of this length with many more bits than most words, many levels are
    better, as for words of any length: the words with few bits are tested more often.
    """
    if not _alike(code):
        return STEP
    bits = _most_bits(code, length)
    return math.ceil(bits / math.ceil(bits / MOST_STEP_OF_ONE_LENGTH))


def open_words(
    *,
    epsilon: float,
    code: PrefixCode | Sequence[object] | Mapping[str, object],
    key: bytes,
    longest: int | None = None,
    typical: int | None = None,
    step: int | None = None,
    cohorts: int = COHORTS,
    fits: Sequence[str] = (),
) -> OpenWords:
    """Return the mechanism for words of up to `longest` characters, with everything else chosen.

    A code of one length says itself how long words are.
    """
    known = code if isinstance(code, PrefixCode) else PrefixCode.of(code)
    if known.length is not None:
        if longest is not None or typical is not None:
            raise InputError(
                f"where all words have {known.length:,} characters, longest and typical must be "
                f"left out; got {longest!r} and {typical!r}"
            )
        longest = typical = known.length
        step = _step_of_one_length(known, longest) if step is None else step
    longest = LONGEST if longest is None else longest
    step = STEP if step is None else step
    weights = levels_for(known, longest, typical, step, _checked_fits(fits))
    return OpenWords(
        epsilon=epsilon, code=known, step=step, weights=weights, key=key, cohorts=cohorts
    )


def _checked_fits(fits: object) -> Sequence[str]:
    words = fits if isinstance(fits, (list, tuple)) else None
    if words is None or not all(isinstance(word, str) and word for word in words):
        raise InputError(
            f"fits must be a list of words, each of them a text; got {format_value(fits)}"
        )
    return words
