"""The share that a word needs to be detected, by its length, for plans of open words.

At a level with n people, a word of share f has its bucket reported by a binomial number of them,
with the probability c + gain f, c = 1/g, where a word that nobody has would have c. The z-score of
s supports is to first order the signed root r(s) = sqrt(2 n KL(s/n, c)), so that the word's
z-score is about normal with mean r at the mean of s, and the standard deviation of s times r'
there. The word must pass the threshold of every level before the one where it ends, and there the
threshold and the carved test together, whose p-value must be below the level of Benjamini and
Hochberg's rule for one word detected in a pool of usual size. Levels are independent, so that the
probabilities multiply.

The thresholds depend on the trust in the word's prefix (search.py): where x prefixes are expected
to have so large a z-score by chance, a prefix that has it is trusted to the extent 1 / (1 + x). So
the probabilities are averaged over fixed paths that a word may take, spread evenly over all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rumor.core.checks import checked_size
from rumor.core.errors import InputError
from rumor.core.types import Vector
from rumor.kinds.words.fit.found import CAUTION, LEVEL, carved_p_values
from rumor.kinds.words.fit.prefixes import Grammar
from rumor.kinds.words.fit.search import (
    LEAST_THRESHOLD,
    LEAST_TRUST,
    pool_by_level,
    threshold_for,
    usual_beam,
)
from rumor.mechanisms.open_words.open_words import MAX_LEVELS, OpenWords

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_TRUSTS = 24
# Words that pass by chance have prefixes with more trust than all tested prefixes, since trust lets
# pass: 1.6 to 2.0 times, for 12 to 600 prefixes, found by simulation.
_PASSING = 1.8
# Paths that a word may take, level by level: a lattice by the fractional parts of roots.
_COURSES = 128
_PRIMES = [n for n in range(2, 700) if all(n % d for d in range(2, n))][:MAX_LEVELS]
_EVEN = (np.sqrt(_PRIMES)[:, None] * np.arange(1, _COURSES + 1) + 0.5) % 1
MOST_SHARE = 0.1


@dataclass(frozen=True)
class OpenForecast:
    """The shares at which words of some length are detected with probability 1/2 and 9/10."""

    bits: int
    """The bits of the word in the code, end mark included."""
    half: float
    most: float


class Course:
    """The thresholds that words of one length must pass."""

    def __init__(
        self, mechanism: OpenWords, users: int, bits: int, beam: int | None = None
    ) -> None:
        from scipy.special import ndtr

        beam = usual_beam(mechanism) if beam is None else beam
        self._mechanism = mechanism
        self._people = users * np.array(mechanism.weights) / sum(mechanism.weights)
        self._ends = max(1, math.ceil(bits / mechanism.step))
        self.possible = self._ends < mechanism.levels
        if not self.possible:
            return
        end = self._ends - 1
        later = self._people[end:]
        self._part = float(later[0] / later.sum())
        going, ended = Grammar(mechanism.code).growth(mechanism.step, mechanism.levels - 1)
        allowed = pool_by_level(ended)
        self._others = _others(going, beam)
        self._candidates = (self._others + 1) * going
        words = (self._others + 1) * np.maximum(ended, 1e-9)
        # The z-scores that the last threshold and the test require, by the trust in the prefix.
        self._beam, self._trusts = beam, np.geomspace(LEAST_TRUST, 1.0, _TRUSTS)
        self._lows = threshold_for(allowed[end] / words[end] * self._weight(self._trusts, end))
        alike = ended[end] * ndtr(-self._lows)
        by_chance = np.minimum(allowed, self._others * ended * float(ndtr(-LEAST_THRESHOLD)))
        # The total trust of the pool's words that passed by chance.
        self.trusted = sum(
            number * _PASSING * _usual_trust(others)
            for number, others in zip(by_chance.tolist(), self._others.tolist(), strict=True)
        )
        levels = CAUTION * LEVEL * self._trusts / (self._trusts * (1 + alike) + self.trusted)
        self._leasts = np.array(
            [
                _pooled_deviate(self._part, low, level)
                for low, level in zip(self._lows.tolist(), levels.tolist(), strict=True)
            ]
        )

    def chance(self, share: float) -> float:
        """Return the probability that a word of this `share` is detected."""
        from scipy.special import ndtr, ndtri

        if not self.possible:
            return 0.0
        means, spreads = self._deviates(share)
        chance, trust = np.ones(_COURSES), np.ones(_COURSES)
        for level in range(self._ends - 1):
            weight = self._weight(trust, level)
            threshold = threshold_for(self._beam / self._candidates[level] * weight)
            passes = ndtr((means[level] - threshold) / spreads[level])
            chance *= passes
            deviate = means[level] - spreads[level] * ndtri(
                np.maximum(_EVEN[level] * passes, 1e-300)
            )
            by_chance = self._candidates[level] * ndtr(-deviate) / weight
            trust = np.maximum(LEAST_TRUST, 1 / (1 + by_chance))
        return float(chance @ self._passes_test(means, spreads, trust)) / _COURSES

    def _weight(self, trust: Vector, level: int) -> Vector:
        """Return the weight of a trusted prefix's extensions relative to prefixes that pass
        by chance.
        """
        others = self._others[level]
        return np.asarray(trust * (others + 1) / (trust + others * _usual_trust(others)))

    def _passes_test(self, means: Vector, spreads: Vector, trust: Vector) -> Vector:
        """Return the probability to pass the last level's threshold and the test, by trust."""
        from scipy.special import ndtr

        end = self._ends - 1
        low = np.interp(trust, self._trusts, self._lows)[:, None]
        least = np.interp(trust, self._trusts, self._leasts)[:, None]
        rest = self._people[end + 1 :] / self._people[end + 1 :].sum()
        later = float(np.sqrt(rest) @ means[end + 1 :])
        spread = math.sqrt(float(rest @ spreads[end + 1 :] ** 2))
        # Integration over the z-score of the last level, above its threshold.
        own, wide = float(means[end]), float(spreads[end])
        high = np.maximum(low, own) + 9 * wide
        x = low + (high - low) * (_NODES + 1) / 2
        needed = (least - math.sqrt(self._part) * x) / math.sqrt(1 - self._part)
        density = np.exp(-(((x - own) / wide) ** 2) / 2) / (math.sqrt(2 * math.pi) * wide)
        passes = density * ndtr((later - needed) / spread)
        return np.asarray((passes * _WEIGHTS).sum(axis=1) * (high - low)[:, 0] / 2)

    def _deviates(self, share: float) -> tuple[Vector, Vector]:
        """Return mean and standard deviation of a word's z-score at each level."""
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
    """Return the share at which a word of `bits` bits is detected with probability `chance`.

    The share is infinite where no share suffices.
    """
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
    """Return the detectable shares of words of `bits` bits."""
    course = Course(mechanism, checked_size("users", users, 1, 1 << 62), bits)
    return OpenForecast(bits, _needed(course, 0.5), _needed(course, 0.9))


def fakes_to_invent(mechanism: OpenWords, users: int, bits: int, chance: float = 0.5) -> float:
    """Return the share of fakes among all reports that gets a word of theirs detected.

    The word is detected with probability `chance`. Fakes spread over levels and cohorts as honest
    people do and always send their word's bucket: each counts for (1 - 1/g) / gain honest people
    with the word.
    """
    share = needed_share(mechanism, users, bits, chance)
    return share * mechanism.gain / (1 - 1 / mechanism.buckets)


def require_enough(mechanism: OpenWords, users: int, bits: int) -> None:
    """Refuse a plan under which only words with a share above a tenth would be detected."""
    half = needed_share(mechanism, users, bits, 0.5)
    if half > MOST_SHARE:
        who = f"those that more than {half:.0%} of people hold" if half <= 1 else "none"
        raise InputError(
            f"open words need more people or a larger epsilon: of words of {bits} bits {who} "
            f"would be found; got {users:,} people at epsilon {mechanism.epsilon:.3g}"
        )


def _others(going: Vector, beam: int) -> Vector:
    """Return the number of chance prefixes that the candidates of each level extend."""
    from scipy.special import ndtr

    found = [0.0]
    for extensions in going[:-1].tolist():
        found.append(min((found[-1] + 1) * extensions * float(ndtr(-LEAST_THRESHOLD)), beam))
    return np.array(found)


def _usual_trust(others: float) -> float:
    """Return the mean trust of prefixes that pass by chance, `others` of them on average.

    The largest part of the rate that is not explained by chance is itself random: for 20 to 600
    equally likely prefixes, .05 + .8 / sqrt(n) to .05 + .6 / sqrt(n) were found by simulation.
    """
    return LEAST_TRUST + 0.7 / math.sqrt(max(1.0, others))


def _pooled_deviate(part: float, threshold: float, p_value: float) -> float:
    """Return the pooled z-score whose carved p-value is `p_value`."""
    low, high = 0.0, 40.0
    for _ in range(40):
        middle = (low + high) / 2
        p = carved_p_values(np.array([middle]), np.array([part]), np.array([threshold]))[0]
        low, high = (middle, high) if p > p_value else (low, middle)
    return high
