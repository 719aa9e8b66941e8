"""Basic RAPPOR: a bit of its own for each label, and RAPPOR's two stages of noise on them.

Erlingsson, Pihur and Korolova 2014. No hashing, no cohorts: what is learned is a frequency
for each label, so this is a frequency oracle. One report has the law of unary encoding with
p* and q* (two_stage.py); several reports of one person share the permanent stage.
Report: bit i is bit i % 8 of byte i // 8; padding bits are 0.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rumor.core.canonical import Json
from rumor.core.errors import InputError
from rumor.core.exact import checked_epsilon
from rumor.core.randomness import Draws, Keyed, RandomSource, System
from rumor.core.reports import Reports
from rumor.core.typing import override
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.bits import BitPerValue
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.permanent import PermanentBits
from rumor.mechanisms.rappor.two_stage import TwoStageNoise, noises
from rumor.mechanisms.shapes import exact_parameters


class BasicRappor(BitPerValue, PermanentBits):
    """RAPPOR for a known set of answers: safe to ask again while the answer stays the same."""

    name = "basic-rappor"
    FROM_EPSILON = False
    OPTIONS = REQUIRED = ("f", "p", "q")

    def __init__(
        self,
        *,
        domain: int | Sequence[str] | None = None,
        f: float | Fraction,
        p: float | Fraction,
        q: float | Fraction,
        epsilon: float | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Make basic RAPPOR: `f` is the permanent noise, `p` and `q`
        the chances of 1 for a 0 and a 1.

        An `epsilon` is a ceiling on the loss of one report that they must keep.
        """
        super().__init__(domain, labels)
        self.noise = TwoStageNoise.of(f, p, q)
        if epsilon is not None and self.epsilon > checked_epsilon(epsilon):
            raise InputError(
                f"f, p and q must keep the loss within epsilon {epsilon!r}; "
                f"got a loss of {self.epsilon:.6g}"
            )

    @override
    def parameters(self) -> dict[str, Json]:
        return {"domain": self.domain, **self.noise.parameters()}

    @classmethod
    @override
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        domain, *_ = exact_parameters(cls.name, parameters, "domain", "flip", "low", "high")
        self = cls.__new__(cls)
        FrequencyOracle.__init__(self, domain)
        self.noise = TwoStageNoise.from_parameters(parameters)
        return self

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with both stages, and with each stage alone."""
        return [
            cls(domain=3, f=0.5, p=0.5, q=0.75),
            cls(domain=2, f=0.25, p=0, q=1),
            cls(domain=9, f=0, p=0.4, q=0.6),
        ]

    @property
    def exact_hit(self) -> Fraction:
        """The chance that the person's own bit is reported as 1: q*."""
        return self.noise.exact_q_star

    @property
    def exact_miss(self) -> Fraction:
        """The chance that another bit is reported as 1: p*."""
        return self.noise.exact_p_star

    def epsilon_composed(self, made: Sequence[tuple[Mechanism, int]]) -> float:
        """Return the exact loss of reports of one unchanged value: two bits differ."""
        return self.noise.loss_together(noises(made), 1, 1)

    @functools.cached_property
    def epsilon_permanent(self) -> float:
        """The exact loss of any number of reports of one unchanged value."""
        return self.noise.permanent_loss(2)

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw the permanent bits, then the report, both from one stream."""
        settled = self.noise.draw_permanent(1 << self.code(value), self.domain, draws)
        return self.noise.report(settled, self.domain, draws).to_bytes(self.width, "little")

    @override
    def draw_permanent(self, value: object, *, person: Keyed, noise: Keyed) -> bytes:
        settled = self.noise.draw_permanent(1 << self.code(value), self.domain, noise.draws())
        return settled.to_bytes(self.width, "little")

    def report_permanent(self, settled: bytes, *, random: RandomSource | None = None) -> bytes:
        """Return the permanent bits with fresh noise."""
        bits, fresh = int.from_bytes(settled, "little"), (random or System()).draws()
        return self.noise.report(bits, self.domain, fresh).to_bytes(self.width, "little")

    @override
    def differing_bits(self, heads: Reports, first: object, second: object) -> NDArray[np.int8]:
        favour = np.zeros((1, 8 * self.width), dtype=np.int8)
        favour[0, self.code(first)], favour[0, self.code(second)] = 1, -1
        return np.broadcast_to(favour, (len(heads), favour.shape[1]))

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        codes = self.encode(values)
        # Eight rows of w bytes are w words: the noise runs over whole words.
        words = np.zeros((codes.size + 7) // 8 * self.width, dtype="<u8")
        batch = words.view(np.uint8)[: codes.size * self.width].reshape(codes.size, self.width)
        ones = np.left_shift(np.uint8(1), (codes & 7).astype(np.uint8))
        batch[np.arange(codes.size), codes >> 3] = ones
        self.noise.apply(source.stream(), words)
        self.clear_padding(batch)
        return batch
