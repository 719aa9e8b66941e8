"""How the commands declare their options, and the options that several of them share."""

from __future__ import annotations

from typing import Annotated, Any

import typer


def option(usage: str, help: str, *, min: int | None = None, max: int | None = None) -> Any:
    """An option as usage lines write it: "--people -n N" has two names, and N is its value.

    One without a value is a flag, or is shown with the name of its type.
    """
    words = usage.split()
    names = [word for word in words if word.startswith("-")]
    value = None if words == names else words[-1]
    return typer.Option(*names, metavar=value, help=help, min=min, max=max)


def argument(name: str, help: str) -> Any:
    """An argument, known to the help text by this name."""
    return typer.Argument(metavar=name, help=help)


CollectionFile = Annotated[
    str, argument("COLLECTION", "The collection: a .toml file, or a contract (.json).")
]
QuestionId = Annotated[
    str | None, option("--question -q ID", "Which question, where the collection has several.")
]
Level = Annotated[float, option("--level", "The confidence level of the intervals.")]
Top = Annotated[
    int | None,
    option("--top N", "Show only the N most frequent values (else 20 in tables).", min=1),
]
AsJson = Annotated[bool, option("--json", "Print JSON for scripts, in full precision.")]
Curves = Annotated[str | None, option("--plot FILE", "Write the curves to .html, .png or .svg.")]
