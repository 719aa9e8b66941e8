"""A collection to start from: by a few questions, or from the columns of a table."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.kinds import KINDS

Outputs = pytest.CaptureFixture[str]
HEAD = ["A survey", "us@example.org", "20000"]

# What somebody types for each kind, after its name.
TYPED = {
    "choice": ["red, green, blue"],
    "ordered": ["never, seldom, often"],
    "set": ["bus, train, car", "2"],
    "text": [],
    "words": [],
    "number": ["0", "24"],
    "keyvalue": ["Maps, Mail, Chat", "0", "10", ""],
    "joint": ["smokes: yes, no; drinks: much, some, none"],
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join([*lines, ""])))
    return main(["init", "c.toml"])


def test_every_kind_can_be_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(TYPED) == set(KINDS), "a new kind says what it asks for, and is tried here"
    lines = list(HEAD)
    for place, (kind, answers) in enumerate(TYPED.items(), 1):
        lines += [f"Question {place}?", f"q-{place}", kind, *answers, "1.5"]
        lines.append("y" if place < len(TYPED) else "n")
    assert typed(monkeypatch, *lines) == 0
    found = Collection.load("c.toml")
    assert [question.kind for question in found.questions] == list(TYPED)
    numbers = range(1, len(TYPED) + 1)
    assert [question.id for question in found.questions] == [f"q-{i}" for i in numbers]
    assert {question.epsilon for question in found.questions if question.kind != "text"} == {1.5}
    assert (found.series, found.contact) == ("a-survey", "us@example.org")
    assert main(["show", "c.toml"]) == 0


def test_what_cannot_be_is_asked_again(monkeypatch: pytest.MonkeyPatch, capsys: Outputs) -> None:
    place, beyond = str(list(KINDS).index("set") + 1), str(len(KINDS) + 1)
    lines = [
        *("A survey", "us@example.org", "many", "20000"),
        *("Which?", "which", beyond, place, "a,b,c", "9", "1"),
        *("Which?", "which", "set", "a", "a,b,c", "two", "2", "much", "1", "n"),
    ]
    assert typed(monkeypatch, *lines) == 0
    told = capsys.readouterr().err
    for sentence in (
        "Type a number; got 'many'.",
        f"Type a number from 1 to {len(KINDS)}, or a name; got '{beyond}'.",
        "cap must be an integer from 1 to 3; got 9. Once more.",
        "Type at least two, with commas between them; got 'a'.",
    ):
        assert sentence in told
    assert len(Collection.load("c.toml").questions) == 1


def test_who_stops_in_the_middle_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: Outputs
) -> None:
    assert typed(monkeypatch, "A survey") != 0
    assert "Traceback" not in capsys.readouterr().err
    assert not Path("c.toml").exists()


def test_from_the_columns_of_a_table(capsys: Outputs) -> None:
    words = [f"word {i}" for i in range(60)]
    columns = {
        "Smokes?": ["yes", "no", "yes"] * 20,
        "smokes": ["yes"] * 60,
        "Hours_slept": [6.25 + i % 11 * 0.25 for i in range(60)],
        "rating": [1, 2, 5] * 20,
        "member": [0, 1, 1] * 20,
        "Wort": words,
        "nothing": [""] * 60,
    }
    pq.write_table(pa.table(columns), "t.parquet")
    people = zip(*columns.values(), strict=True)
    rows = [",".join(columns), *(",".join(map(str, row)) for row in people)]
    Path("t.csv").write_text("\n".join(rows) + "\n")
    for table in ("t.csv", "t.parquet"):
        file = f"{table[2:]}.toml"
        assert main(["init", file, "--from", table, "--epsilon", "2", "--name", "T"]) == 0
        text = Path(file).read_text()
        assert "A contract is public" in text
        found = {q.id: q for q in Collection.load(file).questions}
        assert list(found) == ["smokes-1", "smokes-2", "hours-slept", "rating", "member", "wort"]
        kinds = ["choice", "choice", "number", "ordered", "choice", "words"]
        assert [question.kind for question in found.values()] == kinds
        assert 'labels = ["yes", "other"]' in text
        # Round ends around the numbers: none of them is somebody's own.
        assert "low = 6\nhigh = 9" in text
        assert "word 1" not in text
    assert "6 questions" in capsys.readouterr().out
    assert main(["init", "again.toml", "--from", "t.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["questions"] == list(found)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["init", "there.toml"], "a collection is written to a new file; 'there.toml' exists"),
        (["init", "c.json"], "a collection is written to a .toml file; got 'c.json'"),
        (["init", "c.toml", "--from", "none.csv"], "a table must be a file that exists"),
        (["init", "c.toml", "--from", "empty.csv"], "must have a column with answers; got none"),
    ],
)
def test_what_is_refused(arguments: list[str], sentence: str, capsys: Outputs) -> None:
    Path("there.toml").write_text("")
    Path("empty.csv").write_text("a,b\n,\n")
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1
    assert not Path("c.toml").exists()
