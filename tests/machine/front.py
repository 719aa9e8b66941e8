"""The address that devices know: it passes requests on to collectors, and keeps the minutes.

As a reverse proxy does, it outlives the collectors behind it and spreads requests over them.
It can lose a request on the way in, or the answer on the way out. What it writes down is
what the checker believes: which reports were sent, and which of them somebody was told are
safe.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rumor.contract.deletion import report_id
from tests.machine.contracts import RELAYED, contracts
from tests.relay.tools import PRIVATE, kind_of

_RELAY = "/v1/relay/"


@dataclass(frozen=True)
class Exchange:
    """One POST of reports, and what became of it."""

    digest: str
    question: str
    body: bytes
    status: int | None
    """The collector's answer, or the relay's (202); None where there was none."""
    problem: str | None
    accepted: int
    relayed: bool
    """Whether the sender heard it."""
    token: str = ""
    """What came along, in hexadecimal."""


@dataclass(frozen=True)
class TakenBack:
    """One POST of keys that take reports back, by the ids that follow from them."""

    ids: frozenset[bytes]
    status: int | None


@dataclass(frozen=True)
class Asked:
    """One POST of blinded messages to an issuer, and what it signed."""

    credential: str
    tokens: list[dict[str, Any]]
    signatures: list[str]


@dataclass
class Front:
    """The address, and the collectors (or the issuer) behind it by their URLs."""

    targets: list[str] = field(default_factory=list)
    minutes: list[Exchange] = field(default_factory=list)
    taken_back: list[TakenBack] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    relay: str | None = None
    """The relay, which has an address of its own."""
    lose_requests: int = 0
    lose_answers: int = 0
    url: str = ""
    _turn: int = 0

    def target(self, path: str) -> str | None:
        """The relay, or the next collector in turn."""
        if path.startswith(_RELAY):
            return self.relay
        if not self.targets:
            return None
        self._turn += 1
        return self.targets[self._turn % len(self.targets)]

    def drain(self) -> tuple[list[Exchange], list[TakenBack]]:
        """What was sent and what was taken back since the last time."""
        drained = self.minutes, self.taken_back
        self.minutes, self.taken_back = [], []
        return drained

    @contextlib.contextmanager
    def listening(self, port: int = 0) -> Iterator[Front]:
        """At any port, which is then the address; or at this one, beside it."""
        front = self

        class Handler(_Handler):
            desk = front

        server = _bound(port, Handler)
        server.daemon_threads = True
        if not port:
            self.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _bound(port: int, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    """A server at a port, which something else on a busy machine may have for a moment."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return ThreadingHTTPServer(("127.0.0.1", port), handler)
        except OSError:
            if not port or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


class _Handler(BaseHTTPRequestHandler):
    desk: Front

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: the minutes say it all."""

    def do_GET(self) -> None:
        self._pass_on("GET", None)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        desk = self.desk
        if desk.lose_requests:
            desk.lose_requests -= 1
            if self.path == "/v1/reports":
                self._note(body, None, b"", relayed=False)
            elif self.path.startswith(_RELAY):
                self._note_envelope(body, None, relayed=False)
            self.close_connection = True
            return
        self._pass_on("POST", body)

    def _pass_on(self, method: str, body: bytes | None) -> None:
        desk = self.desk
        url = desk.target(self.path)
        status: int | None = None
        answer, kind = b"", "text/plain"
        if url is not None:
            headers = {
                name: value
                for name, value in self.headers.items()
                if name.lower().startswith("rumor-")
                or name.lower() in ("content-type", "authorization")
            }
            host, _, port = url.removeprefix("http://").partition(":")
            connection = http.client.HTTPConnection(host, int(port), timeout=60)
            try:
                connection.request(method, self.path, body, headers)
                response = connection.getresponse()
                answer = response.read()
                status, kind = response.status, response.headers["Content-Type"] or kind
            except (OSError, http.client.HTTPException):
                status = None
            finally:
                connection.close()
        lost = body is not None and desk.lose_answers > 0
        if lost:
            desk.lose_answers -= 1
        if body is not None and self.path == "/v1/reports":
            self._note(body, status, answer, relayed=not lost)
        elif body is not None and self.path.startswith(_RELAY):
            self._note_envelope(body, status, relayed=not lost)
        elif body is not None and self.path == "/v1/withdrawals":
            keys = map(base64.b64decode, json.loads(body)["keys"])
            desk.taken_back.append(TakenBack(frozenset(map(report_id, keys)), status))
        elif body is not None and self.path == "/v1/tokens" and status == 200:
            desk.asked.append(Asked(**json.loads(body), **json.loads(answer)))
        if lost:
            self.close_connection = True
            return
        self.send_response(502 if status is None else status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _note_envelope(self, body: bytes, status: int | None, *, relayed: bool) -> None:
        """What is in an envelope, as if it had been sent open."""
        digest, question = self.path.removeprefix(_RELAY).split("/")
        contract = contracts()[RELAYED]
        opened = kind_of(contract, question).open(PRIVATE, body, contract)
        assert opened is not None
        plain = opened[0].id + opened[1]
        self.desk.minutes.append(Exchange(digest, question, plain, status, None, 0, relayed))

    def _note(self, body: bytes, status: int | None, answer: bytes, *, relayed: bool) -> None:
        said: dict[str, Any] = json.loads(answer) if status is not None else {}
        problem = said.get("type")
        self.desk.minutes.append(
            Exchange(
                self.headers["Rumor-Collection"],
                self.headers["Rumor-Question"],
                body,
                status,
                None if problem is None else str(problem).removeprefix("urn:rumor:problem:"),
                int(said.get("accepted", 0)),
                relayed,
                self.headers.get("Rumor-Token", ""),
            )
        )
