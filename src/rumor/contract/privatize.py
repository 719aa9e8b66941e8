"""From a table of answers to a file of reports: every row another person.

For people who hold answers already and want to publish or pass on reports of them, and for
dry runs. On devices this is the client's work, one answer at a time.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from rumor.contract.collection import Collection, Question
from rumor.contract.report_file import write_reports
from rumor.core.answer_table import Table
from rumor.core.errors import AnswerError, InputError
from rumor.core.files import PathLike
from rumor.core.randomness import Source
from rumor.kinds.choice.question import KINDS
from rumor.kinds.keyvalue.tables import read_pairs
from rumor.mechanisms import FrequencyOracle, Mechanism

Answers: TypeAlias = Any
"""What was read: positions for a choice, an Arrow column otherwise."""


def privatize_table(
    collection: Collection,
    question: Question,
    table: Table,
    out: PathLike,
    *,
    column: str | None = None,
    keep: Sequence[str] = (),
    day: datetime.date | None = None,
    random: Source | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> int:
    """Write a report for every row of the table; returns how many there are.

    `column` holds the answers (the question's id unless said); the columns of `keep` are
    copied as they are and are public, so they must not say what an answer is: those that
    answer any question of the collection are refused, and `group_sizes` tells of those that
    tell people apart. `day` is today unless said. Leave `random` out for real people.
    """
    pairs = question.kind == "keyvalue"
    answers = question.id if column is None else column
    if pairs and column is not None:
        raise InputError(f"key-value answers have many columns, so none is named; got {column!r}")
    if not pairs:
        table.require(answers)
    for name in keep:
        table.require(name)
    _check_public(collection, answers, keep)
    strata = pa.schema([_public(table.schema.field(name)) for name in dict.fromkeys(keep)])
    day = datetime.datetime.now(datetime.UTC).date() if day is None else day
    with write_reports(out, collection, question, strata=strata, random=random) as writer:
        people = (
            read_pairs(question, table, strata.names)
            if pairs
            else read_answers(question, table, answers, strata.names)
        )
        mechanism = question.mechanism.unlabelled()
        for values, batch in people:
            with table.placing(None if pairs else answers, writer.reports):
                reports = mechanism.privatize(values, random=random)
            kept = {} if batch is None else {n: batch.column(n) for n in strata.names}
            writer.write(reports, day, kept)
            if on_progress is not None:
                on_progress(writer.reports)
        if writer.reports == 0:
            raise InputError(f"{table.path}: a table must hold at least one answer; got none")
    return writer.reports


def _check_public(collection: Collection, answers: str, keep: Sequence[str]) -> None:
    """Refuse to publish answers, also those that are spelt a little otherwise."""
    private = {_alike(answers): "holds the answers"}
    for question in collection.questions:
        for name in KINDS[question.kind].columns(question.id, question.mechanism):
            private.setdefault(_alike(name), f"answers question {question.id!r}")
    for name in keep:
        if _alike(name) in private:
            raise InputError(
                f"a kept column is published as it is, so it must hold no answers; "
                f"got {name!r}, which {private[_alike(name)]}"
            )


def _alike(name: str) -> str:
    """What names have in common that people take for the same."""
    return re.sub(r"[-_\s]+", "-", unicodedata.normalize("NFKC", name).casefold().strip())


def group_sizes(table: Table, keep: Sequence[str]) -> dict[str, tuple[int, int]]:
    """For each kept column, and for several together, its distinct values and all rows.

    Where few people share a value, whoever knows somebody's value finds their report.
    """
    names = list(dict.fromkeys(keep))
    seen: dict[str, set[object]] = {name: set() for name in names}
    together: set[object] = set()
    rows = 0
    for batch in table.batches(names) if names else ():
        columns = [[str(cell) for cell in batch.column(name).to_pylist()] for name in names]
        for name, column in zip(names, columns, strict=True):
            seen[name].update(column)
        together.update(zip(*columns, strict=True))
        rows += len(batch)
    if len(names) > 1:
        seen[" and ".join(names)] = together
    return {name: (len(values), rows) for name, values in seen.items()}


def read_answers(
    question: Question,
    table: Table,
    column: str,
    keep: Sequence[str] = (),
    *,
    numbers: Sequence[str] = (),
) -> Iterator[tuple[Answers, pa.RecordBatch]]:
    """The answers of a table as the mechanism takes them, a batch at a time, each with its batch.

    The batch also has the columns of `keep` (as text, in CSV) and `numbers` (as integers).
    """
    cells = [_cells(question), *(["text"] * len(keep)), *(["integer"] * len(numbers))]
    before = 0
    for batch in table.batches([column, *keep, *numbers], cells):
        with table.placing(column, before):
            answers = _answers(question.mechanism, batch.column(0))
        yield answers, batch
        before += len(batch)


def _cells(question: Question) -> str:
    """How a CSV writes answers to this question."""
    if isinstance(question.mechanism, FrequencyOracle):
        return "integer" if question.labels is None else "text"
    return "number" if question.kind == "number" else "text"


def _answers(mechanism: Mechanism, column: pa.Array) -> Answers:
    """Positions for a choice; any other question's answers as they are."""
    if column.null_count:
        raise InputError(f"values must not be missing; got {column.null_count} nulls")
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if not isinstance(mechanism, FrequencyOracle):
        return column
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        # Each distinct label is looked up once.
        coded = column.dictionary_encode()
        try:
            return mechanism.encode(coded.dictionary)[coded.indices.to_numpy()]
        except AnswerError as problem:  # whose index is among the distinct labels
            row = pc.index(coded.indices, problem.row).as_py()
            raise AnswerError(problem.rule, row, problem.got) from None
    return mechanism.encode(column)


def _public(field: pa.Field) -> pa.Field:
    """A stratum's column, without what the input's file said beside name and type."""
    return pa.field(field.name, field.type)
