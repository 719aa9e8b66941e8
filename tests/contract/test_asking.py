"""What a collection says under `ask`: read, checked, digested only where it is said."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from rumor.contract.asking import Ask
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.privacy.account import account
from rumor.privacy.loss import collection_loss, collections_loss, series_ceiling
from rumor.privacy.promise import collection_promise

LABELS = {"kind": "choice", "labels": ["a", "b", "c"]}
EPSILONS = (0.5, 2.0, 1.0)


def collection(ask: object = None, questions: list[dict[str, Any]] | None = None) -> Collection:
    """Three questions of different prices, unless other ones are given."""
    usual = [{**LABELS, "id": f"q{i}", "epsilon": e} for i, e in enumerate(EPSILONS)]
    wish = {"name": "Many", "series": "many", "contact": "x", "questions": questions or usual}
    return Collection.resolve(wish if ask is None else {**wish, "ask": ask})


TOML = """
name = "Many"
series = "many"
contact = "x"
ask = {questions = 1, days = 30, starts = 2026-01-01}
[[questions]]
id = "a"
kind = "choice"
labels = ["yes", "no"]
epsilon = 1.0
[[questions]]
id = "b"
kind = "choice"
labels = ["yes", "no"]
epsilon = 1.0
"""


def test_it_is_part_of_the_contract_and_of_its_digest_where_it_is_said() -> None:
    asked = Collection.from_toml(TOML)
    assert asked.ask == Ask(1, 30, datetime.date(2026, 1, 1))
    said = {"questions": 1, "days": 30, "starts": "2026-01-01"}
    assert asked.contract()["ask"] == said
    assert Collection.from_json(asked.canonical()) == asked
    without = Collection.from_toml(TOML.replace("ask =", "# ask ="))
    assert "ask" not in without.contract()
    assert without.digest != asked.digest
    # A day may be written as a text as well, and means the same.
    assert Collection.from_toml(TOML.replace("2026-01-01", '"2026-01-01"')) == asked


def test_all_of_the_questions_are_no_unusual_number() -> None:
    assert collection({"questions": 3}) == collection()
    contract = json.loads(collection({"questions": 2}).canonical())
    with pytest.raises(InputError, match="leaves questions of ask out where all are asked; got 3"):
        Collection.from_contract({**contract, "ask": {"questions": 3}})
    with pytest.raises(InputError, match="leaves ask None out"):
        Collection.from_contract({**contract, "ask": None})


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (1, r"ask must be a table such as \{questions = 1, days = 30\}; got 1"),
        ({}, "ask must say how many questions, or days, or both; got"),
        ({"question": 1}, "ask has the keys questions, days, starts; .*did you mean 'questions'"),
        ({"questions": 0}, "questions of ask must be from 1 to the 3 .* has; got 0"),
        ({"questions": 4}, "questions of ask must be from 1 to the 3 .* has; got 4"),
        ({"questions": True}, "questions of ask must be from 1 to the 3 .* has; got True"),
        ({"questions": 1.0}, "questions of ask must be from 1 to the 3 .* has; got 1.0"),
        ({"days": 1}, "days of ask must be an integer from 2 to 36,525; got 1"),
        ({"days": "30"}, "days of ask must be an integer from 2 to 36,525; got '30'"),
        ({"questions": 1, "starts": "2026-01-01"}, "starts of ask goes with days, .* without them"),
        ({"days": 2, "starts": "1 May"}, "starts of ask must be a day written YYYY-MM-DD, .*1 May"),
        ({"days": 2, "starts": "20260101"}, "must be a day written YYYY-MM-DD"),
        ({"days": 2, "starts": "9999-12-31"}, "from 1970-01-01 to 2999-12-31; got '9999-12-31'"),
        (
            {"days": 2, "starts": datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)},
            "must be a day written YYYY-MM-DD",
        ),
    ],
)
def test_every_mistake_gets_one_sentence(ask: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as refusal:
        collection(ask)
    assert "\n" not in str(refusal.value)


ROUNDS = {
    "id": "apps",
    "kind": "keyvalue",
    "keys": ["Maps", "Mail"],
    "epsilon": 2.0,
    "mechanism": {"name": "privkvm", "rounds": 3},
}
AGAIN = {**LABELS, "id": "again", "epsilon": 1.0, "reports_per_person": 7}
MEMO = {"name": "basic-rappor", "f": 0.5, "p": 0.25, "q": 0.75}
PERIOD = {**LABELS, "id": "week", "mechanism": MEMO, "memo": "period", "period_days": 7}
ONCE = {**LABELS, "id": "once", "epsilon": 1.0}


def test_what_is_asked_over_time_is_refused_where_it_cannot_go_along() -> None:
    for ask in ({"questions": 1}, {"days": 9}):
        with pytest.raises(
            InputError, match=r"ask cannot go with a question in rounds.*'apps' in 3"
        ):
            collection(ask, [ROUNDS, ONCE])
    with pytest.raises(
        InputError, match=r"cannot go with reports_per_person above 1.*got 7 of .*ag"
    ):
        collection({"days": 9}, [AGAIN, ONCE])
    with pytest.raises(InputError, match=r'cannot go with memo = "period".*question .week.'):
        collection({"days": 9}, [PERIOD, ONCE])
    # One of many questions may well be asked again.
    assert collection({"questions": 1}, [AGAIN, PERIOD]).ask == Ask(1)
    assert collection({"days": 9}, [ONCE]).ask == Ask(None, 9)


@pytest.mark.parametrize(("count", "most"), [(1, 2.0), (2, 3.0), (3, 3.5)])
def test_it_costs_the_dearest_questions_and_no_more(count: int, most: float) -> None:
    asked = collection({"questions": count})
    assert collection_loss(asked).epsilon == pytest.approx(most, rel=1e-12)
    assert series_ceiling(asked) == pytest.approx(most, rel=1e-9)
    assert collection_promise(asked).most == collection_loss(asked).epsilon
    assert account([asked]).together == collection_loss(asked).epsilon
    which = "" if count == 3 else f" ({count} of 3 questions)"
    assert collection_promise(asked).in_words().endswith(f" per respondent{which}")


def test_a_promise_for_the_series_lets_the_asked_ones_be_answered() -> None:
    wish = {**json.loads(collection().canonical()), "ask": {"questions": 1}, "series_epsilon": 2.5}
    assert Collection.from_contract(wish).series_epsilon == 2.5
    with pytest.raises(InputError, match=r"every question that is asked be answered once, .* 2;"):
        Collection.from_contract({**wish, "series_epsilon": 1.9})


def test_revisions_that_draw_further_questions_cost_them_too() -> None:
    first = collection({"questions": 1})
    more = collection({"questions": 2})
    others = [{**LABELS, "id": f"x{i}", "epsilon": 1.5} for i in range(2)]
    new = collection({"questions": 1}, others)
    assert collections_loss([first, more]).epsilon == pytest.approx(3.0, rel=1e-12)
    assert collections_loss([first, new]).epsilon == pytest.approx(3.5, rel=1e-12)
    assert collections_loss([first, collection()]).epsilon == pytest.approx(3.5, rel=1e-12)


def test_a_mechanism_is_chosen_for_the_people_who_answer_its_question() -> None:
    # Hashes are the best here where few people are to be counted, and too slow for many.
    large = {"kind": "choice", "domain": 100_000, "epsilon": 8.0}
    wish = {"name": "Many", "series": "many", "contact": "x", "users": 10_000_000}
    ids = [f"q{i}" for i in range(100)]
    many = Collection.resolve(
        {**wish, "ask": {"questions": 1}, "questions": [{**large, "id": id} for id in ids]}
    )
    few = Collection.resolve({**wish, "users": 100_000, "questions": [{**large, "id": "q0"}]})
    all_of_them = Collection.resolve({**wish, "questions": [{**large, "id": "q0"}]})
    assert many.questions[0] == few.questions[0] != all_of_them.questions[0]


def test_days_alone_change_no_price() -> None:
    assert collection_loss(collection({"days": 30})) == collection_loss(collection())


def test_it_is_said_in_words() -> None:
    ask = {"questions": 1, "days": 30, "starts": "2026-01-01"}
    assert collection_promise(collection(ask)).asked() == (
        "1 of 3 questions, on one of 30 days from 2026-01-01 on, drawn at random on their device"
    )
    (closing,) = [line for line in account([collection(ask)]).closing() if "asked" in line]
    assert closing.startswith("After the 1 of these 3 that you are asked, the dearest ones, ")
    assert "(epsilon 2)" in closing
