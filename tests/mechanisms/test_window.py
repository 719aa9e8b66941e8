"""The window mechanism: every table that ships, in fractions, and what happens at its edges."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import rumor
from benchmarks.mean_table import BEFORE
from benchmarks.window_design import (
    PRICE,
    TOLERANCE,
    average_variance,
    in_integers,
    least_average,
    least_worst,
)
from rumor.core import exact
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.mechanisms.mean import choose_mean
from rumor.mechanisms.window import below_each, checked_values, table_for, tables
from tests.laws.laws import refused

STEPS = 97


@pytest.mark.parametrize("below", [0.0, 0.06])
def test_every_table_is_unbiased_and_private_in_fractions(below: float) -> None:
    """At the epsilon that it was made for, and a little below, at every eighth step of the grid."""
    assert len(tables()) == 48
    for made in tables():
        mechanism = rumor.Window(epsilon=made - below, steps=STEPS)
        assert tables()[made] == (mechanism.window, mechanism.values), "the next table above"
        worth = mechanism.cell_values
        assert len(worth) == 64
        assert worth == [-value for value in reversed(worth)]
        assert all(a < b for a, b in itertools.pairwise(worth))
        ratio = mechanism.exact_inside / mechanism.exact_outside
        assert 1 < ratio <= exact.exp(made - below)
        chances = {mechanism.exact_inside, mechanism.exact_outside}
        for step in range(0, STEPS + 1, 8):
            row = law(mechanism, step)
            assert sum(row) == 1
            assert min(chances) <= min(row) <= max(row) <= max(chances)
            mean = sum(p * value for p, value in zip(row, worth, strict=True))
            assert mean == mechanism.gain * Fraction(2 * step - STEPS, STEPS)


def law(mechanism: rumor.Window, step: int) -> list[Fraction]:
    value = float(mechanism.grid.value_at(step))
    assert mechanism.code(value) == step
    return [mechanism.probability(bytes([cell]), value) for cell in range(mechanism.alphabet)]


def test_variances_are_those_of_the_law() -> None:
    """At every step of a grid, with the estimate of each cell on its own."""
    mechanism = rumor.Window(low=-2.0, high=6.0, epsilon=2.0, steps=STEPS)
    alone = mechanism.estimates(mechanism.outputs())
    for step in range(0, STEPS + 1, 5):
        row, value = (
            np.array(law(mechanism, step), dtype=float),
            float(mechanism.grid.value_at(step)),
        )
        assert row @ alone == pytest.approx(value, abs=1e-12)
        spread = row @ (alone - value) ** 2
        assert float(mechanism.variance(value)) == pytest.approx(spread, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.2, 4.0, 8.0, 12.0])
def test_worst_and_least_variance_are_found(epsilon: float) -> None:
    """On 20,001 points nothing is worse or better, and what is found is nearly met there."""
    mechanism = rumor.Window(low=0.0, high=10.0, epsilon=epsilon)
    everywhere = mechanism.variance(np.linspace(0, 10, 20_001))
    assert everywhere.max() <= mechanism.worst_variance * (1 + 1e-12)
    assert everywhere.max() == pytest.approx(mechanism.worst_variance, rel=1e-5)
    assert everywhere.min() >= mechanism.least_variance * (1 - 1e-12)
    assert everywhere.min() == pytest.approx(mechanism.least_variance, rel=1e-2)


def test_tables_are_as_good_as_those_that_another_solver_found() -> None:
    """To the digits in which these were written down (half a percent)."""
    for epsilon, (least, _, average) in BEFORE.items():
        mechanism = rumor.Window(epsilon=epsilon)
        assert mechanism.worst_variance < PRICE * least * 1.005
        assert average_variance(mechanism) < average * 1.005


def test_a_table_is_designed_again() -> None:
    """At epsilon 2, where a window of 25 has the least worst case; another solver found .8660."""
    window, _ = tables()[2.0]
    least = least_worst(2.0, [25]).worst
    assert least == pytest.approx(0.8660, rel=1e-3)
    shipped = rumor.Window(epsilon=2.0)
    assert shipped.worst_variance <= PRICE * least * (1 + 1e-6)
    anew = least_average(2.0, [window], PRICE * least)
    assert anew is not None
    again = in_integers(2.0, anew)
    assert again.worst_variance == pytest.approx(shipped.worst_variance, rel=TOLERANCE)
    assert average_variance(again) == pytest.approx(average_variance(shipped), rel=TOLERANCE)


def test_auto_takes_it_where_its_worst_case_is_the_least() -> None:
    assert isinstance(choose_mean(epsilon=0.02), rumor.Harmony)
    assert isinstance(choose_mean(epsilon=20.0), rumor.Piecewise)
    for epsilon in tables():
        assert isinstance(choose_mean(epsilon=epsilon), rumor.Window)
    (question,) = rumor.Collection.from_toml(COLLECTION).questions
    assert isinstance(question.mechanism, rumor.Window)


COLLECTION = """
name = "a way to work"
series = "minutes"
contact = "nobody"
[[questions]]
id = "minutes"
kind = "number"
text = "How long?"
low = 0
high = 60
epsilon = 2.0
"""


def test_the_table_is_the_next_above_and_beyond_all_the_last() -> None:
    assert table_for(1e-9) == tables()[0.125]
    assert table_for(0.126) == tables()[0.25]
    assert table_for(8.0) == table_for(30.0) == tables()[8.0]


def test_bounds_of_their_own() -> None:
    """400,000 draws below bounds from 1 to 2^32 - 1: means within 5 standard errors, and in range.

    A bound just above 2^31 refuses half of the words: those rows are drawn again.
    """
    bounds = np.array([1, 2, 5, 4094 << 20, (1 << 31) + 1, (1 << 32) - 1], dtype=np.uint64)
    many = np.resize(bounds, 400_002)
    drawn = below_each(Seeded(4).stream(), many)
    assert (drawn < many).all()
    for bound in bounds:
        part = drawn[many == bound].astype(np.float64) / float(bound)
        middle = (1 - 1 / float(bound)) / 2
        error = math.sqrt((1 - float(bound) ** -2) / 12 / part.size)
        assert abs(part.mean() - middle) <= 5 * error


def test_the_bulk_draw_keeps_means() -> None:
    """100,000 people between two nodes that are far apart: within 5 standard errors.

    Half as many at the upper node would move the mean by a quarter, more than 30 of them.
    """
    mechanism, people = rumor.Window.with_table(2, [1, 3], epsilon=2.0, steps=8), 100_000
    batch = mechanism.privatize(np.full(people, 0.5), random=Seeded(5))
    error = math.sqrt(float(mechanism.variance(0.5, people)))
    assert error < 0.25 / 30
    found, _ = mechanism.moments(mechanism.tally(batch), people)
    assert abs(found - 0.5) < 5 * error


def test_nobody_stands_beyond_the_last_node() -> None:
    """The high end goes to the last node for sure, the low end to the first, and a node stays."""
    mechanism = rumor.Window.with_table(2, [1, 3], epsilon=2.0, steps=6)
    assert mechanism.sums == [-4, 0, 4]
    inside, outside = mechanism.exact_inside, mechanism.exact_outside
    assert law(mechanism, 0) == [inside, inside, outside, outside]
    assert law(mechanism, 3) == [outside, inside, inside, outside]
    assert law(mechanism, 6) == [outside, outside, inside, inside]


@pytest.mark.parametrize(
    "values",
    [None, [], [0, 1], [1, 1], [2, 1], [1, 2048], [1.0], [True], ["1"], list(range(1, 34)), "12"],
)
def test_tables_are_checked(values: object) -> None:
    with pytest.raises(InputError, match="values must be 1 to 32 ascending integers from 1 to"):
        checked_values(values)


def test_windows_are_checked() -> None:
    assert "window must be an integer from 1 to 3; got 4" in refused(
        lambda: rumor.Window.with_table(4, [1, 2], epsilon=1.0)
    )
    described = rumor.Window(epsilon=1.0).describe()
    useless = {**described, "inside": str((1 << 64) * 27 // 64)}
    assert "exceed its share" in refused(lambda: rumor.Window.from_parameters(useless))
