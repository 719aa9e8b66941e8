"""Tables to reports in Python: `rumor.privatize` does what the command `rumor privatize` does."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rumor.contract.collection import Collection
from rumor.contract.person_ledger import PersonLedger
from rumor.contract.person_rows import People, PersonRule
from rumor.contract.privatize import PrivatizedQuestion, check_day, privatize_questions
from rumor.core.answer_table import ERROR, AnswerTable
from rumor.core.day_columns import DayColumn
from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.core.option_sets import MARK
from rumor.core.randomness import RandomSource


@dataclass(frozen=True)
class PrivatizedTable:
    """The reports that were made of a table, and what they cost."""

    files: dict[str, Path]
    """The reports file of each question, by its id."""
    questions: dict[str, PrivatizedQuestion]
    """The number of reports and the missing answers of each question, by its id."""
    people: People | None
    """The people of the table, with what each spent; None where every row is another person."""

    @property
    def reports(self) -> int:
        """The number of reports of all questions."""
        return sum(one.reports for one in self.questions.values())


def privatize(
    collection: PathLike | Collection,
    table: object,
    out: PathLike,
    *,
    question: str | None = None,
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
    randomised: bool = False,
    random: RandomSource | None = None,
) -> PrivatizedTable:
    """Write reports of the answers in `table` to `out`, a .parquet file.

    `table` is a file, a folder or a pattern of files, or a table in memory (Arrow, pandas, Polars,
    columns by name). Of several questions a file OUT-QUESTION.parquet is written for each, unless
    `question` names one. `columns` has the column of a question whose id it is not, and `groups`
    those of public groups; the columns of `keep` are copied in the clear, and that of people's
    `weight` rounded to powers of 1.1. `day` is a day, or a `DayColumn` with the day of each row.

    Every row is another person, unless `person` names the column that says whose it is, or is a
    `PersonRule` that says how many reports each person makes. What people spend in the files of
    the series is kept in `ledger` (SERIES.people in the folder of the reports by default). Leave
    `random` out for real people: reports with it are simulated, and leave no ledger.

    Answers to a design on paper are `randomised` already, by the dice or cards of respondents.
    """
    contract = collection if isinstance(collection, Collection) else Collection.load(collection)
    path = Path(out)
    if path.suffix != ".parquet":
        raise InputError(f"out must be a .parquet file; got {str(path)!r}")
    asked = contract.questions if question is None else (contract.question(question),)
    files = {one.id: _file_of(path, one.id, len(asked) > 1) for one in asked}
    if not replace and (there := [file for file in files.values() if file.exists()]):
        raise InputError(
            f"out must be a new file, since a second run makes other reports of the same people, "
            f"each as telling as the first; {str(there[0])!r} exists (replace=True writes over it)"
        )
    rows = (
        AnswerTable.open(table, mark, missing)
        if isinstance(table, (str, os.PathLike))
        else AnswerTable.of(table, mark, missing)
    )
    when = datetime.date.fromisoformat(day) if isinstance(day, str) else day
    if not isinstance(when, DayColumn):
        check_day(contract.ask, when)
    people, kept = None, None
    if person is not None:
        rule = person if isinstance(person, PersonRule) else PersonRule(person)
        people = People.of(rows, rule, when)
        if random is None:
            place = path.with_name(f"{contract.series}.people") if ledger is None else ledger
            kept = PersonLedger.open(place, contract.series)
            kept.read(people)
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
    )
    return PrivatizedTable(files, made, people)


def _file_of(out: Path, id: str, is_one_of_several: bool) -> Path:
    return out.with_name(f"{out.stem}-{id}{out.suffix}") if is_one_of_several else out
