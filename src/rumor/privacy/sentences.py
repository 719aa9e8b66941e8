"""Epsilon in words that need no mathematics."""

from __future__ import annotations

import math

# Beyond this the factor is said as a power: nobody pictures such odds.
_HUGE = 1e6
# A loss after which an even guess is right 99 times in 100 hides next to nothing.
LARGE = math.log(99)


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


def consequence(epsilon: float) -> str:
    """What a loss means: the end of a sentence that begins with "After ..."."""
    if math.isinf(epsilon):
        return "there is no limit to what can be learned about you."
    shown = f"10^{epsilon / math.log(10):,.0f}"
    if epsilon < math.log(_HUGE):
        factor = odds_factor(epsilon)
        shown = f"{factor:.3g}" if factor < 1000 else f"{factor:,.0f}"
    sure = f"{100 * believed(0.5, min(epsilon, 700)):.4g}"
    guess = "a certainty" if sure == "100" else f"right at most {sure}% of the time"
    return (
        f"someone who knows everything else about you can multiply their odds by at most {shown} "
        f"(epsilon {epsilon:,.4g}): an even guess becomes {guess}."
    )


def caution(epsilon: float, what: str = "a report") -> str | None:
    """What is said of a loss that hides next to nothing; None of a smaller one."""
    if epsilon <= LARGE:
        return None
    sure = 100 * believed(0.5, min(epsilon, 700))
    right = "practically always right" if sure > 99.995 else f"right {sure:.4g}% of the time"
    return (
        f"epsilon {epsilon:,.4g} is large: with it {what} shows nearly what the person answered "
        f"(an even guess becomes {right}); most would call that no protection. Below "
        f"{LARGE:.2g} a guess stays below 99%"
    )
