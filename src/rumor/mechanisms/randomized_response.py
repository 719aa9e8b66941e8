"""Randomised response on k values (k-RR): tell the truth, or one of the others.

Warner 1965; for k values Kairouz, Oh and Viswanath 2014.

Model, with t the threshold and D the domain:
    P(y | x) = t / 2**64                       if y = x
             = (2**64 - t) / (2**64 (D - 1))   otherwise
Privacy: the two probabilities are all there are, so the loss is the logarithm of their
ratio; t is rounded down, which lowers it. The truth must be likelier than a lie.
Report: y as a little-endian integer in 1 to 3 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np

from rumor.core import exact
from rumor.core.coins import keep_or_replace
from rumor.core.randomness import Draws, RandomSource
from rumor.core.reports import Reports, from_little_endian, little_endian
from rumor.core.types import Tally, Vector
from rumor.core.typing import override
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.shapes import CountedIntegers


class RandomizedResponse(CountedIntegers, FrequencyOracle):
    """k-ary randomised response: the best oracle where epsilon is large for the domain."""

    name = "randomized-response"
    MAX_DOMAIN = 1_000_000
    _THRESHOLDS = ("truth",)
    report_is_value = True
    truth: int
    """The threshold of telling the truth."""

    def __init__(
        self,
        *,
        domain: int | Sequence[str] | None = None,
        epsilon: float,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Make k-RR on `domain`, a size or labels; `epsilon` is a ceiling on the privacy loss."""
        super().__init__(domain, labels)
        power = exact.exp(exact.checked_epsilon(epsilon))
        self.truth = exact.floor_threshold(power / (power + self.domain - 1))
        self._require_gain(epsilon)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with two values, a few, and more than a byte holds."""
        return [
            cls(domain=2, epsilon=1.0),
            cls(domain=3, epsilon=0.1),
            cls(domain=7, epsilon=2.0),
            cls(domain=300, epsilon=32.0),
        ]

    @property
    @override
    def exact_miss(self) -> Fraction:
        return (1 - self.exact_hit) / (self.domain - 1)

    @property
    @override
    def exact_odds(self) -> Fraction:
        return self.exact_hit / self.exact_miss

    @property
    @override
    def alphabet(self) -> int:
        return self.domain

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        same = int.from_bytes(report, "little") == self.code(value)
        return self.exact_hit if same else self.exact_miss

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw coin(truth): the value; otherwise below(domain - 1), skipping the value."""
        code = self.code(value)
        if not draws.coin(self.truth):
            other = draws.below(self.domain - 1)
            code = other + (other >= code)
        return code.to_bytes(self.width, "little")

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        codes = self.encode(values)
        reports = keep_or_replace(source.stream(), codes, self.domain, self.truth)
        return little_endian(reports, self.width)

    @property
    def dispersion(self) -> float:
        """The dispersion 0: no report supports two values."""
        return 0.0

    @override
    def pair_rates(self) -> tuple[float, float]:
        return 0.0, 0.0

    @property
    @override
    def tally_is_lossless(self) -> bool:
        return True

    @override
    def support_counts(self, tally: Tally) -> Tally:
        return tally

    @override
    def forward(self, reports: Reports, h: Vector) -> Vector:
        return np.asarray(h, dtype=np.float64)[from_little_endian(reports)]

    @override
    def adjoint(self, reports: Reports, w: Vector) -> Vector:
        codes = from_little_endian(reports)
        return np.bincount(codes, weights=w, minlength=self.domain).astype(np.float64)
