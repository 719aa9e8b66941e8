"""What stays of reports that are past their question's retention: counts of many together."""

from __future__ import annotations

LEAST_KEPT = 100
"""The fewest reports whose counts stay together once the reports themselves are deleted."""


def retention_in_words(days: int | None) -> str:
    """Say how long reports are kept, and what stays afterwards."""
    if days is None:
        return "as long as the collector likes"
    return (
        f"{days:,} day{'s'[: days > 1]}; then only counts of at least {LEAST_KEPT} reports "
        f"together stay"
    )
