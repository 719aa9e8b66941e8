"""The way of reports: what a collection promises about who could tell whose a report is.

A person who answered a series was told this way. A revision may hide more, but what it takes away
would be taken from people who were promised it: devices refuse that, and who wants it starts
another series.
"""

from __future__ import annotations

from dataclasses import dataclass

from rumor.core.errors import InputError


@dataclass(frozen=True)
class Way:
    """Whether tokens are blind, and through whom reports go, at least how many at a time."""

    blind: bool
    """Whether not even who invites people could tell whose a report is."""
    relay: str | None = None
    """The address of the relay, where there is one."""
    crowd: int | None = None
    """How many reports it passes on at least, where there is one."""
    issuer: str | None = None
    """The address of the issuer of blind tokens, where there is one."""
    turn_hours: int | None = None
    """The hours in which a device sends at most one report per question, where there are turns."""

    def check_kept(self, later: Way, series: str) -> None:
        """Refuse a later way of the series that hides less."""
        if self.blind and not later.blind:
            _refuse(series, "tokens are blind, and no longer would be")
        self.check_issuer(later, series)
        if self.relay is None or self.crowd is None:
            return
        if later.relay != self.relay:
            _refuse(series, f"reports go through {self.relay}, and no longer would")
        if later.crowd is None or later.crowd < self.crowd:
            _refuse(series, f"{self.crowd} reports are passed on together, and fewer would be")
        hours = self.turn_hours
        if hours is not None and (later.turn_hours is None or later.turn_hours < hours):
            _refuse(series, f"a question has one report every {hours} hours, and more would be")

    def check_issuer(self, later: Way, series: str) -> None:
        """Refuse a later way of the series that sends people to another issuer."""
        if self.issuer is not None and later.issuer != self.issuer:
            _refuse(series, f"tokens are signed by {self.issuer}, and no longer would be")


def _refuse(series: str, why: str) -> None:
    raise InputError(
        f"a revision must hide at least as well whose a report is, or be another series; of "
        f"{series!r}, {why}"
    )
