"""The order of found words: what the levels before say of them, where they agree with the words.

A word's beginning is held by everybody who holds the word, and by all who hold another one that
begins so. Where the beginnings of all found words are held by no more people than these words
together, as far as noise lets one see, the levels of beginnings count the words as well as later
levels do, and they are averaged, each as sure as it is, less what other found words with the same
beginning account for. Where beginnings hold more, as in any language, a level says nothing that a
ranking could use, and is left out. A ranking alone: shares come from levels that chose nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Vector

# Squared residuals may pass their mean by so many of their standard deviations.
_AGREES = 2.0


@dataclass(frozen=True)
class Looks:
    """What one level of beginnings says of some words: shares of their beginnings, and errors."""

    rows: NDArray[np.intp]
    """Which words."""
    stems: NDArray[np.uint64]
    """The beginning of each."""
    share: Vector
    stderr: Vector


def ranked(share: Vector, stderr: Vector, levels: list[Looks]) -> Vector:
    """The shares of words, averaged with those of their beginnings where these agree with them."""
    weight = 1 / stderr**2
    total = share * weight
    for level in levels:
        _, alike = np.unique(level.stems, return_inverse=True)
        named = np.bincount(alike, share[level.rows])[alike]
        doubt = np.bincount(alike, stderr[level.rows] ** 2)[alike]
        residual = level.share - named
        surprise = float((residual**2 / (level.stderr**2 + doubt)).sum())
        count = level.rows.size
        if surprise > count + _AGREES * np.sqrt(2 * count):
            continue
        variance = level.stderr**2 + doubt - stderr[level.rows] ** 2
        weight[level.rows] += 1 / variance
        total[level.rows] += (share[level.rows] + residual) / variance
    return np.asarray(total / weight)
