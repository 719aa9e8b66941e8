"""Blocks: randomised response on the joint state of a few publicly drawn things.

b of D things (keys, options) are drawn whatever the person holds, and shown; what they say
together is one of some states, reported by randomised response, which spends the whole budget on
every state.
Report: the things in ascending order, each a little-endian integer, then one byte, the state.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rumor.core import exact
from rumor.core.coins import keep_or_replace
from rumor.core.randomness import Draws, Stream
from rumor.core.reports import Reports, Validity, bytes_for, little_endian, narrow_integers
from rumor.core.typing import override
from rumor.mechanisms.blanket import Blanket, support_blanket
from rumor.mechanisms.shapes import DeclaredParameters, LabelledMechanism

# People handled at a time: their words, blocks and states stay in the second-level cache.
CHUNK = 1 << 14


class BlockReports(LabelledMechanism, DeclaredParameters):
    """A mechanism whose report is a block of things and the state that they are said to be in."""

    OPTIONS = _SHAPE_NAMES = ("block",)
    _THRESHOLDS = ("truth",)
    truth: int
    """The threshold of telling the true state."""
    block: int
    """The number of things shown."""
    states: int
    """The number of joint states of the things shown."""

    @property
    def _integer(self) -> int:
        return bytes_for(self._value_count)

    def _best_truth(self, epsilon: float) -> None:
        """Return the threshold of the truth at which the ratio is
        at most e^epsilon, rounded down.
        """
        power = exact.exp(exact.checked_epsilon(epsilon))
        self.truth = exact.floor_threshold(power / (power + self.states - 1))
        self._check_identifiable()
        if self.epsilon > epsilon:
            raise exact.not_kept(epsilon)

    def _check_identifiable(self) -> None:
        exact.require_above_even(self.truth, self.states, "states")

    def _truth(self) -> tuple[Fraction, Fraction]:
        """Return the probability of the true state, and of each other one."""
        truth = Fraction(self.truth, exact.WORD)
        return truth, (1 - truth) / (self.states - 1)

    @property
    def epsilon(self) -> float:
        """The exact loss: the log-ratio of the true state's probability to another's."""
        truth, other = self._truth()
        return exact.worst_log_ratio([truth / other])

    def blanket(self) -> Blanket:
        """Return the blanket of two people in different states, whatever things are shown."""
        truth, other = self._truth()
        return support_blanket(truth, truth / other)

    @property
    def share(self) -> float:
        """The share of all things that one report is about."""
        return self.block / self._value_count

    @property
    @override
    def width(self) -> int:
        return self.block * self._integer + 1

    @property
    @override
    def alphabet(self) -> int:
        return math.comb(self._value_count, self.block) * self.states

    @override
    def outputs(self, public: bytes = b"") -> Reports:
        rows = [
            self._report(shown, state)
            for shown in itertools.combinations(range(self._value_count), self.block)
            for state in range(self.states)
        ]
        return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, self.width)

    def _report(self, shown: Sequence[int], state: int) -> bytes:
        return b"".join(one.to_bytes(self._integer, "little") for one in shown) + bytes([state])

    def _shown(self, report: bytes) -> list[int]:
        size = self._integer
        starts = range(0, self.block * size, size)
        return [int.from_bytes(report[i : i + size], "little") for i in starts]

    def _told(self, state: int, draws: Draws) -> int:
        """Draw the state to report: coin(truth) keeps it, otherwise
        below(states - 1), skipping it.
        """
        if draws.coin(self.truth):
            return state
        other = draws.below(self.states - 1)
        return other + (other >= state)

    def _written(
        self, stream: Stream, shown: NDArray[np.int64], states: NDArray[np.int64], out: Reports
    ) -> None:
        """Return the reports of many people: their blocks and the randomised states."""
        for i in range(self.block):
            place = slice(i * self._integer, (i + 1) * self._integer)
            out[:, place] = little_endian(shown[:, i], self._integer)
        out[:, -1] = keep_or_replace(stream, states, self.states, self.truth)

    def _fields(self, reports: Reports) -> tuple[NDArray[np.integer], NDArray[np.uint8]]:
        """Return the things shown (n, b), and the states."""
        flat = np.ascontiguousarray(reports[:, :-1]).reshape(-1, self._integer)
        return narrow_integers(flat).reshape(len(reports), self.block), reports[:, -1]

    def _validate(self, reports: Reports) -> Validity:
        last = self._value_count - 1
        reason = (
            f"a report has {self.block} ascending {self._THINGS} from 0 to {last:,} "
            f"and a state from 0 to {self.states - 1}"
        )
        shown, states = self._fields(reports)
        ascending = (np.diff(shown.astype(np.int64), axis=1) > 0).all(axis=1)
        return Validity(ascending & (shown[:, -1] <= last) & (states < self.states), reason)
