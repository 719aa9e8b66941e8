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
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from rumor.collector.http.connections import WaitingRoom, sender
from rumor.collector.http.limits import Limits
from rumor.collector.http.problems import CONTENT_TYPE, Problem
from rumor.core.errors import InputError

# How much later than the application a connection gives up a body that does not arrive.
_GRACE_SECONDS = 5.0
_FILES = 200  # that a service opens besides its connections: the store, the log, modules
# Strangers must not fill the log: of requests, only our own mistakes are written there. It is no
# child of uvicorn's loggers, whose configuration would set its level back.
_LOG = logging.getLogger("rumor.connections")
_LOG.setLevel(logging.ERROR)


class BoundedProtocol(HttpToolsProtocol):
    """The HTTP/1.1 protocol with limits on size and on waiting for the sender.

    A connection is in the waiting room, with a deadline, whenever the sender is to act: to send
    the rest of a request, to read an answer, to ask again. It is out of it while we are.
    """

    def __init__(self, *arguments: Any, room: WaitingRoom, limits: Limits, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.logger = _LOG
        self._room, self._limits = room, limits
        self._sender = ""
        self._idle_bytes = self._head_bytes = self._ignored_bytes = 0
        self._in_head = True  # a new connection's time to ask runs from its beginning
        self._too_large = False
        self._deadline: asyncio.TimerHandle | None = None
        self._answering: RequestResponseCycle | None = None

    def connection_made(self, transport: Any) -> None:
        """Expect a request of a new connection; who it is from is not logged."""
        # Uvicorn turns its access log on when it finds any handler at all, whatever it was told.
        self.access_log = False
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self._sender = sender(peer[0]) if isinstance(peer, tuple) else ""
        self._expect(self._limits.seconds_to_ask)
        self._room.make_room(len(self.connections))

    def _expect(self, seconds: float) -> None:
        """Wait at most `seconds` for the rest of a request."""
        self._idle_bytes = 0
        self._room.enter(self, self._sender)
        self._wait(seconds)

    def _rest(self) -> None:
        """Wait for the answer to be read, or for the next request."""
        if self._deadline is None:
            self._idle_bytes = 0
            self._room.rest(self, self._sender)
            self._wait(self._limits.seconds_to_read)
            self._room.make_room(len(self.connections))

    def _wait(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self.cut_off)

    def _arrived(self) -> None:
        self._room.leave(self)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _drop(self) -> None:
        """Drop pending requests, since uvicorn tells only the newest that its client is gone."""
        self._arrived()
        self.pipeline.clear()
        if self._answering is not None:
            self._answering.disconnected = True

    def _is_answered(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def cut_off(self) -> None:
        """Let the place go to somebody else."""
        self._drop()
        self.connections.discard(self)  # its place is free now, not when the socket is closed
        # Without this, the kernel keeps what the sender does not read, for minutes.
        reset = struct.pack("ii", 1, 0)
        with suppress(OSError):
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, reset
            )
        self.transport.abort()  # also where it is closing, but its answer is not being read

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._head_bytes = self._ignored_bytes = 0
        if not self._in_head:  # else its time runs since the connection was made
            self._in_head = True
            self._expect(self._limits.seconds_to_ask)

    def on_url(self, url: bytes) -> None:
        """Take some of the path and the query."""
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header of the head; one that follows a body (a trailer) says nothing."""
        if self._in_head:
            self._count_head(len(name) + len(value))
            super().on_header(name, value)

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        limits = self._limits
        if self._head_bytes > limits.head_bytes or len(self.headers) >= limits.head_lines:
            self._too_large = True
            raise OverflowError  # the parser stops, and a refusal is sent

    def on_headers_complete(self) -> None:
        """Begin to answer, or to wait for the body."""
        if len(self.pipeline) >= self._limits.pipelined:
            raise OverflowError
        self._in_head = False
        self._expect(self._limits.seconds_to_send + _GRACE_SECONDS)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take some of the body; of one that is refused already, as much as any may have."""
        self._idle_bytes = 0
        super().on_body(body)
        if self._is_answered():
            self._ignored_bytes += len(body)
            if self._ignored_bytes > max(self._limits.body_bytes, self._limits.batch_bytes):
                self.cut_off()

    def on_message_complete(self) -> None:
        """Leave the room: the request is whole. Some are answered before they are."""
        self._arrived()
        super().on_message_complete()
        if self._is_answered() or self.flow.write_paused:
            self._rest()

    def on_response_complete(self) -> None:
        """Wait until the answer has been read, and for the next request."""
        super().on_response_complete()
        if self._is_answered():
            self._rest()

    def pause_writing(self) -> None:
        """Wait for a sender who does not read."""
        super().pause_writing()
        self._rest()

    def resume_writing(self) -> None:
        """Go on with an answer that is being read again."""
        super().resume_writing()
        if not self._is_answered() and not self._in_head and not self.cycle.more_body:
            self._arrived()

    def send_400_response(self, msg: str) -> None:
        """Refuse, in the words of `msg`, what is no request or has too large a head."""
        limits = self._limits
        problem = Problem("malformed", "a request must be valid HTTP/1.1; got something else")
        if self._too_large:
            most = f"{limits.head_bytes:,} bytes and {limits.head_lines:,} lines"
            problem = Problem("too-large", f"a request's head must have at most {most}; got more")
        body = problem.body()
        head = (
            f"HTTP/1.1 {problem.status} {problem.type}\r\n"
            f"content-type: {CONTENT_TYPE.decode()}\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Bound bytes that complete nothing: endless trailers, line ends between requests."""
        self._idle_bytes += len(data)
        super().data_received(data)
        if self._deadline is not None and self._idle_bytes > self._limits.head_bytes + len(data):
            self.cut_off()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._drop()
        super().connection_lost(exc)


class HttpService(Protocol):
    """A service that can be served over HTTP: a collector, a relay or an issuer."""

    limits: Limits

    def app(self) -> ASGIApp:
        """Return the ASGI application of the service."""
        ...


class Server(uvicorn.Server):
    """A uvicorn server that announces its address once it listens."""

    def __init__(
        self, service: HttpService, listener: socket.socket, on_ready: Callable[[str], None]
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
                timeout_keep_alive=limits.seconds_idle,  # type: ignore[arg-type]
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
    """Return a socket to listen on; port 0 takes any that is free."""
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
    """Return a free port, for a server that must be named before it starts.

    Below those that systems hand out by themselves, so that it is most likely still free then.
    """
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with suppress(InputError), listen(host, port):
            return port


def _allow_files(count: int) -> None:
    """Let this process open `count` files, as far as the system allows: a socket is one."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def serve(service: HttpService, listener: socket.socket, on_ready: Callable[[str], None]) -> None:
    """Serve until a signal says to stop; reports that are waiting are written first."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    # Uvicorn shuts down in order and then raises the signal once more: that is not a failure.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    _allow_files(2 * service.limits.connections + _FILES)
    _run(Server(service, listener, on_ready), listener)


def _run(server: Server, listener: socket.socket) -> None:
    """Run `server` on `listener` until it is told to stop; raise where it does not start."""
    with listener, suppress(SystemExit):  # uvicorn's, where the service does not start
        server.run(sockets=[listener])
    if not server.started:
        raise InputError("a service must start to be of use; the log above says why it did not")


@contextmanager
def background(
    service: HttpService, host: str = "127.0.0.1", listener: socket.socket | None = None
) -> Iterator[str]:
    """Run a service in a thread of this process, for a demonstration or a test; yield its URL."""
    ready: queue.SimpleQueue[str | BaseException] = queue.SimpleQueue()
    listener = listener or listen(host, 0)
    server = Server(service, listener, ready.put)

    def run() -> None:
        try:
            _run(server, listener)
        except BaseException as problem:
            ready.put(problem)

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
