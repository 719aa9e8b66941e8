"""Browsers take and refuse the same declarations of linked questions as Python."""

from __future__ import annotations

import json

import pytest

from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from tests.contract.test_linking import MISTAKES, OTHERS, TOML, wish
from tests.javascript import parsed, steps
from tests.needs import needs

needs("node")


def test_both_know_the_same_contract() -> None:
    contract = Collection.from_toml(TOML)
    among_others = Collection.resolve(wish(["b", "a"], *OTHERS))
    one_day = Collection.resolve(wish(["a", "b"], ask={"days": 2}))
    tried = [contract, among_others, one_day]
    assert steps(*map(parsed, tried)) == [one.digest for one in tried]


def test_both_refuse_the_same_contracts() -> None:
    contract = json.loads(Collection.resolve(wish(["a", "b"], *OTHERS)).canonical())
    tried = [{**contract, "linked": linked, **more} for linked, more, _ in MISTAKES]
    tried.append({**contract, "linked": None})
    for one in tried:
        with pytest.raises(InputError):
            Collection.from_contract(one)
    refused = steps(*({"step": "parse", "contract": one} for one in tried))
    assert [one["code"] for one in refused] == ["contract"] * len(tried)
    assert all("linked" in one["error"] for one in refused)
