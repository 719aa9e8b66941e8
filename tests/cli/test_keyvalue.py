"""`rumor privatize`, `estimate` and `simulate` on questions about numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rumor.cli import main

APPS, COMMUTE = "examples/app-usage.toml", "examples/commute.toml"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def answers(
    capsys: pytest.CaptureFixture[str], collection: str, reports: Path
) -> dict[str, object]:
    status, out, _ = run(capsys, "estimate", collection, reports, "--json")
    assert status == 0
    return {row["value"]: row for row in json.loads(out)["estimates"]}


def wide(people: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(2)
    labels = "Maps Mail Camera Chat Video Music News Bank Notes Games Health Radio Weather Books"
    labels += " Dating Prayer Pregnancy Jobs Therapy Lottery"
    shares = {"Maps": 0.8, "Mail": 0.5, "Chat": 0.3}
    return {
        label: np.where(random.random(people) < shares.get(label, 0.0), 3.0, np.nan)
        for label in labels.split()
    }


def test_wide_and_long_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Both forms, CSV and Parquet, give the shares back (6 standard errors of 20,000 reports)."""
    people = 20_000
    cells = wide(people)
    region = np.where(np.arange(people) % 2, "north", "south")
    arrow = {k: pa.array(v, from_pandas=True) for k, v in cells.items()}
    pq.write_table(pa.table({**arrow, "region": region}), tmp_path / "wide.parquet")
    with (tmp_path / "wide.csv").open("w") as file:
        file.write(",".join(cells) + "\n")
        for row in zip(*cells.values(), strict=True):
            file.write(",".join("" if np.isnan(v) else f"{v:g}" for v in row) + "\n")
    with (tmp_path / "long.csv").open("w") as file:
        file.write("value,person,key\n")
        for i in range(people):
            held = [(k, v[i]) for k, v in cells.items() if not np.isnan(v[i])]
            for key, value in held or [("", "")]:
                file.write(f"{value},p{i},{key}\n")
    for name in ("wide.parquet", "wide.csv", "long.csv"):
        out = tmp_path / f"{name}.reports.parquet"
        status, said, _ = run(capsys, "privatize", APPS, tmp_path / name, "-o", out)
        assert status == 0
        assert said.startswith("20,000 reports of 2 bytes each")
        rows = answers(capsys, APPS, out)
        for key, share in (("Maps", 0.8), ("Mail", 0.5), ("Chat", 0.3), ("Jobs", 0.0)):
            assert rows[key]["frequency"] == pytest.approx(share, abs=6 * 0.022)  # type: ignore[index]
        assert rows["Maps"]["mean"] == pytest.approx(3.0, abs=1.0)  # type: ignore[index]
    out = tmp_path / "kept.parquet"
    arguments = ("privatize", APPS, tmp_path / "wide.parquet", "-o", out, "--keep", "region")
    assert run(capsys, *arguments)[0] == 0
    status, text, _ = run(capsys, "estimate", APPS, out, "--by", "region", "--top", "3")
    assert status == 0
    assert "region = north" in text
    status, _, err = run(
        capsys, "privatize", APPS, tmp_path / "long.csv", "-o", f"{out}.parquet", "--keep", "person"
    )
    assert status == 2
    assert "columns can be kept where a row is a person" in err


def test_numbers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table, out = tmp_path / "minutes.csv", tmp_path / "minutes.parquet"
    table.write_text("minutes\n" + "10\n50\n" * 4000)
    assert run(capsys, "privatize", COMMUTE, table, "-o", out)[0] == 0
    chart = tmp_path / "mean.svg"
    status, text, _ = run(capsys, "estimate", COMMUTE, out, "--plot", chart)
    assert status == 0
    assert "mean" in text
    assert chart.read_text().startswith("<svg")
    row = answers(capsys, COMMUTE, out)["mean"]
    assert row["mean"] == pytest.approx(30, abs=6 * 1.45)  # type: ignore[index]


def test_simulations(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shares = tmp_path / "shares.csv"
    shares.write_text("key,frequency,mean\nMaps,0.8,2\nMail,0.4,1.5\n")
    chart = tmp_path / "apps.svg"
    arguments = ("simulate", APPS, shares, "--people", 20000, "--trials", 2, "--seed", 1)
    status, text, _ = run(capsys, *arguments, "--plot", chart)
    assert status == 0
    assert text.splitlines()[3].startswith("Maps")
    assert "2 trials of 20,000 respondents" in text
    assert "truth" in chart.read_text() or chart.stat().st_size > 1000
    status, out, _ = run(capsys, *arguments, "--json")
    rows = {row["value"]: row for row in json.loads(out)["estimates"]}
    assert rows["Maps"]["frequency_truth"] == 0.8
    assert rows["Maps"]["frequency_error"] < 0.1
    assert rows["Jobs"]["mean_truth"] is None
    minutes = tmp_path / "minutes.csv"
    minutes.write_text("value,count\n20,3\n40,1\n")
    status, text, _ = run(capsys, "simulate", COMMUTE, minutes, "--people", 8000, "--seed", 2)
    assert status == 0
    assert "25" in text.splitlines()[3]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("person,key,value\nann,Maps,9\nann,Maps,2\n", "a person must hold each key once"),
        ("person,key,value\nann,Yoga,1\n", "a key must be one of the question's"),
        ("person,key,value\nann,Maps,\n", "values must be numbers; got 1 missing"),
        (
            "person,key,value\nann,Maps,lots\n",
            "column 'value', row 1: the column must hold numbers",
        ),
        ("Maps,Mail\n1,2\n", "or a column for each key; got none for 'Camera'"),
    ],
)
def test_bad_tables(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, sentence: str
) -> None:
    table, out = tmp_path / "bad.csv", tmp_path / "out.parquet"
    table.write_text(content)
    status, _, err = run(capsys, "privatize", APPS, table, "-o", out)
    assert status == 2
    assert sentence in err
    assert len(err.strip().splitlines()) == 1
    assert not out.exists()


def test_other_bad_requests(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shares = tmp_path / "shares.csv"
    shares.write_text("key,frequency,mean\nMaps,1.8,2\n")
    status, _, err = run(capsys, "simulate", APPS, shares)
    assert (status, "give one with --people" in err) == (2, True)
    status, _, err = run(capsys, "simulate", APPS, shares, "--people", 10)
    assert (status, "a share must lie in 0 to 1" in err) == (2, True)
    status, _, err = run(
        capsys, "privatize", APPS, shares, "-o", tmp_path / "x.parquet", "-c", "key"
    )
    assert (status, "have many columns" in err) == (2, True)
