"""`rumor privatize`: a table of answers in, a file of private reports out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rumor.cli.common import keep_inputs, noted_progress, past_day, print_json, warn
from rumor.cli.options import (
    AsJson,
    CollectionFile,
    TableReading,
    argument,
    opt,
    opt_count,
    option,
)
from rumor.core.errors import InputError

if TYPE_CHECKING:
    import datetime

    from rumor.contract.collection import Question
    from rumor.contract.person_rows import People, PersonRule
    from rumor.core.answer_table import AnswerTable
    from rumor.core.day_columns import DayColumn

# Groups that people can hide in: a few of any size, or a crowd in each on average.
_MANY, _CROWD = 20, 100


Questions = Annotated[
    list[str] | None,
    option("--question -q ID", "The question; repeatable (default: all of the collection)."),
]
Column = Annotated[
    list[str] | None,
    option(
        "--column -c NAME",
        "The column of answers (default: the question's column or id); for several questions "
        "ID=NAME, for groups of the collection GROUPS=NAME, for parts of a joint answer PART=NAME; "
        "repeatable.",
    ),
]
Answers = Annotated[
    str,
    argument(
        "TABLE",
        "Answers: a file (.csv, .tsv, .txt, also .gz; .parquet; .dta; .sav), a folder or a quoted "
        "pattern of such files, or - for the standard input.",
    ),
]


@dataclass(frozen=True)
class PersonOptions:
    """Options for tables in which one person has several rows."""

    person: str | None = opt(
        "--person COLUMN",
        "The column that says whose a row is, where one person has several rows (default: every "
        "row is another person).",
    )
    each: str | None = opt(
        "--each first|last|most|sum",
        "With --person: the row of each person that becomes a report, or all of them together: "
        "the most frequent answer, or the sum (default: first).",
    )
    cap: int | None = opt_count(
        "--cap N",
        "With --person: the most reports of one person in this table, each of which costs epsilon "
        "(default: 1).",
        min=1,
    )
    every: str | None = opt(
        "--every day|week|month",
        "With --person and --day-column: one report of a person for each period, at most --cap.",
    )
    ledger: str | None = opt(
        "--ledger FILE",
        "With --person: the file of what each person has spent in the series (default: "
        "SERIES.people in the folder of the reports; its key is FILE.key).",
    )

    def rule(self) -> PersonRule | None:
        """Return the rule for the rows of a person, or None where every row is another person."""
        from rumor.contract.person_rows import PersonRule

        if self.person is None:
            said = [f"--{name}" for name, value in vars(self).items() if value is not None]
            if said:
                raise InputError(f"{said[0]} is for tables with --person COLUMN; got it alone")
            return None
        if self.every is not None and self.cap is None:
            raise InputError(
                f"--every {self.every} makes several reports of a person, each of which costs "
                f"epsilon: say how many at most (--cap N)"
            )
        return PersonRule(self.person, self.each or "first", self.cap or 1, self.every)


@dataclass(frozen=True)
class ReportOptions:
    """Options for the reports file: public columns, days and overwriting."""

    keep: list[str] | None = opt(
        "--keep -k NAME",
        "Copy this public column to the reports, in the clear, for --by. Repeatable. Columns of "
        "answers are refused.",
    )
    weight_column: str | None = opt(
        "--weight-column COLUMN",
        "Copy the weight of each person to the reports, in the clear, rounded to a power of 1.1.",
    )
    day: str | None = opt("--day YYYY-MM-DD", "The day of the reports (default: today in UTC).")
    day_column: str | None = opt(
        "--day-column COLUMN", "The column with the day of each row: dates or timestamps."
    )
    time_zone: str | None = opt(
        "--time-zone ZONE",
        "With --day-column: the zone of the days of timestamps that have an offset (default: UTC).",
    )
    seed: int | None = opt(
        "--seed N", "Repeatable noise for simulations. Such reports are NOT private."
    )
    replace: bool = opt("--replace", "Replace an existing reports file.", default=False)
    randomised: bool = opt(
        "--randomised",
        "The answers were randomised with dice or cards (mechanism paper): write them as they are.",
        default=False,
    )
    resume: bool = opt(
        "--resume",
        "Go on with a folder of parts that a run with the same options was writing when it was "
        "stopped.",
        default=False,
    )

    def when(self) -> datetime.date | DayColumn | None:
        """Return the day of all reports, or the column that has the day of each."""
        from rumor.core.day_columns import DayColumn

        if self.day_column is None:
            if self.time_zone is not None:
                raise InputError("--time-zone is that of --day-column; got it alone")
            return past_day("--day", self.day)
        if self.day is not None:
            raise InputError("a row has one day: say --day or --day-column; got both")
        return DayColumn(self.day_column, self.time_zone or "UTC")


def privatize(
    collection: CollectionFile,
    table: Answers,
    out: Annotated[
        str,
        option(
            "--out -o FILE",
            "The reports file to write (.parquet), or a folder of parts (reports/).",
        ),
    ],
    question: Questions = None,
    column: Column = None,
    *,
    reading: TableReading,
    persons: PersonOptions,
    written: ReportOptions,
    as_json: AsJson = False,
) -> None:
    """Turn answers into randomised reports, one row per respondent.

    Answers are labels where the question has labels, integers from 0 where it has none.
    The reports come out shuffled, each with a random id; only kept columns are copied, and
    groups of the collection, where "other" stands for whatever their lists lack.
    The file is written whole or not at all, and none is written over without --replace:
    a second run makes further reports of the same people, which cost them epsilon again.
    A large table may become a folder (--out reports/) of parts of some million reports, each
    written whole or not at all; --resume goes on after a run that was stopped.

    Every row is another person, unless --person names the column that says whose it is: then one
    row of each person becomes a report, or as many as --cap allows, and a ledger keeps what each
    person spends in all files of the series.

    A row without an answer is an error that names it, unless --missing says what it becomes.

    Of several questions FILE-QUESTION.parquet or FOLDER/QUESTION is written for each. Where a
    collection asks each person some of its questions (ask), these are drawn for every row, for
    all questions at once: only its own rows are in a question's file, and the cells of the others
    may be empty.

    \b
    Example:
      rumor privatize examples/browser.toml answers.csv -o reports.parquet --keep country
      rumor privatize survey.toml "waves/*.csv.gz" -o reports.parquet --missing drop
      rumor privatize app.toml events.csv -o reports.parquet --person user --day-column time
      rumor privatize dice.toml interviews.csv -o reports.parquet --randomised --keep region
      psql -c "COPY answers TO STDOUT CSV HEADER" | rumor privatize c.toml - -o reports.parquet
    """
    from rumor.contract.collection import Collection
    from rumor.contract.privatize import group_sizes
    from rumor.contract.table_reports import chosen_questions
    from rumor.contract.table_reports import privatize as privatize_file
    from rumor.core.randomness import Seeded
    from rumor.kinds import KINDS

    keep_inputs(collection, table, out=out, ledger=persons.ledger)
    contract = Collection.load(collection)
    asked = chosen_questions(contract, question)
    named_groups = () if contract.groups is None else contract.groups.names
    columns, groups, parts = _columns(column or (), asked, named_groups)
    rule, when = persons.rule(), written.when()
    source = reading.open(table).with_names(parts)
    if written.seed is not None:
        warn(
            f"--seed {written.seed} makes the noise repeatable: whoever knows the seed can undo "
            f"it. These reports are NOT private; never make real people's reports this way."
        )
    try:
        with noted_progress("privatizing") as update:
            made = privatize_file(
                contract,
                source,
                out,
                question=question,
                columns=columns,
                groups=groups,
                keep=written.keep or (),
                weight=written.weight_column,
                day=when,
                person=rule,
                ledger=persons.ledger,
                replace=written.replace,
                resume=written.resume,
                randomised=written.randomised,
                random=None if written.seed is None else Seeded(written.seed),
                on_progress=update,
            )
    except KeyboardInterrupt as stopped:
        print(f"rumor: stopped: {stopped}", file=sys.stderr)
        raise
    people = made.people
    for q in asked:
        named = columns.get(q.id) or q.column or q.id
        if (advice := KINDS[q.kind].table_advice(q.mechanism, source, named)) is not None:
            warn(advice)
    hidden = source if people is None else people.first_rows(source)
    sizes = group_sizes(hidden, written.keep or (), written.weight_column)
    for name, (values, rows) in sizes.items():
        if values > _MANY and rows < _CROWD * values:
            kept = "--weight-column" if name == written.weight_column else "--keep"
            warn(
                f"{kept} {name}: {values:,} distinct values in {rows:,} rows, {rows / values:.3g} "
                f"people to each on average. Whoever knows a person's finds their report among "
                f"as few; keep coarser groups, or none."
            )
    facts = [
        {
            "reports": made.questions[q.id].reports,
            "missing": made.questions[q.id].missing.affected_rows,
            "out": str(made.files[q.id]),
            "collection": contract.digest,
            "question": q.id,
            "epsilon": q.epsilon,
            "report_bytes": q.mechanism.width,
            "private": written.seed is None,
        }
        for q in asked
    ]
    if people is None:
        _warn_of_repeated_people(source, [*columns.values(), *(q.column or q.id for q in asked)])
    if as_json:
        whole = {"questions": facts} if len(made.files) > 1 else facts[0]
        print_json(
            whole if people is None else {**whole, "people": _people_facts(people, made.ledger)}
        )
        return
    for q in asked:
        width, one = q.mechanism.width, made.questions[q.id]
        print(
            f"{one.reports:,} reports of {width:,} byte{'' if width == 1 else 's'} each to "
            f"{str(made.files[q.id])!r} (question {q.id!r}, epsilon {q.epsilon:.4g} each)"
        )
        if (said := one.missing.sentence()) is not None:
            print(f"  {said}")
    if people is not None:
        print(_people_sentences(people, made.ledger))


def _people_facts(people: People, ledger: Path | None) -> dict[str, object]:
    return {
        "people": len(people),
        "rows": people.rows,
        "each": people.rule.each,
        "cap": people.rule.cap,
        "every": people.rule.every,
        "epsilon_most": people.epsilon,
        "epsilon_series": people.epsilon_series,
        "left_out": people.barred,
        "ledger": None if ledger is None else str(ledger),
    }


def _people_sentences(people: People, ledger: Path | None) -> str:
    """Return what became of the rows of people, and what it costs them."""
    lines = [
        f"{_count(people.rows, 'row', 'rows')} of {_count(len(people), 'person', 'people')}: "
        f"{people.rule.sentence()}",
        f"a person spends at most epsilon {people.epsilon:.4g} here"
        + (
            "; no ledger is kept of simulated reports"
            if ledger is None
            else f" and {people.epsilon_series:.4g} with earlier files of the series "
            f"(ledger {str(ledger)!r})"
        ),
    ]
    for id, count in people.barred.items():
        if count:
            lines.append(
                f"{_count(count, 'person', 'people')} had made all reports allowed of one person "
                f"for {id!r}, and {'was' if count == 1 else 'were'} left out"
            )
    return "\n".join(lines)


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _warn_of_repeated_people(source: AnswerTable, answers: Sequence[str]) -> None:
    from rumor.contract.person_rows import repeated_id_column

    if str(source.path) == "-" or (name := repeated_id_column(source, answers)) is None:
        return
    warn(
        f"column {name!r} has the same value in several rows: if it says whose a row is, the "
        f"epsilon of each report is spent once for every row of a person. --person {name} makes "
        f"one report of each person, or as many as --cap says, and states what they cost."
    )


def _columns(
    said: Sequence[str], asked: Sequence[Question], named_groups: Sequence[str]
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return the columns that options name: of answers by question, of groups, of parts.

    NAME is that of the only question, ID=NAME of one of them, GROUPS=NAME of groups, and
    PART=NAME of a part of an answer that has a column for each.
    """
    columns: dict[str, str] = {}
    groups: dict[str, str] = {}
    parts: dict[str, str] = {}
    part_names = _part_names(asked)
    for text in said:
        id, equals, name = text.partition("=")
        if equals and (id in named_groups or id in part_names):
            found, what = (groups, "groups") if id in named_groups else (parts, "a part")
            if id in found:
                raise InputError(f"--column must be said once for {what}; got two for {id!r}")
            found[id] = name
            continue
        known = [question.id for question in asked]
        if not (equals and id in known) and len(known) > 1:
            raise InputError(
                f"--column must be ID=NAME where there are several questions "
                f"({', '.join(known)}); got {text!r}"
            )
        id, name = (id, name) if equals and id in known else (known[0], text)
        if id in columns:
            raise InputError(f"--column must be said once for a question; got two for {id!r}")
        columns[id] = name
    return columns, groups, parts


def _part_names(asked: Sequence[Question]) -> set[str]:
    """Return the columns of answers that have several: parts, keys or options."""
    from rumor.kinds import KINDS

    ids = {question.id for question in asked}
    return {name for q in asked for name in KINDS[q.kind].columns(q.id, q.mechanism)} - ids
