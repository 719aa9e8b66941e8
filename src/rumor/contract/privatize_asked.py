"""From a table of answers to reports where each person is asked some of many questions.

Who is asked what is drawn for all questions at once, row by row and from no answer: a person of
whom two questions were drawn in two runs would have answered two. The rows that were not drawn
for a question are never read into a report, and may be empty there. Two runs are two draws, and
two reports of everybody, as they are of a collection that asks everything.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rumor.contract.asking import Ask
from rumor.contract.collection import Collection
from rumor.contract.privatize import privatize_table
from rumor.core.answer_table import Table
from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.core.randomness import Source, Stream, System
from rumor.core.some_rows import SomeRows
from rumor.kinds import KINDS


def draw_questions(stream: Stream, people: int, questions: int, count: int) -> NDArray[np.bool_]:
    """Which questions each of so many people is asked: a row for each, uniform, none twice."""
    drawn = np.zeros((people, questions), dtype=bool)
    everybody = np.arange(people)
    # Floyd's algorithm, for all people at once.
    for last in range(questions - count, questions):
        pick = stream.below(last + 1, people).astype(np.int64)
        drawn[everybody, np.where(drawn[everybody, pick], last, pick)] = True
    return drawn


def privatize_asked(
    collection: Collection,
    table: Table,
    outs: Mapping[str, PathLike],
    *,
    keep: Sequence[str] = (),
    day: datetime.date | None = None,
    random: Source | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> dict[str, int]:
    """Write a file of reports for every question, each row of the table asked some of them.

    `outs` has a path for each question; its answers are in the column of its id. All files are
    written, or none is left. Returns how many reports each has.
    """
    ask = collection.ask
    assert ask is not None
    assert ask.questions is not None
    if len({Path(path).resolve() for path in outs.values()}) < len(outs):
        raise InputError("each question must have a file of its own; got one path for two of them")
    people = _people(collection, table)
    stream = (System() if random is None else random).stream()
    drawn = draw_questions(stream, people, len(collection.questions), ask.questions)
    made: dict[str, int] = {}
    written: list[PathLike] = []
    try:
        for place, question in enumerate(collection.questions):
            before = sum(made.values())
            made[question.id] = privatize_table(
                collection,
                question,
                SomeRows.of(table, drawn[:, place]),
                outs[question.id],
                keep=keep,
                day=day,
                random=random,
                on_progress=_from(before, on_progress),
            )
            written.append(outs[question.id])
    except BaseException:
        # A question alone would be another draw than that of the next run.
        for path in written:
            Path(path).unlink(missing_ok=True)
        raise
    return made


def _people(collection: Collection, table: Table) -> int:
    """How many rows there are, each a person with a column for every question."""
    for question in collection.questions:
        kind = KINDS[question.kind]
        kind.answer_column(question.id, None, table)
        if not kind.row_is_person(table):
            raise InputError(
                f"{table.path}: who is asked which questions can be drawn where a row is a "
                f"person, not in a table of pairs"
            )
    people = sum(len(batch) for batch in table.batches(table.schema.names[:1]))
    if people == 0:
        raise InputError(f"{table.path}: a table must hold at least one answer; got none")
    return people


def _from(before: int, on_progress: Callable[[int], None] | None) -> Callable[[int], None] | None:
    if on_progress is None:
        return None
    return lambda done: on_progress(before + done)


def check_day(ask: Ask | None, day: datetime.date | None) -> None:
    """Refuse reports of a day on which nobody is asked."""
    if ask is None or ask.days is None or ask.starts is None or day is None:
        return
    last = ask.day(ask.days - 1, day)
    if not ask.starts <= day <= last:
        raise InputError(
            f"people are asked on the {ask.days:,} days from {ask.starts} to {last}; got {day}"
        )
