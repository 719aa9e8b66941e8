"""The loss of one report in a shuffled batch: certified (epsilon, delta).

Everything here is an upper bound: tables are exact, and all errors of evaluation are added. A
search only chooses which epsilon is put to the proof.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from decimal import Decimal, Overflow
from fractions import Fraction

from rumor.core.checks import checked_size
from rumor.core.errors import InputError, format_value
from rumor.core.exact import exp, log_up, round_up
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.blanket import Blanket
from rumor.privacy.shuffle.gains import Gains
from rumor.privacy.shuffle.lattice import Lattice, Tilt, chosen_step
from rumor.privacy.shuffle.transform import WIDE, mean_above

MAX_CROWD = 10**9
MIN_DELTA = 1e-100
_ROUGH = 0.1  # part of delta that the lattice may cost while an epsilon is searched
_FINE = 0.002  # part of delta that the lattice may cost when an epsilon is certified
# Most places of a transform: 2^19 doubles, or those that a large batch needs.
_PLACES = 1 << 19
_STEPS_EACH = 6
# Gains beyond this exceed doubles, and no batch hides them.
_HUGE = 10**100
# Most epsilons that are certified in turn, beginning next to the root of the search.
_PROOFS = 12
# Target of the logarithm of the certified delta over the wanted one: about 1e-5 of epsilon.
_AIM = -5e-4
_NEAR = 1e-3  # relative bracket width at which the root search stops
_LEAST = 1e-9  # the search stops below this part of the local epsilon ...
_MOST = 1e-3  # ... and this part below it
_NEVER = 1e-300  # stands for a delta of 0
_WIDER = 1.2  # factor by which the bracket widens


def crowd_delta(blanket: Blanket, people: int, factor: Fraction) -> float:
    """Return an upper bound on the delta of a report among `people`, at e^epsilon = `factor`."""
    return _delta(blanket, people, factor, _FINE)


def _delta(blanket: Blanket, people: int, factor: Fraction, dearest: float) -> float:
    gains = Gains.at(blanket, factor)
    alone = gains.local_delta
    if people == 1 or alone < _NEVER or max(map(abs, gains.atoms)) > _HUGE:
        return round_up(alone)
    tilt = Tilt.of(gains)
    # The widest sums must fit: finer steps would need more places.
    wide = max(WIDE * math.sqrt(people * tilt.variance), 2 * float(tilt.values.max()))
    finest = wide / max(_PLACES, _STEPS_EACH * WIDE * math.sqrt(people))
    lattice = Lattice.of(gains, chosen_step(gains, tilt, people, finest, dearest))
    with contextlib.suppress(Overflow):  # the lattice is too coarse for this distribution
        return min(round_up(alone), _round_up_decimal(mean_above(lattice, tilt, people)))
    return round_up(alone)


def crowd_epsilon(mechanism: Mechanism, people: int, delta: float) -> float:
    """Return the certified epsilon of one report among `people` in all, at this delta.

    All of them follow the protocol, with one mechanism. It is never above the loss of the report
    alone, which needs no batch.
    """
    people, delta = checked_crowd(people), checked_delta(delta)
    return blanket_epsilon(mechanism.blanket(), people, delta, mechanism.epsilon)


def blanket_epsilon(blanket: Blanket, people: int, delta: float, local: float) -> float:
    """Return the certified epsilon of a mechanism with this `blanket`, at most `local`.

    `local` is the loss of a report alone.
    """

    def height(epsilon: float, dearest: float) -> float:
        found = _delta(blanket, people, _factor(epsilon), dearest)
        return math.log(found or _NEVER) - math.log(delta)

    start = min(_normal_guess(blanket, people, delta), local / 2)
    near = _root(lambda tried: height(tried, _ROUGH), start, local)
    if near >= local:
        return local
    # The first slope: the logarithm of delta falls nearly with the square of epsilon.
    steep = 2 * math.log(delta) / near
    proved = _certify(lambda tried: height(tried, _FINE), near, steep, local)
    return log_up(_factor(proved)) if proved < local else local


def _certify(height: Callable[[float], float], start: float, steep: float, local: float) -> float:
    """Return an epsilon at which a falling curve is at most 0, hardly below; `local` needs no
    proof.
    """
    epsilon, low, best, aim = start, 0.0, local, _AIM
    before: tuple[float, float] | None = None
    for _ in range(_PROOFS):
        if not low < epsilon < best:
            epsilon = (low + best) / 2
        found = height(epsilon)
        low, best = (low, epsilon) if found <= 0 else (epsilon, best)
        if 3 * aim <= found <= 0 or best - low <= -aim * _NEAR * best:
            break
        if before is not None:
            slope = (found - before[1]) / (epsilon - before[0])
            steep = min(max(slope, 4 * steep), steep / 4)
        before = epsilon, found
        aim *= 2 if found > 0 else 1
        epsilon += (aim - found) / steep
    return best


def _normal_guess(blanket: Blanket, people: int, delta: float) -> float:
    """Return the epsilon that a normal sum would have at this delta, to start the search at."""
    atoms = Gains.at(blanket, Fraction(1)).atoms
    gains = ((float(w), float(v if v < _HUGE else _HUGE)) for v, w in atoms.items() if v > 0)
    variance = math.fsum(2 * weight * gain**2 for weight, gain in gains)
    return math.log1p(math.sqrt(2 * variance / people * max(1.0, -math.log(delta * people**0.5))))


def _root(height: Callable[[float], float], start: float, local: float) -> float:
    """Return a point close to where a falling curve crosses 0."""
    low = high = start
    above = below = height(start)
    while above <= 0:
        high, below, low = low, above, low / _WIDER
        if low < _LEAST * local:
            return high
        above = height(low)
    while below > 0:
        low, above, high = high, below, min(high * _WIDER, (high + local) / 2)
        if high > (1 - _MOST) * local:
            return local
        below = height(high)
    # The Illinois method: secants, with the height of an end halved when it stays twice.
    rose = None
    for _ in range(60):
        if high - low <= _NEAR * high:
            break
        tried = math.sqrt(low**2 + above / (above - below) * (high**2 - low**2))
        found = height(tried)
        if found > 0:
            low, above, below = tried, found, below / (2 if rose is True else 1)
        else:
            high, below, above = tried, found, above / (2 if rose is False else 1)
        rose = found > 0
    return high


def _factor(epsilon: float) -> Fraction:
    """Return a number with few digits next to e^epsilon."""
    power = exp(epsilon)
    return Fraction(round(power * (1 << 60)), 1 << 60)


def _round_up_decimal(number: Decimal) -> float:
    """Return the smallest double that is not below a small `number`."""
    nearest = float(number)
    return nearest if Decimal(nearest) >= number else math.nextafter(nearest, math.inf)


def checked_crowd(people: object) -> int:
    """Return `people`, the checked number of reports in a batch."""
    return checked_size("crowd", people, 1, MAX_CROWD)


def checked_delta(delta: object) -> float:
    """Return `delta`, a checked probability that is above 0."""
    number = isinstance(delta, (int, float)) and not isinstance(delta, bool)
    if not (number and MIN_DELTA <= float(delta) < 1):  # type: ignore[arg-type]
        raise InputError(
            f"delta must be a number from {MIN_DELTA:g} to below 1; got {format_value(delta)}"
        )
    return float(delta)  # type: ignore[arg-type]
