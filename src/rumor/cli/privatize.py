"""`rumor privatize`: a table of answers in, a file of private reports out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rumor.cli.common import keep_inputs, past_day, print_json, progress, warn
from rumor.cli.options import (
    AsJson,
    CollectionFile,
    TableReading,
    argument,
    opt,
    option,
)
from rumor.core.errors import InputError

if TYPE_CHECKING:
    from rumor.contract.collection import Question

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
        "ID=NAME, and for groups of the collection GROUPS=NAME, repeatable.",
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
class ReportOptions:
    """Options for the reports file: public columns, days and overwriting."""

    keep: list[str] | None = opt(
        "--keep -k NAME",
        "Copy this public column to the reports, in the clear, for --by. Repeatable. Columns of "
        "answers are refused.",
    )
    day: str | None = opt("--day YYYY-MM-DD", "The day of the reports (default: today in UTC).")
    seed: int | None = opt(
        "--seed N", "Repeatable noise for simulations. Such reports are NOT private."
    )
    replace: bool = opt("--replace", "Replace an existing reports file.", default=False)


def privatize(
    collection: CollectionFile,
    table: Answers,
    out: Annotated[str, option("--out -o FILE", "The reports file to write.")],
    question: Questions = None,
    column: Column = None,
    *,
    reading: TableReading,
    written: ReportOptions,
    as_json: AsJson = False,
) -> None:
    """Turn answers into randomised reports, one row per respondent.

    Answers are labels where the question has labels, integers from 0 where it has none.
    The reports come out shuffled, each with a random id; only kept columns are copied, and
    groups of the collection, where "other" stands for whatever their lists lack.
    The file is written whole or not at all, and none is written over without --replace:
    a second run makes further reports of the same people, which cost them epsilon again.

    A row without an answer is an error that names it, unless --missing says what it becomes.

    Of several questions FILE-QUESTION.parquet is written for each. Where a collection asks each
    person some of its questions (ask), these are drawn for every row, for all questions at once:
    only its own rows are in a question's file, and the cells of the others may be empty.

    \b
    Example:
      rumor privatize examples/browser.toml answers.csv -o reports.parquet --keep country
      rumor privatize survey.toml "waves/*.csv.gz" -o reports.parquet --missing drop
      psql -c "COPY answers TO STDOUT CSV HEADER" | rumor privatize c.toml - -o reports.parquet
    """
    from rumor.contract.collection import Collection
    from rumor.contract.privatize import check_day, group_sizes, privatize_questions
    from rumor.core.randomness import Seeded
    from rumor.kinds import KINDS

    keep_inputs(collection, table, out=out)
    if Path(out).suffix != ".parquet":
        raise InputError(f"--out must be a .parquet file; got {out!r}")
    contract = Collection.load(collection)
    some = contract.ask is not None and contract.ask.questions is not None
    if some and question:
        raise InputError(
            "who is asked which questions is drawn for all of them at once; leave --question out"
        )
    asked = [contract.question(id) for id in dict.fromkeys(question or ())] or contract.questions
    several = some or len(asked) > 1
    named_groups = () if contract.groups is None else contract.groups.names
    columns, groups = _columns(column or (), asked, named_groups)
    outs = {q.id: _named(out, q.id) if several else out for q in asked}
    for path in outs.values():
        keep_inputs(collection, table, out=path)
        if Path(path).exists() and not written.replace:
            raise InputError(
                f"--out must be a new file, since a second run makes other reports of the same "
                f"people, each as telling as the first; {path!r} exists (--replace writes over it)"
            )
    for q in asked:
        KINDS[q.kind].check_missing(q.mechanism, reading.missing)
    source = reading.open(table)
    for path in outs.values():
        keep_inputs(*(str(file.path) for file in source.files), out=path)
    when = past_day("--day", written.day)
    check_day(contract.ask, when)
    if written.seed is not None:
        warn(
            f"--seed {written.seed} makes the noise repeatable: whoever knows the seed can undo "
            f"it. These reports are NOT private; never make real people's reports this way."
        )
    with progress("privatizing") as update:
        made = privatize_questions(
            contract,
            source,
            outs,
            columns=columns,
            groups=groups,
            keep=written.keep or (),
            day=when,
            random=None if written.seed is None else Seeded(written.seed),
            on_progress=lambda done: update(done, None),
        )
    for q in asked:
        named = columns.get(q.id) or q.column or q.id
        if (advice := KINDS[q.kind].table_advice(q.mechanism, source, named)) is not None:
            warn(advice)
    for name, (values, rows) in group_sizes(source, written.keep or ()).items():
        if values > _MANY and rows < _CROWD * values:
            warn(
                f"--keep {name}: {values:,} distinct values in {rows:,} rows, {rows / values:.3g} "
                f"people to each on average. Whoever knows a person's finds their report among "
                f"as few; keep coarser groups, or none."
            )
    facts = [
        {
            "reports": made[q.id].reports,
            "missing": made[q.id].missing.affected_rows,
            "out": outs[q.id],
            "collection": contract.digest,
            "question": q.id,
            "epsilon": q.epsilon,
            "report_bytes": q.mechanism.width,
            "private": written.seed is None,
        }
        for q in asked
    ]
    if as_json:
        print_json({"questions": facts} if several else facts[0])
        return
    for q in asked:
        width, one = q.mechanism.width, made[q.id]
        print(
            f"{one.reports:,} reports of {width:,} byte{'' if width == 1 else 's'} each to "
            f"{outs[q.id]!r} (question {q.id!r}, epsilon {q.epsilon:.4g} each)"
        )
        if (said := one.missing.sentence()) is not None:
            print(f"  {said}")


def _columns(
    said: Sequence[str], asked: Sequence[Question], named_groups: Sequence[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the columns that options name: of answers by question, and of groups by name.

    NAME is that of the only question, ID=NAME of one of them, and GROUPS=NAME of groups.
    """
    columns: dict[str, str] = {}
    groups: dict[str, str] = {}
    for text in said:
        id, equals, name = text.partition("=")
        if equals and id in named_groups:
            if id in groups:
                raise InputError(f"--column must be said once for groups; got two for {id!r}")
            groups[id] = name
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
    return columns, groups


def _named(out: str, id: str) -> str:
    """Return the path of the reports file of question `id`, one of several questions."""
    path = Path(out)
    return str(path.with_name(f"{path.stem}-{id}{path.suffix}"))
