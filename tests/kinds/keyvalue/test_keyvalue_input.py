"""Bad key-value input: one clear sentence each, and nothing half done."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rumor
from rumor.core.errors import InputError

LABELLED = rumor.KeyValueBlock(keys=["mail", "maps"], epsilon=1.0, low=0.0, high=10.0)
PLAIN = rumor.KeyValueBlock(keys=3, epsilon=1.0)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([{"mail": 11.0}], r"values must lie in 0 to 10 .*; got one outside at index 0"),
        (
            [{"mail": math.nan}],
            "the value of a key that is held must be a number; got NaN at index 0",
        ),
        ([{"mail": None}], "must be a number; got nothing at index 0"),
        ([{"mail": True}], "must be a number; got a boolean at index 0"),
        (
            [{"chat": 1.0}],
            r"a key must be one of the question's \(mail, maps\); got another at index 0",
        ),
        (
            [{7: 1.0}],
            r"a key must be one of the question's \(mail, maps\); got another at index 0",
        ),
        (
            [{"mail": 1.0}, 3],
            "every person must be a dict of keys and values; got a number at index 1",
        ),
        (np.zeros((4, 3)), r"a column for each of the 2 keys; got shape \(4, 3\)"),
        (np.zeros((0, 2)), "empty"),
        ([], "empty"),
        (np.array([["a", "b"]]), "must hold numbers"),
        ("mail", "key-value answers must be a table"),
        ({"mail": 1.0}, "key-value answers must be a table"),
        ([["x", 1.0]], "a row of 2 numbers"),
    ],
)
def test_bad_people(values: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        LABELLED.privatize(values)


@pytest.mark.parametrize("row", [0, 17, 39_999])
def test_a_single_value_outside_is_always_found(row: int) -> None:
    """Also where the key is not the one that is reported on, in any chunk and precision."""
    for dtype in (np.float64, np.float32):
        table = np.zeros((40_000, 3), dtype=dtype)
        table[row, 1] = 1.5
        with pytest.raises(InputError, match=rf"got one outside at index {row:,}$"):
            PLAIN.privatize(table)
        with pytest.raises(InputError, match=rf"got one outside at index {row:,}$"):
            PLAIN.checked(table)


def test_ends_of_a_narrow_float_are_inside() -> None:
    mechanism = rumor.KeyValueBlock(keys=1, epsilon=1.0, low=0.0, high=0.1)
    mechanism.privatize(np.array([[0.1]], dtype=np.float32))


def test_people_read_for_another_question() -> None:
    other = rumor.KeyValueBlock(keys=3, epsilon=1.0, high=2.0)
    long = PLAIN.long_pairs(["ann"], [0], [0.5])
    for people in (PLAIN.checked(np.zeros((2, 3))), PLAIN.read(np.zeros((2, 3))), long):
        PLAIN.privatize(people)
        with pytest.raises(InputError, match="must have been read for the same keys and range"):
            other.privatize(people)


def test_clipping() -> None:
    mechanism = rumor.KeyValueBlock(keys=2, epsilon=1.0, outside="clip", steps=10)
    table = np.array([[-7.0, math.inf]])
    assert mechanism.checked(table).at(0, np.array([[0, 1]])).tolist() == [[0, 10]]


def test_repeated_keys_of_one_person() -> None:
    with pytest.raises(
        InputError, match="hold each key once; got one for the second time at index 2"
    ):
        LABELLED.long_pairs(["ann", "bob", "ann"], ["maps", "maps", "maps"], [1.0, 2.0, 3.0])


def test_long_columns() -> None:
    with pytest.raises(InputError, match="must have the same length; got 1, 2 and 2"):
        LABELLED.long_pairs(["ann"], ["maps", "mail"], [1.0, 2.0])
    with pytest.raises(InputError, match="got 1 missing"):
        LABELLED.long_pairs(["ann"], ["maps"], [math.nan])
    with pytest.raises(InputError, match="must hold numbers"):
        LABELLED.long_pairs(["ann"], ["maps"], ["many"])
    pairs = LABELLED.long_pairs(["ann", "bob"], ["", "maps"], [None, 2.0])
    assert pairs.sizes().tolist() == [0, 1]


@pytest.mark.parametrize("kind", [rumor.ItemSampling, rumor.PckvGrr])
def test_more_keys_than_the_cap(kind: type[rumor.ItemSampling] | type[rumor.PckvGrr]) -> None:
    people = [{0: 0.1, 1: 0.1, 2: 0.1}]
    refuse = kind(keys=3, epsilon=1.0, cap=2)
    sentence = r"a person must hold at most 2 keys \(the cap\); got more at index 1$"
    with pytest.raises(InputError, match=sentence):
        refuse.privatize([{}, *people])
    kind(keys=3, epsilon=1.0, cap=2, over_cap="sample").privatize(people)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: rumor.KeyValueBlock(keys=0, epsilon=1.0), "keys must be an integer from 1"),
        (lambda: rumor.KeyValueBlock(keys=["a", "a"], epsilon=1.0), "distinct"),
        (lambda: rumor.KeyValueBlock(keys=3, epsilon=1.0, block=4), "block must be an integer"),
        (lambda: rumor.KeyValueBlock(keys=3, epsilon=-1), "epsilon must be a number above 0"),
        (lambda: rumor.PrivKV(keys=3, epsilon=1.0, split="half"), "split must be one of nominal"),
        (lambda: rumor.PrivKVM(keys=3, epsilon=1.0, rounds=1), "rounds must be an integer from 2"),
        (lambda: rumor.ItemSampling(keys=3, epsilon=1.0, cap=4), "cap must be an integer from 1"),
        (lambda: rumor.ItemSampling(keys=3, epsilon=1.0, cap=2, over_cap="x"), "over_cap must be"),
        (lambda: rumor.KeyValueBlock(keys=3, epsilon=1.0, low=2.0), "low must be below high"),
    ],
)
def test_bad_arguments(make: object, sentence: str) -> None:
    assert callable(make)
    with pytest.raises(InputError, match=sentence):
        make()


def collection(**question: object) -> rumor.Collection:
    return rumor.Collection.resolve(
        {
            "name": "Apps",
            "series": "apps",
            "contact": "us",
            "questions": [{"id": "apps", "kind": "keyvalue", "keys": ["a", "b"], **question}],
        }
    )


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ({}, "needs an epsilon"),
        ({"epsilon": 1, "mechanism": "randomized-response"}, "a mechanism must be one of auto,"),
        ({"epsilon": 1, "mechanism": "item-sampling"}, "needs a cap"),
        ({"epsilon": 1, "mechanism": "privkv", "cap": 2}, "takes no cap; got 2"),
        (
            {"epsilon": 1, "mechanism": {"name": "privkv", "splitt": "exact"}},
            "did you mean 'split'",
        ),
        ({"epsilon": 1, "low": 2, "high": 1}, "low must be below high"),
        ({"epsilon": 1, "domain": 2}, "a question has the keys"),
    ],
)
def test_bad_questions(question: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        collection(**question)


def test_questions_resolve_and_round_trip() -> None:
    for question in (
        {"epsilon": 1.0},
        {"epsilon": 1.0, "cap": 1},
        {"epsilon": 2.0, "mechanism": {"name": "privkv", "split": "exact"}, "high": 5},
        {"epsilon": 2.0, "mechanism": {"name": "item-sampling", "over_cap": "sample"}, "cap": 1},
        {"epsilon": 2.0, "mechanism": "privkvm", "outside": "clip"},
    ):
        resolved = collection(**question)
        assert resolved.question().labels == ("a", "b")
        assert rumor.Collection.from_json(resolved.canonical()) == resolved


def test_a_number_must_have_both_ends() -> None:
    wish = {"name": "N", "series": "n", "contact": "us"}
    question = {"id": "n", "kind": "number", "epsilon": 1.0, "low": 0}
    with pytest.raises(InputError, match="a number must have a low and a high end"):
        rumor.Collection.resolve({**wish, "questions": [question]})
    full = rumor.Collection.resolve({**wish, "questions": [{**question, "high": 1}]})
    assert rumor.Collection.from_json(full.canonical()) == full
