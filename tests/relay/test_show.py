"""What `rumor show` and `rumor account` say of a contract with a relay."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rumor.cli import main
from rumor.privacy.shuffle.account import ShuffleRow, relay_account, shuffle_sentence
from rumor.privacy.shuffle.crowd import crowd_epsilon
from tests.relay.tools import relayed

ONCE = {
    "id": "colour",
    "kind": "choice",
    "labels": ["red", "green"],
    "epsilon": 1.0,
    "mechanism": "randomized-response",
}


def shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], **more: object) -> list[str]:
    """What `rumor show` says of the relay of a contract, in JSON; the plain text says it too."""
    relayed(**more).save(tmp_path / "contract.json")  # type: ignore[arg-type]
    assert main(["show", str(tmp_path / "contract.json"), "--json"]) == 0
    said: list[str] = json.loads(capsys.readouterr().out)["crowd"]
    assert main(["show", str(tmp_path / "contract.json")]) == 0
    plain = " ".join(capsys.readouterr().out.split())
    assert all(sentence in plain for sentence in said)
    return said


def test_batches_are_the_smallest_that_a_relay_passes_on() -> None:
    small = relayed(crowd=1000, questions=[ONCE])
    large = relayed(crowd=5000, series="other", questions=[ONCE])
    account = relay_account([large, small])
    assert account is not None
    assert (account.people, account.delta) == (1000, 1e-8)
    mechanism = small.question("colour").mechanism
    assert account.rows[0].epsilon == crowd_epsilon(mechanism, 1000, 1e-8)


def test_show_says_it_with_its_conditions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = shown(tmp_path, capsys, crowd=10_000, questions=[ONCE])
    mechanism = relayed(questions=[ONCE]).question("colour").mechanism
    row = ShuffleRow("colour", 1.0, 1, 1, crowd_epsilon(mechanism, 10_000, 1e-8))
    assert said[1] == shuffle_sentence(row, 10_000, 1e-8)


def test_show_never_says_less_than_several_reports_in_a_batch_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exact values of two-valued response: .337 for two reports, .881 for five, 6.01 for thirty."""
    for reports, exact in ((2, 0.337), (5, 0.881), (30, 6.01)):
        question = {**ONCE, "reports_per_person": reports}
        said = shown(tmp_path, capsys, crowd=1000, questions=[question])
        (found,) = re.findall(r"by at most epsilon ([0-9.]+), except", said[1])
        assert exact <= float(found) <= 1.2 * exact
        assert f"at most {reports} of them yours" in said[1]


def test_show_states_the_total_over_all_turns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fifty-two batches together cost .447, not fifty-two times .0565."""
    question = {**ONCE, "reports_per_person": 52}
    said = shown(tmp_path, capsys, crowd=10_000, turn_hours=168, questions=[question])
    (found,) = re.findall(r"in 52 batches together .* by at most epsilon ([0-9.]+), ex", said[1])
    assert 0.38 < float(found) <= 0.447


def test_show_says_why_nothing_is_promised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"id": "home", "kind": "text", "f": 0.5, "p": 0.25, "q": 0.75, "reports_per_person": 9}
    (said,) = shown(tmp_path, capsys, crowd=10_000, questions=[words])
    assert said.startswith("Shuffling promises nothing for 'home': its answers are permanent")


def test_account_takes_the_contracts_crowd(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    relayed(crowd=1000, questions=[ONCE]).save(tmp_path / "contract.json")
    assert main(["account", str(tmp_path / "contract.json"), "--relay", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["relay"]
    assert (found["crowd"], found["delta"]) == (1000, 1e-8)
    given = ["--crowd", "50", "--delta", "1e-6"]
    assert main(["account", str(tmp_path / "contract.json"), "--relay", "--json", *given]) == 0
    assert json.loads(capsys.readouterr().out)["relay"]["crowd"] == 50
