"""What an estimator is given: a summary of the reports and, where they are at hand, the reports."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rumor.core.errors import InputError
from rumor.core.reports import Reports, from_little_endian, little_endian
from rumor.core.types import Vector
from rumor.estimators.passes import Passes, total
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.summary import Summary

# Reports of so few bytes are counted rather than gone through one by one.
_COUNTED_BYTES = 2


@dataclass(frozen=True)
class Material:
    """Reports of one oracle, summarised; `reports` is None when only the summary is there.

    They are an array, or passes over reports that an engine keeps.
    """

    summary: Summary
    reports: Reports | Passes | None = field(repr=False)

    @property
    def oracle(self) -> FrequencyOracle:
        """The oracle that made the reports."""
        oracle = self.summary.mechanism.oracle
        assert oracle is not None  # only choices are estimated from their reports
        return oracle

    @property
    def unbiased(self) -> Vector:
        """The linear estimate."""
        return self.oracle.unbiased(self.summary.tally, self.summary.reports)

    def distinct(self, method: str) -> tuple[Reports | Passes, Vector | None]:
        """Reports, and how often each occurs (None: once each); CSS 2020, equation 11.

        A summary that counts outputs says all that the reports do.
        """
        if self.oracle.counts_outputs:
            seen = np.flatnonzero(self.summary.tally)
            return self.oracle.outputs()[seen], self.summary.tally[seen].astype(np.float64)
        if self.reports is None:
            raise InputError(
                f'method "{method}" needs the reports, since summaries of '
                f"{self.oracle.name!r} count values and not whole reports; got a summary"
            )
        width = self.oracle.width
        if width <= _COUNTED_BYTES and self.summary.reports > 1 << 8 * width:
            counts = total(self.reports, _code_counts, 1 << 8 * width)
            seen = np.flatnonzero(counts)
            return little_endian(seen, width), counts[seen]
        return self.reports, None


def _code_counts(reports: Reports, codes: int) -> Vector:
    return np.bincount(from_little_endian(reports), minlength=codes).astype(np.float64)
