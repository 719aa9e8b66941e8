"""Paths in Python: what `rumor.load` and `rumor.estimate` find is what the commands find."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rumor
from rumor.cli import main
from rumor.core.errors import InputError

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
COLLECTION = EXAMPLES / "browser.toml"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    answers = ["news", "search", "blank", "search"] * 500
    rows = [f"{answer},{'DE' if i % 4 else 'FR'}" for i, answer in enumerate(answers)]
    (folder / "people.csv").write_text("\n".join(["homepage,country", *rows]) + "\n")
    path = folder / "reports.parquet"
    assert not main(
        f"privatize {COLLECTION} {folder / 'people.csv'} -o {path} --keep country --seed 1".split()
    )
    return path


def test_paths_give_what_the_command_prints(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not main(["estimate", str(COLLECTION), str(reports), "--json"])
    told = json.loads(capsys.readouterr().out)["estimates"]
    for collection in (COLLECTION, str(COLLECTION), rumor.Collection.load(COLLECTION)):
        result = rumor.estimate(collection, str(reports))
        assert [dict(row) for row in result] == told


def test_strata_come_by_name(reports: Path) -> None:
    found = rumor.estimate(COLLECTION, reports, by="country", method="inversion")
    assert {name: each.reports for name, each in found.items()} == {"DE": 1500, "FR": 500}


def test_a_folder_a_summary_and_reports_in_memory_are_found(reports: Path, tmp_path: Path) -> None:
    counted = rumor.load(COLLECTION, reports)
    assert isinstance(counted, rumor.Summary)
    assert (counted.reports, counted.question) == (2000, "homepage")
    folder = tmp_path / "exported" / "question=homepage"
    folder.mkdir(parents=True)
    (folder / "part.parquet").write_bytes(reports.read_bytes())
    again = rumor.load(COLLECTION, tmp_path / "exported")
    assert again.tally.tolist() == counted.tally.tolist()
    counted.save(tmp_path / "day.rumor")
    saved = rumor.load(tmp_path / "day.rumor")
    want = rumor.estimate(COLLECTION, reports).frequency
    for data in (tmp_path / "day.rumor", saved):
        assert np.array_equal(rumor.estimate(COLLECTION, data).frequency, want)


def test_a_collection_is_loaded_and_reports_alone_are_not(reports: Path) -> None:
    loaded = rumor.load(COLLECTION)
    assert rumor.load(loaded) is loaded
    assert loaded.digest == rumor.Collection.load(COLLECTION).digest
    with pytest.raises(InputError, match=r"need their collection: rumor.load\(collection"):
        rumor.load(reports)
    with pytest.raises(InputError, match="got reports in memory"):
        rumor.estimate(COLLECTION, rumor.load(COLLECTION, reports), by="country")


def test_words_to_look_for_come_as_a_list_or_a_file(tmp_path: Path) -> None:
    contract = rumor.load(EXAMPLES / "words.toml")
    words = ["google", "bing", "ecosia", "qwant"] * 300
    (tmp_path / "people.csv").write_text("engine\n" + "\n".join(words) + "\n")
    (tmp_path / "words.txt").write_text("google\nbing\necosia\n")
    out, people = tmp_path / "r.parquet", tmp_path / "people.csv"
    source = str(EXAMPLES / "words.toml")
    assert not main(
        ["privatize", source, str(people), "-o", str(out), "--seed", "1", "--question", "engine"]
    )
    one = rumor.estimate(contract, out, candidates=["google", "bing", "ecosia"])
    other = rumor.estimate(contract, out, candidates=tmp_path / "words.txt")
    assert one.to_csv() == other.to_csv()
