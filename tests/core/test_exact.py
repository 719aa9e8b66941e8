"""Thresholds and privacy losses, held to integers and to logarithms of 80 digits."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rumor.core import exact
from rumor.core.errors import InputError
from rumor.core.exact import WORD
from rumor.mechanisms import RandomizedResponse, UnaryEncoding

# e to 80 digits from its series, in rationals: 1/60! is below 1e-81.
E = sum(Fraction(1, math.factorial(k)) for k in range(60))

thresholds = st.one_of(
    st.integers(1, WORD - 1),
    st.integers(0, 63).map(lambda k: 1 << k),
    st.integers(1, 1000).map(lambda k: WORD - k),
)


def ln(ratio: Fraction) -> Decimal:
    with localcontext(Context(prec=100)):
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


@given(thresholds, thresholds)
@example(WORD // 2 + 1, WORD // 2)
@example(WORD - 1, 1)
@example(1, WORD - 1)
def test_log_up_is_the_smallest_double_not_below(a: int, b: int) -> None:
    ratio = Fraction(a, b)
    up = exact.log_up(ratio)
    if a == b:
        assert up == 0.0
    else:
        assert Decimal(up) >= ln(ratio)
        assert Decimal(math.nextafter(up, -math.inf)) < ln(ratio)


def test_extremes_are_equalities() -> None:
    """Nothing told, nothing lost; and where the loss is a known number, it is that number."""
    assert exact.log_up(Fraction(1)) == 0.0
    assert exact.worst_log_ratio([Fraction(1), Fraction(1)]) == 0.0
    assert exact.worst_log_ratio([Fraction(3), Fraction(1, 3)]) == exact.log_up(Fraction(3))
    assert exact.worst_log_ratio([Fraction(2), Fraction(1, 5)]) == exact.log_up(Fraction(5))
    # One coin of 3/4 against 1/4, and randomised response that tells the truth with 3/4.
    assert UnaryEncoding(domain=4, p=0.75, q=0.25).epsilon == exact.log_up(Fraction(9))
    assert UnaryEncoding(domain=4, p=0.5, q=0.25).epsilon == exact.log_up(Fraction(3))
    assert UnaryEncoding(domain=4, p=0.75, q=0.5).epsilon == exact.log_up(Fraction(3))
    quarter = {"domain": 2, "truth": str(3 * WORD // 4)}
    assert RandomizedResponse.from_parameters(quarter).epsilon == exact.log_up(Fraction(3))
    # The double next to ln 2 is below it: the loss must be the one above.
    assert exact.log_up(Fraction(2)) == math.nextafter(math.log(2), math.inf)


def test_a_fair_coin_says_nothing_and_is_refused() -> None:
    """Truth and lie alike give epsilon 0, from which nothing can be learned."""
    for description in ({"domain": 2, "truth": str(WORD // 2)}, {"domain": 4, "truth": str(1)}):
        with pytest.raises(InputError, match="more often when it is true"):
            RandomizedResponse.from_parameters(description)
    with pytest.raises(InputError, match="q must be below p"):
        UnaryEncoding(domain=4, p=0.5, q=0.5)
    with pytest.raises(InputError, match="q must be below p"):
        UnaryEncoding(domain=4, p=0.25, q=0.75)


def test_thresholds_of_epsilon_one_are_those_of_e() -> None:
    """Against e from its own series: all 64 bits, not the 53 of a double."""
    for domain in (2, 3, 1000, 1_000_000):
        truth = RandomizedResponse(domain=domain, epsilon=1.0).truth
        assert truth == math.floor(E / (E + domain - 1) * WORD)
    optimized = UnaryEncoding(domain=5, epsilon=1.0)
    assert (optimized.own, optimized.other) == (WORD // 2, math.ceil(1 / (1 + E) * WORD))
    symmetric = UnaryEncoding(domain=5, epsilon=2.0, variant="symmetric")
    assert symmetric.own == math.floor(E / (1 + E) * WORD)
    assert symmetric.other == WORD - symmetric.own


def test_exponentials_carry_far_more_digits_than_thresholds() -> None:
    assert abs(exact.exp(1.0) - E) < Fraction(1, 10**78)
    assert abs(exact.exp(Fraction(1, 2)) ** 2 - E) < Fraction(1, 10**78)
    assert abs(exact.exp(-1.0) * E - 1) < Fraction(1, 10**78)
    assert abs(exact.exp(32.0) / E**32 - 1) < Fraction(1, 10**78)


@given(st.fractions(0, 1))
def test_thresholds_round_to_their_side(p: Fraction) -> None:
    low, high = exact.floor_threshold(p), exact.ceil_threshold(p)
    assert 1 <= low <= WORD - 1
    assert 1 <= high <= WORD - 1
    if 1 <= p * WORD <= WORD - 1:
        assert low <= p * WORD < low + 1
        assert high - 1 < p * WORD <= high


def test_thresholds_never_make_a_coin_certain() -> None:
    assert exact.floor_threshold(Fraction(1, 1 << 70)) == 1
    assert exact.ceil_threshold(1 - Fraction(1, 1 << 70)) == WORD - 1
    assert exact.floor_threshold(Fraction(1, 2)) == exact.ceil_threshold(Fraction(1, 2)) == 1 << 63


@given(st.fractions(Fraction(1, 10**9), 10**9))
def test_round_up_is_the_smallest_double_not_below(number: Fraction) -> None:
    up = exact.round_up(number)
    assert Fraction(math.nextafter(up, -math.inf)) < number <= Fraction(up)


@pytest.mark.parametrize(
    "epsilon",
    [
        *(0, 0.0, -1, -1e-300, 33, 32.000001, math.nan, math.inf, -math.inf, 10**400),
        *("1", None, True, False, np.True_, [1.0], 1j, Decimal(1)),
    ],
    ids=repr,
)
def test_an_epsilon_out_of_range_is_one_sentence(epsilon: object) -> None:
    with pytest.raises(InputError) as problem:
        exact.checked_epsilon(epsilon)
    text = str(problem.value)
    assert text.startswith("epsilon must be a number above 0 and at most 32; got ")
    assert "\n" not in text
    assert len(text) < 120


def test_epsilons_of_any_real_type_are_taken() -> None:
    for epsilon in (1, 1.0, np.float64(1), np.float32(1), np.int64(1), Fraction(1)):
        assert exact.checked_epsilon(epsilon) == 1.0
        assert type(exact.checked_epsilon(epsilon)) is float
    assert exact.checked_epsilon(32) == 32.0


@pytest.mark.parametrize("epsilon", [1e-19, 1e-300, 5e-324])
def test_an_epsilon_that_thresholds_cannot_tell_from_zero(epsilon: float) -> None:
    with pytest.raises(InputError, match=r"epsilon must be at least 2\^-60"):
        exact.checked_epsilon(epsilon)


@pytest.mark.parametrize(
    "p", [0, 1, 0.0, 1.0, -0.1, 1.1, math.nan, math.inf, "0.5", None, True], ids=repr
)
def test_a_probability_out_of_range_is_one_sentence(p: object) -> None:
    with pytest.raises(InputError, match=r"^p must be a number above 0 and below 1; got "):
        exact.checked_probability("p", p)


def test_probabilities_are_kept_exactly() -> None:
    assert exact.checked_probability("p", 0.1) == Fraction(0.1) != Fraction(1, 10)
    assert exact.checked_probability("p", Fraction(1, 3)) == Fraction(1, 3)


@pytest.mark.parametrize(
    "text", ["0", str(WORD), "-1", "+1", "01", " 1", "1 ", "1.0", "1e3", "", "x", "٣", 1, None]
)
def test_a_threshold_has_one_form(text: object) -> None:
    with pytest.raises(InputError, match=r"^own must be a decimal string of an integer from 1 to"):
        exact.checked_threshold("own", text)


@pytest.mark.parametrize("threshold", [1, 1 << 63, WORD - 1])
def test_thresholds_round_trip(threshold: int) -> None:
    assert exact.checked_threshold("own", str(threshold)) == threshold
