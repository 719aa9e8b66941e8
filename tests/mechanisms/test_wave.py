"""The wave: its odds in fractions, its window, and the line that its mean lies on."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import rumor
from rumor.core import exact
from rumor.core.errors import InputError
from rumor.mechanisms.wave.wave import Wave

SIZES = (2, 3, 5, 7, 16, 64, 100, 256, 1000, 1024, 4096)
EPSILONS = (0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_odds_are_at_most_e_to_the_epsilon_in_fractions(size: int, epsilon: float) -> None:
    wave = Wave(labels=size, epsilon=epsilon)
    odds = wave.exact_inside / wave.exact_outside
    assert 1 < odds <= exact.exp(epsilon)
    # Next to nothing of what may be spent is left unspent.
    assert wave.epsilon > epsilon * (1 - 1e-12)
    inside, outside = wave.window * wave.exact_inside, (size - 1) * wave.exact_outside
    assert inside + outside == 1


def test_the_window_follows_from_epsilon_and_steps_aside_for_round_numbers() -> None:
    windows = [Wave(labels=256, epsilon=e).window for e in (0.5, 1.0, 2.0, 4.0)]
    assert windows == [round(128 * math.exp(-e / 2)) for e in (0.5, 1.0, 2.0, 4.0)]
    assert [Wave(labels=5, epsilon=e).window for e in (1.0, 2.0)] == [2, 1]
    ages = Wave(low=0, high=110, epsilon=1.0, round_to=10)
    assert ages.window % 10 == 5
    assert abs(ages.window - 111 / 2 * math.exp(-0.5)) <= 5
    assert ages.marks == ((10, 0),)
    assert Wave(low=0, high=110, epsilon=1.0, round_to=[10, 5]).marks == ((5, 0), (10, 0))
    assert Wave(labels=9, epsilon=1.0, window=4).window == 4


def test_of_one_output_it_is_randomised_response() -> None:
    wave, plain = Wave(labels=7, epsilon=3.0), rumor.RandomizedResponse(domain=7, epsilon=3.0)
    assert wave.window == 1
    assert wave.channel().probabilities == plain.channel().probabilities
    assert wave.inside == plain.truth


@pytest.mark.parametrize("wave", Wave.examples(), ids=repr)
def test_the_mean_of_outputs_is_linear_in_the_position(wave: Wave) -> None:
    start, slope = wave.line
    if wave.domain * wave.alphabet > 5000:
        return
    for value in wave.inputs():
        mean = sum(
            (
                Fraction(y) * wave.probability(row.tobytes(), value)
                for y, row in enumerate(wave.outputs())
            ),
            Fraction(0),
        )
        assert mean == start + slope * wave.code(value)


def test_counts_give_back_the_mean_position() -> None:
    wave = Wave(labels=9, epsilon=1.0)
    law = wave.band.forward(np.arange(1.0, 10.0) / 45)
    counts = np.rint(law * 10**9).astype(np.int64)
    mean, variance = wave.mean_position(counts, int(counts.sum()))
    # Rounded to whole reports, each count is off by at most half of one.
    assert mean == pytest.approx(float(np.arange(9) @ (np.arange(1.0, 10.0) / 45)), abs=1e-6)
    outputs = np.arange(wave.alphabet)
    spread = float(law @ outputs**2 - (law @ outputs) ** 2)
    assert variance == pytest.approx(spread / float(wave.line[1]) ** 2, rel=1e-6)


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"labels": 5, "epsilon": 0}, "epsilon must be a number above 0 and at most 32; got 0"),
        ({"labels": 5, "epsilon": 1, "window": 6}, "window must be an integer from 1 to 5; got 6"),
        ({"labels": 5, "epsilon": 1, "round_to": 2}, "round is for a range of numbers"),
        ({"low": 0, "high": 9, "epsilon": 1, "round_to": 0}, "round must be a number above 0"),
        ({"low": 0, "high": 9, "epsilon": 1, "round_to": "5"}, "round must be a number above 0"),
        ({"low": 0, "high": 9, "epsilon": 1, "round_to": [2, 3, 4, 5]}, "at most 3 numbers"),
        ({"low": 0, "high": 9, "epsilon": 1, "round_to": 100}, "whole multiples begin a bin"),
    ],
)
def test_what_cannot_be_is_said(wish: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        Wave(**wish)  # type: ignore[arg-type]
    assert sentence in str(refused.value)


def test_histograms_of_another_shape_do_not_add_up() -> None:
    one, other = Wave(labels=5, epsilon=1.0), Wave(labels=5, epsilon=1.0, window=1)
    first, second = (rumor.Summary.empty(m).update(m.privatize([0, 4])) for m in (one, other))
    with pytest.raises(InputError, match="mechanism"):
        rumor.merge([first, second])


def test_labels_and_round_numbers_stand_beside_the_mechanism() -> None:
    named = Wave(labels=["low", "middle", "high"], epsilon=1.0)
    bare = Wave.from_parameters(named.describe())
    assert bare == named
    assert bare.labels is None
    assert bare.with_labels(["low", "middle", "high"]).code("high") == 2
    assert named.without_labels().code(1) == 1
    ages = Wave(low=0, high=20, epsilon=1.0, round_to=5)
    again = Wave.from_parameters(ages.describe())
    assert again.marks == ()
    assert again.rounded_to([5]).marks == ages.marks
