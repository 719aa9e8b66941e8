"""Long lists: how many values stand out from noise, and those whose names contain a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.kinds import KINDS
from rumor.kinds.word_estimate import WordEstimate
from rumor.results.selection import RankedRows
from rumor.results.view import View
from tests.answers.plain import difference
from tests.collector.tools import batch, call
from tests.results import made

LABELS = [f"Place {i}" for i in range(400)]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("order", ["estimate", "given"])
def test_values_above_noise_are_the_rows_whose_intervals_lie_above_zero(
    name: str, order: str
) -> None:
    estimate: Any = made.estimated(name)
    is_ranked = isinstance(estimate, RankedRows)
    assert is_ranked == hasattr(estimate, "above_noise")
    if not is_ranked:
        return
    view = View(order=order)
    rows = estimate.to_dict(view)["estimates"]
    found = sum(row["low"] is not None and row["low"] > 0 for row in rows)
    if isinstance(estimate, WordEstimate):
        found = sum(row["detected"] for row in rows)
    assert estimate.above_noise(view) == found


def test_a_list_is_searched_by_the_collector(tmp_path: Path) -> None:
    asked = {"id": "place", "kind": "choice", "labels": LABELS, "epsilon": 3.0, "text": "Where?"}
    number = {"id": "hours", "kind": "number", "low": 0, "high": 9, "epsilon": 1.0, "text": "n?"}
    about = {"name": "Places", "series": "places", "contact": "a@b.example"}
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(Collection.resolve({**about, "questions": [asked, number]}))
    draws = np.random.default_rng(3).zipf(1.5, 9_000) % 400
    store.write([batch(entry, "place", draws), batch(entry, "hours", [4.0] * 30)])
    headers = {"Authorization": f"Bearer {add_token(tmp_path / 'tokens', 'alice')}"}
    service = Service(store, "places", tokens=Tokens(tmp_path / "tokens"))
    with background(service) as url:

        def ask(query: str) -> Any:
            answer = call(url, f"/v1/estimates/place?order=estimate&{query}", headers=headers)
            assert answer.status == 200, answer.body
            return answer.json()

        everything = ask("looks=any")
        rows = {row["value"]: row for row in everything["estimates"]}
        out = [row["value"] for row in everything["estimates"] if row["low"] > 0]
        assert everything["above_noise"] == {"values": len(out), "of": 400}
        assert 2 < len(out) < 100
        found = ask("looks=any&find=PLACE+39&rows=3")
        # Place 39 and 390 to 399: of eleven, the three that came out highest, as they were.
        assert found["found"] == 11
        assert found["above_noise"] == everything["above_noise"]
        names = ["Place 39", *(f"Place 39{i}" for i in range(10))]
        first = [value for value in rows if value in names][:3]
        assert not difference(found["estimates"], [rows[value] for value in first])
        assert ask("find=nowhere")["estimates"] == []
        refused = call(url, "/v1/estimates/hours?find=4", headers=headers)
        assert (refused.status, refused.problem) == (422, "invalid-query")
        assert "find needs a question whose answers have names" in refused.json()["detail"]
