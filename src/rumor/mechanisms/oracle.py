"""Frequency oracles: mechanisms whose reports *support* values.

A report supports a set of values, and P(report | value) is proportional to `odds` when
it supports the value and to 1 when not; the factor of the report alone cancels in every
likelihood. Randomised response supports one value, unary encoding its 1-bits. With the
support matrix Z (reports by values), all that estimation needs are `forward` = Zh,
`adjoint` = Z'w, and P(x supported | value x) and P(x supported | another) for inversion.
"""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rumor.core.canonical import Json
from rumor.core.checks import checked_size
from rumor.core.columns import encode, named_domain, one_code, split_domain
from rumor.core.deprecation import old_names
from rumor.core.errors import InputError, format_value
from rumor.core.exact import WORD, worst_log_ratio
from rumor.core.reports import Reports
from rumor.core.types import Codes, Tally, Target, Vector
from rumor.core.typing import override
from rumor.mechanisms.blanket import Blanket, support_blanket
from rumor.mechanisms.edge_values import edge_items
from rumor.mechanisms.shapes import DeclaredParameters, LabelledDomain
from rumor.mechanisms.support import ItemCounts, Score, SupportRates, centred_score


@old_names(
    counts_outputs="tally_is_lossless",
    counts_supports="tally_is_support_counts",
    says_value="report_is_value",
)
class FrequencyOracle(LabelledDomain, SupportRates, DeclaredParameters):
    """A mechanism from which the frequencies of a domain's values are learned."""

    kind = "choice"
    _DOMAIN_NAMES = ("domain",)
    _THRESHOLDS: ClassVar[tuple[str, ...]]
    """The names of the thresholds; the first is that of supporting the person's own value."""

    MIN_DOMAIN: ClassVar[int] = 2
    MAX_DOMAIN: ClassVar[int]
    report_is_value: ClassVar[bool] = False
    """Whether a report is one of the values, so that two reports of a person are a table's cell."""
    FROM_EPSILON: ClassVar[bool] = True
    """Whether a domain and an epsilon are enough to construct the oracle."""
    REQUIRED: ClassVar[tuple[str, ...]] = ()
    """The options without which the oracle cannot be constructed."""

    def __init__(self, domain: object, labels: Sequence[str] | None = None) -> None:
        values = named_domain(domain, labels)
        self.domain, self.labels = split_domain(values, self.MIN_DOMAIN, self.MAX_DOMAIN)

    def _domain_parameters(self) -> dict[str, Json]:
        return {"domain": self.domain}

    def _load_domain(self, domain: object) -> None:
        self.domain = checked_size("domain", domain, self.MIN_DOMAIN, self.MAX_DOMAIN)
        self.labels = None

    def _check_identifiable(self) -> None:
        self._require_gain()

    def identity(self, value: object) -> str:
        """Return the value's position, which does not depend on its label."""
        return str(self.code(value))

    @override
    def inputs(self) -> Sequence[object]:
        return range(self.domain) if self.labels is None else self.labels

    @override
    def edge_values(self) -> Sequence[object]:
        last = self.domain - 1
        return edge_items(self.domain, self.labels, (0, 1, last // 3, last))

    def encode(self, values: object) -> Codes:
        """Return labels, or integers if there are no labels, as integers 0..domain-1."""
        return encode(values, self.domain, self._positions)

    def code(self, value: object) -> int:
        """Return the position of one value, 0..domain-1."""
        rule = f"an answer must be an integer from 0 to {self.domain - 1:,}"
        if self.labels is not None:
            rule = "an answer must be one of the labels"
        return one_code(self.encode, value, rule)

    @property
    @override
    def exact_hit(self) -> Fraction:
        return Fraction(getattr(self, self._THRESHOLDS[0]), WORD)

    @property
    @abc.abstractmethod
    def exact_odds(self) -> Fraction:
        """The exact odds P(report | a supported value) / P(report | an unsupported one)."""

    @functools.cached_property
    def odds(self) -> float:
        """The odds P(report | a supported value) / P(report | an unsupported one)."""
        return float(self.exact_odds)

    @functools.cached_property
    def epsilon(self) -> float:
        """The exact loss: the logarithm of the odds, as some report
        supports one of two values alone.
        """
        return worst_log_ratio([self.exact_odds])

    @property
    def rates(self) -> tuple[float | Vector, float | Vector]:
        """The chances that a value is supported by its own people and by
        others: one for all values, or one for each.
        """
        return self.hit, self.miss

    @property
    def _least_miss(self) -> Fraction:
        """The exact P(x is supported | the value is another) for the pair that shares least.

        By default all pairs of values share equally much.
        """
        return self.exact_miss

    def blanket(self) -> Blanket:
        """Return the blanket of the two values that share least."""
        hit, odds = self.exact_hit, self.exact_odds
        return support_blanket(hit, odds, (self._least_miss - hit / odds) / (odds - 1))

    def _require_gain(self, epsilon: object = None) -> None:
        """Refuse thresholds from which nothing can be learned: a value must be likelier to be
        supported by a report of its own people. A tiny `epsilon` rounds to such thresholds.
        """
        if self.exact_odds > 1:
            return
        if epsilon is not None:
            raise InputError(
                f"epsilon must be large enough to be kept by 64-bit thresholds "
                f"on {self.domain:,} values; got {epsilon!r}"
            )
        raise InputError(
            f"the thresholds of {self.name!r} must support a value more often when it is true "
            f"than when it is not; got {format_value(self.parameters())}"
        )

    @abc.abstractmethod
    def forward(self, reports: Reports, h: Vector) -> Vector:
        """Return Zh: for each report the total of h over the values that it supports."""

    @abc.abstractmethod
    def adjoint(self, reports: Reports, w: Vector) -> Vector:
        """Return Z'w: for each value the total weight of the reports that support it."""

    @property
    @override
    def oracle(self) -> FrequencyOracle:
        return self

    def log_likelihood_ratio(self, reports: Reports, first: object, second: object) -> Vector:
        """Return the odds, where a report supports one of the two values and not the other."""
        one, other = np.zeros(self.domain), np.zeros(self.domain)
        one[self.code(first)] = other[self.code(second)] = 1.0
        favour = np.rint(self.forward(reports, one)) - np.rint(self.forward(reports, other))
        return np.asarray(favour * math.log(self.odds))

    @abc.abstractmethod
    def support_counts(self, tally: Tally) -> Tally:
        """Return the number of tallied reports that support each value."""

    @property
    def tally_is_support_counts(self) -> bool:
        """Whether a tally consists of the counts of support, and of nothing else."""
        tally = np.zeros(self.tally_size, dtype=np.int64)
        return self.support_counts(tally) is tally

    @property
    def dispersion(self) -> float:
        """P(two values supported) / P(one supported)^2 when all values are equally frequent.

        1 when supports are independent (unary encoding, hashing, one Hadamard block), 0 when a
        report supports a single value. Given that frequencies sum to one, a count with support
        probability pi then varies like one of n reports with variance pi (1 - dispersion pi).
        """
        return 1.0

    def pair_rates(self) -> tuple[float, float]:
        """Return P(two values supported | one of them is the value), and P(... | neither is).

        They are products if values are supported independently, as in unary encoding and hashing.
        """
        return self.hit * self.miss, self.miss**2

    def factors(self, reports: Reports) -> Vector:
        """Return the factor of each report alone, up to a constant: it cancels in likelihoods.

        It is 1 if all reports are equally likely for people whose value they do not support.
        """
        return np.ones(len(reports))

    @property
    def tally_is_lossless(self) -> bool:
        """Whether a tally has a counter for each of `outputs()`,
        and so tells as much as all reports.
        """
        return False

    def bitmaps(self, reports: Reports) -> Reports | None:
        """Return the supported values of each report as packed bits (value x is bit x % 8 of
        byte x // 8), where a batch fits that form; None where it does not.
        """
        return None

    def lists(self, reports: Reports) -> NDArray[np.integer] | None:
        """Return the supported values of each report as integers
        (n, k), where a batch comes as such.
        """
        return None

    def likelihood_rows(self, reports: Reports) -> Vector | None:
        """Return P(report | value) as a row for each report, where a report has more likelihoods
        than `odds` tells; None where support and odds say all.
        """
        return None

    def output_chances(self, law: Vector) -> Vector:
        """Return the chance of each of `outputs()` among people with the distribution `law`."""
        outputs = self.outputs()
        chances = (1 + (self.odds - 1) * self.forward(outputs, law)) * self.factors(outputs)
        return np.asarray(chances / chances.sum())

    def item_channel(self, tally: Tally, reports: int) -> ItemCounts:
        """Return the tally as a count for each value, with the
        rates that connect it to a frequency.
        """
        counts, (hit, miss) = self.support_counts(tally), self.rates
        return ItemCounts(counts, float(reports), hit, miss, self.dispersion)

    def rare_rates(self, reports: int) -> tuple[float, float, float]:
        """Return trials, miss and gain of the count of a value that hardly anybody holds."""
        return float(reports), self.miss, self.gain

    @property
    def _largest_contribution(self) -> float:
        """The most that one report, honest or not, adds to a value's estimate, times reports."""
        return (1 - self.miss) / self.gain

    def _fake_gain(self, reports: int, fakes: int) -> float:
        """Return the gain for each fake: the largest contribution of a report."""
        return fakes / reports * self._largest_contribution

    @property
    def _smallest_contribution(self) -> float:
        """The least that one report adds to a value's estimate, times reports: below zero."""
        return -self.miss / self.gain

    def _fake_loss(self, reports: int, fakes: int) -> float:
        """Return the loss for each fake: its smallest contribution
        in place of a holder's, which is 1.
        """
        return fakes / reports * (1 - self._smallest_contribution)

    def score(self, tally: Tally, reports: int) -> Score:
        """Return the support counts as a score: binomial, or a sum of two binomials."""
        (p, q), gain = self.rates, self.gain
        return Score(
            excess=self.support_counts(tally) / reports - q,
            gain=gain,
            spread={
                "population": (q * (1 - q), gain * (1 - 2 * q), -(gain**2)),
                "people": (q * (1 - q), p * (1 - p) - q * (1 - q), 0.0),
            },
        )

    def group_score(self, tally: Tally, reports: int, members: NDArray[np.intp]) -> Score:
        """Return the score of the share F of some `members`
        together: one mean, `gain` F on average.

        A report counts as 1 - s/D for each of the s members that it supports and as -s/D for
        each other value. These weights sum to 0, so what all values have in common cancels.
        With weight a of the report's own value v, E(Y | v) = gain a, and with the chances of
        pairs E(Y^2 | v) = a^2 (gain - 2 own + 2 other) + s (1 - s/D) (miss - other).
        """
        counts, part = self.support_counts(tally), members.size / self.domain
        gain, (own, other) = self.gain, self.pair_rates()
        common = members.size * (1 - part) * (self.miss - other)
        second = gain - 2 * own + 2 * other
        inside, outside = (a * a * second + common for a in (1 - part, -part))
        weighted = (counts[members].sum() - part * counts.sum()) / reports
        return centred_score(weighted, gain, part, inside, outside, self._group_ends(members.size))

    def _group_ends(self, members: int) -> tuple[float, float]:
        """Return the least and the most that a report counts for a group of `members` values.

        A report supports as many values as it adds to counters; any number, if that varies.
        """
        each, others = self.counters_per_report, self.domain - members
        least, most = (
            (0, self.domain) if each is None or not self.tally_is_support_counts else (each, each)
        )
        part, (few, many) = (
            members / self.domain,
            (np.clip(n, least, most) for n in (others, members)),
        )
        return float(max(few - others, 0) - part * few), float(min(many, members) - part * many)

    def unbiased(self, tally: Tally, reports: int) -> Vector:
        """Return the unbiased estimate of the frequencies: (count/n - miss) / (hit - miss)."""
        return np.asarray((self.support_counts(tally) / reports - self.rates[1]) / self.gain)

    def variance(
        self, frequency: Vector | float, reports: int, of: Target = "population"
    ) -> Vector:
        """Return the exact variance of the unbiased estimate of a value with this frequency.

        For `of` "people" it is the noise of the mechanism alone, the people held fixed; for
        "population" it includes their sampling.
        """
        f = np.asarray(frequency, dtype=np.float64)
        (hit, miss), gain = self.rates, self.gain
        if of == "population":
            support = miss + gain * f
            spread = support * (1 - support)
        else:
            spread = f * hit * (1 - hit) + (1 - f) * miss * (1 - miss)
        return np.asarray(spread / (reports * gain**2))

    def covariance(self, frequencies: Vector, reports: int) -> Vector:
        """Return the exact covariance of all unbiased estimates, of
        people drawn from these frequencies.

        Two values are supported together with the chances of `pair_rates`.
        """
        gain, (own, other) = self.gain, self.pair_rates()
        support = self.rates[1] + gain * frequencies
        both = other + (own - other) * (frequencies + frequencies[:, None])
        np.fill_diagonal(both, support)
        return np.asarray((both - np.outer(support, support)) / (reports * gain**2))
