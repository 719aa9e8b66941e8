"""Limits of a collector that have no other test, each at its edge."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rumor.client import client as client_module
from rumor.client.transport import _LONGEST_SENTENCE, _sentence
from rumor.collector import group_commit, issuing
from rumor.collector.backup import export_collection, import_collection
from rumor.collector.group_commit import Writer
from rumor.collector.http import server
from rumor.collector.http.connections import Connection, WaitingRoom
from rumor.collector.http.limits import Limits
from rumor.collector.http.problems import Problem
from rumor.collector.issuing import IssuerService
from rumor.collector.metrics import Metrics
from rumor.collector.store.base import BlindedToken, open_store
from rumor.contract.issuing import CREDENTIAL_BYTES
from rumor.core.errors import InputError
from tests.collector.tools import collection
from tests.issuers import KEYS, blind_collection
from tests.relay.test_gateway import hand_over
from tests.relay.tools import envelopes, kind_of, running


def test_a_batch_of_a_relay_has_so_many_envelopes_and_bytes(tmp_path: Path) -> None:
    with running(tmp_path) as path:
        size, sealed = kind_of(path.collection).size, envelopes(path.collection, 4)
        usual = path.service.limits
        path.service.limits = replace(usual, batch_envelopes=3, batch_bytes=4 * size)
        assert hand_over(path, sealed[:3]).body == b'{"taken":3}'
        for some in (sealed, [], [sealed[0], b"x"]):
            answer = hand_over(path, some)
            assert answer.problem == "malformed"
            assert answer.json()["detail"] == (
                f"a batch for question 'colour' must be 1 to 3 whole envelopes of {size} bytes; "
                f"got {sum(map(len, some)):,} bytes"
            )
        path.service.limits = replace(usual, batch_bytes=4 * size - 1)
        assert hand_over(path, sealed).problem == "too-large"
        path.service.limits = replace(usual, batch_bytes=4 * size)
        assert hand_over(path, sealed).body == b'{"taken":4}'


@pytest.mark.parametrize(
    ("users", "is_taken"), [(0, False), (1, True), (10**18, True), (10**18 + 1, False)]
)
def test_the_planned_number_of_an_export_has_its_bounds(
    tmp_path: Path, users: int, is_taken: bool
) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    export_collection(store, entry.collection.digest, tmp_path / "backup")
    store.close()
    state = tmp_path / "backup" / "state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "users": users}))
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    if is_taken:
        import_collection(other, tmp_path / "backup")
        assert [each.users for each in other.collections()] == [users]
    else:
        with pytest.raises(InputError) as found:
            import_collection(other, tmp_path / "backup")
        assert str(found.value) == (
            f"{state}: users must be an integer from 1 to {10**18:,}; got {users:,}"
        )
    other.close()


def test_a_device_wants_no_more_tokens_at_once_than_an_issuer_signs(tmp_path: Path) -> None:
    assert client_module._MOST_TOKENS == issuing.MOST_TOKENS == 50
    store = open_store(f"sqlite:///{tmp_path / 'issuer.db'}")
    service = IssuerService(store, blind_collection(), KEYS)
    key = next(iter(service._secrets))
    bad = BlindedToken(key, -1, b"")  # the number of tokens is looked at first

    def refusal(count: int) -> tuple[str, str]:
        with pytest.raises(Problem) as found:
            service._check(bytes(CREDENTIAL_BYTES), [replace(bad, number=n) for n in range(count)])
        return found.value.type, found.value.detail

    for count in (0, 51):
        assert refusal(count) == (
            "too-large", f"a request must want 1 to 50 tokens; got {count}"
        )  # fmt: skip
    for count in (1, 50):
        assert refusal(count)[0] != "too-large"
    store.close()


def test_what_a_server_says_is_one_bounded_line() -> None:
    assert _LONGEST_SENTENCE == 1_000
    assert _sentence("x" * 1_000) == "x" * 1_000
    assert _sentence("x" * 1_001) == "x" * 1_000
    assert _sentence(" a \n\t b ") == "a b"


def test_a_commit_has_few_rows_and_few_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "_MOST_ROWS", 3)
    go, commits = threading.Event(), []

    def write(items: Sequence[bytes]) -> list[int]:
        commits.append([len(item) for item in items])
        go.wait(10)
        return [len(item) for item in items]

    async def life() -> None:
        metrics = Metrics()
        writer: Writer[bytes, int] = Writer(write, metrics, 12)
        answers = [writer.submit(b"a")]
        while not commits:
            await asyncio.sleep(0.001)
        # As many rows as may wait, those of a commit that is under way among them.
        answers += [writer.submit(bytes(size)) for size in (2, 1, 2, 2, 3, 1)]
        assert metrics.waiting == 12
        with pytest.raises(Problem) as found:
            writer.submit(b"b")
        assert found.value.type == "unavailable"
        go.set()
        assert [await each for each in answers] == [[1], [2], [1], [2], [2], [3], [1]]
        assert metrics.waiting == 0
        await writer.stop()

    asyncio.run(life())
    # A commit is full once it has as many rows as that, or a few more of one request.
    assert commits == [[1], [2, 1], [2, 2], [3], [1]]


# --- Who does not read ---------------------------------------------------------------------------

CHUNKS, CHUNK = 300, bytes(1 << 16)


class Long:
    """A service whose answer is longer than what the system keeps for a reader."""

    def __init__(self, seconds_to_read: float) -> None:
        self.limits = Limits(seconds_to_read=seconds_to_read)
        self.sent = 0

    def app(self) -> Any:
        async def answer(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "lifespan":
                for stage in ("startup", "shutdown"):
                    await receive()
                    await send({"type": f"lifespan.{stage}.complete"})
                return
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for number in range(CHUNKS):
                more = number + 1 < CHUNKS
                await send({"type": "http.response.body", "body": CHUNK, "more_body": more})
                self.sent += 1

        return answer


class Watched(WaitingRoom):
    """A waiting room that tells who rests and who left."""

    said: list[str]

    def rest(self, connection: Connection, address: str) -> None:
        Watched.said.append("rests")
        super().rest(connection, address)

    def leave(self, connection: Connection) -> None:
        Watched.said.append("left")
        super().leave(connection)


def ask(url: str) -> socket.socket:
    host, _, port = url.removeprefix("http://").partition(":")
    connection = socket.create_connection((host, int(port)), 30)
    connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    return connection


def wait_until_it_stalls(service: Long) -> None:
    before = -1
    while service.sent != before or not service.sent:
        before = service.sent
        time.sleep(0.05)
    assert service.sent < CHUNKS


def keep_sending(connection: socket.socket) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        time.sleep(0.02)
        connection.send(b"x")


def test_who_reads_again_gets_the_whole_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    Watched.said = []
    monkeypatch.setattr(server, "WaitingRoom", Watched)
    service = Long(60)
    with server.background(service) as url, ask(url) as connection:
        wait_until_it_stalls(service)
        assert Watched.said[-1] == "rests"  # its place may go to somebody else
        count = len(Watched.said)
        got = 0
        while data := connection.recv(1 << 20):
            got += len(data)
        assert got > CHUNKS * len(CHUNK)
        assert service.sent == CHUNKS
        assert "left" in Watched.said[count:]  # it was read again, and then nobody waits


def test_who_does_not_read_is_cut_off() -> None:
    with (
        server.background(Long(0.1)) as url,
        ask(url) as connection,
        pytest.raises(ConnectionError),
    ):
        keep_sending(connection)
