"""The blanket: the part of a report's distribution that is the same for every answer.

Balle, Bell, Gascon and Nissim 2019. Let b(y) be at most P(y | x) for every value x, and gamma the
sum of b. Every report is then, with chance gamma, drawn from b alone and says nothing of its
person: these hide the others once their order is lost (privacy/shuffle). All that has to be known
of two values is how their probabilities compare with b, and how often under b: a table of exact
fractions.

What may be put in place of a table. The bound on what a crowd hides is the mean of a convex
function of a sum, so whatever is larger in convex order is safe:
- Mixtures. A value whose law mixes the laws of others (a number between two ends) is hidden at
  least as well as these. So tables are of extreme values alone.
- Overlap. Mass on which a report supports both values, or neither, may be moved to where it
  supports one of them. So the pair with the least overlap stands for all.
- Whatever the mechanism is. Both ratios to b lie between 1 and e^epsilon; of all tables with that,
  the one of randomised response on two values is the largest (`any_of`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple


class BlanketRow(NamedTuple):
    """Reports that compare alike: their mass under b, and P(y | x) / b(y) of both values."""

    weight: Fraction
    first: Fraction
    second: Fraction


Pair = tuple[BlanketRow, ...]
"""Two values' distributions compared with the blanket, in the order of the values."""


class BlanketPart(NamedTuple):
    """The blanket given one outcome of a public draw that does not depend on the answer."""

    share: Fraction
    pairs: tuple[Pair, ...]
    """Pairs of which one, or a mixture, is at least as easily told apart as any two values."""


@dataclass(frozen=True)
class Blanket:
    """The tables of a mechanism, for each of the public draws that tell them apart."""

    parts: tuple[BlanketPart, ...]

    @classmethod
    def from_pairs(cls, *pairs: Sequence[BlanketRow]) -> Blanket:
        """Return the blanket with these `pairs`, for mechanisms
        whose public draws make no difference.
        """
        kept = (tuple(row for row in pair if row.weight) for pair in pairs)
        return cls((BlanketPart(Fraction(1), tuple(kept)),))

    @property
    def gamma(self) -> Fraction:
        """The chance of a report that says nothing of its person."""
        masses = (part.share * sum(row.weight for row in part.pairs[0]) for part in self.parts)
        return sum(masses, Fraction(0))


def support_blanket(hit: Fraction, odds: Fraction, both: Fraction = Fraction(0)) -> Blanket:
    """Return the blanket of reports that support a value or not, with likelihood ratio `odds`.

    `hit` is the chance that the own value is supported, `both` the mass under b of reports that
    support two values, for those two that share least; 0 is always safe.
    """
    one, one_each = Fraction(1), hit / odds
    gamma = 1 - hit + one_each
    # Two values that are supported more often than not have something in common.
    both = max(both, 2 * one_each - gamma)
    alone = one_each - both
    return Blanket.from_pairs(
        (
            BlanketRow(alone, odds, one),
            BlanketRow(alone, one, odds),
            BlanketRow(both, odds, odds),
            BlanketRow(gamma - 2 * alone - both, one, one),
        )
    )


def worst_case_blanket(ratio: Fraction) -> Blanket:
    """Return the blanket of any mechanism whose probabilities differ by at most `ratio`.

    By convexity the largest tables have ratios of 1 and `ratio` alone; such a table is a mixture of
    three: neither value is supported (dominated by any table of equal mean), both values are
    supported (dominated likewise), or exactly one of them, which is randomised response.
    """
    return support_blanket(ratio / (1 + ratio), ratio)


def distributions_blanket(laws: Sequence[Sequence[Fraction]]) -> Blanket:
    """Return the blanket of a few extreme distributions over a
    few reports, every two of them a pair.
    """
    least = [min(column) for column in zip(*laws, strict=True)]
    return Blanket.from_pairs(
        *(
            [BlanketRow(b, p / b, q / b) for b, p, q in zip(least, first, second, strict=True)]
            for first, second in itertools.permutations(laws, 2)
        )
    )


def bits_blanket(zero: Fraction, one: Fraction, own: int) -> Blanket:
    """Return the blanket of independent bits, 1 with chance
    `zero`, or `one` for up to `own` own bits.

    b is gamma times the distribution of bits that belong to nobody. Another own bit is a factor of
    mean 1 in one of the two ratios, and a common own bit makes the values alike: so values with
    the most own bits, none in common, are the easiest to tell apart.
    """
    odds = one * (1 - zero) / (zero * (1 - one))
    gamma = ((1 - one) / (1 - zero)) ** own
    chances = [math.comb(own, i) * zero**i * (1 - zero) ** (own - i) for i in range(own + 1)]
    places = list(enumerate(chances))
    return Blanket.from_pairs(
        [BlanketRow(gamma * p * q, odds**i, odds**j) for i, p in places for j, q in places]
    )
