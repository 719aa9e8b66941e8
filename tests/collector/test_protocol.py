"""One connection, driven in this process: what it waits for, how long, and how much it reads.

The transport and the clock are ours, so that every bound is tried with one byte more and one less.
"""

from __future__ import annotations

import asyncio
import functools
import json
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from rumor.collector.http.connections import WaitingRoom
from rumor.collector.http.limits import Limits
from rumor.collector.http.server import _GRACE_SECONDS, _LOG, BoundedProtocol

LIMITS = Limits(
    body_bytes=60,
    batch_bytes=50,
    head_bytes=120,
    head_lines=4,
    connections=2,
    unfinished=2,
    pipelined=2,
    seconds_to_ask=3.0,
    seconds_to_send=7.0,
    seconds_to_read=11.0,
    seconds_idle=13.0,
)
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Timer:
    """A call that is due later; a test makes it come."""

    def __init__(self, seconds: float, due: Callable[[], None]) -> None:
        self.seconds, self.due, self.is_cancelled = seconds, due, False

    def cancel(self) -> None:
        self.is_cancelled = True


class Loop(asyncio.SelectorEventLoop):
    """A loop whose clock stands still."""

    def __init__(self) -> None:
        super().__init__()
        self.timers: list[Timer] = []

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, context: Any = None
    ) -> Any:
        self.timers.append(Timer(delay, functools.partial(callback, *args)))
        return self.timers[-1]

    def turn(self) -> None:
        """Let everything run that can."""
        for _ in range(20):
            self.run_until_complete(asyncio.sleep(0))


class Socket:
    """A socket that notes its options."""

    def __init__(self, peer: object) -> None:
        self.options: list[tuple[Any, ...]] = []
        self._peer = peer

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", 80

    def getpeername(self) -> object:
        return self._peer

    def setsockopt(self, *option: Any) -> None:
        self.options.append(option)


class Transport(asyncio.Transport):
    """A connection to nobody: what is written is kept."""

    def __init__(self, peer: object) -> None:
        super().__init__()
        self.socket, self.written = Socket(peer), b""
        self.is_aborted = self.is_closed = False
        self._said = {"peername": peer, "socket": self.socket}

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._said.get(name, default)

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_closed or self.is_aborted

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class Server:
    """Connections of one server, whose application answers when a test says so."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.loop, self.limits = Loop(), limits
        self.room = WaitingRoom(limits.connections, limits.unfinished)
        self.state = ServerState()
        self.heard: list[dict[str, Any]] = []
        self.gone = 0
        self._answers: list[asyncio.Event] = []
        self._config = uvicorn.Config(
            self._app,
            log_config=None,
            timeout_keep_alive=13,
            interface="asgi3",
            proxy_headers=False,
        )

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        self.heard.append(scope)
        ready = asyncio.Event()
        self._answers.append(ready)
        await ready.wait()
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-length", b"2")]})  # fmt: skip
        await send({"type": "http.response.body", "body": b"ok"})
        if scope["path"] == "/gone":
            while (await receive())["type"] != "http.disconnect":
                pass
            self.gone += 1

    def connect(self, peer: object = ("203.0.113.7", 5)) -> Line:
        """Return a new connection from `peer`."""
        return Line(self, peer)

    def answer(self) -> None:
        """Answer the request that has waited longest."""
        self._answers.pop(0).set()
        self.loop.turn()


class Line:
    """One connection with its transport."""

    def __init__(self, server: Server, peer: object) -> None:
        self.server, self.transport = server, Transport(peer)
        self.protocol = BoundedProtocol(
            server._config,
            server.state,
            {},
            _loop=server.loop,
            room=server.room,
            limits=server.limits,
        )
        self.protocol.connection_made(self.transport)

    def send(self, *pieces: bytes) -> None:
        """Let bytes arrive, piece by piece."""
        for piece in pieces:
            if not self.transport.is_closing():
                self.protocol.data_received(piece)
                self.server.loop.turn()

    def deadline(self) -> float | None:
        """After how many seconds the connection is cut off, where it waits for its sender."""
        timers = [t for t in self.server.loop.timers if t.due.func == self.protocol.cut_off]  # type: ignore[attr-defined]
        left = [timer.seconds for timer in timers if not timer.is_cancelled]
        assert len(left) <= 1
        return left[0] if left else None

    @property
    def status(self) -> int | None:
        """The status of the last answer."""
        heads = [line for line in self.transport.written.split(b"\r\n") if b"HTTP/1.1 " in line]
        return int(heads[-1].split(b"HTTP/1.1 ")[1][:3]) if heads else None


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    made = Server(getattr(request, "param", LIMITS))
    yield made
    while tasks := asyncio.all_tasks(made.loop):
        for task in tasks:
            task.cancel()
        made.loop.turn()
    made.loop.close()


def test_each_wait_has_its_own_deadline(server: Server) -> None:
    line = server.connect()
    assert line.deadline() == 3.0
    line.send(GET[:20])  # a head that has begun has no more time than a connection that is silent
    assert [timer.seconds for timer in server.loop.timers] == [3.0]
    line.send(GET[20:])
    assert line.deadline() is None  # ours to answer
    assert line.protocol not in server.room._unfinished
    server.answer()
    assert line.deadline() == 11.0  # to read the answer
    line.send(GET[:20])
    assert line.deadline() == 3.0
    line.send(b"".join([GET[20:-2], b"Content-Length: 5\r\n\r\n"]))
    assert line.deadline() == 7.0 + _GRACE_SECONDS == 12.0
    line.send(b"abc")
    assert line.deadline() == 12.0
    line.send(b"de")
    assert line.deadline() is None
    server.answer()
    keep_alive = [timer.seconds for timer in server.loop.timers if timer.seconds == 13]
    assert len(keep_alive) == 2
    line.protocol.connection_lost(None)
    assert line.deadline() is None
    assert not server.state.connections


def test_a_sender_who_does_not_read_has_a_deadline_until_it_reads(server: Server) -> None:
    line = server.connect()
    line.send(GET)
    line.protocol.pause_writing()
    assert line.deadline() == 11.0
    line.protocol.pause_writing()  # its time runs since it began
    assert len([t for t in server.loop.timers if t.seconds == 11.0]) == 1
    line.protocol.resume_writing()
    assert line.deadline() is None
    line.protocol.pause_writing()
    server.answer()  # cannot be sent yet
    assert line.deadline() == 11.0
    line.protocol.resume_writing()
    server.loop.turn()
    assert line.status == 200
    assert line.deadline() == 11.0
    line.protocol.resume_writing()
    assert line.deadline() == 11.0  # the answer is whole: it still waits for a request


def test_reading_on_does_not_stop_the_time_of_a_body(server: Server) -> None:
    line = server.connect()
    line.send(GET[:-2] + b"Content-Length: 5\r\n\r\n")
    line.protocol.pause_writing()
    line.protocol.resume_writing()
    assert line.deadline() == 12.0
    line.send(b"abcde")
    assert line.deadline() is None
    line.protocol.pause_writing()
    line.send(GET[:10])  # the next head, sent ahead of the answer
    line.protocol.resume_writing()
    assert line.deadline() is not None


def test_an_early_answer_waits_for_the_rest_of_its_body(server: Server) -> None:
    line = server.connect()
    line.send(GET[:-2] + b"Content-Length: 20\r\n\r\n")
    server.answer()
    assert line.deadline() == 12.0
    line.send(bytes(20))
    assert line.deadline() == 11.0
    line.protocol.pause_writing()
    assert line.deadline() == 11.0


def test_a_body_that_arrives_while_the_answer_is_not_read_waits(server: Server) -> None:
    line = server.connect()
    line.send(GET[:-2] + b"Content-Length: 5\r\n\r\n")
    line.protocol.pause_writing()
    line.send(bytes(5))
    assert line.deadline() == 11.0


def test_whoever_is_cut_off_leaves_nothing_behind(server: Server) -> None:
    line, other = server.connect(), server.connect()
    line.send(GET, GET, GET[:9])
    assert len(server.state.connections) == 2
    (due,) = [t.due for t in server.loop.timers if t.due.func == line.protocol.cut_off and not t.is_cancelled]  # type: ignore[attr-defined]  # noqa: E501  # fmt: skip
    due()
    assert line.transport.is_aborted
    assert line.transport.socket.options == [
        (socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    ]
    assert server.state.connections == {other.protocol}
    assert line.deadline() is None
    assert len(server.room._unfinished) == 1
    assert not len(server.room._idle)
    server.answer()
    assert line.transport.written == b""  # nothing is written to it, and what waited is not begun
    assert len(server.heard) == 1


def test_what_was_sent_ahead_is_answered_in_its_order(server: Server) -> None:
    line = server.connect()
    line.send(GET.replace(b"/ ", b"/1 ") + GET.replace(b"/ ", b"/2 "), GET.replace(b"/ ", b"/3 "))
    for number in (1, 2, 3):
        assert [scope["path"] for scope in server.heard] == [f"/{n + 1}" for n in range(number)]
        server.answer()
    assert line.transport.written.count(b"200 OK") == 3
    assert line.deadline() == 11.0


@pytest.mark.parametrize(("ahead", "refused"), [(2, False), (3, True)])
def test_so_many_requests_may_be_sent_ahead(server: Server, ahead: int, refused: bool) -> None:
    line = server.connect()
    line.send(GET * (1 + ahead))
    assert (line.status == 400) == refused
    assert line.transport.is_closed == refused
    if refused:
        head, _, body = line.transport.written.partition(b"\r\n\r\n")
        document = json.loads(body)
        assert document == {
            "type": "urn:rumor:problem:malformed",
            "title": "malformed",
            "status": 400,
            "detail": "a request must be valid HTTP/1.1; got something else",
        }
        assert head.decode().split("\r\n") == [
            "HTTP/1.1 400 malformed",
            "content-type: application/problem+json",
            f"content-length: {len(body)}",
            "connection: close",
        ]


def head_of(size: int) -> bytes:
    """A head of so many bytes of path, names and values, in three headers."""
    filled = size - len("/") - len("HostxAB")
    return b"GET / HTTP/1.1\r\nHost: x\r\nA: %s\r\nB:\r\n\r\n" % (b"y" * filled)


@pytest.mark.parametrize(("size", "refused"), [(120, False), (121, True)])
def test_a_head_has_so_many_bytes(server: Server, size: int, refused: bool) -> None:
    line = server.connect()
    for _ in range(1 if refused else 2):  # each head is counted for itself
        line.send(head_of(size))
        assert bool(server.heard) != refused
        if not refused:
            server.answer()
    assert line.status == (413 if refused else 200)
    if refused:
        document = json.loads(line.transport.written.partition(b"\r\n\r\n")[2])
        assert document["detail"] == (
            "a request's head must have at most 120 bytes and 4 lines; got more"
        )


@pytest.mark.parametrize(("size", "refused"), [(120, False), (121, True)])
def test_a_path_has_so_many_bytes_with_its_head(server: Server, size: int, refused: bool) -> None:
    line = server.connect()
    line.send(b"GET /%s HTTP/1.1\r\n" % (b"y" * (size - 6)), b"Host: x\r\n\r\n")
    assert (line.status == 413) == refused
    assert bool(server.heard) != refused


@pytest.mark.parametrize(("lines", "refused"), [(4, False), (5, True)])
def test_a_head_has_so_many_lines(server: Server, lines: int, refused: bool) -> None:
    line = server.connect()
    line.send(b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * lines + b"\r\n")
    assert (line.status == 413) == refused
    assert bool(server.heard) != refused


def until_cut_off(line: Line, piece: bytes) -> int:
    """How many of these pieces arrive, one by one, until one of them ends the connection."""
    for number in range(1, 1000):
        line.protocol.data_received(piece)
        if line.transport.is_aborted:
            return number
    raise AssertionError("no end")


# Pieces of two bytes, of which 120 and those of the last piece are heard: 61 pieces, and the next.
CRLF, PIECES = b"\r\n", 62


def test_line_ends_before_a_request_are_bounded(server: Server) -> None:
    assert until_cut_off(server.connect(), CRLF) == PIECES
    line = server.connect()
    line.send(GET)
    server.answer()
    assert until_cut_off(line, CRLF) == PIECES


def test_what_follows_a_chunk_is_bounded(server: Server) -> None:
    line = server.connect()
    line.send(GET[:-2] + b"Transfer-Encoding: chunked\r\n\r\n")
    line.send(b"1\r\nx\r\n0\r\nX: ")  # a trailer that does not end
    assert until_cut_off(line, b"yy") == PIECES


def test_a_long_body_is_not_idle(server: Server) -> None:
    line = server.connect()
    line.send(GET[:-2] + b"Content-Length: 1000\r\n\r\n")
    line.send(*[bytes(100)] * 10)
    assert not line.transport.is_aborted
    assert line.deadline() is None
    line.send(CRLF * 200)  # nothing is bounded while the sender waits for us
    assert not line.transport.is_aborted


@pytest.mark.parametrize(
    ("server", "most"),
    [(LIMITS, 60), (replace(LIMITS, body_bytes=50, batch_bytes=70), 70)],
    indirect=["server"],
)
def test_a_body_that_was_refused_is_read_no_further_than_any(server: Server, most: int) -> None:
    line = server.connect()
    line.send(GET[:-2] + b"Content-Length: 1000\r\n\r\n")
    line.send(bytes(30))  # before the refusal: these do not count
    server.answer()
    line.send(bytes(most - 1), b"x")
    assert not line.transport.is_aborted
    line.send(b"y")
    assert line.transport.is_aborted


def test_each_refused_body_is_counted_for_itself(server: Server) -> None:
    line = server.connect()
    for _ in range(2):
        line.send(GET[:-2] + b"Content-Length: 60\r\n\r\n")
        server.answer()
        line.send(bytes(60))
    assert not line.transport.is_aborted
    assert len(server.heard) == 2


def test_a_newcomer_gets_the_place_of_who_has_waited_longest(server: Server) -> None:
    first, second = server.connect(), server.connect()
    third = server.connect(("203.0.113.9", 5))
    assert [line.transport.is_aborted for line in (first, second, third)] == [True, False, False]
    # Requests that are under way take no place; once they are answered, they wait again.
    second.send(GET)
    third.send(GET)
    fourth = server.connect(("203.0.113.10", 5))
    fourth.send(GET)
    assert not any(line.transport.is_aborted for line in (second, third, fourth))
    server.answer()
    assert second.transport.is_closing() == third.transport.is_closing() == False  # noqa: E712
    server.answer()
    assert second.transport.is_aborted
    assert not third.transport.is_aborted


def test_connections_are_counted_by_address_and_nothing_is_logged(server: Server) -> None:
    asked = {
        ("203.0.113.7", 5): "203.0.113.7",
        ("2001:db8:1:2:3::4", 5, 0, 0): "2001:db8:1:2::/64",
        "/run/rumor.sock": "",
        None: "",
    }
    for peer, address in asked.items():
        line = server.connect(peer)
        assert server.room._unfinished._addresses[line.protocol] == address
        assert line.protocol.access_log is False
        assert line.protocol.logger is _LOG
        line.protocol.connection_lost(None)
    assert not len(server.room._unfinished)


def test_an_application_hears_that_its_client_is_gone(server: Server) -> None:
    line = server.connect()
    line.send(GET.replace(b"/ ", b"/gone "), GET)
    first = line.protocol._answering
    assert first is not None
    line.protocol.cut_off()
    assert first.disconnected
