"""Record what the devices and the collector of one commit say to each other over HTTP.

    git archive COMMIT src | tar -x -C /tmp/code
    PYTHONPATH=/tmp/code/src .venv/bin/python tests/old/make_http.py tests/old/0.1.0

It writes FOLDER/http.json. Only names that every commit has are used. The requests are what that
commit's client sends, and then some that programs of others send as docs/reference/http.md says.
"""

from __future__ import annotations

import base64
import http.client
import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import rumor
from rumor import Client, Collection
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.admission import admission_keys

INVITATION = "rumor-invitation-AAECAwQFBgcICQoLDA0OD9_G"
_COLOUR = {
    "id": "colour", "kind": "choice", "text": "", "labels": ["red", "green", "blue"],
    "epsilon": 1.0, "mechanism": "randomized-response", "reports_per_person": 2,
}  # fmt: skip
_KEPT = ("content-type", "authorization")


def contract(series: str, **more: object) -> Collection:
    """Return a collection of one question."""
    about = {"name": f"Old {series}", "series": series, "contact": "old@example.org"}
    return Collection.resolve({**about, "questions": [_COLOUR], **more})


class Recorder:
    """A way to a collector that writes down what passes, each request on its own connection."""

    def __init__(self, url: str, token: str) -> None:
        self.exchanges: list[dict[str, Any]] = []
        self._place, self.token = url.removeprefix("http://"), token

    def call(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        """Pass a request on; return the collector's answer."""
        connection = http.client.HTTPConnection(self._place, timeout=30)
        with closing(connection):
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            said = answer.read()
        kept = {
            name.lower(): value.replace(self.token, "TOKEN")
            for name, value in headers.items()
            if name.lower().startswith("rumor-") or name.lower() in _KEPT
        }
        self.exchanges.append(
            {
                "method": method,
                "path": path,
                "headers": kept,
                "body": body.hex(),
                "status": answer.status,
                "type": answer.headers["Content-Type"],
                "answer": json.loads(said),
            }
        )
        return answer.status, said, answer.headers["Content-Type"]

    def repeat(self, which: int, **changes: Any) -> None:
        """Send a recorded request again, with changes."""
        old = {**self.exchanges[which], **changes}
        self.call(old["method"], old["path"], old["headers"], bytes.fromhex(old["body"]))


@contextmanager
def recorded(url: str, token: str) -> Iterator[tuple[str, Recorder]]:
    """While this lasts, what is sent to an address is passed on and written down."""
    record = Recorder(url, token)

    class Handler(BaseHTTPRequestHandler):
        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, said, kind = record.call(self.command, self.path, dict(self.headers), body)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = _pass  # noqa: N815 (names of http.server)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", record
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def survey(url: str, record: Recorder, known: Collection, store: Any, folder: Path) -> None:
    """Answer twice and take a report back; then what other programs send, right and wrong."""
    with Client(url, folder / "device", attempts=1) as client:
        assert client.answer({"colour": "red"}).sent == 1
        assert client.withdraw().withdrawn == 1
        assert client.answer({"colour": "blue"}).sent == 1
    sent = len(record.exchanges) - 1
    body = record.exchanges[sent]["body"]
    record.repeat(sent)
    record.repeat(sent, body=body[:-2] + f"{(int(body[-2:], 16) + 1) % 3:02x}")
    record.repeat(sent, body=body[:-2])
    headers = {"Content-Type": "application/json", "Rumor-Collection": known.digest}
    rows = [(bytes([n]) * 16, bytes([n % 3])) for n in range(1, 40)]
    reports = [
        {"id": base64.b64encode(id).decode(), "report": base64.b64encode(report).decode()}
        for id, report in rows
    ]
    few = json.dumps({"question": "colour", "reports": reports}).encode()
    record.call("POST", "/v1/reports", headers, few)
    record.call("POST", "/v1/reports", {**headers, "Rumor-Collection": "00" * 32}, few)
    record.call("POST", "/v1/reports", headers, b"{")
    store.summarize()
    shown = {"Authorization": f"Bearer {record.token}"}
    for path in ("estimates/colour?method=inversion", "overview", "integrity/colour"):
        record.call("GET", f"/v1/{path}", shown, b"")
    record.call("GET", "/v1/estimates/colour", {}, b"")
    record.call("GET", "/v1/estimates/other", shown, b"")
    record.call("GET", "/v1/nothing", {}, b"")


def club(url: str, record: Recorder, known: Collection, store: Any, folder: Path) -> None:
    """Answer with an invitation; then use its token again."""
    store.admit("club", admission_keys(known, INVITATION))
    with Client(url, folder / "club", invitation=INVITATION, attempts=1) as client:
        assert client.answer({"colour": "green"}).sent == 1
    sent = len(record.exchanges) - 1
    record.repeat(sent)
    body = record.exchanges[sent]["body"]
    record.repeat(sent, body="ff" * 16 + body[32:])


def main(folder: Path) -> None:
    """Write down both conversations."""
    found: dict[str, Any] = {
        "version": rumor.__version__, "invitation": INVITATION, "contracts": {}, "said": {},
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        token = add_token(work / "tokens", "analyst")
        for talk, more in ((survey, {}), (club, {"admission": "invited"})):
            known = contract(talk.__name__, **more)
            with closing(open_store(f"sqlite:///{work / talk.__name__}.db")) as store:
                store.register(known)
                service = Service(store, known.series, tokens=Tokens(work / "tokens"))
                with background(service) as real, recorded(real, token) as (url, record):
                    talk(url, record, known, store, work)
            found["contracts"][known.series] = known.canonical().decode()
            found["said"][known.series] = record.exchanges
    (folder / "http.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
