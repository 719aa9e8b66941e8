"""`rumor privatize` where each person is asked some of many questions."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chisquare

from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.contract.privatize import draw_questions, privatize_questions, privatize_table
from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded

Outputs = pytest.CaptureFixture[str]
COLLECTION = """
name = "Many"
series = "many"
contact = "nobody"
ask = {questions = 1}

[[questions]]
id = "eats"
kind = "choice"
labels = ["bread", "rice", "both"]
epsilon = 3.0

[[questions]]
id = "sleeps"
kind = "number"
low = 0
high = 12
epsilon = 3.0

[[questions]]
id = "reads"
kind = "choice"
labels = ["yes", "no"]
epsilon = 2.0
"""
PEOPLE = 3_000


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(COLLECTION)
    rows = [
        f"{'bread' if i % 4 else 'rice'},{6 + i % 3},yes,{'NO' if i % 2 else 'SE'}\n"
        for i in range(PEOPLE)
    ]
    Path("people.csv").write_text("eats,sleeps,reads,country\n" + "".join(rows))
    return tmp_path


def privatize(*more: str) -> int:
    return main(["privatize", "c.toml", "people.csv", "-o", "r.parquet", "--replace", *more])


def refused(capsys: Outputs, *more: str) -> str:
    assert privatize(*more) == 2
    return capsys.readouterr().err.strip().removeprefix("rumor: ")


def test_every_row_is_in_the_file_of_one_question(work: Path, capsys: Outputs) -> None:
    assert privatize("--seed", "5", "--keep", "country", "--json") == 0
    made = json.loads(capsys.readouterr().out)["questions"]
    counts = {one["question"]: one["reports"] for one in made}
    assert sum(counts.values()) == PEOPLE
    # A third each: six deviations of a binomial.
    assert all(abs(n - PEOPLE / 3) < 6 * np.sqrt(PEOPLE * 2 / 9) for n in counts.values())
    for one in made:
        assert one["out"] == f"r-{one['question']}.parquet"
        table = pq.read_table(one["out"])
        assert len(table) == one["reports"]
        assert set(table.column("country").to_pylist()) == {"NO", "SE"}
    assert not Path("r.parquet").exists()


def test_an_estimate_knows_its_own_people(work: Path, capsys: Outputs) -> None:
    assert privatize("--seed", "5") == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split("'")[3] for line in said] == ["eats", "sleeps", "reads"]
    assert main(["estimate", "c.toml", "r-eats.parquet", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["reports"] == len(pq.read_table("r-eats.parquet"))
    shares = {row["value"]: row["frequency"] for row in found["estimates"]}
    assert shares["bread"] == pytest.approx(0.75, abs=0.1)


def test_a_table_of_two_questions_is_refused(work: Path, capsys: Outputs) -> None:
    assert privatize("--seed", "5") == 0
    capsys.readouterr()
    assert main(["estimate", "c.toml", "r-eats.parquet", "--by", "reads"]) == 2
    assert capsys.readouterr().err.strip() == (
        "rumor: groups by a question need both answers of each respondent, and each is asked 1 of "
        "3 questions; ask the two together, as kind \"joint\"; got 'reads'"
    )
    assert "it must hold no answers; got 'eats'" in refused(capsys, "--keep", "eats")


def test_what_was_not_drawn_is_not_read(work: Path, capsys: Outputs) -> None:
    # The same seed draws the same rows: what stands in the others changes no byte.
    assert privatize("--seed", "5") == 0
    before = {path.name: path.read_bytes() for path in sorted(work.glob("r-*.parquet"))}
    stream = Seeded(5).stream()
    drawn = draw_questions(stream, PEOPLE, 3, 1)
    lines = Path("people.csv").read_text().splitlines()
    cells = [line.split(",") for line in lines[1:]]
    for row, mine in zip(cells, drawn, strict=True):
        for place in np.flatnonzero(~mine):
            row[place] = ""
    Path("people.csv").write_text("\n".join([lines[0], *map(",".join, cells)]) + "\n")
    assert privatize("--seed", "5") == 0
    assert {path.name: path.read_bytes() for path in sorted(work.glob("r-*.parquet"))} == before


def test_a_wrong_answer_names_its_row_of_the_table_and_leaves_nothing(
    work: Path, capsys: Outputs
) -> None:
    drawn = draw_questions(Seeded(5).stream(), PEOPLE, 3, 1)
    row = int(np.flatnonzero(drawn[:, 2])[40])
    lines = Path("people.csv").read_text().splitlines()
    lines[1 + row] = lines[1 + row].replace("yes", "maybe")
    Path("people.csv").write_text("\n".join(lines) + "\n")
    said = refused(capsys, "--seed", "5")
    assert f"column 'reads', row {row + 1:,}" in said
    assert "maybe" not in said
    assert list(work.glob("r*.parquet")) == []


def test_bad_wishes(work: Path, capsys: Outputs) -> None:
    assert "drawn for all of them at once" in refused(capsys, "-q", "eats")
    assert "--column must be ID=NAME where there are" in refused(capsys, "-c", "eats")
    Path("people.csv").write_text("eats,reads\nbread,yes\n")
    assert "must have a column 'sleeps'" in refused(capsys)
    assert list(work.glob("r*.parquet")) == []


def test_two_questions_have_two_files(work: Path) -> None:
    made = Collection.load("c.toml")
    for other in ("r.parquet", f"{work}/./r.parquet"):
        outs = {"eats": "r.parquet", "sleeps": "s.parquet", "reads": other}
        with pytest.raises(InputError, match="one path for two of them"):
            privatize_questions(made, AnswerTable.open(Path("people.csv")), outs)
    assert list(work.glob("?.parquet")) == []


def test_pairs_in_rows_of_their_own_are_refused(work: Path, capsys: Outputs) -> None:
    apps = '[[questions]]\nid="apps"\nkind="keyvalue"\nkeys=["a","b"]\nlow=0\nhigh=1\nepsilon=1.0\n'
    head = COLLECTION[: COLLECTION.index("[[questions]]")]
    reads = COLLECTION[COLLECTION.index('[[questions]]\nid = "reads"') :]
    Path("c.toml").write_text(f"{head}{apps}\n{reads}")
    Path("people.csv").write_text("person,key,value,reads\n" + "x,a,0.5,yes\ny,b,0.5,no\n")
    assert "only where each row is a person; got a table of pairs" in refused(capsys, "--seed", "1")


def test_one_question_of_many_is_never_made_of_everybody(work: Path) -> None:
    contract, table = Collection.load("c.toml"), AnswerTable.open("people.csv")
    with pytest.raises(InputError, match=r"must be privatized at once .*; got question 'eats'"):
        privatize_table(contract, contract.question("eats"), table, "r.parquet")


def test_days_take_the_reports_of_their_days(work: Path, capsys: Outputs) -> None:
    days = "ask = {days = 3, starts = 2026-01-30}"
    Path("c.toml").write_text(COLLECTION.replace("ask = {questions = 1}", days))
    assert privatize("-q", "eats", "--day", "2026-02-01") == 0
    table = pq.read_table("r.parquet")
    assert len(table) == PEOPLE
    capsys.readouterr()
    for day in ("2026-01-29", "2026-02-02"):
        assert f"the 3 days from 2026-01-30 to 2026-02-01; got {day}" in refused(
            capsys, "-q", "eats", "--day", day
        )


def test_parquet_tables_are_drawn_alike(work: Path, capsys: Outputs) -> None:
    table = {"eats": ["bread"] * 90, "sleeps": [7.5] * 90, "reads": ["no"] * 90}
    pq.write_table(pa.table(table), "people.parquet")
    assert main(["privatize", "c.toml", "people.parquet", "-o", "r.parquet", "--seed", "2"]) == 0
    files = {path.name: len(pq.read_table(path)) for path in work.glob("r-*.parquet")}
    assert sum(files.values()) == 90
    assert len(files) == 3


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_draw_of_a_table_is_uniform_without_replacement(count: int) -> None:
    # 6,000 people, one fixed seed; level 1e-6.
    drawn = draw_questions(Seeded(9).stream(), 6_000, 4, count)
    assert (drawn.sum(axis=1) == count).all()
    sets = Counter(map(tuple, drawn.tolist()))
    assert len(sets) == {1: 4, 2: 6, 3: 4}[count]
    assert chisquare(list(sets.values())).pvalue > 1e-6


def test_a_question_that_nobody_drew_has_an_empty_file(work: Path, capsys: Outputs) -> None:
    Path("people.csv").write_text("eats,sleeps,reads\nbread,7,yes\n")
    assert privatize("--seed", "5") == 0
    counts = sorted(len(pq.read_table(path)) for path in work.glob("r-*.parquet"))
    assert counts == [0, 0, 1]
    Path("people.csv").write_text("eats,sleeps,reads\n")
    assert "a table must hold at least one answer; got none" in refused(capsys)
