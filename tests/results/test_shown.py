"""What a prompt shows of an object that keeps some of its fields to itself: names and numbers."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest

import rumor
from rumor.mechanisms.summary import Summary

# What may be shown: plain values, and objects that are short themselves.
PLAIN = {"str", "int", "float", "bool", "None", "object", "datetime", "date", "Path"}
HOLDING = {"tuple", "list", "dict", "frozenset", "Sequence", "Mapping"}
SHORT = {
    *("Mechanism", "Summary", "Scale", "Parts", "Kept", "PairEstimate", "OmnibusTest"),
    *("DesignEffects", "CombinedGroup", "ReportedParts", "TermTest", "Part"),
}
# Steps of a regression that nobody is handed, and the periods of a change, which are few.
OTHERS = {
    "FittedModel.coefficients": "Vector",
    "FittedModel.covariance": "Vector",
    "Design.matrix": "Vector",
    "Response.answers": "Any",
    "Change.after_period": "Rows",
}


def partly_hidden() -> Iterator[type]:
    """Yield every dataclass of which some fields are not shown."""
    for found in pkgutil.walk_packages(rumor.__path__, "rumor."):
        if "__main__" in found.name or ".gpu" in found.name or ".cli" in found.name:
            continue
        for one in vars(importlib.import_module(found.name)).values():
            if isinstance(one, type) and one.__module__ == found.name:
                fields = dataclasses.fields(one) if dataclasses.is_dataclass(one) else ()
                if not all(field.repr for field in fields):
                    yield one


def test_only_what_is_short_is_shown() -> None:
    classes = list(partly_hidden())
    assert len(classes) > 20
    for one in classes:
        for field in dataclasses.fields(one):
            if field.repr:
                name = f"{one.__name__}.{field.name}"
                words = set(re.findall(r"[A-Za-z]+", str(field.type)))
                odd = words - PLAIN - HOLDING - SHORT - {OTHERS.get(name)}
                assert not odd, f"{name} is shown: {field.type}"


@pytest.mark.parametrize("ids", [(), ("id-of-a-report",)])
def test_a_summary_shows_neither_counters_nor_ids(ids: tuple[str, ...]) -> None:
    mechanism = rumor.RandomizedResponse(domain=3, epsilon=1.0)
    found = Summary.empty(mechanism).update([bytes([n]) for n in (0, 1, 2, 2)])
    text = repr(dataclasses.replace(found, some_ids=ids))
    assert "reports=4" in text
    assert "tally" not in text
    assert "id" not in re.sub(r"RandomizedResponse\(.*?\)", "", text).replace("invalid", "")
