"""Answers of several parts: cells, their numbers, and what is refused in one sentence."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rumor.core.errors import AnswerError, InputError
from rumor.mechanisms.mixed.parts import Parts

NAMED = Parts.of(
    [
        {"id": "smokes", "labels": ["yes", "no"]},
        {"id": "drinks", "labels": ["never", "1", "much"]},
    ]
)

B = {"id": "b", "labels": ["x", "y"]}


def test_cells_are_numbered_with_the_last_part_running_fastest() -> None:
    assert [NAMED.code(answer) for answer in NAMED.inputs()] == list(range(6))
    assert NAMED.code({"drinks": "much", "smokes": "no"}) == 5
    assert NAMED.code(["yes", 1]) == 1, "an integer is the label that it is written as"
    assert NAMED.codes([("no", "never"), {"smokes": "yes", "drinks": "much"}]).tolist() == [3, 2]
    assert NAMED.codes(np.array([4, 0])).tolist() == [4, 0]
    table = np.array([["no", "1"], ["yes", "never"]], dtype=object)
    assert NAMED.codes(table).tolist() == [4, 0]


def test_a_cell_within_some_parts_is_that_of_their_own_table() -> None:
    parts = Parts.of([3, 2, 4])
    cells = np.arange(parts.cells)
    places = np.array(list(itertools.product(range(3), range(2), range(4))))
    for asks in [(0,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]:
        wanted = np.ravel_multi_index(places[:, asks].T, [parts.sizes[part] for part in asks])
        np.testing.assert_array_equal(parts.within(cells, asks), wanted)
        assert [parts.one_within(int(cell), asks) for cell in cells] == wanted.tolist()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([11, 10], "at most 100 cells (ask for coarser answers, or each part as a question of"),
        ([2, 3, 60], "got 2 times 60"),
        ([5], "2 to 4 of them, each with an id and labels; got 1"),
        ([2] * 5, "got 5"),
        ("5x5", "got '5x5'"),
        ([2, 1], "the values of a part must be an integer from 2 to 100; got 1"),
        ([2, {"id": "a", "labels": ["x", "y"]}], "a part must be an object; got 2"),
        ([{"id": "a"}, {"id": "b"}], "a part must have exactly the keys id, labels"),
        ([{"id": "a", "labels": ["x", "y"]}] * 2, "ids of parts must be distinct"),
        ([{"id": "A", "labels": ["x", "y"]}] * 2, "id of a part must be 1 to 64 lower-case"),
        ([{"id": "a", "labels": "xy"}, B], "labels of part 'a' must be a list; got 'xy'"),
        ([{"id": "a", "labels": ["x"]}, B], "the number of labels of part 'a' must be an integer"),
        ([{"id": "a", "labels": ["x", "x"]}, B], "labels must be distinct"),
    ],
)
def test_parts_that_cannot_be_are_refused(given: object, said: str) -> None:
    with pytest.raises(InputError) as problem:
        Parts.of(given)
    assert said in str(problem.value)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"smokes": "yes"}, "every part (smokes, drinks); got none for 'drinks'"),
        ({"smokes": "yes", "drinks": "much", "x": 1}, "got others as well"),
        (["yes"], "got 1 of 2"),
        ("yes", "got a text"),
        ({"smokes": "perhaps", "drinks": "much"}, "'smokes' of an answer must be one of its"),
        ({"smokes": "yes", "drinks": None}, "'drinks' of an answer must be one of its labels"),
    ],
)
def test_answers_that_break_a_rule_are_refused_and_never_shown(answer: object, said: str) -> None:
    for read in (NAMED.code, lambda given: NAMED.codes([["no", "never"], given])):
        with pytest.raises(AnswerError) as problem:
            read(answer)
        assert said in str(problem.value)
        assert "perhaps" not in str(problem.value)
    assert "at index 1" in str(problem.value)


def test_columns_that_are_none_are_refused() -> None:
    with pytest.raises(InputError, match="a column for each of 2 parts; got an array of shape"):
        NAMED.codes(np.zeros((3, 3), dtype=np.int64))
    with pytest.raises(InputError, match="a row for each person, or numbers of cells; got a text"):
        NAMED.codes("yes")
    with pytest.raises(InputError, match="empty batch"):
        NAMED.codes([])
