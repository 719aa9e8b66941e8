"""Probabilities as integers over 2**64, and privacy losses rounded upwards.

A coin of probability t / 2**64 is the only coin in Rumor, so a mechanism *is* its
thresholds t. They are computed here in decimal arithmetic with far more digits than a
double carries (53 bits would leave the last 11 bits of a threshold to chance) and are
rounded towards privacy by whoever asks: `floor_threshold` for the probability that
tells the truth, `ceil_threshold` for the one that lies.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

from rumor.core.errors import InputError, format_value

WORD = 1 << 64
MAX_EPSILON = 32.0
MIN_EPSILON = 2.0**-60
CONFIDENCE = 0.95
"""The confidence level of every interval, unless another one is asked for."""
PLANNED = 10_000
"""The number of reports at which intervals for any look are shortest, unless one is named."""

# 120 digits: e**32 has 14 before the point and a threshold 20, so every floor and
# ceiling below is decided with some 80 digits to spare.
_DIGITS = 120


def checked_epsilon(epsilon: object) -> float:
    """Return `epsilon` as a float, or raise an InputError that states the rule."""
    rule = f"epsilon must be a number above 0 and at most {MAX_EPSILON:g}"
    if isinstance(epsilon, bool) or not isinstance(epsilon, numbers.Real):
        raise InputError(f"{rule}; got {format_value(epsilon)}")
    try:
        number = float(epsilon)
    except OverflowError:  # an integer that no double holds
        number = math.inf
    if not (0.0 < number <= MAX_EPSILON):
        raise InputError(f"{rule}; got {format_value(epsilon)}")
    if number < MIN_EPSILON:
        raise InputError(
            f"epsilon must be at least 2^-60, the least that 64-bit thresholds can tell from 0; "
            f"got {format_value(epsilon)}"
        )
    return number


def not_kept(epsilon: object) -> InputError:
    """Return the error for an `epsilon` so small that rounded thresholds lose it."""
    return InputError(
        f"epsilon must be large enough to be kept exactly by 64-bit thresholds; got {epsilon!r}"
    )


def checked_probability(name: str, value: object) -> Fraction:
    """Return `value` as an exact rational strictly between 0 and 1, or raise an InputError."""
    rule = f"{name} must be a number above 0 and below 1"
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
        raise InputError(f"{rule}; got {format_value(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{rule}; got {format_value(value)}")
    exact = Fraction(value)
    if not 0 < exact < 1:
        raise InputError(f"{rule}; got {format_value(value)}")
    return exact


def exp(exponent: float | Fraction) -> Fraction:
    """Return e**`exponent` to 120 significant digits, as a rational."""
    power = Fraction(exponent)
    with localcontext(Context(prec=_DIGITS)):
        return Fraction((Decimal(power.numerator) / Decimal(power.denominator)).exp())


def floor_threshold(probability: Fraction) -> int:
    """Return the largest threshold in 1..2**64-1 whose probability is at most `probability`."""
    return min(max(math.floor(probability * WORD), 1), WORD - 1)


def ceil_threshold(probability: Fraction) -> int:
    """Return the smallest threshold in 1..2**64-1 whose probability is at least `probability`."""
    return min(max(math.ceil(probability * WORD), 1), WORD - 1)


def checked_threshold(name: str, text: object) -> int:
    """Return a contract's threshold: `text` is an integer in 1..2**64-1 as a decimal string."""
    rule = f"{name} must be a decimal string of an integer from 1 to 2^64-1"
    if not isinstance(text, str) or not text.isascii() or not text.isdigit():
        raise InputError(f"{rule}; got {format_value(text)}")
    threshold = int(text)
    if not 1 <= threshold < WORD or str(threshold) != text:
        raise InputError(f"{rule}; got {format_value(text)}")
    return threshold


def require_above_even(truth: int, outputs: int, called: str) -> None:
    """Refuse a threshold `truth` that is at most 2**64 / `outputs`, as if drawn uniformly."""
    if truth * outputs <= WORD:
        raise InputError(f"the threshold of the truth must be above 2^64 / {called}; got {truth}")


def log_up(ratio: Fraction) -> float:
    """Return the natural logarithm of `ratio`, as the smallest double that is not below it."""
    if ratio == 1:
        return 0.0
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_FLOOR)):
        low = Decimal(ratio.numerator) / Decimal(ratio.denominator)
    # One unit in the last place of 120 digits covers the roundings of the quotient and
    # of ln, both at most half a unit; doubles are 100 digits coarser.
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_CEILING)):
        exact = low.ln()
        exact += abs(exact) * Decimal(10) ** (4 - _DIGITS) + Decimal(10) ** (4 - _DIGITS)
        nearest = float(exact)
        while Decimal(nearest) < exact:
            nearest = math.nextafter(nearest, math.inf)
    return nearest


def round_up(exact: Fraction) -> float:
    """Return the smallest double that is not below the number `exact`."""
    nearest = float(exact)
    return math.nextafter(nearest, math.inf) if Fraction(nearest) < exact else nearest


def sum_up(losses: Iterable[float]) -> float:
    """Return the smallest double that is not below the sum of `losses`; infinite if one of
    them is.
    """
    parts = list(losses)
    if math.inf in parts:
        return math.inf
    nearest = math.fsum(parts)  # correctly rounded, and so is the sign of what it left out
    return math.nextafter(nearest, math.inf) if math.fsum([*parts, -nearest]) > 0 else nearest


def worst_log_ratio(ratios: list[Fraction]) -> float:
    """Return the privacy loss of a mechanism with these likelihood `ratios`, rounded up."""
    return max(log_up(max(ratio, 1 / ratio)) for ratio in ratios)
