"""Tables to reports and estimates in Python: the public functions that commands are made of."""

from __future__ import annotations

import datetime
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rumor
from rumor.cli import main

pd: Any = importlib.import_module("pandas")
ROOT = Path(__file__).resolve().parents[2]
TOML = """
name = "App"
series = "app"
contact = "nobody"

[[questions]]
id = "page"
kind = "choice"
labels = ["a", "b", "c"]
epsilon = 30
reports_per_person = 2
"""
COLUMNS: dict[str, list[str]] = {
    "user": ["ann", "bob", "ann", "cy"],
    "page": ["a", "b", "c", "c"],
    "time": ["2026-03-02", "2026-03-03", "2026-03-10", "2026-03-11"],
    "country": ["DE", "FR", "DE", "FR"],
}


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(TOML)
    pd.DataFrame(COLUMNS).to_csv("t.csv", index=False)
    return tmp_path


TABLES: dict[str, Any] = {
    "a file": "t.csv",
    "a path": Path("t.csv"),
    "pandas": pd.DataFrame(COLUMNS),
    "polars": pl.DataFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
    "columns": COLUMNS,
}


@pytest.mark.parametrize("name", TABLES)
def test_every_table_gives_the_reports_of_the_command(name: str) -> None:
    line = "privatize c.toml t.csv -o cli.parquet --seed 1 --keep country --day 2026-03-12"
    assert main(line.split()) == 0
    made = rumor.privatize(
        "c.toml",
        TABLES[name],
        "r.parquet",
        keep=["country"],
        day="2026-03-12",
        random=rumor.Seeded(1),
    )
    assert made.reports == 4
    assert made.people is None
    assert Path("r.parquet").read_bytes() == Path("cli.parquet").read_bytes()


def test_people_and_days_are_those_of_the_table() -> None:
    made = rumor.privatize(
        rumor.Collection.load("c.toml"),
        COLUMNS,
        "r.parquet",
        person=rumor.PersonRule("user", each="last", cap=2, every="week"),
        day=rumor.DayColumn("time"),
    )
    assert made.people is not None
    assert (made.reports, len(made.people)) == (4, 3)
    assert made.people.epsilon == pytest.approx(60)
    assert Path("app.people").exists()
    again = rumor.privatize("c.toml", COLUMNS, "2.parquet", person="user")
    assert again.people is not None
    assert again.reports == 2  # ann has made both of hers
    assert again.people.barred == {"page": 1}
    days = pq.read_table("r.parquet")["day"].to_pylist()
    assert sorted(days)[0] == datetime.date(2026, 3, 2)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"out": "r.csv"}, r"out must be a .parquet file, or a folder .*; got 'r.csv'"),
        ({"table": 7}, "a table must be a file, or a table in memory .*; got a number"),
        ({"out": "there.parquet"}, "--replace writes over it"),
        ({"person": "nobody"}, "must have a column 'nobody'"),
    ],
)
def test_what_cannot_be_is_one_sentence(given: dict[str, Any], sentence: str) -> None:
    Path("there.parquet").write_bytes(b"")
    said = {"collection": "c.toml", "table": "t.csv", "out": "r.parquet", **given}
    with pytest.raises(rumor.InputError, match=sentence):
        rumor.privatize(**said)


def test_estimates_of_groups_are_one_object() -> None:
    rumor.privatize("c.toml", COLUMNS, "r.parquet", keep=["country"], random=rumor.Seeded(1))
    found = rumor.estimate("c.toml", "r.parquet", by="country")
    assert isinstance(found, rumor.GroupedEstimates)
    assert list(found) == ["DE", "FR"]
    assert found["DE"].reports == 2
    frame = found.to_pandas()
    assert frame.columns[0] == "stratum"
    assert list(frame["stratum"]) == ["DE"] * 3 + ["FR"] * 3
    one = found["FR"].to_pandas()
    assert (
        frame[frame["stratum"] == "FR"].drop(columns="stratum").reset_index(drop=True).equals(one)
    )
    assert found.to_polars().shape == frame.shape
    assert found.to_csv().splitlines()[0].startswith("stratum,value")
    assert str(found).startswith("country = DE\n")
    german, french = found.summary(level=0.9).split("\n\ncountry = FR\n")
    assert german == f"country = DE\n{found['DE'].summary(level=0.9)}"
    assert french == found["FR"].summary(level=0.9)
    assert "90%" in german


def test_a_summary_is_made_of_counts() -> None:
    oracle = rumor.RandomizedResponse(domain=3, epsilon=1.0)
    made = rumor.Summary.from_counts(oracle, [5, 2, 3], 10)
    assert made == rumor.Summary.empty(oracle).update(
        np.repeat(np.arange(3, dtype=np.uint8), [5, 2, 3])[:, None]
    )
    for counts, reports, sentence in (
        ([5, 2], 7, "counts must be 3 integers"),
        ([5.0, 2.0, 3.0], 10, "counts must be 3 integers"),
        ([5, 2, 3], 11, "no 11 reports of"),
        ([5, 2, 3], -1, "reports must be an integer from 0"),
    ):
        with pytest.raises(rumor.InputError, match=sentence):
            rumor.Summary.from_counts(oracle, counts, reports)


def test_the_service_is_public() -> None:
    from rumor.collector.service import Service

    assert rumor.Service is Service


def test_the_digest_is_that_of_the_printed_contract() -> None:
    import hashlib

    line = [sys.executable, "-m", "rumor", "show", "c.toml", "--contract"]
    printed = subprocess.run(line, capture_output=True, check=True).stdout
    assert hashlib.sha256(printed).hexdigest() == rumor.Collection.load("c.toml").digest


def test_an_environment_without_pip_gets_one_of_its_own(work: Path) -> None:
    """What `make install` runs where `make demo` has made an environment without pip."""
    text = (ROOT / "Makefile").read_text()
    (line,) = [one for one in text.splitlines() if "ensurepip" in one]
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "env"], check=True)
    command = line.strip().lstrip("@").replace("$(BIN)", "env/bin")
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)
    assert Path("env/bin/pip").exists()
