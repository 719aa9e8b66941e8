"""What fake clients can do to an estimate: the argument, and the bound as it is told.

A report that could have come from anybody can be made by anybody, so a fake client chooses
the report that pushes furthest. The bound is on the linear estimate, from m fakes among all
n reports, against honest people none of whom holds the value (or who all hold the low end
of the range). No honest behaviour of the others can make it larger. Each family of mechanisms
says for itself what is raised and how far (`Mechanism.raised`, `Mechanism.fake_gain`):

- a frequency: m/n times the largest contribution of a report, (1 - miss) / gain;
- a mean: m/n times the distance from the low end to the furthest estimate of one report;
- a key's frequency: all fakes speak of one key, of which only a share of the others does;
- a word: its bits set and all others clear, in any cohort; each other word left alone,
  least squares then moves by m/n over q* - p*.

Cao, Jia and Gong, "Data Poisoning Attacks to Local Differential Privacy Protocols", 2021.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rumor.mechanisms.base import Mechanism

# What a collector should reckon with: one liar in a hundred.
LIARS = 0.01


@dataclass(frozen=True)
class Raised:
    """What fakes raise: "a value", "the mean", "a key's share" or "a word"."""

    what: str
    share: bool = True
    """Whether it is a share of everybody, and not in a unit of its own."""
    bounded: bool = True
    """Whether the gain is a bound, and not what a plain attack adds."""

    def shown(self, adds: float) -> str:
        """So much of it in words: shares as percentages, others in their own unit."""
        if not self.share:
            return f"{adds:.2g}"
        return "100% (all there is)" if adds >= 1 else f"{100 * adds:.2g}%"


@dataclass(frozen=True)
class FakeClients:
    """How far so many fake clients can raise an estimate."""

    clients: int
    adds: float
    raised: Raised

    def sentence(self) -> str:
        """The bound in words."""
        most = "up to" if self.raised.bounded else "about"
        added = f"could add {most} {self.raised.shown(self.adds)} to {self.raised.what}"
        if self.clients == 1:
            return f"one report of a fake client {added}"
        return f"{self.clients:,} reports of fake clients {added}"

    def to_dict(self) -> dict[str, object]:
        """The bound as plain data."""
        facts = {"clients": self.clients, "adds": self.adds, "to": self.raised.what}
        return {**facts, "sentence": self.sentence()}


def fake_clients(mechanism: Mechanism, reports: int, share: float = LIARS) -> FakeClients:
    """The bound for this share of all reports, at least one."""
    clients = max(1, math.ceil(share * reports))
    return FakeClients(clients, mechanism.fake_gain(reports, clients), mechanism.raised)
