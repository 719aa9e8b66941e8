"""Epsilon in words that need no mathematics."""

from __future__ import annotations

import math


def odds_factor(epsilon: float) -> float:
    """By how much a report can change anybody's odds: e to the epsilon."""
    return math.exp(epsilon)


def believed(prior: float, epsilon: float) -> float:
    """The most that a belief held with this probability can become after seeing a report."""
    odds = prior / (1 - prior) * odds_factor(epsilon)
    return odds / (1 + odds)


def in_words(epsilon: float) -> str:
    """What this privacy loss means for one person."""
    factor = odds_factor(epsilon)
    return (
        f"Someone who sees your report can change their odds about your answer by at most a "
        f"factor of {factor:,.3g} (epsilon {epsilon:.4g}): a guess that was right half of the "
        f"time becomes right at most {100 * believed(0.5, epsilon):.3g}% of the time."
    )
