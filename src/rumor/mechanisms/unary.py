"""Unary encoding: a bit for each value, every bit randomised on its own.

Basic one-time RAPPOR (Erlingsson, Pihur and Korolova 2014) when symmetric; optimized unary
encoding of Wang et al. 2017 when the true bit is a fair coin. The model is that of bits.py,
with thresholds for hit = p and miss = q < p; rounding p down and q up lowers the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, Self

import numpy as np

from rumor.core import exact
from rumor.core.coins import bernoulli_words, fill_bernoulli
from rumor.core.errors import InputError, format_value
from rumor.core.loops import loops
from rumor.core.randomness import Draws, RandomSource
from rumor.core.reports import Reports
from rumor.core.typing import override
from rumor.mechanisms.bits import BitPerValue

Variant = Literal["symmetric", "optimized"]


class UnaryEncoding(BitPerValue):
    """A noisy bit for each value: good at any epsilon, with reports of domain / 8 bytes."""

    name = "unary"
    OPTIONS = ("variant", "p", "q")
    _THRESHOLDS = ("own", "other")
    own: int
    """The threshold of setting the person's own bit."""
    other: int
    """The threshold of setting any other bit."""

    def __init__(
        self,
        *,
        domain: int | Sequence[str] | None = None,
        epsilon: float | None = None,
        variant: Variant | None = None,
        p: float | Fraction | None = None,
        q: float | Fraction | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Make unary encoding from `epsilon` with a `variant` (by
        default "optimized"), or from `p`, `q`.

        `p` is the probability that the person's own bit is reported as 1, `q` that of any
        other bit. With `p` and `q`, an `epsilon` is a ceiling that they must keep.
        """
        super().__init__(domain, labels)
        if p is None and q is None:
            if epsilon is None:
                raise InputError("unary encoding needs epsilon, or both p and q; got neither")
            chosen = "optimized" if variant is None else variant
            self.own, self.other = _thresholds(exact.checked_epsilon(epsilon), chosen)
            self._require_gain(epsilon)
        elif p is None or q is None or variant is not None:
            raise InputError(
                f"unary encoding takes p and q together and without a variant; "
                f"got p={format_value(p)}, q={format_value(q)}, variant={format_value(variant)}"
            )
        else:
            self.own = exact.floor_threshold(exact.checked_probability("p", p))
            self.other = exact.ceil_threshold(exact.checked_probability("q", q))
        self._check_identifiable()
        if epsilon is not None and self.epsilon > exact.checked_epsilon(epsilon):
            raise InputError(
                f"p and q must keep the loss within epsilon {epsilon!r}; "
                f"got a loss of {self.epsilon:.6g}"
            )

    def _check_identifiable(self) -> None:
        if self.other >= self.own:
            raise InputError(f"q must be below p; got p = {self.p:g} and q = {self.q:g}")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances of both variants and explicit
        probabilities, with and without padding bits.
        """
        return [
            cls(domain=2, epsilon=1.0),
            cls(domain=3, epsilon=0.1, variant="symmetric"),
            cls(domain=8, epsilon=4.0, variant="symmetric"),
            cls(domain=9, epsilon=1.0, variant="optimized"),
            cls(domain=5, p=0.75, q=0.5),
        ]

    @property
    def p(self) -> float:
        """The probability that the person's own bit is 1."""
        return self.own / exact.WORD

    @property
    def q(self) -> float:
        """The probability that another bit is 1."""
        return self.other / exact.WORD

    @property
    @override
    def exact_miss(self) -> Fraction:
        return Fraction(self.other, exact.WORD)

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw one coin for each bit, in order: coin(own) for the
        person's bit, coin(other) else.
        """
        code, bits = self.code(value), bytearray(self.width)
        for i in range(self.domain):
            if draws.coin(self.own if i == code else self.other):
                bits[i >> 3] |= 1 << (i & 7)
        return bytes(bits)

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        codes, stream = self.encode(values), source.stream()
        # Eight rows of w bytes are w words: the batch is filled as one run of words.
        words = np.empty((codes.size + 7) // 8 * self.width, dtype=np.uint64)
        fill_bernoulli(stream, words, self.other)
        reports = words.astype("<u8", copy=False).view(np.uint8)
        batch = reports[: codes.size * self.width].reshape(codes.size, self.width)
        hits = bernoulli_words(stream, (codes.size + 63) // 64, self.own)
        loops(batch.nbytes).write_true_bits(batch, codes, hits)
        self.clear_padding(batch)
        return batch


def _thresholds(epsilon: float, variant: str) -> tuple[int, int]:
    """Return the thresholds (own, other), rounded towards privacy."""
    if variant == "symmetric":
        half = exact.exp(Fraction(epsilon) / 2)
        own = exact.floor_threshold(half / (1 + half))
        return own, exact.WORD - own
    if variant == "optimized":
        return exact.WORD // 2, exact.ceil_threshold(1 / (1 + exact.exp(epsilon)))
    raise InputError(f'variant must be "symmetric" or "optimized"; got {format_value(variant)}')
