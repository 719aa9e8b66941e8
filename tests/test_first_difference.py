"""Lives of devices are compared step by step: the first step that differs is named."""

from __future__ import annotations

import pytest

from tests.javascript import first_difference


@pytest.mark.parametrize(
    ("found", "expected", "said"),
    [
        ({"steps": [1, {"spent": 2.0}]}, {"steps": [1, {"spent": 2.0}]}, ""),
        (
            {"steps": [1, {"spent": 2.5, "day": 3}], "pins": 1},
            {"steps": [1, {"spent": 2.0, "day": 4}], "pins": 2},
            "steps[1].spent: found 2.5, expected 2.0",
        ),
        ([1, 2], [1], "[1]: found 2, expected 'nothing'"),
        ({"a": 1}, {"a": 1, "b": None}, "b: found 'nothing', expected None"),
        ([[]], [{}], "[0]: found [], expected {}"),
    ],
)
def test_the_first_difference_is_told_with_its_place(
    found: object, expected: object, said: str
) -> None:
    assert first_difference(found, expected) == said
