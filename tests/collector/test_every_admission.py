"""Open, invited, blind, through a relay: each way in keeps the same promises, in each store.

The rows of a commit are in the order of their random ids, whichever way they took and whatever was
sent again beside them; a report that comes again counts once; a token is used once, by the commit
that takes its report.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rumor.collector.gateway import Gateway
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import (
    BatchAccepted,
    IdConflict,
    Outcome,
    ReportBatch,
    Store,
    StoredCollection,
    TokenRefused,
    open_store,
)
from rumor.collector.store.sql import SqlStore
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.admission import TOKEN_BYTES, admission_key
from rumor.contract.collection import Collection
from tests.collector.tools import Answer, as_json, call, collection, send
from tests.issuers import blind_collection, made_token
from tests.relay.tools import PRIVATE, PUBLIC, kind_of, relayed

WAYS = ("open", "invited", "blind", "relayed")
COUNT = 12


def contract_of(way: str) -> Collection:
    """A collection that takes its reports this way, with a question of one byte."""
    if way == "relayed":
        return relayed(crowd=1001)
    if way == "blind":
        return blind_collection()
    if way == "open":
        return collection()
    wish = {"name": "Members", "series": "series", "contact": "x", "admission": "invited"}
    asked = {"id": "colour", "kind": "choice", "labels": ["red", "green", "blue"], "epsilon": 1.0}
    return Collection.resolve({**wish, "questions": [asked]})


def token_of(number: int) -> bytes:
    """The token of the person of a number."""
    return hashlib.shake_256(f"token {number}".encode()).digest(TOKEN_BYTES)


def one_row(number: int) -> tuple[bytes, bytes]:
    """An id, the higher the earlier it comes, and a report."""
    id = bytes([255 - number]) + hashlib.shake_256(f"id {number}".encode()).digest(15)
    return id, bytes([number % 2])


def batches_of(
    store: Store, entry: StoredCollection, way: str, numbers: Sequence[int]
) -> list[ReportBatch]:
    """Batches of one report each, as this way hands them to a store."""
    found = []
    for number in numbers:
        row = np.frombuffer(b"".join(one_row(number)), np.uint8).reshape(1, -1)
        key = None
        if way == "invited":
            key = admission_key("series", "colour", token_of(number))
            store.admit("series", [key])
        found.append(ReportBatch(entry.questions["colour"], row, key))
    return found


def table(store: Store, columns: str, of: str, order: str) -> list[tuple[Any, ...]]:
    """The rows of a table, in an order."""
    assert isinstance(store, SqlStore)
    with store.database.reading() as run:
        rows = run(f"SELECT {columns} FROM {of} ORDER BY {order}")
    return [tuple(bytes(c) if isinstance(c, memoryview) else c for c in row) for row in rows]


def ids_in_order(store: Store) -> list[bytes]:
    return [bytes(id) for (id,) in table(store, "id", "report", "number")]


@pytest.mark.one_store
@pytest.mark.parametrize("way", WAYS)
class TestStore:
    def test_a_commit_tells_no_order_of_arrival(self, store: Store, way: str) -> None:
        entry = store.register(contract_of(way))
        batches = batches_of(store, entry, way, range(COUNT))
        assert store.write(batches) == [BatchAccepted(1, 0)] * COUNT
        assert ids_in_order(store) == sorted(one_row(i)[0] for i in range(COUNT))

    def test_nor_does_a_commit_with_something_that_came_before(
        self, store: Store, way: str
    ) -> None:
        entry = store.register(contract_of(way))
        first = batches_of(store, entry, way, [0])
        assert store.write(first) == [BatchAccepted(1, 0)]
        rest = batches_of(store, entry, way, range(1, COUNT))
        assert store.write([*first, *rest]) == [
            BatchAccepted(0, 1),
            *[BatchAccepted(1, 0)] * (COUNT - 1),
        ]
        later = sorted(one_row(i)[0] for i in range(1, COUNT))
        assert ids_in_order(store) == [one_row(0)[0], *later]

    def test_what_comes_again_counts_once_and_other_bytes_are_refused(
        self, store: Store, way: str
    ) -> None:
        entry = store.register(contract_of(way))
        (one,) = batches_of(store, entry, way, [0])
        other = one.rows.copy()
        other[0, -1] ^= 1
        asked: list[tuple[list[ReportBatch], list[Outcome]]] = [
            ([one, one], [BatchAccepted(1, 0), BatchAccepted(0, 1)]),
            ([one], [BatchAccepted(0, 1)]),
            ([replace(one, rows=other)], [IdConflict((0,))]),
            ([replace(one, rows=other), one], [IdConflict((0,)), BatchAccepted(0, 1)]),
        ]
        for batches, outcomes in asked:
            assert store.write(batches) == outcomes
        id, report = one_row(0)
        assert table(store, "id, report", "report", "number") == [(id, report)]
        if way == "invited":
            assert store.admissions("series") == 0
            (second,) = batches_of(store, entry, "open", [1])
            assert store.write([replace(second, admission=one.admission)]) == [TokenRefused()]


@pytest.mark.one_store
def test_a_token_that_is_refused_or_not_needed_stays(store: Store) -> None:
    entry = store.register(contract_of("invited"))
    one, two = batches_of(store, entry, "invited", [0, 1])
    assert store.write([one]) == [BatchAccepted(1, 0)]
    # The same report with another token, and a token for what is in conflict: neither is spent.
    assert store.write([replace(one, admission=two.admission)]) == [BatchAccepted(0, 1)]
    other = one.rows.copy()
    other[0, -1] ^= 1
    assert store.write([replace(two, rows=other)]) == [IdConflict((0,))]
    assert table(store, "key", "admission", "key") == [(two.admission,)]
    assert store.write([two]) == [BatchAccepted(1, 0)]
    assert table(store, "key", "admission", "key") == []


def sender(way: str, url: str, contract: Collection, token: str) -> Callable[..., Answer]:
    """Return how the report of a number is sent this way: with other bytes, or as it is."""

    blind: dict[int, tuple[bytes, str]] = {}

    def sent(number: int, *, other: bool = False) -> Answer:
        id, report = one_row(number)
        report = bytes([report[0] ^ 1]) if other else report
        if way == "relayed":
            sealed = kind_of(contract).seal(id, None, report)
            headers = {
                "Content-Type": "application/vnd.rumor.envelopes",
                "Rumor-Collection": contract.digest,
                "Rumor-Question": "colour",
                "Authorization": f"Bearer {token}",
            }
            return call(url, "/v1/batches", sealed, headers)
        extra = {}
        if way == "invited":
            extra = {"Rumor_Token": token_of(number).hex()}
        if way == "blind":
            id, shown = blind.setdefault(number, made_token("colour"))
            extra = {"Rumor_Token": shown}
        return send(url, contract, "colour", id + report, **extra)

    return sent


@pytest.mark.one_store
@pytest.mark.parametrize("way", WAYS)
def test_over_http_each_way_takes_each_report_once(
    store_url: str, way: str, tmp_path: Path
) -> None:
    store, contract = open_store(store_url), contract_of(way)
    entry = store.register(contract)
    store.admit("series", [admission_key("series", "colour", token_of(i)) for i in range(3)])
    token = add_token(tmp_path / "relays", "relay")
    gateway = Gateway({PUBLIC: PRIVATE}, Tokens(tmp_path / "relays")) if way == "relayed" else None
    service = Service(store, contract.series, gateway=gateway)
    with background(service) as url:
        sent = sender(way, url, contract, token)
        new, again = {"accepted": 1, "duplicates": 0}, {"accepted": 0, "duplicates": 1}
        # A relay hears how many it handed over, and nothing of what became of them.
        wanted = [{"taken": 1}] * 3 if way == "relayed" else [new, again, new]
        assert [sent(number).json() for number in (0, 0, 1)] == wanted
        conflict = sent(0, other=True)
        counts = dict(service.metrics.reports)
        assert (counts["accepted"], counts["duplicate"]) == (2, 1)
        if way == "relayed":
            assert conflict.json() == {"taken": 1}
            assert (counts["refused"], counts["dropped"]) == (0, 1)
        else:
            assert (conflict.status, conflict.problem) == (409, "id-conflict")
            assert (counts["refused"], counts["dropped"]) == (1, 0)
        check_tokens(way, url, contract)
        kept = table(store, "question, id", "report", "number")
        assert [question for question, _ in kept] == [entry.questions["colour"]] * 2
        left = {"invited": 1}.get(way, 3)
        assert store.admissions("series") == left


def check_tokens(way: str, url: str, contract: Collection) -> None:
    """Whoever has no token, or another's, is refused where one is asked for."""
    if way not in ("invited", "blind"):
        return
    id, report = one_row(9)
    right = 2 * TOKEN_BYTES if way == "invited" else len(made_token("colour")[1])
    other = made_token("home")[1] if way == "blind" else token_of(0).hex()
    for wrong in ("", "00", "x" * right, "0" * right, other):
        answer = send(url, contract, "colour", id + report, Rumor_Token=wrong)
        assert (answer.status, answer.problem) == (403, "not-admitted")
    two = send(url, contract, "colour", 2 * (id + report), Rumor_Token="0" * right)
    assert (two.status, two.problem) == (403, "not-admitted")


@pytest.mark.one_store
def test_a_body_of_many_tells_no_order_either(store: Store) -> None:
    entry = store.register(contract_of("open"))
    flat = b"".join(b"".join(one_row(i)) for i in range(COUNT))
    records = np.frombuffer(flat, np.uint8).reshape(COUNT, -1)
    with background(Service(store, "series")) as url:
        half = records[: COUNT // 2]
        assert send(url, entry.collection, "colour", half.tobytes()).status == 200
        document = json.dumps(as_json("colour", records)).encode()
        headers = {"Content-Type": "application/json", "Rumor-Collection": entry.collection.digest}
        answer = call(url, "/v1/reports", document, headers)
        assert answer.json() == {"accepted": COUNT // 2, "duplicates": COUNT // 2}
        ids = [row[:16].tobytes() for row in records]
        assert ids_in_order(store) == [*sorted(ids[: COUNT // 2]), *sorted(ids[COUNT // 2 :])]
