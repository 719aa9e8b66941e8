"""How frequent a word must be to be found, by its length: what a plan says of open words.

At a level with n people, a word of share f has its bucket reported by a binomial number of them,
with the chance c + gain f, c = 1/g, where a word that nobody has would have c. The deviate of s
supports is to first order the signed root r(s) = sqrt(2 n KL(s/n, c)), so that the word's deviate
is about normal with mean r at the mean of s, and the standard deviation of s times r' there. It
must pass the threshold of every level before the one where it ends, and there the threshold and the
carved test together, whose p-value must be below the level of Benjamini and Hochberg's rule for one
word found in a pool of usual size. Levels are independent, so that the chances multiply.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rumor.core.checks import checked_size
from rumor.core.errors import InputError
from rumor.core.types import Vector
from rumor.estimators.discover.carved import carved_p_values
from rumor.estimators.discover.found import CAUTION, LEVEL
from rumor.estimators.discover.search import threshold_for, usual_beam
from rumor.mechanisms.open_words import OpenWords

# Of the survivors by chance, the part that has ended and is tested.
_POOLED = 0.5
# Beginnings of words that people hold, beside those that pass by chance.
_REAL = 20
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
MOST_SHARE = 0.1


@dataclass(frozen=True)
class OpenForecast:
    """The shares at which words of some length are found, half of the time and mostly."""

    bits: int
    """Of the word in the code, end mark included."""
    half: float
    most: float


class Course:
    """What words of one length have to pass."""

    def __init__(
        self, mechanism: OpenWords, users: int, bits: int, beam: int | None = None
    ) -> None:
        beam = usual_beam(mechanism) if beam is None else beam
        self._mechanism = mechanism
        self._people = users * np.array(mechanism.weights) / sum(mechanism.weights)
        self._ends = max(1, math.ceil(bits / mechanism.step))
        self.possible = self._ends < mechanism.levels
        if not self.possible:
            return
        first, others = 1 << mechanism.step, (beam + _REAL) << mechanism.step
        sizes = [first, *[others] * (self._ends - 1)]
        self._thresholds = np.array([threshold_for(size, beam) for size in sizes])
        later = self._people[self._ends - 1 :]
        self._part = float(later[0] / later.sum())
        self._least = _pooled_deviate(
            self._part, float(self._thresholds[-1]), CAUTION * LEVEL / (_POOLED * beam + 1)
        )

    def chance(self, share: float) -> float:
        """The chance that a word of this share is found."""
        from scipy.special import ndtr

        if not self.possible:
            return 0.0
        means, spreads = self._deviates(share)
        end = self._ends - 1
        before = ndtr((means[:end] - self._thresholds[:end]) / spreads[:end]).prod()
        rest = self._people[end + 1 :] / self._people[end + 1 :].sum()
        later = float(np.sqrt(rest) @ means[end + 1 :])
        spread = math.sqrt(float(rest @ spreads[end + 1 :] ** 2))
        # Over the deviate of the choosing level, above its threshold.
        own, wide, low = float(means[end]), float(spreads[end]), float(self._thresholds[-1])
        high = max(low, own) + 9 * wide
        x = low + (high - low) * (_NODES + 1) / 2
        needed = (self._least - math.sqrt(self._part) * x) / math.sqrt(1 - self._part)
        density = np.exp(-(((x - own) / wide) ** 2) / 2) / (math.sqrt(2 * math.pi) * wide)
        passes = density * ndtr((later - needed) / spread)
        return float(before * (passes * _WEIGHTS).sum() * (high - low) / 2)

    def _deviates(self, share: float) -> tuple[Vector, Vector]:
        """Mean and standard deviation of a word's deviate at each level."""
        chance = 1 / self._mechanism.buckets
        rate = min(1 - 1e-12, chance + self._mechanism.gain * share)
        apart = rate * math.log(rate / chance)
        apart += (1 - rate) * math.log((1 - rate) / (1 - chance))
        root = math.sqrt(2 * max(apart, 1e-30))
        slope = math.log(rate * (1 - chance) / (chance * (1 - rate))) / root if share > 0 else 1.0
        spread = max(1e-6, slope * math.sqrt(rate * (1 - rate)))
        means = np.sqrt(self._people) * (root if share > 0 else 0.0)
        return means, np.full(means.size, spread if share > 0 else 1.0)


def needed_share(
    mechanism: OpenWords, users: int, bits: int, chance: float, *, beam: int | None = None
) -> float:
    """The share at which a word of so many bits is found with this chance; inf where never."""
    return _needed(Course(mechanism, users, bits, beam), chance)


def _needed(course: Course, chance: float) -> float:
    low, high = 0.0, 1.0
    if course.chance(high) < chance:
        return math.inf
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if course.chance(middle) < chance else (low, middle)
    return high


def forecast(mechanism: OpenWords, users: int, bits: int) -> OpenForecast:
    """What is found of words of this length."""
    course = Course(mechanism, checked_size("users", users, 1, 1 << 62), bits)
    return OpenForecast(bits, _needed(course, 0.5), _needed(course, 0.9))


def fakes_to_invent(mechanism: OpenWords, users: int, bits: int, chance: float = 0.5) -> float:
    """The share of fakes among all reports at which a word of theirs is found with this chance.

    Fakes spread over levels and cohorts as honest people do and always send their word's bucket:
    each counts for (1 - 1/g) / gain honest people who hold it.
    """
    share = needed_share(mechanism, users, bits, chance)
    return share * mechanism.gain / (1 - 1 / mechanism.buckets)


def require_enough(mechanism: OpenWords, users: int, bits: int) -> None:
    """Refuse to ask people for words of which only those above a tenth of all would be found."""
    half = needed_share(mechanism, users, bits, 0.5)
    if half > MOST_SHARE:
        who = f"those that more than {half:.0%} of people hold" if half <= 1 else "none"
        raise InputError(
            f"open words need more people or a larger epsilon: of words of {bits} bits {who} "
            f"would be found; got {users:,} people at epsilon {mechanism.epsilon:.3g}"
        )


def _pooled_deviate(part: float, threshold: float, p_value: float) -> float:
    """The pooled deviate whose carved p-value is this one."""
    low, high = 0.0, 40.0
    for _ in range(40):
        middle = (low + high) / 2
        p = carved_p_values(np.array([middle]), np.array([part]), np.array([threshold]))[0]
        low, high = (middle, high) if p > p_value else (low, middle)
    return high
