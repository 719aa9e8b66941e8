"""What a collection says under `linked`: read, checked, digested only where it is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rumor.cli import main
from rumor.client.pins import Change
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.privacy.loss import collection_loss
from rumor.privacy.promise import collection_promise

Outputs = pytest.CaptureFixture[str]
TOML = """
name = "Habits"
series = "habits"
contact = "x"
linked = ["smokes", "drinks"]
[[questions]]
id = "drinks"
kind = "choice"
labels = ["never", "some", "much"]
epsilon = 1.5
mechanism = "randomized-response"
[[questions]]
id = "smokes"
kind = "choice"
labels = ["yes", "no"]
epsilon = 1.0
mechanism = "randomized-response"
"""
UNLINKED = "9d6f87e34dd164259b9b5063ecd0374063bb5738ddcec6a40bedfeff8975e89b"


def wish(linked: object, *others: dict[str, Any], **more: object) -> dict[str, Any]:
    """Two choices by randomised response, and other questions."""
    coin = {"kind": "choice", "mechanism": "randomized-response", "epsilon": 1.0}
    usual = [{**coin, "id": id, "domain": size} for id, size in (("a", 2), ("b", 3))]
    about = {"name": "Habits", "series": "habits", "contact": "x", "questions": [*usual, *others]}
    return {**about, "linked": linked, **more}


COIN = {"kind": "choice", "mechanism": "randomized-response", "epsilon": 1.0, "domain": 2}
UNARY = {**COIN, "id": "bits", "mechanism": "unary"}
NUMBER = {"id": "age", "kind": "number", "low": 0, "high": 99, "epsilon": 1.0}
AGAIN = {**COIN, "id": "again", "reports_per_person": 7}
LARGE = {**COIN, "id": "large", "domain": 51, "epsilon": 3.0}
LARGER = {**COIN, "id": "larger", "domain": 900_000, "epsilon": 9.0}
TAKEN = {**COIN, "id": "ratio"}
OTHERS = (UNARY, NUMBER, AGAIN, LARGE, LARGER, TAKEN)
MISTAKES: list[tuple[object, dict[str, object], str]] = [
    ("a", {}, r"must be the ids of two questions, such as \[.smokes., .drinks.\]; got 'a'"),
    ({"a": "b"}, {}, "must be the ids of two questions"),
    (["a", 1], {}, r"must be the ids of two questions, .*; got \['a', 1\]"),
    ([], {}, "must be the ids of two questions, .*; got 0"),
    (["a", "b", "again"], {}, "must be the ids of two questions, .*; got 3"),
    (["a", "c"], {}, "must name questions of a, b, .*; got 'c'"),
    (["a", "a"], {}, "must name two questions; got 'a' twice"),
    (["a", "bits"], {}, r'mechanism = "randomized-response"; got .unary. of question .bits.'),
    (["age", "a"], {}, r"must be of kind choice with .*; got .* of question .age."),
    (["a", "again"], {}, "must be asked once, .*; got reports_per_person 7 of question 'again'"),
    (["a", "b"], {"ask": {"questions": 1}}, "cannot go with questions of ask, .*; got 1 of 8"),
    (["a", "large"], {}, "make one table: .* at most 100 cells"),
    (["a", "larger"], {}, "make one table: .* from 2 to 100; got 900,000"),
    (["a", "ratio"], {}, "must not be called as a column of results; got 'ratio'"),
]


@pytest.mark.parametrize(("linked", "more", "sentence"), MISTAKES)
def test_every_mistake_gets_one_sentence(
    linked: object, more: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence) as refusal:
        Collection.resolve(wish(linked, *OTHERS, **more))
    assert "\n" not in str(refusal.value)


def test_it_is_part_of_the_contract_and_of_its_digest_where_it_is_said() -> None:
    linked = Collection.from_toml(TOML)
    assert linked.linked == ("smokes", "drinks")
    assert json.loads(linked.canonical())["linked"] == ["smokes", "drinks"]
    assert Collection.from_json(linked.canonical()) == linked
    without = Collection.from_toml(TOML.replace("linked =", "# linked ="))
    assert "linked" not in without.contract()
    assert without.digest == UNLINKED != linked.digest
    with pytest.raises(InputError, match="leaves linked None out"):
        Collection.from_contract({**without.contract(), "linked": None})


def test_days_may_be_drawn_and_all_of_the_questions_asked() -> None:
    for ask in ({"days": 9}, {"questions": 2}):
        assert Collection.resolve(wish(["b", "a"], ask=ask)).linked == ("b", "a")


def test_people_are_told_and_pay_nothing_more(tmp_path: Path, capsys: Outputs) -> None:
    linked = Collection.from_toml(TOML)
    without = Collection.from_toml(TOML.replace("linked =", "# linked ="))
    assert collection_loss(linked) == collection_loss(without)
    said = collection_promise(linked).joined()
    assert said == (
        "The reports of one respondent on 'smokes' and 'drinks' can be linked. Together they cost "
        "at most epsilon 2.5, which the budget includes."
    )
    assert collection_promise(without).joined() is None
    assert said in Change(linked, 1.0, 2.0, 3.0).in_words()
    assert "joined" not in Change(without, 1.0, 2.0, 3.0).in_words()
    file = tmp_path / "c.toml"
    file.write_text(TOML)
    assert main(["show", str(file)]) == 0
    assert said in " ".join(capsys.readouterr().out.split())
    assert main(["show", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["linked"] == ["smokes", "drinks"]
