"""Which bits can follow which: the beginnings of words that a prefix code can write.

A state is what a beginning leaves open: how far into a code word it is, or how many bits of a
character are still to come. Bits that no word is written with lead to a state that nothing leaves;
behind the end mark there are zeros alone. What remains possible here and is still no word (a text
that the code would have written with longer symbols) is sorted out when words are read.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rumor.core.prefix_code import END, PrefixCode, tail_bytes
from rumor.core.types import Vector

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
