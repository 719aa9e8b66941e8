"""What an estimate is made from: reports, a summary of them, or both."""

from __future__ import annotations

from rumor.core.errors import InputError
from rumor.core.reports import Reports, as_reports
from rumor.estimators.data import Material
from rumor.estimators.passes import Passes
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.summary import Summary


def reports_in(mechanism: Mechanism, data: object) -> Reports | Passes | None:
    """The reports in what was given, where they are there."""
    if isinstance(data, Material):
        return data.reports
    return None if isinstance(data, Summary) else as_reports(data, mechanism.width)


def summarized(mechanism: Mechanism, data: object, *, may_be_empty: bool = False) -> Summary:
    """Reports or a summary as a summary of this mechanism, refused where it is empty."""
    if isinstance(data, Material):
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
