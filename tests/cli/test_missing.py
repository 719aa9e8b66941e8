"""Answers that are missing: one rule for every table, counted, and rows named."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rumor.cli import main

Outputs = pytest.CaptureFixture[str]
COLLECTION = """
name = "Survey"
series = "survey"
contact = "nobody"
ASK

[[questions]]
id = "smokes"
kind = "choice"
labels = ["yes", "no", "refused"]
epsilon = 20.0

[[questions]]
id = "age"
kind = "number"
low = 0
high = 100
epsilon = 2.0

[[questions]]
id = "stars"
kind = "choice"
labels = ["1", "2", "3"]
epsilon = 20.0

[[questions]]
id = "both"
kind = "joint"
epsilon = 20.0
[[questions.parts]]
id = "tea"
labels = ["yes", "no", "refused"]
[[questions.parts]]
id = "milk"
labels = ["a lot", "none", "refused"]

[[questions]]
id = "travel"
kind = "set"
labels = ["bus", "car"]
epsilon = 20.0

[[questions]]
id = "apps"
kind = "keyvalue"
keys = ["a", "b"]
low = 0
high = 1
epsilon = 2.0
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(COLLECTION.replace("ASK", ""))
    return tmp_path


def run(capsys: Outputs, table: str, question: str, *more: str, name: str = "t.csv") -> str:
    Path(name).write_text(table)
    Path("r.parquet").unlink(missing_ok=True)
    code = main(["privatize", "c.toml", name, "-q", question, "-o", "r.parquet", *more])
    said = capsys.readouterr()
    return said.out if code == 0 else f"refused: {said.err}"


def made(capsys: Outputs, table: str, question: str, *more: str) -> tuple[int, int]:
    found = json.loads(run(capsys, table, question, *more, "--json"))
    return found["reports"], found["missing"]


ONE = "smokes\nyes\n\nno\n \nyes\n"
TWO = 'smokes,b\nyes,1\n,2\nno,3\n" ",4\nyes,5\n'


@pytest.mark.parametrize("table", [ONE, TWO, ONE.replace("\n", "\r\n"), f"\n\n{ONE}"])
def test_one_rule_for_tables_of_one_column_and_of_two(table: str, capsys: Outputs) -> None:
    said = run(capsys, table, "smokes")
    assert said == (
        "refused: rumor: t.csv, column 'smokes', row 2: an answer must not be missing "
        "(--missing says what becomes of such rows); got nothing\n"
    )
    assert not Path("r.parquet").exists()
    assert made(capsys, table, "smokes", "--missing", "drop") == (3, 2)
    assert made(capsys, table, "smokes", "--missing", "refused") == (5, 2)
    assert "2 rows had no answer and were left out" in run(
        capsys, table, "smokes", "--missing", "drop"
    )


def test_a_label_stands_for_those_who_gave_none(capsys: Outputs) -> None:
    run(capsys, "smokes\n" + "yes\n\n\n\n" * 100, "smokes", "--missing", "refused", "--seed", "1")
    assert main(["estimate", "c.toml", "r.parquet", "-q", "smokes", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["estimates"]
    # At epsilon 20 a report is another answer once in a hundred million times.
    assert {row["value"]: round(row["frequency"], 2) for row in rows}["refused"] == 0.75


def test_rows_are_named_as_in_the_table_where_some_are_left_out(capsys: Outputs) -> None:
    table = "smokes\n\nyes\n\n\nno\nnever\n"
    said = run(capsys, table, "smokes", "--missing", "drop")
    assert "column 'smokes', row 6: a label must be one of" in said
    assert "never" not in said


def test_numbers_and_parts(capsys: Outputs) -> None:
    assert "column 'age', row 2: an answer must not be" in run(capsys, "age\n3\n\n4\n", "age")
    assert made(capsys, "age,b\n3,1\n,1\nNA,1\n4,1\n", "age", "--missing", "drop") == (2, 2)
    joint = "tea,milk\nyes,none\n,none\nno,\n,\n"
    assert "column 'tea', row 2: an answer must not be missing" in run(capsys, joint, "both")
    assert made(capsys, joint, "both", "--missing", "drop") == (1, 3)
    assert made(capsys, joint, "both", "--missing", "refused") == (4, 3)


def test_who_chose_nothing_has_answered(capsys: Outputs) -> None:
    assert made(capsys, "travel\nbus\n\nbus|car\n", "travel") == (3, 0)
    assert "column 'car', row 2: an answer must" in run(capsys, "bus,car\nyes,no\nno,\n", "travel")
    assert made(capsys, "a,b\n1,\n,\n", "apps") == (2, 0)
    assert "so no answer is missing" in run(capsys, "a,b\n1,\n", "apps", "--missing", "drop")


def test_parquet_follows_the_same_rule(capsys: Outputs) -> None:
    columns = {
        "smokes": pa.array(["yes", None, "", "no"]).dictionary_encode(),
        "stars": pa.array([1.0, None, 3.0, float("nan")]),
        "travel": pa.array([["bus"], None, [], ["car"]]),
    }
    pq.write_table(pa.table(columns), "t.parquet")
    for question, missing in (("smokes", 2), ("stars", 2), ("travel", 1)):
        common = ["privatize", "c.toml", "t.parquet", "-q", question, "--json", "-o"]
        assert main([*common, f"{question}.parquet"]) == 2
        assert f"column '{question}', row 2: an answer must not be" in capsys.readouterr().err
        assert main([*common, f"{question}.parquet", "--missing", "drop"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["reports"], found["missing"]) == (4 - missing, missing)


@pytest.mark.parametrize(
    ("question", "rule", "sentence"),
    [
        ("smokes", "refsed", "a label of the question (yes, no, refused); got 'refsed' (did you"),
        ("age", "0", "--missing must be drop, error; got '0'"),
        ("both", "none", "a label of the question (refused); got 'none'"),
        ("travel", "bus", "--missing must be drop, error; got 'bus'"),
        ("smokes", " ", "--missing must be drop, error or a label"),
    ],
)
def test_bad_rules(question: str, rule: str, sentence: str, capsys: Outputs) -> None:
    assert sentence in run(capsys, "smokes\nyes\n", question, "--missing", rule)


def test_a_dry_run_follows_the_same_rule(capsys: Outputs) -> None:
    Path("t.csv").write_text(ONE)
    common = ["simulate", "c.toml", "t.csv", "-q", "smokes", "--seed", "1"]
    assert main(common) == 2
    assert "column 'smokes', row 2: an answer must not be missing" in capsys.readouterr().err
    assert main([*common, "--missing", "drop"]) == 0
    assert "2 rows had no answer and were left out\n" in capsys.readouterr().out
    assert main([*common, "--missing", "refused", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["reports"], found["missing"]) == (5, 2)


def test_each_question_counts_its_own_rows(capsys: Outputs) -> None:
    """Of people who are asked some questions, only answers that were drawn can be missing."""
    head, rest = COLLECTION.replace("ASK", "ask = {questions = 1}").split("[[questions]]", 1)
    two = "[[questions]]" + "[[questions]]".join(rest.split("[[questions]]")[:2])
    Path("c.toml").write_text(head + two)
    Path("t.csv").write_text("smokes,age\n" + "yes,\n" * 300)
    assert main(["privatize", "c.toml", "t.csv", "-o", "r.parquet", "--seed", "1"]) == 2
    assert "column 'age', row " in capsys.readouterr().err
    command = ["privatize", "c.toml", "t.csv", "-o", "r.parquet", "--seed", "1", "--json"]
    assert main([*command, "--missing", "drop"]) == 0
    smokes, age = json.loads(capsys.readouterr().out)["questions"]
    assert (age["reports"], smokes["missing"]) == (0, 0)
    assert smokes["reports"] + age["missing"] == 300
