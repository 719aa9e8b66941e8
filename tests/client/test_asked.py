"""A device that is asked one of many: drawn once, kept, and the same for every answer."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import chisquare

from rumor.client.asking import day_number, ranked
from rumor.client.ledger import Ledger
from rumor.client.respondent import Respondent
from rumor.contract.asking import Ask
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from tests.contract.test_asking import LABELS

STARTS = datetime.date(2026, 1, 1)
IDS = [f"q{i}" for i in range(5)]


def collection(ask: Ask | None, ids: list[str] = IDS) -> Collection:
    questions = [
        {**LABELS, "id": id, "epsilon": 1.0 + i / 2, "reports_per_person": 1}
        for i, id in enumerate(ids)
    ]
    wish = {"name": "Many", "series": "many", "contact": "x", "questions": questions}
    return replace(Collection.resolve(wish), ask=ask)


def revised(before: Collection, after: Collection) -> Collection:
    return replace(after, revision=before.revision + 1, previous=before.digest)


def on(day: datetime.date, folder: Path) -> Respondent:
    return Respondent(folder, today=lambda: day)


def test_only_what_was_drawn_is_asked_and_paid(tmp_path: Path) -> None:
    contract = collection(Ask(1))
    with Respondent(tmp_path) as device:
        asked = device.asked(contract)
        (drawn,) = asked.questions
        others = [id for id in IDS if id != drawn]
        for id in others:
            with pytest.raises(
                InputError, match=f"asked '{drawn}' alone, drawn .* 5 questions; '{id}'"
            ):
                device.prepare(contract, {id: "a"})
            with pytest.raises(InputError, match="was not drawn, and nothing is sent about it"):
                device.prepare(contract, {drawn: "a", id: "a"})
        assert device.spent == 0
        assert device.pending() == []
        device.prepare(contract, {drawn: "b"})
        assert device.spent == contract.question(drawn).epsilon
        assert [one.question for one in device.spending()] == [drawn]
        assert asked.in_words() == (
            "You are asked 1 of 5 questions, drawn at random on this device; nothing is sent "
            "about the others."
        )
        with pytest.raises(InputError, match="takes at most 1 report"):
            device.prepare(contract, {drawn: "b"})
        with pytest.raises(InputError, match=r"a question must be named as one of .*another name"):
            device.prepare(contract, {"secret answer": "b"})


def test_nothing_draws_again(tmp_path: Path) -> None:
    contract = collection(Ask(2))
    with Respondent(tmp_path) as device:
        first = device.asked(contract)
        assert len(first.questions) == 2
        for _ in range(20):  # refusing to answer, and answering wrongly
            with pytest.raises(InputError):
                device.prepare(contract, {first.questions[0]: "no label"})
            assert device.asked(contract) == first
        device.reset()  # a new secret is no new draw
        assert device.asked(contract) == first
    (tmp_path / "secret").unlink()
    with Respondent(tmp_path) as device:
        assert device.asked(contract) == first


def test_without_a_ledger_the_secret_draws_the_same(tmp_path: Path) -> None:
    contract = collection(Ask(2, 30, STARTS))
    with on(STARTS, tmp_path) as device:
        first = device.asked(contract)
    for file in tmp_path.glob("ledger*"):
        file.unlink()
    with on(STARTS + datetime.timedelta(days=3), tmp_path) as device:
        assert device.asked(contract) == first


def test_a_revision_keeps_what_was_drawn_and_fills_up(tmp_path: Path) -> None:
    contract = collection(Ask(2))
    with Respondent(tmp_path) as device:
        first = device.asked(contract).questions
        more = [f"new{i}" for i in range(40)]
        grown = device.asked(collection(Ask(2), [*more, *IDS])).questions
        assert grown == first
        larger = device.asked(collection(Ask(3), [*more, *IDS])).questions
        assert set(first) < set(larger)
        left = device.asked(collection(Ask(2), [id for id in IDS if id != first[0]])).questions
        assert first[1] in left
        assert len(left) == 2
        # What it comes back to is what was drawn first.
        assert device.asked(contract).questions == first
        assert device.asked(collection(None)).questions == tuple(IDS)


def test_a_revision_that_draws_others_cannot_pass_what_was_agreed(tmp_path: Path) -> None:
    contract = collection(Ask(1))
    with Respondent(tmp_path) as device:
        (drawn,) = device.asked(contract).questions
        device.prepare(contract, {drawn: "a"})
        last, refused = contract, 0
        for id in [id for id in IDS if id != drawn]:
            last = revised(last, collection(None, [id]))
            assert device.asked(last).questions == (id,)
            try:
                device.prepare(last, {id: "a"})
            except InputError as problem:
                refused += "as was agreed at its first answer" in str(problem)
        # Each costs 1 here; the first contract stated 3, its dearest question, as the most.
        assert device.spent <= 3 * (1 + 1e-9)
        assert refused >= 2


@pytest.mark.parametrize("starts", [STARTS, None])
def test_one_day_of_many(tmp_path: Path, starts: datetime.date | None) -> None:
    contract = collection(Ask(None, 30, starts))
    met = STARTS + datetime.timedelta(days=2)
    with on(met, tmp_path) as device:
        asked = device.asked(contract)
    assert asked.questions == tuple(IDS)
    assert asked.day is not None
    assert 0 <= (asked.day - (starts or met)).days < 30
    assert asked.in_words() == (
        f"You answer on one of 30 days, drawn at random on this device: {asked.day}."
    )
    answers = dict.fromkeys(IDS, "a")
    for apart, end in ((-1, "has not come"), (1, "is over")):
        day = asked.day + datetime.timedelta(days=apart)
        with on(day, tmp_path) as device:
            assert device.asked(contract) == asked
            with pytest.raises(
                InputError,
                match=f"on {asked.day}, drawn at random from 30 days; today is {day} .*{end}",
            ):
                device.prepare(contract, answers)
            assert device.spent == 0
    with on(asked.day, tmp_path) as device:
        assert len(device.prepare(contract, answers)) == 5
        assert device.spent == pytest.approx(sum(q.epsilon for q in contract.questions), rel=1e-12)


def test_other_days_are_drawn_for_other_spans_alone(tmp_path: Path) -> None:
    with on(STARTS, tmp_path) as device:
        days = [device.asked(collection(Ask(k, 1000, STARTS))).day for k in (1, 2)]
        assert days[0] == days[1]
        moved = device.asked(collection(Ask(1, 1000, STARTS + datetime.timedelta(days=7)))).day
        assert moved is not None
        assert days[0] is not None
        assert (moved - days[0]).days == 7


def secret(number: int) -> bytes:
    return number.to_bytes(32, "little")


def test_the_draw_is_uniform_without_replacement() -> None:
    # 4,000 secrets; levels of 1e-6 each, so a right draw fails once in 300,000 changes of the keys.
    people = range(4000)
    pairs = Counter(frozenset(ranked(secret(i), "many", IDS)[:2]) for i in people)
    assert len(pairs) == 10
    assert chisquare(list(pairs.values())).pvalue > 1e-6
    days = Counter(day_number(secret(i), "many", 30) for i in people)
    assert set(days) == set(range(30))
    assert chisquare(list(days.values())).pvalue > 1e-6
    # The day says nothing about the question, nor one series about another.
    both = Counter(
        (ranked(secret(i), "many", IDS)[0], day_number(secret(i), "many", 4)) for i in people
    )
    assert chisquare(list(both.values())).pvalue > 1e-6
    apart = Counter(
        (ranked(secret(i), "many", IDS)[0], ranked(secret(i), "other", IDS)[0]) for i in people
    )
    assert len(apart) == 25
    assert chisquare(list(apart.values())).pvalue > 1e-6


def test_the_order_of_the_questions_draws_nothing() -> None:
    for i in range(50):
        assert ranked(secret(i), "many", IDS) == ranked(secret(i), "many", IDS[::-1])


def test_an_older_ledger_learns_to_draw(tmp_path: Path) -> None:
    with Respondent(tmp_path) as device:
        device._ledger._database.executescript(
            "DROP TABLE drawn; DROP TABLE drawn_day; PRAGMA user_version = 3"
        )
    contract = collection(Ask(1, 30, STARTS))
    with Respondent(tmp_path) as device:
        assert len(device.asked(contract).questions) == 1
    ledger = Ledger(tmp_path / "ledger.sqlite3")
    assert ledger._database.execute("SELECT COUNT(*) FROM drawn").fetchone() == (1,)
    ledger.close()
