"""Options of methods on the command line: every one of every kind, with Python's own checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rumor
from rumor.cli import main
from rumor.cli.methods import read_options
from rumor.core.errors import InputError
from rumor.kinds import KINDS, NAMES
from rumor.privacy.rounds import require_rounds
from tests.flow import home_pages, made_reports, write_days, write_toml

OPTIONS = [
    (name, method, option)
    for name in NAMES
    for method, options in KINDS[name].options().items()
    for option in options
    if option not in ("candidates", "on_progress")
]


@pytest.mark.parametrize(("name", "method", "option"), OPTIONS)
def test_every_option_refuses_what_it_cannot_be(name: str, method: str, option: str) -> None:
    """Whatever a person types reaches the check that Python has: one sentence."""
    kind = KINDS[name]
    question = {"id": "q", "kind": name, "text": "?", **kind.example().spec}
    wish = {"name": "L", "series": "l", "contact": "a@b.example", "questions": [question]}
    mechanism = rumor.Collection.resolve(wish).question("q").mechanism
    person = kind.parse_answer(mechanism, kind.example().typed_answers[0])
    reports = [mechanism.report(person, random=rumor.Seeded(i)) for i in range(30)]
    words = {"candidates": list(kind.example().words or ())} if name == "text" else {}
    said = "population" if option == "target" else option
    with pytest.raises(InputError, match=f"^[^\n]*{said}[^\n]*; got "):
        kind.estimate(mechanism, reports, method, {**words, **read_options([f"{option}=?"])})


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("a=1", 1),
        ("a=1e-4", 1e-4),
        ("a=inf", float("inf")),
        ("a=true", True),
        ("a=[0.5, 0.5]", [0.5, 0.5]),
        ("a=sum", "sum"),
        ("a==", "="),
    ],
)
def test_values_are_read_as_they_are_meant(given: str, meant: object) -> None:
    assert read_options([given]) == {"a": meant}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["eta"], "--option must be NAME=VALUE; got 'eta'"),
        (["=1"], "--option must be NAME=VALUE; got '=1'"),
        (["a=1", "a=2"], "--option a must be given once; got it twice"),
        (["candidates=x"], "candidates is given by --candidates; got --option 'candidates=x'"),
        (["on_progress=x"], "on_progress is given in Python alone"),
    ],
)
def test_what_is_no_option_gets_one_sentence(given: list[str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_options(given)


def test_a_command_estimates_with_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    collection, file = home_pages(), write_toml(tmp_path)
    question = collection.question("homepage")
    reports = made_reports(question, 500)
    path = str(tmp_path / "reports.parquet")
    write_days(Path(path), collection, question, {"2026-01-01": reports})
    options: dict[str, Any] = {"eta": 0.5, "norm": "sum", "max_iterations": 10_000}
    expected = rumor.estimate(question.mechanism, reports, method="em", **options)
    typed = [word for name, value in options.items() for word in ("--option", f"{name}={value}")]
    arguments = [file, path, "-q", "homepage", "-m", "em", *typed]
    assert main(["estimate", *arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = [row["frequency"] for row in told["estimates"]]
    assert found == pytest.approx(expected.frequency.tolist())
    assert told["diagnostics"]["iterations"] == expected.diagnostics["iterations"]
    assert main(["estimate", *arguments, "--option", "eta=0"]) == 2
    assert "--option eta must be given once" in capsys.readouterr().err
    assert main(["estimate", file, path, "-q", "homepage", "--option", "etta=1"]) == 2
    assert "has the keys target; got 'etta'" in capsys.readouterr().err
    table = tmp_path / "h.csv"
    table.write_text("homepage,count\nblank,50\nnews,20\n")
    tried = ["simulate", file, str(table), "-q", "homepage", "--seed", "1", "-m", "em", *typed]
    assert main(tried) == 0
    assert "method em" in capsys.readouterr().out


def test_rounds_go_on_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
name = "Rounds"
series = "rounds"
contact = "privacy@example.org"
[[questions]]
id = "apps"
kind = "keyvalue"
keys = ["a", "b"]
epsilon = 2.0
mechanism = { name = "privkvm", rounds = 2, epsilon_1 = 0.5, epsilon_2 = [0.5, 1.0] }
"""
    first, answers = write_toml(tmp_path, text), tmp_path / "answers.csv"
    answers.write_text("a,b\n" + "0.5,\n,-0.25\n" * 200)
    files = [first, str(tmp_path / "second.json"), str(tmp_path / "third.json")]
    for number in (0, 1):
        made = str(tmp_path / f"{number}.parquet")
        assert main(["privatize", files[number], str(answers), "-o", made, "--seed", "1"]) == 0
        last = main(["advance", files[number], made, "-o", files[number + 1]])
        said = capsys.readouterr()
        assert last == (0 if number == 0 else 2)
    assert "ends with round 2; got a request for round 3" in said.err
    before, after = (rumor.Collection.load(file).question("apps").mechanism for file in files[:2])
    assert (after.round, require_rounds(after).parent) == (2, rumor.Collection.load(first).digest)
    # Half of the budget for values is spent in each round, as asked; all are promised by the first.
    assert before.epsilon_all_rounds(1) <= 2.0
    assert after.epsilon == pytest.approx(1.0)
    assert before.epsilon_all_rounds(1) == pytest.approx(before.epsilon + 1.0)
    assert main(["advance", write_toml(tmp_path, name="c.toml"), made, "-o", files[2]]) == 2
