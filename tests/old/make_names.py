"""Write down the names that programs and scripts may use: Python's, the commands', JSON's.

    PYTHONPATH=$PWD/src:$PWD .venv/bin/python tests/old/make_names.py tests/old/1.0.0rc1

It writes FOLDER/names.json, once for each release, after make_old.py, whose files the commands
read; test_old_names.py holds later versions to it.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import rumor
from docs.make_pages import commands, public_members
from rumor.cli import main as rumor_command
from rumor.collector.http.limits import Limits
from rumor.collector.http.openapi import openapi

_SURVEY, _REPORTS = "contracts/survey.json", "reports.parquet"
JSON_COMMANDS = {
    "show": [_SURVEY],
    "plan": ["--domain", "3", "--epsilon", "1", "--people", "10000"],
    "account": [_SURVEY],
    "audit": [_SURVEY, "--samples", "1000", "--seed", "1"],
    "estimate": [_SURVEY, _REPORTS, "-q", "colour"],
    "compare": [_SURVEY, _REPORTS, "-q", "colour", "--by", "country"],
    "regress": [_SURVEY, _REPORTS, "colour ~ country"],
    "attack": ["--people", "50", "--words", "20"],
}
"""Commands whose JSON is kept, with their arguments; paths are of the folder."""


def parameters_of(function: object) -> list[str]:
    """Return the parameters of `function` that callers may name."""
    try:
        found = inspect.signature(function)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []
    catching = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        name
        for name, each in found.parameters.items()
        if each.kind not in catching and name[0] != "_" and name not in ("self", "cls")
    ]


def python_names() -> dict[str, list[str]]:
    """Return the parameters of every public name and member."""
    found = {}
    for name in rumor.__all__:
        value = getattr(rumor, name)
        found[name] = parameters_of(value) if callable(value) else []
        for member in public_members(value) if inspect.isclass(value) else []:
            static = inspect.getattr_static(value, member)
            function = getattr(static, "__func__", static)
            found[f"{name}.{member}"] = parameters_of(function) if callable(function) else []
    return dict(sorted(found.items()))


def command_names() -> dict[str, list[str]]:
    """Return the options of every command, and its arguments in their order."""
    found = {}
    for name, command in commands().items():
        options = [text for p in command.params for text in p.opts + p.secondary_opts]
        found[name] = sorted(each for each in options if each.startswith("-"))
    return dict(sorted(found.items()))


def paths_in(document: object, before: str = "") -> Iterator[str]:
    """Yield the members of a JSON document by their paths; items of a list are alike."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield f"{before}{name}"
            yield from paths_in(value, f"{before}{name}.")
    elif isinstance(document, list):
        for value in document:
            yield from paths_in(value, f"{before}[].")


def json_of(folder: Path, command: str) -> list[str]:
    """Return the members of the JSON that `command` prints over the files of `folder`."""
    said = io.StringIO()
    given = [
        str(folder / each) if (folder / each).exists() else each for each in JSON_COMMANDS[command]
    ]
    with contextlib.redirect_stdout(said):
        status = rumor_command([command, *given, "--json"])
    assert status == 0, command
    return sorted(set(paths_in(json.loads(said.getvalue()))))


def main(folder: Path) -> None:
    """Write the names of the present code."""
    found = {
        "python": python_names(),
        "commands": command_names(),
        "json": {command: json_of(folder, command) for command in JSON_COMMANDS},
        "http": sorted(openapi(Limits())["paths"]),
    }
    lines = [
        f"{json.dumps(title)}: "
        + ("{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in part.items()) + "\n}"
           if isinstance(part, dict) else json.dumps(part))
        for title, part in found.items()
    ]  # fmt: skip
    (folder / "names.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
