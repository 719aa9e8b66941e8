"""Groups in browsers: the same contracts, the same numbers, the same rules as in Python."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from rumor.client.respondent import Respondent
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from tests.collector.test_groups import LISTS, grouped, revision
from tests.contract.test_groups import ODD
from tests.contract.test_limits import CHOICE, RELAY, ROUNDS
from tests.contract.test_limits import collection as limits
from tests.javascript import parsed, steps
from tests.needs import needs

needs("node")
WIDE = {"a": ODD, "b": ["other", "x"]}
PAIRS: list[dict[str, object]] = [
    {"a": label, "b": other} for label, other in itertools.product(ODD, ("other", "x"))
]
GIVEN: list[dict[str, object]] = [
    {},
    *PAIRS,
    {"a": "e\u0301"},
    {"a": "A,B"},
    {"a": None, "b": "x"},
    {"a": "toString"},
    {"a": 7},
]


def test_both_number_groups_alike() -> None:
    contract = grouped(WIDE)
    assert contract.groups is not None
    wanted = [contract.groups.stratum(given) for given in GIVEN]
    prepared = [
        {"step": "prepare", "answers": {"colour": "red"}, "groups": given} for given in GIVEN[:3]
    ]
    digest, _, *made, state = steps(
        parsed(contract), {"step": "open"}, *prepared, {"step": "state"}
    )
    assert digest == contract.digest
    assert [one[0]["question"] for one in made] == ["colour"] * 3
    assert [row["stratum"] for row in state["pending"]] == wanted[:3]
    each: list[dict[str, object]] = [parsed(contract)]
    for number, given in enumerate(GIVEN):
        each.append({"step": "open", "as": f"p{number}"})
        answers = {"colour": "red"}
        each.append({"step": "prepare", "by": f"p{number}", "answers": answers, "groups": given})
    each += [{"step": "state", "store": f"p{number}"} for number in range(len(GIVEN))]
    found = steps(*each)[-len(GIVEN) :]
    assert [state["pending"][0]["stratum"] for state in found] == wanted


@pytest.mark.parametrize("groups", [{"c": "x"}, {"__proto__": "x"}, {"a": "x", "A": "x"}])
def test_both_refuse_names_that_the_contract_lacks(
    groups: Mapping[str, str], tmp_path: Path
) -> None:
    contract = grouped(WIDE)
    refused = steps(
        parsed(contract),
        {"step": "open"},
        {"step": "prepare", "answers": {"colour": "red"}, "groups": groups},
    )[-1]
    assert refused["code"] == "answer"
    with Respondent(tmp_path) as device, pytest.raises(InputError, match="named as one of a, b"):
        device.prepare(contract, {"colour": "red"}, groups=groups)


def test_groups_of_a_contract_without_any_are_refused() -> None:
    refused = steps(
        parsed(grouped(None)),
        {"step": "open"},
        {"step": "prepare", "answers": {"colour": "red"}, "groups": {"country": "DE"}},
    )[-1]
    assert (refused["code"], "has no groups" in refused["error"]) == ("answer", True)


def wrong() -> list[object]:
    """Contracts whose groups are none."""
    plain = json.loads(grouped().canonical())
    relayed = json.loads(limits(CHOICE, relay=RELAY).canonical())
    rounds = json.loads(limits(ROUNDS).canonical())
    pairs = {"kind": "keyvalue", "keys": ["maps", "mail"], "low": 0, "high": 6, "epsilon": 2.0}
    options = {"kind": "set", "labels": ["bus", "car"], "epsilon": 2.0}
    apps = json.loads(limits({"id": "q", **pairs}, {"id": "r", **options}).canonical())
    two = ["other", "x"]
    lists: list[object] = [
        *(None, {}, [], "DE", 1, True, {"a": []}, {"a": ["other"]}, {"a": ["x", "y"]}),
        *({name: two} for name in ("A", "_a", "1a", "a-b", "", "a" * 65, "id", "day", "colour")),
        *({"a": ["other", label]} for label in ("", "other", " x", "x ", "\u2003x", "e\u0301")),
        *({"a": ["other", label]} for label in (1, None, "\x00", "x" * 201)),
        {f"g{number}": two for number in range(10)},
    ]
    return [
        *({**plain, "groups": groups} for groups in lists),
        *({**each, "groups": {"a": two}} for each in (relayed, rounds)),
        *({**apps, "groups": {name: two}} for name in ("maps", "bus", "r")),
    ]


def test_both_refuse_the_same_contracts() -> None:
    tried = wrong()
    for one in tried:
        with pytest.raises(InputError):
            Collection.from_contract(one)
    refused = steps(*({"step": "parse", "contract": one} for one in tried))
    assert [one["code"] for one in refused] == ["contract"] * len(tried)


def test_both_take_the_same_contracts() -> None:
    two = ["other", "x"]
    lists = [
        LISTS,
        {"a": ["other", "\ufeffx"]},
        {"a": ["x" * 200, "other"], "colours": two},
        {f"g{number}": two for number in range(9)},
        {"a": ["other", "\U0001f600" * 200]},
    ]
    tried = [grouped(each) for each in lists]
    assert steps(*map(parsed, tried)) == [one.digest for one in tried]


@pytest.mark.parametrize(
    ("before", "after", "taken"),
    [
        (LISTS, {"country": ["other", "DE"]}, True),
        (LISTS, None, True),
        (None, {"country": ["DE", "other"]}, False),
        (LISTS, {"country": ["DE", "FR", "IT", "other"]}, False),
        (LISTS, {"constructor": ["DE", "other"]}, False),
    ],
)
def test_a_revision_tells_no_more_groups_apart(
    before: Mapping[str, list[str]] | None, after: Mapping[str, list[str]] | None, taken: bool
) -> None:
    first = grouped(before)
    found = steps(
        parsed(first, **{"as": "first"}),
        parsed(revision(first, after), **{"as": "second"}),
        {"step": "open"},
        {"step": "prepare", "of": "first", "answers": {"colour": "red"}},
        {"step": "prepare", "of": "second", "answers": {"colour": "red"}},
    )[-1]
    if taken:
        assert found[0]["question"] == "colour"
    else:
        assert found["code"] == "revision"
        assert "groups apart in the clear and this revision more" in found["error"]


def test_reports_of_a_browser_arrive_in_their_groups(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(grouped())
    lands = ("DE", "FR", "IT")
    with background(Service(store, "a")) as url:
        made = [
            {"step": "prepare", "answers": {"colour": "red"}, "groups": {"country": land}}
            for land in lands
        ]
        sent = {"step": "send", "url": url}
        fetched = {"step": "fetch", "url": f"{url}/v1/collection"}
        outcome = steps(fetched, {"step": "open"}, *made, sent)[-1]
        assert (outcome["accepted"], outcome["pending"]) == (3, 0)
    store.summarize()
    assert store.reports_by_stratum(entry, "colour") == {1: 1, 3: 1, 5: 1}
    store.close()
