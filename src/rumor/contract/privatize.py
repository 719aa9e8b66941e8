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
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rumor.contract.collection import Collection, Question
from rumor.contract.groups import OTHER, known_group
from rumor.contract.person_ledger import PersonLedger
from rumor.contract.person_rows import People, count_reports
from rumor.contract.person_weights import rounded_weights, weight_names
from rumor.contract.report_file import write_reports
from rumor.contract.sampling import SamplingDesign
from rumor.core.answer_table import AnswerTable, FilteredTable, MissingAnswerRule
from rumor.core.columns import normalized_name
from rumor.core.day_columns import DayColumn
from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.core.randomness import RandomSource, Stream, System
from rumor.kinds import KINDS

_CLOCKS_AHEAD = datetime.timedelta(hours=14)  # the clocks furthest ahead of UTC


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
    _check_randomised(question, randomised, random)
    if table.has_all_rows and collection.ask is not None and collection.ask.questions is not None:
        raise InputError(
            f"{collection.name!r} assigns each respondent some of its questions, so all must be "
            f"privatized at once (privatize_questions); got question {question.id!r} alone"
        )
    kind = KINDS[question.kind]
    column = question.column if column is None else column
    answers = kind.answer_column(question.id, column, table)
    keep = list(dict.fromkeys(keep))
    sources = _group_columns(collection, groups)
    _check_kept(keep, sources, weight)
    weights = [] if weight is None else [weight]
    for name in (*keep, *weights, *sources.values()):
        table.require(name)
    days = [day.column] if isinstance(day, DayColumn) else []
    for name in days:
        table.require(name)
    public = list(dict.fromkeys([*keep, *weights, *sources.values(), *days]))
    _check_public(collection, question.id if answers is None else answers, public)
    strata = pa.schema(
        [_public_field(table.schema.field(name)) for name in keep]
        + [pa.field(name, pa.float64(), nullable=False) for name in weights]
    )
    day = datetime.datetime.now(datetime.UTC).date() if day is None else day
    with write_reports(out, collection, question, strata=strata, random=random) as writer:
        said = question.mechanism.spoken() if randomised else question.mechanism
        people = kind.read(question.id, said, table, column, public)
        mechanism = said.without_labels()
        for values, batch in people:
            with table.locate_errors(answers, writer.reports):
                reports = (
                    mechanism.transcribe(values)
                    if randomised
                    else mechanism.privatize(values, random=random)
                )
            kept = {} if batch is None else {name: batch.column(name) for name in keep}
            if batch is not None:
                kept |= _grouped(collection, {n: batch.column(s) for n, s in sources.items()})
                for name in weights:
                    with table.locate_errors(name, writer.reports):
                        kept[name] = rounded_weights(batch.column(name))
            when: datetime.date | NDArray[np.datetime64]
            if isinstance(day, DayColumn):
                assert batch is not None  # tables without rows of people keep no columns
                with table.locate_errors(day.column, writer.reports):
                    when = checked_days(collection.ask, day.days(batch.column(day.column)))
            else:
                when = day
            writer.write(reports, when, kept)
            if on_progress is not None:
                on_progress(writer.reports)
        # With a sampling design, a question of a small table may be asked of nobody.
        if writer.reports == 0 and table.has_all_rows:
            raise InputError(f"{table.path}: a table must hold at least one answer; got none")
    return writer.reports


def _check_randomised(question: Question, randomised: bool, random: RandomSource | None) -> None:
    """Refuse to randomise answers twice, or to take true answers for randomised ones."""
    by_hand = question.mechanism.by_hand
    if randomised and not by_hand:
        question.mechanism.transcribe(())  # says why it cannot
    if by_hand and not randomised and random is None:
        raise InputError(
            f"answers to question {question.id!r} are randomised with dice or cards before they "
            f"are written down: say so (--randomised). For true answers, ask with mechanism "
            f"'randomized-response'"
        )


def _group_columns(collection: Collection, groups: Mapping[str, str]) -> dict[str, str]:
    """Return the column of the table that holds each group of the contract, by its name."""
    names = () if collection.groups is None else collection.groups.names
    for name in groups:
        if name not in names:
            raise InputError(
                f"groups must be those of the collection ({', '.join(names) or 'it has none'}); "
                f"got {name!r}"
            )
    return {name: groups.get(name, name) for name in names}


def _check_kept(keep: Sequence[str], sources: Mapping[str, str], weight: str | None) -> None:
    """Refuse to keep a column that the contract sends as groups already, or a weight as it is."""
    if weight is not None and weight in (*keep, *sources, *sources.values()):
        raise InputError(
            f"a weight is kept rounded, since one of many digits is a name; got {weight!r} as a "
            f"kept column or a group too"
        )
    for name in keep:
        if name in sources:
            raise InputError(
                f"a group of the collection is in the reports anyway, as its list has it; got "
                f"{name!r} as a kept column too"
            )


def _grouped(collection: Collection, columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return `columns` of a table with the groups of the contract in place of their cells."""
    if collection.groups is None:
        return {}
    found = {}
    for name, labels in collection.groups.columns:
        cells = columns[name]
        coded = cells if isinstance(cells, pa.DictionaryArray) else cells.dictionary_encode()
        named = [known_group(labels, value) for value in coded.dictionary.to_pylist()]
        groups = pa.array([*named, OTHER], pa.string())
        places = pc.fill_null(coded.indices.cast(pa.int64()), len(named))
        found[name] = groups.take(places)
    return found


def _check_public(collection: Collection, answers: str, keep: Sequence[str]) -> None:
    """Refuse to publish columns that hold answers, in any spelling."""
    private = {normalized_name(answers): "holds the answers"}
    for question in collection.questions:
        for name in KINDS[question.kind].columns(question.id, question.mechanism):
            private.setdefault(normalized_name(name), f"answers question {question.id!r}")
        if question.column is not None:
            private.setdefault(
                normalized_name(question.column), f"answers question {question.id!r}"
            )
    for name in keep:
        if normalized_name(name) in private:
            raise InputError(
                f"a public column is published as it is, so it must hold no answers; "
                f"got {name!r}, which {private[normalized_name(name)]}"
            )


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


def _public_field(field: pa.Field) -> pa.Field:
    """Return the field of a public column without the metadata of the input's file."""
    return pa.field(field.name, field.type)


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
) -> dict[str, PrivatizedQuestion]:
    """Write a file of reports for every question that has a path in `outs`.

    Answers are in the question's column or that of its id, unless `columns` has another, and groups
    of the contract in the columns of their names, unless `groups` has others. Where the
    collection asks each person some of its questions, all of them must be there. All files are
    written, or none is left. Returns how many reports each has, and how many answers were missing.

    Every row is a person, unless `people` says whose it is: their rule then says which rows become
    reports, and `ledger` is charged what they spend. Answers to designs on paper are `randomised`.
    """
    if len({Path(path).resolve() for path in outs.values()}) < len(outs):
        raise InputError("each question must have a file of its own; got one path for two of them")
    asked = [collection.question(id) for id in outs]
    made: dict[str, PrivatizedQuestion] = {}
    written: list[PathLike] = []
    with ExitStack() as stack:
        if people is None:
            choose = _assigned_rows(collection, table, columns, outs, random)
        else:
            choose = _rows_of_people(collection, table, columns, outs, random, people, ledger)
            if ledger is not None:
                most = {count_reports(q): people.allowances(q, None) for q in asked}
                stack.enter_context(ledger.charging(people, most))
        try:
            for question in asked:
                before, missing = (
                    sum(one.reports for one in made.values()),
                    table.missing_rule.without_counts(),
                )
                reports = privatize_table(
                    collection,
                    question,
                    choose(question, replace(table, missing_rule=missing)),
                    outs[question.id],
                    column=columns.get(question.id),
                    groups=groups,
                    keep=keep,
                    weight=weight,
                    day=day,
                    randomised=randomised,
                    random=random,
                    on_progress=_offset_progress(before, on_progress),
                )
                made[question.id] = PrivatizedQuestion(reports, missing)
                written.append(outs[question.id])
        except BaseException:
            # A file of one question alone would not match the draw of the next run.
            for path in written:
                Path(path).unlink(missing_ok=True)
            raise
    return made


_ChooseRows = Callable[[Question, AnswerTable], AnswerTable]


def _assigned_rows(
    collection: Collection,
    table: AnswerTable,
    columns: Mapping[str, str],
    outs: Mapping[str, PathLike],
    random: RandomSource | None,
) -> _ChooseRows:
    """Return a function that chooses the rows that are assigned a question: all, if all are."""
    ids = _assignable(collection, outs)
    if ids is None or collection.ask is None or collection.ask.questions is None:
        return lambda question, rows: rows
    people = _count_people(collection, table, columns)
    stream = (System() if random is None else random).stream()
    drawn = draw_questions(stream, people, len(ids), collection.ask.questions)
    return lambda question, rows: FilteredTable.select_rows(rows, drawn[:, ids.index(question.id)])


def _rows_of_people(
    collection: Collection,
    table: AnswerTable,
    columns: Mapping[str, str],
    outs: Mapping[str, PathLike],
    random: RandomSource | None,
    people: People,
    ledger: PersonLedger | None,
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
            stream = (System() if random is None else random).stream()
            drawn = draw_questions(stream, len(people), len(ids), collection.ask.questions)

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


def check_day(ask: SamplingDesign | None, day: datetime.date | None) -> None:
    """Refuse a `day` outside the days on which respondents are asked."""
    if ask is None or ask.days is None or ask.starts is None or day is None:
        return
    last = ask.day(ask.days - 1, day)
    if not ask.starts <= day <= last:
        raise InputError(
            f"respondents are asked on the {ask.days:,} days from {ask.starts} to {last}; got {day}"
        )


def checked_days(
    ask: SamplingDesign | None, days: NDArray[np.datetime64]
) -> NDArray[np.datetime64]:
    """Return the `days` of rows, all past and on days on which respondents are asked."""
    if days.size:
        first, last = days.min().item(), days.max().item()
        latest = (datetime.datetime.now(datetime.UTC) + _CLOCKS_AHEAD).date()
        if last > latest:
            raise InputError(f"a day must not lie in the future (after {latest}); got {last}")
        check_day(ask, first)
        check_day(ask, last)
    return days
