"""A browser that is asked one of many draws what Python draws, and keeps it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rumor.contract.asking import Ask
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from tests.client.test_asked import collection
from tests.javascript import parsed, refusals, steps
from tests.needs import needs
from tests.vectors import make_asked

needs("node")
VECTORS = Path(__file__).parents[1] / "vectors" / "asked.json"


def empty(secret: str) -> dict[str, object]:
    lists: dict[str, object] = {"answers": [], "mechanisms": [], "pins": [], "pending": []}
    return {"rumor": 2, "secret": secret, **lists}


def test_the_published_draws_are_those_of_the_code() -> None:
    assert VECTORS.read_text("utf-8") == make_asked.text()


def test_a_browser_draws_refuses_and_pays_the_same() -> None:
    life = json.loads(VECTORS.read_text("utf-8"))
    known = {name: Collection.from_contract(c) for name, c in life["contracts"].items()}
    names = list(known)
    todo = [{"step": "parse", "contract": c, "as": name} for name, c in life["contracts"].items()]
    todo += [{"step": "lossOfContract", "of": name} for name in names]
    for person in life["people"]:
        for number, day in enumerate(person["steps"]):
            start = {} if number else {"state": empty(person["secret"])}
            name = day["contract"]
            todo += [{"step": "day", "is": day["day"]}, {"step": "open", **start}]
            todo += [{"step": "drawn", "of": name}]
            todo += [
                {"step": "prepare", "of": name, "answers": {q.id: (q.labels or [""])[0]}}
                for q in known[name].questions
            ]
            todo += [{"step": "spent"}]
    found = iter(steps(*todo))
    assert [next(found) for _ in names] == [known[name].digest for name in names]
    ceilings = {name: next(found)["ceiling"] for name in names}
    assert ceilings == life["ceilings"]
    for person in life["people"]:
        for day in person["steps"]:
            next(found), next(found)
            drawn: dict[str, Any] = next(found)
            assert (drawn["questions"], drawn["day"]) == (day["questions"], day["answers_on"])
            tried = [next(found) for _ in day["refused"]]
            assert refusals(tried) == day["refused"]
            assert next(found) == day["spent"]


def test_the_vectors_show_what_they_are_for() -> None:
    people = json.loads(VECTORS.read_text("utf-8"))["people"]
    first = [person["steps"][0] for person in people]
    assert len({tuple(day["questions"]) for day in first}) > 2
    assert all(set(p["steps"][0]["questions"]) <= set(p["steps"][1]["questions"]) for p in people)
    said = " ".join(r for p in people for s in p["steps"] for r in s["refused"] if r)
    for part in ("was not drawn", "has not come", "is over", "as was agreed", "at most 1 report"):
        assert part in said, part


def test_nothing_draws_again() -> None:
    contract = collection(Ask(1))
    opened = {"step": "open", "state": empty("ab" * 32)}
    drawn = {"step": "drawn"}
    answer = [{"step": "prepare", "answers": {q.id: "no label"}} for q in contract.questions]
    results = steps(parsed(contract), opened, drawn, *answer, drawn, {"step": "reset"}, drawn)
    assert results[2] == results[8] == results[10]
    assert all(isinstance(r, dict) and r["code"] in ("asked", "answer") for r in results[3:8])
    assert results[2]["open"] is True


def test_all_are_asked_where_nothing_is_said() -> None:
    contract = collection(None)
    (_, _, drawn) = steps(parsed(contract), {"step": "open"}, {"step": "drawn"})
    ids = [question.id for question in contract.questions]
    assert drawn == {"questions": ids, "of": 5, "day": None, "days": None, "open": True}


@pytest.mark.parametrize(
    "ask",
    [
        1,
        [],
        {},
        {"question": 1},
        {"questions": 0},
        {"questions": 5},
        {"questions": 6},
        {"questions": 1.5},
        {"questions": None},
        {"questions": 1, "days": None},
        {"days": 1},
        {"days": 40_000},
        {"questions": 1, "starts": "2026-01-01"},
        {"days": 3, "starts": "2026-02-30"},
        {"days": 3, "starts": "20260101"},
        {"days": 3, "starts": "2026-1-1"},
        {"days": 3, "starts": "9999-12-31"},
        {"days": 3, "starts": 20260101},
        {"days": 3, "starts": None},
    ],
)
def test_both_refuse_the_same_contracts(ask: object) -> None:
    contract = {**json.loads(collection(None).canonical()), "ask": ask}
    with pytest.raises(InputError):
        Collection.from_contract(contract)
    (refused,) = steps({"step": "parse", "contract": contract})
    assert refused["code"] == "contract"


def test_both_refuse_rounds_periods_and_being_asked_again() -> None:
    from tests.contract.test_asking import AGAIN, ONCE, PERIOD, ROUNDS
    from tests.contract.test_asking import collection as of

    tried = [(ROUNDS, {"questions": 1}), (AGAIN, {"days": 9}), (PERIOD, {"days": 9})]
    for question, ask in tried:
        contract = {**json.loads(of(None, [question, ONCE]).canonical()), "ask": ask}
        (refused,) = steps({"step": "parse", "contract": contract})
        assert "cannot go with" in refused["error"]


@pytest.mark.parametrize("damage", [{"asked": [1]}, {"asked": [{"series": "x"}]}, {"days": [{}]}])
def test_a_damaged_draw_is_a_damaged_ledger(damage: dict[str, object]) -> None:
    (refused,) = steps({"step": "open", "state": {**empty("ab" * 32), **damage}})
    assert refused["code"] == "state"
