"""What a person is told that they spend: the same numbers wherever they are said."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import rumor
from rumor.collector.overview import overview
from rumor.collector.store.base import open_store
from rumor.contract.collection import Collection
from rumor.privacy.promise import collection_promise, question_promise
from rumor.privacy.statement.statement import statement
from tests.cli.test_keyvalue import run

ROUNDS = """
name = "Apps"
series = "apps"
contact = "nobody@example.org"
[[questions]]
id = "apps"
kind = "keyvalue"
keys = ["maps", "mail"]
low = 0
high = 5
epsilon = 3.5
mechanism = { name = "privkvm", rounds = 3 }
"""


@pytest.fixture
def rounds(tmp_path: Path) -> Path:
    path = tmp_path / "rounds.toml"
    path.write_text(ROUNDS)
    return path


def test_all_rounds_are_said_together_everywhere(
    rounds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*arguments: object) -> str:
        status, out, err = run(capsys, *arguments)
        assert (status, err) == (0, "")
        return out

    collection = Collection.load(rounds)
    question = collection.question()
    mechanism = question.mechanism
    promise = question_promise(question)
    assert promise.one == mechanism.epsilon < promise.unchanged == promise.most
    total = f"{promise.unchanged:.4g}"
    assert "once in each of 3 rounds" in promise.in_words()
    assert f"(epsilon {total})" in promise.in_words()
    shows = said("show", rounds)
    assert "reports   1 in each of 3 rounds per respondent" in shows
    assert f"epsilon {promise.unchanged:.6g}" in shows
    assert f"budget    at most epsilon {promise.most:.6g} per respondent" in shows
    (facts,) = json.loads(said("show", rounds, "--json"))["questions"]
    assert facts["epsilon_total"] == facts["epsilon_most"] == promise.unchanged
    table = tmp_path / "people.csv"
    table.write_text("key,frequency,mean\nmaps,0.5,1\nmail,0.9,4\n")
    simulated = said("simulate", rounds, table, "--people", "500", "--seed", "1")
    assert f"(epsilon {total})" in " ".join(simulated.split())
    account = json.loads(said("account", rounds, "--json"))
    assert account["most"] == promise.most
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    try:
        entry = store.register(collection)
        (shown,) = overview(store, entry, [entry])["questions"]
    finally:
        store.close()
    assert (shown["asked"], shown["epsilon_total"]) == (
        promise.repetition_in_words(),
        promise.unchanged,
    )
    assert shown["privacy"] == promise.in_words()


def test_every_round_is_asked_as_often() -> None:
    question = Collection.from_toml(ROUNDS + "reports_per_person = 2\n").question()
    promise = question_promise(question)
    once = question.mechanism.epsilon_all_rounds(1)
    assert promise.unchanged == pytest.approx(2 * once, rel=1e-12)
    assert promise.repetition_in_words() == "at most 2 times in each of 3 rounds"


def test_the_device_spends_what_was_said(rounds: Path, tmp_path: Path) -> None:
    one = Collection.load(rounds)
    first = one.question().mechanism
    assert isinstance(first, rumor.PrivKVM)
    found = rumor.estimate(first, first.privatize([{"maps": 1.0}] * 9, random=rumor.Seeded(1)))
    contracts = [one]
    for _ in range(2):
        contracts.append(rumor.next_round(contracts[-1], found))
    with rumor.Respondent(tmp_path / "device") as device:
        for contract in contracts:
            device.prepare(contract, {"apps": {"maps": 1.0}})
        promise = collection_promise(one)
        assert device.spent <= promise.most <= promise.ceiling
        assert device.spent == pytest.approx(promise.most, rel=1e-12)
    # A later round's contract still says what all of them may cost.
    assert collection_promise(contracts[2]).ceiling == promise.ceiling


def test_a_collection_says_what_everything_costs_and_its_device_holds_it_to_that() -> None:
    base = Collection.load("examples/words.toml")
    promise = collection_promise(base)
    each = [Fraction(one.most) for one in promise.questions]
    assert Fraction(promise.most) >= sum(each)
    assert promise.most == pytest.approx(float(sum(each)), rel=1e-12)
    assert promise.most < promise.ceiling < promise.most * (1 + 1e-11)


MEMBERS = """
name = "Members"
series = "members"
contact = "nobody"
admission = "invited"
series_epsilon = 7.5
linked = ["one", "two"]
[[questions]]
id = "one"
kind = "choice"
labels = ["x", "y"]
epsilon = 1
mechanism = "randomized-response"
[[questions]]
id = "two"
kind = "choice"
labels = ["x", "y"]
epsilon = 2
mechanism = "randomized-response"
"""


def test_the_statement_says_who_can_tell_whose_a_report_is() -> None:
    sections = {one.heading: one for one in statement(Collection.from_toml(MEMBERS)).sections}
    learned = sections["What anybody can learn about one person"].paragraphs
    assert learned[2:] == (
        "The reports of one respondent on 'one' and 'two' can be linked. Together they cost at "
        "most epsilon 3, which the budget includes.",
        "No revision of the survey may cost a person more than epsilon 7.5 without their consent.",
    )
    invitations = (
        "Invitations: whoever knows which one was sent to whom, and runs the collector, can tell "
        "whose report arrives."
    )
    said = statement(Collection.from_toml(MEMBERS)).to_text()
    assert invitations in " ".join(said.split())
    opened = MEMBERS.replace('admission = "invited"', "").replace("series_epsilon = 7.5", "")
    plain = " ".join(statement(Collection.from_toml(opened)).to_text().split())
    assert invitations not in plain
    assert "No revision of the survey may cost" not in plain
