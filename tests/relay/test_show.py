"""What a contract with a relay is said to promise: the accountant's number for its own crowd."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rumor.cli import main
from rumor.privacy.shuffle.crowd import crowd_epsilon
from rumor.privacy.shuffle.told import crowd_sentence, relay_account
from tests.relay.tools import relayed


def test_the_crowd_is_the_smallest_that_a_relay_waits_for() -> None:
    small, large = relayed(crowd=1000), relayed(crowd=5000, series="other")
    account = relay_account([large, small])
    assert account is not None
    assert (account.people, account.delta) == (1000, 1e-8)
    mechanism = small.question("colour").mechanism
    assert account.rows[0].epsilon == crowd_epsilon(mechanism, 1000, 1e-8)


def test_show_says_it_with_its_conditions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = relayed(crowd=10_000)
    contract.save(tmp_path / "contract.json")
    assert main(["show", str(tmp_path / "contract.json"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["crowd"]
    dearest = max(crowd_epsilon(each.mechanism, 10_000, 1e-8) for each in contract.questions)
    assert said[0] == crowd_sentence(1.0, dearest, 1e-8, 10_000)
    assert main(["show", str(tmp_path / "contract.json")]) == 0
    plain = " ".join(capsys.readouterr().out.split())
    assert all(sentence in plain for sentence in said)


def test_show_says_why_nothing_is_promised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"id": "home", "kind": "text", "f": 0.5, "p": 0.25, "q": 0.75, "reports_per_person": 9}
    relayed(crowd=10_000, questions=[words]).save(tmp_path / "contract.json")
    assert main(["show", str(tmp_path / "contract.json"), "--json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)["crowd"]
    assert said.startswith("A crowd promises nothing for 'home': its answers are permanent")


def test_account_takes_the_contracts_crowd(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = relayed(crowd=1000)
    contract.save(tmp_path / "contract.json")
    assert main(["account", str(tmp_path / "contract.json"), "--relay", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["relay"]
    assert (found["crowd"], found["delta"]) == (1000, 1e-8)
    given = ["--crowd", "50", "--delta", "1e-6"]
    assert main(["account", str(tmp_path / "contract.json"), "--relay", "--json", *given]) == 0
    assert json.loads(capsys.readouterr().out)["relay"]["crowd"] == 50
