"""The mean of the positive part of a sum, from above: a tilted transform plus all its errors.

With Z = E e^(tV), and the tilted distribution p~ = p e^(tV) / Z whose mean is 0,

    E[S_+] = Z^n sum over s > 0 of P~(S = s) s e^(-ts).

Under it the sums that matter are the likely ones, so doubles carry any delta: without
it a transform ends near 1e-14. P~ is the inverse transform of phi^n. What a transform of N places
adds from sums beyond them is positive, hence harmless; what it leaves out above is bounded by
Chernoff. With u the unit of rounding:
- phi, a transform of masses that sum to 1, is right to 12 log2(N) u in each place (each place is a
  sum along at most log2 N twiddled additions, of less than 6 u each), the masses to 2 u;
- a power by squaring adds sqrt(5) u for each factor, so phi^n is right to
  n (12 log2(N) + 16) u (|phi| + 12 log2(N) u + 16 u)^(n-1);
- the inverse transform is right to 12 log2(N) u of its length, and by Cauchy and Schwarz so is
  what is made of it.
Z^n and the scale are worked out in 50 digits.
"""

from __future__ import annotations

import contextlib
import math
from decimal import Context, Decimal, Overflow, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rumor.privacy.shuffle.lattice import Lattice, Tilt

Spectrum = NDArray[np.complex128]
_UNIT = 2.0**-53
_DIGITS = 50
WIDE = 14  # standard deviations of the tilted sum that are usually transformed
_BELOW = 8  # those of them below 0
_FAINT = 45  # above 0, values with less than e^-45 of the weight are left out
# A factor above the rounding of sums and weights in doubles, and of 50 digits.
_ROUNDED = Decimal(1) + Decimal(10) ** -12


def mean_above(lattice: Lattice, tilt: Tilt, people: int) -> Decimal:
    """Return at least E[(V_1 + ... + V_n)_+] / n."""
    most = people * max(lattice.masses)
    with localcontext(Context(prec=_DIGITS, Emin=-(10**9), Emax=10**9)):
        step, rate = _decimal(lattice.step), Decimal(tilt.rate)
        total, shares = _tilt_masses(lattice, rate * step)
        squares = sum(at * at * float(share) for at, share in shares.items())
        spread = math.sqrt(people * squares)
        steep = float(rate * step) * spread
        above = (math.sqrt(steep**2 + 2 * _FAINT) - steep) * spread
        reach = min(math.ceil(above) + max(lattice.masses), most)
        lowest = min(math.ceil(_BELOW * spread), -people * min(0, *lattice.masses))
        size = _fast_size(reach + lowest + 1)
        inside = _weighted_sum(shares, people, size, reach, float(rate * step))
        scaled = total**people * Decimal(inside) * step * _ROUNDED
        if reach < most:
            scaled += _tail_sum(lattice, rate, squares, people, (reach + 1) * step) * _ROUNDED
        return scaled / people


def _fast_size(places: int) -> int:
    """Return the next size that is quickly transformed."""
    power = max((places - 1).bit_length(), 4)
    return next(c for c in (5 << power - 3, 3 << power - 2, 1 << power) if c >= places)


def _tilt_masses(lattice: Lattice, slope: Decimal) -> tuple[Decimal, dict[int, Decimal]]:
    """Return Z, and the tilted masses."""
    weighed = {at: _decimal(mass) * (slope * at).exp() for at, mass in lattice.masses.items()}
    total = sum(weighed.values(), Decimal(0))
    return total, {at: weight / total for at, weight in weighed.items()}


def _weighted_sum(
    shares: dict[int, Decimal], people: int, size: int, reach: int, slope: float
) -> float:
    """Return at least the sum of P~(s) s e^(-slope s) over s = 1..reach."""
    masses = np.zeros(size)
    for at, share in shares.items():
        masses[at % size] += float(share)
    spectrum = np.fft.rfft(masses)
    unsure = (12 * math.log2(size) + 16) * _UNIT
    # The first and the middle place of a spectrum stand for one frequency, the others for two.
    slack = (np.abs(spectrum) + unsure) ** (people - 1)
    off = people * unsure * float(2 * slack.sum() - slack[0] - slack[-1]) / size
    sums = np.fft.irfft(_power(spectrum, people), size)
    steps = np.arange(1.0, reach + 1.0)
    weights = steps * np.exp(-slope * steps)
    back = 12 * math.log2(size) * _UNIT * float(np.linalg.norm(sums) * np.linalg.norm(weights))
    errors = off * float(weights.sum()) + back
    # numpy sums by pairs, so rounding hardly adds up; 1.01 covers that of the errors.
    return float((sums[1 : reach + 1] * weights).sum()) + 1.01 * errors


def _power(base: Spectrum, exponent: int) -> Spectrum:
    """Raise `base` to `exponent` by squaring, whose errors are known and exceed underflow."""
    result: Spectrum | None = None
    while True:
        if exponent & 1:
            result = base.copy() if result is None else np.multiply(result, base, out=result)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        base = base * base


def _tail_sum(
    lattice: Lattice, rate: Decimal, squares: float, people: int, start: Decimal
) -> Decimal:
    """Return at least E[S; S >= start], by s <= start e^(t'(s - start)) for t' >= 1 / start."""
    step = _decimal(lattice.step)
    variance = Decimal(people * squares) * step * step
    found = [Decimal("Infinity")]
    for part in (Decimal(1) / 2, Decimal(1)):
        steeper = max(rate + part * start / variance, 1 / start)
        with contextlib.suppress(Overflow):  # too steep for this distribution: no bound
            total, _ = _tilt_masses(lattice, steeper * step)
            found.append(start * (people * total.ln() - steeper * start).exp())
    return min(found)


def _decimal(number: Fraction) -> Decimal:
    """Return `number` to the digits of the context."""
    return Decimal(number.numerator) / Decimal(number.denominator)
