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
from rumor.core.deprecation import old_names
from rumor.core.reports import MAX_REPORTS

if TYPE_CHECKING:
    from rumor.mechanisms.base import Mechanism

# The share of fake clients that bounds assume by default: one in a hundred.
FAKE_SHARE = 0.01
# Standard errors that a fitted share can move beyond the bound on linear estimates.
FITTED_STDERRS = 4.0


@dataclass(frozen=True)
class PoisoningTarget:
    """The quantity that fakes move: "a value", "the mean", "a key's share" or "a word"."""

    what: str
    share: bool = True
    """Whether the quantity is a share of everybody, and not in a unit of its own."""
    bounded: bool = True
    """Whether gain and loss are bounds, and not merely the effect of a simple attack."""

    def format_change(self, adds: float) -> str:
        """Return the change `adds` in words: shares as percentages, others in their own unit."""
        if not self.share:
            return f"{adds:.2g}"
        return "100% (all there is)" if adds >= 1 else f"{100 * adds:.2g}%"


@old_names(raised="target")
@dataclass(frozen=True)
class Poisoning:
    """The bound on how far fake clients can move an estimate, as a mechanism states it."""

    target: PoisoningTarget
    """The quantity that fakes move."""
    _gain: Callable[[int, int], float]
    _loss: Callable[[int, int], float]

    def gain(self, reports: int, fakes: int) -> float:
        """Return the most that `fakes` among all `reports` can add to one estimate."""
        return self._gain(*_checked(reports, fakes))

    def loss(self, reports: int, fakes: int) -> float:
        """Return the most that `fakes` among all `reports` can take from one estimate."""
        return self._loss(*_checked(reports, fakes))


def _checked(reports: object, fakes: object) -> tuple[int, int]:
    most = checked_size("reports", reports, 1, MAX_REPORTS)
    return most, checked_size("fakes", fakes, 0, most)


@dataclass(frozen=True)
class PoisoningBound:
    """The most that `clients` fake clients can raise an
    estimate and its interval, or lower them.
    """

    clients: int
    gain: float
    loss: float
    target: PoisoningTarget
    share_shift: float | None = None
    """The most that a method's share can be moved either way, if methods fit shares; else None."""

    @classmethod
    def for_clients(cls, mechanism: Mechanism, reports: int, clients: int) -> PoisoningBound:
        """Return the bound for `clients` fakes among all `reports`."""
        moved = mechanism.poisoning
        gain, loss = (of(reports, clients) for of in (moved.gain, moved.loss))
        return cls(clients, gain, loss, moved.target)

    @classmethod
    def for_trials(cls, mechanism: Mechanism, reports: int, trials: float) -> PoisoningBound:
        """Return the bound if at most `trials` of all `reports` are about a thing."""
        clients, moved = fake_count(reports), mechanism.poisoning
        part = clients / max(trials, clients)
        gain, loss = (part * of(1, 1) for of in (moved.gain, moved.loss))
        return cls(clients, gain, loss, moved.target)

    def with_share_shift(self, stderr: float) -> PoisoningBound:
        """Return the bound extended to shares fitted to all values,
        whose largest error is `stderr`.
        """
        return replace(self, share_shift=self.gain + self.loss + FITTED_STDERRS * stderr)

    def sentence(self) -> str:
        """Return the bound in words."""
        raised = self.target
        what = f"the interval of {raised.what}" if raised.share else raised.what
        who = "one fake report" if self.clients == 1 else f"{self.clients:,} fake reports"
        by = "by at most" if raised.bounded else "by about"
        moved = (
            f"poisoning bound: {who} can raise {what} {by} {raised.format_change(self.gain)} or "
            "lower it "
            f"{by} {raised.format_change(self.loss)}"
        )
        if self.share_shift is not None:
            moved += f", and move the share shown {by} {raised.format_change(self.share_shift)}"
        return moved

    def to_dict(self) -> dict[str, object]:
        """Return the bound as plain data."""
        moved = {"clients": self.clients, "adds": self.gain, "takes": self.loss}
        told = {"shown": self.share_shift, "to": self.target.what, "sentence": self.sentence()}
        return {**moved, **told}


def fake_count(reports: int, share: float = FAKE_SHARE) -> int:
    """Return the number of clients that are `share` of all `reports`, at least one."""
    return max(1, math.ceil(share * reports))


def bound_poisoning(
    mechanism: Mechanism, reports: int, share: float = FAKE_SHARE
) -> PoisoningBound:
    """Return the bound for this share of all reports, at least one."""
    return PoisoningBound.for_clients(mechanism, reports, fake_count(reports, share))
