"""`rumor privatize` and `rumor show`: what people are told before they are told twice."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

from rumor.cli import main

Outputs = pytest.CaptureFixture[str]
HEAD = 'name = "Survey"\nseries = "survey"\ncontact = "nobody"\n'


def question(id: str, epsilon: float = 1.0, more: str = "") -> str:
    """A choice of two."""
    return (
        f'[[questions]]\nid = "{id}"\nkind = "choice"\nlabels = ["yes", "no"]\n'
        f"epsilon = {epsilon}\n{more}\n"
    )


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(HEAD + question("asked"))
    Path("t.csv").write_text("asked\n" + "yes\nno\n" * 10)
    return tmp_path


def run(capsys: Outputs, *arguments: str) -> tuple[int, str]:
    code = main(list(arguments))
    said = capsys.readouterr()
    return code, said.out + said.err


def test_reports_that_are_there_are_not_written_over(capsys: Outputs) -> None:
    command = ["privatize", "c.toml", "t.csv", "-o", "r.parquet"]
    assert run(capsys, *command)[0] == 0
    before = Path("r.parquet").read_bytes()
    code, said = run(capsys, *command)
    assert code == 2
    assert "'r.parquet' exists (--replace writes over it)" in said
    assert Path("r.parquet").read_bytes() == before
    assert run(capsys, *command, "--replace")[0] == 0
    assert Path("r.parquet").read_bytes() != before


def test_no_report_is_of_a_day_to_come(capsys: Outputs) -> None:
    today = datetime.datetime.now(datetime.UTC).date()
    command = ["privatize", "c.toml", "t.csv", "-o", "r.parquet", "--day"]
    code, said = run(capsys, *command, str(today + datetime.timedelta(days=2)))
    assert code == 2
    assert "--day must not lie in the future" in said
    assert not Path("r.parquet").exists()
    assert run(capsys, *command, str(today))[0] == 0


def test_questions_are_added_up(capsys: Outputs) -> None:
    Path("c.toml").write_text(HEAD + "".join(map(question, ("a", "b", "c"))))
    said = run(capsys, "show", "c.toml")[1]
    assert "budget    at most epsilon 3 per respondent" in said
    # e^3 = 20.1, and 20.1 / 21.1 = 95.26%.
    words = " ".join(said.split())
    assert "total After all of it, someone who knows everything else about you can" in words
    assert "by at most 20.1 (epsilon 3): an even guess becomes right at most 95.26%" in words
    assert json.loads(run(capsys, "show", "c.toml", "--json")[1])["epsilon_most"] == 3
    Path("c.toml").write_text(HEAD + question("a"))
    assert "After all of it" not in run(capsys, "show", "c.toml")[1]


@pytest.mark.parametrize(
    ("epsilon", "sure"),
    [(4.5, None), (4.7, "right 99.1% of the time"), (20.0, "practically always right")],
)
def test_a_large_epsilon_is_said_to_be_large(
    epsilon: float, sure: str | None, capsys: Outputs
) -> None:
    Path("c.toml").write_text(HEAD + question("a", epsilon))
    said = " ".join(run(capsys, "show", "c.toml")[1].split())
    caution = json.loads(run(capsys, "show", "c.toml", "--json")[1])["questions"][0]["caution"]
    if sure is None:
        assert caution is None
        assert "caution" not in said
    else:
        assert sure in caution
        assert f"caution {caution}" in said
