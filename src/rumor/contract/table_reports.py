"""Tables to reports: `rumor.privatize`, which the command `rumor privatize` calls too."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rumor.contract.collection import Collection, Question
from rumor.contract.person_ledger import PersonLedger
from rumor.contract.person_rows import People, PersonRule
from rumor.contract.privatize import PrivatizedQuestion, privatize_questions
from rumor.contract.report_parts import PartsFolder
from rumor.contract.table_question import check_day
from rumor.core.answer_table import ERROR, AnswerTable
from rumor.core.day_columns import DayColumn
from rumor.core.errors import InputError, format_value
from rumor.core.files import PathLike
from rumor.core.option_sets import MARK
from rumor.core.randomness import RandomSource
from rumor.kinds import KINDS

Progress = Callable[[int, int | None, str], None]
"""A function that is told how much is done, how much there is (None: unknown), and of what."""


@dataclass(frozen=True)
class PrivatizedTable:
    """The reports that were made of a table, and what they cost."""

    files: dict[str, Path]
    """The reports file of each question, by its id."""
    questions: dict[str, PrivatizedQuestion]
    """The number of reports and the missing answers of each question, by its id."""
    people: People | None
    """The people of the table, with what each spent; None where every row is another person."""
    ledger: Path | None
    """The ledger of people that was charged, if any."""

    @property
    def reports(self) -> int:
        """The number of reports of all questions."""
        return sum(one.reports for one in self.questions.values())


def privatize(
    collection: PathLike | Collection,
    table: object,
    out: PathLike,
    *,
    question: str | Sequence[str] | None = None,
    columns: Mapping[str, str] = MappingProxyType({}),
    groups: Mapping[str, str] = MappingProxyType({}),
    keep: Sequence[str] = (),
    weight: str | None = None,
    day: datetime.date | str | DayColumn | None = None,
    person: str | PersonRule | None = None,
    ledger: PathLike | None = None,
    missing: str = ERROR,
    mark: str = MARK,
    replace: bool = False,
    resume: bool = False,
    randomised: bool = False,
    random: RandomSource | None = None,
    on_progress: Progress | None = None,
) -> PrivatizedTable:
    """Write reports of the answers in `table` to `out`, a .parquet file or a folder of parts.

    `table` is a file, a folder or a pattern of files, a table in memory (Arrow, pandas, Polars,
    columns by name), or an `AnswerTable`, which has its own rules for `missing` and `mark`. Of
    several questions a file OUT-QUESTION.parquet or a folder OUT/QUESTION is written for each;
    `question` names one, or some of them. `columns` has the column of a question whose id it is
    not, and `groups` those of public groups; the columns of `keep` are copied in the clear, and
    that of people's `weight` rounded to powers of 1.1. `day` is a day, or a `DayColumn` with the
    day of each row.

    Every row is another person, unless `person` names the column that says whose it is, or is a
    `PersonRule` that says how many reports each person makes. What people spend in the files of
    the series is kept in `ledger` (SERIES.people in the folder of the reports by default). Leave
    `random` out for real people: reports with it are simulated, and leave no ledger.

    Answers to a design on paper are `randomised` already, by the dice or cards of respondents.

    `out` is a folder where its name has no suffix, ends with a slash, or is a folder's. Each part
    of it is written whole or not at all. `resume` makes those that a run with the same arguments
    did not make before it was stopped.

    `on_progress` is told what was done, and of how much. Ctrl-C leaves what the message of the
    KeyboardInterrupt says.
    """
    contract = collection if isinstance(collection, Collection) else Collection.load(collection)
    path, asked = Path(out), chosen_questions(contract, question)
    in_parts = _is_folder(out)
    if in_parts and replace:
        raise InputError(
            f"--replace writes over a file; a folder of reports is removed by hand; "
            f"got {str(path)!r}"
        )
    if resume and not in_parts:
        raise InputError(
            f"--resume goes on with a folder of parts (--out {path.stem}/); a file is written "
            f"whole or not at all; got {str(path)!r}"
        )
    files = {} if in_parts else _files(asked, path)
    if not replace and (there := [file for file in files.values() if file.exists()]):
        raise InputError(
            f"--out must be a new file, since a second run makes other reports of the same people, "
            f"each as telling as the first; {str(there[0])!r} exists (--replace writes over it)"
        )
    if person is None and ledger is not None:
        raise InputError("--ledger is for tables with --person COLUMN; got it alone")
    when = _day(day)
    rows = _opened(table, mark, missing)
    for one in asked:
        try:
            KINDS[one.kind].check_missing(one.mechanism, rows.missing_rule.rule)
        except InputError as problem:
            whose = f"question {one.id!r}: " if len(asked) > 1 else ""
            raise InputError(f"{whose}{problem}") from None
    if not isinstance(when, DayColumn):
        check_day(contract.ask, when)
    place = path.with_name(f"{contract.series}.people") if ledger is None else Path(ledger)
    outs = [path] if in_parts else files.values()
    _keep_inputs(rows, outs, None if person is None else place)
    rule = PersonRule(person) if isinstance(person, str) else person
    people, kept = None, None
    with ExitStack() as stack:
        parts: PartsFolder | None = None
        if in_parts:
            inputs = {
                "the collection": contract.digest,
                "--question": " ".join(one.id for one in asked),
                "--column": repr([sorted(columns.items()), sorted(groups.items())]),
                "--keep": repr(list(dict.fromkeys(keep))),
                "--weight-column": repr(weight),
                "--randomised": repr(randomised),
                "--day": repr(when),
                "--person": repr(rule),
                "--ledger": str(place.resolve()),
                "--missing": rows.missing_rule.rule,
                "--mark": rows.mark,
                "--seed": repr(random),
                "the table": rows.digest(),
            }
            ids = [one.id for one in asked]
            parts = stack.enter_context(PartsFolder.opened(path, inputs, ids, resume))
            files = {id: parts.place(id) for id in ids}
            when = parts.day if when is None else when
        stack.enter_context(
            _saying_what_is_there(replace, rule is not None and random is None, parts)
        )
        if rule is not None:
            people = People.of(rows, rule, when, _phase(on_progress, rows, "(whose rows)"))
            if random is None:
                kept = PersonLedger.open(place, contract.series)
                if parts is None:
                    kept.read(people)
                else:
                    parts.read_before(kept, people)
        total = _expected_reports(contract, asked, rows, people)
        made = privatize_questions(
            contract,
            rows,
            files,
            columns=columns,
            groups=groups,
            keep=keep,
            weight=weight,
            day=when,
            people=people,
            ledger=kept,
            randomised=randomised,
            random=random,
            on_progress=None if on_progress is None else lambda done: on_progress(done, total, ""),
            parts=parts,
        )
        if parts is not None:
            parts.complete()
    return PrivatizedTable(files, made, people, None if kept is None else kept.path)


def _is_folder(out: PathLike) -> bool:
    """Return whether `out` names a folder: it is one, ends with a slash, or has no suffix."""
    return os.fspath(out).endswith(("/", os.sep)) or Path(out).is_dir() or not Path(out).suffix


def chosen_questions(
    contract: Collection, question: str | Sequence[str] | None
) -> Sequence[Question]:
    """Return the questions that are named by `question`; all if none is."""
    named = [question] if isinstance(question, str) else list(dict.fromkeys(question or ()))
    if named and contract.ask is not None and contract.ask.questions is not None:
        raise InputError(
            "who is asked which questions is drawn for all of them at once; leave --question out"
        )
    return [contract.question(id) for id in named] or contract.questions


def _files(asked: Sequence[Question], out: Path) -> dict[str, Path]:
    """Return the reports file of each question: `out`, or one beside it for each of several."""
    if out.suffix != ".parquet":
        raise InputError(
            f"--out must be a .parquet file, or a folder for several (reports/); got {str(out)!r}"
        )
    if len(asked) == 1:
        return {asked[0].id: out}
    return {one.id: out.with_name(f"{out.stem}-{one.id}{out.suffix}") for one in asked}


def _day(day: datetime.date | str | DayColumn | None) -> datetime.date | DayColumn | None:
    if not isinstance(day, str):
        return day
    try:
        return datetime.date.fromisoformat(day)
    except ValueError:
        raise InputError(
            f"--day must be a day written YYYY-MM-DD; got {format_value(day)}"
        ) from None


def _opened(table: object, mark: str, missing: str) -> AnswerTable:
    if isinstance(table, AnswerTable):
        return table
    if isinstance(table, (str, os.PathLike)):
        return AnswerTable.open(table, mark, missing)
    return AnswerTable.of(table, mark, missing)


def _keep_inputs(rows: AnswerTable, files: Iterable[Path], ledger: Path | None) -> None:
    """Refuse reports or a ledger in the place of what is read."""
    read = {file.path.resolve() for file in rows.files}
    for file in files:
        if file.resolve() in read:
            raise InputError(f"--out must not replace what is read; got {str(file)!r} for both")
        read.add(file.resolve())
    if ledger is not None and ledger.resolve() in read:
        raise InputError(
            f"--ledger must not replace what is read or written; got {str(ledger)!r} for both"
        )


def _expected_reports(
    contract: Collection, asked: Sequence[Question], rows: AnswerTable, people: People | None
) -> int | None:
    """Return about how many reports there will be; None where that is not known."""
    if people is None:
        each = rows.expected_rows()
    else:
        each = min(people.rows, people.rule.cap * len(people))
    some = None if contract.ask is None else contract.ask.questions
    return None if each is None else each * (some or len(asked))


def _phase(
    on_progress: Progress | None, rows: AnswerTable, what: str
) -> Callable[[int], None] | None:
    """Return a function that tells of `what` is done with the rows of a table."""
    if on_progress is None:
        return None
    total = rows.expected_rows()
    return lambda done: on_progress(done, total, what)


@contextmanager
def _saying_what_is_there(
    is_over: bool, is_charged: bool, parts: PartsFolder | None
) -> Iterator[None]:
    """Let Ctrl-C say what it leaves."""
    try:
        yield
    except KeyboardInterrupt:
        if parts is not None and parts.has_parts:
            charged = "; until then people are charged the most that they can spend"
            raise KeyboardInterrupt(f"{parts.sentence()}{charged if is_charged else ''}") from None
        left = "files that were there are as they were" if is_over else "no reports were written"
        charged = ", and nobody is charged in the ledger"
        raise KeyboardInterrupt(f"{left}{charged if is_charged else ''}") from None
