"""How many bits are set in a report: crafted ones may have too few or too many.

An honest report of k bits, at most h of them the person's own, has no fewer ones than k coins
of p* and no more than k - h coins of p* and h of q*, in distribution. So the share of reports
in either tail is bounded whatever people hold, and more reports there than chance allows are
not honest. Liars who set as many bits as honest people do are not seen this way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumor.core.errors import InputError
from rumor.core.reports import Reports, as_reports
from rumor.mechanisms.base import Mechanism
from rumor.privacy.integrity import ALARM, FEWEST, Integrity

# Honest reports lie beyond either end at most this often.
_TAIL = 1e-3
_ONES = np.array([byte.bit_count() for byte in range(256)], dtype=np.int64)


def bit_counts(mechanism: Mechanism, reports: object) -> Integrity:
    """Do more reports have very few or very many bits set than honest ones can?"""
    from statistics import NormalDist

    from scipy.special import bdtrc

    shape = mechanism.bit_shape()
    if shape is None:
        raise InputError(f"bit counts need reports that are bits; got those of {mechanism.name!r}")
    batch = as_reports(reports, mechanism.width)
    mechanism.validate(batch).require()
    if len(batch) < FEWEST:
        raise InputError(f"bit counts need at least {FEWEST:,} reports; got {len(batch):,}")
    bits, own, zero, one, head = shape
    ones = _ones(batch[:, head:])
    low, few = _lower_end(bits, zero)
    high, many = _upper_end(bits, own, zero, one)
    worst, said = 0.0, ""
    for beyond, chance, words in (
        (int((ones <= low).sum()), few, f"at most {low}"),
        (int((ones >= high).sum()), many, f"at least {high}"),
    ):
        rare = max(float(bdtrc(beyond - 1, len(batch), chance)) if beyond else 1.0, 1e-300)
        deviations = -NormalDist().inv_cdf(rare) if rare < 0.5 else 0.0
        if deviations > worst or not said:
            worst = deviations
            said = (
                f"{beyond:,} of {len(batch):,} reports have {words} of {bits:,} bits set, where "
                f"honest people send at most {chance * len(batch):,.1f} on average"
            )
    alarm = worst > ALARM
    verdict = "; crafted reports are likely." if alarm else ", which chance explains."
    return Integrity(True, worst, alarm, said + verdict)


def _ones(bits: Reports) -> NDArray[np.int64]:
    return np.asarray(_ONES[bits].sum(axis=1))


def _lower_end(bits: int, zero: float) -> tuple[int, float]:
    """The largest count that k coins stay at or below this rarely, and how rarely; -1: none."""
    from scipy.special import bdtr

    chances = bdtr(np.arange(bits + 1), bits, zero)
    low = int(np.searchsorted(chances, _TAIL, side="right")) - 1
    return low, float(chances[low]) if low >= 0 else 0.0


def _upper_end(bits: int, own: int, zero: float, one: float) -> tuple[int, float]:
    """The smallest count that is reached this rarely, and how rarely."""
    from scipy.special import bdtr, bdtrc

    counts = np.arange(bits + 2)
    total = np.zeros(counts.size)
    below = 0.0
    for held in range(own + 1):
        upto = float(bdtr(held, own, one))
        rest = counts - held - 1
        reached = np.where(rest < 0, 1.0, bdtrc(np.clip(rest, 0, bits - own), bits - own, zero))
        total += (upto - below) * np.where(rest >= bits - own, 0.0, reached)
        below = upto
    high = int(np.argmax(total <= _TAIL))
    return high, float(total[high])
