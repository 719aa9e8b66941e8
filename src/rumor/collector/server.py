"""Running a collector: uvicorn, quiet about who calls, with bounds on what it reads."""

from __future__ import annotations

import asyncio
import errno
import logging
import queue
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rumor.collector.app import make_app
from rumor.collector.service import Service
from rumor.errors import InputError

_HEAD_BYTES = 1 << 15
_HEAD_SECONDS = 20.0


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 whose request heads are bounded in size and in time."""

    _head_bytes = 0
    _in_head = False
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A connection must begin to ask within a while; who it is from is not logged."""
        # Uvicorn turns its access log on when it finds any handler at all, whatever it was told.
        self.access_log = False
        super().connection_made(transport)
        self._expect_head()

    def _expect_head(self) -> None:
        self._head_bytes, self._in_head = 0, True
        if self._deadline is None:
            self._deadline = self.loop.call_later(_HEAD_SECONDS, self._hang_up)

    def _hang_up(self) -> None:
        self._deadline = None
        if self._in_head and not self.transport.is_closing():
            self.transport.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        self._in_head = False
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Whatever is still head after this counts against its bound."""
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > _HEAD_BYTES and not self.transport.is_closing():
                self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more to wait for."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        super().connection_lost(exc)


class Server(uvicorn.Server):
    """A collector that says where it listens once it does."""

    def __init__(
        self, service: Service, listener: socket.socket, on_ready: Callable[[str], None]
    ) -> None:
        super().__init__(
            uvicorn.Config(
                make_app(service),
                http=BoundedProtocol,
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                limit_concurrency=service.limits.connections,
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


def listen(host: str, port: int) -> socket.socket:
    """A socket to listen on; port 0 takes any that is free."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as problem:
        if getattr(problem, "errno", None) == errno.EADDRINUSE:
            raise InputError(
                f"a collector needs a free port; {port} of {host} is in use (--port takes another)"
            ) from None
        reason = getattr(problem, "strerror", None) or problem
        raise InputError(
            f"a collector must listen on an address of this machine; got {host}:{port} ({reason})"
        ) from None


def serve(service: Service, listener: socket.socket, on_ready: Callable[[str], None]) -> None:
    """Serve until a signal says to stop; reports that are waiting are written first."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    # Uvicorn shuts down in order and then raises the signal once more: that is not a failure.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    server = Server(service, listener, on_ready)
    server.run(sockets=[listener])
    if not server.started:
        raise InputError("a collector must start to be of use; the log above says why it did not")


@contextmanager
def background(service: Service, host: str = "127.0.0.1") -> Iterator[str]:
    """A collector in a thread of this process, for a demonstration or a test; gives its URL."""
    ready: queue.SimpleQueue[str | BaseException] = queue.SimpleQueue()
    listener = listen(host, 0)
    server = Server(service, listener, ready.put)

    def run() -> None:
        try:
            server.run(sockets=[listener])
        except BaseException as problem:
            ready.put(problem)
        else:
            ready.put(RuntimeError("the collector did not start; its log says why"))

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
