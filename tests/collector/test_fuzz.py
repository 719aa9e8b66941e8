"""Malformed bodies are refused, every one, and leave no trace; `make soak` sends 100,000."""

from __future__ import annotations

from pathlib import Path

from rumor.collector.store.base import open_store
from tests.collector.fuzzing import fuzz
from tests.collector.tools import collection, stored


def test_malformed_bodies_get_a_refusal_and_nothing_else(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = open_store(url)
    entry = store.register(collection())
    tally = fuzz(store, entry, 3_000, 1, lambda done: None)
    assert tally.wrong == []
    refused = sum(count for status, count in tally.statuses.items() if 400 <= status < 500)
    assert refused + tally.statuses[200] == 3_000
    assert refused > 1_500
    again = open_store(url)
    kept = {
        id + report
        for question in ("colour", "many")
        for id, report in stored(again, entry, question).items()
    }
    assert kept == tally.accepted
    again.close()
