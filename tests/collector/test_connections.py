"""Whoever says nothing, says it slowly or says it twice takes no place from others."""

from __future__ import annotations

import contextlib
import socket
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumor.collector.http.connections import WaitingRoom, sender
from rumor.collector.http.limits import Limits
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import StoredCollection, open_store
from tests.collector.tools import call, collection, rows, send

LIMITS = Limits(connections=40, unfinished=10, seconds_to_send=30)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[str, StoredCollection]]:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    with background(Service(store, "series", limits=LIMITS)) as url:
        yield url, entry


def connected(url: str, *, source: str = "127.0.0.1") -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), 10, source_address=(source, 0))


def head(entry: StoredCollection, *more: str) -> bytes:
    lines = [
        "POST /v1/reports HTTP/1.1",
        "Host: x",
        "Content-Type: application/vnd.rumor.reports",
        f"Rumor-Collection: {entry.collection.digest}",
        "Rumor-Question: colour",
        *more,
    ]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"


def chunked(entry: StoredCollection, trailers: bytes) -> bytes:
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
def test_trailers_say_nothing(running: tuple[str, StoredCollection], trailers: bytes) -> None:
    url, entry = running
    with connected(url) as connection:
        connection.sendall(chunked(entry, trailers))
        assert b" 200 " in connection.recv(1000)


def test_headers_of_the_next_request_are_heard_again(running: tuple[str, StoredCollection]) -> None:
    url, entry = running
    with connected(url) as connection:
        for _ in range(2):
            connection.sendall(chunked(entry, b"Content-Type: x\r\n"))
            assert b" 200 " in connection.recv(1000)
        connection.sendall(chunked(entry, b"").replace(b"application/vnd", b"text/vnd"))
        assert b" 415 " in connection.recv(1000)


def test_endless_trailers_are_cut_off(running: tuple[str, StoredCollection]) -> None:
    url, entry = running
    with connected(url) as connection:
        connection.sendall(chunked(entry, b"X: ")[:-2])
        with pytest.raises(ConnectionError):
            connection.sendall(b"y" * 10_000_000)
    assert call(url, "/healthz").status == 200


@pytest.mark.parametrize("opening", ["nothing", "half a head", "half a body"])
@pytest.mark.parametrize("sources", [1, 20])
def test_half_open_connections_make_nobody_wait(
    running: tuple[str, StoredCollection], opening: str, sources: int
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


def test_a_request_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(collection())
    limits = Limits(seconds_to_ask=0.2)
    with background(Service(store, "series", limits=limits)) as url, connected(url) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost:")
        with contextlib.suppress(ConnectionError):
            assert connection.recv(100) == b""


def test_connections_beyond_the_places_are_cut_off_once_they_are_answered(tmp_path: Path) -> None:
    """Requests that are under way take no place; many at once may wait for the store."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    limits, more = Limits(connections=6), 3
    service = Service(store, "series", limits=limits)
    with (
        background(service) as url,
        contextlib.ExitStack() as held,
        contextlib.closing(sqlite3.connect(tmp_path / "store.db")) as busy,
    ):
        busy.execute("BEGIN IMMEDIATE")
        open_ones = []
        for sent in range(limits.connections + more):
            open_ones.append(held.enter_context(connected(url)))
            body = rows(entry, "colour", [0]).tobytes()
            open_ones[-1].sendall(head(entry, f"Content-Length: {len(body)}") + body)
            while service.metrics.waiting <= sent:  # until it was read
                time.sleep(0.001)
        busy.rollback()
        answered = cut_off = 0
        for one in open_ones:
            with contextlib.suppress(ConnectionError):  # cut off before it was read
                answered += b" 200 " in one.recv(1 << 16).splitlines()[0]
        for one in open_ones:
            one.settimeout(0.2)
            try:
                cut_off += one.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                cut_off += 1
        assert answered >= limits.connections
        assert cut_off == more


class Fake:
    """A connection that only notes its end."""

    def __init__(self) -> None:
        self.cut = False

    def cut_off(self) -> None:
        self.cut = True


@given(
    st.lists(st.tuples(st.sampled_from("eard"), st.integers(0, 3), st.integers(0, 30)), max_size=60)
)
def test_the_room_holds_its_bounds(steps: list[tuple[str, int, int]]) -> None:
    """Never more than its share of one address; nobody is cut who is served or came last."""
    room, waiting = WaitingRoom(6, 3), list[tuple[Fake, int]]()
    served, idle = list[tuple[Fake, int]](), list[tuple[Fake, int]]()
    for what, address, which in steps:
        if what == "e":  # enters, unfinished
            newest = Fake()
            waiting.append((newest, address))
            room.enter(newest, str(address))
            room.make_room(len(waiting) + len(served) + len(idle))
            assert not newest.cut
        elif what == "a" and waiting + idle:  # a request has arrived whole
            done = (waiting + idle)[which % len(waiting + idle)]
            (waiting if done in waiting else idle).remove(done)
            room.leave(done[0])
            served.append(done)
        elif what == "r" and served:  # its answer is there
            rested = served.pop(which % len(served))
            room.rest(rested[0], str(rested[1]))
            idle.append(rested)
        elif served:  # gone
            served.pop()
        cut_idle = sum(each.cut for each, _ in idle)
        cut_by_place = sum(each.cut for each, _ in waiting) and what != "e"
        assert not cut_by_place or cut_idle == len(idle)
        waiting = [(each, of) for each, of in waiting if not each.cut]
        idle = [(each, of) for each, of in idle if not each.cut]
        assert not any(each.cut for each, _ in served)
        for one in range(4):
            assert sum(of == one for _, of in waiting) <= 3
        # Only connections that are served, or have just been, may fill the places beyond.
        if what == "e":
            assert len(waiting) + len(idle) <= max(1, 6 - len(served))
    for each, _ in waiting + idle:
        room.leave(each)
    assert not len(room._idle) + len(room._unfinished)
    for queue in (room._idle, room._unfinished):
        assert not queue._by_address  # addresses are in memory only while they wait


def test_who_waited_longest_gives_way() -> None:
    """Of an address that has more than its share; of the fullest address when places run out."""
    room, mine, theirs = WaitingRoom(5, 3), [Fake() for _ in range(4)], [Fake() for _ in range(2)]
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
    assert [each.cut for each in (*theirs, *mine[1:], newest)] == [False] * 2 + [True] + [False] * 3


def test_idle_connections_give_way_first() -> None:
    """The longest idle of the address with the most, before any request that is under way."""
    room, slow = WaitingRoom(6, 6), [Fake() for _ in range(3)]
    for each in slow:
        room.enter(each, "slow")
    lone, many = Fake(), [Fake() for _ in range(2)]
    for each, address in ((lone, "lone"), (many[0], "many"), (many[1], "many")):
        room.enter(each, address)
        room.leave(each)
        room.rest(each, address)
    room.make_room(7)
    assert (lone.cut, [each.cut for each in many]) == (False, [True, False])
    room.make_room(8)
    assert lone.cut
    assert many[1].cut
    room.enter(many[1], "many")
    assert not any(each.cut for each in slow)


def test_what_counts_as_one_address() -> None:
    assert sender("203.0.113.7") == "203.0.113.7"
    assert sender("::ffff:203.0.113.7") == "203.0.113.7"
    assert sender("2001:db8:1:2:3::4") == sender("2001:db8:1:2::9") == "2001:db8:1:2::/64"
    assert sender("fe80::1%eth0") == "fe80::/64"
    assert sender("") == ""
