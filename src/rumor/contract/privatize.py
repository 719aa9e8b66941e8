"""Reports files from a table of answers, in which every row is another person.

This is for holders of a table of answers who want to publish reports of it, and for simulations.
On devices the client does this work, one answer at a time.

With a sampling design, questions are assigned to all rows at once, row by row and from no answer:
drawn in two runs, a row could be assigned two questions instead of one. Rows that a question was
not assigned to are never read into a report, and may be empty there. Two runs are two draws and
make two reports of everybody, as they do without a sampling design.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumor.contract.collection import Collection, Question
from rumor.contract.person_ledger import PersonLedger
from rumor.contract.person_rows import People, count_reports
from rumor.contract.person_weights import weight_names
from rumor.contract.report_file import write_reports
from rumor.contract.report_parts import PartsFolder
from rumor.contract.table_question import TableQuestion, check_randomised
from rumor.core.answer_table import AnswerTable, FilteredTable, MissingAnswerRule
from rumor.core.day_columns import DayColumn
from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.core.randomness import RandomSource, Stream, System
from rumor.kinds import KINDS


def privatize_table(
    collection: Collection,
    question: Question,
    table: AnswerTable,
    out: PathLike,
    *,
    column: str | None = None,
    groups: Mapping[str, str] = MappingProxyType({}),
    keep: Sequence[str] = (),
    weight: str | None = None,
    day: datetime.date | DayColumn | None = None,
    randomised: bool = False,
    random: RandomSource | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> int:
    """Write a report for every row of `table` to `out`; return the number of reports.

    `column` holds the answers (by default that of the question, else its id). A group of the
    contract is read from the column of its name, unless `groups` names another, and whatever its
    list lacks becomes "other". The columns of `keep` are copied as they are, and that of people's
    `weight` is rounded (rumor.contract.person_weights). All are public, so they must not say what
    an answer is: columns that answer any question of the collection are refused, and
    `group_sizes` tells of those that tell people apart. `day` is today by default, or the column
    with the day of each row. Leave `random` out for real people.

    Answers to a design on paper are `randomised` already: they are written down as they are.
    """
    check_randomised(question, randomised, random)
    if table.has_all_rows and collection.ask is not None and collection.ask.questions is not None:
        raise InputError(
            f"{collection.name!r} assigns each respondent some of its questions, so all must be "
            f"privatized at once (privatize_questions); got question {question.id!r} alone"
        )
    answers = TableQuestion.of(
        collection,
        question,
        table,
        column=column,
        groups=groups,
        keep=keep,
        weight=weight,
        day=day,
        randomised=randomised,
    )
    with write_reports(out, collection, question, strata=answers.strata, random=random) as writer:
        for batch in answers.batches():
            writer.write(*answers.privatize(batch, writer.reports, random))
            if on_progress is not None:
                on_progress(writer.reports)
        answers.check_any(writer.reports)
    return writer.reports


def group_sizes(
    table: AnswerTable, keep: Sequence[str], weight: str | None = None
) -> dict[str, tuple[int, int]]:
    """Return the distinct values and the rows of each kept column, and of all together.

    Where few people share a value, whoever knows somebody's value finds their report. Weights are
    shared once they are rounded.
    """
    names = list(dict.fromkeys([*keep, *([] if weight is None else [weight])]))
    seen: dict[str, set[object]] = {name: set() for name in names}
    together: set[object] = set()
    rows = 0
    for batch in table.batches(names) if names else ():
        columns = [
            weight_names(batch.column(name))
            if name == weight
            else [str(cell) for cell in batch.column(name).to_pylist()]
            for name in names
        ]
        for name, column in zip(names, columns, strict=True):
            seen[name].update(column)
        together.update(zip(*columns, strict=True))
        rows += len(batch)
    if len(names) > 1:
        seen[" and ".join(names)] = together
    return {name: (len(values), rows) for name, values in seen.items()}


def draw_questions(stream: Stream, people: int, questions: int, count: int) -> NDArray[np.bool_]:
    """Draw `count` distinct questions for each of `people` people: a row for each, uniform."""
    drawn = np.zeros((people, questions), dtype=bool)
    everybody = np.arange(people)
    # Floyd's algorithm, for all people at once.
    for last in range(questions - count, questions):
        pick = stream.below(last + 1, people).astype(np.int64)
        drawn[everybody, np.where(drawn[everybody, pick], last, pick)] = True
    return drawn


@dataclass(frozen=True)
class PrivatizedQuestion:
    """The number of reports of one question of a table, and its missing answers."""

    reports: int
    missing: MissingAnswerRule


def privatize_questions(
    collection: Collection,
    table: AnswerTable,
    outs: Mapping[str, PathLike],
    *,
    columns: Mapping[str, str] = MappingProxyType({}),
    groups: Mapping[str, str] = MappingProxyType({}),
    keep: Sequence[str] = (),
    weight: str | None = None,
    day: datetime.date | DayColumn | None = None,
    people: People | None = None,
    ledger: PersonLedger | None = None,
    randomised: bool = False,
    random: RandomSource | None = None,
    on_progress: Callable[[int], None] | None = None,
    parts: PartsFolder | None = None,
) -> dict[str, PrivatizedQuestion]:
    """Write a file of reports for every question that has a path in `outs`.

    Answers are in the question's column or that of its id, unless `columns` has another, and groups
    of the contract in the columns of their names, unless `groups` has others. Where the
    collection asks each person some of its questions, all of them must be there. All files are
    written, or none is left. Returns how many reports each has, and how many answers were missing.

    Every row is a person, unless `people` says whose it is: their rule then says which rows become
    reports, and `ledger` is charged what they spend. With `parts`, the reports of each question
    are the parts of that folder that are not there yet. Answers to designs on paper are
    `randomised`.
    """
    if len({Path(path).resolve() for path in outs.values()}) < len(outs):
        raise InputError("each question must have a file of its own; got one path for two of them")
    asked = [collection.question(id) for id in outs]
    for question in asked:
        check_randomised(question, randomised, random)
    made: dict[str, PrivatizedQuestion] = {}
    written: list[PathLike] = []
    with ExitStack() as stack:
        if people is None:
            choose = _assigned_rows(collection, table, columns, outs, random, parts)
        else:
            choose = _rows_of_people(
                collection, table, columns, outs, random, people, ledger, parts
            )
            if ledger is not None:
                most = {count_reports(q): people.allowances(q, None) for q in asked}
                charging = ledger.charging if parts is None else partial(parts.charging, ledger)
                stack.enter_context(charging(people, most))
        stack.enter_context(_all_or_none(written) if parts is None else parts.writing())
        for question in asked:
            before, missing = (
                sum(one.reports for one in made.values()),
                table.missing_rule.without_counts(),
            )
            rows = choose(question, replace(table, missing_rule=missing))
            named: dict[str, Any] = {
                "column": columns.get(question.id),
                "groups": groups,
                "keep": keep,
                "weight": weight,
                "day": day,
                "randomised": randomised,
            }
            done = _offset_progress(before, on_progress)
            if parts is None:
                out = outs[question.id]
                reports = privatize_table(
                    collection, question, rows, out, **named, random=random, on_progress=done
                )
                written.append(out)
            else:
                reports = parts.write(
                    TableQuestion.of(collection, question, rows, **named), random, done
                )
            made[question.id] = PrivatizedQuestion(reports, missing)
    return made


@contextmanager
def _all_or_none(written: Sequence[PathLike]) -> Iterator[None]:
    """Remove all files if one fails: one question's alone would not match the next run's draw."""
    try:
        yield
    except BaseException:
        for path in written:
            Path(path).unlink(missing_ok=True)
        raise


_ChooseRows = Callable[[Question, AnswerTable], AnswerTable]


def _assigned_rows(
    collection: Collection,
    table: AnswerTable,
    columns: Mapping[str, str],
    outs: Mapping[str, PathLike],
    random: RandomSource | None,
    parts: PartsFolder | None,
) -> _ChooseRows:
    """Return a function that chooses the rows that are assigned a question: all, if all are."""
    ids = _assignable(collection, outs)
    if ids is None or collection.ask is None or collection.ask.questions is None:
        return lambda question, rows: rows
    people = _count_people(collection, table, columns)
    drawn = _draw(people, len(ids), collection.ask.questions, random, parts)
    return lambda question, rows: FilteredTable.select_rows(rows, drawn[:, ids.index(question.id)])


def _rows_of_people(
    collection: Collection,
    table: AnswerTable,
    columns: Mapping[str, str],
    outs: Mapping[str, PathLike],
    random: RandomSource | None,
    people: People,
    ledger: PersonLedger | None,
    parts: PartsFolder | None,
) -> _ChooseRows:
    """Return a function that chooses the rows of `people` that become reports of a question.

    A person is assigned the same questions in every file of a series, as on a device.
    """
    if not len(people):
        raise InputError(f"{table.path}: a table must hold at least one answer; got none")
    people.check_table(collection, outs, table)
    most = max(collection.question(id).reports_per_person for id in outs)
    if people.rule.cap > most:
        raise InputError(
            f"--cap must be at most the reports that the collection allows of one person, {most:,} "
            f"(reports_per_person); got {people.rule.cap:,}"
        )
    ids = _assignable(collection, outs)
    drawn: NDArray[np.bool_] | None = None
    if ids is not None and collection.ask is not None and collection.ask.questions is not None:
        _count_people(collection, table, columns)
        if ledger is not None:
            drawn = ledger.assign(people, ids, collection.ask.questions)
        else:
            drawn = _draw(len(people), len(ids), collection.ask.questions, random, parts)

    def choose(question: Question, rows: AnswerTable) -> AnswerTable:
        assigned = None if drawn is None or ids is None else drawn[:, ids.index(question.id)]
        allowed = people.allowances(question, collection.series_epsilon, assigned)
        if assigned is None and not allowed.any():
            raise InputError(
                f"{table.path}: a report needs a person who may still answer {question.id!r}; all "
                f"{len(people):,} made the {question.reports_per_person:,} reports that the "
                f"collection allows in earlier files of the series (reports_per_person)"
            )
        return people.select(rows, question, allowed)

    return choose


def _draw(
    people: int,
    questions: int,
    count: int,
    random: RandomSource | None,
    parts: PartsFolder | None,
) -> NDArray[np.bool_]:
    """Draw the questions of each of `people` people: the same whenever a run is resumed."""
    source = System() if random is None else random
    if parts is None:
        return draw_questions(source.stream(), people, questions, count)
    return parts.assigned(lambda: draw_questions(source.stream(), people, questions, count))


def _assignable(collection: Collection, outs: Mapping[str, PathLike]) -> list[str] | None:
    """Return the questions of which each person is assigned some; None if all are asked."""
    if collection.ask is None or collection.ask.questions is None:
        return None
    ids = [question.id for question in collection.questions]
    if set(ids) != set(outs):
        raise InputError(
            f"respondents are assigned questions for all of them at once, so each of "
            f"{', '.join(ids)} needs a file; got {', '.join(outs)}"
        )
    return ids


def _count_people(collection: Collection, table: AnswerTable, columns: Mapping[str, str]) -> int:
    """Return the number of rows, each a person with a column for every question."""
    for question in collection.questions:
        kind = KINDS[question.kind]
        kind.answer_column(question.id, columns.get(question.id, question.column), table)
        if not kind.has_row_per_person(table):
            raise InputError(
                f"{table.path}: questions can be assigned only where each row is a person; got a "
                f"table of pairs"
            )
    people = sum(len(batch) for batch in table.batches(table.schema.names[:1]))
    if people == 0:
        raise InputError(f"{table.path}: a table must hold at least one answer; got none")
    return people


def _offset_progress(
    before: int, on_progress: Callable[[int], None] | None
) -> Callable[[int], None] | None:
    if on_progress is None:
        return None
    return lambda done: on_progress(before + done)
