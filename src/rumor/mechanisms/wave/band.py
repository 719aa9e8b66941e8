"""A channel whose outputs are likelier within a window of each value: its products, in O(D).

Value x of 0..D-1 is reported as one of Y = D + W - 1 outputs; each of the W outputs from x on has
probability p, each of the D - 1 others q. So
    (M f)(y)  = q sum f + (p - q) (F(y) - F(y - W)),          F the running sums of f,
    (M' z)(x) = q sum z + (p - q) (Z(x + W - 1) - Z(x - 1)),  Z the running sums of z.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Band:
    """The channel as doubles, for estimators."""

    domain: int
    window: int
    inside: float
    """The probability of each output within the window."""
    outside: float
    """The probability of each other output."""

    @cached_property
    def outcomes(self) -> int:
        """The number of outputs."""
        return self.domain + self.window - 1

    @cached_property
    def gain(self) -> float:
        """The difference of the chances of an output within the window and outside."""
        return self.inside - self.outside

    def forward(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return M f, for one distribution of values or for a column of each of several."""
        sums = np.zeros((self.domain + 1, *weights.shape[1:]))
        np.cumsum(weights, axis=0, out=sums[1:])
        output = np.arange(self.outcomes)
        last = sums[np.minimum(output + 1, self.domain)]
        before = sums[np.maximum(output + 1 - self.window, 0)]
        return np.asarray(self.outside * sums[-1] + self.gain * (last - before))

    def adjoint(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return M' z, for one vector of outputs or for a column of each of several."""
        sums = np.zeros((self.outcomes + 1, *weights.shape[1:]))
        np.cumsum(weights, axis=0, out=sums[1:])
        within = sums[self.window :] - sums[: self.domain]
        return np.asarray(self.outside * sums[-1] + self.gain * within)

    def matrix(self) -> NDArray[np.float64]:
        """Return M written out, a column for each value."""
        return self.forward(np.eye(self.domain))
