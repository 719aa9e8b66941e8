"""`rumor init`: a collection to start from, by a few questions or from a table's columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rumor.cli.common import check_new_collection, print_json
from rumor.cli.options import AsJson, argument, opt, opt_count, option
from rumor.core.errors import InputError
from rumor.core.exact import PLANNED
from rumor.core.plain_text import one_line

if TYPE_CHECKING:
    from rumor.contract.table_columns import GroupColumn

File = Annotated[str, argument("FILE", "Where the collection is written (.toml); a new file.")]
From = Annotated[
    str | None, option("--from TABLE", "Begin with the columns of a table (.csv or .parquet).")
]


@dataclass(frozen=True)
class InitOptions:
    """Options that answer what `rumor init` would otherwise ask or read from a table."""

    name: str | None = opt("--name NAME", "The name of the collection.")
    contact: str | None = opt(
        "--contact ADDRESS", "The address for questions about the collection."
    )
    users: int | None = opt_count("--users --people N", "The expected number of respondents.")
    epsilon: float | None = opt(
        "--epsilon E", "The epsilon of one report of each question (default 1)."
    )
    reports: int | None = opt_count(
        "--reports N", "The reports that one person may make of each question (default 1).", min=1
    )
    only: list[str] | None = opt(
        "--only COLUMN", "With --from: ask for this column, and no other; repeatable."
    )


def init(
    file: File = "collection.toml",
    table: From = None,
    *,
    said: InitOptions,
    as_json: AsJson = False,
) -> None:
    """Write a collection file, from a table or from your answers.

    Or from the columns of a table. Nothing is sent anywhere, and no answer of the table is kept:
    its column names, short lists of labels and round ends of numbers are, and you are asked to
    check that they may be public. Columns such as countries become groups, which are sent in the
    clear for estimates by group.

    Columns that are no answers (ids, times, weights, free text) are left out, each with the
    reason; --only asks for them anyhow. The last lines say what all questions together cost a
    respondent, and how exact each will be.

    \b
    Examples:
      rumor init
      rumor init survey.toml --from answers.csv --name "A survey" --contact us@example.org
    """
    from pathlib import Path

    from rumor.contract.drafting import PUBLIC, Draft, draft_questions, expected_errors
    from rumor.core.files import write_whole
    from rumor.privacy.loss import collection_loss

    check_new_collection(file)
    if said.only and table is None:
        raise InputError("--only names columns of a table (--from TABLE); got it alone")
    skipped: dict[str, str] = {}
    notes: dict[str, str] = {}
    groups: Mapping[str, GroupColumn] = {}
    smallest = None
    if table is not None:
        epsilon = 1.0 if said.epsilon is None else said.epsilon
        people, person = said.users or PLANNED, said.contact or "privacy@example.org"
        found = draft_questions(table, epsilon, said.only or (), people)
        skipped, notes, groups, smallest = found.skipped, found.notes, found.groups, found.smallest
        title = said.name or Path(table).stem.replace("_", " ").capitalize()
        lists = {group.name: list(group.values) for group in groups.values()}
        made = Draft(title, person, people, found.questions, PUBLIC, lists)
    else:
        made = _interviewed(said)
    if said.reports is not None:
        limit = {"reports_per_person": said.reports}
        made = replace(made, questions=[{**asked, **limit} for asked in made.questions])
    collection = made.check()
    write_whole(file, made.text.encode())
    total = collection_loss(collection).epsilon
    errors = expected_errors(collection, made.users)
    few = 0 if smallest is None else round(smallest.share * made.users)
    if as_json:
        print_json(
            {
                "file": file,
                "collection": collection.digest,
                "questions": [question.id for question in collection.questions],
                "epsilon": total,
                "users": made.users,
                "expected_errors": errors,
                "skipped": skipped,
                "notes": notes,
                "groups": made.groups,
                "smallest_group": None
                if smallest is None
                else {
                    "column": smallest.name,
                    "group": smallest.smallest,
                    "users": few,
                    "expected_errors": expected_errors(collection, few),
                },
            }
        )
        return
    count = len(collection.questions)
    asked = "1 question" if count == 1 else f"{count:,} questions"
    print(f"{file}: {asked}. See what it promises: rumor show {file}")
    for name, reason in skipped.items():
        print(f"  {name} is left out: it {reason}")
    for name, note in notes.items():
        print(f"  {name}: {note}")
    often = "" if said.reports in (None, 1) else f", each {said.reports:,} times,"
    print(f"a respondent who answers {_all_of(count)}{often} spends epsilon {total:.4g}")
    if errors:
        each = ", ".join(f"{id} {error}" for id, error in errors.items())
        print(f"standard error with {made.users:,} respondents, as rumor plan says: {each}")
    for name, group in groups.items():
        values = ", ".join(map(one_line, group.values))
        there = "" if name == group.name else f"; rumor privatize --column {group.name}={name}"
        print(f"{name} is sent in the clear with every report, as a group: {values}{there}")
    if errors and smallest is not None:
        each = ", ".join(f"{id} {one}" for id, one in expected_errors(collection, few).items())
        where = f"{smallest.name} {one_line(smallest.smallest)}"
        print(f"in the smallest group ({where}, about {few:,} respondents): {each}")


def _all_of(count: int) -> str:
    return "the question" if count == 1 else f"all {count:,} questions"


def _interviewed(said: InitOptions) -> Any:
    """Ask for every part of the collection file on the terminal."""
    from rumor.contract.drafting import Draft
    from rumor.kinds.interviews import parse_integer

    title = said.name or _asked("What is the collection called?", str)
    person = said.contact or _asked("Whom may people ask about it (an address)?", str)
    people = said.users
    if people is None:
        people = _asked("How many people will answer?", parse_integer)
    questions: list[dict[str, object]] = []
    while not questions or _asked("Another question? [y/N]", _is_yes, "n"):
        question = _question(said.epsilon)
        try:
            Draft(title, person, people, [*questions, question]).check()
        except InputError as problem:
            typer.echo(f"That cannot be: {problem}. Once more.", err=True)
            continue
        questions.append(question)
    return Draft(title, person, people, questions)


def _question(epsilon: float | None) -> dict[str, object]:
    from rumor.core.checks import slug
    from rumor.kinds import KINDS
    from rumor.kinds.interviews import parse_number

    text = _asked("What do you ask, in plain words?", str)
    id = _asked("A short name for it", slug, slug(text)[:24].strip("-"))
    for place, kind in enumerate(KINDS.values(), 1):
        typer.echo(f"  {place}  {kind.interview().ABOUT} ({kind.name})")
    kind = _asked("Which of these is the answer?", _one_of(list(KINDS.values())))
    asked = {"id": id, "kind": kind.name, "text": text}
    for ask in kind.interview().ASKS:
        found = _asked(ask.text, ask.read, "" if ask.optional else None)
        if found is not None:
            asked[ask.key] = found
    loss = (
        epsilon
        if epsilon is not None
        else _asked("Epsilon, the loss of a report", parse_number, "1")
    )
    return {**asked, "epsilon": loss}


def _is_yes(text: str) -> bool:
    if text.strip().lower() not in ("y", "yes", "n", "no"):
        raise InputError(f"type y or n; got {text!r}")
    return text.strip().lower() in ("y", "yes")


def _no_more_input() -> InputError:
    return InputError(
        "rumor init asks its questions on a terminal, or reads a table (--from TABLE); got the end "
        "of the input, and nothing was written"
    )


def _one_of(kinds: list[Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        for place, kind in enumerate(kinds, 1):
            if text.strip() in (str(place), kind.name):
                return kind
        raise InputError(f"type a number from 1 to {len(kinds)}, or a name; got {text!r}")

    return read


def _asked(text: str, read: Callable[[str], Any], unsaid: str | None = None) -> Any:
    """Prompt with `text` until `read` accepts the input; return None for an allowed empty line."""
    while True:
        try:
            said = typer.prompt(text, default=unsaid, show_default=bool(unsaid), type=str)
        except typer.Abort:
            raise _no_more_input() from None
        if said == "" and unsaid == "":
            return None
        try:
            return read(said)
        except InputError as problem:
            typer.echo(f"{str(problem)[:1].upper()}{str(problem)[1:]}.", err=True)
