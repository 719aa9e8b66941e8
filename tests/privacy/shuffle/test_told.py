"""What people are told that a crowd adds, by commands and by the one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rumor.contract.collection import Collection
from rumor.mechanisms import SubsetSelection
from rumor.mechanisms.rappor import Rappor
from rumor.privacy.promise import collection_promise
from rumor.privacy.shuffle.crowd import crowd_epsilon
from rumor.privacy.shuffle.told import crowd_account, crowd_sentence, shown_above
from tests.cli.test_keyvalue import run

TOML = """
name = "Paths"
series = "paths"
contact = "nobody"
{more}
[[questions]]
id = "once"
kind = "choice"
domain = 4
epsilon = 2.0
[[questions]]
id = "daily"
kind = "choice"
domain = 4
{mechanism}
reports_per_person = {reports}
"""
PERMANENT = 'mechanism = { name = "basic-rappor", f = 0.5, p = 0.5, q = 0.75 }'


def collection(mechanism: str = "epsilon = 1.0", reports: int = 1, more: str = "") -> Collection:
    return Collection.from_toml(TOML.format(mechanism=mechanism, reports=reports, more=more))


def test_the_sentence_has_its_three_conditions() -> None:
    told = crowd_sentence(2.0, 0.37, 1e-9, 1000)
    assert told == (
        "Whoever sees your report and knows that it is yours learns at most epsilon 2, whatever "
        "anybody does. If the relay and the collector do not work together, if at least 999 other "
        "people have a report in the same batch, and if that many of them follow the protocol, "
        "then your answer and any other can be told apart by at most epsilon 0.37, except with "
        "probability 1e-09. Every further batch that you are in adds another such epsilon and "
        "probability. It does not hide that you took part."
    )
    named = crowd_sentence(1.0, 0.9, 1e-6, 2, relay="R", collector="C")
    assert "If R and C do not work together, if at least 1 other person has" in named
    assert "and if that person follows the protocol" in named


def test_bounds_are_shown_from_above() -> None:
    assert [shown_above(x) for x in (0.34891, 0.34901, 2.0, 0.011720001)] == [
        "0.349",
        "0.3491",
        "2",
        "0.01173",
    ]
    for x in (0.1, 1 / 3, 0.0123456789, 3.99999):
        assert x <= float(shown_above(x)) <= x * 1.001


def test_each_question_has_its_own_batch() -> None:
    found = crowd_account([collection()], people=5000, delta=1e-8)
    once, daily = found.rows
    for row, question in zip(found.rows, collection().questions, strict=True):
        assert row.alone == question.epsilon
        assert row.epsilon == crowd_epsilon(question.mechanism, 5000, 1e-8)
    assert once.epsilon is not None
    assert daily.epsilon is not None
    assert found.together is not None
    assert found.together[0] == pytest.approx(once.epsilon + daily.epsilon)
    assert found.together[1] == pytest.approx(2e-8)
    assert any("2e-08" in sentence for sentence in found.sentences())
    asked = crowd_account([collection(more="ask = {questions = 1}")], people=5000, delta=1e-8)
    assert asked.together == (max(once.epsilon, daily.epsilon), 1e-8)


def test_permanent_answers_are_promised_nothing_when_asked_again() -> None:
    once = crowd_account([collection(PERMANENT, 1)], people=5000, delta=1e-8)
    assert once.rows[1].epsilon is not None
    again = crowd_account([collection(PERMANENT, 2)], people=5000, delta=1e-8)
    assert again.rows[1].epsilon is None
    assert again.together is None
    assert again.sentences()[0] == (
        "A crowd promises nothing for 'daily': its answers are permanent and asked 2 times, so "
        "that reports of one person can be known again in every batch."
    )
    assert "no promise" in again.table()
    # Fresh noise says as much each time, in a batch each time.
    fresh = crowd_account([collection("epsilon = 1.0", 9)], people=5000, delta=1e-8)
    assert fresh.rows[1].epsilon is not None


def test_reports_that_may_be_joined_are_promised_nothing() -> None:
    joined = collection(
        'epsilon = 3.0\nmechanism = "randomized-response"', more='linked = ["once", "daily"]'
    )
    found = crowd_account([joined], people=100, delta=1e-6)
    assert [row.epsilon for row in found.rows] == [None, None]
    assert "may be joined" in found.sentences()[0]


def test_ledgers_know_nothing_of_crowds() -> None:
    one = collection()
    found = crowd_account([one], people=5000, delta=1e-8)
    assert collection_promise(one).most == pytest.approx(3.0)
    assert any("its ledger" in sentence for sentence in found.sentences())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "paths.toml"
    file.write_text(TOML.format(mechanism=PERMANENT, reports=30, more=""))
    return file


def test_the_account_says_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "account", path, "--relay", "--crowd", "1e4", "--delta", "1e-8")
    assert (status, err) == (0, "")
    told = crowd_account([Collection.load(path)], people=10**4, delta=1e-8)
    assert out.endswith(told.table() + "\n")
    status, out, _ = run(
        capsys, "account", path, "--relay", "--crowd", "10000", "--delta", "1e-8", "--json"
    )
    assert json.loads(out)["relay"] == told.to_dict()
    status, out, _ = run(capsys, "account", path, "--json")
    assert "relay" not in json.loads(out)


@pytest.mark.slow
def test_a_plan_says_it_of_every_mechanism(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("plan", "--domain", "20", "--users", "1e5", "--epsilon", "2")
    crowd = ("--crowd", "1e4", "--delta", "1e-8")
    status, out, err = run(capsys, *asked, *crowd)
    assert (status, err) == (0, "")
    status, data, _ = run(capsys, *asked, *crowd, "--json")
    relay = json.loads(data)["relay"]
    assert [row["name"] for row in relay["rows"]] == [
        option["mechanism"] for option in json.loads(data)["options"]
    ]
    best = json.loads(data)["recommended"]
    (own,) = [row for row in relay["rows"] if row["name"] == best]
    assert f"by at most epsilon {shown_above(own['epsilon'])}," in " ".join(out.split())


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("--crowd", "9", "--delta", "0.1"), "--relay goes with --crowd and --delta"),
        (("--relay",), "--relay goes with --crowd and --delta"),
        (("--relay", "--crowd", "9"), "--crowd and --delta go together; got no --delta"),
        (("--relay", "--delta", "0.1"), "--crowd and --delta go together; got no --crowd"),
        (
            ("--relay", "--crowd", "9.5", "--delta", "0.1"),
            "number, such as 20000 or 1e5; got '9.5'",
        ),
        (
            ("--relay", "--crowd", "nan", "--delta", "0.1"),
            "number, such as 20000 or 1e5; got 'nan'",
        ),
        (("--relay", "--crowd", "1", "--delta", "0.1"), "from 2 to 1,000,000,000; got 1"),
        (("--relay", "--crowd", "9", "--delta", "0"), "delta must be a number from 1e-100"),
    ],
)
def test_bad_crowds_get_one_sentence(
    path: Path, capsys: pytest.CaptureFixture[str], given: tuple[str, ...], sentence: str
) -> None:
    status, out, err = run(capsys, "account", path, *given)
    assert (status, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_rappor_is_certified_once() -> None:
    assert crowd_epsilon(Rappor.full(key=b"x"), 10**5, 1e-8) < 0.01
    assert crowd_epsilon(SubsetSelection(domain=3, epsilon=1.0), 2, 1e-8) <= 1.0
