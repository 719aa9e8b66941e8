"""Open words: a noisy hash of a word's prefix, at a level drawn for each person.

A person belongs to a level and a cohort, both public and drawn once, whatever the word is. The
level says how much of the word is looked at: its first bits in a public code, or all of it
(prefix_hashes.py). The cohort hashes that into one of g buckets, and the bucket passes through
randomised response. The collector searches the words that people hold prefix by prefix, level by
level (rumor.kinds.words.fit).

Model, with t the threshold of the truth, w_l the weight of level l, W their sum, K cohorts and
y(x) the bucket of the word x in the report's level and cohort:
    P(l, k, y | x) = w_l / (W K) * t / 2^64                       if y = y(x)
                   = w_l / (W K) * (2^64 - t) / (2^64 (g - 1))    otherwise
Privacy: level and cohort do not depend on the word, and given them there are two probabilities, so
the loss is ln(t (g - 1) / (2^64 - t)) for any code, key and word; t is rounded down, which lowers
it. Words in one bucket are not told apart at all. One report is made over all levels, so nothing
adds up.
Asked again: the whole report is permanent, keyed by the word (permanent.py), so that any number of
reports of one word costs epsilon once, and every further word costs it anew.
Report: ((l K) + k) g + y as a little-endian integer: three bytes up to 2^24.
"""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rumor.core import exact
from rumor.core.canonical import Json
from rumor.core.checks import checked_hex, checked_size
from rumor.core.coins import keep_or_replace
from rumor.core.columns import words_and_codes
from rumor.core.deprecation import old_names
from rumor.core.errors import AnswerError, InputError, format_value, type_in_words
from rumor.core.randomness import Draws, Keyed, RandomSource, System
from rumor.core.reports import Reports, Validity, little_endian, narrow_integers
from rumor.core.types import Codes, Tally, Vector
from rumor.core.typing import override
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.blanket import Blanket, support_blanket
from rumor.mechanisms.edge_values import WORDS
from rumor.mechanisms.open_words.code import PrefixCode
from rumor.mechanisms.open_words.prefix_hashes import PrefixHashes
from rumor.mechanisms.permanent import PermanentAnswers
from rumor.mechanisms.poisoning import PoisoningTarget
from rumor.mechanisms.shapes import CountedIntegers, exact_parameters

MAX_STEP = 16
MAX_LEVELS = 64
MAX_COHORTS = 1 << 12
MAX_BUCKETS = 1 << 16
# Weights are small whole numbers, since a level is one draw below their sum.
MAX_WEIGHT = 1 << 10
MAX_COUNTERS = 1 << 24
# The most counters of a tally if the number of cohorts is chosen by default.
_USUAL_COUNTERS = 1 << 22
# The sentence shown for a word that is too long, or that the code cannot write.
UNNAMED = "the word does not fit this question: it is counted, and will not be named"


@old_names(privatize_stems="privatize_prefixes")
class OpenWords(CountedIntegers, PermanentAnswers):
    """Words without a list: level, cohort and a noisy bucket in two or three bytes."""

    name = "open-words"
    kind = "words"
    # All fakes answer at the one level that decides the share of a word of the greatest length.
    _poisoning_target = PoisoningTarget("a word")

    def __init__(
        self,
        *,
        epsilon: float,
        code: PrefixCode | Sequence[object] | Mapping[str, object],
        step: int,
        weights: Sequence[int],
        key: bytes,
        cohorts: int = 256,
        buckets: int | None = None,
    ) -> None:
        """Make open words: each level adds `step` bits, and is asked as often as `weights` says.

        The last weight is that of whole words. `buckets` is how many a hash has; the number with
        the least noise by default.
        """
        power = exact.exp(exact.checked_epsilon(epsilon))
        count = checked_size("cohorts", cohorts, 1, MAX_COHORTS) * len(weights)
        if buckets is None:
            most = max(2, min(MAX_BUCKETS, _USUAL_COUNTERS // max(count, 1)))
            center = min(int(power) + 1, most)
            buckets = min((center, min(center + 1, most)), key=lambda g: _noise(max(g, 2), power))
        self._shape(code, step, weights, cohorts, buckets, key)
        self._set(exact.floor_threshold(power / (power + self.buckets - 1)))
        if self.exact_odds <= 1:
            raise InputError(
                f"epsilon must be large enough to be kept by 64-bit thresholds "
                f"on {self.buckets:,} buckets; got {epsilon!r}"
            )

    def _shape(
        self,
        code: object,
        step: object,
        weights: object,
        cohorts: object,
        buckets: object,
        key: object,
    ) -> None:
        self.code = code if isinstance(code, PrefixCode) else PrefixCode.of(code)
        self.step = checked_size("step", step, 1, MAX_STEP)
        self.weights = _checked_weights(weights)
        self.cohorts = checked_size("cohorts", cohorts, 1, MAX_COHORTS)
        self.buckets = checked_size("buckets", buckets, 2, MAX_BUCKETS)
        if not isinstance(key, bytes) or not key:
            raise InputError(f"key must be a non-empty bytes object; got {format_value(key)}")
        self.key = key
        if self.tally_size > MAX_COUNTERS:
            raise InputError(
                f"levels times cohorts times buckets must be at most 2^24; got {self.tally_size:,}"
            )
        depth = len(self.weights) - 1
        self.stems = PrefixHashes(self.code, self.step, depth, self.cohorts, self.buckets, key)

    def _set(self, truth: int) -> None:
        self.truth = truth

    def parameters(self) -> dict[str, Json]:
        """Return the code, the shape, the key in hexadecimal, and
        the threshold of the true bucket.
        """
        return {
            "code": self.code.to_json(),
            "step": self.step,
            "weights": list(self.weights),
            "cohorts": self.cohorts,
            "buckets": self.buckets,
            "key": self.key.hex(),
            "truth": str(self.truth),
        }

    @classmethod
    @override
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        names = ("code", "step", "weights", "cohorts", "buckets", "key", "truth")
        code, step, weights, cohorts, buckets, key, truth = exact_parameters(
            cls.name, parameters, *names
        )
        raw = checked_hex("key", key)
        self = cls.__new__(cls)
        self._shape(code, step, weights, cohorts, buckets, raw)
        self._set(exact.checked_threshold("truth", truth))
        if self.exact_odds <= 1:
            raise InputError(
                f"the truth of {cls.name!r} must be likelier than another bucket; got {truth!r}"
            )
        return self

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with two buckets and more, and with
        words that end early, late and never.
        """
        short = [[1, "a"], [2, "b", ""]]
        some = [[2, "", "wo", "rd"], [4, " ", "1", "2", 195]]
        four = {"length": 4, "rows": [[2, "w", "rd"], [3, "o", "r", "d", 195]]}
        return [
            cls(epsilon=0.5, code=short, step=1, weights=(1, 1), cohorts=1, buckets=2, key=b"laws"),
            cls(epsilon=1.0, code=some, step=4, weights=(2, 1, 1), cohorts=2, key=b"laws"),
            cls(epsilon=3.0, code=some, step=3, weights=(1, 3, 2), cohorts=1, key=b"laws"),
            cls(epsilon=1.0, code=some, step=2, weights=(1,) * 9, cohorts=2, buckets=9, key=b"k"),
            cls(epsilon=2.0, code=four, step=5, weights=(2, 2, 1), cohorts=2, key=b"laws"),
        ]

    def inputs(self) -> Sequence[object]:
        """Return some words, among them some that the codes of the examples cannot write."""
        return [f"word {i}" for i in range(18)] + ["", "a", "ab", "word", "\u00e9", "\u691c\u7d22"]

    @override
    def edge_values(self) -> Sequence[object]:
        return WORDS

    # Privacy

    @property
    def exact_hit(self) -> Fraction:
        """The probability of the true bucket."""
        return Fraction(self.truth, exact.WORD)

    @property
    def exact_odds(self) -> Fraction:
        """The exact odds of the true bucket against another."""
        return self.exact_hit * (self.buckets - 1) / (1 - self.exact_hit)

    @functools.cached_property
    def hit(self) -> float:
        """The chance that a report shows the bucket of its person's word."""
        return float(self.exact_hit)

    @property
    def gain(self) -> float:
        """The difference of the chances of a word's bucket for its people and for others."""
        return float(self.exact_hit - Fraction(1, self.buckets))

    @functools.cached_property
    def epsilon(self) -> float:
        """The exact loss between words in two buckets, which some cohort has."""
        return exact.worst_log_ratio([self.exact_odds])

    def blanket(self) -> Blanket:
        """Return the blanket: level and cohort are public, and two
        words have two buckets at most.
        """
        return support_blanket(self.exact_hit, self.exact_odds)

    @property
    def is_memoised(self) -> bool:
        """True: the report of a word is made once."""
        return True

    def epsilon_composed(self, made: Sequence[tuple[Mechanism, int]]) -> float:
        """Return the loss of one report: further reports of one word are its copies."""
        return self.epsilon

    @property
    def epsilon_permanent(self) -> float:
        """The loss of any number of reports of one word, which is that of one."""
        return self.epsilon

    def identity(self, value: object) -> str:
        """Return the word in normal form."""
        return super().identity(_word(value))

    def notes(self, value: object) -> tuple[str, ...]:
        """Return a sentence if the word is counted and cannot be named."""
        fits = self.code.write(_word(value), self.stems.bits).ended
        return () if fits else (UNNAMED,)

    # Reports

    @property
    def levels(self) -> int:
        """The number of levels, with that of whole words as the last."""
        return len(self.weights)

    @functools.cached_property
    def _ends(self) -> list[int]:
        """The sums of the weights up to each level."""
        return list(itertools.accumulate(self.weights))

    @property
    @override
    def alphabet(self) -> int:
        return len(self.weights) * self.cohorts * self.buckets

    def split(self, report: bytes) -> tuple[int, int, int]:
        """Return level, cohort and bucket of each report."""
        rest, bucket = divmod(int.from_bytes(report, "little"), self.buckets)
        return *divmod(rest, self.cohorts), bucket

    def _join(self, level: int, cohort: int, bucket: int) -> bytes:
        place = (level * self.cohorts + cohort) * self.buckets + bucket
        return place.to_bytes(self.width, "little")

    def bucket(self, value: object, level: int, cohort: int) -> int:
        """Return the bucket into which a cohort of a level puts a word."""
        return self.stems.bucket(self.stems.fingerprints(_word(value))[level], level, cohort)

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        level, cohort, bucket = self.split(report)
        there = Fraction(self.weights[level], self._ends[-1] * self.cohorts)
        if bucket == self.bucket(value, level, cohort):
            return there * self.exact_hit
        return there * (1 - self.exact_hit) / (self.buckets - 1)

    def _settled(self, value: object, level: int, cohort: int, draws: Draws) -> bytes:
        """Draw coin(truth): the bucket; otherwise below(buckets - 1), skipping it."""
        bucket = self.bucket(value, level, cohort)
        if not draws.coin(self.truth):
            other = draws.below(self.buckets - 1)
            bucket = other + (other >= bucket)
        return self._join(level, cohort, bucket)

    def _level(self, draws: Draws) -> int:
        """Draw below(sum of the weights), and return the level that it falls into."""
        return bisect.bisect_right(self._ends, draws.below(self._ends[-1]))

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw the level, then below(cohorts), then the bucket, all from one stream."""
        level, cohort = self._level(draws), draws.below(self.cohorts)
        return self._settled(value, level, cohort, draws)

    def draw_permanent(self, value: object, *, person: Keyed, noise: Keyed) -> bytes:
        """Draw level and cohort, which ignore the value, and the permanent bucket."""
        levels = person.extend("level", ",".join(map(str, self.weights)))
        level = self._level(levels.draws())
        cohort = person.extend("cohort", self.cohorts).draws().below(self.cohorts)
        return self._settled(value, level, cohort, noise.draws())

    def report_permanent(self, settled: bytes, *, random: RandomSource | None = None) -> bytes:
        """Return the permanent answer unchanged."""
        return settled

    def transcript_log_ratio(self, transcripts: Reports, first: object, second: object) -> Vector:
        """Return the log-ratio of the first reports: the others are their copies."""
        return self.log_likelihood_ratio(np.ascontiguousarray(transcripts[:, 0]), first, second)

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        words, codes = words_and_codes(values)
        return self.privatize_coded(words, codes, random=source)

    def privatize_coded(
        self, words: Sequence[str], codes: Codes, *, random: RandomSource | None = None
    ) -> Reports:
        """Return reports of people who hold words[codes[i]]: simulated people with known words."""
        return self.privatize_prefixes(self.stems.table(words), codes, random=random)

    def privatize_prefixes(
        self, table: NDArray[np.uint64], codes: Codes, *, random: RandomSource | None = None
    ) -> Reports:
        """Return reports from a `table` of the words' fingerprints,
        made once for many simulations.
        """
        stream = (System() if random is None else random).stream()
        drawn = stream.below(self._ends[-1], codes.size)
        levels = np.searchsorted(np.array(self._ends, dtype=np.uint64), drawn, side="right")
        cohorts = stream.below(self.cohorts, codes.size).astype(np.int64)
        buckets = self.stems.places(table[codes, levels], levels, cohorts)
        noisy = keep_or_replace(stream, buckets, self.buckets, self.truth)
        return little_endian((levels * self.cohorts + cohorts) * self.buckets + noisy, self.width)

    def _validate(self, reports: Reports) -> Validity:
        reason = f"a report is an integer below {self.alphabet:,}: a level, a cohort and a bucket"
        return Validity.below(narrow_integers(reports), self.alphabet, reason)

    # Counts

    def table(self, tally: Tally) -> Tally:
        """Return a tally as levels by cohorts by buckets."""
        return tally.reshape(self.levels, self.cohorts, self.buckets)

    def _fake_gain(self, reports: int, fakes: int) -> float:
        """Return the gain if all fakes speak of whole words, as few of the others do."""
        return self._part(reports, fakes) * (1 - 1 / self.buckets) / self.gain

    def _fake_loss(self, reports: int, fakes: int) -> float:
        """Return the loss if all fakes name another bucket than
        that of a word that everybody holds.
        """
        return self._part(reports, fakes) * (1 + 1 / (self.buckets * self.gain))

    def _part(self, reports: int, fakes: int) -> float:
        """Return the part that fakes have of the reports about whole words."""
        others = (reports - fakes) * self.weights[-1] / self._ends[-1]
        return fakes / (others + fakes) if fakes else 0.0


def _checked_weights(weights: object) -> tuple[int, ...]:
    rule = "weights must be a list of the levels' weights, that of whole words last"
    if not isinstance(weights, Sequence) or isinstance(weights, (str, bytes)):
        raise InputError(f"{rule}; got {format_value(weights)}")
    if not 2 <= len(weights) <= MAX_LEVELS:
        raise InputError(f"{rule}, 2 to {MAX_LEVELS} of them; got {len(weights)}")
    return tuple(checked_size("a weight", weight, 1, MAX_WEIGHT) for weight in weights)


def _noise(buckets: int, power: Fraction) -> float:
    """Return the variance of a word that nobody holds, up to a factor."""
    gain = power / (power + buckets - 1) - Fraction(1, buckets)
    return float(Fraction(buckets - 1, buckets**2) / gain**2)


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise AnswerError("a word must be a text", got=type_in_words(value))
    return value
