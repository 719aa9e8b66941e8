"""The checklist: every item of the five documents has a command, and the commands run."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
from pathlib import Path

import pytest

from rumor.cli import main
from rumor.papers import DOCUMENTS
from rumor.papers.checklist import items, items_sentence, rows
from rumor.papers.model import ChecklistItem

ITEMS = list(items())
# Commands are told from the root of the project, where examples/ is.
ROOT = Path(__file__).parents[2]


def printed(command: str) -> str:
    """What a command prints, run in this process."""
    words, out = shlex.split(command), io.StringIO()
    with contextlib.redirect_stdout(out):
        if words[:2] == ["python", "-c"]:
            exec(words[2], {"__name__": "__main__"})
        else:
            assert words[0] == "rumor", command
            assert main(words[1:]) == 0, command
    return out.getvalue()


def test_every_item_has_a_command_or_a_reason() -> None:
    assert {number for number, _, _ in ITEMS} == set(DOCUMENTS)
    assert len(ITEMS) >= 128
    refused = [entry for _, _, entry in ITEMS if not entry.shown]
    assert len(refused) <= 3
    for entry in refused:
        assert len(entry.note.split()) >= 3, entry.what
    assert sum(entry.slow for _, _, entry in ITEMS) <= 5
    names = [(number, entry.what) for number, _, entry in ITEMS]
    assert len(set(names)) == len(names)


COMMANDS = [
    pytest.param(command, marks=[pytest.mark.slow] if slow else [])
    for command, slow in sorted({(entry.shown, entry.slow) for _, _, entry in ITEMS if entry.shown})
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_of_an_item_runs(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert printed(command).strip(), command


def test_the_command_prints_the_checklist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "checklist"]) == 0
    text = capsys.readouterr().out
    for number, what, says, command in rows():
        assert f"  {what}: {says}\n    {command}\n" in text, (number, what)
    assert text.endswith(f"{items_sentence()}\n")
    assert main(["papers", "checklist", "css2020", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["items"]
    own = [entry for _, name, entry in ITEMS if name == "css2020"]
    assert [one["item"] for one in told] == [entry.what for entry in own]


def test_commands_that_fail_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        printed('python -c "1 / 0"')
    with pytest.raises(AssertionError):
        printed("rumor papers cell css2020 nothing")
    assert ChecklistItem("x", "y").shown == ""
