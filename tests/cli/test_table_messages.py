"""What is said of tables and files that are not quite right, and what is simply read."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rumor.cli import main

Outputs = pytest.CaptureFixture[str]
HEAD = 'name = "T"\nseries = "t"\ncontact = "nobody"\n'
CHOICE = '[[questions]]\nid = "asked"\nkind = "choice"\nlabels = ["Yes", "no"]\nepsilon = 30\n'
NUMBER = '[[questions]]\nid = "spent"\nkind = "number"\nlow = 0\nhigh = 10\nepsilon = 30\n'
JOINT = (
    '[[questions]]\nid = "habits"\nkind = "joint"\nepsilon = 3\n'
    'parts = [{id = "smokes", labels = ["yes", "no"]}, {id = "drinks", labels = ["a", "b"]}]\n'
)


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(HEAD + CHOICE)
    return tmp_path


def run(capsys: Outputs, *arguments: str) -> tuple[int, str]:
    code = main(list(arguments))
    said = capsys.readouterr()
    return code, " ".join((said.out + said.err).split())


def privatize(capsys: Outputs, table: str = "t.csv", *more: str) -> tuple[int, str]:
    return run(capsys, "privatize", "c.toml", table, "-o", "r.parquet", "--replace", *more)


def test_a_collection_file_may_begin_with_a_mark(capsys: Outputs) -> None:
    text = Path("c.toml").read_text()
    digest = run(capsys, "show", "c.toml")[1]
    Path("c.toml").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert run(capsys, "show", "c.toml") == (0, digest)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_tables_in_utf_16_are_read(encoding: str, capsys: Outputs) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    Path("t.csv").write_bytes((mark + "asked;ort\nYes;Köln\nno;東京\n").encode(encoding))
    assert privatize(capsys, "t.csv", "--keep", "ort")[0] == 0
    found = sorted(pq.read_table("r.parquet")["ort"].to_pylist())
    assert found == ["Köln", "東京"]


def test_names_of_a_header_are_named(capsys: Outputs) -> None:
    Path("t.csv").write_text("answered,country,year\n" + "Yes,DE,2026\n" * 20)
    code, said = privatize(capsys)
    assert code == 2
    assert "must have a column 'asked' in its header; got answered, country, year" in said
    # Without a header the first person's answers stand in its place, and are not shown.
    for text in (
        "Yes,DE\n" + "no,FR\n" * 99,
        "Yes,DE,x\n" + "no,FR,y\n" * 19,
        "Yes,DE,x\n" + "no,FR,y\n" * 99 + "Yes,FR,z\n",
        "Yes,DE,17\n" + "no,FR,18\n" * 99,
        "Yes,DE,a@b.org\n" + "no,FR,x\n" * 99,
    ):
        Path("t.csv").write_text(text)
        code, said = privatize(capsys)
        assert code == 2
        assert said.endswith("columns of other names")
    columns = [f"column {i}" for i in range(23)]
    Path("t.csv").write_text(",".join(columns) + ("\n" + ",".join(["1"] * 23)) * 20 + "\n")
    assert "column 19 and 3 more" in privatize(capsys)[1]


@pytest.mark.parametrize("cell", ["yes", "YES", " Yes", "No "])
def test_case_and_spaces_are_said(cell: str, capsys: Outputs) -> None:
    Path("t.csv").write_text(f"asked\nYes\n{cell}\n")
    code, said = privatize(capsys)
    assert code == 2
    assert "row 2" in said
    assert said.endswith("got a text that differs from one of them only in case or spaces")
    Path("t.csv").write_text("asked\nYes\nmaybe\n")
    assert privatize(capsys)[1].endswith("got another text")


def test_decimal_commas_are_numbers_where_commas_separate_nothing(capsys: Outputs) -> None:
    Path("c.toml").write_text(HEAD + NUMBER.replace("epsilon = 30", "epsilon = 20"))
    Path("t.csv").write_text("spent;x\n" + "2,5;a\n7;b\n" * 500)
    assert privatize(capsys, "t.csv", "--seed", "1")[0] == 0
    import rumor

    # The mean of 2.5 and 7, where a report is an end of the range: six standard errors.
    assert abs(rumor.estimate("c.toml", "r.parquet").mean - 4.75) < 6 * 5 / 1000**0.5
    for text in ("spent;x\n2,5;a\n2.5;b\n", "spent,x\n2;5,a\n"):
        Path("t.csv").write_text(text)
        code, said = privatize(capsys)
        assert (code, "must hold numbers" in said) == (2, True)
    Path("t.csv").write_text("spent;x\n" + "".join(f"{i},5;a\n" for i in range(30)))
    assert run(capsys, "init", "d.toml", "--from", "t.csv", "--only", "spent")[0] == 0
    assert "low = 0\nhigh = 30" in Path("d.toml").read_text()


def test_a_sheet_is_read_or_a_way_is_named(
    capsys: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("t.xlsx").write_bytes(b"no sheet")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "openpyxl", None)
        code, said = privatize(capsys, "t.xlsx")
    assert code == 2
    assert "openpyxl must be installed (pip install 'rumor[excel]'), or the sheet saved" in said
    pytest.importorskip("openpyxl")
    pd = importlib.import_module("pandas")
    assert "must be a complete .xlsx file" in privatize(capsys, "t.xlsx")[1]
    pd.DataFrame({"asked": ["Yes", "no", "no"], "town": ["a", "b", "c"]}).to_excel(
        "t.xlsx", index=False
    )
    code, said = privatize(capsys, "t.xlsx", "--keep", "town")
    assert (code, "3 reports" in said) == (0, True)


def test_labels_with_commas_stand_in_quotes(capsys: Outputs) -> None:
    Path("c.toml").write_text(HEAD + CHOICE.replace('"no"', '"no, never"'))
    assert '2: Yes, "no, never"' in run(capsys, "show", "c.toml")[1]


def test_the_question_that_lacks_a_label_is_named(capsys: Outputs) -> None:
    Path("c.toml").write_text(HEAD + CHOICE + CHOICE.replace("asked", "also").replace("Yes", "y"))
    Path("t.csv").write_text("asked,also\nYes,y\n")
    code, said = privatize(capsys, "t.csv", "--missing", "Yes")
    assert code == 2
    assert "question 'also': --missing must be drop, error or a label of the question" in said


def test_parts_of_a_joint_answer_have_columns_of_other_names(capsys: Outputs) -> None:
    Path("c.toml").write_text(HEAD + JOINT)
    Path("t.csv").write_text("Raucht,Trinkt,Ort\nyes,a,x\nno,b,y\n")
    named = ["--column", "smokes=Raucht", "--column", "drinks=Trinkt"]
    code, said = privatize(capsys, "t.csv", *named, "--keep", "Ort")
    assert (code, "2 reports" in said) == (0, True)
    for more, sentence in (
        (["--column", "smokes=Ort"], "--column must be said once for a part; got two for 'smokes'"),
        (["--keep", "Raucht"], "must have a column 'Raucht'"),
        (["--keep", "smokes"], "which answers question 'habits'"),
    ):
        code, said = privatize(capsys, "t.csv", *named, *more)
        assert (code, sentence in said) == (2, True), said
    Path("t.csv").write_text("Raucht,smokes,drinks\nyes,no,b\n")
    code, said = privatize(capsys, "t.csv", "--column", "smokes=Raucht")
    assert (code, "a name that no other has; got 'smokes'" in said) == (2, True)
    code, said = privatize(capsys, "t.csv", "--column", "smokes=Rauch")
    assert (code, "did you mean 'Raucht'" in said) == (2, True)
