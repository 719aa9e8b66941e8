"""What a device's client refuses, with the exact sentence, and what then stays as it was."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pytest

import rumor
from rumor.client import deadline
from rumor.client.client import Client
from rumor.client.ledger import Ledger
from rumor.client.transport import Refused, Transport
from rumor.core.errors import InputError, UnavailableError
from tests.collector.tools import collection


@pytest.mark.parametrize(
    ("limit", "said"), [(0, "0"), (-1, "-1"), (-0.5, "-0.5"), (float("nan"), "nan")]
)
def test_a_limit_is_above_nothing(tmp_path: Path, limit: float, said: str) -> None:
    with pytest.raises(InputError) as found:
        rumor.Respondent(tmp_path / "device", max_epsilon=limit)
    assert str(found.value) == f"max_epsilon must be a number above 0; got {said}"
    assert not (tmp_path / "device").exists()
    rumor.Respondent(tmp_path / "device", max_epsilon=5e-324).close()


def test_a_contract_may_be_a_file(tmp_path: Path) -> None:
    contract = collection()
    contract.save(tmp_path / "contract.json")
    for given in (str(tmp_path / "contract.json"), tmp_path / "contract.json"):
        with Client("http://127.0.0.1:9", tmp_path / "device", collection=given) as client:
            assert client.collection() == contract
    with pytest.raises(InputError) as found:
        Client("http://127.0.0.1:9", tmp_path / "other", collection=given, digest="0" * 64)
    assert contract.digest in str(found.value)


def test_a_collector_that_serves_no_contract_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Transport) -> None:
        raise Refused("not-found", "a path must be one of few; got another")

    monkeypatch.setattr(Transport, "collection", refuse)
    with (
        Client("http://127.0.0.1:9", tmp_path / "device") as client,
        pytest.raises(InputError) as found,
    ):
        client.collection()
    assert str(found.value) == (
        "a collector must serve a contract; http://127.0.0.1:9 does not (a path must be one of "
        "few; got another)"
    )


def test_a_deadline_that_has_passed_leaves_nothing() -> None:
    assert 0 < deadline._left(time.monotonic() + 5) <= 5
    for late in (0.0, 1e-9, 5.0):
        with pytest.raises(TimeoutError, match=r"^timed out$"):
            deadline._left(time.monotonic() - late)


def test_a_ledger_writes_nothing_where_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.sqlite3"
    ledger = Ledger(path)

    def write() -> None:
        with ledger.transaction():
            ledger.note("written", b"epoch")

    def events() -> int:
        with sqlite3.connect(path) as database:
            ((count,),) = database.execute("SELECT COUNT(*) FROM event")
        database.close()
        return int(count)

    write()
    assert events() == 1

    def fail() -> None:
        with ledger.transaction():
            ledger.note("undone", b"epoch")
            ledger._database.execute("SELECT * FROM missing")

    with pytest.raises(UnavailableError) as busy:
        fail()
    assert str(busy.value) == (
        f"the ledger {str(path)!r} cannot be written just now (no such table: missing)"
    )
    assert events() == 1
    with monkeypatch.context() as patch:
        here = os.getpid()
        patch.setattr(os, "getpid", lambda: here + 1)
        with pytest.raises(InputError) as forked:
            write()
    assert str(forked.value) == (
        "a ledger must be opened anew after a fork; this one is the parent's"
    )
    assert events() == 1
    write()
    assert events() == 2
    ledger.close()
