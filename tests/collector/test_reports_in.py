"""Reports files into a store and out of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rumor.cli import main
from tests.cli.test_privatize import HEAD, question, run

Outputs = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(HEAD + question("a") + question("b"))
    Path("t.csv").write_text("a,b,sea\n" + "yes,no,x\nno,no,x\n" * 50)
    Path("in").mkdir()
    for day in ("2026-01-01", "2026-01-02"):
        command = ["privatize", "c.toml", "t.csv", "-o", f"in/{day}.parquet", "--day", day]
        assert main([*command, "--keep", "sea"]) == 0
    return tmp_path


def rows(folder: str, id: str) -> list[tuple[Any, ...]]:
    found = sorted(Path(folder).rglob("*.parquet"))
    tables = [pq.read_table(path, partitioning=None).to_pylist() for path in found]
    mine = (row for table in tables for row in table if row["question"] == id)
    return sorted((row["id"], row["report"], row["day"]) for row in mine)


def test_ids_days_and_counts_stay(capsys: Outputs) -> None:
    capsys.readouterr()
    code, said = run(capsys, "import", "in", "--collection", "c.toml", "--store", "sqlite:///s.db")
    assert code == 0
    assert "400 reports of 'Survey' from 'in' (400 counted in total)" in said
    assert "no place for kept columns: sea" in said
    assert main(["export", "out", "--store", "sqlite:///s.db"]) == 0
    for id in ("a", "b"):
        assert len(rows("in", id)) == 200
        assert rows("out", id) == rows("in", id)
    capsys.readouterr()
    assert main(["estimate", "c.toml", "out/question=a", "--json"]) == 0
    theirs = json.loads(capsys.readouterr().out)["estimates"]
    main(["estimate", "c.toml", "in/2026-01-01-a.parquet", "--save-summary", "1.rumor"])
    main(["estimate", "c.toml", "in/2026-01-02-a.parquet", "--save-summary", "2.rumor"])
    main(["merge", "all.rumor", "1.rumor", "2.rumor"])
    capsys.readouterr()
    assert main(["estimate", "c.toml", "all.rumor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["estimates"] == theirs


def test_what_cannot_be_imported(capsys: Outputs) -> None:
    where = ["--store", "sqlite:///s.db"]
    assert (
        "or --collection with reports files"
        in run(capsys, "import", "in/2026-01-01-a.parquet", *where)[1]
    )
    Path("other.toml").write_text(HEAD.replace("survey", "other") + question("a") + question("b"))
    code, said = run(capsys, "import", "in", "--collection", "other.toml", *where)
    assert code == 2
    assert "the reports must be of this collection" in said
    assert run(capsys, "import", "in", "--collection", "c.toml", *where)[0] == 0
    code, said = run(capsys, "import", "in", "--collection", "c.toml", *where)
    assert code == 2
    assert "does not have their collection yet" in said
    Path("invited.toml").write_text(f'{HEAD}admission = "invited"\n{question("a")}')
    code, said = run(capsys, "import", "in", "--collection", "invited.toml", *where)
    assert code == 2
    assert "open to everybody; got admission 'invited'" in said
