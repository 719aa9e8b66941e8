"""The checklist: every item of the five documents has a command, and the command prints it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rumor.cli import main
from rumor.papers import DOCUMENTS, paper
from rumor.papers.checklist import items, items_sentence, missing, rows
from rumor.papers.model import ChecklistItem

ITEMS = list(items())
# Commands are told from the root of the project, where examples/ is.
ROOT = Path(__file__).parents[2]


def test_every_item_has_a_command_or_a_reason() -> None:
    assert {number for number, _, _ in ITEMS} == set(DOCUMENTS)
    assert len(ITEMS) >= 128
    refused = [entry for _, _, entry in ITEMS if not entry.shown]
    assert len(refused) <= 4
    for entry in refused:
        assert len(entry.note.split()) >= 3, entry.what
    assert sum(entry.slow for _, _, entry in ITEMS) <= 5
    assert [entry.what for _, _, entry in ITEMS if bool(entry.prints) != bool(entry.shown)] == []
    assert sum(entry.beyond for _, _, entry in ITEMS) == 2
    names = [(number, entry.what) for number, _, entry in ITEMS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "rappor-privacy" else [pytest.mark.slow])
        for name in DOCUMENTS.values()
    ],
)
def test_every_command_prints_its_item(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    status = main(["papers", "checklist", name, "--run", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert [one for one in told["items"] if not one["passed"]] == []
    assert (status, told["failed"]) == (0, 0)
    own = [entry for _, paper_, entry in ITEMS if paper_ == name and entry.shown]
    assert told["run"] == len(own)


def test_the_command_prints_the_checklist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "checklist"]) == 0
    text = capsys.readouterr().out
    for number, what, says, command in rows():
        assert f"  {what}: {says}\n    {command}\n" in text, (number, what)
    assert text.endswith(f"{items_sentence()}\n")
    order = ("rappor-decode", "rappor-privacy", "privkv-em", "rappor-primer", "css2020")
    heads = [f"{place:03d} {paper(name).title}" for place, name in enumerate(order)]
    assert [line for line in text.splitlines() if line in heads] == heads
    assert main(["papers", "checklist", "css2020", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["items"]
    own = [entry for _, name, entry in ITEMS if name == "css2020"]
    assert [one["item"] for one in told] == [entry.what for entry in own]


def test_the_sentence_counts_items(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = ChecklistItem("shown", "x", shown="true", prints=("1",))
    own = ChecklistItem("own", "x", shown="true", prints=("1",), beyond=True)
    without = ChecklistItem("without", "x", note="It has no command.")
    for found, said in (
        ((shown, shown), "2 items of 5 documents, 2 with a command."),
        ((shown, own), "1 items of 5 documents, 1 with a command; 1 more go beyond the documents."),
        ((shown, without), "2 items of 5 documents, 1 with a command, 1 without one for a reason."),
    ):
        listed = [("000", "rappor-decode", one) for one in found]
        monkeypatch.setattr("rumor.papers.checklist.items", lambda listed=listed: listed)
        assert items_sentence() == said


def test_commands_that_print_something_else_are_noticed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = [
        ChecklistItem("whole", "x", shown="python -c 'print(1); print(2)'", prints=("1 2",)),
        ChecklistItem("other", "x", shown='python -c "print(12)"', prints=("1 2",)),
        ChecklistItem("ends", "x", shown='python -c "1 / 0"', prints=("1",)),
        ChecklistItem("refused", "x", shown="rumor papers cell css2020 nothing", prints=("1",)),
        ChecklistItem("without", "x", note="It has no command."),
    ]
    assert missing(broken[0], "1\n   2") == []
    monkeypatch.setattr(
        "rumor.papers.checklist.items", lambda: (("000", "rappor-decode", one) for one in broken)
    )
    assert main(["papers", "checklist", "--run"]) == 1
    text = capsys.readouterr().out
    assert "000 other: does not print '1 2'\n    python -c" in text
    assert "000 ends: ZeroDivisionError: division by zero" in text
    assert "000 refused: rumor: a cell of css2020 must begin as one does" in text
    assert text.endswith("4 commands run, 1 print what they should; 3 do not\n")
    assert main(["papers", "list", "--run"]) == 2
    assert "--run is for checklist; got 'list'" in capsys.readouterr().err
