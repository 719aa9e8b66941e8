"""A stream that says what it is told to: how words with odds of 2^-32 are made to come up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rumor.core.randomness import Stream, StreamDraws


class Scripted(Stream):
    """The given words, one after the other, and none beyond them."""

    def __init__(self, words: Sequence[int]) -> None:
        super().__init__(bytes(32))
        self._script = np.array(words, dtype="<u8").view(np.uint8)

    def fill(self, out: np.ndarray) -> None:
        """The next bytes of the script."""
        view = out.reshape(-1).view(np.uint8)
        assert view.size <= self._script.size, "the script is over"
        view[:], self._script = self._script[: view.size], self._script[view.size :]

    @property
    def left(self) -> int:
        """Words not yet read."""
        return self._script.size // 8


class ScriptedSource:
    """A source whose one stream is scripted."""

    def __init__(self, words: Sequence[int]) -> None:
        self.scripted = Scripted(words)

    def stream(self) -> Stream:
        """The script, from where it stands."""
        return self.scripted

    def draws(self) -> StreamDraws:
        """Reference draws by the script."""
        return StreamDraws(self.scripted)
