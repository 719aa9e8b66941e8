"""Tables as people have them: their separators, names, folders and formats."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.core import table_files
from rumor.core.answer_table import AnswerTable
from tests.cli.test_privatize import HEAD, question, run

Outputs = pytest.CaptureFixture[str]
ROWS = [("yes", "a;b,c"), ("no", "d"), ("yes", "e\tf")]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(HEAD + question("asked"))
    return tmp_path


def csv(separator: str = ",") -> str:
    """The rows, with what separates cells quoted where it is in one."""
    return "".join(f'{a}{separator}"{b}"\n' for a, b in [("asked", "un, deux; trois"), *ROWS])


def made(capsys: Outputs, table: str, *more: str) -> int:
    code, said = run(capsys, "privatize", "c.toml", table, "-o", "r.parquet", "--replace",
                     "--json", *more)  # fmt: skip
    assert code == 0, said
    reports = json.loads(said)["reports"]
    assert isinstance(reports, int)
    return reports


def refused(capsys: Outputs, table: str, *more: str) -> str:
    code, said = run(capsys, "privatize", "c.toml", table, "-o", "r.parquet", *more)
    assert code == 2
    assert not Path("r.parquet").exists()
    return said


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("packed", [False, True])
def test_separators_are_found_in_the_header(separator: str, packed: bool, capsys: Outputs) -> None:
    data = csv(separator).encode()
    path = Path("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(data) if packed else data)
    table = AnswerTable.open(path)
    assert table.schema.names == ["asked", "un, deux; trois"]
    cells = [row for batch in table.batches(table.schema.names) for row in batch.to_pylist()]
    assert [tuple(row.values()) for row in cells] == ROWS
    assert made(capsys, str(path)) == 3


def test_a_separator_can_be_said(capsys: Outputs) -> None:
    Path("t.txt").write_text("asked|b;c\nyes|1;2\n")
    assert "must have a column 'asked'" in refused(capsys, "t.txt")
    assert made(capsys, "t.txt", "--separator", "|") == 1
    Path("t.tsv").write_text("asked\tb,c\nyes\t1\n")
    assert made(capsys, "t.tsv", "--separator", "tab") == 1
    Path("r.parquet").unlink()
    assert "must be one character between the cells" in refused(
        capsys, "t.txt", "--separator", "||"
    )


def test_damaged_archives_get_one_sentence(capsys: Outputs) -> None:
    Path("t.csv.gz").write_bytes(gzip.compress(csv().encode() * 1000)[:-30])
    assert "a table must be well-formed CSV" in refused(capsys, "t.csv.gz")
    Path("t.csv.gz").write_bytes(csv().encode())
    assert "t.csv.gz: a table must be well-formed CSV" in refused(capsys, "t.csv.gz")


def test_the_standard_input(capsys: Outputs, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = io.BytesIO()
    pq.write_table(pa.table({"asked": ["yes", "no", "no"]}), parquet)
    for data in (csv().encode(), gzip.compress(csv(";").encode()), parquet.getvalue()):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert made(capsys, "-") == 3
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"asked\nyes\n\n")))
    Path("r.parquet").unlink()
    assert "-, column 'asked', row 2: an answer must not be missing" in refused(capsys, "-")


def test_folders_and_patterns_are_one_table(capsys: Outputs) -> None:
    for year in (1, 2, 3):
        Path(f"waves/{year}").mkdir(parents=True)
        Path(f"waves/{year}/t.csv").write_text("asked\n" + "yes\n" * year)
    Path("waves/.hidden.csv").write_text("other\n")
    assert made(capsys, "waves") == 6
    assert made(capsys, "waves/[23]/*.csv") == 5
    Path("r.parquet").unlink()
    # Rows are named in their own file, also behind one that was left out.
    Path("waves/2/t.csv").write_text("asked\nyes\n\nperhaps\n")
    said = refused(capsys, "waves", "--missing", "drop")
    assert "waves/2/t.csv, column 'asked', row 3: a label must be one of" in said
    assert "waves/2/t.csv, column 'asked', row 2: an answer must not" in refused(capsys, "waves")
    Path("waves/3/t.csv").write_text("other\nyes\n")
    assert "waves/3/t.csv: the files of one table must have the same" in refused(capsys, "waves")
    assert "a pattern must match some files" in refused(capsys, "waves/*.parquet")
    Path("none").mkdir()
    assert "a folder of answers must hold tables" in refused(capsys, "none")
    Path("p").mkdir()
    pq.write_table(pa.table({"asked": ["yes"]}), "p/a.parquet")
    code, said = run(capsys, "privatize", "c.toml", "p", "-o", "p/a.parquet", "--replace")
    assert code == 2
    assert "must not replace what is read" in said


def test_a_question_names_its_column(capsys: Outputs) -> None:
    plain = Collection.load("c.toml")
    Path("c.toml").write_text(HEAD + question("asked", more='column = "Had_Affair"'))
    named = Collection.load("c.toml")
    assert named.digest == plain.digest  # no part of what is promised
    Path("t.csv").write_text("Had_Affair,asked,b\nyes,maybe,1\nno,maybe,1\n")
    assert made(capsys, "t.csv") == 2
    code, said = run(capsys, "simulate", "c.toml", "t.csv", "--seed", "1", "--json")
    assert (code, json.loads(said)["reports"]) == (0, 2)
    Path("r.parquet").unlink()
    assert "a label must be one of" in refused(capsys, "t.csv", "--column", "asked")
    assert "must hold no answers; got 'Had_Affair'" in refused(capsys, "t.csv", "-k", "Had_Affair")
    Path("h.csv").write_text("value,count\nyes,3\nno,4\n")
    code, said = run(capsys, "simulate", "c.toml", "h.csv", "--seed", "1", "--json")
    assert (code, json.loads(said)["reports"]) == (0, 7)


@pytest.mark.parametrize(
    ("column", "meant"),
    [("ASKED", "ASKED"), ("Asked ", "Asked "), ("askd", "askd"), ("x", None)],
)
def test_columns_that_are_much_alike_are_shown(
    column: str, meant: str | None, capsys: Outputs
) -> None:
    Path("t.csv").write_text(f"{column},b\nyes,1\n")
    said = refused(capsys, "t.csv")
    assert (f"did you mean {meant!r}?" in said) == (meant is not None)


def test_several_questions_at_once(capsys: Outputs) -> None:
    Path("c.toml").write_text(HEAD + question("a") + question("b", more='column = "B"'))
    Path("t.csv").write_text("a,B,sea\nyes,no,x\nno,,x\n")
    command = ["privatize", "c.toml", "t.csv", "-o", "r.parquet"]
    code, said = run(capsys, *command)
    assert code == 2
    assert "column 'B', row 2: an answer must not be missing" in said
    assert not list(Path().glob("*.parquet"))
    code, said = run(capsys, *command, "--missing", "drop", "--json")
    found = {one["question"]: one for one in json.loads(said)["questions"]}
    assert {id: (one["reports"], one["missing"]) for id, one in found.items()} == {
        "a": (2, 0),
        "b": (1, 1),
    }
    assert [one["out"] for one in found.values()] == ["r-a.parquet", "r-b.parquet"]
    assert main(["estimate", "c.toml", "r-b.parquet"]) == 0
    capsys.readouterr()
    code, said = run(capsys, *command, "-q", "a", "--keep", "B")
    assert code == 2
    assert "must hold no answers; got 'B', which answers question 'b'" in said
    both = ["-q", "a", "-q", "b", "--replace"]
    code, said = run(capsys, *command, *both, "--column", "b=a", "--json")
    assert [one["reports"] for one in json.loads(said)["questions"]] == [2, 2]
    assert "--column must be ID=NAME" in run(capsys, *command, *both, "--column", "a")[1]
    twice = ["--column", "b=a", "--column", "b=B"]
    assert "got two for 'b'" in run(capsys, *command, *both, *twice)[1]


def test_the_column_that_another_question_names_is_private(capsys: Outputs) -> None:
    """Its name is unlike the question's id, so that only the collection tells what it holds."""
    named = question("other", more='column = "V17"')
    Path("c.toml").write_text(HEAD + question("asked") + named)
    Path("t.csv").write_text("asked,V17\nyes,no\n")
    said = refused(capsys, "t.csv", "-q", "asked", "--keep", "V17")
    assert "must hold no answers; got 'V17', which answers question 'other'" in said


def test_column_is_for_answers_in_one_column(capsys: Outputs) -> None:
    apps = '[[questions]]\nid = "a"\nkind = "keyvalue"\nkeys = ["x", "y"]\nlow = 0\nhigh = 1\n'
    Path("c.toml").write_text(f'{HEAD}{apps}epsilon = 1.0\ncolumn = "b"\n')
    assert "column is for questions whose answers are in one column" in refused(capsys, "t.csv")
    Path("c.toml").write_text(HEAD + question("asked", more="column = 3"))
    assert "column of a question must be a non-empty text; got 3" in refused(capsys, "t.csv")


def test_what_stata_wrote(capsys: Outputs) -> None:
    answers = pd.Categorical(["yes", "no", None, "yes"], categories=["yes", "no"])
    frame = pd.DataFrame({"asked": answers, "stars": [1.0, 2.0, None, 2.0]})
    frame.to_stata("t.dta", write_index=False)
    assert "t.dta, column 'asked', row 3: an answer must not be missing" in refused(capsys, "t.dta")
    assert made(capsys, "t.dta", "--missing", "drop") == 3
    stars = question("stars").replace('["yes", "no"]', '["1", "2"]')
    Path("c.toml").write_text(HEAD + stars)
    assert made(capsys, "t.dta", "--missing", "drop") == 3
    Path("r.parquet").unlink()
    Path("t.dta").write_bytes(b"nothing of the kind")
    assert "a table must be a complete .dta file" in refused(capsys, "t.dta")


@pytest.mark.parametrize("packed", [False, True])
def test_what_spss_wrote(packed: bool, capsys: Outputs) -> None:
    """Labels of values are the answers, also of only some; a warning would be an error here."""
    name = "t.zsav" if packed else "t.sav"
    frame = pd.DataFrame({"asked": [1.0, 2.0, None, 1.0], "stars": [1.0, 2.0, None, 2.0]})
    labels = {"asked": {1.0: "yes", 2.0: "no"}, "stars": {1.0: "one"}}
    pyreadstat.write_sav(frame, name, variable_value_labels=labels, compress=packed)
    assert f"{name}, column 'asked', row 3: an answer must not be missing" in refused(capsys, name)
    assert made(capsys, name, "--missing", "drop") == 3
    stars = question("stars").replace('["yes", "no"]', '["one", "2"]')
    Path("c.toml").write_text(HEAD + stars)
    assert made(capsys, name, "--missing", "drop") == 3
    Path("r.parquet").unlink()
    Path(name).write_bytes(b"$FL2 and nothing more")
    suffix = Path(name).suffix
    assert f"a table must be a complete {suffix} file" in refused(capsys, name)


def test_what_is_missing_to_read_a_file_is_named(
    capsys: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = {".sav": ("read_spss", ("pandas", "pyreadstat_is_not_here"))}
    monkeypatch.setattr(table_files, "STATISTICS", needed)
    Path("t.sav").write_bytes(b"$FL2")
    said = refused(capsys, "t.sav")
    assert "pyreadstat_is_not_here must be installed (pip install 'rumor[statistics]')" in said


def test_a_begun_collection_reads_the_table_it_was_begun_from(capsys: Outputs) -> None:
    rows = "Had Affair?;Religious_Level\n" + "yes;1\nno;2\nno;3\n" * 4
    Path("fair.csv").write_text(rows)
    assert run(capsys, "init", "begun.toml", "--from", "fair.csv")[0] == 0
    assert [q.column for q in Collection.load("begun.toml").questions] == [
        "Had Affair?",
        "Religious_Level",
    ]
    code, said = run(capsys, "privatize", "begun.toml", "fair.csv", "-o", "r.parquet", "--json")
    assert (code, [one["reports"] for one in json.loads(said)["questions"]]) == (0, [12, 12])


ASKED = "How often do you smoke?"
SMOKES = {1.0: "never", 2.0: "seldom", 3.0: "often", 9.0: "refused"}


@pytest.mark.parametrize("measure", ["nominal", "ordinal"])
def test_labels_of_spss_are_kept_in_the_contract(measure: str, capsys: Outputs) -> None:
    """Labels come in the order of their codes, also those that nobody gave; missing ones do not."""
    frame = pd.DataFrame({"SMOKES": [3.0, 1.0, 3.0] * 10, "size": [1.5, 2.5, 3.5] * 10})
    pyreadstat.write_sav(
        frame,
        "t.sav",
        column_labels={"SMOKES": ASKED},
        variable_value_labels={"SMOKES": SMOKES},
        missing_ranges={"SMOKES": [9.0]},
        variable_measure={"SMOKES": measure},
    )
    assert main(["init", "drafted.toml", "--from", "t.sav"]) == 0
    capsys.readouterr()
    question = Collection.load("drafted.toml").question("smokes")
    assert question.text == ASKED
    assert question.column == "SMOKES"
    assert question.labels == ("never", "seldom", "often")
    assert question.kind == ("ordered" if measure == "ordinal" else "choice")
    Path("c.toml").write_text(Path("drafted.toml").read_text().replace('"size"', '"size2"'))
    line = ["privatize", "drafted.toml", "t.sav", "-o", "r.parquet", "-q", "smokes"]
    assert main(line) == 0
    assert capsys.readouterr().out.startswith("30 reports")


def test_labels_of_stata_are_kept_in_the_contract(capsys: Outputs) -> None:
    answers = pd.Categorical(["often", "never"] * 12, ["never", "seldom", "often"], ordered=True)
    frame = pd.DataFrame({"smokes": answers})
    frame.to_stata("t.dta", write_index=False, variable_labels={"smokes": ASKED})
    assert main(["init", "drafted.toml", "--from", "t.dta"]) == 0
    question = Collection.load("drafted.toml").question("smokes")
    assert (question.text, question.column) == (ASKED, None)
    assert question.labels == ("never", "seldom", "often")


def test_labels_of_only_some_values_are_no_list(capsys: Outputs) -> None:
    frame = pd.DataFrame({"stars": [1.0, 2.0, 3.0, 1.0] * 10})
    labels = {"stars": {1.0: "none", 99.0: "many"}}
    pyreadstat.write_sav(frame, "t.sav", variable_value_labels=labels)
    assert main(["init", "drafted.toml", "--from", "t.sav"]) == 0
    assert Collection.load("drafted.toml").question().labels == ("2", "3", "none")


def test_a_label_of_a_column_that_is_no_text_is_left_out() -> None:
    frame = pd.DataFrame({"smokes": ["yes", "no"] * 12})
    pyreadstat.write_sav(frame, "t.sav", column_labels={"smokes": "a\x07b"})
    assert main(["init", "drafted.toml", "--from", "t.sav"]) == 0
    assert Collection.load("drafted.toml").question().text == "smokes"
