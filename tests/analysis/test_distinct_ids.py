"""Copies of reports: in a folder, in a file, and in summaries that are merged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rumor
from rumor.analysis import distinct_ids
from rumor.analysis.distinct_ids import require_distinct
from rumor.analysis.sources import ParquetSource
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.contract.report_file import write_reports
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.mechanisms.summary import Summary

Outputs = pytest.CaptureFixture[str]
TOML = """
name = "App"
series = "app"
contact = "nobody"

[[questions]]
id = "page"
kind = "choice"
labels = ["a", "b"]
epsilon = 1.0
"""
ROWS = 3_000
DAY = np.datetime64("2026-03-01")


def write(path: str, seed: int, rows: int = ROWS) -> None:
    collection = Collection.load("c.toml")
    mechanism = collection.question().mechanism.without_labels()
    reports = mechanism.privatize([0, 1] * (rows // 2), random=Seeded(seed))
    with write_reports(path, collection, collection.question(), random=Seeded(seed)) as writer:
        writer.write(reports, DAY + np.arange(rows) % 10)


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(TOML)
    Path("r").mkdir()
    for seed in (1, 2):
        write(f"r/{seed}.parquet", seed)
    return tmp_path


def run(capsys: Outputs, *arguments: str) -> tuple[int, str]:
    code = main(list(arguments))
    said = capsys.readouterr()
    return code, said.out + said.err


@pytest.mark.parametrize("command", ["estimate", "trend", "compare"])
def test_a_file_that_lies_twice_in_a_folder_is_refused(command: str, capsys: Outputs) -> None:
    more = ["--by", "day"] if command == "compare" else []
    line = [command, "c.toml", "r", *more]
    assert run(capsys, *line)[0] == 0
    shutil.copy("r/1.parquet", "r/copy.parquet")
    code, said = run(capsys, *line)
    assert code == 2
    assert f"every report must have an id of its own; got {ROWS:,} with the id of" in said
    assert "--distinct-ids" in said
    assert run(capsys, *line, "--distinct-ids")[0] == 0


def test_copies_in_python(capsys: Outputs) -> None:
    shutil.copy("r/1.parquet", "r/copy.parquet")
    with pytest.raises(InputError, match="distinct_ids=True"):
        rumor.estimate("c.toml", "r")
    assert rumor.estimate("c.toml", "r", distinct_ids=True).reports == 2 * ROWS
    assert rumor.load("c.toml", "r", distinct_ids=True).reports == 2 * ROWS


def test_of_many_reports_copied_row_groups_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a small limit and few rows looked at, as a large table has them."""
    monkeypatch.setattr(distinct_ids, "_ALL", ROWS)
    monkeypatch.setattr(distinct_ids, "_FIRST_ROWS", 50)
    collection = Collection.load("c.toml")
    assert len(require_distinct(ParquetSource("r", collection))) == 8
    # A half of another file's rows, sorted by their ids among others, as an export writes them.
    one, two = (pq.read_table(f"r/{n}.parquet") for n in (1, 2))
    picked = one.take(np.random.default_rng(1).permutation(ROWS)[: ROWS // 2])
    mixed = pa.concat_tables([two, picked])
    words = [int.from_bytes(id[:8], "little") for id in mixed["id"].to_pylist()]
    first = np.array(words, dtype=np.uint64)
    pq.write_table(mixed.take(np.argsort(first)), "r/2.parquet")
    # A third of the fifty smallest ids are copies: none with probability (2 / 3) ** 50, 2e-9.
    with pytest.raises(InputError, match=r"got \d+ or more with the id of another"):
        require_distinct(ParquetSource("r", collection))


def test_a_summary_is_not_added_to_a_copy_or_a_part_of_itself(capsys: Outputs) -> None:
    save = ["estimate", "c.toml"]
    for name, reports in (("1", "r/1.parquet"), ("2", "r/2.parquet"), ("all", "r")):
        assert run(capsys, *save, reports, "--save-summary", f"{name}.rumor")[0] == 0
    shutil.copy("1.rumor", "copy.rumor")
    assert run(capsys, "merge", "year.rumor", "1.rumor", "2.rumor")[0] == 0
    assert Summary.load("year.rumor").reports == 2 * ROWS
    for others in (
        ["1.rumor", "copy.rumor"],
        ["year.rumor", "2.rumor"],
        ["all.rumor", "year.rumor"],
    ):
        code, said = run(capsys, "merge", "no.rumor", *others)
        assert code == 2
        assert "count some of the same reports" in said
        assert all(f"{name!r}" in said for name in others)
        assert not Path("no.rumor").exists()
    with pytest.raises(InputError, match="must be of different reports to be added"):
        Summary.load("1.rumor") + Summary.load("copy.rumor")


def test_summaries_of_different_days_of_one_file_are_added(capsys: Outputs) -> None:
    for name, days in (("a", ["--to", "2026-03-04"]), ("b", ["--from", "2026-03-05"])):
        run(capsys, "estimate", "c.toml", "r", *days, "--save-summary", f"{name}.rumor")
    assert run(capsys, "merge", "both.rumor", "a.rumor", "b.rumor")[0] == 0
    assert Summary.load("both.rumor").reports == 2 * ROWS
    assert run(capsys, "estimate", "c.toml", "both.rumor", "--json")[0] == 0


def test_a_summary_with_ids_keeps_them_and_says_so_in_its_bytes(capsys: Outputs) -> None:
    run(capsys, "estimate", "c.toml", "r/1.parquet", "--save-summary", "1.rumor")
    data = Path("1.rumor").read_bytes()
    magic, header, _ = data.split(b"\n", 2)
    assert magic == b"rumor summary 2"
    assert len(json.loads(header)["ids"]) == 8
    again = Summary.from_bytes(data)
    assert again.to_bytes() == data
    # No id of a report is among them.
    ids = {id.hex() for id in pq.read_table("r/1.parquet")["id"].to_pylist()}
    assert not any(id.startswith(one) for id in ids for one in again.some_ids)


@pytest.mark.parametrize(
    "command",
    [
        ["estimate", "c.toml", "w", "--weight-column", "weight"],
        ["compare", "c.toml", "w", "--by", "weight", "--weight-column", "weight"],
        ["regress", "c.toml", "w", "page ~ weight"],
    ],
    ids=lambda command: command[0],
)
def test_a_copied_file_is_refused_where_columns_stand_beside_reports(
    command: list[str], capsys: Outputs
) -> None:
    rows = "\n".join(f"{'ab'[i % 2]},{1 + i % 3 % 2}" for i in range(300))
    Path("t.csv").write_text(f"page,weight\n{rows}\n")
    Path("w").mkdir()
    made = ["privatize", "c.toml", "t.csv", "-o", "w/1.parquet", "--weight-column", "weight"]
    assert main(made) == 0
    capsys.readouterr()
    code, once = run(capsys, *command)
    assert code == 0
    shutil.copy("w/1.parquet", "w/2.parquet")
    code, said = run(capsys, *command)
    assert code == 2
    assert "w/2.parquet: every report must have an id of its own; got 300 with the id" in said
    assert "takes no copies: --distinct-ids counts each id once" in said
    assert run(capsys, *command, "--distinct-ids") == (0, once)
