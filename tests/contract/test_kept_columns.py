"""`rumor privatize --keep`: what stands beside the reports says nothing of anybody's answers."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rumor.cli import main

Outputs = pytest.CaptureFixture[str]
COLLECTION = """
name = "Health"
series = "health"
contact = "nobody"

[[questions]]
id = "homepage"
kind = "choice"
labels = ["blank", "news"]
epsilon = 1.0

[[questions]]
id = "blood-type"
kind = "choice"
labels = ["A", "B"]
epsilon = 1.0

[[questions]]
id = "habits"
kind = "keyvalue"
keys = ["coffee cups", "tea"]
low = 0
high = 9
epsilon = 1.0
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(COLLECTION)
    return tmp_path


def privatize(question: str, *more: str) -> int:
    return main(
        ["privatize", "c.toml", "people.csv", "-o", "r.parquet", "-q", question, "--replace", *more]
    )


@pytest.mark.parametrize(
    ("kept", "why"),
    [
        ("blood-type", "answers question 'blood-type'"),
        ("blood_type", "answers question 'blood-type'"),
        ("Blood Type", "answers question 'blood-type'"),
        ("BLOOD_TYPE", "answers question 'blood-type'"),
        ("homepage", "holds the answers"),
        ("HomePage", "holds the answers"),
        ("coffee cups", "answers question 'habits'"),
        ("Coffee-Cups", "answers question 'habits'"),
        ("tea", "answers question 'habits'"),
        ("Habits", "answers question 'habits'"),
    ],
)
def test_no_answer_to_any_question_is_published(
    work: Path, capsys: Outputs, kept: str, why: str
) -> None:
    columns = dict.fromkeys(["homepage", kept, "place"])
    Path("people.csv").write_text(
        ",".join(columns) + "\n" + ",".join(["news", "1", "x"][: len(columns)]) + "\n"
    )
    assert privatize("homepage", "--keep", "place", "--keep", kept) == 2
    said = capsys.readouterr().err
    rule = "a public column is published as it is, so it must hold no answers"
    assert said == f"rumor: {rule}; got {kept!r}, which {why}\n"
    assert not Path("r.parquet").exists()


def test_the_column_of_answers_is_private_under_any_name(work: Path, capsys: Outputs) -> None:
    Path("people.csv").write_text("start page,place\nnews,x\n")
    assert privatize("homepage", "--column", "start page", "--keep", "start page") == 2
    assert "got 'start page', which holds the answers" in capsys.readouterr().err
    Path("people.csv").write_text("start page,homepage\nnews,news\n")
    assert privatize("homepage", "--column", "start page", "--keep", "homepage") == 2
    assert "got 'homepage', which answers question 'homepage'" in capsys.readouterr().err


def test_columns_that_tell_people_apart_are_warned_about(work: Path, capsys: Outputs) -> None:
    """Many values with few people each, alone or together; a few groups of any size are not."""
    rows = [f"news,{i % 2},{i % 15},{i},{i % 7}" for i in range(1400)]
    Path("people.csv").write_text("homepage,sex,region,postcode,week\n" + "\n".join(rows) + "\n")
    assert privatize("homepage", "--keep", "sex", "--keep", "region") == 0
    said = capsys.readouterr().err
    assert said.startswith(
        "WARNING: --keep sex and region: 30 distinct values in 1,400 rows, 46.7 "
    )
    assert said.count("WARNING") == 1
    assert privatize("homepage", "--keep", "postcode") == 0
    said = capsys.readouterr().err
    assert "--keep postcode: 1,400 distinct values in 1,400 rows, 1 people to each on" in said
    assert pq.read_schema("r.parquet").names == [
        "id",
        "report",
        "day",
        "postcode",
        "contract",
        "question",
    ]
    for quiet in (("sex",), ("region",), ("sex", "week")):
        assert privatize("homepage", *(part for name in quiet for part in ("--keep", name))) == 0
        assert capsys.readouterr().err == ""
