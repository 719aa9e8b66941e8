"""A bit for each value: the part that all oracles with such reports share.

Model, with hit and miss the chances that a value's bit is set when it is and is not the
person's own, every bit on its own:
    P(bits | x) = product over i of  s_i if bit i is set, 1 - s_i if not,  s_x = hit, others miss
Privacy: two values differ in two bits, so the worst ratio is hit (1 - miss) / (miss (1 - hit)),
reached by a report with one of the two bits set and the other clear.
Report: bit i is bit i % 8 of byte i // 8; padding bits are 0.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from rumor.core.loops import loops
from rumor.core.reports import Reports, Validity, from_little_endian, little_endian
from rumor.core.types import Tally, Vector
from rumor.core.typing import override
from rumor.mechanisms.oracle import FrequencyOracle

# Up to this many bits a summary counts whole reports: they tell more than single bits.
_WHOLE_REPORT_BITS = 12


class BitShape(NamedTuple):
    """Reports that are bits, each 1 with one chance or, where it is the person's own, another."""

    bits: int
    own: int
    """The most bits that may be the person's own."""
    zero: float
    """The chance of 1 for a bit that is not the person's own."""
    one: float
    """The chance of 1 for a bit that is the person's own."""
    head: int = 0
    """The number of bytes in front of the bits."""


class BitPerValue(FrequencyOracle):
    """An oracle whose reports have a bit for each value, independent given the value."""

    MAX_DOMAIN = 100_000

    @property
    def exact_odds(self) -> Fraction:
        """The exact odds p(1 - q) / (q(1 - p)) of moving the person
        from an unset bit to a set one.
        """
        p, q = self.exact_hit, self.exact_miss
        return p * (1 - q) / (q * (1 - p))

    @property
    @override
    def width(self) -> int:
        return (self.domain + 7) // 8

    @property
    @override
    def alphabet(self) -> int:
        return 1 << self.domain

    @override
    def outputs(self, public: bytes = b"") -> Reports:
        return little_endian(np.arange(self.alphabet), self.width)

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        code, bits = self.code(value), int.from_bytes(report, "little")
        own = bits >> code & 1
        others = bits.bit_count() - own
        p, q = self.exact_hit, self.exact_miss
        rest = q**others * (1 - q) ** (self.domain - 1 - others)
        return (p if own else 1 - p) * rest

    def bit_shape(self) -> BitShape:
        """Return the shape of the reports: a bit for each value, one of them the person's own."""
        return BitShape(self.domain, 1, self.miss, self.hit)

    def clear_padding(self, batch: Reports) -> None:
        """Set the unused bits of every report to 0, in place."""
        if self.domain % 8:
            batch[:, -1] &= (1 << self.domain % 8) - 1

    def _validate(self, reports: Reports) -> Validity:
        used = self.domain % 8 or 8
        reason = f"the {8 - used} padding bits of a report are 0"
        if used == 8:
            return Validity.of_all(len(reports), reason)
        return Validity(reports[:, -1] >> used == 0, reason)

    @property
    def _whole(self) -> bool:
        return self.domain <= _WHOLE_REPORT_BITS

    @property
    def tally_size(self) -> int:
        """The number of counters: one for each report if few
        reports differ, else one for each bit.
        """
        return self.alphabet if self._whole else self.domain

    @property
    def counters_per_report(self) -> int | None:
        """The number 1 if whole reports are counted; None if bits are, as any number may be set."""
        return 1 if self._whole else None

    @override
    def tally(self, reports: Reports) -> Tally:
        if self._whole:
            codes = from_little_endian(reports)
            return np.bincount(codes, minlength=self.alphabet).astype(np.int64)
        counts: Tally = loops(reports.nbytes).count_columns(reports)[: self.domain]
        return counts

    @property
    def tally_is_lossless(self) -> bool:
        """Whether whole reports are counted, which they are if few of them differ."""
        return self._whole

    def factors(self, reports: Reports) -> Vector:
        """Return the factor of each report: each 1 is likelier than
        a 0, or less likely, by one ratio.
        """
        ones = np.bitwise_count(reports).sum(axis=1, dtype=np.int64)
        return np.asarray((self.miss / (1 - self.miss)) ** ones)

    @override
    def bitmaps(self, reports: Reports) -> Reports:
        return reports

    @override
    def support_counts(self, tally: Tally) -> Tally:
        if not self._whole:
            return tally
        patterns = np.arange(self.alphabet)
        return np.array([int(tally[patterns >> i & 1 == 1].sum()) for i in range(self.domain)])

    @override
    def forward(self, reports: Reports, h: Vector) -> Vector:
        h = np.ascontiguousarray(h, dtype=np.float64)
        out: Vector = loops(reports.nbytes, floats=True).bits_forward(reports, h)
        return out

    @override
    def adjoint(self, reports: Reports, w: Vector) -> Vector:
        w = np.ascontiguousarray(w, dtype=np.float64)
        out: Vector = loops(reports.nbytes, floats=True).bits_adjoint(reports, w)[: self.domain]
        return out
