"""Very small tables: every command that an analyst gives, on every kind, with 1, 7 and 400 people.

Each answer is valid JSON without nan or infinity and without an interval of no width, its text
says no "nan", and what is refused is refused by one sentence. Warnings are errors in all tests.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rumor.cli import main
from rumor.kinds import KINDS, NAMES
from tests.laws.test_every_kind import Desk, intervals


@pytest.fixture(params=NAMES)
def desk(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Desk:
    return Desk(KINDS[request.param], tmp_path, capsys)


@pytest.mark.slow_cases("*-7", "*-400")
@pytest.mark.parametrize("people", [1, 7, 400])
def test_every_command_answers_or_refuses_by_one_sentence(
    desk: Desk, people: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, *rows = desk.example.table.splitlines()
    desk.answers.write_text("\n".join([head, *(rows * people)[:people]]) + "\n")
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    for seed, path in enumerate((one, two)):
        desk.run("privatize", desk.contract, desk.answers, "-o", path, "--seed", seed)
    apart = [*desk.candidates, "--different-people"]
    answered = 0
    for arguments in (
        ("estimate", desk.contract, one, *desk.candidates),
        *(
            ("estimate", desk.contract, one, *desk.candidates, "--method", method)
            for method in KINDS[_kind(desk)].methods()
        ),
        ("estimate", desk.contract, one, *desk.candidates, "--by", "day"),
        ("compare", desk.contract, one, two, *apart),
        ("combine", desk.contract, one, desk.contract, two),
        ("trend", desk.contract, one, *desk.candidates),
        (
            "simulate",
            desk.contract,
            desk.answers,
            *desk.candidates,
            "--people",
            people,
            "--seed",
            1,
        ),
    ):
        answered += _is_answered(capsys, [str(argument) for argument in arguments])
    assert answered >= 3


def _kind(desk: Desk) -> str:
    return str(json.loads(desk.contract.read_text())["questions"][0]["kind"])


def _is_answered(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> bool:
    """Check one command, in JSON and in text; return whether it answered."""
    capsys.readouterr()
    status = main([*arguments, "--json"])
    told = capsys.readouterr()
    if status:
        assert status == 2, told.err
        assert told.out == ""
        assert told.err.count("\n") == 1, told.err
        return False
    data = json.loads(told.out, parse_constant=_refuse)
    assert not list(_endless(data)), arguments
    for path, (low, high) in intervals(data):
        everybody = path.endswith("/cdf_") and low == 1.0  # exact: nobody is above the last value
        assert low < high or everybody, (arguments, path, low)
    assert main(arguments) == 0
    assert "nan" not in capsys.readouterr().out.split()
    return True


def _refuse(constant: str) -> float:
    raise AssertionError(f"{constant} is no JSON")


def _endless(data: Any) -> Iterator[float]:
    """Every number of plain data that is not finite."""
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, list):
        for each in data:
            yield from _endless(each)
    if isinstance(data, float) and not math.isfinite(data):
        yield data
