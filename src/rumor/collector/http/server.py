"""Running a service: uvicorn, quiet about who calls, with bounds on what it reads."""

from __future__ import annotations

import asyncio
import errno
import functools
import logging
import queue
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rumor.collector.http.connections import WaitingRoom, sender
from rumor.collector.http.limits import Limits
from rumor.core.errors import InputError

# The most bytes that may come without a head, or a piece of a body, being whole.
_HEAD_BYTES = 1 << 15
_HEAD_SECONDS = 10.0
# How much later than the application a connection gives up a body that does not arrive.
_GRACE_SECONDS = 5.0


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 whose requests are bounded in size and in time until they have arrived whole."""

    def __init__(self, *arguments: Any, room: WaitingRoom, limits: Limits, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._room, self._limits = room, limits
        self._sender = ""
        self._idle_bytes = 0
        self._in_head = False
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A connection must begin to ask within a while; who it is from is not logged."""
        # Uvicorn turns its access log on when it finds any handler at all, whatever it was told.
        self.access_log = False
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self._sender = sender(peer[0]) if isinstance(peer, tuple) else ""
        self._expect(_HEAD_SECONDS)
        self._in_head = True
        self._room.make_room(len(self.connections))

    def _expect(self, seconds: float) -> None:
        """The rest of a request must come within so many seconds."""
        self._idle_bytes = 0
        self._room.enter(self, self._sender)
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self.cut_off)

    def _arrived(self) -> None:
        self._room.leave(self)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def cut_off(self) -> None:
        """Let the place go to somebody else."""
        self._arrived()
        self.connections.discard(self)  # its place is free now, not when the socket is closed
        if not self.transport.is_closing():
            self.transport.abort()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        if not self._in_head:  # else its time runs since the connection was made
            self._in_head = True
            self._expect(_HEAD_SECONDS)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Only the head has headers: what is called so after a body (a trailer) says nothing."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        self._in_head = False
        self._expect(self._limits.seconds_to_send + _GRACE_SECONDS)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Some of its body."""
        self._idle_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of it."""
        self._arrived()
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Bytes that complete nothing (a long head, endless trailers) are bounded."""
        self._idle_bytes += len(data)
        super().data_received(data)
        if self._deadline is not None and self._idle_bytes > _HEAD_BYTES + len(data):
            self.cut_off()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more to wait for."""
        self._arrived()
        super().connection_lost(exc)


class Served(Protocol):
    """What can be served: a collector, an issuer."""

    limits: Limits

    def app(self) -> ASGIApp:
        """Its application."""
        ...


class Server(uvicorn.Server):
    """A service that says where it listens once it does."""

    def __init__(
        self, service: Served, listener: socket.socket, on_ready: Callable[[str], None]
    ) -> None:
        limits = service.limits
        room = WaitingRoom(limits.connections, min(limits.connections, limits.unfinished))
        protocol = functools.partial(BoundedProtocol, room=room, limits=limits)
        super().__init__(
            uvicorn.Config(
                service.app(),
                http=cast(type[asyncio.Protocol], protocol),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                # Room is made before this: it turns away what is not waiting, but too much.
                limit_concurrency=2 * limits.connections,
                timeout_keep_alive=15,
                timeout_graceful_shutdown=10,
            )
        )
        self._listener, self._on_ready = listener, on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets)
        if self.started:
            host, port = self._listener.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            self._on_ready(f"http://{shown}:{port}")


def listen(host: str, port: int, what: str = "a collector") -> socket.socket:
    """A socket to listen on; port 0 takes any that is free."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as problem:
        if getattr(problem, "errno", None) == errno.EADDRINUSE:
            raise InputError(
                f"{what} needs a free port; {port} of {host} is in use (--port takes another)"
            ) from None
        reason = getattr(problem, "strerror", None) or problem
        raise InputError(
            f"{what} must listen on an address of this machine; got {host}:{port} ({reason})"
        ) from None


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody listens on now, for a server that must be named before it starts.

    Below those that systems hand out by themselves, so that it is most likely still free then.
    """
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with suppress(InputError), listen(host, port):
            return port


def serve(service: Served, listener: socket.socket, on_ready: Callable[[str], None]) -> None:
    """Serve until a signal says to stop; reports that are waiting are written first."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    # Uvicorn shuts down in order and then raises the signal once more: that is not a failure.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    server = Server(service, listener, on_ready)
    server.run(sockets=[listener])
    if not server.started:
        raise InputError("a service must start to be of use; the log above says why it did not")


@contextmanager
def background(
    service: Served, host: str = "127.0.0.1", listener: socket.socket | None = None
) -> Iterator[str]:
    """A service in a thread of this process, for a demonstration or a test; gives its URL."""
    ready: queue.SimpleQueue[str | BaseException] = queue.SimpleQueue()
    listener = listener or listen(host, 0)
    server = Server(service, listener, ready.put)

    def run() -> None:
        try:
            server.run(sockets=[listener])
        except BaseException as problem:
            ready.put(problem)
        else:
            ready.put(RuntimeError("the service did not start; its log says why"))

    thread = threading.Thread(target=run, name="rumor-server", daemon=True)
    thread.start()
    answer = ready.get()
    if isinstance(answer, BaseException):
        raise answer
    try:
        yield answer
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
