"""What fake clients can do to an estimate: the bound for every mechanism.

A report that could have come from anybody can be made by anybody, so a fake client chooses
the report that pushes furthest. The bound is on the linear estimate, from m fakes among all
n reports, against honest people none of whom holds the value (or who all hold the low end
of the range). No honest behaviour of the others can make it larger; what it is for each
family of mechanisms:

- a frequency: m/n times the largest contribution of a report, (1 - miss) / gain;
- a mean: m/n times the distance from the low end to the furthest estimate of one report;
- a key's frequency: all fakes speak of one key, of which only a share of the others does;
- a word: its bits set and all others clear, in any cohort; each other word left alone,
  least squares then moves by m/n over q* - p*.

Cao, Jia and Gong, "Data Poisoning Attacks to Local Differential Privacy Protocols", 2021.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from rumor.core.checks import checked_size
from rumor.core.errors import InputError
from rumor.mechanisms import (
    FrequencyOracle,
    Harmony,
    KeyValueMechanism,
    MeanMechanism,
    Mechanism,
    Piecewise,
    Rappor,
)

# What a collector should reckon with: one liar in a hundred.
LIARS = 0.01


@dataclass(frozen=True)
class FakeClients:
    """How far so many fake clients can raise an estimate."""

    clients: int
    adds: float
    to: str
    """What is raised: "a value", "the mean", "a key's share" or "a word"."""

    def sentence(self) -> str:
        """The bound in words; shares as percentages, means in their own unit."""
        if self.to == "the mean":
            shown = f"{self.adds:.2g}"
        else:
            shown = "100% (all there is)" if self.adds >= 1 else f"{100 * self.adds:.2g}%"
        # Of words it is no bound: fakes that clear the bits of its rivals raise a word further.
        most = "about" if self.to == "a word" else "up to"
        if self.clients == 1:
            return f"one report of a fake client could add {most} {shown} to {self.to}"
        return f"{self.clients:,} reports of fake clients could add {most} {shown} to {self.to}"

    def to_dict(self) -> dict[str, object]:
        """The bound as plain data."""
        facts = {"clients": self.clients, "adds": self.adds, "to": self.to}
        return {**facts, "sentence": self.sentence()}


def fake_clients(mechanism: Mechanism, reports: int, share: float = LIARS) -> FakeClients:
    """The bound for this share of all reports, at least one."""
    clients = max(1, math.ceil(share * reports))
    return FakeClients(clients, fake_gain(mechanism, reports, clients), _raised(mechanism))


def fake_gain(mechanism: Mechanism, reports: int, fakes: int) -> float:
    """The most that so many fakes among all `reports` can add to one estimate."""
    checked_size("reports", reports, 1, 1 << 62)
    checked_size("fakes", fakes, 0, reports)
    part = fakes / reports
    if isinstance(mechanism, FrequencyOracle):
        return part * mechanism.largest_contribution
    if isinstance(mechanism, Rappor):
        return part / float(mechanism.noise.exact_q_star - mechanism.noise.exact_p_star)
    if isinstance(mechanism, MeanMechanism):
        return part * (furthest_estimate(mechanism) - mechanism.grid.low)
    if isinstance(mechanism, KeyValueMechanism):
        rates = mechanism.rates
        about = (reports - fakes) * mechanism.share + fakes
        return fakes / about * (1 - rates.miss) / rates.gain if fakes else 0.0
    raise InputError(f"no bound on fake clients is known for {mechanism!r}")


@functools.lru_cache(maxsize=256)
def furthest_estimate(mechanism: MeanMechanism) -> float:
    """The largest estimate that a single report can give, far above the range."""
    assert isinstance(mechanism, (Harmony, Piecewise)), "their last output is the highest"
    last = (mechanism.alphabet - 1).to_bytes(mechanism.width, "little")
    tally = mechanism.tally(np.frombuffer(last, dtype=np.uint8).reshape(1, -1))
    return mechanism.moments(tally, 1)[0]


def fake_mean_gain(mechanism: KeyValueMechanism, reports: int, fakes: int, share: float) -> float:
    """How far fakes can raise the mean of a key that this share of people hold at the low end.

    They all report the key with a plus, which raises its frequency as well; at most the range.
    """
    rates, grid = mechanism.rates, mechanism.grid
    part = fakes / ((reports - fakes) * mechanism.share + fakes)
    held = (1 - part) * share + part * (1 - rates.miss) / rates.gain
    product = -(1 - part) * share + part / rates.sign_gain
    return min(1.0, (product / held + 1) / 2) * grid.span


def _raised(mechanism: Mechanism) -> str:
    if isinstance(mechanism, MeanMechanism):
        return "the mean"
    if isinstance(mechanism, KeyValueMechanism):
        return "a key's share"
    return "a word" if isinstance(mechanism, Rappor) else "a value"
