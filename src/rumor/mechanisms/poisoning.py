"""How far fake clients can move what is shown: the argument, and the bound as it is told.

A report that could have come from anybody can be made by anybody, so a fake client chooses
the report that pushes furthest. The bound is on the linear estimate, from m fakes among all
n reports: upwards against honest people none of whom holds the value (or who all hold the low
end of the range), downwards against people who all do. No honest behaviour of the others can
make it larger. Each family of mechanisms says for itself what is moved and how far
(`Mechanism.poisoning`):

- a frequency: m/n times the largest contribution of a report, (1 - miss) / gain, or times the
  distance from 1 to the smallest, hit / gain;
- a mean: m/n times the distance from one end to the furthest estimate of one report;
- a key's frequency: all fakes speak of one key, of which only a share of the others does;
- a word: its bits set and all others clear, in any cohort; each other word left alone,
  least squares then moves by m/n over q* - p*.

Intervals are made of linear estimates, and move with them: with fakes among the reports, the
truth lies within the interval that is shown or beyond one of its ends by at most the bound,
whatever method gives the share between them. That share itself is fitted to all values together,
and may be moved further than its interval: the projection by at most the sum of both bounds
(it adds one number to all shares that it keeps, which moves no further than the largest of them).
Other methods stay within some standard errors of such a share, with fakes and without: no attack
of benchmarks/fakes_shown.py moved a share by more than the sum and four standard errors.

Cao, Jia and Gong, "Data Poisoning Attacks to Local Differential Privacy Protocols", 2021.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rumor.core.checks import checked_size
from rumor.core.reports import MAX_REPORTS

if TYPE_CHECKING:
    from rumor.mechanisms.base import Mechanism

# What a collector should reckon with: one liar in a hundred.
LIARS = 0.01
# A fitted share moves with the linear ones, and within so many standard errors besides.
FITTED = 4.0


@dataclass(frozen=True)
class Raised:
    """What fakes move: "a value", "the mean", "a key's share" or "a word"."""

    what: str
    share: bool = True
    """Whether it is a share of everybody, and not in a unit of its own."""
    bounded: bool = True
    """Whether gain and loss are bounds, and not what a plain attack comes to."""

    def said(self, adds: float) -> str:
        """So much of it in words: shares as percentages, others in their own unit."""
        if not self.share:
            return f"{adds:.2g}"
        return "100% (all there is)" if adds >= 1 else f"{100 * adds:.2g}%"


@dataclass(frozen=True)
class Poisoning:
    """How far fake clients can move an estimate, as a mechanism knows it."""

    raised: Raised
    """What they move."""
    _gain: Callable[[int, int], float]
    _loss: Callable[[int, int], float]

    def gain(self, reports: int, fakes: int) -> float:
        """The most that so many `fakes` among all `reports` can add to one estimate."""
        return self._gain(*_checked(reports, fakes))

    def loss(self, reports: int, fakes: int) -> float:
        """The most that so many `fakes` among all `reports` can take from one estimate."""
        return self._loss(*_checked(reports, fakes))


def _checked(reports: object, fakes: object) -> tuple[int, int]:
    most = checked_size("reports", reports, 1, MAX_REPORTS)
    return most, checked_size("fakes", fakes, 0, most)


@dataclass(frozen=True)
class FakeClients:
    """How far so many fake clients can raise an estimate and its interval, or lower them."""

    clients: int
    adds: float
    takes: float
    raised: Raised
    shown: float | None = None
    """How far the share that a method shows can be moved either way, where methods fit shares."""

    @classmethod
    def among(cls, mechanism: Mechanism, reports: int, clients: int) -> FakeClients:
        """Return the bound for so many clients among all `reports`."""
        moved = mechanism.poisoning
        gain, loss = (of(reports, clients) for of in (moved.gain, moved.loss))
        return cls(clients, gain, loss, moved.raised)

    @classmethod
    def of_trials(cls, mechanism: Mechanism, reports: int, trials: float) -> FakeClients:
        """Return the bound where no more than `trials` of all `reports` are about a thing."""
        clients, moved = fakes_among(reports), mechanism.poisoning
        part = clients / max(trials, clients)
        gain, loss = (part * of(1, 1) for of in (moved.gain, moved.loss))
        return cls(clients, gain, loss, moved.raised)

    def with_shares(self, stderr: float) -> FakeClients:
        """Return the bound with that on shares fitted to all values, from the largest `stderr`."""
        return replace(self, shown=self.adds + self.takes + FITTED * stderr)

    def sentence(self) -> str:
        """The bound in words."""
        raised = self.raised
        what = f"the interval of {raised.what}" if raised.share else raised.what
        who = "one fake report" if self.clients == 1 else f"{self.clients:,} fake reports"
        by = "by at most" if raised.bounded else "by about"
        moved = (
            f"poisoning bound: {who} can raise {what} {by} {raised.said(self.adds)} or lower it "
            f"{by} {raised.said(self.takes)}"
        )
        if self.shown is not None:
            moved += f", and move the share shown {by} {raised.said(self.shown)}"
        return moved

    def to_dict(self) -> dict[str, object]:
        """The bound as plain data."""
        moved = {"clients": self.clients, "adds": self.adds, "takes": self.takes}
        told = {"shown": self.shown, "to": self.raised.what, "sentence": self.sentence()}
        return {**moved, **told}


def fakes_among(reports: int, share: float = LIARS) -> int:
    """Return how many clients this share of all `reports` is, at least one."""
    return max(1, math.ceil(share * reports))


def fake_clients(mechanism: Mechanism, reports: int, share: float = LIARS) -> FakeClients:
    """The bound for this share of all reports, at least one."""
    return FakeClients.among(mechanism, reports, fakes_among(reports, share))
