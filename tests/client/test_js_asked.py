"""A browser that is asked one of many draws what Python draws, and keeps it."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rumor.contract.collection import Collection
from rumor.contract.sampling import SamplingDesign
from rumor.core.errors import InputError
from tests.client.test_asked import IDS, STARTS, cheap_and_dear, collection, revised, who_draws
from tests.javascript import first_difference, parsed, refusals, steps
from tests.needs import needs
from tests.vectors import make_asked

needs("node")
VECTORS = Path(__file__).parents[1] / "vectors" / "asked.json"
LATER = STARTS + datetime.timedelta(days=6)


def empty(secret: str) -> dict[str, object]:
    lists: dict[str, object] = {"answers": [], "mechanisms": [], "pins": [], "pending": []}
    return {"rumor": 2, "secret": secret, **lists}


def test_the_published_draws_are_those_of_the_code() -> None:
    text, made = VECTORS.read_text("utf-8"), make_asked.text()
    assert first_difference(json.loads(made), json.loads(text)) == ""
    assert made == text


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
    people = []
    for person in life["people"]:
        days = []
        for day in person["steps"]:
            next(found), next(found)
            drawn: dict[str, Any] = next(found)
            asked = {"questions": drawn["questions"], "answers_on": drawn["day"]}
            refused = refusals([next(found) for _ in day["refused"]])
            days.append({**day, **asked, "refused": refused, "spent": next(found)})
        people.append({**person, "steps": days})
    assert first_difference(people, life["people"]) == ""


def test_the_vectors_show_what_they_are_for() -> None:
    people = json.loads(VECTORS.read_text("utf-8"))["people"]
    first = [person["steps"][0] for person in people]
    assert len({tuple(day["questions"]) for day in first}) > 2
    assert all(set(p["steps"][0]["questions"]) <= set(p["steps"][1]["questions"]) for p in people)
    said = " ".join(r for p in people for s in p["steps"] for r in s["refused"] if r)
    for part in ("was not drawn", "has not come", "is over", "as was agreed", "at most 1 report"):
        assert part in said, part


def test_nothing_draws_again() -> None:
    contract = collection(SamplingDesign(1))
    opened = {"step": "open", "state": empty("ab" * 32)}
    drawn = {"step": "drawn"}
    answer = [{"step": "prepare", "answers": {q.id: "no label"}} for q in contract.questions]
    results = steps(parsed(contract), opened, drawn, *answer, drawn, {"step": "reset"}, drawn)
    assert results[2] == results[8] == results[10]
    assert all(isinstance(r, dict) and r["code"] in ("asked", "answer") for r in results[3:8])
    assert results[2]["open"] is True


def test_whoever_drew_the_cheap_question_agreed_to_no_more(tmp_path: Path) -> None:
    contract = cheap_and_dear("cheap", "dear", dear=8.0)
    secret = who_draws(tmp_path, contract, "cheap")
    renamed = revised(contract, cheap_and_dear("more", "still-more", dear=8.0))
    results = steps(
        parsed(contract),
        parsed(renamed, **{"as": "renamed"}),
        {"step": "open", "state": empty(secret), "consent": False},
        {"step": "standing"},
        {"step": "prepare", "answers": {"cheap": "a"}},
        {"step": "standing"},
        *({"step": "prepare", "of": "renamed", "answers": {q.id: "a"}} for q in renamed.questions),
        {"step": "asked"},
        {"step": "drawn", "of": "renamed"},
        {"step": "spent"},
    )
    stated, _, pinned = results[3:6]
    assert stated["ceiling"] == pinned["ceiling"] == pytest.approx(0.5, rel=1e-9)
    assert sorted(refused["code"] for refused in results[6:8]) == ["asked", "consent"]
    (change,), drawn, spent = results[8:]
    wanted = 0.5 + renamed.question(drawn["questions"][0]).epsilon
    assert change["after"] == pytest.approx(wanted, rel=1e-9)
    assert spent == 0.5


def test_a_contract_that_is_merely_opened_or_refused_moves_no_draw(tmp_path: Path) -> None:
    contract, drawn = collection(SamplingDesign(1)), IDS[2]
    secret = who_draws(tmp_path, contract, drawn)
    others = [id for id in IDS if id != drawn]
    fork = collection(SamplingDesign(1, 9), others)
    open_fork = {"step": "drawn", "of": "fork"}
    results = steps(
        parsed(contract),
        parsed(fork, **{"as": "fork"}),
        parsed(revised(contract, collection(SamplingDesign(1), others)), **{"as": "unanswered"}),
        parsed(
            revised(contract, collection(SamplingDesign(1), [*others, drawn])), **{"as": "revision"}
        ),
        {"step": "open", "state": empty(secret)},
        open_fork,
        {"step": "drawn"},
        {"step": "prepare", "answers": {drawn: "a"}},
        {"step": "state"},
        open_fork,
        {"step": "prepare", "of": "fork", "answers": {others[0]: "a"}},
        {"step": "state"},
        {"step": "drawn", "of": "unanswered"},
        {"step": "drawn", "of": "revision"},
    )
    assert results[6]["questions"] == results[13]["questions"] == [drawn]
    assert [refused["code"] for refused in results[9:11]] == ["revision", "revision"]
    assert results[8] == results[11]


def test_whoever_answered_keeps_their_day() -> None:
    contract = replace(collection(SamplingDesign(None, 5)), series_epsilon=99.0)
    first = (STARTS - datetime.date(1970, 1, 1)).days
    known = [contract]
    for ask in (
        SamplingDesign(None, 400),
        SamplingDesign(None, 6, STARTS),
        SamplingDesign(1, 77, STARTS),
        SamplingDesign(None, 9, LATER),
    ):
        known.append(revised(known[-1], collection(ask)))
    found = steps(
        *(parsed(one, **{"as": str(i)}) for i, one in enumerate(known)),
        {"step": "day", "is": first},
        {"step": "open", "state": empty("ab" * 32)},
        {"step": "drawn", "of": "0"},
        *(
            step
            for day in range(5)  # it is one of these
            for step in (
                {"step": "day", "is": first + day},
                {"step": "prepare", "of": "0", "answers": {IDS[0]: "a"}},
            )
        ),
        {"step": "day", "is": first + 6},
        *({"step": "drawn", "of": str(i)} for i in range(1, len(known))),
    )[len(known) + 2 :]
    assert sum(isinstance(made, list) for made in found) == 1
    days = [found[0]["day"], *(drawn["day"] for drawn in found[-4:])]
    assert days[:4] == days[:1] * 4
    assert days[4] >= LATER.isoformat()


def test_a_day_that_ends_while_the_person_thinks_is_over() -> None:
    contract = collection(None)
    renamed = revised(contract, collection(SamplingDesign(None, 2, STARTS), ["n1", "n2"]))
    first = (STARTS - datetime.date(1970, 1, 1)).days
    *_, drawn = steps(
        parsed(renamed),
        {"step": "day", "is": first},
        {"step": "open", "state": empty("ab" * 32)},
        {"step": "drawn"},
    )
    number = (datetime.date.fromisoformat(drawn["day"]) - STARTS).days
    *_, refused, asked, spent = steps(
        parsed(contract),
        parsed(renamed, **{"as": "renamed"}),
        {"step": "day", "is": first + number},
        {"step": "open", "state": empty("ab" * 32), "consent": True, "later": 1},
        {"step": "prepare", "answers": dict.fromkeys(IDS, "a")},
        {"step": "prepare", "of": "renamed", "answers": {"n1": "a"}},
        {"step": "asked"},
        {"step": "spent"},
    )
    assert refused["code"] == "asked"
    assert refused["error"].endswith("so its day is over")
    assert len(asked) == 1
    assert spent == pytest.approx(sum(q.epsilon for q in contract.questions), rel=1e-12)


def test_older_draws_are_the_series_own() -> None:
    old = {
        "asked": [{"series": "many", "question": id} for id in ("q3", "q1")],
        "days": [{"series": "many", "days": 30, "starts": "2026-01-01", "day": "2026-01-07"}],
    }
    one, both = collection(SamplingDesign(1)), collection(SamplingDesign(2, 30, STARTS))
    opened = {"step": "open", "state": {**empty("ab" * 32), **old}}
    found = steps(parsed(one), opened, {"step": "drawn"}, parsed(both), {"step": "drawn"})
    assert found[2]["questions"] == ["q3"]
    assert (found[4]["questions"], found[4]["day"]) == (["q1", "q3"], "2026-01-07")


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


@pytest.mark.parametrize(
    "damage",
    [
        {"asked": [1]},
        {"asked": [{"series": "x"}]},
        {"asked": [{"series": "x", "question": "y", "contract": 1}]},
        {"days": [{}]},
    ],
)
def test_a_damaged_draw_is_a_damaged_ledger(damage: dict[str, object]) -> None:
    (refused,) = steps({"step": "open", "state": {**empty("ab" * 32), **damage}})
    assert refused["code"] == "state"
