"""What a crowd makes of a report's loss: certified (epsilon, delta) of a shuffled batch.

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
# What the lattice may cost of delta: while an epsilon is looked for, and when it is proved.
_ROUGH, _FINE = 0.1, 0.002
# Places that a transform may have: 2^19 doubles, or what a large crowd cannot do without.
_PLACES = 1 << 19
_STEPS_EACH = 6
# Gains beyond this are nothing for doubles; nor does a crowd hide them.
_HUGE = 10**100
# Epsilons that are put to the proof, beginning next to the one that was found.
_PROOFS = 12
# How far below delta, in its logarithm, the one that is taken may lie: 1e-5 of epsilon or so.
_AIM = -5e-4
# How closely it is looked for, how near the ends, what stands for a delta of 0, and in which steps.
_NEAR, _LEAST, _MOST, _NEVER, _WIDER = 1e-3, 1e-9, 1e-3, 1e-300, 1.2


def crowd_delta(blanket: Blanket, people: int, factor: Fraction) -> float:
    """At least the delta of a report among so many in all, at e^epsilon = `factor`."""
    return _delta(blanket, people, factor, _FINE)


def _delta(blanket: Blanket, people: int, factor: Fraction, dearest: float) -> float:
    gains = Gains.at(blanket, factor)
    alone = gains.alone
    if people == 1 or alone < _NEVER or max(map(abs, gains.atoms)) > _HUGE:
        return round_up(alone)
    tilt = Tilt.of(gains)
    # The widest sums must fit: finer steps than this would need more places.
    wide = max(WIDE * math.sqrt(people * tilt.variance), 2 * float(tilt.values.max()))
    finest = wide / max(_PLACES, _STEPS_EACH * WIDE * math.sqrt(people))
    lattice = Lattice.of(gains, chosen_step(gains, tilt, people, finest, dearest))
    with contextlib.suppress(Overflow):  # a lattice too coarse for this law
        return min(round_up(alone), _up(mean_above(lattice, tilt, people)))
    return round_up(alone)


def crowd_epsilon(mechanism: Mechanism, people: int, delta: float) -> float:
    """The certified epsilon of one report among `people` in all, at this delta.

    All of them follow the protocol, with the same mechanism. Never above the loss of the report
    alone, which needs no crowd.
    """
    people, delta = checked_crowd(people), checked_delta(delta)
    return blanket_epsilon(mechanism.blanket(), people, delta, mechanism.epsilon)


def blanket_epsilon(blanket: Blanket, people: int, delta: float, local: float) -> float:
    """The same of a table, `local` being the loss of a report alone."""

    def height(epsilon: float, dearest: float) -> float:
        found = _delta(blanket, people, _factor(epsilon), dearest)
        return math.log(found or _NEVER) - math.log(delta)

    start = min(_guessed(blanket, people, delta), local / 2)
    near = _found(lambda tried: height(tried, _ROUGH), start, local)
    if near >= local:
        return local
    # The logarithm of delta falls with epsilon squared, nearly: that is how steep it is at first.
    steep = 2 * math.log(delta) / near
    proved = _proved(lambda tried: height(tried, _FINE), near, steep, local)
    return log_up(_factor(proved)) if proved < local else local


def _proved(height: Callable[[float], float], start: float, steep: float, local: float) -> float:
    """An epsilon at which a falling curve is at most 0, hardly below; `local` needs no proof."""
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


def _guessed(blanket: Blanket, people: int, delta: float) -> float:
    """Where the sum, were it normal, would have this delta: a place to begin at."""
    atoms = Gains.at(blanket, Fraction(1)).atoms
    gains = ((float(w), float(v if v < _HUGE else _HUGE)) for v, w in atoms.items() if v > 0)
    variance = math.fsum(2 * weight * gain**2 for weight, gain in gains)
    return math.log1p(math.sqrt(2 * variance / people * max(1.0, -math.log(delta * people**0.5))))


def _found(height: Callable[[float], float], start: float, local: float) -> float:
    """Where a falling curve comes down to 0, nearly."""
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
    # Illinois: straight lines, with the height of an end halved that stays again.
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
    """A number with few digits next to e^epsilon."""
    power = exp(epsilon)
    return Fraction(round(power * (1 << 60)), 1 << 60)


def _up(number: Decimal) -> float:
    """The smallest double that is not below a small number."""
    nearest = float(number)
    return nearest if Decimal(nearest) >= number else math.nextafter(nearest, math.inf)


def checked_crowd(people: object) -> int:
    """How many people are in a batch, in all."""
    return checked_size("crowd", people, 1, MAX_CROWD)


def checked_delta(delta: object) -> float:
    """A probability that is small, and above 0."""
    number = isinstance(delta, (int, float)) and not isinstance(delta, bool)
    if not (number and MIN_DELTA <= float(delta) < 1):  # type: ignore[arg-type]
        raise InputError(
            f"delta must be a number from {MIN_DELTA:g} to below 1; got {format_value(delta)}"
        )
    return float(delta)  # type: ignore[arg-type]
