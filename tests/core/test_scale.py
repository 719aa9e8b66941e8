"""Scales of ordered answers: which position an answer stands at, and what it is called."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumor.core.errors import AnswerError, InputError
from rumor.mechanisms.wave.scale import Bins, Scale, Steps, scale_from_contract, scale_from_spec


def test_whole_numbers_have_a_position_each() -> None:
    ages = scale_from_spec(low=0, high=110)
    assert (ages.domain, ages.whole, ages.unit) == (111, True, 1.0)
    assert ages.codes([0, 17, 110, 17.4, 17.5, -3, 1e9]).tolist() == [0, 17, 110, 17, 18, 0, 110]
    assert ages.names()[:2] == ["0", "1"]
    assert ages.middles.tolist() == list(range(111))
    assert ages.answers_in_words == "a whole number from 0 to 110"
    assert ages.range_name(15, 20) == "15 to 19"


def test_any_other_range_is_cut_into_bins() -> None:
    hours = scale_from_spec(low=0, high=24, bins=96)
    assert (hours.domain, hours.whole, hours.unit) == (96, False, 0.25)
    assert hours.codes([0, 0.25, 23.999, 24, 25]).tolist() == [0, 1, 95, 95, 95]
    assert hours.names()[1] == "0.25 to 0.5"
    assert hours.range_name(90, 200) == "22.5 to 24"
    assert scale_from_spec(low=0.5, high=2).domain == 250
    assert scale_from_spec(low=0, high=5000).domain == 250


@given(st.floats(allow_nan=False), st.integers(2, 400), st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_every_number_has_a_position_the_same_one_by_one_and_in_bulk(
    value: float, bins: int, low: float, length: float
) -> None:
    scale = Bins(low, low + length, bins, "clip")
    position = scale.code(value)
    assert 0 <= position < bins
    assert scale.codes(np.array([value])).tolist() == [position]
    if low < value < low + length:
        assert abs(scale.point(value) - position) <= 1 + 1e-6


def test_labels_are_worth_what_they_say_or_their_place() -> None:
    ratings = scale_from_spec(labels=["1", "2", "3", "4", "5"])
    assert ratings.numeric
    assert ratings.middles.tolist() == [1, 2, 3, 4, 5]
    tens = scale_from_spec(labels=["10", "20", "30"])
    assert (tens.start, tens.unit, tens.middles.tolist()) == (5.0, 10.0, [10, 20, 30])
    often = scale_from_spec(labels=["never", "rarely", "often"])
    assert not often.numeric
    assert often.middles.tolist() == [1, 2, 3]
    assert often.code("rarely") == 1
    assert often.unlabelled().code(2) == 2
    for uneven in (["1", "2", "5"], ["3", "2", "1"], ["1", "2", "inf"]):
        assert not scale_from_spec(labels=uneven).numeric
    # A rating that comes as an integer is the label that it is written as.
    assert ratings.codes(np.array([5, 1])).tolist() == [4, 0]


@pytest.mark.parametrize(
    ("scale", "spacing", "marks"),
    [
        (Bins.of_whole_numbers(0, 110, "clip"), 5.0, (5, 0)),
        (Bins.of_whole_numbers(18, 99, "clip"), 10.0, (10, 2)),
        (Bins(0.0, 24.0, 96, "clip"), 0.5, (2, 0)),
        (Bins(-3.0, 3.0, 60, "clip"), 1.0, (10, 0)),
        (Bins(0.05, 1.05, 100, "clip"), 0.1, (10, 5)),
    ],
)
def test_round_numbers_are_bins(scale: Scale, spacing: float, marks: tuple[int, int]) -> None:
    assert scale.round_marks(spacing) == marks
    apart, first = marks
    number = math.ceil(scale.start / spacing) * spacing
    assert scale.code(number + 1e-9) == first
    assert scale.code(number + spacing + 1e-9) == first + apart


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"low": 5, "high": 5}, "low must be below high; got 5 and 5"),
        ({"low": 1, "high": 0}, "low must be below high; got 1 and 0"),
        ({"low": math.nan, "high": 1}, "low must be a finite number; got nan"),
        ({"low": 0, "high": 1, "bins": 1}, "bins must be an integer from 2 to 4,096; got 1"),
        ({"low": 0, "high": 1, "bins": 5000}, "bins must be an integer from 2 to 4,096; got 5,000"),
        ({"labels": ["a", "a"]}, "labels must be distinct; got 'a' more than once"),
        ({"labels": ["a"]}, "domain (the number of labels) must be an integer from 2 to 4,096"),
        ({"labels": ["a", "b"], "low": 0}, "labels have no low; got 0"),
        ({"low": 0}, "ordered answers must have labels in their order, or a low and a high end"),
        ({}, "ordered answers must have labels in their order, or a low and a high end"),
        ({"low": 0, "high": 1, "outside": "bend"}, "outside must be one of refuse, clip"),
    ],
)
def test_what_is_no_scale_is_said(wish: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        scale_from_spec(**wish)
    assert sentence in str(refused.value)


def test_answers_that_do_not_fit_are_refused_without_being_repeated() -> None:
    with pytest.raises(InputError, match="NaN"):
        scale_from_spec(low=0, high=1).codes([0.5, math.nan])
    strict = scale_from_spec(low=0, high=10, outside="refuse")
    with pytest.raises(AnswerError, match="index 1"):
        strict.codes([3, 77])
    assert strict.code(77) == 10
    assert strict.notes(77)
    assert not strict.notes(7)
    with pytest.raises(AnswerError) as refused:
        scale_from_spec(labels=["never", "often"]).code("secret")
    assert "secret" not in str(refused.value)
    with pytest.raises(InputError, match="round is for a range of numbers"):
        Steps(3).round_marks(5.0)
    with pytest.raises(InputError, match="whole multiples begin a bin"):
        Bins(0.0, 1.0, 10, "clip").round_marks(0.25)
    with pytest.raises(InputError, match="range must be a list of two numbers"):
        scale_from_contract(3, ["0,1", "clip"])
    with pytest.raises(InputError, match="labels are for steps"):
        Bins(0.0, 1.0, 10, "clip").labelled(("a",) * 10)
