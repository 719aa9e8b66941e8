"""Requests of urllib with a deadline: `timeout` bounds the whole request.

In the standard library, `timeout` bounds each operation on a socket, so that a server which sends
a byte now and then holds its caller for as long as it likes. Here a connection has a deadline, and
every operation gets what is left of it: finding the address, connecting, TLS, sending, reading.
A connection serves one request.
"""

from __future__ import annotations

import http.client
import queue
import socket
import ssl
import threading
import time
import urllib.request
from typing import Any


def _left(until: float) -> float:
    """Return the seconds left until the time `until`; raise TimeoutError if there are none."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


class _Until:
    """A mix-in for sockets whose operations may last until the deadline."""

    until = float("inf")

    def recv_into(self, *arguments: Any, **named: Any) -> int:
        self._hurry()
        return super().recv_into(*arguments, **named)  # type: ignore[misc,no-any-return]

    def send(self, *arguments: Any, **named: Any) -> int:
        self._hurry()
        return super().send(*arguments, **named)  # type: ignore[misc,no-any-return]

    def sendall(self, *arguments: Any, **named: Any) -> None:
        self._hurry()
        super().sendall(*arguments, **named)  # type: ignore[misc]

    def _hurry(self) -> None:
        if self.until < float("inf"):
            self.settimeout(_left(self.until))  # type: ignore[attr-defined]


class _Socket(_Until, socket.socket):
    """A socket with a deadline."""


class _SecureSocket(_Until, ssl.SSLSocket):
    """A socket with a deadline, for TLS."""


class _Connection(http.client.HTTPConnection):
    """An HTTP connection with a deadline, which runs from its construction."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.until = time.monotonic() + (self.timeout or float("inf"))
        self._create_connection = self._connect_in_time

    def _connect_in_time(self, address: tuple[str, int], *_: object) -> socket.socket:
        """Return a socket that is connected to the first address which answers in time."""
        problem: OSError = OSError("getaddrinfo returns an empty list")
        for family, kind, number, _name, place in _addresses(address, _left(self.until)):
            opened = _Socket(family, kind, number)
            opened.until = self.until
            try:
                opened.settimeout(_left(self.until))
                opened.connect(place)
                return opened
            except OSError as found:
                opened.close()
                problem = found
        raise problem


class _SecureConnection(_Connection, http.client.HTTPSConnection):
    """An HTTPS connection with a deadline, which runs from its construction."""

    _context: ssl.SSLContext

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._context.sslsocket_class = _SecureSocket

    def connect(self) -> None:
        """Connect, and agree on TLS within the time that is left."""
        super().connect()
        assert isinstance(self.sock, _SecureSocket)
        self.sock.until = self.until


def _addresses(address: tuple[str, int], seconds: float) -> list[Any]:
    """Return the system's addresses for `address`, within `seconds`.

    The system's resolver cannot be interrupted: it is left behind, and ends by itself.
    """
    found: queue.SimpleQueue[list[Any] | OSError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            found.put(list(socket.getaddrinfo(*address, type=socket.SOCK_STREAM)))
        except OSError as problem:
            found.put(problem)

    threading.Thread(target=look_up, name="rumor-resolver", daemon=True).start()
    try:
        answer = found.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError("timed out") from None
    if isinstance(answer, OSError):
        raise answer
    return answer


class _Handler(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, req)


class _SecureHandler(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SecureConnection, req)


def handlers() -> list[urllib.request.BaseHandler]:
    """Return handlers for an opener whose `timeout` bounds the whole of each request."""
    return [_Handler(), _SecureHandler()]
