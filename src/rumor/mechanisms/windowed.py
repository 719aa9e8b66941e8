"""Windows: an integer near the true position, or any other.

Model, with D positions, a window of W outputs, Y = D + W - 1 outputs and t the threshold:
    P(y | x) = t / 2**64 / W                   if x <= y < x + W
             = (2**64 - t) / (2**64 (D - 1))   otherwise
Privacy: the two probabilities are all there are, so the loss is the logarithm of their ratio; t is
rounded down, which lowers it. An output within the window must be likelier than another. The
mean of y is linear in x.
Report: y as a little-endian integer.
"""

from __future__ import annotations

import abc
import functools
from fractions import Fraction

import numpy as np

from rumor.core import exact
from rumor.core.errors import InputError
from rumor.core.randomness import Draws, RandomSource, Stream
from rumor.core.reports import Reports, from_little_endian, little_endian
from rumor.core.types import Codes, Vector
from rumor.core.typing import override
from rumor.mechanisms.blanket import Blanket, BlanketRow
from rumor.mechanisms.shapes import IntegerReports


class WindowedResponse(IntegerReports):
    """A mechanism whose report lies in a window at the true position, or anywhere else."""

    window: int
    """The number of outputs in a window."""
    inside: int
    """The threshold of an output within the window."""

    @property
    @abc.abstractmethod
    def others(self) -> int:
        """The number of outputs far from a position, which is one less than that of positions."""

    @abc.abstractmethod
    def encode(self, values: object) -> Codes:
        """Return a column of answers as positions."""

    @abc.abstractmethod
    def code(self, value: object) -> int:
        """Return one person's answer as a position."""

    def best_inside(self, window: int, epsilon: float) -> int:
        """Return the largest threshold for a window of this width,
        refused if it teaches nothing.
        """
        odds = window * exact.exp(exact.checked_epsilon(epsilon))
        inside = exact.floor_threshold(odds / (odds + self.others))
        if not self._learns(window, inside):
            raise exact.not_kept(epsilon)
        return inside

    def checked_inside(self, window: int, inside: object) -> int:
        """Return a contract's threshold, refused if it teaches nothing."""
        threshold = exact.checked_threshold("inside", inside)
        self._require_use(window, threshold)
        return threshold

    def _require_use(self, window: int, inside: int) -> None:
        if not self._learns(window, inside):
            raise InputError(
                f"the threshold of the window must exceed its share of the outputs; got {inside}"
            )

    def _learns(self, window: int, inside: int) -> bool:
        return inside * self.others > (exact.WORD - inside) * window

    @functools.cached_property
    def exact_inside(self) -> Fraction:
        """The probability of each output of the window."""
        return Fraction(self.inside, exact.WORD * self.window)

    @functools.cached_property
    def exact_outside(self) -> Fraction:
        """The probability of each other output."""
        return Fraction(exact.WORD - self.inside, exact.WORD * self.others)

    @functools.cached_property
    def epsilon(self) -> float:
        """The exact loss: an output inside the window against one outside."""
        return exact.worst_log_ratio([self.exact_inside / self.exact_outside])

    def blanket(self) -> Blanket:
        """Return the blanket of the two ends, whose windows share least."""
        one, odds = Fraction(1), self.exact_inside / self.exact_outside
        alone = min(self.window, self.others)
        return Blanket.from_pairs(
            (
                BlanketRow(alone * self.exact_outside, odds, one),
                BlanketRow(alone * self.exact_outside, one, odds),
                BlanketRow((self.window - alone) * self.exact_inside, one, one),
                BlanketRow((self.others - alone) * self.exact_outside, one, one),
            )
        )

    @property
    @override
    def alphabet(self) -> int:
        return self.others + self.window

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        near = 0 <= int.from_bytes(report, "little") - self.code(value) < self.window
        return self.exact_inside if near else self.exact_outside

    def log_likelihood_ratio(self, reports: Reports, first: object, second: object) -> Vector:
        """Return +epsilon, -epsilon or 0, by the windows that each report lies in."""
        outputs = from_little_endian(reports)
        windows = ((self.code(value), self.code(value) + self.window) for value in (first, second))
        near = [(outputs >= start) & (outputs < end) for start, end in windows]
        return (near[0].astype(np.float64) - near[1]) * self.epsilon

    @override
    def draw(self, value: object, draws: Draws) -> bytes:
        return self.draw_near(self.code(value), draws)

    def draw_near(self, position: int, draws: Draws) -> bytes:
        """Draw coin(inside): x + below(window); otherwise below(D - 1), skipping the window."""
        if draws.coin(self.inside):
            output = position + draws.below(self.window)
        else:
            output = draws.below(self.others)
            output += self.window if output >= position else 0
        return output.to_bytes(self.width, "little")

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        return self.privatize_near(self.encode(values), source.stream())

    def privatize_near(self, positions: Codes, stream: Stream) -> Reports:
        """Draw an output near or far from each of many `positions`."""
        inside = stream.words(positions.size) < np.uint64(self.inside)
        near = positions + stream.below(self.window, positions.size).astype(np.int64)
        far = stream.below(self.others, positions.size).astype(np.int64)
        far += np.where(far >= positions, self.window, 0)
        return little_endian(np.where(inside, near, far), self.width)

    @functools.cached_property
    def line(self) -> tuple[Fraction, Fraction]:
        """The line A + B x that is the mean of an output given the position x."""
        gain = self.exact_inside - self.exact_outside
        everything = Fraction(self.alphabet * (self.alphabet - 1), 2)
        within = Fraction(self.window * (self.window - 1), 2)
        return self.exact_outside * everything + gain * within, gain * self.window
