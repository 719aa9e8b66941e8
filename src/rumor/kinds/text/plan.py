"""Planning words: RAPPOR's bits, hashes, cohorts and noise from what is wanted.

The least-squares estimate of a word with frequency f has, from N reports with h hashes into
k bits, to first order the variance

    (r (1 - r) - g^2 f (1 - f)) / (N h g^2 (1 - h/k)) + f (1 - f) / N,   r = p* + g (f + (1-f) h/k),

g = q* - p*: h bits are seen of it, whose level must be learned too, and people are sampled.
At a fixed epsilon each of h hashes gets epsilon / h, so g falls about as 1/h and the variance
grows about as h: one hash is best.

Words share bits. Those that are found are fitted together and do no harm; the others add the
sum of their squared frequencies over (bits cohorts) to the variance, where each is below what
is detectable. Cohorts are as many as keep that below a tenth, and few enough that every bit
of every cohort is 1 often enough to be weighed.

A word is found among D candidates when its test passes the level of the false discovery
rate, about 0.05 times the share of the candidates that is found; a lone word must pass 0.05/D.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumor.core.exact import exp
from rumor.core.randomness import Seeded
from rumor.kinds.planning.forecast import typical_law
from rumor.kinds.planning.planned import (
    LEVEL,
    MAX_USERS,
    BudgetSpec,
    MechanismChoice,
    Option,
    PlannedQuestion,
    Size,
    Squares,
    mean_square,
    permanent_noise,
    told_apart,
)
from rumor.mechanisms import Rappor

HASHES = (1, 2, 4)
_BITS = (32, 256)
_COHORTS = (16, 512)
# Undetected words may add a part of this size to the variance.
_COLLISIONS = 0.1
# Every bit of every cohort should be 1 in about so many reports, or weights are guesses.
_FEWEST_ONES = 25
_KEY = b"rumor plan"
# Words that a plan for an unknown number of people reckons with.
_USUAL_USERS = 100_000


class PlannedText(PlannedQuestion[Rappor]):
    """A word; so many candidates will be looked for."""

    sized = "{domain:,} candidate words"
    simulated = MAX_USERS
    error_of = "the share of a rare word"
    default_of = "method auto over all candidates under Zipf's law, found or not"
    detects = "the smallest detectable share of one word among all candidates"

    def candidates(self, spec: BudgetSpec) -> list[MechanismChoice[Rappor]]:
        """One, two and four hashes at the same epsilon."""
        return [self._candidate(hashes, spec) for hashes in HASHES]

    def _candidate(self, hashes: int, spec: BudgetSpec) -> MechanismChoice[Rappor]:
        asked: dict[str, object]
        if spec.reports > 1:
            noise: dict[str, Any] = dict(
                vars(permanent_noise(spec.epsilon, spec.permanent, hashes))
            )
            asked = dict(noise)
        else:
            part = exp(Fraction(spec.epsilon) / hashes)
            noise = {"f": 0.0, "p": 1 / (1 + part), "q": Fraction(1, 2)}
            asked = {"epsilon": spec.epsilon}
        bits = min(_BITS[1], max(_BITS[0], _power_of_two(self.domain)))
        sketch = Rappor(bits=bits, hashes=hashes, cohorts=1, key=_KEY, **noise)
        cohorts = self._cohorts(sketch)
        made = Rappor(bits=bits, hashes=hashes, cohorts=cohorts, key=_KEY, **noise)
        filter_ = {"bits": bits, "hashes": hashes, "cohorts": cohorts}
        shape = {
            "bits": bits,
            "cohorts": cohorts,
            **{name: float(value) for name, value in noise.items()},
        }
        label = f"rappor, {hashes} hash{'es' if hashes > 1 else ''}"
        return MechanismChoice(label, made, {**filter_, **asked}, shape)

    def _cohorts(self, rappor: Rappor) -> int:
        # The filter is shaped for them; the plan is made anew when they are known.
        users, absent = self.asked.users or _USUAL_USERS, np.zeros(1)
        noise = float(word_variance(rappor, users, absent)[0])
        smallest = told_apart(
            lambda f: math.sqrt(float(word_variance(rappor, users, np.array([f]))[0])),
            LEVEL / self.domain,
        )
        wanted = smallest / (_COLLISIONS * noise * rappor.bits)
        gain = rappor.q_star - rappor.p_star
        ones = users * (rappor.p_star + gain * rappor.hashes / rappor.bits) / _FEWEST_ONES
        low, high = _COHORTS
        most = 1 << int(min(max(ones, low), high)).bit_length() - 1
        return max(low, min(_power_of_two(math.ceil(wanted)), most))

    def error(self, mechanism: Rappor, users: int) -> float:
        """The first-order formula above, at a frequency of 0."""
        return self._deviation(mechanism, users, 0.0)

    def _deviation(self, rappor: Rappor, users: int, frequency: float) -> float:
        own = float(word_variance(rappor, users, np.array([frequency]))[0])
        return math.sqrt(own + self._collisions(rappor, users))

    def _collisions(self, rappor: Rappor, users: int) -> float:
        """What words that are not found add to the variance of the others, on Zipf's law."""
        return _hidden_squares(self.domain, rappor, users) / (rappor.bits * rappor.cohorts)

    def variances(self, rappor: Rappor, users: int) -> NDArray[np.float64]:
        """The variance of the estimate of every word of Zipf's law."""
        law = typical_law(self.domain)
        return word_variance(rappor, users, law) + self._collisions(rappor, users)

    def default(self, mechanism: Rappor, users: int) -> float:
        """Over all candidates, on Zipf's law: what is not found counts as 0."""
        law = typical_law(self.domain)
        variance = self.variances(mechanism, users)
        found = found_chances(law, self.error(mechanism, users), np.sqrt(variance))
        return math.sqrt(float(np.mean((1 - found) * law**2 + found * variance)))

    def detectable(self, mechanism: Rappor, users: int) -> float:
        """By a test at the level 0.05 / D."""
        rappor = mechanism
        collisions = self._collisions(rappor, users)

        def deviation(f: float) -> float:
            return math.sqrt(float(word_variance(rappor, users, np.array([f]))[0]) + collisions)

        return told_apart(deviation, LEVEL / self.domain)

    def choose(
        self, candidates: Sequence[MechanismChoice[Rappor]], users: int, spec: BudgetSpec
    ) -> MechanismChoice[Rappor]:
        """The least error: one hash."""
        return min(candidates, key=lambda c: self.error(c.mechanism, users))

    def question(self) -> Mapping[str, object]:
        """Nothing: the candidates are the analyst's."""
        return {}

    def reason(self, best: Option[Rappor], options: Sequence[Option[Rappor]]) -> str | None:
        """Against the next number of hashes."""
        two = next(o for o in options if o is not best)
        return (
            f"one hash is best at a fixed epsilon: {two.name.split(', ')[1]} would have "
            f"{two.error / best.error - 1:.0%} more error."
        )

    def notes(self, mechanism: Rappor, users: int) -> list[str]:
        """Why one hash."""
        return [
            "One hash is best at a fixed epsilon: each of h hashes gets epsilon / h, which costs "
            "more than h bits give back."
        ]

    def linear(self, mechanism: Rappor, users: int) -> float:
        """Over the words whose finding is all but certain."""
        certain = self._certain(mechanism, users)
        return math.sqrt(float(self.variances(mechanism, users)[certain].mean()))

    def _certain(self, rappor: Rappor, users: int) -> NDArray[np.bool_]:
        deviation = np.sqrt(self.variances(rappor, users))
        law, noise = typical_law(self.domain), self.error(rappor, users)
        certain = np.asarray(found_chances(law, noise, deviation) > 0.999)
        certain[0] = True
        return certain

    def trials(self, mechanism: Rappor, users: int, seed: int) -> Iterator[Squares]:
        """Bit counts of people drawn from Zipf's law, decoded against the dictionary.

        The linear error is that of the words whose finding is all but certain.
        """
        from rumor.kinds.estimating import estimate
        from rumor.kinds.text.fit.candidates import candidate_map
        from rumor.mechanisms.rappor.simulation import simulate_counts

        rappor, law = mechanism, typical_law(self.domain)
        words = [f"word {i}" for i in range(self.domain)]
        known, certain = candidate_map(rappor.bloom, words), self._certain(rappor, users)
        rng = np.random.default_rng(seed)
        for trial in itertools.count():
            held = rng.multinomial(users, law)
            counts = simulate_counts(rappor, words, held, random=Seeded(seed * 1000 + trial))
            found = estimate(rappor, counts, candidates=known)
            linear = (found.unbiased - law)[certain]
            yield mean_square(linear), mean_square(found.frequency - law)


def planned(size: Size) -> PlannedText:
    """A word, looked for among so many."""
    return PlannedText(size)


def word_variance(
    rappor: Rappor, users: int, frequency: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The first-order variance of the least-squares estimate of words with these frequencies."""
    hashes, part = rappor.hashes, rappor.hashes / rappor.bits
    gain = rappor.q_star - rappor.p_star
    rate = rappor.p_star + gain * (frequency + (1 - frequency) * part)
    sampling = frequency * (1 - frequency)
    noise = rate * (1 - rate) - gain**2 * sampling
    return np.asarray(noise / (users * hashes * gain**2 * (1 - part)) + sampling / users)


@functools.lru_cache(maxsize=256)
def _hidden_squares(domain: int, rappor: Rappor, users: int) -> float:
    """The sum of the squared frequencies of the words of Zipf's law that are not found."""
    law = typical_law(domain)
    deviation = np.sqrt(word_variance(rappor, users, law))
    noise = math.sqrt(float(word_variance(rappor, users, np.zeros(1))[0]))
    return float(((1 - found_chances(law, noise, deviation)) * law**2).sum())


def found_chances(
    law: NDArray[np.float64], noise: float, deviation: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How likely each word is found while the false discovery rate is held (by iteration)."""
    level, chances = LEVEL / law.size, np.zeros(law.size)
    for _ in range(100):
        threshold = NormalDist().inv_cdf(1 - level) * noise
        chances = _normal((law - threshold) / deviation)
        before, level = level, LEVEL * min(1.0, max(1.0, float(chances.sum())) / law.size)
        if abs(level - before) < 1e-3 * level:
            break
    return np.asarray(chances)


def _normal(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The normal distribution function, to 0.0003: enough here, and loads nothing."""
    return np.asarray(0.5 + 0.5 * np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _power_of_two(at_least: int) -> int:
    return 1 << max(0, at_least - 1).bit_length()
