"""Epsilon in words that need no mathematics."""

from __future__ import annotations

import math

# Larger factors are shown as powers of ten.
_HUGE = 1e6
# The loss at which an even guess becomes right 99 times in 100.
LARGE = math.log(99)


def odds_factor(epsilon: float) -> float:
    """Return the factor by which a report can change anybody's odds: e to the epsilon."""
    return math.exp(epsilon)


def posterior_bound(prior: float, epsilon: float) -> float:
    """Return the largest probability that a belief `prior` can reach after a report."""
    odds = prior / (1 - prior) * odds_factor(epsilon)
    return odds / (1 + odds)


def in_words(epsilon: float) -> str:
    """Say what this privacy loss means for one person."""
    if math.isinf(epsilon):
        return "A report may prove your answer: there is no limit to what can be learned about you."
    factor = odds_factor(epsilon)
    return (
        f"Someone who sees your report can change their odds about your answer by at most a "
        f"factor of {factor:,.3g} (epsilon {epsilon:.4g}): a guess that was right half of the "
        f"time becomes right at most {100 * posterior_bound(0.5, epsilon):.3g}% of the time."
    )


def consequence(epsilon: float) -> str:
    """Say what a loss means, as the end of a sentence that begins with "After ..."."""
    if math.isinf(epsilon):
        return "there is no limit to what can be learned about you."
    shown = f"10^{epsilon / math.log(10):,.0f}"
    if epsilon < math.log(_HUGE):
        factor = odds_factor(epsilon)
        shown = f"{factor:.3g}" if factor < 1000 else f"{factor:,.0f}"
    sure = f"{100 * posterior_bound(0.5, min(epsilon, 700)):.4g}"
    guess = "a certainty" if sure == "100" else f"right at most {sure}% of the time"
    return (
        f"someone who knows everything else about you can multiply their odds by at most {shown} "
        f"(epsilon {epsilon:,.4g}): an even guess becomes {guess}."
    )


def caution(epsilon: float, what: str = "a report") -> str | None:
    """Return a warning about a loss that hides next to nothing, or None."""
    if epsilon <= LARGE:
        return None
    sure = 100 * posterior_bound(0.5, min(epsilon, 700))
    right = "practically always right" if sure > 99.995 else f"right {sure:.4g}% of the time"
    return (
        f"epsilon {epsilon:,.4g} is large: with it {what} shows nearly what the person answered "
        f"(an even guess becomes {right}); most would call that no protection. Below "
        f"{LARGE:.2g} a guess stays below 99%"
    )
