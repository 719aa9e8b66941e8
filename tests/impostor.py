"""Something else where a collector should be: it answers as it is told, and keeps what it heard."""

from __future__ import annotations

import http.server
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.listening import Quiet, listening


@dataclass(frozen=True)
class Heard:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def said(self) -> tuple[object, ...]:
        """All that a sender chooses to say: what tells two requests apart."""
        ours = {name: self.headers[name] for name in self.headers if name.startswith("rumor-")}
        return self.method, self.path, ours, self.body


@dataclass
class Impostor:
    """Where it listens, and what it heard there."""

    url: str = ""
    heard: list[Heard] = field(default_factory=list)


Told = tuple[int, object, Mapping[str, str]]


def taken(heard: Heard) -> Told:
    """What a collector says of records that it took, one byte of report each."""
    return 200, {"accepted": len(heard.body) // 17, "duplicates": 0}, {}


@contextmanager
def impostor(answer: Callable[[Heard], Told] = taken) -> Iterator[Impostor]:
    """A server that answers every request so."""
    found = Impostor()

    class Handler(Quiet, http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            found.heard.append(Heard(self.command, self.path, headers, body))
            status, document, more = answer(found.heard[-1])
            reply = json.dumps(document).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(reply)), **more}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply)

        def do_POST(self) -> None:
            self.do_GET()

    with listening(Handler) as found.url:
        yield found


def redirecting(url: str, status: int) -> Callable[[Heard], Told]:
    """Send everybody elsewhere."""
    return lambda heard: (status, {}, {"Location": f"{url}{heard.path}"})


def failing(times: int) -> Callable[[Heard], Told]:
    """Not available so many times, and then a collector."""
    left = [times]

    def answer(heard: Heard) -> Told:
        if left[0] == 0:
            return taken(heard)
        left[0] -= 1
        return 503, {"type": "urn:rumor:problem:unavailable", "detail": "not now"}, {}

    return answer
