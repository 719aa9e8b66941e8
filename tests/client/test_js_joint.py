"""Joint answers in the client for browsers: the same contracts and answers are refused."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from rumor.contract.collection import Collection
from rumor.core.errors import AnswerError, InputError
from rumor.kinds import KINDS
from rumor.kinds.joint.question import TAKEN
from tests.javascript import collection, node, parsed, refusals, steps
from tests.needs import needs

needs("node")

PARTS = [
    {"id": "smokes", "labels": ["yes", "no", "1"]},
    {"id": "drinks", "labels": ["never", "some", "much"]},
]
ASKED = {"kind": "joint", "parts": PARTS, "epsilon": 1.0, "reports_per_person": 9}


def test_answers_that_break_a_rule_are_refused_as_in_python() -> None:
    given: list[Any] = [
        {"smokes": "yes", "drinks": "much"},
        {"drinks": "some", "smokes": 1},
        {"smokes": "yes"},
        {"smokes": "yes", "drinks": "much", "x": 1},
        {"smokes": "maybe", "drinks": "much"},
        {"smokes": "yes", "drinks": None},
        "yes",
        None,
        ["yes", "much"],
        ["much", "yes"],
        ["yes"],
    ]
    answers = [{"step": "prepare", "answers": {"a": answer}} for answer in given]
    found = refusals(steps(parsed(collection(ASKED)), {"step": "open"}, *answers))[2:]
    found = [said and said.removeprefix("question 'a': ") for said in found]
    whole = "an answer must have every part (smokes, drinks)"
    assert found == [
        None,
        None,
        f"{whole}; got none for 'drinks'",
        f"{whole}; got others as well",
        "the part 'smokes' of an answer must be one of its labels; got another text",
        "the part 'drinks' of an answer must be one of its labels; got nothing",
        f"{whole}; got a text",
        f"{whole}; got nothing",
        None,
        "the part 'smokes' of an answer must be one of its labels; got another text",
        f"{whole}; got 1 of 2",
    ]
    mechanism = collection(ASKED).question("a").mechanism
    for answer, said in zip(given, found, strict=True):
        if said is not None:
            with pytest.raises(AnswerError, match=f"^{re.escape(said)}$"):
                mechanism.identity(answer)


def test_a_list_is_in_the_order_of_the_parts_whatever_they_are_called() -> None:
    """Ids that are places of a list, the other way round."""
    parts = [{"id": "1", "labels": ["x", "y"]}, {"id": "0", "labels": ["x", "y"]}]
    own = collection({**ASKED, "parts": parts}).question("a").mechanism
    pairs = [(["x", "y"], {"1": "x", "0": "y"}), (["y", "x"], {"1": "y", "0": "x"})]
    given = {"mechanism": own.describe(), "parts": parts, "answers": [a for p in pairs for a in p]}
    found = node("joint.mjs", given=given)["read"]
    assert found == [own.identity(answer) for pair in pairs for answer in pair]
    assert found[0] == found[1] != found[2]


def test_a_part_that_is_answered_twice_is_refused_when_it_is_typed() -> None:
    twice, without = "smokes=yes, smokes=no, drinks=some", "smokes"
    found = node("joint.mjs", given={"parts": PARTS, "typed": [twice, without]})["refused"]
    assert found == [
        "each part must be answered once; got one twice",
        "parts must be PART=LABEL, PART=LABEL...; got one without =",
    ]
    question = collection(ASKED).question("a")
    for text, said in zip((twice, without), found, strict=True):
        with pytest.raises(AnswerError, match=f"^{re.escape(said)}$"):
            KINDS["joint"].parse_answer(question.mechanism, text)


@pytest.mark.parametrize("id", TAKEN)
def test_a_part_is_not_called_as_a_column_of_results(id: str) -> None:
    """The same list as in Python; what holds an underscore is no id anyway."""
    contract = renamed([PARTS[0], {**PARTS[1], "id": id}])
    (found,) = refusals(steps({"step": "parse", "contract": contract}))
    assert found is not None
    with pytest.raises(InputError):
        Collection.from_json(contract)


def changed(place: int | None = None, **more: Any) -> str:
    contract: Any = json.loads(collection(ASKED).canonical())
    mechanism = contract["questions"][0]["mechanism"]
    (mechanism if place is None else mechanism["components"][place]).update(more)
    return json.dumps(contract)


def renamed(parts: Any) -> str:
    contract: Any = json.loads(collection(ASKED).canonical())
    contract["questions"][0]["parts"] = parts
    return json.dumps(contract)


@pytest.mark.parametrize(
    ("contract", "said"),
    [
        (changed(sizes=[3]), "two to four numbers of values"),
        (changed(sizes=[3, 1]), "the values of a part must be an integer from 2 to 100"),
        (changed(sizes=[3, 2]), "the parts must have 3, 2 labels"),
        (changed(components=[]), "the last component, and no other, has the chance null"),
        (changed(0, chance=None), "the last component, and no other, has the chance null"),
        (changed(0, chance="0"), "the chance must be a decimal string"),
        (changed(0, chance=0), "the chance must be a decimal string"),
        (changed(0, chance=False), "the chance must be a decimal string"),
        (changed(0, chance=""), "the chance must be a decimal string"),
        (changed(2, chance="5"), "the last component, and no other, has the chance null"),
        (changed(0, asks=[1, 0]), "some of the parts in their order"),
        (changed(1, asks=[0, 1]), "components must differ"),
        (changed(0, inclusion="1"), "likelier in reports of its own people"),
        (changed(0, further=1), "a component must have exactly the members"),
        (renamed("x"), "parts must be a list"),
        (renamed([PARTS[0], {**PARTS[1], "id": "smokes"}]), "ids of parts must be distinct"),
        (renamed([PARTS[0], {**PARTS[1], "id": "No"}]), "the id of a part must match"),
        (renamed([PARTS[0], {"id": "b", "labels": ["x", "x", "y"]}]), "labels must be distinct"),
        (renamed([PARTS[0], {"id": "b"}]), "a part must have exactly the members id, labels"),
    ],
)
def test_contracts_that_cannot_be_are_refused(contract: str, said: str) -> None:
    (found,) = refusals(steps({"step": "parse", "contract": contract}))
    assert found is not None
    assert said in found
