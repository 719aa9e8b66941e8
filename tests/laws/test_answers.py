"""The law of answers: where they come from makes no difference to what they mean.

The same answers from a list, numpy, pandas, Polars, Arrow, Parquet, CSV or one at a time, as
integers or as their text, have the same positions, or are refused by all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumor import Collection, KeyValueBlock, RandomizedResponse
from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError
from rumor.core.pairs import LongTable
from rumor.kinds import KINDS
from rumor.mechanisms.oracle import FrequencyOracle

Reader = Callable[[Collection, Path, Sequence[int]], list[int]]


def _oracle(collection: Collection) -> FrequencyOracle:
    mechanism = collection.questions[0].mechanism
    assert isinstance(mechanism, FrequencyOracle)
    return mechanism


def _column(make: Callable[[Sequence[int]], Any]) -> Reader:
    return lambda collection, _, answers: _oracle(collection).encode(make(answers)).tolist()


def _one_by_one(collection: Collection, _: Path, answers: Sequence[int]) -> list[int]:
    return [_oracle(collection).code(answer) for answer in answers]


def _table(collection: Collection, path: Path) -> list[int]:
    question = collection.questions[0]
    return [
        code
        for codes, _ in KINDS[question.kind].read(
            "rating", question.mechanism, AnswerTable.open(path), None
        )
        for code in codes.tolist()
    ]


def _csv(collection: Collection, folder: Path, answers: Sequence[int]) -> list[int]:
    path = folder / "answers.csv"
    path.write_text("rating\n" + "".join(f"{answer}\n" for answer in answers))
    return _table(collection, path)


def _parquet(make: Callable[[Sequence[int]], Any]) -> Reader:
    def read(collection: Collection, folder: Path, answers: Sequence[int]) -> list[int]:
        path = folder / "answers.parquet"
        pq.write_table(pa.table({"rating": make(answers)}), path)
        return _table(collection, path)

    return read


SOURCES: dict[str, Reader] = {
    "numpy": _column(np.array),
    "numpy int8": _column(lambda answers: np.array(answers, dtype=np.int8)),
    "numpy objects": _column(lambda answers: np.array(answers, dtype=object)),
    "tuple": _column(tuple),
    "pandas": _column(pd.Series),
    "pandas Int64": _column(lambda answers: pd.Series(answers, dtype="Int64")),
    "pandas category": _column(lambda answers: pd.Series(answers, dtype="category")),
    "polars": _column(pl.Series),
    "arrow": _column(pa.array),
    "arrow dictionary": _column(lambda answers: pa.array(answers).dictionary_encode()),
    "one by one": _one_by_one,
    "csv": _csv,
    "parquet": _parquet(pa.array),
    "parquet int16": _parquet(lambda answers: pa.array(answers, pa.int16())),
    "parquet dictionary": _parquet(lambda answers: pa.array(answers).dictionary_encode()),
}
# With labels an integer is its text, so its text must do as well.
AS_TEXT: dict[str, Reader] = {
    "texts": _column(lambda answers: [str(answer) for answer in answers]),
    "numpy texts": _column(lambda answers: np.array([str(answer) for answer in answers])),
    "texts and integers": _column(lambda answers: [str(answers[0]), *answers[1:]]),
    "parquet texts": _parquet(lambda answers: pa.array([str(answer) for answer in answers])),
}

NAMES = st.sampled_from(["0", "1", "2", "3", "-1", "+1", "01", "1.0", " 1", "none", "4"])


def _collection(**domain: object) -> Collection:
    question = {"id": "rating", "kind": "choice", "text": "?", "epsilon": 1.0, **domain}
    people = {"name": "ratings", "series": "ratings", "contact": "a@example.org"}
    return Collection.resolve({**people, "questions": [question]})


def _read(reader: Reader, collection: Collection, folder: Path, answers: list[int]) -> object:
    try:
        return reader(collection, folder, answers)
    except InputError:
        return "refused"


@settings(max_examples=40, deadline=None)
@given(
    labels=st.lists(NAMES, min_size=2, max_size=6, unique=True),
    answers=st.lists(st.integers(-1, 5), min_size=1, max_size=6),
)
def test_answers_mean_the_same_wherever_they_come_from(
    tmp_path_factory: pytest.TempPathFactory, labels: list[str], answers: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("answers")
    named, plain = _collection(labels=labels), _collection(domain=len(labels))
    texts = [str(answer) for answer in answers]
    by_name = [labels.index(text) for text in texts] if set(texts) <= set(labels) else "refused"
    inside = all(0 <= answer < len(labels) for answer in answers)
    for what, reader in {**SOURCES, **AS_TEXT}.items():
        assert _read(reader, named, folder, answers) == by_name, what
    for what, reader in SOURCES.items():
        assert _read(reader, plain, folder, answers) == (answers if inside else "refused"), what


def test_ratings_are_not_shifted() -> None:
    """Ratings 1 to 5 with such labels: the first is at position 0."""
    ratings = RandomizedResponse(domain=["1", "2", "3", "4", "5"], epsilon=1.0)
    assert ratings.encode(np.array([1, 5, 3])).tolist() == [0, 4, 2]
    with pytest.raises(InputError, match="got another integer at index 1") as problem:
        ratings.encode(np.array([1, 77]))
    assert "77" not in str(problem.value), "an answer is nobody's business"


@given(st.lists(NAMES, min_size=2, max_size=6, unique=True), st.integers(-1, 5))
def test_keys_are_named_alike_everywhere(labels: list[str], key: int) -> None:
    named, plain = (KeyValueBlock(keys=keys, epsilon=1.0) for keys in (labels, len(labels)))
    forms = (
        lambda: [{key: 0.5}],
        lambda: [{np.int64(key): 0.5}],
        lambda: pa.table({"person": [0], "key": [key], "value": [0.5]}),
        lambda: pd.DataFrame({"person": [0], "key": [key], "value": [0.5]}),
        lambda: pl.DataFrame({"person": [0], "key": [key], "value": [0.5]}),
    )
    for form in (*forms, lambda: [{str(key): 0.5}]):
        expected = [labels.index(str(key))] if str(key) in labels else None
        assert _keys(named, form) == expected
    for form in forms:
        assert _keys(plain, form) == ([key] if 0 <= key < len(labels) else None)


def _keys(mechanism: KeyValueBlock, form: Callable[[], Any]) -> list[int] | None:
    try:
        pairs = mechanism.layout.read(form())
    except InputError:
        return None
    assert isinstance(pairs, LongTable)
    return [int(key) for key in pairs.keys]
