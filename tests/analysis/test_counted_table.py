"""Counts that a warehouse made are estimated as the reports themselves are."""

from __future__ import annotations

import csv
import datetime
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pytest

import rumor
from docs import make_pages
from rumor.analysis.counted_table import summary_of_counts
from rumor.analysis.estimate import analyse
from rumor.cli import main
from rumor.collector.store.base import ReportBatch, open_store
from rumor.contract.collection import Collection
from rumor.contract.report_file import write_reports
from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError
from tests.collector.postgres import Postgres
from tests.needs import needs

DAY = datetime.date(2026, 1, 1)
WISHES: dict[str, dict[str, Any]] = {
    "rr": {"kind": "choice", "labels": ["a", "b", "c"], "mechanism": "randomized-response"},
    "sets": {"kind": "choice", "domain": 12, "mechanism": "subset-selection"},
    "bits": {"kind": "choice", "domain": 40, "mechanism": "unary"},
    "few-bits": {"kind": "choice", "domain": 4, "mechanism": "unary"},
    "hashed": {"kind": "choice", "domain": 30, "mechanism": "local-hashing"},
    "waves": {"kind": "choice", "domain": 30, "mechanism": "hadamard"},
    "age": {"kind": "ordered", "low": 0, "high": 20},
}


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def everything() -> Collection:
    questions = [{"id": id, "epsilon": 2.0, **wish} for id, wish in WISHES.items()]
    head = {"name": "All", "series": "all", "contact": "nobody"}
    return Collection.resolve({**head, "questions": questions})


def reports_of(id: str) -> np.ndarray[Any, Any]:
    mechanism = everything().question(id).mechanism
    return mechanism.privatize(
        np.arange(900) % 3 if id != "rr" else ["a", "b", "a"] * 300, random=rumor.Seeded(3)
    )


def written(id: str) -> Path:
    collection = everything()
    collection.save("c.json")
    with write_reports("r.parquet", collection, collection.question(id)) as writer:
        writer.write(reports_of(id), DAY)
    return Path("r.parquet")


def estimated(*arguments: str, capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(["estimate", "c.json", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["estimates"]


@pytest.mark.parametrize("id", WISHES)
def test_duckdb_counts_reports(id: str, capsys: pytest.CaptureFixture[str]) -> None:
    written(id)
    duckdb.sql(
        "COPY (SELECT hex(report) AS report, count(*) AS count FROM 'r.parquet' GROUP BY ALL) "
        "TO 'counts.csv'"
    )
    theirs = estimated("counts.csv", "--counts", "-q", id, "--method", "auto", capsys=capsys)
    assert theirs == estimated("r.parquet", capsys=capsys)


@pytest.mark.parametrize("id", ["rr", "sets", "bits", "hashed"])
def test_counts_of_support_say_all(id: str, capsys: pytest.CaptureFixture[str]) -> None:
    ours = analyse(everything(), written(id)).summary()
    labels = everything().question(id).labels
    with Path("counts.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["value", "count", "reports"])
        for value, count in enumerate(ours.tally.tolist()):
            rows.writerow([value if labels is None else labels[value], count, 900])
    made = summary_of_counts(
        everything(), everything().question(id), AnswerTable.open("counts.csv")
    )
    assert made == replace(ours, some_ids=())  # counts have no ids
    theirs = estimated("counts.csv", "--counts", "-q", id, capsys=capsys)
    assert theirs == estimated("r.parquet", capsys=capsys)


def test_postgres_counts_its_own_reports(
    postgres: Postgres, capsys: pytest.CaptureFixture[str]
) -> None:
    """The schema that is documented is the one that there is."""
    url, collection = postgres.new_database(), everything()
    collection.save("c.json")
    store, reports = open_store(url), reports_of("rr")
    entry = store.register(collection)
    ids = np.random.default_rng(1).integers(0, 256, (900, 16), dtype=np.uint8)
    store.write([ReportBatch(entry.questions["rr"], np.hstack([ids, reports]))])
    store.close()
    query = Path(__file__).parents[2] / "docs" / "how-to" / "warehouse.md"
    sql = query.read_text().split("```sql\n")[2].split("```")[0]
    sql = sql.replace("homepage", "rr").replace("72d716028d5d", collection.digest[:12])
    with psycopg.connect(url) as connection, Path("counts.csv").open("w") as file:
        rows = csv.writer(file)
        found = connection.execute(sql.encode())
        rows.writerow([column.name for column in found.description or ()])
        rows.writerows(found.fetchall())
    theirs = estimated("counts.csv", "--counts", "-q", "rr", capsys=capsys)
    written("rr")
    assert theirs == estimated("r.parquet", capsys=capsys)


def dbt_project(id: str) -> Path:
    """The files of the page, about a question of ours; returns the model."""
    page = Path(__file__).parents[2] / "docs" / "how-to" / "warehouse.md"
    files = {
        block.title: "\n".join(block.lines) + "\n"
        for block in make_pages.blocks(page.read_text(encoding="utf-8"))
        if block.title is not None
    }
    assert sorted(files) == [
        "dbt_project.yml",
        "models/homepage_counts.sql",
        "models/sources.yml",
        "profiles.yml",
    ]
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        ours = text.replace("homepage", id).replace("72d716028d5d", everything().digest[:12])
        Path(name).write_text(ours.replace("reports.parquet", "r.parquet"), encoding="utf-8")
    return Path("models/homepage_counts.sql")


def test_the_model_for_dbt_counts_reports(capsys: pytest.CaptureFixture[str]) -> None:
    """What dbt makes of it is a query: its source is the file, its place is where it is copied."""
    written("bits")
    model = dbt_project("bits").read_text(encoding="utf-8")
    configured, _, query = model.partition("}}\n")
    assert "location='counts.csv'" in configured
    query = query.replace("{{ source('rumor', 'reports') }}", "'r.parquet'")
    assert "{" not in query
    duckdb.sql(f"COPY ({query}) TO 'counts.csv'")
    theirs = estimated("counts.csv", "--counts", "-q", "bits", capsys=capsys)
    assert theirs == estimated("r.parquet", capsys=capsys)


@pytest.mark.slow
def test_dbt_counts_reports(capsys: pytest.CaptureFixture[str]) -> None:
    written("bits")
    dbt_project("bits")
    done = subprocess.run(
        [needs("dbt"), "run", "--profiles-dir", ".", "--project-dir", "."],
        env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "0"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    theirs = estimated("counts.csv", "--counts", "-q", "bits", capsys=capsys)
    assert theirs == estimated("r.parquet", capsys=capsys)


@pytest.mark.parametrize(
    ("id", "text", "sentence"),
    [
        ("rr", "value,count\na,1\na,2\n", "each value must have one row; got one twice"),
        ("rr", "value,count\na,-1\n", "counts must be integers of 0 or more"),
        ("rr", "value,count,reports\na,5,9\n", "got counts that no 9 reports of"),
        ("sets", "value,count\n0,5\n", "a column 'reports' must say how many there are; got none"),
        ("sets", "value,count,reports\n0,5,9\n1,5,8\n", "same in every row; got 2 numbers"),
        ("waves", "value,count,reports\n0,5,9\n", "are more than counts of values; count each"),
        ("age", "value,count,reports\n0,5,9\n", "are more than counts of values; count each"),
        ("rr", "report,count\n0,5\n", "a report must be 1 bytes, or 2 hexadecimal digits"),
        ("rr", "report,count\n0001,5\n", "hexadecimal digits; got 2 bytes"),
        ("rr", "report,count\n03,5\n", "a report is an integer from 0 to 2"),
        ("rr", "report,count\n01,x\n", "the column must hold integers"),
        ("rr", "a,b\n01,1\n", "must have the columns report and count, or value, count and"),
    ],
)
def test_bad_counts(id: str, text: str, sentence: str) -> None:
    Path("counts.csv").write_text(text)
    with pytest.raises(InputError, match=sentence):
        summary_of_counts(everything(), everything().question(id), AnswerTable.open("counts.csv"))


def test_a_count_of_many_is_that_many() -> None:
    Path("counts.csv").write_text("report,count\n\\x00,1000000007\n02,5\n")
    made = summary_of_counts(
        everything(), everything().question("rr"), AnswerTable.open("counts.csv")
    )
    assert (made.reports, made.tally.tolist()) == (1_000_000_012, [1_000_000_007, 0, 5])
