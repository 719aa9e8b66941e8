"""What people are told that a crowd adds, by commands and by the one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rumor
from rumor.contract.collection import Collection
from rumor.mechanisms import SubsetSelection
from rumor.mechanisms.rappor.rappor import Rappor
from rumor.privacy.promise import collection_promise
from rumor.privacy.shuffle.account import (
    ShuffleRow,
    format_up,
    local_sentence,
    shuffle_account,
    shuffle_choices,
    shuffle_sentence,
)
from rumor.privacy.shuffle.crowd import crowd_epsilon
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


def test_the_sentence_has_its_conditions() -> None:
    row = ShuffleRow("q", 2.0, reports=1, batches=1, epsilon=0.37)
    assert local_sentence(2.0) == (
        "Whoever sees a report and knows that it is yours learns at most epsilon 2 from it, "
        "whatever anybody does."
    )
    assert shuffle_sentence(row, 1000, 1e-9) == (
        "If relay and collector do not work together and each batch holds "
        "at least 1,000 honest reports, at most 1 of them yours, then your answer can be told from "
        "any other by at most epsilon 0.37, except with probability 1e-09. It does not hide that "
        "you took part."
    )
    turns = shuffle_sentence(ShuffleRow("q", 2.0, 1, 52, 1.37), 1000, 1e-9)
    assert "then all your answers in 52 batches together can be told from any others by" in turns
    for most in (2, 5):
        several = shuffle_sentence(ShuffleRow("q", 2.0, most, 1, 1.37), 1000, 1e-9)
        assert f"at most {most} of them yours, then all your answers, in one batch or" in several


def test_bounds_are_shown_from_above() -> None:
    assert [format_up(x) for x in (0.34891, 0.34901, 2.0, 0.011720001)] == [
        "0.349",
        "0.3491",
        "2",
        "0.01173",
    ]
    for x in (0.1, 1 / 3, 0.0123456789, 3.99999):
        assert x <= float(format_up(x)) <= x * 1.001


def test_each_question_has_its_own_batch() -> None:
    found = shuffle_account([collection()], people=5000, delta=1e-8)
    once, daily = found.rows
    for row, question in zip(found.rows, collection().questions, strict=True):
        assert row.alone == question.epsilon
        assert row.epsilon == crowd_epsilon(question.mechanism, 5000, 1e-8)
    assert once.epsilon is not None
    assert daily.epsilon is not None
    assert found.together is not None
    # Losses of two batches add up to less than the sum of their epsilons at one delta.
    assert once.epsilon < found.together < once.epsilon + daily.epsilon
    assert any("to all questions that you are asked" in each for each in found.sentences())
    assert found.to_dict()["together_delta"] == 1e-8
    asked = shuffle_account([collection(more="ask = {questions = 1}")], people=5000, delta=1e-8)
    assert asked.together is not None
    # Whichever is asked: the worst question alone, on a grid that costs a little.
    assert once.epsilon <= asked.together <= once.epsilon * 1.01


def test_permanent_answers_are_promised_nothing_when_asked_again() -> None:
    once = shuffle_account([collection(PERMANENT, 1)], people=5000, delta=1e-8)
    assert once.rows[1].epsilon is not None
    again = shuffle_account([collection(PERMANENT, 2)], people=5000, delta=1e-8)
    assert again.rows[1].epsilon is None
    assert again.together is None
    assert again.sentences()[0] == (
        "Shuffling promises nothing for 'daily': its answers are permanent and asked 2 times, so "
        "that reports of one person can be known again in every batch."
    )
    assert "no promise" in again.table()
    # Fresh noise adds up: nine reports in a batch cost more than one, and less than nine.
    fresh = shuffle_account([collection("epsilon = 1.0", 9)], people=5000, delta=1e-8)
    single = shuffle_account([collection("epsilon = 1.0", 1)], people=5000, delta=1e-8)
    one, nine = single.rows[1].epsilon, fresh.rows[1].epsilon
    assert one is not None
    assert nine is not None
    assert 9 * one < nine < 9.0


def test_a_small_crowd_adds_nothing_to_one_report() -> None:
    """What can be certified is then what the report costs by itself."""
    for people in (2, 10):
        row = shuffle_account([collection("epsilon = 1.0", 1)], people=people, delta=1e-9).rows[1]
        assert row.epsilon is None
        assert row.refused is not None
        assert row.refused.startswith(f"Shuffling among {people} reports adds nothing useful")
        assert "no epsilon below 1 can be certified" in row.refused


def test_reports_that_may_be_joined_are_promised_nothing() -> None:
    joined = collection(
        'epsilon = 3.0\nmechanism = "randomized-response"', more='linked = ["once", "daily"]'
    )
    found = shuffle_account([joined], people=100, delta=1e-6)
    assert [row.epsilon for row in found.rows] == [None, None]
    assert "may be joined" in found.sentences()[0]


def test_ledgers_know_nothing_of_crowds() -> None:
    one = collection()
    found = shuffle_account([one], people=5000, delta=1e-8)
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
    told = shuffle_account([Collection.load(path)], people=10**4, delta=1e-8)
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
    assert f"by at most epsilon {format_up(own['epsilon'])}," in " ".join(out.split())


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


def test_mechanisms_are_compared_by_the_batches_that_hide_them() -> None:
    once, daily = (question.mechanism for question in collection(PERMANENT, 1).questions)
    choices = [("unary", once), ("kept", daily)]
    found = shuffle_choices(choices, 1, people=5000, delta=1e-8, about="one report")
    assert [row.epsilon for row in found.rows] == [
        crowd_epsilon(one, 5000, 1e-8) for one in (once, daily)
    ]
    told = found.to_dict()
    assert (told["crowd"], told["delta"], found.of, found.about) == (
        5000,
        1e-8,
        "mechanism",
        "one report",
    )
    # Reports of one person fill a whole batch.
    (crowded,) = shuffle_choices(choices[:1], 7, people=7, delta=1e-8, about="").rows
    assert crowded.epsilon is None
    assert crowded.refused == (
        "Shuffling promises nothing for 'unary': one person may send 7 reports, and a batch may "
        "hold no more than 7. A relay with turn_hours keeps reports of one person in batches of "
        "their own."
    )
    again = shuffle_choices(choices, 2, people=5000, delta=1e-8, about="").rows[1]
    assert (again.refused or "").startswith(
        "Shuffling promises nothing for 'kept': its answers are permanent"
    )
    for people, delta in ((1, 0.1), (9, 0.0)):
        with pytest.raises(rumor.InputError):
            shuffle_choices(choices, 1, people=people, delta=delta, about="")
