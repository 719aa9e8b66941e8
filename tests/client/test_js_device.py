"""A browser's device over time: the rows, costs, revisions and refusals of Python's."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import rumor
from rumor.client.pins import Pin
from rumor.contract.collection import Collection, Question
from rumor.contract.sender_anonymity import SenderAnonymity
from rumor.core.canonical import digest
from rumor.core.errors import InputError
from rumor.core.exact import sum_up
from rumor.core.randomness import Keyed
from rumor.privacy.loss import collection_loss, lifetime_loss, series_ceiling
from tests.javascript import collection, first_difference, parsed, refusals, steps
from tests.needs import needs
from tests.vectors import make_device

needs("node")
VECTORS = Path(__file__).parents[1] / "vectors"
SECRET = bytes(range(100, 132))
CHOICE = {"kind": "choice", "labels": ["red", "blue"]}
COIN = {**CHOICE, "epsilon": 0.1, "mechanism": "randomized-response", "reports_per_person": 99}
APPS = {
    "kind": "keyvalue",
    "keys": ["Maps", "Mail"],
    "epsilon": 4.0,
    "mechanism": {"name": "privkvm", "rounds": 3},
}


def memoised(**more: object) -> dict[str, object]:
    """A choice whose permanent answer is sent as it is."""
    mechanism = {"name": "basic-rappor", "f": 0.5, "p": 0, "q": 1}
    labels = [f"town {i}" for i in range(64)]
    question = {"kind": "choice", "labels": labels, "mechanism": mechanism}
    return {**question, "reports_per_person": 9, **more}


def empty() -> dict[str, object]:
    """An empty ledger with a fixed secret."""
    lists: dict[str, object] = {"answers": [], "mechanisms": [], "pins": [], "pending": []}
    return {"rumor": 2, "secret": SECRET.hex(), **lists}


def revised(before: Collection, **changes: Any) -> Collection:
    """The revision that follows a contract."""
    return dataclasses.replace(
        before, revision=before.revision + 1, previous=before.digest, **changes
    )


def answered(*given: Mapping[str, object], of: str = "contract") -> list[dict[str, object]]:
    return [{"step": "prepare", "answers": answers, "of": of} for answers in given]


# --- The same life in both languages --------------------------------------------------------


def test_the_published_life_is_that_of_the_code() -> None:
    text = (VECTORS / "device.json").read_text("utf-8")
    made = make_device.text()
    assert first_difference(json.loads(made), json.loads(text)) == ""
    assert made == text


def lived(life: dict[str, Any], take: Callable[..., list[Any]] = steps) -> dict[str, Any]:
    """What the client makes of a published life, in the same words."""
    todo: list[dict[str, object]] = [
        {"step": "parse", "contract": contract, "as": name}
        for name, contract in life["contracts"].items()
    ]
    first = {**empty(), "secret": life["secret"]}
    for number, day in enumerate(life["steps"]):
        options = {"consent": day["consent"], "maxEpsilon": day["max_epsilon"]}
        said = {key: value for key, value in options.items() if value is not None}
        todo += [
            {"step": "day", "is": day["day"]},
            {"step": "open", **said, **({} if number else {"state": first})},
            {"step": "prepare", "of": day["contract"], "answers": day["answers"]},
            {"step": "spent"},
        ]
    found = take(*todo, {"step": "asked"}, {"step": "state"})
    state, asked = found.pop(), found.pop()
    days, changes = found[len(life["contracts"]) :], iter(asked)
    steps_, rows = [], []
    for day, made, spent in zip(life["steps"], days[2::4], days[3::4], strict=True):
        (refused,) = refusals([made])
        reports = {} if refused else {e["question"]: e["report"] for e in made}
        visible = {id: reports[id] for id in ("word", "week") if id in reports}
        told: list[dict[str, Any]] = [next(changes, {}) for _ in day["asked"]]
        assert all(one.pop("kept", 1) == 1 for one in told)  # the ledger is free meanwhile
        for one in told:
            one.pop("contract", None)
        found_here = {"refused": refused, "asked": told, "reports": visible, "spent": spent}
        steps_.append({**day, **found_here})
    for row in state["answers"]:
        shared = row["question"] in ("word", "mood", "week", "colour")
        made = sorted(row["made"], key=lambda one: str(one["mechanism"]))
        tag, settled = row["tag"] if shared else None, row.get("settled")
        rows.append({**row, "tag": tag, "settled": settled, "made": made})
    pins = sorted(state["pins"], key=lambda pin: str(pin["series"]))
    assert not list(changes)
    return {**life, "steps": steps_, "answers": rows, "pins": pins}


def test_a_whole_life_gives_the_same_rows_tags_charges_and_permanent_answers() -> None:
    life = json.loads((VECTORS / "device.json").read_text("utf-8"))
    assert first_difference(lived(life), life) == ""
    assert sum(day["refused"] is not None for day in life["steps"]) == 22
    assert any(len(row["made"]) > 1 for row in life["answers"])  # with different fresh noise
    assert {row["period"] for row in life["answers"]} > {"", "7:2857"}


def test_blind_tokens_are_not_given_up_in_either_language() -> None:
    contract = collection(memoised())
    seeing = revised(contract, name="Another name")
    pin = Pin(1, contract.digest, 100.0, contract.digest, SenderAnonymity(blind=True))
    with pytest.raises(InputError) as said:
        pin.follow(seeing)
    kept = {**dataclasses.asdict(pin), "series": contract.series, "way": {"blind": True}}
    found = steps(
        {**parsed(seeing), "as": "seeing"},
        {"step": "open", "state": {**empty(), "pins": [kept]}},
        *answered({"a": "town 1"}, of="seeing"),
        {"step": "spent"},
    )
    assert refusals([found[2]]) == [str(said.value)]
    assert found[3] == 0


# --- What was wrong -------------------------------------------------------------------------


def test_equal_filters_share_no_noise() -> None:
    """Words whose filters are equal under a key were covered by one noise, and so told apart."""
    word = {"kind": "text", "bits": 2, "hashes": 1, "cohorts": 1, "f": 0.9, "p": 0, "q": 1}
    contract = collection({**word, "reports_per_person": 999})
    mechanism = contract.question().mechanism
    assert isinstance(mechanism, rumor.Rappor)
    words = [f"word {i}" for i in range(200)]
    alike = [w for w in words if mechanism.bloom.filter(w, 0) == mechanism.bloom.filter("x", 0)]
    assert len(alike) > 60
    opened = {"step": "open", "state": empty()}
    results = steps(parsed(contract), opened, *answered(*({"a": w} for w in alike)))
    # Each of the two bits is flipped with probability 0.45, anew for each word: every pattern
    # comes. (Of this secret, for sure; of another, but for a chance of 4 * 0.8**60.)
    assert len({made[0]["report"] for made in results[2:]}) == 4


def test_a_reordered_label_is_another_answer() -> None:
    """With the noise of its code, a value that moved would have shown whether it moved."""
    labels = [f"town {i}" for i in range(64)]
    first = collection(memoised())
    moved_labels = collection(memoised(labels=[labels[1], labels[0], *labels[2:]]))
    second = revised(first, questions=moved_labels.questions)
    results = steps(
        parsed(first, **{"as": "first"}),
        parsed(second, **{"as": "second"}),
        {"step": "open", "state": empty()},
        *answered({"a": labels[0]}, {"a": labels[0]}, of="first"),
        *answered({"a": labels[0]}, {"a": labels[5]}, of="second"),
        {"step": "state"},
    )
    one, same, moved, other = (made[0]["report"] for made in results[3:7])
    assert one == same
    # Alike in about 40 of 64 bits only, as any two answers are: never the same but for one bit.
    assert (int(one, 16) ^ int(moved, 16)).bit_count() > 8
    assert moved != other
    rows = results[-1]["answers"]
    assert [row["made"][0]["reports"] for row in rows] == [2, 1, 1]
    assert len({row["cell"] for row in rows}) == 2


def test_sums_are_rounded_up_and_compared_exactly(tmp_path: Path) -> None:
    """Six reports of 0.1 to the nearest are 0.6, and in truth 5.6e-17 more."""
    contract = collection(COIN)
    epsilon = contract.question().epsilon
    ceiling = math.fsum([epsilon] * 6)  # to the nearest; one double less is below the true sum
    for limit, allowed in ((sum_up([epsilon] * 6), 6), (math.nextafter(ceiling, 0), 5)):
        results = steps(
            parsed(contract),
            {"step": "open", "maxEpsilon": limit},
            *answered(*[{"a": "red"}] * 7),
            {"step": "spent"},
        )
        assert [r is None for r in refusals(results[2:-1])] == [True] * allowed + [False] * (
            7 - allowed
        )
        assert results[-1] == sum_up([epsilon] * allowed)
        device = rumor.Respondent(tmp_path / str(allowed), max_epsilon=limit)
        for _ in range(allowed):
            device.prepare(contract, {"a": "red"})
        with pytest.raises(rumor.InputError):
            device.prepare(contract, {"a": "red"})
        device.close()


def test_without_a_limit_of_ones_own_a_series_costs_what_it_promised() -> None:
    contract = dataclasses.replace(collection(COIN), series_epsilon=0.25)
    results = steps(
        parsed(contract),
        {"step": "open"},
        {"step": "standing"},
        *answered(*[{"a": "red"}] * 3),
        {"step": "standing"},
        # The same promise holds in every revision that says nothing new.
        parsed(revised(contract), **{"as": "next"}),
        *answered({"a": "red"}, of="next"),
    )
    spent = contract.question().epsilon * 2
    assert results[2] == {"spent": 0, "ceiling": 0.25}
    sentence = (
        "this device lets 'series' cost at most epsilon 0.25, as was agreed at its first answer; "
        "it has cost 0.2, and this report would make it 0.3"
    )
    assert refusals(results[3:6]) == [None, None, sentence]
    assert results[6] == {"spent": spent, "ceiling": 0.25}
    assert results[8] == {"error": sentence, "code": "limit"}


# --- What a person spends -------------------------------------------------------------------


def spends(question: Question) -> dict[str, object]:
    """What Python says."""
    mechanism = question.mechanism
    return {
        "report": question.epsilon,
        "answer": mechanism.epsilon_all_rounds(1),
        "unchanged": question.epsilon_total,
        "most": lifetime_loss(question),
        "round": mechanism.round,
        "rounds": mechanism.rounds,
    }


def test_one_function_says_what_is_spent_and_says_what_python_says() -> None:
    life = make_device.contracts()
    contracts = [
        *life.values(),
        collection(
            {**APPS, "reports_per_person": 3}, COIN, memoised(memo="period", period_days=30)
        ),
        collection({"kind": "text", "reports_per_person": 1000}),
        dataclasses.replace(collection(COIN), series_epsilon=0.75),
    ]
    todo: list[dict[str, object]] = []
    expected: list[object] = []
    for contract in contracts:
        todo += [parsed(contract), {"step": "lossOfContract"}]
        most, ceiling = collection_loss(contract).epsilon, series_ceiling(contract)
        expected += [contract.digest, {"most": most, "ceiling": ceiling}]
        todo += [{"step": "loss", "question": question.id} for question in contract.questions]
        expected += [spends(question) for question in contract.questions]
    assert steps(*todo) == expected


def test_rounds_cost_what_all_of_them_cost() -> None:
    """The first round says one round's epsilon; a person spends that of all."""
    contract = collection(APPS)
    question = contract.question()
    found = steps(parsed(contract), {"step": "loss", "question": "a"}, {"step": "lossOfContract"})
    assert found[1]["report"] == question.epsilon
    assert found[1]["answer"] == question.epsilon_total > question.epsilon
    assert found[2]["ceiling"] == series_ceiling(contract) >= question.epsilon_total


# --- Periods --------------------------------------------------------------------------------


def test_the_first_answer_of_a_period_stands_for_all_of_it() -> None:
    contract = collection(memoised(memo="period", period_days=7))
    epsilon = contract.question().epsilon
    todo: list[dict[str, object]] = [parsed(contract)]
    days = [(70, "town 1"), (75, "town 1"), (76, "town 2"), (77, "town 2"), (83, "town 1")]
    for day, town in days:
        todo += [{"step": "day", "is": day}, {"step": "open"}, *answered({"a": town})]
    *results, spent, state, spending = steps(
        *todo, {"step": "spent"}, {"step": "state"}, {"step": "spending"}
    )
    reports = [made[0]["report"] for made in results[3::3]]
    # No fresh noise: a change of mind within a period shows nothing at all.
    assert reports[0] == reports[1] == reports[2]
    assert reports[3] == reports[4] != reports[0]
    assert [(row["period"], row["tag"]) for row in state["answers"]] == [("7:10", ""), ("7:11", "")]
    assert [row["settled"] for row in state["answers"]] == [reports[0], reports[3]]
    assert spent == sum_up([epsilon] * 2)
    assert [(s["reports"], s["values"]) for s in spending] == [(5, 2)]
    assert "town" not in json.dumps(state)


# --- Revisions ------------------------------------------------------------------------------


def dearer(after: Collection) -> Collection:
    """A revision that asks with a coin five times as dear, and promises as much."""
    other = collection({**COIN, "epsilon": 0.5})
    return revised(after, questions=other.questions, series_epsilon=30.0)


def test_a_revision_that_wants_more_asks_and_nothing_is_spent_without_a_yes() -> None:
    contract = dataclasses.replace(collection(COIN), series_epsilon=0.5)
    more = dearer(contract)
    results = steps(
        parsed(contract),
        parsed(more, **{"as": "more"}),
        {"step": "open"},
        *answered({"a": "red"}),
        {"step": "state"},
        *answered({"a": "red"}, of="more"),
        {"step": "open", "consent": "no"},  # a truth, but no yes
        *answered({"a": "red"}, of="more"),
        {"step": "state"},
        {"step": "open", "consent": True},
        *answered({"a": "red"}, {"a": "red"}, of="more"),
        {"step": "standing", "of": "more"},
        {"step": "asked"},
        *answered({"a": "red"}),
    )
    _, _, _, _, before, unasked, _, refused, after, _, agreed, again, standing, asked, old = results
    assert (unasked["code"], refused["code"]) == ("consent", "consent")
    assert refused["error"].endswith(
        "; revision 2 asks for up to 30, and that needs your consent"
    ), refused
    assert after == before
    assert len(agreed) == len(again) == 1
    small, large = contract.question().epsilon, more.question().epsilon
    assert standing == {"spent": sum_up([small, large, large]), "ceiling": 30.0}
    told = {"contract": more.digest, "spent": small, "before": 0.5, "after": 30.0, "kept": 1}
    assert asked == [told, told]
    assert old["code"] == "revision"


def test_a_revision_that_asks_for_more_than_it_says_is_refused_without_a_question() -> None:
    contract = dataclasses.replace(collection(COIN), series_epsilon=0.15)
    results = steps(
        parsed(contract),
        parsed(revised(contract, series_epsilon=0.16), **{"as": "more"}),
        {"step": "open", "consent": True},
        *answered({"a": "red"}),
        *answered({"a": "blue"}, of="more"),
        {"step": "asked"},
    )
    assert results[4]["code"] == "limit"
    assert results[5] == []


# --- Ledgers of before ----------------------------------------------------------------------


def test_old_states_are_read_and_stay_charged_and_get_no_new_report() -> None:
    contract = collection(memoised())
    question = contract.question()
    tag = Keyed(SECRET, "rumor value tag", "series", "a", "3").digest()[:16].hex()
    epoch = Keyed(SECRET, "rumor secret epoch").digest()[:8].hex()
    row = {
        "series": "series",
        "question": "a",
        "round": 1,
        "mechanism": digest(question.mechanism.describe()),
        "epoch": epoch,
        "tag": tag,
    }
    waiting = {"id": "07" * 16, "series": "series", "contract": contract.digest, "question": "a",
               "report": "00" * 8}  # fmt: skip
    old = {
        "rumor": 1,
        "secret": SECRET.hex(),
        "spending": [
            {**row, "reports": 1, "epsilon": question.epsilon},
            {**row, "tag": "00" * 16, "reports": 2, "epsilon": question.epsilon},
        ],
        "pending": [waiting],
    }
    _, _, opened, spent, pending, made, state, *more, spending = steps(
        parsed(contract),
        {"step": "open", "state": old},
        {"step": "state"},
        {"step": "spent"},
        {"step": "pending"},
        *answered({"a": "town 3"}),
        {"step": "state"},
        *answered(*[{"a": "town 3"}] * 6),
        {"step": "spending"},
    )
    assert (opened["rumor"], opened["secret"], opened["pins"]) == (2, SECRET.hex(), [])
    assert [p["id"] for p in pending] == ["07" * 16]
    # What was rounded to the nearest may have been too little by some units in the last place.
    assert 2 * question.epsilon < spent < 2 * question.epsilon * (1 + 2e-12)
    assert state["answers"][:2] == opened["answers"]
    assert [r["cell"][:11] for r in opened["answers"]] == ["version 1: "] * 2
    assert state["answers"][2]["cell"] == question.mechanism.permanence.memo_digest
    assert state["answers"][2]["epsilon"] == question.epsilon
    assert len(made) == 1
    # What was made before counts: three then and six now are the nine that may be asked for.
    assert refusals(more) == [None] * 5 + [
        "question 'a' takes at most 9 reports of a person; got 9 already"
    ]
    assert [(s["reports"], s["values"]) for s in spending] == [(9, 3)]
