"""The same reports give the same answer in the next version, and a chart shows what it showed.

A change of these numbers is a change that users notice: it goes into CHANGELOG, and the files are
written anew by `python -m tests.vectors.make_answers` and READ.
"""

from __future__ import annotations

import pytest

from tests.answers import cases
from tests.answers.cases import SLOW, answers, charts, computed, plans
from tests.answers.plain import FILES, difference, read

_ANSWERS, _CHARTS = answers(), charts()


@pytest.mark.parametrize("name", _ANSWERS)
@pytest.mark.slow_cases(*SLOW)
def test_an_answer_stays(name: str) -> None:
    assert not difference(computed(_ANSWERS[name]), read("answers").get(name, "nothing"), name)


@pytest.mark.parametrize("name", _CHARTS)
def test_a_chart_shows_what_it_showed(name: str) -> None:
    assert not difference(computed(_CHARTS[name]), read("charts").get(name, "nothing"), name)


def test_the_files_hold_these_answers_and_no_others() -> None:
    assert set(read("answers")) == {*_ANSWERS, *plans()}
    assert set(read("charts")) == set(_CHARTS)
    assert FILES["answers"].stat().st_size < 700_000
    assert FILES["charts"].stat().st_size < 300_000


def test_an_option_without_a_value_to_try_is_named() -> None:
    with pytest.raises(KeyError, match="'sharpness' of 'choice' has no value in TRIED"):
        cases.tried("choice", "sharpness")


@pytest.mark.parametrize(
    ("found", "expected", "said"),
    [
        ({"a": [1.0, 2.0]}, {"a": [1.0, 2.0 + 1e-6]}, ""),
        ({"a": [1.0, 2.0]}, {"a": [1.0, 2.001]}, "a[1]: found 2.0, expected 2.001"),
        ({"a": 1e-12}, {"a": 0.0}, ""),
        ({"a": 1.0}, {"a": 1}, ""),
        ({"a": None}, {"a": 0.0}, "a: found None, expected 0.0"),
        ({"a": 1.0}, {"b": 1.0}, "b: found 'nothing', expected 1.0"),
        ("3 of 4", "3 of 5", ": found '3 of 4', expected '3 of 5'"),
    ],
)
def test_the_first_number_that_differs_is_named(found: object, expected: object, said: str) -> None:
    assert difference(found, expected) == said
