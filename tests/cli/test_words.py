"""The flow of a text question on the command line: privatize, estimate, simulate."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from rumor.cli import main

TOML = """
name = "Words"
series = "words"
contact = "x@example.org"

[[questions]]
id = "word"
kind = "text"
text = "Which word?"
epsilon = 4
cohorts = 16

[[questions]]
id = "colour"
kind = "choice"
labels = ["red", "green"]
epsilon = 1
"""
Outputs = pytest.CaptureFixture[str]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("words.toml").write_text(TOML)
    words = np.repeat(["tea", "coffee", "maté", "a secret"], [3_000, 2_000, 1_000, 500])
    places = np.tile(["north", "south"], 3_250)
    with Path("answers.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["word", "place"])
        writer.writerows(zip(words, places, strict=True))
    listed = ["tea", "coffee", "maté", *(f"nobody {i}" for i in range(60))]
    Path("list.txt").write_text("\n".join(listed) + "\n", encoding="utf-8")
    return tmp_path


def rumor(*arguments: str) -> int:
    return main(list(arguments))


def privatized() -> None:
    seeded = ("--seed", "1", "--keep", "place")
    assert (
        rumor("privatize", "words.toml", "answers.csv", "-o", "r.parquet", "-q", "word", *seeded)
        == 0
    )


def test_from_answers_to_words(work: Path, capsys: Outputs) -> None:
    privatized()
    capsys.readouterr()
    more = ("--candidates", "list.txt", "--csv", "out.csv", "--plot", "out.svg")
    assert rumor("estimate", "words.toml", "r.parquet", *more) == 0
    text = capsys.readouterr().out
    assert [line.split()[0] for line in text.splitlines()[3:6]] == ["tea", "coffee", "maté"]
    assert "of 63 candidates detected; false discovery rate at most 5%" in text
    with Path("out.csv").open(encoding="utf-8") as file:
        assert [row["value"] for row in csv.DictReader(file)][:3] == ["tea", "coffee", "maté"]
    assert "coffee" in Path("out.svg").read_text(encoding="utf-8")
    assert len(list((work / "cache" / "rumor" / "candidates").iterdir())) == 1


def test_json_strata_and_the_level(work: Path, capsys: Outputs) -> None:
    privatized()
    capsys.readouterr()
    listed = ("--candidates", "list.txt", "--json")
    assert rumor("estimate", "words.toml", "r.parquet", *listed, "--fdr", "0.2") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["detection_level"] == 0.2
    assert found["candidates"] == 63
    assert 0 <= found["other"] < 0.3
    assert {"value", "p_value", "detected"} <= set(found["estimates"][0])
    assert rumor("estimate", "words.toml", "r.parquet", *listed, "--by", "place") == 0
    strata = json.loads(capsys.readouterr().out)
    assert [stratum["stratum"] for stratum in strata["strata"]] == ["north", "south"]
    assert {row["stratum"] for row in strata["estimates"]} == {"north", "south"}


def test_when_nothing_is_found_everything_is_still_written(work: Path, capsys: Outputs) -> None:
    privatized()
    Path("wrong.txt").write_text("\n".join(f"wrong {i}" for i in range(30)))
    listed = ("--candidates", "wrong.txt", "--csv", "o.csv", "--plot", "o.svg")
    capsys.readouterr()
    assert rumor("estimate", "words.toml", "r.parquet", *listed, "--fdr", "1e-9") == 0
    assert "no candidate was detected" in capsys.readouterr().out
    assert Path("o.csv").read_text().startswith("value,frequency,low,high")


def test_a_dry_run_of_words(work: Path, capsys: Outputs) -> None:
    Path("held.csv").write_text("value,count\ntea,600\ncoffee,300\na secret,100\n")
    options = ("-q", "word", "--people", "50000", "--trials", "3", "--seed", "1")
    listed = ("--candidates", "list.txt", "--plot", "s.svg")
    assert rumor("simulate", "words.toml", "held.csv", *options, *listed) == 0
    text = capsys.readouterr().out
    assert "50,000 people, 3 trials, 63 candidates" in text
    assert "10.0% of the people held a word that is no candidate" in text.replace("\n", " ")
    assert rumor("simulate", "words.toml", "held.csv", *options, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["recall"] == 1.0
    assert found["candidates"] == 3
    # Rows of raw answers do as well.
    assert rumor("simulate", "words.toml", "answers.csv", "-q", "word", "--seed", "1") == 0
    assert "6,500 people, 1 trial" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("estimate", "words.toml", "r.parquet"), "--candidates must name a file of words"),
        (
            ("estimate", "words.toml", "r.parquet", "--candidates", "no.txt"),
            "candidates must be a file that can be read; no.txt",
        ),
        (
            ("estimate", "words.toml", "r.parquet", "--candidates", "bad.txt"),
            "candidates must be UTF-8 text; got the byte 0xff in line 2",
        ),
        (
            ("estimate", "words.toml", "r.parquet", "--candidates", "twice.txt"),
            "candidates must be distinct; got 'tea' more than once",
        ),
        (
            ("estimate", "words.toml", "r.parquet", "--candidates", "list.txt", "-m", "bayes"),
            "method must be one of auto, lasso-ols, em; got 'bayes'",
        ),
        (
            ("estimate", "words.toml", "c.parquet", "--candidates", "list.txt"),
            "candidates are for text questions; got --candidates for 'colour'",
        ),
        (
            ("simulate", "words.toml", "bad.csv", "-q", "word"),
            "counts must be integers of 0 or more",
        ),
    ],
)
def test_bad_input_is_one_sentence(
    work: Path, capsys: Outputs, arguments: tuple[str, ...], sentence: str
) -> None:
    privatized()
    Path("colours.csv").write_text("colour\nred\ngreen\n")
    rumor("privatize", "words.toml", "colours.csv", "-o", "c.parquet", "-q", "colour")
    Path("bad.txt").write_bytes(b"one\n\xff\n")
    Path("twice.txt").write_text("tea\ncoffee\ntea\n")
    Path("bad.csv").write_text("value,count\ntea,-5\n")
    capsys.readouterr()
    assert rumor(*arguments) == 2
    outputs = capsys.readouterr()
    assert outputs.out == ""
    assert sentence in outputs.err
    assert len(outputs.err.strip().splitlines()) == 1
