"""Every kind of question from the device to the analyst, PrivKVM's rounds among them."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.collector.http.server import background
from rumor.collector.next_round import advance, chain
from rumor.collector.service import Service
from rumor.collector.store.base import open_store, today
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.papers.frequency import published_tables
from rumor.papers.keyvalue import data_set
from tests.collector.tools import call, rows, send

EXAMPLES = Path(__file__).parents[2] / "examples"


class Place:
    """A collector for one collection, with a device and an analyst."""

    def __init__(self, tmp_path: Path, contract: Collection, words: list[str] | None) -> None:
        self.store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        self.entry = self.store.register(contract)
        self.token = add_token(tmp_path / "tokens", "alice")
        tokens = Tokens(tmp_path / "tokens")
        self.service = Service(self.store, contract.series, tokens=tokens, dictionary=words)

    def estimate(self, url: str, question: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = call(url, f"/v1/estimates/{question}", headers=headers)
        assert answer.status == 200, answer.body
        document: dict[str, Any] = answer.json()
        return document


@pytest.mark.parametrize(
    ("example", "question", "value", "words"),
    [
        ("commute.toml", "minutes", 35.0, None),
        ("app-usage.toml", "apps", {"Maps": 1.5, "Chat": 2.0}, None),
        ("words.toml", "engine", "duckduckgo", ["duckduckgo", "google", "ecosia"]),
        ("survey.toml", "medicine", 12, None),
    ],
)
def test_the_examples_go_all_the_way(
    tmp_path: Path, example: str, question: str, value: object, words: list[str] | None
) -> None:
    contract = Collection.load(EXAMPLES / example)
    place = Place(tmp_path, contract, words)
    with background(place.service) as url:
        for number in range(3):
            with rumor.Client(url, tmp_path / str(number)) as client:
                assert client.answer({question: value}).sent == 1
        document = place.estimate(url, question)
        assert document["reports"] == 3
        assert isinstance(document["estimates"], list)


def test_words_need_a_dictionary(tmp_path: Path) -> None:
    place = Place(tmp_path, Collection.load(EXAMPLES / "words.toml"), None)
    with background(place.service) as url:
        with rumor.Client(url, tmp_path / "device") as client:
            client.answer({"engine": "ecosia"})
        headers = {"Authorization": f"Bearer {place.token}"}
        answer = call(url, "/v1/estimates/engine", headers=headers)
        assert (answer.status, answer.problem) == (422, "invalid-query")
        assert "--dictionary" in answer.json()["detail"]


def test_rounds_are_advanced_and_served(tmp_path: Path) -> None:
    question = {
        "id": "apps",
        "kind": "keyvalue",
        "keys": ["maps", "mail", "chat"],
        "low": 0,
        "high": 1,
        "epsilon": 8.0,
        "mechanism": {"name": "privkvm", "rounds": 3},
        "reports_per_person": 3,
    }
    contract = Collection.resolve(
        {"name": "Rounds", "series": "rounds", "contact": "x", "questions": [question]}
    )
    place = Place(tmp_path, contract, None)
    store = place.store
    # Everybody holds maps (0.8), half hold mail (0.2), nobody holds chat.
    people = np.full((4000, 3), np.nan)
    people[:, 0], people[::2, 1] = 0.8, 0.2
    with pytest.raises(rumor.InputError, match="at least one report to be advanced"):
        advance(store, contract.digest)
    with background(place.service) as url, rumor.Client(url, tmp_path / "device") as client:
        assert client.answer({"apps": {"maps": 0.8}}).sent == 1
        first = rows(place.entry, "apps", people)
        assert send(url, contract, "apps", first.tobytes()).status == 200
        entry, seen = place.entry, []
        for number in (2, 3):
            following = advance(store, entry.collection.digest)
            with pytest.raises(rumor.InputError, match="only the newest round"):
                advance(store, entry.collection.digest)
            mechanism = following.collection.question().mechanism
            assert isinstance(mechanism, rumor.PrivKVM)
            assert (mechanism.round, mechanism.parent) == (number, entry.collection.digest)
            # The device asks again and answers the new round; its ledger holds all.
            place.service._checked = -1e9
            assert client.refresh() == following.collection
            assert client.answer({"apps": {"maps": 0.8}}).sent == 1
            body = rows(following, "apps", people).tobytes()
            assert send(url, following.collection, "apps", body).status == 200
            entry = following
            seen.append(place.estimate(url, "apps"))
        with pytest.raises(rumor.InputError, match="ends with round 3"):
            advance(store, entry.collection.digest)
        document = seen[-1]
        found = {row["value"]: row for row in document["estimates"]}
        assert document["reports"] == 12003
        assert document["method"].endswith("means of round 3")
        # Shares are those of round 1 whatever the round; means come with intervals.
        for before, now in zip(seen[0]["estimates"], document["estimates"], strict=True):
            assert before["frequency"] == now["frequency"]
        for key, mean in (("maps", 0.8), ("mail", 0.2)):
            assert found[key]["mean_low"] <= mean <= found[key]["mean_high"]
            assert found[key]["mean_high"] - found[key]["mean_low"] < 0.5
        # A window is about the round that is asked for; those before it count whole.
        later = today() + datetime.timedelta(days=2), None
        parts = chain(store, entry, "apps", later) or []
        assert [part.reports for part in parts] == [4001, 4001, 0]
        assert found["maps"]["frequency"] > 0.9
        assert found["mail"]["frequency"] == pytest.approx(0.5, abs=0.1)
        assert found["maps"]["mean"] == pytest.approx(0.8, abs=0.1)


@pytest.mark.slow
def test_three_rounds_through_a_collector_have_the_published_error(tmp_path: Path) -> None:
    """Table 2, PrivKVM3 at epsilon 3: 100,000 people, shares within trial error."""
    table = published_tables("privkv-em")
    f, m = data_set("gaussian")
    question = {
        "id": "apps",
        "kind": "keyvalue",
        "keys": [f"key{number}" for number in range(f.size)],
        "epsilon": table["epsilons"][4],
        "mechanism": {"name": "privkvm", "rounds": 3},
    }
    contract = Collection.resolve(
        {"name": "Rounds", "series": "rounds", "contact": "x", "questions": [question]}
    )
    place = Place(tmp_path, contract, None)
    people = np.where(np.random.default_rng(49).random((100_000, f.size)) < f, m, np.nan)
    with background(place.service) as url:
        entry = place.entry
        for number in (1, 2, 3):
            for part in np.array_split(people, 50):
                body = rows(entry, "apps", part).tobytes()
                assert send(url, entry.collection, "apps", body).status == 200
            if number < 3:
                entry = advance(place.store, entry.collection.digest)
                place.service._checked = -1e9
        served = place.estimate(url, "apps")
    parts = chain(place.store, entry, "apps", (None, None)) or []
    mechanism = parts[-1].mechanism
    assert isinstance(mechanism, rumor.PrivKVM)
    found = rumor.estimate(mechanism, parts, method="calibration")
    published = table["by_epsilon"]["gaussian"]["PrivKVM3"][4]
    error = published * np.sqrt(2 / f.size * (1 + 1 / table["trials"]))
    assert abs(1e4 * np.mean((found.frequency - f) ** 2) - published) < 3 * error
    assert served["reports"] == 300_000
    shown = np.array([row["frequency"] for row in served["estimates"]])
    assert 1e4 * np.mean((shown - f) ** 2) < published
