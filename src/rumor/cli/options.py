"""How the commands declare their options, and the options that several of them share."""

from __future__ import annotations

import decimal
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from rumor.core.errors import InputError, format_value

# More digits than any count has: a number of a thousand zeros is not worth its memory.
_DIGITS = 18

if TYPE_CHECKING:
    from rumor.core.answer_table import AnswerTable


def option(usage: str, help: str) -> Any:
    """Return an option as usage lines write it: "--people -n N" has two names, and N is its value.

    One without a value is a flag.
    """
    names, value = _named(usage)
    return typer.Option(*names, metavar=value, help=help)


def count(usage: str, help: str, *, min: int | None = None, max: int | None = None) -> Any:
    """Return an option whose value is a whole number, which may be written as one says it: 1e5."""
    names, value = _named(usage)
    rule = "must be a whole number"
    if max is not None:
        rule += f" from {min:,} to {max:,}"
    elif min is not None:
        rule += f" from {min:,} on"

    def read(given: str | int) -> int:
        found = _whole(str(given))
        if found is None or (min is not None and found < min) or (max is not None and found > max):
            example = "" if found is not None else ", such as 20000 or 1e5"
            raise typer.BadParameter(
                f"{rule}{example}; got {format_value(given)}", param_hint=[names[0]]
            )
        return found

    return typer.Option(*names, metavar=value, help=help, parser=read)


def _named(usage: str) -> tuple[list[str], str | None]:
    """Return the names of an option, and what its value is called, where it has one."""
    words = usage.split()
    names = [word for word in words if word.startswith("-")]
    return names, None if words == names else words[-1]


_THOUSANDS = re.compile(r"[0-9]{1,3}(\.[0-9]{3})+")


def _whole(text: str) -> int | None:
    """Return a whole number as people write them, or nothing: 20000, 20_000, 2e4, 1.5e5.

    Not 1.000, which is a thousand to some and one to others.
    """
    if _THOUSANDS.fullmatch(text.strip()):
        return None
    try:
        found = decimal.Decimal(text)
    except decimal.InvalidOperation:
        return None
    if not found.is_finite() or found.adjusted() > _DIGITS or found % 1:
        return None
    return int(found)


def opt(usage: str, help: str, *, default: object = None) -> Any:
    """Return an option as a field of a group of options."""
    return field(default=default, metadata={"option": option(usage, help)})


def opt_count(usage: str, help: str, *, default: int | None = None, **limits: int) -> Any:
    """Return a whole number as a field of a group of options; its limits are those of `count`."""
    return field(default=default, metadata={"option": count(usage, help, **limits)})


def argument(name: str, help: str) -> Any:
    """Return an argument, known to the help text by this name."""
    return typer.Argument(metavar=name, help=help)


def separated(text: str | None) -> str | None:
    """Return the separator that `text` stands for: a tab is written tab or \\t."""
    return "\t" if text in ("tab", "\\t") else text


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return `command` for typer: each dataclass parameter becomes options, one for each field.

    So options that belong together are one thing to the command, and options to everybody else.
    A field may be such a group itself.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    flat = [
        option
        for one in inspect.signature(command).parameters.values()
        for option in _flat(one.name, hints[one.name], one.default)
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = _gathered(group, given)
        command(**given)

    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in flat}
    return run


def _flat(name: str, kind: Any, default: object) -> list[inspect.Parameter]:
    """Return an option, or those of a group, in their order."""
    if not is_dataclass(kind):
        only = inspect.Parameter.KEYWORD_ONLY
        return [inspect.Parameter(name, only, default=default, annotation=kind)]
    inner, flat = get_type_hints(kind, include_extras=True), []
    for each in fields(kind):
        own = inner[each.name]
        if "option" in each.metadata:
            own = Annotated[own, each.metadata["option"]]
        flat += _flat(each.name, own, each.default)
    return flat


def _gathered(group: Any, given: dict[str, Any]) -> Any:
    """Return an object of `group`, whose fields are taken out of `given`."""
    inner = get_type_hints(group)
    return group(
        **{
            name: _gathered(kind, given) if is_dataclass(kind) else given.pop(name)
            for name, kind in inner.items()
        }
    )


@dataclass(frozen=True)
class PrintedForm:
    """Options for the form in which a result is printed."""

    as_json: bool = opt("--json", "Print JSON for scripts, in full precision.", default=False)
    markdown: bool = opt("--markdown", "Print the table as Markdown.", default=False)
    latex: bool = opt(
        "--latex", "Print the table as LaTeX, for a paper that uses booktabs.", default=False
    )

    def check(self) -> None:
        """Refuse several forms at once."""
        given = {"--json": self.as_json, "--markdown": self.markdown, "--latex": self.latex}
        said = [name for name, asked in given.items() if asked]
        if len(said) > 1:
            raise InputError(f"a result is printed in one form; got {' and '.join(said)}")

    def print(self, table: Callable[[], str], data: Callable[[], Mapping[str, object]]) -> None:
        """Print the `table` in the form that was asked for, or the `data` as JSON."""
        if self.as_json:
            from rumor.cli.common import print_json

            print_json(data())
        elif self.markdown:
            from rumor.results.publication import as_markdown

            print(as_markdown(table), end="")
        elif self.latex:
            from rumor.results.publication import as_latex

            print(as_latex(table), end="")
        else:
            print(table())


@dataclass(frozen=True)
class ShuffledBatch:
    """Options for the batch in which a relay shuffles reports."""

    crowd: int | None = opt_count(
        "--crowd N", "The fewest honest reports that a shuffled batch holds (1e5 is fine)."
    )
    delta: float | None = opt(
        "--delta D", "The delta of the (epsilon, delta) guarantee of shuffling."
    )

    def given(self) -> tuple[int, float] | None:
        """Return crowd and delta, or None without both."""
        if self.crowd is None and self.delta is None:
            return None
        if self.crowd is None or self.delta is None:
            missing = "--crowd" if self.crowd is None else "--delta"
            raise InputError(f"--crowd and --delta go together; got no {missing}")
        return self.crowd, self.delta


@dataclass(frozen=True)
class TableReading:
    """Options for reading a table of answers."""

    mark: str = opt(
        "--mark MARK", "Separator between the options in a cell, for set questions.", default="|"
    )
    missing: str = opt(
        "--missing LABEL|drop|error",
        "Rows without an answer: use this label, drop them, or stop with an error.",
        default="error",
    )
    separator: str | None = opt(
        "--separator CHAR", "Separator of the CSV file, or tab (default: detected)."
    )

    def open(self, path: str) -> AnswerTable:
        """Return the table, looked at."""
        from rumor.core.answer_table import AnswerTable

        return AnswerTable.open(path, self.mark, self.missing, separated(self.separator))


CollectionFile = Annotated[
    str, argument("COLLECTION", "The collection file (.toml), or a contract (.json).")
]
QuestionId = Annotated[
    str | None, option("--question -q ID", "The question, if the collection has several.")
]
Level = Annotated[float, option("--level --confidence L", "The confidence level of the intervals.")]
Top = Annotated[
    int | None,
    count("--top N", "Show the N most frequent values (default: 20 in tables).", min=1),
]
AsJson = Annotated[bool, option("--json", "Print JSON for scripts, in full precision.")]
Curves = Annotated[str | None, option("--plot FILE", "Write the curves to .html, .png or .svg.")]
