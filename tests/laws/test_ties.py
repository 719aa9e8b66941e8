"""A word that ties with a threshold is a miss, in bulk as in the reference draw.

The odds of a tie are 2^-64: no number of draws would ever show a sampler that takes it for a hit.
Here one call for words gives the same word for everybody, beside a threshold of the mechanism:
two words on the same side of it must have the same reports.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from rumor.core.errors import AnswerError
from rumor.core.exact import WORD
from rumor.core.randomness import Keyed, Seeded, Stream, StreamDraws
from rumor.mechanisms import REGISTRY, Mechanism

CALLS = 4  # of words that are looked at, one at a time
# Those whose samplers compare whole words, and in which call of words a tie is felt.
FELT = {
    "harmony",
    "item-sampling",
    "key-set",
    "mixed",
    "privkv",
    "privkvm",
    "projective",
    "select",
    "wave",
}


class Tied(Stream):
    """A stream of which one call for words gives one word many times, and the others their own."""

    def __init__(self, call: int, word: int) -> None:
        super().__init__(Keyed(b"a word that ties", "words").digest())
        self._integers = Keyed(b"a word that ties", "integers").stream()
        self._left, self._word = call, word

    def words(self, count: int) -> Any:
        self._left -= 1
        found = super().words(count)
        return np.full(count, self._word, dtype=np.uint64) if self._left == -1 else found

    def below(self, bound: int, count: int) -> Any:
        return self._integers.below(bound, count)


class TiedSource:
    """A source of one such stream."""

    def __init__(self, call: int, word: int) -> None:
        self._stream = Tied(call, word)

    def stream(self) -> Stream:
        return self._stream

    def draws(self) -> StreamDraws:
        return StreamDraws(self._stream)


def thresholds(part: object) -> Iterator[int]:
    """Yield the integers of a mechanism, and of what it is made of, that may be thresholds."""
    if isinstance(part, bool):
        return
    if isinstance(part, int | np.integer):
        if 1 << 40 < int(part) < WORD - 2:
            yield int(part)
    elif isinstance(part, np.ndarray):
        if part.dtype.kind in "iu":
            yield from thresholds(part.ravel().tolist())
    elif isinstance(part, list | tuple):
        for each in part:
            yield from thresholds(each)
    elif isinstance(part, Mechanism) or type(part).__module__.startswith("rumor.mechanisms"):
        yield from thresholds(list(getattr(part, "__dict__", {}).values()))


def taken(mechanism: Mechanism) -> list[object]:
    """Return answers that this mechanism takes, three of each."""
    found = []
    for value in mechanism.edge_values():
        with contextlib.suppress(AnswerError):
            mechanism.privatize([value], random=Seeded(1))
            found += [value] * 3
    return found


def reports(mechanism: Mechanism, values: Any, call: int, word: int) -> bytes:
    return np.asarray(mechanism.privatize(values, random=TiedSource(call, word))).tobytes()


@pytest.mark.parametrize("kind", REGISTRY, ids=lambda kind: kind.name)
def test_a_word_that_ties_with_a_threshold_is_a_miss(kind: type[Mechanism]) -> None:
    felt = False
    for mechanism in kind.examples()[:3]:
        values = taken(mechanism)
        for threshold in sorted(set(thresholds(mechanism)))[:8]:
            for call in range(CALLS):
                below, tied = (
                    [reports(mechanism, values, call, threshold + by) for by in both]
                    for both in ((-2, -1), (0, 1))
                )
                assert below[0] == below[1], (mechanism, threshold, call)
                assert tied[0] == tied[1], (mechanism, threshold, call)
                felt = felt or below != tied
    assert felt or kind.name not in FELT
