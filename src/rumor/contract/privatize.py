"""From a table of answers to a file of reports: every row another person.

For people who hold answers already and want to publish or pass on reports of them, and for
dry runs. On devices this is the client's work, one answer at a time.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

import pyarrow as pa

from rumor.contract.collection import Collection, Question
from rumor.contract.report_file import write_reports
from rumor.core.answer_table import Table, alike
from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.core.randomness import Source
from rumor.kinds import KINDS


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

    `column` holds the answers (by default that of the question, else its id); the columns of
    `keep` are copied as they are and are public, so they must not say what an answer is: those that
    answer any question of the collection are refused, and `group_sizes` tells of those that
    tell people apart. `day` is today by default. Leave `random` out for real people.
    """
    if table.whole and collection.ask is not None and collection.ask.questions is not None:
        raise InputError(
            f"{collection.name!r} asks each person some of its questions, which are drawn for all "
            f"of them at once (privatize_questions); got a table of {question.id!r} alone"
        )
    kind = KINDS[question.kind]
    column = question.column if column is None else column
    answers = kind.answer_column(question.id, column, table)
    for name in keep:
        table.require(name)
    _check_public(collection, question.id if answers is None else answers, keep)
    strata = pa.schema([_public(table.schema.field(name)) for name in dict.fromkeys(keep)])
    day = datetime.datetime.now(datetime.UTC).date() if day is None else day
    with write_reports(out, collection, question, strata=strata, random=random) as writer:
        people = kind.read(question.id, question.mechanism, table, column, strata.names)
        mechanism = question.mechanism.unlabelled()
        for values, batch in people:
            with table.placing(answers, writer.reports):
                reports = mechanism.privatize(values, random=random)
            kept = {} if batch is None else {n: batch.column(n) for n in strata.names}
            writer.write(reports, day, kept)
            if on_progress is not None:
                on_progress(writer.reports)
        # Of the people of a small table nobody may have been asked.
        if writer.reports == 0 and table.whole:
            raise InputError(f"{table.path}: a table must hold at least one answer; got none")
    return writer.reports


def _check_public(collection: Collection, answers: str, keep: Sequence[str]) -> None:
    """Refuse to publish answers, also those that are spelt a little otherwise."""
    private = {alike(answers): "holds the answers"}
    for question in collection.questions:
        for name in KINDS[question.kind].columns(question.id, question.mechanism):
            private.setdefault(alike(name), f"answers question {question.id!r}")
        if question.column is not None:
            private.setdefault(alike(question.column), f"answers question {question.id!r}")
    for name in keep:
        if alike(name) in private:
            raise InputError(
                f"a kept column is published as it is, so it must hold no answers; "
                f"got {name!r}, which {private[alike(name)]}"
            )


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


def _public(field: pa.Field) -> pa.Field:
    """A stratum's column, without what the input's file said beside name and type."""
    return pa.field(field.name, field.type)
