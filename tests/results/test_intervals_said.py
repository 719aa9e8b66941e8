"""A sentence that denies intervals is true of the very result that it belongs to, of every kind."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.results.rows import Tabular
from tests.answers.plain import read
from tests.results.made import RESULTS

_DENIED = re.compile(r"\b(no|without|not have|have no|has no)\b[^.;:,]*\bintervals?\b", re.I)
_ENDS = re.compile(r"(^|_)(low|high)$")


def denials(texts: object) -> list[str]:
    """Return the texts, anywhere in plain data, that deny intervals."""
    if isinstance(texts, str):
        return [texts] if _DENIED.search(texts) else []
    if isinstance(texts, Mapping):
        return denials(list(texts.values()))
    return [each for part in texts for each in denials(part)] if isinstance(texts, list) else []


def ends(data: object, name: str = "") -> Iterator[float]:
    """Yield the ends of intervals in plain data; of a list that is kept in part, those kept."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            if key not in ("of", "sums"):
                yield from ends(value, name if key == "kept" else str(key))
    elif isinstance(data, list):
        for each in data:
            yield from ends(each, name)
    elif isinstance(data, int | float) and _ENDS.search(name):
        yield data


def results(data: object) -> Iterator[Mapping[str, Any]]:
    """Yield every result in plain data: what says which rows its intervals cover."""
    if isinstance(data, Mapping):
        if "covers" in data and "estimates" in data:
            yield data
        for value in data.values():
            yield from results(value)
    elif isinstance(data, list):
        for each in data:
            yield from results(each)


def test_no_kept_answer_denies_intervals_that_it_has() -> None:
    """The kept answers are those of every kind, method, option and verb."""
    kept = list(results(read("answers")))
    assert len(kept) > 150
    for each in kept:
        if not denials([each["covers"], each["explanation"]]):
            continue
        found = [end for part in ("estimates", "histogram") for end in ends(each.get(part, []))]
        assert not found, (each["covers"], each["explanation"])


@pytest.mark.parametrize("name", RESULTS)
def test_no_text_or_chart_denies_intervals_that_its_result_has(name: str) -> None:
    found: Tabular = RESULTS[name]()
    said = [found.table(), found.explain(), found.plot().to_dict()]
    if denials(" ".join(said[0].split())) or denials(" ".join(said[1].split())) or denials(said[2]):
        assert not list(ends(found.to_dict()["estimates"]))


def test_a_channel_without_an_inverse_denies_intervals_and_claims_none() -> None:
    found = rumor.estimate(np.array([[0.6, 0.4], [0.6, 0.4], [0.1, 0.9]]), [30, 40])
    data = found.to_dict()
    assert denials([data["covers"]])
    assert not [end for end in ends(data["estimates"]) if not math.isnan(end)]
    for text in (found.table(), str(found.plot().to_dict()["title"])):
        assert re.findall(r"\bintervals\b", text) == ["intervals"]  # which it denies


def test_a_denial_beside_an_interval_is_found() -> None:
    wrong = {
        "covers": "single bins have no interval",
        "estimates": [{"low": 0.1, "cdf_high": None}],
    }
    (result,) = results({"asked": [wrong]})
    assert denials([result["covers"]])
    assert list(ends(result["estimates"])) == [0.1]
    assert not denials("there is no inverse; intervals are of the population")
