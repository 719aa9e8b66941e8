"""`rumor privatize`: a table of answers in, a file of private reports out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rumor.cli.common import keep_inputs, parse_day, print_json, progress, warn
from rumor.cli.options import (
    AsJson,
    CollectionFile,
    Mark,
    MissingRule,
    QuestionId,
    argument,
    option,
)
from rumor.core.errors import InputError

# Groups that people can hide in: a few of any size, or a crowd in each on average.
_MANY, _CROWD = 20, 100


Column = Annotated[
    str | None, option("--column -c NAME", "The column of answers (the question's id unless said).")
]
Keep = Annotated[
    list[str] | None,
    option(
        "--keep -k NAME",
        "Copy this column beside the reports, as it is: public, for --by. Repeatable. "
        "Answers to any question of the collection are refused.",
    ),
]
Day = Annotated[
    str | None, option("--day YYYY-MM-DD", "The day of the reports (today in UTC unless said).")
]
Seed = Annotated[
    int | None, option("--seed N", "Repeatable noise for dry runs. Such reports are NOT private.")
]


def privatize(
    collection: CollectionFile,
    table: Annotated[str, argument("TABLE", "Answers: a .csv or .parquet file.")],
    out: Annotated[str, option("--out -o FILE", "The reports file to write.")],
    question: QuestionId = None,
    column: Column = None,
    mark: Mark = "|",
    missing: MissingRule = "error",
    keep: Keep = None,
    day: Day = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Turn answers into private reports, every row another person.

    Answers are labels where the question has labels, integers from 0 where it has none.
    The reports come out shuffled, each with a random id; only kept columns are copied.
    The file is written whole or not at all.

    A row without an answer is an error that names it, unless --missing says what it becomes.

    Where a collection asks each person some of its questions (ask), these are drawn for every
    row, for all questions at once, and FILE-QUESTION.parquet is written for each question:
    only its own rows are in it, and the cells of the others may be empty.

    \b
    Example:
      rumor privatize examples/browser.toml answers.csv -o reports.parquet --keep country
    """
    from rumor.contract.collection import Collection
    from rumor.contract.privatize import group_sizes
    from rumor.contract.privatize_questions import check_day, privatize_questions
    from rumor.core.answer_table import Table
    from rumor.core.randomness import Seeded
    from rumor.kinds import KINDS

    keep_inputs(collection, table, out=out)
    if Path(out).suffix != ".parquet":
        raise InputError(f"--out must be a .parquet file; got {out!r}")
    contract = Collection.load(collection)
    some = contract.ask is not None and contract.ask.questions is not None
    if some and (question is not None or column is not None):
        raise InputError(
            "who is asked which questions is drawn for all of them at once, each in the column "
            "of its id; leave --question and --column out"
        )
    asked = contract.questions if some else (contract.question(question),)
    outs = {q.id: _named(out, q.id) if some else out for q in asked}
    for path in outs.values():
        keep_inputs(collection, table, out=path)
    for q in asked:
        KINDS[q.kind].check_missing(q.mechanism, missing)
    source = Table.open(table, mark, missing)
    when = parse_day("--day", day)
    check_day(contract.ask, when)
    if seed is not None:
        warn(
            f"--seed {seed} makes the noise repeatable: whoever knows the seed can undo it. "
            f"These reports are NOT private; never make real people's reports this way."
        )
    with progress("privatizing") as update:
        made = privatize_questions(
            contract,
            source,
            outs,
            columns={} if column is None else {asked[0].id: column},
            keep=keep or (),
            day=when,
            random=None if seed is None else Seeded(seed),
            on_progress=lambda done: update(done, None),
        )
    for name, (values, rows) in group_sizes(source, keep or ()).items():
        if values > _MANY and rows < _CROWD * values:
            warn(
                f"--keep {name}: {values:,} distinct values in {rows:,} rows, {rows / values:.3g} "
                f"people to each on average. Whoever knows a person's finds their report among "
                f"as few; keep coarser groups, or none."
            )
    facts = [
        {
            "reports": made[q.id].reports,
            "missing": made[q.id].missing.rows,
            "out": outs[q.id],
            "collection": contract.digest,
            "question": q.id,
            "epsilon": q.epsilon,
            "report_bytes": q.mechanism.width,
            "private": seed is None,
        }
        for q in asked
    ]
    if as_json:
        print_json({"questions": facts} if some else facts[0])
        return
    for q in asked:
        width, one = q.mechanism.width, made[q.id]
        print(
            f"{one.reports:,} reports of {width:,} byte{'' if width == 1 else 's'} each to "
            f"{outs[q.id]!r} (question {q.id!r}, epsilon {q.epsilon:.4g} each)"
        )
        if (said := one.missing.said()) is not None:
            print(f"  {said}")


def _named(out: str, id: str) -> str:
    """The file of one of several questions, beside the others."""
    path = Path(out)
    return str(path.with_name(f"{path.stem}-{id}{path.suffix}"))
