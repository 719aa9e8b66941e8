"""Every check of answers, one off from its edge: the sentence names the rule and the place.

The answers that are refused stand in the second place, so that a place is told from none.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rumor.core.columns import as_column, encode, one_code, words_and_codes
from rumor.core.number_range import NumberGrid, as_number_column, parse_number
from rumor.core.option_sets import one_set, read_sets
from rumor.core.pairs import Layout
from rumor.core.reports import Validity
from rumor.mechanisms.mixed.parts import Parts
from tests import limits
from tests.limits import Rule

NAMES = {"x": 0, "y": 1, "7": 2}
GRID = NumberGrid.create(0.0, 4.0, 4, "refuse")
PLAIN, NAMED = Layout(2, None, GRID), Layout(3, {"k": 0, "l": 1, "\u00e9": 2}, GRID)
PARTS = Parts.of([2, 3])
TOLD = Parts.of([{"id": "a", "labels": ["x", "y"]}, {"id": "b", "labels": ["u", "v", "w"]}])
MASKED = np.ma.array([0, 1], mask=[False, True])
sets = functools.partial(read_sets, domain=3, positions=None)
one = functools.partial(one_set, domain=3, positions=None)


def rule(says: str, give: Any, takes: Any, refuses: Any) -> Rule:
    """Return a rule of answers: its sentence says where one stands, and never which it is."""
    return Rule(says, give, takes, refuses, shows=False)


def plain(*values: object) -> object:
    return encode(list(values), 3, None)


def positions(column: object) -> Any:
    return encode(column, 3, None)


def labelled(*values: object) -> object:
    return encode(list(values), 3, NAMES)


def long(person: Any = (1, 1), key: Any = (0, 1), value: Any = (1.0, 2.0)) -> object:
    return PLAIN.columns(list(person), list(key), list(value))


RULES = [
    # Columns of positions and of labels.
    rule(
        "values must lie in 0..2; got another integer at index 1",
        lambda v: plain(0, v),
        (0, 2),
        (-1, 3, 1 << 40),
    ),
    rule(
        "values must lie in 0..2; got another integer at index 1",
        lambda v: encode(np.array([0, v], np.int8), 3, None),
        (0, 2),
        (-1, 3, -128, 127),
    ),
    rule(
        "values must be integers from 0 to 2, since the domain has no labels; "
        "got a text at index 1",
        lambda v: plain(0, v),
        (2,),
        ("2", "x"),
    ),
    rule(
        "values must be integers from 0 to 2, since the domain has no labels; "
        "got a boolean at index 1",
        lambda v: plain(0, v),
        (1,),
        (True,),
    ),
    rule(
        "values must be integers from 0 to 2 or labels; got dtype float64",
        lambda v: plain(0, v),
        (1,),
        (1.0, 1.5),
    ),
    rule(
        "an integer must be written as one of the labels (x, y, 7) is; got "
        "another integer at index 1",
        lambda v: encode(np.array([7, v]), 3, NAMES),
        (7,),
        (6, 8, -7),
    ),
    rule(
        "a label must be one of the domain's (x, y, 7); got another text at index 1",
        lambda v: labelled("x", v),
        ("x", "y", "7", 7),
        ("z", "X", "", "x "),
    ),
    rule(
        "a label must be one of the domain's (x, y, 7); got a boolean at index 1",
        lambda v: labelled("x", v),
        (),
        (True,),
    ),
    rule(
        "values must be one column; got an array of shape (1, 2)",
        lambda v: encode(v, 3, None),
        ([0, 1],),
        (np.array([[0, 1]]),),
    ),
    rule(
        "values must be one column; got lists of several lengths",
        as_column,
        ([[0], [1]],),
        ([[0], [1, 2]],),
    ),
    rule(
        "values must hold at least one answer; got an empty batch",
        lambda v: encode(v, 3, None),
        ([0],),
        ([],),
    ),
    rule(
        "values must be a column of answers, not one value; got ", as_column, ([0],), ("x", b"x", 1)
    ),
    rule("values must not be missing; got 1 masked", as_column, (MASKED[:1],), (MASKED,)),
    rule(
        "values must not be missing; got 2 nulls",
        as_column,
        (pa.array([1]),),
        (pa.array([1, None, None]),),
    ),
    rule("values must be texts; got dtype int64", words_and_codes, (["x"],), ([1], np.array([1]))),
    rule(
        "values must be texts; got a number at index 1", words_and_codes, (["x", "y"],), (["x", 1],)
    ),
    rule(
        "values must be valid Unicode; got half a character at index 1",
        words_and_codes,
        (["x", "\ud7ff"],),
        (["x", "\ud800"],),
    ),
    rule(
        "values must lie in 0..2; got another integer",
        lambda v: one_code(positions, v, "the rule"),
        (0, 2),
        (3, -1),
    ),
    rule("the rule; got a number", lambda v: one_code(positions, v, "the rule"), (1,), (1.5,)),
    # Numbers.
    rule(
        "values must be numbers; got 1 missing (NaN)",
        lambda v: GRID.codes(np.array([0.0, v])),
        (0.0, 4.0),
        (math.nan,),
    ),
    rule(
        'values must lie in 0 to 4 (or be clipped: outside = "clip"); got one outside at index 1',
        lambda v: GRID.codes(np.array([0.0, v])),
        (0.0, 4.0),
        (math.nextafter(0, -1), math.nextafter(4, 5), math.inf, -math.inf),
    ),
    rule(
        "an answer must be a number; got ",
        parse_number,
        (0, 1.5, math.inf, 10**400),
        ("1", None, True, [1]),
    ),
    rule("an answer must be a number; got NaN", parse_number, (0.0,), (math.nan,)),
    rule(
        "values must be numbers; got a text at index 1", as_number_column, ([0, 1.5],), ([0, "1"],)
    ),
    rule(
        "values must be numbers; got a boolean at index 1",
        as_number_column,
        ([0, 1],),
        ([0, True],),
    ),
    # Parts of a table.
    rule(
        "an answer must have every part (0, 1); got ",
        PARTS.code,
        ([0, 2],),
        ([0], [0, 1, 2], "01", 1),
    ),
    rule(
        "an answer must have every part (a, b); got none for 'b'",
        TOLD.code,
        ({"a": "x", "b": "w"},),
        ({"a": "x"},),
    ),
    rule(
        "an answer must have every part (a, b); got others as well",
        TOLD.code,
        ({"a": "x", "b": "w"},),
        ({"a": "x", "b": "w", "c": "u"},),
    ),
    rule(
        "an answer must have every part (0, 1); got 3 of 2 at index 1",
        lambda v: PARTS.codes([[0, 0], v]),
        ([1, 2],),
        ([0, 1, 2],),
    ),
    rule(
        "the part 1 of an answer must be an integer below 3; got another integer",
        lambda v: PARTS.code([0, v]),
        (0, 2),
        (3, -1),
    ),
    rule(
        "the part 'b' of an answer must be one of its labels; got another text",
        lambda v: TOLD.code(["x", v]),
        ("u", "w"),
        ("x", ""),
    ),
    rule(
        "the part 'b' of an answer must be one of its labels; got another text at index 1",
        lambda v: TOLD.codes([["x", "u"], ["x", v]]),
        ("u", "w"),
        ("x", ""),
    ),
    rule(
        "values must lie in 0..2; got another integer at index 1",
        lambda v: PARTS.codes([[0, 0], [1, v]]),
        (0, 2),
        (3, -1),
    ),
    rule(
        "answers must be a row for each person, or numbers of cells; got ",
        PARTS.codes,
        ([[0, 0]], np.array([5])),
        ("00", 5),
    ),
    rule(
        "answers must have a column for each of 2 parts; got an array of shape ",
        PARTS.codes,
        (np.zeros((1, 2), int),),
        (np.zeros((1, 1), int), np.zeros((1, 3), int), np.zeros((1, 2, 1), int)),
    ),
    # Sets of options.
    rule(
        "values must be a list of answers; got ",
        sets,
        ([[0]],),
        ("0", 1, np.zeros((1, 3, 1), bool)),
    ),
    rule("got an empty batch", sets, ([[]], np.zeros((1, 3), bool)), ([], np.zeros((0, 3), bool))),
    rule(
        "got one twice at index 1", lambda v: sets([[0, 1], v]), ([0, 2], []), ([0, 0], [2, 1, 2])
    ),
    rule("; got a number at index 1", lambda v: sets([[0], v]), ([1],), (1, 1.5)),
    rule(
        "; got an array of shape (1, 1) at index 1",
        lambda v: sets([[0], v]),
        (np.array([1]),),
        (np.array([[1]]),),
    ),
    rule(
        "options must not be missing; got some masked at index 1",
        lambda v: sets([[0], v]),
        (MASKED[:1],),
        (MASKED,),
    ),
    rule(
        "values must lie in 0..2; got another integer at index 1",
        lambda v: sets([[0, 1], [2, v], [0]]),
        (0, 1),
        (3, -1),
    ),
    rule(
        "a table of yes and no must have 3 columns of booleans; got ",
        sets,
        (np.ones((1, 3), bool),),
        (np.ones((1, 2), bool), np.ones((1, 4), bool), np.ones((1, 3), int)),
    ),
    rule("; got a number", one, ([0],), (0, 1.5)),
    rule("got one twice", one, ([0, 1],), ([0, 0],)),
    rule("values must lie in 0..2; got another integer", one, ([0, 2],), ([3],)),
    rule(
        "options must be labels or positions; got something else",
        one,
        ([0],),
        ([0.5], [[0], [1, 2]]),
    ),
    # Keys with numbers.
    rule(
        "a key must be an integer from 0 to 1; got another",
        lambda v: PLAIN.key(v),
        (0, 1, np.int64(1)),
        (-1, 2, True, "0", 0.0),
    ),
    rule(
        "a key must be one of the question's (k, l, \u00e9); got another",
        lambda v: NAMED.key(v),
        ("k", "l"),
        ("m", "", 0, None),
    ),
    rule(
        "a key must be an integer from 0 to 1; got another at index 1",
        lambda v: PLAIN.read([{0: 1}, {v: 1}]),
        (1,),
        (2,),
    ),
    rule(
        "every person must be a dict of keys and values; got a list at index 1",
        lambda v: PLAIN.read([{0: 1}, v]),
        ({},),
        ([1, 2],),
    ),
    rule(
        "the value of a key that is held must be a number; got a text at index 1",
        lambda v: PLAIN.read([{0: 1}, {0: v}]),
        (1,),
        ("1",),
    ),
    rule(
        "a person must hold each key once; got one twice",
        lambda v: NAMED.held(v),
        ({"k": 1, "l": 1},),
        ({"\u00e9": 1, "e\u0301": 1},),
    ),
    rule(
        "an answer must be an object of keys and numbers; got ",
        PLAIN.held,
        ([1, None], (1, 2), {}),
        ([1], [1, 2, 3], "12", 1, None),
    ),
    rule(
        "key-value answers must be a table (people, keys) with NaN for what is not held",
        PLAIN.read,
        ([{}],),
        ("12", {0: 1}, 1),
    ),
    rule(
        "values must hold at least one person; got an empty batch",
        PLAIN.read,
        ([{}],),
        ([], np.zeros((0, 2))),
    ),
    rule(
        "values must hold at least one person; got an empty batch",
        lambda v: long(*v),
        (),
        (([], [], []),),
    ),
    rule(
        "key-value answers must be a row of 2 numbers (None: does not hold) or "
        "a dict for each person; got something else",
        PLAIN.read,
        ([[1, None]],),
        ([["x", 1]], [[1], [1, 2]]),
    ),
    rule(
        "a table of answers must have a column for each of the 2 keys; got shape ",
        PLAIN.read,
        (np.zeros((1, 2)),),
        (np.zeros((1, 1)), np.zeros((1, 3)), np.zeros(2), [[1, 2, 3]]),
    ),
    rule(
        "a table of answers must hold numbers; got dtype ",
        PLAIN.read,
        (np.zeros((1, 2), int),),
        (np.zeros((1, 2), bool),),
    ),
    rule(
        "people must have been read for the same keys and range: 2 keys, ",
        PLAIN.read,
        (PLAIN.read([{0: 1}]),),
        (
            Layout(3, None, GRID).read([{0: 1}]),
            Layout(2, None, NumberGrid.create(0.0, 4.0, 5, "refuse")).read([{0: 1}]),
        ),
    ),
    rule(
        "the columns person, key and value must have the same length; got ",
        lambda v: long(*v),
        (([1], [0], [1.0]),),
        (([1, 2], [0], [1.0]), ([1], [0, 1], [1.0]), ([1], [0], [1.0, 2.0])),
    ),
    rule(
        "the column person must hold names of one type",
        lambda v: long(person=v),
        ((1, 2), ("a", "b")),
        ((1, "a"),),
    ),
    rule(
        "the column value must hold numbers; got something else",
        lambda v: long(value=v),
        ((1, 2),),
        ((1, "x"),),
    ),
    rule(
        "a key must be a label or an integer; got a list at index 1",
        lambda v: PLAIN.columns([1, 1], np.array([0, v, None], object)[:2], [1.0, 2.0]),
        (1,),
        ([1],),
    ),
    rule(
        "a person must hold each key once; got one for the second time at index 1",
        lambda v: long(key=v),
        ((0, 1), (1, 0)),
        ((0, 0), (1, 1.0)),
    ),
    rule(
        "a table of answers must have the columns person, key and value, or a "
        "column for each of the 2 keys; got ",
        lambda v: PLAIN.read(pa.table({name: [1.0] for name in v})),
        (("0", "1"), ("1", "0")),
        (("0",), ("0", "2"), ("0", "1", "2"), ("person", "key")),
    ),
    rule(
        "a table of answers must hold numbers; got something else",
        lambda v: PLAIN.read(pa.table({"0": [1.0], "1": [v]})),
        (1.0,),
        ("x",),
    ),
    # Reports.
    rule(
        "tokens must be valid: a byte; got 1 that are not, the first at index 1",
        lambda v: Validity(np.array(v), "a byte").require("tokens"),
        ([True, True], []),
        ([True, False],),
    ),
]


@pytest.mark.parametrize("rule", limits.cases(RULES))
def test_a_check_holds_at_its_edges(rule: Rule) -> None:
    limits.check(rule)
