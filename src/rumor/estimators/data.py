"""Data of an estimate: reports, a summary of them, or both.

An estimator never reads the reports themselves, only sums over them: a function of a batch and of
a state (the estimate so far, say) whose results add up. In memory there is one batch; an engine
has many, on threads or on other machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from rumor.core.errors import InputError
from rumor.core.reports import Reports, as_reports, from_little_endian, little_endian
from rumor.core.types import Vector
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.summary import Summary

S = TypeVar("S")


@runtime_checkable
class Passes(Protocol):
    """Reports of one mechanism that can be summed over repeatedly."""

    @property
    def count(self) -> int:
        """The number of reports."""
        ...

    def total(self, function: Callable[[Reports, S], Vector], state: S) -> Vector:
        """Return the sum of `function(batch, state)` over all batches, at least one of them.

        The function must be one that can be sent elsewhere: of a module, or an instance of a
        class of a module.
        """
        ...


def total(reports: Reports | Passes, function: Callable[[Reports, S], Vector], state: S) -> Vector:
    """Return the sum of `function` over `reports`, for an array at once, else batch by batch."""
    if isinstance(reports, Passes):
        return reports.total(function, state)
    return function(reports, state)


# Reports of at most this many bytes are counted rather than read one by one.
_COUNTED_BYTES = 2


@dataclass(frozen=True)
class EstimationData:
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
        """Return the distinct reports and how often each occurs
        (None: once); CSS 2020, equation 11.

        A summary that counts outputs has all the information of the reports.
        """
        if self.oracle.tally_is_lossless:
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


def reports_in(mechanism: Mechanism, data: object) -> Reports | Passes | None:
    """Return the reports in `data`, or None if it has only a summary."""
    if isinstance(data, EstimationData):
        return data.reports
    return None if isinstance(data, Summary) else as_reports(data, mechanism.width)


def as_summary(mechanism: Mechanism, data: object, *, may_be_empty: bool = False) -> Summary:
    """Return reports or a summary as a summary of `mechanism`, refused if it is empty."""
    if isinstance(data, EstimationData):
        data = data.summary
    if isinstance(data, Summary):
        if data.mechanism != mechanism:
            raise InputError(
                f"the summary must be of the mechanism given; got one of {data.mechanism!r}"
            )
        # The caller's mechanism knows the labels; a summary read from a file does not.
        summary = Summary(mechanism, data.reports, data.tally, data.contract, data.question)
    else:
        summary = Summary.empty(mechanism).update(data)
    if summary.reports == 0 and not may_be_empty:
        raise InputError("an estimate needs at least one report; got none")
    return summary
