"""The law of stems that nobody has: moments in integers, tails by the saddle point."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

from rumor.kinds.words.fit.prefixes import NullLaw, variance


def exact_tails(table: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(sum of one draw from each row >= s), for every s, row by row."""
    law = np.ones(1)
    for row in table:
        law = np.convolve(law, np.bincount(row) / row.size)
    return np.asarray(law[::-1].cumsum()[::-1])


def test_the_variance_is_that_of_a_uniform_bucket_in_every_row() -> None:
    table = np.array([[5, 0, 1], [2, 2, 2], [0, 9, 3]])
    rows = [np.var(row) for row in table]
    assert variance(table) == pytest.approx(sum(rows), rel=1e-12)
    assert variance(table.astype(np.float64)) == pytest.approx(sum(rows), rel=1e-12)
    huge = np.array([[2**60, 0], [2**60, 2**60]])
    assert variance(huge) == 2.0**118


@pytest.mark.parametrize("people", [60, 300, 2000])
def test_deviates_have_the_tails_of_the_exact_law(people: int) -> None:
    """Between the tails with and without the jump at each support: within a fifth down to 1e-6.

    With 60 people in 12 cohorts of 6 buckets, a bucket has less than one on average.
    """
    rng = np.random.default_rng(people)
    table = rng.multinomial(people // 12, [1 / 6] * 6, size=12)
    law = NullLaw(table)
    tails = exact_tails(table)
    for least in range(int(law.mean), tails.size - 1):
        high, low = tails[least], tails[least + 1]
        if high > 0.3 or low < 1e-6:
            continue
        found = float(ndtr(-law.deviates(np.array([float(least)]))[0]))
        assert 0.8 * low < found < 1.2 * high


def test_few_supports_are_less_surprising_than_a_normal_law_says() -> None:
    # A Poisson of mean 4: 14 or more has the chance 8.9e-5, where the normal law says 1.8e-6 (of
    # 13.5): that difference is what invented words.
    table = np.zeros((256, 64), dtype=np.int64)
    table[:, 0] = 1
    law = NullLaw(table)
    assert law.mean == 4.0
    deviate = law.deviates(np.array([14.0]))[0]
    plain = (14 - 4) / law.deviation
    assert plain > 5
    assert 3.5 < deviate < 4.1


def test_deviates_grow_with_supports_and_go_on_beyond_the_curve() -> None:
    rng = np.random.default_rng(1)
    law = NullLaw(rng.multinomial(40, [1 / 8] * 8, size=64))
    supports = np.linspace(law.mean - 50, law.mean + 2000, 500)
    found = law.deviates(supports)
    assert (np.diff(found) >= 0).all()
    assert found[-1] > 20


def test_an_empty_level_says_nothing() -> None:
    law = NullLaw(np.zeros((4, 3)))
    assert (law.deviates(np.array([0.0, 5.0])) == 0).all()


def test_a_table_without_spread_has_a_law_too() -> None:
    """Nobody answered, or each bucket of a cohort has as many: no support is a surprise."""
    law = NullLaw(np.full((4, 6), 3))
    assert (law.mean, law.deviation) == (12.0, 0.0)
    assert law.deviates(np.array([12.0])).tolist() == [0.0]
