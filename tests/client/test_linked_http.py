"""Linked questions through a collector: who answers or looks on is told that reports may meet."""

from __future__ import annotations

import json
from pathlib import Path

from rumor.collector.http.server import background
from rumor.collector.overview import overview
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.contract.collection import Collection
from rumor.privacy.promise import collection_promise
from tests.client.test_http_client import Answered
from tests.client.test_http_client import answer as answer  # the fixture
from tests.contract.test_linking import TOML


def test_the_command_and_the_dashboard_say_that_reports_may_be_joined(
    tmp_path: Path, answer: Answered
) -> None:
    contract = Collection.from_toml(TOML)
    said = collection_promise(contract).linking_in_words()
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(contract)
    assert overview(store, entry, [entry])["asks"] == said
    with background(Service(store, contract.series)) as url:
        status, out, err = answer(url, "--json", given="smokes=no\ndrinks=some\n")
    assert (status, err) == (0, f"{said}\n")
    assert json.loads(out)["sent"] == 2
    # Joined or not, both are debited.
    assert json.loads(out)["spent"] == collection_promise(contract).most
