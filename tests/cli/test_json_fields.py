"""The fields of what commands print with --json, and of the files they write as JSON.

Scripts read them, so a field that is renamed or gone breaks somebody. What the fields hold is
tested beside what makes them; tests/answers keeps those of estimates.
"""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.main import get_command

from rumor.cli import main
from rumor.cli.app import app
from rumor.core.randomness import Seeded
from tests.cli.scenes import prepare
from tests.collector.tools import two_rounds
from tests.flow import write_days

FIELDS: dict[str, list[str]] = tomllib.loads(
    Path(__file__).with_name("json_fields.toml").read_text(encoding="utf-8")
)
# What they serve or send is read in other tests; the others print an analyst's answers.
ELSEWHERE = {"answer", "withdraw", "serve", "relay", "issue", "demo", "modules"}
ANSWERS = {"estimate", "compare", "regress", "combine", "trend"}


def fields(document: Any, path: str = "") -> Iterator[str]:
    """Yield where the values of a document stand: `a.b`, of a list `a[]`."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from fields(value, f"{path}.{key}" if path else key)
    elif isinstance(document, list):
        for one in document:
            yield from fields(one, f"{path}[]")
    else:
        yield path


def said(line: str, folder: Path) -> list[str]:
    """Return the fields that a command line prints or, after `>`, writes."""
    typed, _, file = line.partition(" > ")
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        assert main(shlex.split(typed)[1:]) in (0, 1), line
    text = (folder / file).read_text(encoding="utf-8") if file else out.getvalue()
    return sorted(set(fields(json.loads(text))))


def furnish(folder: Path) -> None:
    """Put into a folder what the commands read."""
    prepare(folder)
    (folder / "counts.csv").write_text("value,count\nblank,3\nnews,5\nsearch,1\nmail,2\n")
    saved = ["--save-summary", f"{folder}/one.rumor"]
    first = two_rounds()[0]
    asked = first.questions[0]
    reports = asked.mechanism.without_labels().privatize(np.full((300, 2), 0.5), random=Seeded(1))
    write_days(folder / "rounds.parquet", first, asked, {"2026-01-05": reports})
    with contextlib.redirect_stdout(io.StringIO()):
        main(["estimate", f"{folder}/collection.toml", f"{folder}/reports.parquet", *saved])
        main(["export", f"{folder}/moved", "--store", f"sqlite:///{folder}/members.db"])


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with contracts, tables, reports and stores."""
    folder = tmp_path_factory.mktemp("desk")
    furnish(folder)
    return folder


@pytest.mark.parametrize("line", FIELDS)
def test_scripts_find_the_fields(line: str, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)
    assert said(line, desk) == FIELDS[line]


def test_every_command_with_json_is_in_the_table() -> None:
    asked = {shlex.split(line)[1] for line in FIELDS}
    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    offered = {
        name
        for name, command in commands.items()
        if any("--json" in parameter.opts for parameter in command.params)
    }
    assert offered - asked == ELSEWHERE | ANSWERS
