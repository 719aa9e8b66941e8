"""Sender anonymity: what a collection promises about who could tell whose a report is.

Respondents of a series were promised this. A revision may improve on it; devices refuse one that
weakens it, and whoever wants that starts another series.
"""

from __future__ import annotations

from dataclasses import dataclass

from rumor.contract.groups import Groups
from rumor.core.errors import InputError


@dataclass(frozen=True)
class SenderAnonymity:
    """The parts of a contract that keep a report's sender unknown: blind tokens, and the relay."""

    blind: bool
    """Whether even the sender of the invitations cannot tell whose a report is."""
    relay: str | None = None
    """The address of the relay, if there is one."""
    crowd: int | None = None
    """The minimum batch size of the relay, if there is one."""
    issuer: str | None = None
    """The address of the issuer of blind tokens, if there is one."""
    turn_hours: int | None = None
    """The hours of a turn, in which a device sends at most one report per question."""
    groups: Groups | None = None
    """The groups that are sent in the clear, if there are any."""

    def check_not_weaker(self, later: SenderAnonymity, series: str) -> None:
        """Refuse a `later` contract of the series whose sender anonymity is weaker."""
        if self.blind and not later.blind:
            _refuse(series, "uses blind tokens and this revision does not")
        self.check_issuer(later, series)
        if later.groups is not None and not later.groups.is_coarser(self.groups):
            few = "no" if self.groups is None else "fewer"
            _refuse(series, f"tells {few} groups apart in the clear and this revision more")
        if self.relay is None or self.crowd is None:
            return
        if later.relay != self.relay:
            _refuse(series, f"sends reports through {self.relay} and this revision does not")
        if later.crowd is None or later.crowd < self.crowd:
            _refuse(
                series,
                f"releases batches of {self.crowd} reports or more and this revision smaller ones",
            )
        hours = self.turn_hours
        if hours is not None and (later.turn_hours is None or later.turn_hours < hours):
            _refuse(
                series, f"takes one report per question every {hours} hours and this revision more"
            )

    def check_issuer(self, later: SenderAnonymity, series: str) -> None:
        """Refuse a `later` contract of the series that names another issuer."""
        if self.issuer is not None and later.issuer != self.issuer:
            _refuse(series, f"has tokens signed by {self.issuer} and this revision does not")


def _refuse(series: str, why: str) -> None:
    raise InputError(
        f"a revision must not weaken sender anonymity: series {series!r} {why}; start a new series"
    )
