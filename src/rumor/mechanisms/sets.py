"""Sets: the part shared by mechanisms for answers with any of a list of options.

Whatever else a person chose, a report that is about an option *supports* it with probability
`hit` if they chose it and `miss` if not. So for each option on its own the count of supporting
reports is binomial, with the chance miss + (hit - miss) f, and the share f follows; shares have
no sum. Where pairs are counted too, how often two options are supported together gives the share
of people who chose both (`PairRates`).
"""

from __future__ import annotations

import abc
import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rumor.core.canonical import Json
from rumor.core.checks import checked_choice, checked_size
from rumor.core.columns import encode, split_domain
from rumor.core.errors import InputError
from rumor.core.option_sets import MARK, Chosen, OptionSets, one_set, read_sets
from rumor.core.types import Codes, Rows, Tally, Target, Vector
from rumor.core.typing import override
from rumor.mechanisms.auditing import Audit
from rumor.mechanisms.cap_sampling import Kept
from rumor.mechanisms.poisoning import PoisoningTarget
from rumor.mechanisms.shapes import DeclaredParameters, LabelledDomain
from rumor.mechanisms.support import ItemCounts, SupportRates

MAX_OPTIONS = 10_000
# Pairs have a counter each.
MAX_PAIRED = 256
COUNTED = ("options", "pairs")
# Sets that are still worth listing one by one.
_MOST_LISTED = 12
# The most options that an edge value has: longer lists only fill files of vectors.
_MOST_IN_EDGE_VALUE = 999


@dataclass(frozen=True)
class PairCounts:
    """The counts of every pair j < k of options in a tally, in lexicographic order.

    `trials` reports are about both options; `both` of them support both, `first` and `second` at
    least that one. Both are supported with probability g0, g1 or g2 if none, one or both of the
    options were chosen.
    """

    both: Tally
    first: Tally
    second: Tally
    trials: Vector
    rates: tuple[float, float, float]


class SetMechanism(LabelledDomain, SupportRates, DeclaredParameters):
    """A mechanism for the shares of options, any number of which may be chosen."""

    kind = "set"
    _DOMAIN_NAMES = ("domain", "counted")
    _THINGS = "options"
    _poisoning_target = PoisoningTarget("an option")
    MIN_DOMAIN: ClassVar[int] = 2
    counted: str
    """The things that a summary counts: "options", or "pairs" of options as well."""
    cap: int
    """The most options of one person that a report draws from."""

    def _open(self, domain: object, counted: object) -> None:
        self.counted = checked_choice("counted", counted, COUNTED)
        self.domain, self.labels = split_domain(domain, self.MIN_DOMAIN, self._most)

    def _load_domain(self, domain: object, counted: object) -> None:
        self.counted = checked_choice("counted", counted, COUNTED)
        self.domain = checked_size("domain", domain, self.MIN_DOMAIN, self._most)
        self.labels = None

    @property
    def _most(self) -> int:
        return MAX_PAIRED if self.pairs else MAX_OPTIONS

    def _domain_parameters(self) -> dict[str, Json]:
        return {"domain": self.domain, "counted": self.counted}

    @property
    def pairs(self) -> bool:
        """Whether a summary counts pairs."""
        return self.counted == "pairs"

    @property
    def most_held(self) -> int:
        """The most options that a person in a table may have chosen."""
        return self.domain

    @property
    def kept(self) -> Kept | None:
        """The cap, if a report draws from fewer options than a
        person may choose; None otherwise.
        """
        return None

    # Answers

    def read(self, values: object) -> OptionSets:
        """Read people's options in any of the forms of rumor.core.option_sets."""
        return read_sets(values, self.domain, self._positions)

    def encode(self, values: object) -> Codes:
        """Return a column of options, whoever chose them, as positions."""
        return encode(values, self.domain, self._positions)

    def options(self, value: object) -> tuple[int, ...]:
        """Return one person's options as ascending positions."""
        return one_set(value, self.domain, self._positions)

    def identity(self, value: object) -> str:
        """Return the positions, however the options were written."""
        return repr(self.options(value))

    def named(self, options: Sequence[int]) -> tuple[object, ...]:
        """Return these options by their labels, or as they are if they have no labels."""
        return tuple(options if self.labels is None else (self.labels[i] for i in options))

    def inputs(self) -> Sequence[object]:
        """Return every set that a table may hold, the smaller ones first."""
        sizes = range(self.most_held + 1)
        every = (itertools.combinations(range(self.domain), size) for size in sizes)
        return [self.named(options) for options in itertools.chain.from_iterable(every)]

    @override
    def edge_values(self) -> Sequence[object]:
        options = list(self.labels or range(self.domain))
        sizes = sorted(
            size for size in {0, 1, self.cap, self.domain} if size <= _MOST_IN_EDGE_VALUE
        )
        return [*(options[:size] for size in sizes), options[1::2][::-1][:30]]

    @property
    @override
    def audit(self) -> SetAudit:
        return SetAudit(self)

    # The model of one option, and of two

    @property
    def share(self) -> float:
        """The share of the reports that are about an option."""
        return 1.0

    @property
    def pair_share(self) -> float:
        """The share of the reports that are about both of two options."""
        return 1.0

    @property
    @abc.abstractmethod
    def exact_pairs(self) -> tuple[Fraction, Fraction, Fraction] | None:
        """P(two options are supported | none, one, both chosen); None if pairs are not learned."""

    @functools.cached_property
    def pair_rates(self) -> tuple[float, float, float]:
        """The chances of `exact_pairs` as doubles; refused if pairs are not learned."""
        exact = self.exact_pairs
        if exact is None:
            raise InputError(f"{self!r} says nothing of pairs: ask for larger reports")
        none, one, both = (float(chance) for chance in exact)
        return none, one, both

    def variance(
        self, frequency: Vector | float, reports: float, of: Target = "population"
    ) -> Vector:
        """Return the variance of the unbiased share of an option with this frequency.

        For `of` "people", the people are held fixed, and only the draw of those asked about an
        option counts.
        """
        f = np.asarray(frequency, dtype=np.float64)
        v0, v1, v2 = self.spread(self.share)[of]
        return np.asarray((v0 + v1 * f + v2 * f * f) / (reports * self.gain**2))

    def spread(self, about: Vector | float) -> dict[Target, tuple[Vector, Vector, Vector]]:
        """Return the variance v0 + v1 f + v2 f^2 that one report brings to an option's mean.

        `about` is the part of the reports that are about the option: the others say nothing.
        """
        part = np.asarray(about, dtype=np.float64)
        p, q, square = self.hit, self.miss, self.gain**2
        noise, drawn = q * (1 - q), square * (1 - part)
        return {
            "population": (noise / part, self.gain * (1 - 2 * q) / part, -square / part),
            "people": (noise / part, (p * (1 - p) - noise + drawn) / part, -drawn / part),
        }

    def pair_variance(self, frequency: float, reports: float) -> float:
        """Return the variance of the unbiased share of two options that nobody chose together.

        Each of them is chosen by this share of people.
        """
        each = rare_pair_variance(self.miss, self.gain, self.pair_rates, frequency)
        return each / (reports * self.pair_share)

    # Counts

    @property
    def _pair_places(self) -> tuple[Rows, Rows]:
        first, second = np.triu_indices(self.domain, 1)
        return first, second

    @abc.abstractmethod
    def items(self, tally: Tally, reports: int) -> ItemCounts:
        """Return, for each option, the supporting reports out of those that are about it."""

    @abc.abstractmethod
    def pair_counts(self, tally: Tally, reports: int) -> PairCounts:
        """Return, for each pair, the supporting reports, if pairs are counted."""

    # How far fake clients can move a share

    def _fake_gain(self, reports: int, fakes: int) -> float:
        """Return the gain if all fakes support one option, of which some others alone speak."""
        return self._part(reports, fakes) * (1 - self.miss) / self.gain

    def _fake_loss(self, reports: int, fakes: int) -> float:
        """Return the loss if all fakes speak against an option that everybody chose."""
        return self._part(reports, fakes) * self.hit / self.gain

    def _part(self, reports: int, fakes: int) -> float:
        """Return the part that fakes have of the reports about an option."""
        return fakes / ((reports - fakes) * self.share + fakes) if fakes else 0.0


class SetAudit(Audit[SetMechanism]):
    """Sets of options, for an audit: extreme people stand for all."""

    def _extremes(self) -> list[object]:
        """Return extreme people: no option, one, or the most from either end of the list."""
        most, last = self.mechanism.most_held, self.mechanism.domain
        found = [(), (0,), tuple(range(most)), tuple(range(last - most, last))]
        return [self.mechanism.named(options) for options in dict.fromkeys(found)]

    def pairs_to_compare(self) -> Sequence[tuple[object, object]]:
        """Return the extreme people: nothing and the most options are as far apart as any."""
        return list(itertools.combinations(self._extremes(), 2))

    def walked_values(self) -> Sequence[object]:
        """Return the extreme people if all people are too many, else all."""
        if self.mechanism.domain <= _MOST_LISTED:
            return super().walked_values()
        return self._extremes()

    @override
    def repeat(self, value: object, count: int) -> object:
        row = np.zeros(self.mechanism.domain, dtype=np.bool_)
        row[list(self.mechanism.options(value))] = True
        return np.tile(row, (count, 1))

    def as_argument(self, value: object) -> str:
        """Return the options of `value` with bars between them; a bar alone for no option."""
        return MARK.join(map(self.place_as_argument, self.mechanism.options(value))) or MARK


def pair_weights(
    miss: float, gain: float, rates: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return the contributions of a report to a pair's unbiased
    share: supporting none, one or both.

    The chance that both options are supported gives f_jk = (P(both) - g0 - (g1 - g0)(f_j + f_k)) /
    (g2 - 2 g1 + g0), where f_j and f_k are estimated from these reports as well.
    """
    none, one, both = rates
    divisor, slope = both - 2 * one + none, (one - none) / gain

    def added(supported: int) -> float:
        return ((supported == 2) - none - slope * (supported - 2 * miss)) / divisor

    return added(0), added(1), added(2)


def rare_pair_variance(
    miss: float, gain: float, rates: tuple[float, float, float], frequency: float
) -> float:
    """Return the variance of one report's contribution to a pair that nobody chose together."""
    none, one, _ = rates
    both = none + 2 * (one - none) * frequency
    either = 2 * (miss + gain * frequency - both)
    weights = pair_weights(miss, gain, rates)
    chances = (1 - either - both, either, both)
    return sum(p * w**2 for p, w in zip(chances, weights, strict=True))


def count_pairs(chosen: Chosen) -> Tally:
    """Return how often two columns are both set, for every pair j < k in lexicographic order."""
    domain = chosen.shape[1]
    together = np.zeros((domain, domain), dtype=np.int64)
    for start in range(0, len(chosen), 1 << 16):  # a float counts exactly up to 2^24
        part = chosen[start : start + (1 << 16)].astype(np.float32)
        together += (part.T @ part).astype(np.int64)
    return together[np.triu_indices(domain, 1)]


def pairs_of(options: int) -> int:
    """Return the number of pairs of `options` options."""
    return math.comb(options, 2)


def unpack_bits(bitmaps: NDArray[np.uint8], domain: int) -> Chosen:
    """Return packed bits as a boolean table."""
    bits = np.unpackbits(bitmaps, axis=1, count=domain, bitorder="little")
    return bits.view(np.bool_)
