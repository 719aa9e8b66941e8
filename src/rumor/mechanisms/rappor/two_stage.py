"""RAPPOR's two stages of noise on bits, and what any number of reports costs.

Erlingsson, Pihur and Korolova 2014. Stage one, the permanent randomised response (PRR),
turns a bit B into B' = B xor (a coin of probability f/2), once for each person and value.
Stage two, the instantaneous randomised response (IRR), reports 1 with probability q when
B' = 1 and p when B' = 0, afresh each time. Either may be absent: f = 0 has no permanent
stage, p = 0 and q = 1 no instantaneous one.

One report: P(1 | B=0) = p* = (f/2) q + (1 - f/2) p and P(1 | B=1) = q* = (1 - f/2) q + (f/2) p.
Several reports s of one permanent answer, each with its own p and q (a revision may change
them): with a = 1 - f/2 the likelihood ratio of B = 1 to B = 0 is

    R(s) = [a prod q^s (1-q)^(1-s) + (1-a) prod p^s (1-p)^(1-s)]
         / [(1-a) prod q^s (1-q)^(1-s) + a prod p^s (1-p)^(1-s)],

increasing in each s. So two filters that differ in d10 bits set only in the first and d01 set
only in the second can be told apart by at most d10 ln R(1, 1, ...) - d01 ln R(0, 0, ...), which
grows from the loss of one report to (d10 + d01) ln(a / (1-a)), that of any number.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from rumor.core.canonical import Json
from rumor.core.coins import fill_bernoulli
from rumor.core.errors import InputError, format_value
from rumor.core.exact import WORD, log_up
from rumor.core.randomness import Draws, Stream

if TYPE_CHECKING:
    from rumor.mechanisms.base import Mechanism

# Digits of the logarithms below; powers lose about six of them at a million reports.
_DIGITS = 60
_MARGIN = Decimal(10) ** -45


@dataclass(frozen=True)
class TwoStageNoise:
    """The thresholds, over 2**64, of f/2, p and q; 0 and 2**64 stand for an absent stage."""

    flip: int
    low: int
    high: int

    @classmethod
    def of(cls, f: object, p: object, q: object) -> Self:
        """Return the noise of these probabilities, rounded towards
        privacy: f/2 and p up, q down.
        """
        flip = math.ceil(_probability("f", f, "at least 0 and below 1") / 2 * WORD)
        low = math.ceil(_probability("p", p, "at least 0 and below 1") * WORD)
        high = math.floor(_probability("q", q, "above 0 and at most 1") * WORD)
        return cls(flip, low, high)

    def __post_init__(self) -> None:
        f, p, q = 2 * self.flip / WORD, self.low / WORD, self.high / WORD
        if not 0 <= self.flip < WORD // 2:
            raise InputError(f"f must be a number at least 0 and below 1; got {f:g}")
        if not 0 <= self.low < self.high <= WORD:
            raise InputError(f"q must be above p, both from 0 to 1; got p = {p:g} and q = {q:g}")
        if self.flip == 0 and (self.low == 0 or self.high == WORD):
            raise InputError(
                f"without permanent noise (f = 0) a report must be noisy: "
                f"p above 0 and q below 1; got p = {p:g} and q = {q:g}"
            )

    def parameters(self) -> dict[str, Json]:
        """Return the thresholds as a contract writes them."""
        return {"flip": str(self.flip), "low": str(self.low), "high": str(self.high)}

    @classmethod
    def from_parameters(cls, table: Mapping[str, object]) -> Self:
        """Return the noise that a contract's `parameters` describe."""
        return cls(*(_threshold(key, table[key]) for key in ("flip", "low", "high")))

    @property
    def permanent(self) -> bool:
        """Whether the noise has a permanent stage."""
        return self.flip > 0

    @property
    def instantaneous(self) -> bool:
        """Whether the noise has an instantaneous stage."""
        return self.low > 0 or self.high < WORD

    @property
    def f(self) -> float:
        """The share of permanent noise."""
        return 2 * self.flip / WORD

    @property
    def p(self) -> float:
        """The chance p of reporting 1 for a permanent bit 0."""
        return self.low / WORD

    @property
    def q(self) -> float:
        """The chance q of reporting 1 for a permanent bit 1."""
        return self.high / WORD

    @functools.cached_property
    def exact_p_star(self) -> Fraction:
        """The exact chance p* of reporting 1 for a true bit 0."""
        flip, p, q = (Fraction(t, WORD) for t in (self.flip, self.low, self.high))
        return flip * q + (1 - flip) * p

    @functools.cached_property
    def exact_q_star(self) -> Fraction:
        """The exact chance q* of reporting 1 for a true bit 1."""
        flip, p, q = (Fraction(t, WORD) for t in (self.flip, self.low, self.high))
        return (1 - flip) * q + flip * p

    def loss(self, only_first: int, only_second: int) -> float:
        """Return the exact loss of one report between two filters, rounded up.

        The first filter alone sets `only_first` bits, the second alone `only_second` bits.
        """
        p, q = self.exact_p_star, self.exact_q_star
        return log_up((q / p) ** only_first * ((1 - p) / (1 - q)) ** only_second)

    def loss_after(self, reports: int, only_first: int, only_second: int) -> float:
        """Return the exact loss of `reports` reports of one permanent answer, rounded up."""
        return self.loss_together([(self, reports)], only_first, only_second)

    def loss_together(
        self, made: Sequence[tuple[TwoStageNoise, int]], only_first: int, only_second: int
    ) -> float:
        """Return the exact loss of reports with one f but different p and q, rounded up."""
        all_made = sum(reports for _, reports in made)
        if all_made == 1 or not any(noise.instantaneous for noise, _ in made):
            return made[0][0].loss(only_first, only_second)
        with localcontext(Context(prec=_DIGITS, Emin=-(10**17), Emax=10**17)):
            most, least = self._log_ratio(made, ones=True), self._log_ratio(made, ones=False)
            return _up(only_first * most - only_second * least)

    def permanent_loss(self, differing: int) -> float:
        """Return the exact loss of any number of reports of one permanent answer, rounded up."""
        if not self.permanent:
            return math.inf
        flip = Fraction(self.flip, WORD)
        return log_up(((1 - flip) / flip) ** differing)

    def _log_ratio(self, made: Sequence[tuple[TwoStageNoise, int]], *, ones: bool) -> Decimal:
        """Return the logarithm of R, all reports 1 or all 0; within a context of enough digits."""
        word = Decimal(WORD)
        flip, set_, clear = self.flip / word, Decimal(1), Decimal(1)
        for noise, reports in made:
            p, q = noise.low / word, noise.high / word
            set_ *= _power(q if ones else 1 - q, reports)
            clear *= _power(p if ones else 1 - p, reports)
        above = (1 - flip) * set_ + flip * clear
        below = flip * set_ + (1 - flip) * clear
        return (above / below).ln()

    def check_repeats(self, reports_per_person: int) -> None:
        """Refuse repeated reports without permanent noise: each would reveal as much again."""
        if reports_per_person > 1 and not self.permanent:
            raise InputError(
                f"RAPPOR without permanent noise (f = 0) can be asked once; "
                f"got {reports_per_person} reports per person"
            )

    def expected_loss(self, reports: int, only_first: int, only_second: int) -> float:
        """Return the mean log-ratio of `reports` reports (Kullback-Leibler), not the worst case.

        Computed in floating point: it informs, it promises nothing.
        """
        ones = np.arange(reports + 1)
        choose = np.array(
            [
                math.lgamma(reports + 1) - math.lgamma(c + 1) - math.lgamma(reports - c + 1)
                for c in ones
            ]
        )

        def log_power(x: float, y: float) -> NDArray[np.float64]:
            with np.errstate(divide="ignore", invalid="ignore"):
                up = np.where(ones > 0, ones * np.log(x), 0.0)
                return up + np.where(reports - ones > 0, (reports - ones) * np.log(y), 0.0)

        flip = self.flip / WORD
        with np.errstate(divide="ignore"):
            log_keep, log_flip = np.log1p(-flip), np.log(flip)
        set_, clear = log_power(self.q, 1 - self.q), log_power(self.p, 1 - self.p)
        one = np.logaddexp(log_keep + set_, log_flip + clear)
        zero = np.logaddexp(log_flip + set_, log_keep + clear)
        seen = np.isfinite(one) & np.isfinite(zero)
        gap = (one - zero)[seen]
        forward = float((np.exp(choose + one)[seen] * gap).sum())
        backward = float((np.exp(choose + zero)[seen] * -gap).sum())
        return only_first * forward + only_second * backward

    def log_ratios(self, reports: int) -> NDArray[np.float64]:
        """Return the logarithm of R(s), c of n reports 1, for c =
        0..n; doubles, to choose events by.
        """
        ones = np.arange(reports + 1)
        tiny = 1e-300
        set_ = ones * math.log(self.q + tiny) + (reports - ones) * math.log(1 - self.q + tiny)
        clear = ones * math.log(self.p + tiny) + (reports - ones) * math.log(1 - self.p + tiny)
        keep, turn = math.log1p(-self.f / 2), math.log(self.f / 2)
        above = np.logaddexp(keep + set_, turn + clear)
        return np.asarray(above - np.logaddexp(turn + set_, keep + clear))

    def draw_permanent(self, filter_bits: int, size: int, draws: Draws) -> int:
        """Draw the permanent bits of a filter: for each bit in
        order, one coin(flip) that flips it.
        """
        if not self.permanent:
            return filter_bits
        for i in range(size):
            filter_bits ^= draws.coin(self.flip) << i
        return filter_bits

    def report(self, permanent_bits: int, size: int, draws: Draws) -> int:
        """Draw a report of permanent bits: for each in order, coin(high) if set, else coin(low)."""
        if not self.instantaneous:
            return permanent_bits
        reported = 0
        for i in range(size):
            reported |= draws.coin(self.high if permanent_bits >> i & 1 else self.low) << i
        return reported

    def apply(self, stream: Stream, words: NDArray[np.uint64]) -> None:
        """Apply both stages in place to many words of bits at once, each bit on its own."""
        noise = np.empty_like(words)
        if self.permanent:
            fill_bernoulli(stream, noise, self.flip)
            words ^= noise
        if self.instantaneous:
            kept = words.copy()
            _fill(stream, noise, self.high)
            kept &= noise
            _fill(stream, noise, self.low)
            np.invert(words, out=words)
            words &= noise
            words |= kept


def noises(made: Sequence[tuple[Mechanism, int]]) -> list[tuple[TwoStageNoise, int]]:
    """Return the noise of each mechanism, with how many reports it made."""
    return [(one.noise, reports) for one, reports in made]  # type: ignore[attr-defined]


def _fill(stream: Stream, words: NDArray[np.uint64], threshold: int) -> None:
    """Fill `out` with coins whose threshold may also be 0 or 2**64."""
    if 0 < threshold < WORD:
        fill_bernoulli(stream, words, threshold)
    else:
        words[:] = np.uint64(0) if threshold == 0 else ~np.uint64(0)


def _power(base: Decimal, exponent: int) -> Decimal:
    """Return a power with 0**0 = 1, which decimal arithmetic leaves undefined."""
    return base**exponent if exponent else Decimal(1)


def _up(exact: Decimal) -> float:
    """Return the smallest double above an almost exact number."""
    nearest, bound = float(exact), exact + abs(exact) * _MARGIN
    while Decimal(nearest) < bound:
        nearest = math.nextafter(nearest, math.inf)
    return nearest


def _probability(name: str, value: object, rule: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
        raise InputError(f"{name} must be a number {rule}; got {format_value(value)}")
    if not math.isfinite(value):
        raise InputError(f"{name} must be a number {rule}; got {format_value(value)}")
    exact = Fraction(value)
    inside = 0 < exact <= 1 if "at most 1" in rule else 0 <= exact < 1
    if not inside:
        raise InputError(f"{name} must be a number {rule}; got {format_value(value)}")
    return exact


def _threshold(name: str, text: object) -> int:
    rule = f"{name} must be a decimal string of an integer from 0 to 2^64"
    if not isinstance(text, str) or not text.isascii() or not text.isdigit():
        raise InputError(f"{rule}; got {format_value(text)}")
    number = int(text)
    if number > WORD or str(number) != text:
        raise InputError(f"{rule}; got {format_value(text)}")
    return number
