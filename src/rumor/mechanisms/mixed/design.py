"""The design of a joint question: the shares of people who are asked for pairs and for margins.

Two answers. A report of the whole pair says little of a margin: of five by five cells a sixth of
what the row alone would. So some people are asked for one margin, as many as make both margins
known to within 1.3 times of what half the people each would tell, and nobody where pairs alone do.
Three and four answers. Every pair to its part of the people, or all parts at once: whichever tells
the cells of two-way tables better. The product wins where it is small.

All of it is reckoned at a uniform truth, in exact fractions: what comes out decides coins.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from rumor.mechanisms.mixed.parts import MAX_CELLS, Parts
from rumor.mechanisms.subset_selection import SubsetSelection

Shares = list[tuple[tuple[int, ...], Fraction]]
"""The parts that are asked together, and the share of people who are asked for them."""

# A margin may cost 1.3 times the error that half of the people would have.
_KEPT = 1 / (2 * Fraction(13, 10) ** 2)


def design_shares(parts: Parts, epsilon: float, pair: Fraction | None = None) -> Shares:
    """Return the shares of the components; of two parts, `pair` fixes that of the pair."""
    everything = tuple(range(parts.count))
    if parts.count == 2:
        shares = _two(parts, epsilon) if pair is None else (pair, *[(1 - pair) / 2] * 2)
        asked = (everything, (0,), (1,))
        return [(asks, share) for asks, share in zip(asked, shares, strict=True) if share > 0]
    if parts.cells <= MAX_CELLS and _whole_error(parts, epsilon) <= _pairs_error(parts, epsilon):
        return [(everything, Fraction(1))]
    pairs = list(itertools.combinations(everything, 2))
    return [(asks, Fraction(1, len(pairs))) for asks in pairs]


def sum_variance(oracle: SubsetSelection, cells: int) -> Fraction:
    """Return the variance of one report's estimate of the total share of `cells` cells together."""
    domain, size = oracle.domain, oracle.size
    one = Fraction(size, domain)
    both = Fraction(size * (size - 1), domain * (domain - 1))
    spread = cells * one + cells * (cells - 1) * both - (cells * one) ** 2
    return spread / (oracle.exact_hit - oracle.exact_miss) ** 2


def _two(parts: Parts, epsilon: float) -> tuple[Fraction, Fraction, Fraction]:
    rows, columns = parts.sizes
    whole = SubsetSelection(domain=rows * columns, epsilon=epsilon)
    # The information about a margin in a report of the pair, over that in one of the margin.
    told = [
        sum_variance(SubsetSelection(domain=own, epsilon=epsilon), 1) / sum_variance(whole, other)
        for own, other in ((rows, columns), (columns, rows))
    ]
    if min(told) >= _KEPT:
        return Fraction(1), Fraction(0), Fraction(0)
    share = (1 - _KEPT) / (1 - min(told))
    if share * max(told) >= _KEPT:
        rest = [Fraction(0), Fraction(0)]
        rest[told.index(min(told))] = 1 - share
        return share, rest[0], rest[1]
    share = (1 - 2 * _KEPT) / (1 - sum(told))
    return share, _KEPT - share * told[0], _KEPT - share * told[1]


def _whole_error(parts: Parts, epsilon: float) -> Fraction:
    """Return the mean variance of a two-way table's cell if every person is asked for all parts."""
    whole = SubsetSelection(domain=parts.cells, epsilon=epsilon)
    tables = list(itertools.combinations(parts.sizes, 2))
    return _mean([sum_variance(whole, parts.cells // math.prod(sizes)) for sizes in tables])


def _pairs_error(parts: Parts, epsilon: float) -> Fraction:
    """Return the mean variance of a two-way table's cell if each
    pair is asked of its part of people.
    """
    tables = [math.prod(sizes) for sizes in itertools.combinations(parts.sizes, 2)]
    oracles = [SubsetSelection(domain=cells, epsilon=epsilon) for cells in tables]
    return len(tables) * _mean([sum_variance(oracle, 1) for oracle in oracles])


def _mean(numbers: Sequence[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers)
