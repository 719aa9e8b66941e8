"""Two contracts that differ in one member are two contracts: nothing is read and forgotten.

Every member of contracts of all kinds, with everything that a contract may say, is changed alone.
What is still a contract then says just that, and has another digest.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from rumor.contract.collection import Collection
from rumor.core.canonical import canonical_json
from rumor.core.errors import InputError
from rumor.kinds import KINDS
from rumor.privacy.rounds import require_rounds
from tests.contract.test_limits import (
    CHOICE,
    DIGEST,
    MEMO,
    OTHER,
    ROUNDS,
    THIRD,
    asked,
    collection,
    issued,
    question,
    relayed,
)

Path = tuple[str | int, ...]


def later_round(first: Collection) -> Collection:
    """Return the collection of the second round."""
    asked = require_rounds(first.question().mechanism)
    mechanism = asked.next([0.25, 0.75], parent=first.digest)
    follows = replace(first.question(), mechanism=mechanism)
    return replace(first, questions=(follows,), revision=2, previous=first.digest)


FULL = {
    **{
        f"kind {name}": question({"id": "one", "kind": name, **kind.example().spec})
        for name, kind in KINDS.items()
    },
    "two questions": collection(CHOICE, {**OTHER, "retention_days": 7, "reports_per_person": 2}),
    "a period": question(MEMO, memo="period", period_days=7, retention_days=30),
    "rounds": question(ROUNDS),
    "a later round": later_round(question(ROUNDS)),
    "linked": collection(CHOICE, OTHER, linked=["one", "two"], admission="invited"),
    "a revision": collection(CHOICE, revision=3, previous=DIGEST, series_epsilon=12.5),
    "some questions": asked(CHOICE, OTHER, THIRD, questions=2),
    "some days": asked(CHOICE, OTHER, THIRD, questions=1, days=30, starts="2026-02-28"),
    "groups": collection(CHOICE, groups={"country": ["DE", "FR", "other"], "os": ["x", "other"]}),
    "a relay": relayed(turn_hours=6),
    "blind tokens": issued(),
}
# Members that a contract may say otherwise and be one: the walk reaches each of them.
FREE = {
    "admission", "ask.days", "ask.questions", "ask.starts", "contact", "groups", "groups.country",
    "groups.os", "issuer.url", "linked",
    "name", "previous", "questions", "questions.id", "questions.labels", "questions.parent",
    "questions.parts.id", "questions.parts.labels", "questions.period_days",
    "questions.reports_per_person", "questions.retention_days", "questions.round",
    "questions.text", "relay.crowd", "relay.days", "relay.turn_hours", "relay.url", "revision",
    "series", "series_epsilon",
}  # fmt: skip

# Members that hold others, some of which may be left out.
HOLDERS = {"ask", "relay", "questions.parts"}


def changed(value: Any) -> Iterator[Any]:
    """Yield values next to one, and values of other types."""
    if isinstance(value, bool) or value is None:
        yield from (7, "x", ["x"], [20.0])
    elif isinstance(value, (int, float)):
        yield from (value + 1, value - 1, value * 2, None)
    elif isinstance(value, str):
        yield from (f"{value}x", value[:-1], None, "invited", "2026-03-01", f"{value[:-1]}0")
        yield from [str(int(value) + 1)] if value.isdigit() else []
    elif isinstance(value, list):
        yield from (value[::-1], value[:-1], [*value, *value[-1:]], None)
    else:
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
            yield {f"{k}_" if k == key else k: v for k, v in value.items()}


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every value of a contract, with the way to it; of long lists both ends."""
    yield path, value
    if isinstance(value, dict):
        for key, member in value.items():
            yield from places(member, (*path, key))
    if isinstance(value, list):
        for place, member in enumerate(value):
            if place < 3 or place == len(value) - 1:
                yield from places(member, (*path, place))


def put(plain: Any, path: Path, value: Any) -> Any:
    """Return a copy with another value at a place."""
    if not path:
        return value
    other = copy.copy(plain)
    other[path[0]] = put(plain[path[0]], path[1:], value)
    return other


def neighbours(one: Collection) -> Iterator[tuple[str, Any, Collection]]:
    """Yield the contracts that differ from one in one place: where, what they say, what is read."""
    plain = json.loads(one.canonical())
    for path, value in places(plain):
        name = ".".join(step for step in path if isinstance(step, str))
        for other in changed(value):
            said = put(plain, path, other)
            try:
                yield name, said, Collection.from_contract(said)
            except InputError:
                continue


@pytest.mark.parametrize("one", FULL.values(), ids=FULL)
def test_what_a_contract_says_is_read_and_digested(one: Collection) -> None:
    for name, said, other in neighbours(one):
        assert json.loads(other.canonical()) == said, name
        same = canonical_json(said) == one.canonical()  # a list may be its own reverse
        assert (other.digest == one.digest) == (other == one) == same, name
        assert other.digest == hashlib.sha256(canonical_json(said)).hexdigest(), name
    assert Collection.from_contract(one.contract()) == one
    assert Collection.from_json(one.canonical()).contract() == one.contract()


def test_the_walk_changes_every_member_that_is_free() -> None:
    reached = {name for one in FULL.values() for name, _, _ in neighbours(one)}
    assert {name for name in reached if ".mechanism" not in name} == FREE | {"", *HOLDERS}


WISHED: dict[str, tuple[object, object]] = {
    "id": ("one", "uno"),
    "text": ("a", "b"),
    "labels": (["x", "y"], ["y", "x"]),
    "epsilon": (1.0, 1.0000001),
    "mechanism": ("randomized-response", "unary"),
    "reports_per_person": (1, 2),
    "retention_days": (1, 2),
}
NOT_SAID = {"column": ("a", "b")}


@pytest.mark.parametrize("key", [*WISHED, *NOT_SAID])
def test_what_a_file_says_of_a_question_is_promised_or_guides_only(key: str) -> None:
    one, other = (question(**{key: value}) for value in {**WISHED, **NOT_SAID}[key])
    assert (one.digest != other.digest) == (key in WISHED)


def test_how_many_people_are_expected_is_no_promise() -> None:
    assert collection(users=5).digest == collection(users=10**12).digest == collection().digest
