"""Sixteen laws that frequencies may follow, from all equal to one value that holds all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

TRUTHS = (
    "uniform",
    "zipf 0.5",
    "zipf 1",
    "zipf 1.5",
    "zipf 2",
    "geometric 0.8",
    "geometric 0.95",
    "bump",
    "lognormal 2",
    "dirichlet 0.05",
    "tenth",
    "two levels",
    "one 50",
    "one 90",
    "one 99.9",
    "one 100",
)


def truth(name: str, domain: int) -> Vector:
    """The frequencies of a law of this name on so many values.

    "tenth": a tenth of the values share all equally. "two levels": one value in fifty, and all
    these together hold half. "one 90": one value holds 90 per cent, the rest equally.
    """
    kind, _, number = name.partition(" ")
    rank = np.arange(1.0, domain + 1)
    if kind == "uniform":
        law = np.ones(domain)
    elif kind == "zipf":
        law = rank ** -float(number)
    elif kind == "geometric":
        law = float(number) ** rank
    elif kind == "bump":
        law = 1e-12 + np.exp(-0.5 * ((rank - domain / 2) / (domain / 20)) ** 2)
    elif kind == "lognormal":
        from statistics import NormalDist

        law = np.exp([float(number) * NormalDist().inv_cdf((r - 0.5) / domain) for r in rank])
    elif kind == "dirichlet":
        law = np.random.default_rng(5).gamma(float(number), size=domain) + 1e-300
    elif kind == "tenth":
        law = (rank <= max(1, domain // 10)).astype(np.float64)
    elif kind == "two":
        many = max(1, domain // 50)
        law = np.where(rank <= many, 0.5 / many, 0.5 / (domain - many))
    elif kind == "one":
        share = float(number) / 100
        law = np.where(rank == 1, share, (1 - share) / (domain - 1))
    else:
        raise ValueError(name)
    return np.asarray(law / law.sum())
