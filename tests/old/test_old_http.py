"""What older clients and collectors said over HTTP, said again to the present ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from rumor.client.client import Client
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.admission import admission_keys
from rumor.contract.collection import Collection
from tests.collector.tools import call
from tests.old.kept import HERE

CONVERSATIONS = sorted(HERE.glob("*/http.json"))
Told = dict[str, Any]
EXACT = {"accepted", "duplicates", "withdrawn", "absent", "type", "status", "digest", "contract",
         "open", "question", "collection", "reports", "value", "refused"}  # fmt: skip
"""Members of answers that must be equal; of others the type must be."""


def conversations() -> list[Any]:
    """Return every series of every recorded version."""
    return [
        pytest.param(path, series, id=f"{path.parent.name}-{series}")
        for path in CONVERSATIONS
        for series in json.loads(path.read_text())["said"]
    ]


def same_members(found: Any, said: Any, where: str) -> None:
    """Assert that an answer has all that was said, and may have more."""
    if isinstance(said, dict):
        assert isinstance(found, dict), where
        for name, value in said.items():
            assert name in found, f"{where}.{name}"
            if name in EXACT:
                assert found[name] == value, f"{where}.{name}"
            else:
                same_members(found[name], value, f"{where}.{name}")
    elif isinstance(said, list):
        assert len(found) == len(said), where
        for number, (one, other) in enumerate(zip(found, said, strict=True)):
            same_members(one, other, f"{where}[{number}]")
    elif isinstance(said, float) and not isinstance(found, bool):
        assert isinstance(found, (int, float)), where
    else:
        assert isinstance(found, type(said)), where


@pytest.mark.parametrize(("path", "series"), conversations())
def test_requests_of_older_programs_get_their_answers(
    path: Path, series: str, tmp_path: Path
) -> None:
    told: Told = json.loads(path.read_text())
    known = Collection.from_contract(json.loads(told["contracts"][series]))
    token = add_token(tmp_path / "tokens", "analyst")
    with closing(open_store(f"sqlite:///{tmp_path / 'store.db'}")) as store:
        store.register(known)
        if known.admission == "invited":
            store.admit(series, admission_keys(known, told["invitation"]))
        with background(Service(store, series, tokens=Tokens(tmp_path / "tokens"))) as url:
            for number, said in enumerate(told["said"][series]):
                headers = {k: v.replace("TOKEN", token) for k, v in said["headers"].items()}
                if said["method"] == "GET":
                    store.summarize()
                body = bytes.fromhex(said["body"]) or None
                answer = call(url, said["path"], body, headers, method=said["method"])
                where = f"{number}: {said['method']} {said['path']}"
                assert (answer.status, answer.headers["content-type"]) == (
                    said["status"],
                    said["type"],
                ), (where, answer.body)
                same_members(answer.json(), said["answer"], where)


@contextmanager
def older_collector(said: list[Told]) -> Iterator[str]:
    """A server that gives the recorded answer to each request, whatever the body is."""
    left = list(said)

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found = next(
                each for each in left if (each["method"], each["path"]) == (self.command, self.path)
            )
            if self.command == "POST":
                left.remove(found)
            body = json.dumps(found["answer"]).encode()
            self.send_response(found["status"])
            self.send_header("Content-Type", found["type"])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _answer  # noqa: N815 (names of http.server)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(("path", "series"), conversations())
def test_answers_of_older_collectors_are_understood(
    path: Path, series: str, tmp_path: Path
) -> None:
    told: Told = json.loads(path.read_text())
    invited = series == "club"
    with (
        older_collector(told["said"][series]) as url,
        Client(
            url, tmp_path / "device", invitation=told["invitation"] if invited else None, attempts=1
        ) as client,
    ):
        known = Collection.from_contract(json.loads(told["contracts"][series]))
        assert client.collection().digest == known.digest
        assert client.answer({"colour": "red"}).sent == 1
        assert client.waiting() == []
        if not invited:
            assert client.withdraw().withdrawn == 1
            assert client.answer({"colour": "red"}).sent == 1
