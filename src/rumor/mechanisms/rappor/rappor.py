"""RAPPOR: words from an open vocabulary, through Bloom filters and two stages of noise.

Erlingsson, Pihur and Korolova, "RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal
Response", 2014. A person belongs to a cohort, drawn once; their word sets up to `hashes`
bits of the cohort's Bloom filter (bloom.py); the bits pass through the permanent and the
instantaneous randomised response (two_stage.py).

Model: P(cohort c, bits s | word) = 1/cohorts * product over bits i of P(s_i | B_i), with
P(1 | 0) = p* and P(1 | 1) = q*.
Privacy: a word sets between 1 and h bits, so two words differ in d10 bits set only by the
first and d01 set only by the second, d10 and d01 at most h, together at most k. The loss is
d10 ln(q*/p*) + d01 ln((1-p*)/(1-q*)); with k >= 2h its largest value is
h ln[q*(1-p*) / (p*(1-q*))]. Collisions and overlaps only make it smaller.
Report: the cohort as a little-endian integer (no bytes when there is one cohort), then the
bits, bit i being bit i % 8 of byte i // 8.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from rumor.core import exact
from rumor.core.canonical import Json
from rumor.core.checks import checked_hex
from rumor.core.columns import words_and_codes
from rumor.core.errors import AnswerError, InputError, format_value, type_in_words
from rumor.core.loops import loops
from rumor.core.randomness import Draws, Keyed, RandomSource, System
from rumor.core.reports import (
    Reports,
    Validity,
    bytes_for,
    from_little_endian,
    little_endian,
    slices,
)
from rumor.core.types import Tally
from rumor.core.typing import override
from rumor.mechanisms.auditing import Audit
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.bits import BitShape
from rumor.mechanisms.blanket import Blanket, bits_blanket
from rumor.mechanisms.edge_values import WORDS
from rumor.mechanisms.permanent import PermanentBits
from rumor.mechanisms.poisoning import PoisoningTarget
from rumor.mechanisms.rappor.bloom import BloomFilter
from rumor.mechanisms.rappor.two_stage import TwoStageNoise, noises
from rumor.mechanisms.shapes import exact_parameters

if TYPE_CHECKING:
    from rumor.mechanisms.rappor.basic import BasicRappor

# Rows made at a time: their bits stay in the second-level cache.
_CHUNK_BYTES = 1 << 17
# Own bits whose table of reports is written out, with a row for each two numbers of them.
_MOST_TABLED = 12
# The paper's filter for strings: our name of each number, the paper's, and the number.
_USUAL_SHAPE: tuple[tuple[Literal["bits", "hashes", "cohorts"], str, int], ...] = (
    ("bits", "k", 128),
    ("hashes", "h", 2),
    ("cohorts", "m", 64),
)


class FilterShape(TypedDict, total=False):
    """The shape of RAPPOR's filter: each number by our name, or by the paper's letter."""

    bits: int
    hashes: int
    cohorts: int
    k: int
    h: int
    m: int


class Rappor(PermanentBits):
    """Words from an open vocabulary; the frequencies of candidate words are decoded later.

    "One-time" RAPPOR has two meanings in the literature. As the paper defines it, the
    instantaneous stage is skipped and the permanent bits are sent: `Rappor.one_time(f=...)`,
    that is p = 0 and q = 1, with epsilon = 2 h ln((1 - f/2) / (f/2)). In simulations it often
    means the opposite, no permanent stage and one instantaneous one: `Rappor(f=0, p=..., q=...)`,
    with epsilon = h ln(q (1-p) / (p (1-q))). They are the same channel when q = 1 - f/2 and
    p = f/2; and neither may be asked twice: the first learns nothing new from a second report,
    the second reveals as much again.
    """

    name = "rappor"
    kind = "text"
    # No bound: fakes that clear the bits of its rivals raise a word further.
    _poisoning_target = PoisoningTarget("a word", bounded=False)

    def __init__(
        self,
        *,
        bits: int | None = None,
        hashes: int | None = None,
        cohorts: int | None = None,
        f: float | Fraction,
        p: float | Fraction,
        q: float | Fraction,
        key: bytes,
        k: int | None = None,
        h: int | None = None,
        m: int | None = None,
    ) -> None:
        """Make RAPPOR with a filter of `bits`, `hashes` and `cohorts`, or `k`, `h` and `m`.

        `f` is the permanent noise, `p` and `q` the chances of reporting a 0 and a 1 as 1.
        """
        bits, hashes = _one_number("bits", bits, "k", k), _one_number("hashes", hashes, "h", h)
        cohorts = _one_number("cohorts", cohorts, "m", m)
        self._set(BloomFilter(bits, hashes, cohorts, key), TwoStageNoise.of(f, p, q))

    def _set(self, bloom: BloomFilter, noise: TwoStageNoise) -> None:
        self.bloom, self.noise = bloom, noise
        self.bits, self.hashes, self.cohorts = bloom.bits, bloom.hashes, bloom.cohorts
        self._head = 0 if self.cohorts == 1 else bytes_for(self.cohorts)

    @classmethod
    def full(
        cls,
        *,
        key: bytes,
        f: float = 0.5,
        p: float = 0.5,
        q: float = 0.75,
        **shape: Unpack[FilterShape],
    ) -> Self:
        """Return RAPPOR with both stages, by default with the paper's parameters for strings.

        The default `shape` is 128 bits, 2 hashes and 64 cohorts.
        """
        return cls(**_with_usual(shape), f=f, p=p, q=q, key=key)

    @classmethod
    def one_time(cls, *, key: bytes, f: float, **shape: Unpack[FilterShape]) -> Self:
        """Return the paper's one-time RAPPOR: the permanent bits are sent, once.

        The default `shape` is 128 bits, 2 hashes and 64 cohorts.
        """
        return cls(**_with_usual(shape), f=f, p=0, q=1, key=key)

    @staticmethod
    def basic(
        *, labels: int | Sequence[str], f: float = 0.5, p: float = 0.5, q: float = 0.75
    ) -> BasicRappor:
        """Return basic RAPPOR for a known, small set of answers:
        each label has a bit of its own.
        """
        from rumor.mechanisms.rappor.basic import BasicRappor

        return BasicRappor(domain=labels, f=f, p=p, q=q)

    @staticmethod
    def basic_one_time(
        *,
        labels: int | Sequence[str],
        f: float | None = None,
        p: float | None = None,
        q: float | None = None,
    ) -> BasicRappor:
        """Return basic RAPPOR whose bits are randomised once, and sent.

        `f` is the noise of the permanent response, as the paper defines it; `p` and `q` are that of
        the instantaneous one, as simulations have it (f = 0).
        """
        from rumor.mechanisms.rappor.basic import BasicRappor

        if f is not None and p is None and q is None:
            return BasicRappor(domain=labels, f=f, p=0, q=1)
        if f in (None, 0) and p is not None and q is not None:
            return BasicRappor(domain=labels, f=0, p=p, q=q)
        raise InputError(
            "basic one-time RAPPOR needs f, or p and q; got "
            f"f {format_value(f)}, p {format_value(p)} and q {format_value(q)}"
        )

    def parameters(self) -> dict[str, Json]:
        """Return the shape of the filter, its key in hexadecimal, and the thresholds."""
        return {
            "bits": self.bits,
            "hashes": self.hashes,
            "cohorts": self.cohorts,
            "key": self.bloom.key.hex(),
            **self.noise.parameters(),
        }

    @classmethod
    @override
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        keys = ("bits", "hashes", "cohorts", "key", "flip", "low", "high")
        bits, hashes, cohorts, key, *_ = exact_parameters(cls.name, parameters, *keys)
        raw = checked_hex("key", key)
        self = cls.__new__(cls)
        bloom = BloomFilter(bits, hashes, cohorts, raw)  # type: ignore[arg-type]
        self._set(bloom, TwoStageNoise.from_parameters(parameters))
        return self

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with both stages, one of them,
        overlapping filters, and several cohorts.
        """
        return [
            cls(bits=4, hashes=1, cohorts=1, f=0.5, p=0.5, q=0.75, key=b"laws"),
            cls(bits=4, hashes=2, cohorts=3, f=0.5, p=0.25, q=0.75, key=b"laws"),
            cls(bits=4, hashes=3, cohorts=2, f=0.25, p=0, q=1, key=b"laws"),
            cls(bits=8, hashes=2, cohorts=1, f=0, p=0.4, q=0.6, key=b"laws"),
            cls(bits=5, hashes=2, cohorts=2, f=0.5, p=0.5, q=0.75, key=b"laws"),
        ]

    def inputs(self) -> Sequence[object]:
        """Return some words, enough that filters differ as much as they can."""
        return [f"word {i}" for i in range(24)]

    @override
    def edge_values(self) -> Sequence[object]:
        return WORDS

    def __repr__(self) -> str:
        f, p, q = self.noise.f, self.noise.p, self.noise.q
        shape = f"k={self.bits}, h={self.hashes}, m={self.cohorts}"
        return f"Rappor(f={f:g}, p={p:g}, q={q:g}, {shape}; epsilon {self.epsilon:.6g})"

    # Privacy

    @functools.cached_property
    def _difference(self) -> tuple[int, int]:
        """The largest difference of two filters: bits only in the first, and only in the second."""
        more = min(self.hashes, self.bits)
        less = min(self.hashes, self.bits - more)
        p, q = self.noise.exact_p_star, self.noise.exact_q_star
        # When the filter is too small for both, the bits go where they tell more.
        return (more, less) if q / p > (1 - p) / (1 - q) else (less, more)

    @property
    def p_star(self) -> float:
        """The chance `p*` that a bit is reported as 1 if the word does not set it."""
        return float(self.noise.exact_p_star)

    @property
    def q_star(self) -> float:
        """The chance `q*` that a bit is reported as 1 if the word sets it."""
        return float(self.noise.exact_q_star)

    @functools.cached_property
    def epsilon(self) -> float:
        """The exact loss of one report, over all pairs of words."""
        return self.noise.loss(*self._difference)

    def blanket(self) -> Blanket:
        """Return the blanket of one report, with at most `hashes` bits of a word's own.

        With many hashes the table would be too long, and the blanket follows from epsilon alone.
        """
        own, noise = min(self.hashes, self.bits), self.noise
        if own > _MOST_TABLED:
            return super().blanket()
        return bits_blanket(noise.exact_p_star, noise.exact_q_star, own)

    def epsilon_composed(self, made: Sequence[tuple[Mechanism, int]]) -> float:
        """Return the exact loss of reports of one unchanged word, its permanent answer kept."""
        first, second = self._difference
        both = [(first, second), (second, first)]
        return max(self.noise.loss_together(noises(made), *pair) for pair in both)

    @functools.cached_property
    def epsilon_permanent(self) -> float:
        """The exact loss of any number of reports of one unchanged word."""
        return self.noise.permanent_loss(sum(self._difference))

    def epsilon_for_values(self, values: int, reports: int | None = None) -> float:
        """Return the loss of a person whose word took `values` values in turn.

        Every value has a permanent answer of its own, and their losses add up; `reports` is
        how many were made of each, any number by default.
        """
        one = self.epsilon_permanent if reports is None else self.epsilon_after(reports)
        return one if np.isinf(one) else exact.round_up(values * Fraction(one))

    def pair_epsilon(self, word: str, other: str, cohort: int, reports: int = 1) -> float:
        """Return the exact loss between two given words in one cohort: overlaps count less."""
        first = int.from_bytes(self.bloom.filter(word, cohort), "little")
        second = int.from_bytes(self.bloom.filter(other, cohort), "little")
        only_first = (first & ~second).bit_count()
        only_second = (second & ~first).bit_count()
        ways = [(only_first, only_second), (only_second, only_first)]
        return max(self.noise.loss_after(reports, *way) for way in ways)

    def expected_loss(self, reports: int = 1) -> float:
        """Return an attacker's mean gain (Kullback-Leibler) for the worst pair of words."""
        first, second = self._difference
        ways = [(first, second), (second, first)]
        return max(self.noise.expected_loss(reports, *way) for way in ways)

    def identity(self, value: object) -> str:
        """Return the word in normal form."""
        return super().identity(_word(value))

    # Reports

    @property
    @override
    def width(self) -> int:
        return self._head + (self.bits + 7) // 8

    @property
    @override
    def alphabet(self) -> int:
        return self.cohorts << self.bits

    @override
    def outputs(self, public: bytes = b"") -> Reports:
        patterns = little_endian(np.arange(1 << self.bits), self.width - self._head)
        heads = little_endian(np.arange(self.cohorts), max(self._head, 1))[:, : self._head]
        return np.hstack(
            [np.repeat(heads, len(patterns), axis=0), np.tile(patterns, (self.cohorts, 1))]
        )

    def _split(self, report: bytes) -> tuple[int, int]:
        """Return cohort and bits of a report, as integers."""
        return (
            int.from_bytes(report[: self._head], "little"),
            int.from_bytes(report[self._head :], "little"),
        )

    def _cohorts(self, reports: Reports) -> NDArray[np.int64]:
        """Return the cohorts of many reports."""
        if not self._head:
            return np.zeros(len(reports), dtype=np.int64)
        return from_little_endian(reports[:, : self._head])

    def cohorts_and_bits(self, reports: Reports) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return the cohort of every report, and its bits as zeros and ones."""
        tails = np.ascontiguousarray(reports[:, self._head :])
        bits = np.unpackbits(tails, axis=1, count=self.bits, bitorder="little")
        return self._cohorts(reports), bits

    def _join(self, cohort: int, bits: int) -> bytes:
        tail = bits.to_bytes(self.width - self._head, "little")
        return cohort.to_bytes(self._head, "little") + tail

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        cohort, bits = self._split(report)
        set_ = int.from_bytes(self.bloom.filter(str(value), cohort), "little")
        p, q = self.noise.exact_p_star, self.noise.exact_q_star
        ones, hits = bits.bit_count(), (bits & set_).bit_count()
        weight = set_.bit_count()
        lies = q**hits * (1 - q) ** (weight - hits)
        rest = p ** (ones - hits) * (1 - p) ** (self.bits - weight - (ones - hits))
        return lies * rest / self.cohorts

    def log_likelihood_ratio(
        self, reports: Reports, first: object, second: object
    ) -> NDArray[np.float64]:
        """Return the sum over the bits that only one of the two words sets."""
        which = self._cohorts(reports)
        p, q = self.p_star, self.q_star
        up, down = math.log(q / p), math.log((1 - q) / (1 - p))
        out = np.zeros(len(reports))
        for cohort in np.unique(which).tolist():
            rows = np.flatnonzero(which == cohort)
            for word, sign in ((first, 1.0), (second, -1.0)):
                for bit in set(self.bloom.positions(_word(word), cohort)):
                    ones = reports[rows, self._head + (bit >> 3)] >> (bit & 7) & 1
                    out[rows] += sign * np.where(ones == 1, up, down)
        return out

    def _fake_gain(self, reports: int, fakes: int) -> float:
        """Return the gain if fakes set the word's bits and clear all others.

        The estimate of each other word is left alone.
        """
        return fakes / reports / float(self.noise.exact_q_star - self.noise.exact_p_star)

    def bit_shape(self) -> BitShape:
        """Return the shape of the reports: the filter behind the
        cohort, up to `hashes` bits of a word.
        """
        own = min(self.hashes, self.bits)
        return BitShape(self.bits, own, self.p_star, self.q_star, self._head)

    @property
    @override
    def audit(self) -> RapporAudit:
        return RapporAudit(self)

    def differing_bits(self, heads: Reports, first: object, second: object) -> NDArray[np.int8]:
        """Return the bits of the report that one of the two words
        alone sets in a person's cohort.
        """
        cohorts = self._cohorts(heads)
        table = np.zeros((self.cohorts, 8 * self.width), dtype=np.int8)
        for cohort in np.unique(cohorts).tolist():
            for sign, word in ((1, first), (-1, second)):
                packed = np.frombuffer(self.bloom.filter(str(word), cohort), dtype=np.uint8)
                lanes = np.unpackbits(packed, bitorder="little").astype(np.int8)
                table[cohort, 8 * self._head :] += np.int8(sign) * lanes
        return np.asarray(table[cohorts])

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw below(cohorts), then the permanent bits, then the report, all from one stream."""
        cohort = draws.below(self.cohorts)
        filter_bits = int.from_bytes(self.bloom.filter(_word(value), cohort), "little")
        settled = self.noise.draw_permanent(filter_bits, self.bits, draws)
        return self._join(cohort, self.noise.report(settled, self.bits, draws))

    def draw_permanent(self, value: object, *, person: Keyed, noise: Keyed) -> bytes:
        """Draw the cohort, which ignores the value, and the permanent bits."""
        cohort = person.extend("cohort", self.cohorts).draws().below(self.cohorts)
        filter_bits = int.from_bytes(self.bloom.filter(_word(value), cohort), "little")
        return self._join(cohort, self.noise.draw_permanent(filter_bits, self.bits, noise.draws()))

    def report_permanent(self, settled: bytes, *, random: RandomSource | None = None) -> bytes:
        """Return the cohort unchanged and the bits with fresh noise."""
        cohort, bits = self._split(settled)
        fresh = (random or System()).draws()
        return self._join(cohort, self.noise.report(bits, self.bits, fresh))

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        words, codes = words_and_codes(values)
        stream, seeds = source.stream(), self.bloom.seeds(words)
        cohorts = stream.below(self.cohorts, codes.size).astype(np.int64)
        out = np.empty((codes.size, self.width), dtype=np.uint8)
        out[:, : self._head] = little_endian(cohorts, max(self._head, 1))[:, : self._head]
        width = self.width - self._head
        rows = max(8, _CHUNK_BYTES // width // 8 * 8)
        for part in slices(codes.size, rows):
            positions = self.bloom.rows(seeds[codes[part]], cohorts[part])
            # Eight rows of w bytes are w words: the noise runs over whole words.
            words_ = np.zeros((len(positions) + 7) // 8 * width, dtype="<u8")
            filters = words_.view(np.uint8)
            for column in positions.T:
                filters[np.arange(len(positions)) * width + (column >> 3)] |= np.left_shift(
                    np.uint8(1), (column & 7).astype(np.uint8)
                )
            self.noise.apply(stream, words_)
            out[part, self._head :] = filters[: len(positions) * width].reshape(-1, width)
        if self.bits % 8:
            out[:, -1] &= (1 << self.bits % 8) - 1
        return out

    def _validate(self, reports: Reports) -> Validity:
        reason = f"a report has a cohort from 0 to {self.cohorts - 1:,} and {self.bits:,} bits"
        valid = np.ones(len(reports), dtype=np.bool_)
        if self._head:
            valid &= from_little_endian(reports[:, : self._head]) < self.cohorts
        if self.bits % 8:
            valid &= reports[:, -1] >> self.bits % 8 == 0
        return Validity(valid, reason)

    # Counts

    @property
    def tally_size(self) -> int:
        """The number of counters: for each cohort one for its reports and one for each bit."""
        return self.cohorts * (self.bits + 1)

    def consistent(self, tally: Tally, reports: int) -> bool:
        """Return whether the cohorts add up to the reports and no
        bit exceeds its cohort's number.
        """
        if not super().consistent(tally, reports):
            return False
        table = tally.reshape(self.cohorts, self.bits + 1)
        return sum(map(int, table[:, 0])) == reports and bool((table[:, 1:] <= table[:, :1]).all())

    @override
    def tally(self, reports: Reports) -> Tally:
        table = np.zeros((self.cohorts, self.bits + 1), dtype=np.int64)
        if not self._head:
            groups = [(0, reports)]
        else:
            cohorts = from_little_endian(reports[:, : self._head])
            order = np.argsort(cohorts, kind="stable")
            bits = np.ascontiguousarray(reports[order, self._head :])
            sizes = np.bincount(cohorts, minlength=self.cohorts)
            ends = np.cumsum(sizes)
            present = np.flatnonzero(sizes).tolist()
            groups = [(c, bits[ends[c] - sizes[c] : ends[c]]) for c in present]
        for cohort, rows in groups:
            table[cohort, 0] = len(rows)
            counted = loops(reports.nbytes).count_columns(np.ascontiguousarray(rows))
            table[cohort, 1:] = counted[: self.bits]
        return table.reshape(-1)

    def cohort_counts(self, tally: Tally) -> tuple[Tally, NDArray[np.int64]]:
        """Return a tally as (reports in each cohort, bit counts of each cohort)."""
        table = tally.reshape(self.cohorts, self.bits + 1)
        return table[:, 0], table[:, 1:]


class RapporAudit(Audit[Rappor]):
    """Words, for an audit."""

    def pairs_to_compare(self) -> Sequence[tuple[object, object]]:
        """Return the two words whose filters have no bit in common in most cohorts."""
        pairs = itertools.combinations([str(value) for value in self.mechanism.inputs()], 2)
        return [max(pairs, key=lambda pair: self._apart(*pair))]

    def _apart(self, word: str, other: str) -> int:
        """Return the number of cohorts in which two words have no bit in common."""
        bloom = self.mechanism.bloom
        filters = (
            (bloom.filter(word, cohort), bloom.filter(other, cohort))
            for cohort in range(min(self.mechanism.cohorts, 64))
        )
        return sum(
            not int.from_bytes(one, "little") & int.from_bytes(two, "little")
            for one, two in filters
        )


def _one_number(name: str, number: int | None, letter: str, same: int | None) -> int:
    """Return the number called `name` by us and `letter` by the paper, given by either or both."""
    if number is not None and same is not None and number != same:
        raise InputError(
            f"{name} and {letter} are one number; got {name} {format_value(number)} and "
            f"{letter} {format_value(same)}"
        )
    found = same if number is None else number
    if found is None:
        raise InputError(f"Rappor needs {name} (or {letter}); got none")
    return found


def _with_usual(shape: FilterShape) -> FilterShape:
    """Return `shape` with the paper's number where it has none."""
    whole = shape.copy()
    for name, letter, number in _USUAL_SHAPE:
        if name not in shape and letter not in shape:
            whole[name] = number
    return whole


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise AnswerError("a word must be a text", got=type_in_words(value))
    return value
