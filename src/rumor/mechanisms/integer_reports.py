"""Reports that are one integer: what every mechanism with such reports shares.

Report: an integer below `alphabet`, little-endian, in as few bytes as the largest needs. A
mechanism says how many there are and what each of them means; width, validity and, where every
integer is counted on its own, the tally follow from that.
"""

from __future__ import annotations

import numpy as np

from rumor.core.loops import loops
from rumor.core.reports import Reports, Validity, bytes_for, little_endian, narrow_integers
from rumor.core.types import Tally
from rumor.mechanisms.base import Mechanism


class IntegerReports(Mechanism):
    """A mechanism whose report is an integer below `alphabet`."""

    @property
    def width(self) -> int:
        """As many bytes as the largest integer needs."""
        return bytes_for(self.alphabet)

    def outputs(self, public: bytes = b"") -> Reports:
        """Every integer, ascending."""
        return little_endian(np.arange(self.alphabet), self.width)

    def _validate(self, reports: Reports) -> Validity:
        reason = f"a report is an integer from 0 to {self.alphabet - 1:,}"
        return Validity.below(narrow_integers(reports), self.alphabet, reason)


class CountedIntegers(IntegerReports):
    """One whose summary counts how often each integer was reported."""

    @property
    def tally_size(self) -> int:
        """A counter for each integer."""
        return self.alphabet

    @property
    def counters_per_report(self) -> int:
        """A report is one integer."""
        return 1

    def tally(self, reports: Reports) -> Tally:
        """How often each integer was reported."""
        counts = np.zeros(self.alphabet, dtype=np.int64)
        loops(reports.nbytes).count_codes(narrow_integers(reports), counts)
        return counts
