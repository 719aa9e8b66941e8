"""The example of a collection that asks each person one of its questions, by every command."""

from __future__ import annotations

import json

import pytest

from rumor.cli import main
from rumor.contract.collection import Collection

Outputs = pytest.CaptureFixture[str]
EXAMPLE = "examples/one-of-five.toml"


def test_it_passes_its_audit(capsys: Outputs) -> None:
    assert main(["audit", EXAMPLE, "--samples", "2000", "--seed", "3"]) == 0
    assert capsys.readouterr().out.count(" pass\n") == 10


def test_what_is_shown_is_the_largest_and_not_the_sum(capsys: Outputs) -> None:
    assert main(["show", EXAMPLE, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["ask"] == {"questions": 1}
    assert facts["epsilon_most"] == max(one["epsilon"] for one in facts["questions"])
    assert main(["show", EXAMPLE]) == 0
    said = capsys.readouterr().out
    assert "budget    at most epsilon 1 per respondent (1 of 5 questions)\n" in said
    assert (
        "sampling  each respondent is asked 1 of 5 questions, drawn at random on their device\n"
        in said
    )
    assert said.count("reports   1 per respondent who is assigned the question\n") == 5
    assert main(["account", EXAMPLE, "--json"]) == 0
    account = json.loads(capsys.readouterr().out)
    assert account["together"] == account["most"] == facts["epsilon_most"]
    assert "After the 1 of these 5 that you are asked" in account["closing"][0]


def test_the_plan_command_compares_the_ways(capsys: Outputs) -> None:
    arguments = ["plan", "--domain", "8", "--users", "1e5", "--epsilon", "1", "--questions", "5"]
    assert main([*arguments, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["recommended"] == "one at random"
    assert [way["name"] for way in plan["ways"]][:2] == ["one at random", "all of them"]
    assert plan["each"]["people"] == 20_000
    assert len(Collection.load(EXAMPLE).questions) == 5
