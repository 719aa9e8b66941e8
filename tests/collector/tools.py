"""What the tests of the collector share: collections, rows, stores, a database server."""

from __future__ import annotations

import base64
import contextlib
import http.client
import io
import json
import secrets
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from rumor.collector.store.base import ReportBatch, Store, StoredCollection
from rumor.contract.collection import Collection
from rumor.core.reports import Reports
from rumor.mechanisms import PrivKVM


def collection(
    *, series: str = "series", name: str = "A test", retention: int | None = None
) -> Collection:
    """Two questions of different widths: one byte, and four."""
    limits: Mapping[str, object] = {} if retention is None else {"retention_days": retention}
    return Collection.resolve(
        {
            "name": name,
            "series": series,
            "contact": "nobody@example.org",
            "questions": [
                {
                    "id": "colour",
                    "kind": "choice",
                    "labels": ["red", "green", "blue"],
                    "epsilon": 1.0,
                    "mechanism": "randomized-response",
                    "reports_per_person": 1000,
                    **limits,
                },
                {
                    "id": "many",
                    "kind": "choice",
                    "domain": 30,
                    "epsilon": 1.0,
                    "mechanism": "unary",
                    **limits,
                },
            ],
        }
    )


def many_questions(count: int, **more: object) -> Collection:
    """A choice between two, so many times."""
    question = {"kind": "choice", "labels": ["red", "green"], "epsilon": 1.0}
    return Collection.resolve(
        {
            "name": "x",
            "series": "series",
            "contact": "x",
            "questions": [{"id": f"q{n}", **question} for n in range(count)],
            **more,
        }
    )


def two_rounds() -> tuple[Collection, Collection]:
    """The contracts of both rounds of a question for invited people."""
    first = Collection.resolve(
        {
            "name": "x",
            "series": "series",
            "contact": "x",
            "admission": "invited",
            "questions": [
                {"id": "uses", "kind": "keyvalue", "keys": ["a", "b"], "low": 0, "high": 1,
                 "epsilon": 1.0, "mechanism": {"name": "privkvm", "rounds": 2}},
            ],
        }
    )  # fmt: skip
    asked = first.question("uses")
    assert isinstance(asked.mechanism, PrivKVM)
    later = replace(asked, mechanism=asked.mechanism.next([0.1, 0.2], parent=first.digest))
    return first, replace(first, questions=(later,), revision=2, previous=first.digest)


@contextlib.contextmanager
def typing(text: str = "") -> Iterator[None]:
    """While this lasts, the standard input holds this text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(text))
        yield


def rows(entry: StoredCollection, question: str, values: object) -> Reports:
    """Fresh reports of some values, each with a random id in front."""
    reports = entry.collection.question(question).mechanism.without_labels().privatize(values)
    ids = np.frombuffer(secrets.token_bytes(16 * len(reports)), np.uint8).reshape(-1, 16)
    return np.concatenate([ids, reports], axis=1)


def batch(entry: StoredCollection, question: str, values: object) -> ReportBatch:
    """A batch of fresh reports."""
    return ReportBatch(entry.questions[question], rows(entry, question, values))


def stored(store: Store, entry: StoredCollection, question: str) -> dict[bytes, bytes]:
    """The reports that a store holds, by id."""
    found: dict[bytes, bytes] = {}
    for part in store.reports(entry, question):
        for id, report in zip(part.ids, part.reports, strict=True):
            assert id.tobytes() not in found
            found[id.tobytes()] = report.tobytes()
    return found


@dataclass(frozen=True)
class Answer:
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> str:
        """The type of a refusal, which must be well formed."""
        assert self.headers["content-type"] == "application/problem+json"
        document = self.json()
        assert document["status"] == self.status
        assert document["detail"]
        assert "\n" not in document["detail"]
        return str(document["type"]).removeprefix("urn:rumor:problem:")


def call(
    url: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    method: str | None = None,
    source: str = "",
) -> Answer:
    """One HTTP request to a collector on this machine, from the address `source` where given."""
    host, _, port = url.removeprefix("http://").partition(":")
    whence = (source, 0) if source else None
    connection = http.client.HTTPConnection(host, int(port), timeout=30, source_address=whence)
    try:
        connection.request(
            method or ("GET" if body is None else "POST"), path, body, dict(headers or {})
        )
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, found, response.read())
    finally:
        connection.close()


def send(url: str, contract: Collection, question: str, records: bytes, **extra: str) -> Answer:
    """Send a binary body."""
    headers = {
        "Content-Type": "application/vnd.rumor.reports",
        "Rumor-Collection": contract.digest,
        "Rumor-Question": question,
        **{name.replace("_", "-"): value for name, value in extra.items()},
    }
    return call(url, "/v1/reports", records, headers)


def send_json(url: str, contract: Collection, document: object) -> Answer:
    """Send a JSON body."""
    headers = {"Content-Type": "application/json", "Rumor-Collection": contract.digest}
    return call(url, "/v1/reports", json.dumps(document).encode(), headers)


def as_json(question: str, records: Reports) -> dict[str, object]:
    """Rows as a JSON body."""
    return {
        "question": question,
        "reports": [
            {
                "id": base64.b64encode(row[:16].tobytes()).decode(),
                "report": base64.b64encode(row[16:].tobytes()).decode(),
            }
            for row in records
        ],
    }
