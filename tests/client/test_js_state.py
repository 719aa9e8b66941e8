"""What a browser keeps of a person: whole, or refused in a sentence, whatever became of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.changed_documents import changes, distinct
from tests.javascript import node
from tests.needs import needs

needs("node")
Rule = Callable[[Any], bool]
HEX = set("0123456789abcdef")


def text(value: object) -> bool:
    return isinstance(value, str)


def hexadecimal(size: int | None = None) -> Rule:
    """Bytes in lower-case digits, so many or any number."""

    def holds(value: object) -> bool:
        if not isinstance(value, str) or not set(value) <= HEX or len(value) % 2:
            return False
        return size is None or len(value) == 2 * size

    return holds


def number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def whole(low: float = -math.inf, high: float = math.inf) -> Rule:
    """An integer: JSON does not tell 2.0 from 2."""
    return lambda value: number(value) and value == math.floor(value) and low <= value <= high


def either(*rules: Rule) -> Rule:
    return lambda value: any(rule(value) for rule in rules)


def rows(members: Mapping[str, Rule], **optional: Rule) -> Rule:
    """A list of objects that have these members, and perhaps others."""

    def holds(value: object) -> bool:
        return isinstance(value, list) and all(
            isinstance(row, dict)
            and all(name in row and rule(row[name]) for name, rule in members.items())
            and all(rule(row[name]) for name, rule in optional.items() if name in row)
            for row in value
        )

    return holds


def nothing(value: object) -> bool:
    return value is None


def takes_back(value: object) -> bool:
    """A key of 16 bytes, or an opening of which the last 16 are one."""
    return isinstance(value, str) and (hexadecimal(16)(value) or hexadecimal(16)(value[64:]))


LOSS: Rule = lambda value: number(value) and value >= 0  # noqa: E731
COUNT, HOUR, ANY = whole(1), whole(0, 2**53 - 1), hexadecimal()
NAMES = {"series": text, "question": text}
SENT = {
    **NAMES,
    "id": hexadecimal(16),
    "key": takes_back,
    "contract": text,
    "number": whole(),
    "retention": either(nothing, whole()),
    "until": either(nothing, number),
}
MADE = rows({"mechanism": text, "reports": COUNT})
ANSWERS = {**NAMES, "round": COUNT, "epoch": ANY, "tag": ANY, "epsilon": LOSS}
PINS = {"series": text, "contract": text, "agreed": text, "revision": COUNT, "ceiling": LOSS}
described: Rule = lambda value: isinstance(value, dict) and text(value.get("name"))  # noqa: E731
RULES: Mapping[str, Rule] = {
    "rumor": lambda value: value == 2 and value is not True,
    "secret": hexadecimal(32),
    "answers": rows({**ANSWERS, "cell": text, "period": text, "made": MADE}, settled=ANY),
    "mechanisms": rows({"digest": text, "description": described}),
    "pins": rows(PINS, way=lambda value: value is None or isinstance(value, dict | list)),
    "pending": rows(
        {**NAMES, "contract": text, "id": hexadecimal(16), "report": ANY},
        token=either(hexadecimal(16), hexadecimal(320)),
    ),
}
LATER: Mapping[str, Rule] = {
    "sent": rows(SENT, collector=either(nothing, text)),
    "asked": rows(NAMES, contract=either(nothing, text)),
    "days": rows(
        {"series": text, "starts": text, "day": text, "days": COUNT},
        contract=either(nothing, text),
        met=either(nothing, text),
    ),
    "answered": rows({"contract": text, "scope": text}),
    "turns": rows({**NAMES, "ends": HOUR}),
    "tokens": lambda value: (
        rows({"number": HOUR})(value)
        and all(ANY(each) for row in value for key, each in row.items() if key != "number")
    ),
}
DIGEST, ID = "ab" * 32, "cd" * 16
WHOLE: dict[str, Any] = {
    "rumor": 2,
    "secret": "01" * 32,
    "answers": [
        {
            "series": "s",
            "question": "q",
            "round": 1,
            "cell": DIGEST,
            "epoch": "00" * 8,
            "period": "",
            "tag": "0f" * 16,
            "epsilon": 0.5,
            "settled": "00ff",
            "made": [{"mechanism": DIGEST, "reports": 2}],
        },
    ],
    "mechanisms": [{"digest": DIGEST, "description": {"name": "unary"}}],
    "pins": [
        {
            "series": "s",
            "revision": 1,
            "contract": DIGEST,
            "ceiling": 1.5,
            "agreed": DIGEST,
            "way": {"blind": False},
        }
    ],
    "pending": [
        {
            "id": ID,
            "series": "s",
            "contract": DIGEST,
            "question": "q",
            "report": "00",
            "token": "11" * 16,
        }
    ],
    "sent": [
        {
            "id": ID,
            "key": "22" * 16,
            "series": "s",
            "contract": DIGEST,
            "question": "q",
            "number": 0,
            "retention": 30,
            "until": 20_000,
            "collector": "https://a.example",
        },
        {
            "id": ID,
            "key": "22" * 48,
            "series": "s",
            "contract": DIGEST,
            "question": "q",
            "number": 0,
            "retention": None,
            "until": None,
        },
    ],
    "asked": [{"series": "s", "contract": DIGEST, "question": "q"}],
    "days": [
        {
            "series": "s",
            "contract": DIGEST,
            "days": 3,
            "starts": "",
            "met": "2026-03-01",
            "day": "2026-03-02",
        }
    ],
    "answered": [{"contract": DIGEST, "scope": "s"}],
    "turns": [{"series": "s", "question": "q", "ends": 6}],
    "tokens": [
        {
            "person": "33" * 32,
            "key": "44" * 16,
            "number": 0,
            "opening": "",
            "scope": "73",
            "signature": "55",
        }
    ],
}
RELAYED = {"relay": "https://r.example", "sealed": "66", "turn": 3, "expires": 30}


def _says(state: Mapping[str, object], name: str) -> bool:
    """Whether a state has a list at all; of sent reports it is a list or not there."""
    return name in state and (state[name] is not None or name == "sent")


def is_whole(state: object) -> bool:
    """Whether a state is as devices write them."""
    return (
        isinstance(state, dict)
        and all(name in state and rule(state[name]) for name, rule in RULES.items())
        and all(rule(state[name]) for name, rule in LATER.items() if _says(state, name))
    )


def relayed_rule(row: Mapping[str, Any]) -> bool:
    """A sealed report says where it goes, and one of a turn when that ends."""
    goes = "relay" not in row or (text(row["relay"]) and ANY(row.get("sealed")))
    return goes and ("turn" not in row or (HOUR(row["turn"]) and HOUR(row.get("expires"))))


FIRST: Mapping[str, Rule] = {
    "rumor": lambda value: value == 1 and value is not True,
    "secret": RULES["secret"],
    "spending": rows({**ANSWERS, "mechanism": text, "reports": COUNT}),
    "pending": RULES["pending"],
}


def is_whole_first(state: object) -> bool:
    """Whether a state is as the first version wrote it."""
    if not isinstance(state, dict) or not all(
        k in state and rule(state[k]) for k, rule in FIRST.items()
    ):
        return False
    return "sent" not in state or LATER["sent"](state["sent"])


def test_a_state_of_the_first_version_is_whole_or_refused() -> None:
    row = {name: WHOLE["answers"][0][name] for name in ANSWERS}
    first = {name: WHOLE[name] for name in ("secret", "pending", "sent")}
    first |= {"rumor": 1, "spending": [{**row, "mechanism": "unary", "reports": 2}]}
    states = [first, *distinct(changes(first, texts=("", "00")))]
    found = node("twins.mjs", given={"states": states})["states"]
    # What is called version 2 has the lists of that version.
    wanted = [is_whole_first(state) or is_whole(state) for state in states]
    assert [one is True for one in found] == wanted
    assert min(sum(wanted), len(wanted) - sum(wanted)) > 100


def test_whatever_became_of_a_state_it_is_whole_or_refused() -> None:
    states = [WHOLE, *distinct(changes(WHOLE))]
    rows_ = distinct(changes({**WHOLE["pending"][0], **RELAYED}))
    sealed = [{**WHOLE, "pending": [row]} for row in rows_]
    found = node("twins.mjs", given={"states": [*states, *sealed]})["states"]
    sentence = (
        "a person's ledger must be intact and of version 1 or 2; the one in this storage is not"
    )
    assert {one["refused"] for one in found if one is not True} == {sentence}
    wanted = [is_whole(state) for state in states]
    wanted += [is_whole(s) and relayed_rule(s["pending"][0]) for s in sealed]
    pairs = zip([*states, *sealed], wanted, found, strict=True)
    assert [state for state, want, one in pairs if want != (one is True)][:3] == []
    assert min(sum(wanted), len(wanted) - sum(wanted)) > 200


@pytest.mark.parametrize("damage", [{"rumor": 3}, {"rumor": "2"}, {"rumor": 0}, {}])
def test_a_state_of_another_version_is_refused(damage: dict[str, object]) -> None:
    state = {**WHOLE, **damage}
    if not damage:
        del state["rumor"]
    (found,) = node("twins.mjs", given={"states": [state]})["states"]
    assert "refused" in found
