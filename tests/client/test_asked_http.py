"""One of many through a collector: the client and `rumor answer` ask what was drawn."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

import rumor
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import Store, StoredCollection, open_store
from rumor.contract.collection import Collection
from rumor.contract.sampling import SamplingDesign
from tests.client.test_asked import IDS, collection
from tests.client.test_http_client import Answered
from tests.client.test_http_client import answer as answer  # the fixture


def served(tmp_path: Path, ask: SamplingDesign) -> tuple[Store, StoredCollection, Collection]:
    store, contract = open_store(f"sqlite:///{tmp_path / 'store.db'}"), collection(ask)
    return store, store.register(contract), contract


def reports(store: Store, entry: StoredCollection) -> dict[str, int]:
    found = {id: len(store.newest_reports(entry, id, 9)) for id in IDS}
    return {id: count for id, count in found.items() if count}


def test_a_client_knows_what_it_is_asked(tmp_path: Path) -> None:
    store, entry, contract = served(tmp_path, SamplingDesign(2))
    with background(Service(store, contract.series)) as url:
        with rumor.Client(url, tmp_path / "device") as client:
            asked = client.assignment()
            assert len(asked.questions) == 2
            with pytest.raises(rumor.InputError, match="was not drawn"):
                client.answer(dict.fromkeys(IDS, "a"))
            assert client.answer(dict.fromkeys(asked.questions, "a")).sent == 2
        with rumor.Client(url, tmp_path / "device") as again:
            assert again.assignment() == asked
    assert reports(store, entry) == dict.fromkeys(asked.questions, 1)


def test_the_command_asks_what_was_drawn(tmp_path: Path, answer: Answered) -> None:
    store, entry, contract = served(tmp_path, SamplingDesign(1))
    with background(Service(store, contract.series)) as url:
        status, out, err = answer(url, "--json", given="\n\n")
        assert status == 0
        assert json.loads(out)["sent"] == 0
        with rumor.Respondent(tmp_path / "device") as device:
            (drawn,) = device.assignment(contract).questions
        other = next(id for id in IDS if id != drawn)
        status, out, err = answer(url, other, given="a\n")
        assert (status, out) == (2, "")
        assert err == (
            f"rumor: this device is asked '{drawn}' alone, drawn at random from 5 questions; "
            f"'{other}' was not drawn, and nothing is sent about it\n"
        )
        status, _, err = answer(url, given=f"{other}=a\n")
        assert status == 2
        assert err.startswith("You are asked 1 of 5 questions, drawn at random on this device;")
        status, out, _ = answer(url, "--json", given=f"{drawn}=a\n")
        assert (status, json.loads(out)["sent"]) == (0, 1)
        assert json.loads(out)["asked"] == [drawn]
        assert json.loads(out)["spent"] == contract.question(drawn).epsilon
    assert reports(store, entry) == {drawn: 1}


def test_the_command_says_which_day_it_is(tmp_path: Path, answer: Answered) -> None:
    starts = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=5)
    store, _, contract = served(tmp_path, SamplingDesign(None, 3, starts))
    with background(Service(store, contract.series)) as url:
        status, out, err = answer(url, IDS[0], given="a\n")
    assert (status, out) == (2, "")
    assert "drawn at random from 3 days; today is " in err
    assert err.endswith("so its day has not come\n")
