"""The commands, end to end: answers in, reports, estimates out."""

from __future__ import annotations

import csv
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rumor import __version__
from rumor.cli import main
from rumor.client.modules import integrity
from rumor.contract.collection import Collection
from rumor.mechanisms.summary import Summary
from tests.flow import LABELS, write_toml

Outputs = pytest.CaptureFixture[str]
SHARES = [0.4, 0.3, 0.15, 0.1, 0.05]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a collection and answers, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    write_toml(tmp_path)
    rng = np.random.default_rng(1)
    answers = rng.choice(5, 4000, p=SHARES)
    countries = ["DE", "FR"]
    lines = [f"{LABELS[a]},{countries[i % 2]},{a}" for i, a in enumerate(answers.tolist())]
    Path("answers.csv").write_text("homepage,country,code\n" + "\n".join(lines) + "\n")
    return tmp_path


def rumor(*arguments: str) -> None:
    assert main(list(arguments)) == 0


def json_of(outputs: Outputs) -> dict[str, Any]:
    captured = outputs.readouterr()
    data = json.loads(captured.out)
    assert isinstance(data, dict)
    return data


def privatized(*more: str, out: str = "r.parquet") -> None:
    rumor(
        "privatize", "collection.toml", "answers.csv", "-o", out, "-q", "homepage", "--keep",
        "country", *more,
    )  # fmt: skip


def test_from_answers_to_estimates(work: Path, capsys: Outputs) -> None:
    privatized("--day", "2026-01-05", "--json")
    made = json_of(capsys)
    digest = Collection.load("collection.toml").digest
    assert made["reports"] == 4000
    assert made["collection"] == digest
    assert made["private"] is True
    rumor("estimate", "collection.toml", "r.parquet", "--json", "--method", "inversion")
    data = json_of(capsys)
    assert (data["reports"], data["skipped"], data["collection"]) == (4000, 0, digest)
    assert (data["question"], data["method"], data["level"]) == ("homepage", "inversion", 0.95)
    assert [row["value"] for row in data["estimates"]] == list(LABELS)
    for row, share in zip(data["estimates"], SHARES, strict=True):
        assert abs(row["frequency"] - share) < 6 * row["stderr"]
        assert row["low"] <= row["frequency"] <= row["high"]
    assert sorted(p.name for p in work.iterdir()) == ["answers.csv", "collection.toml", "r.parquet"]


def test_tables_of_every_kind_give_the_same_reports(work: Path, capsys: Outputs) -> None:
    """CSV or Parquet, a dictionary or not: the same person, the same report."""
    seeded = ("-q", "homepage", "--seed", "7", "--day", "2026-01-05")
    rumor("privatize", "collection.toml", "answers.csv", "-o", "csv.parquet", *seeded)
    with Path("answers.csv").open() as file:
        rows = list(csv.DictReader(file))
    labels = pa.array([row["homepage"] for row in rows])
    codes = pa.array([int(row["code"]) for row in rows], pa.int16())
    table = {"homepage": labels, "coded": labels.dictionary_encode()}
    pq.write_table(pa.table({**table, "number": codes}), "answers.parquet")
    for column in table:
        out = f"{column}.out.parquet"
        rumor("privatize", "collection.toml", "answers.parquet", "-o", out, "-c", column, *seeded)
        assert Path(out).read_bytes() == Path("csv.parquet").read_bytes()
    # Positions are no answers where there are labels.
    numbers = ("answers.parquet", "-o", "n.parquet", "-c", "number", *seeded)
    assert main(["privatize", "collection.toml", *numbers]) == 2
    assert not Path("n.parquet").exists()
    assert "NOT private" in capsys.readouterr().err


def test_a_question_without_labels_takes_integers(work: Path, capsys: Outputs) -> None:
    rumor(
        "privatize", "collection.toml", "answers.csv", "-o", "m.parquet", "-q", "medicine", "-c",
        "code",
    )  # fmt: skip
    capsys.readouterr()
    rumor("estimate", "collection.toml", "m.parquet", "--json", "--top", "2")
    data = json_of(capsys)
    assert data["question"] == "medicine"
    assert [row["value"] for row in data["estimates"]] == [0, 1]


def test_only_what_is_kept_is_published(work: Path) -> None:
    privatized()
    assert pq.read_schema("r.parquet").names == [
        "id",
        "report",
        "day",
        "country",
        "contract",
        "question",
    ]
    rumor("privatize", "collection.toml", "answers.csv", "-o", "n.parquet", "-q", "homepage")
    assert pq.read_schema("n.parquet").names == ["id", "report", "day", "contract", "question"]


def test_a_seed_repeats_and_warns_and_nothing_else_repeats(work: Path, capsys: Outputs) -> None:
    day = ("--day", "2026-01-05")
    privatized("--seed", "3", *day, out="a.parquet")
    captured = capsys.readouterr()
    assert captured.err.startswith("WARNING: --seed 3 makes the noise repeatable")
    privatized("--seed", "3", *day, "--json", out="b.parquet")
    assert json_of(capsys)["private"] is False
    privatized(*day, out="c.parquet")
    assert capsys.readouterr().err == ""
    a, b, c = (Path(f"{name}.parquet").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_strata_and_days(work: Path, capsys: Outputs) -> None:
    Path("days").mkdir()
    for day in ["2026-01-30", "2026-01-31", "2026-02-01"]:
        privatized("--day", day, out=f"days/{day}.parquet")
    capsys.readouterr()
    chosen = ("--from", "2026-01-31", "--to", "2026-02-01")
    rumor("estimate", "collection.toml", "days", "--by", "country", *chosen, "--json")
    data = json_of(capsys)
    assert data["reports"] == 8000
    assert data["by"] == "country"
    assert [(s["stratum"], s["reports"]) for s in data["strata"]] == [("DE", 4000), ("FR", 4000)]
    assert [row["stratum"] for row in data["estimates"]] == ["DE"] * 5 + ["FR"] * 5
    rumor("estimate", "collection.toml", "days", "--by", "country", "--top", "1", *chosen)
    text = capsys.readouterr().out
    assert text.startswith("homepage: What opens when you start the browser?")
    assert text.index("country = DE") < text.index("country = FR")
    rumor("estimate", "collection.toml", "days", "--by", "day", "--json")
    assert [s["stratum"] for s in json_of(capsys)["strata"]] == [
        "2026-01-30", "2026-01-31", "2026-02-01",
    ]  # fmt: skip


def test_a_year_is_the_sum_of_its_months(work: Path, capsys: Outputs) -> None:
    Path("all").mkdir()
    for month in ["1", "2", "3"]:
        privatized(out=f"all/{month}.parquet")
        rumor(
            "estimate", "collection.toml", f"all/{month}.parquet", "--save-summary",
            f"{month}.rumor",
        )  # fmt: skip
    capsys.readouterr()
    rumor("merge", "year.rumor", "1.rumor", "2.rumor", "3.rumor", "--json")
    merged = json_of(capsys)
    assert (merged["reports"], merged["summaries"], merged["question"]) == (12000, 3, "homepage")
    assert Summary.load("year.rumor").reports == 12000
    rumor("estimate", "collection.toml", "year.rumor", "--json")
    from_summaries = json_of(capsys)
    rumor("estimate", "collection.toml", "all", "--json")
    assert from_summaries == json_of(capsys)
    assert main(["merge", "year.rumor", "1.rumor"]) == 2
    assert "OUT must be a new file" in capsys.readouterr().err
    assert Summary.load("year.rumor").reports == 12000
    rumor("merge", "--force", "year.rumor", "1.rumor")
    assert Summary.load("year.rumor").reports == 4000


def test_intervals_are_the_ones_asked_for(work: Path, capsys: Outputs) -> None:
    privatized("--seed", "1")
    capsys.readouterr()

    def width(*options: str) -> float:
        rumor("estimate", "collection.toml", "r.parquet", "--json", *options)
        row = json_of(capsys)["estimates"][0]
        return float(row["high"] - row["low"])

    plain = width()
    assert width("--level", "0.5") < width("--of", "people") < plain < width("--simultaneous")


def test_charts_and_csv_are_written_too(work: Path, capsys: Outputs) -> None:
    privatized()
    rumor(
        "estimate", "collection.toml", "r.parquet", "--by", "country", "--csv", "e.csv", "--plot",
        "e.svg", "--top", "2",
    )  # fmt: skip
    with Path("e.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["stratum"] for row in rows] == ["DE", "DE", "FR", "FR"]
    assert float(rows[0]["low"]) <= float(rows[0]["frequency"]) <= float(rows[0]["high"])
    svg = Path("e.svg").read_text()
    assert "DE (2,000 reports)" in svg
    assert "What opens when you start the browser?" in svg


def test_invalid_reports_are_left_out_only_when_asked(work: Path, capsys: Outputs) -> None:
    privatized()
    table = pq.read_table("r.parquet")
    spoiled = pa.array([b"\xff"] * 3 + table["report"].to_pylist()[3:], pa.binary(1))
    pq.write_table(table.set_column(1, table.schema.field("report"), spoiled), "r.parquet")
    assert main(["estimate", "collection.toml", "r.parquet"]) == 2
    assert "got at least 3 that are not (--skip-invalid" in capsys.readouterr().err
    rumor("estimate", "collection.toml", "r.parquet", "--skip-invalid", "--json")
    data = json_of(capsys)
    assert (data["reports"], data["skipped"]) == (3997, 3)
    rumor("estimate", "collection.toml", "r.parquet", "--skip-invalid")
    assert capsys.readouterr().out.endswith("3 invalid reports were left out\n")


def test_a_dry_run_on_your_own_numbers(work: Path, capsys: Outputs) -> None:
    Path("h.csv").write_text("value,count\nblank,40\nnews,60\n")
    rumor(
        "simulate", "collection.toml", "h.csv", "-q", "homepage", "--people", "5000", "--trials",
        "3", "--seed", "1", "--json", "--plot", "s.png",
    )  # fmt: skip
    data = json_of(capsys)
    assert (data["reports"], data["trials"], data["epsilon"] <= 2.0) == (5000, 3, True)
    assert [row["truth"] for row in data["estimates"]] == [0.4, 0.6, 0, 0, 0]
    assert "factor of 7.39" in data["privacy"]
    assert Path("s.png").read_bytes().startswith(b"\x89PNG")
    rumor("simulate", "collection.toml", "answers.csv", "-q", "homepage", "--seed", "1")
    text = capsys.readouterr().out
    assert "4,000 people, 1 trial;" in text
    assert "expected s.e." in text


def test_a_collection_in_plain_words(work: Path, capsys: Outputs) -> None:
    collection = Collection.load("collection.toml")
    rumor("show", "collection.toml")
    text = capsys.readouterr().out
    for fact in [
        collection.digest, "randomized-response", "5: blank, news, search, mail, nothing",
        "an integer from 0 to 49", "7 bytes", "at most a factor", "reports   1 per respondent",
    ]:  # fmt: skip
        assert fact in text
    rumor("show", "collection.toml", "--json")
    data = json_of(capsys)
    assert data["digest"] == collection.digest
    assert [q["report_bytes"] for q in data["questions"]] == [1, 7]
    rumor("show", "collection.toml", "--contract")
    Path("contract.json").write_text(capsys.readouterr().out)
    assert Collection.load("contract.json").digest == collection.digest


@pytest.mark.parametrize(
    ("count", "said"),
    [(8, "8: a0, a1, a2, a3, a4, a5, a6, a7\n"), (9, "9: a0, a1, a2, a3, a4, a5, a6, a7, ...\n")],
)
def test_eight_labels_are_shown(work: Path, capsys: Outputs, count: int, said: str) -> None:
    asked = {"id": "q", "kind": "choice", "labels": [f"a{i}" for i in range(count)], "epsilon": 1.0}
    wish = {"name": "N", "series": "s", "contact": "c", "questions": [asked]}
    Collection.resolve(wish).save("c.json")
    rumor("show", "c.json")
    assert said in capsys.readouterr().out


def test_the_demonstration_runs_through(work: Path, capsys: Outputs) -> None:
    rumor("demo", "--people", "2000", "--seed", "1", "--out", "d.html")
    text = capsys.readouterr().out
    assert text.startswith("2,000 people are asked")
    assert text.endswith("The same as a page: d.html\n")
    assert Path("d.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    rumor("demo", "--people", "2000", "--seed", "1", "--out", "d.html", "--json")
    data = json_of(capsys)
    assert data["reports"] == 2000
    assert set(data["person"]) == {"number", "answer", "bits"}
    assert all({"value", "frequency", "truth", "low", "high"} <= set(r) for r in data["estimates"])


def test_the_version(capsys: Outputs) -> None:
    rumor("--version")
    assert capsys.readouterr().out == f"rumor {__version__}\n"


def test_the_example_data_fits_its_collection(capsys: Outputs) -> None:
    folder = Path(__file__).parents[2] / "examples"
    table = str(folder / "homepages.csv")
    rumor("simulate", str(folder / "browser.toml"), table, "--seed", "1", "--json")
    data = json_of(capsys)
    assert data["reports"] == 10_000
    assert all(row["truth"] > 0 for row in data["estimates"])


@pytest.mark.parametrize("name", ["browser.toml", "survey.toml"])
def test_the_examples_work(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Outputs
) -> None:
    example = Path(__file__).parents[2] / "examples" / name
    monkeypatch.chdir(tmp_path)
    for question in Collection.load(example).questions:
        values = range(20) if question.labels is None else question.labels
        lines = "\n".join(f"{value},{i + 1}" for i, value in enumerate(values))
        Path("h.csv").write_text(f"value,count\n{lines}\n")
        rumor("simulate", str(example), "h.csv", "-q", question.id, "-n", "3000", "--json")
        assert json_of(capsys)["reports"] == 3000


def test_shares_of_several_values_are_told_together(work: Path, capsys: Outputs) -> None:
    privatized("--seed", "1")
    capsys.readouterr()
    rumor("estimate", "collection.toml", "r.parquet", "--json")
    labels = [row["value"] for row in json_of(capsys)["estimates"]]
    chosen = ("--share", labels[0], "--share", labels[1])
    rumor("estimate", "collection.toml", "r.parquet", "--json", *chosen)
    share = json_of(capsys)["share"]
    assert share["values"] == labels[:2]
    assert share["low"] < share["unbiased"] < share["high"]
    rumor("estimate", "collection.toml", "r.parquet", *chosen)
    assert f"{labels[0]}, {labels[1]} together: " in capsys.readouterr().out
    assert main(["estimate", "collection.toml", "r.parquet", "--share", "nothing like it"]) == 2
    assert "a share is of values of this estimate; got 'nothing like it'" in capsys.readouterr().err


def test_the_rows_of_a_short_list_are_covered_as_rows_that_came_out_first(
    work: Path, capsys: Outputs
) -> None:
    privatized("--seed", "1")
    capsys.readouterr()
    rumor("estimate", "collection.toml", "r.parquet", "--json", "--top", "1")
    first = json_of(capsys)
    rumor("estimate", "collection.toml", "r.parquet", "--json")
    whole = json_of(capsys)
    assert first["covers"].startswith(
        "intervals adjusted for ranking: on average at least 95% of those shown"
    )
    assert whole["covers"].startswith(
        "95% confidence intervals, each for a value chosen before seeing the data"
    )
    row = next(r for r in whole["estimates"] if r["value"] == first["estimates"][0]["value"])
    assert first["estimates"][0]["low"] < row["low"]


def test_modules_have_their_hashes(capsys: pytest.CaptureFixture[str]) -> None:
    """As a list, as JSON, and as the import map of a page; an odd address is refused."""
    assert main(["modules"]) == 0
    listed = dict(line.split("  ")[::-1] for line in capsys.readouterr().out.splitlines())
    assert main(["modules", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == listed == integrity()
    assert main(["modules", "--import-map", "/client/"]) == 0
    mapped = {f"/client/{name}": value for name, value in listed.items()}
    assert json.loads(capsys.readouterr().out) == {"integrity": mapped}
    assert main(["modules", "--import-map", "client"]) == 2
    assert "must be an address or a path; got 'client'" in capsys.readouterr().err


def test_the_page_is_written_with_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `sha256sum` writes it, so that it can check the file; not together with an import map."""
    monkeypatch.chdir(tmp_path)
    assert main(["modules", "--page", "page.html"]) == 0
    line = capsys.readouterr().out
    digest = hashlib.sha256((tmp_path / "page.html").read_bytes()).hexdigest()
    assert line == f"{digest}  page.html\n"
    (tmp_path / "page.html.sha256").write_text(line)
    subprocess.run(["sha256sum", "--check", "--strict", "page.html.sha256"], check=True)
    assert main(["modules", "--page", "page.html", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"page": "page.html", "sha256": digest}
    assert main(["modules", "--page", "other.html", "--import-map", "/client"]) == 2
    assert "--page and --import-map must not go together" in capsys.readouterr().err
    assert not (tmp_path / "other.html").exists()
    assert main(["modules", "--page", "nowhere/page.html"]) == 2
