"""Whoever says nothing, says it slowly or says it twice takes no place from others."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumor.collector.http import server
from rumor.collector.http.connections import WaitingRoom, sender
from rumor.collector.http.limits import Limits
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import Registered, open_store
from tests.collector.tools import call, collection, rows, send

LIMITS = Limits(connections=40, unfinished=10, seconds_to_send=30)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[str, Registered]]:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    with background(Service(store, "series", limits=LIMITS)) as url:
        yield url, entry


def connected(url: str, *, source: str = "127.0.0.1") -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), 10, source_address=(source, 0))


def head(entry: Registered, *more: str) -> bytes:
    lines = [
        "POST /v1/reports HTTP/1.1",
        "Host: x",
        "Content-Type: application/vnd.rumor.reports",
        f"Rumor-Collection: {entry.collection.digest}",
        "Rumor-Question: colour",
        *more,
    ]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"


def chunked(entry: Registered, trailers: bytes) -> bytes:
    body = rows(entry, "colour", [0]).tobytes()
    chunk = b"%x\r\n%s\r\n0\r\n" % (len(body), body)
    return head(entry, "Transfer-Encoding: chunked") + chunk + trailers + b"\r\n"


@pytest.mark.parametrize(
    "trailers",
    [
        b"",
        b"Content-Type: x\r\n",
        b"Rumor-Collection: x\r\n",
        b"Rumor-Question: many\r\nContent-Encoding: br\r\n",
    ],
)
def test_trailers_say_nothing(running: tuple[str, Registered], trailers: bytes) -> None:
    url, entry = running
    with connected(url) as connection:
        connection.sendall(chunked(entry, trailers))
        assert b" 200 " in connection.recv(1000)


def test_headers_of_the_next_request_are_heard_again(running: tuple[str, Registered]) -> None:
    url, entry = running
    with connected(url) as connection:
        for _ in range(2):
            connection.sendall(chunked(entry, b"Content-Type: x\r\n"))
            assert b" 200 " in connection.recv(1000)
        connection.sendall(chunked(entry, b"").replace(b"application/vnd", b"text/vnd"))
        assert b" 415 " in connection.recv(1000)


def test_endless_trailers_are_cut_off(running: tuple[str, Registered]) -> None:
    url, entry = running
    with connected(url) as connection:
        connection.sendall(chunked(entry, b"X: ")[:-2])
        with pytest.raises(ConnectionError):
            connection.sendall(b"y" * 10_000_000)
    assert call(url, "/healthz").status == 200


@pytest.mark.parametrize("opening", ["nothing", "half a head", "half a body"])
@pytest.mark.parametrize("sources", [1, 20])
def test_half_open_connections_make_nobody_wait(
    running: tuple[str, Registered], opening: str, sources: int
) -> None:
    """More of them than there are places, from one address and from many."""
    url, entry = running
    said = {
        "nothing": b"",
        "half a head": b"GET / HTTP/1.1\r\nHost: x\r\n",
        "half a body": head(entry, "Content-Length: 17") + b"x",
    }[opening]
    with contextlib.ExitStack() as held:
        for n in range(LIMITS.connections + 10):
            source = f"127.0.0.{2 + n % sources}"
            connection = held.enter_context(connected(url, source=source))
            with contextlib.suppress(ConnectionError):
                connection.sendall(said)
        for _ in range(3):
            body = rows(entry, "colour", [0]).tobytes()
            assert send(url, entry.collection, "colour", body).status == 200


def test_a_request_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_HEAD_SECONDS", 0.2)
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(collection())
    with background(Service(store, "series")) as url, connected(url) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost:")
        with contextlib.suppress(ConnectionError):
            assert connection.recv(100) == b""


class Fake:
    """A connection that only notes its end."""

    def __init__(self) -> None:
        self.cut = False

    def cut_off(self) -> None:
        self.cut = True


@given(
    st.lists(st.tuples(st.sampled_from("ead"), st.integers(0, 3), st.integers(0, 30)), max_size=60)
)
def test_the_room_holds_its_bounds(steps: list[tuple[str, int, int]]) -> None:
    """Never more than its share of one address, never cut off who was served or came last."""
    room, waiting = WaitingRoom(6, 3), list[tuple[Fake, int]]()
    served: list[Fake] = []
    for what, address, which in steps:
        if what == "e":
            newest = Fake()
            waiting.append((newest, address))
            room.enter(newest, str(address))
            room.make_room(len(waiting) + len(served))
            assert not newest.cut
        elif what == "a" and waiting:
            done, _ = waiting.pop(which % len(waiting))
            room.leave(done)
            served.append(done)
        elif served:
            served.pop()
        waiting = [(each, of) for each, of in waiting if not each.cut]
        assert not any(each.cut for each in served)
        for one in range(4):
            assert sum(of == one for _, of in waiting) <= 3
        # Only connections that are served may fill the places beyond.
        assert len(waiting) <= max(1, 6 - len(served)) or len(waiting) + len(served) <= 6
    for done, _ in waiting:
        room.leave(done)
    assert not room._by_address  # addresses are in memory only while they wait


def test_who_waited_longest_gives_way() -> None:
    """Of an address that has more than its share; of all when places run out."""
    room, mine, theirs = WaitingRoom(6, 3), [Fake() for _ in range(4)], [Fake() for _ in range(2)]
    for each in theirs:
        room.enter(each, "theirs")
    for each in mine:
        room.enter(each, "mine")
        room.enter(each, "mine")  # the rest of a request: no second place
    assert [each.cut for each in mine] == [True, False, False, False]
    assert [each.cut for each in theirs] == [False, False]
    newest = Fake()
    room.enter(newest, "another")
    room.make_room(6)
    assert [each.cut for each in (*theirs, *mine[1:], newest)] == [True] + [False] * 5


def test_what_counts_as_one_address() -> None:
    assert sender("203.0.113.7") == "203.0.113.7"
    assert sender("::ffff:203.0.113.7") == "203.0.113.7"
    assert sender("2001:db8:1:2:3::4") == sender("2001:db8:1:2::9") == "2001:db8:1:2::/64"
    assert sender("fe80::1%eth0") == "fe80::/64"
    assert sender("") == ""
