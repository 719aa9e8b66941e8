"""What nobody may learn: secrets are planted, and looked for in whatever comes out or stays.

Every request of test_every_request.py is sent once as it is and once for each way in which the
inside can fail. Whoever sends says who they are in every header that people know; all answers, all
lines of the log, and all bytes and rows that collector, relay and issuer leave are searched.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rumor.collector.http.server import background
from rumor.collector.issuing import IssuerService
from rumor.collector.service import Service
from rumor.collector.store.base import StoreDamagedError, StoreUnavailableError, open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.admission import admission_keys, new_invitation, read_invitation, token
from rumor.contract.collection import Collection
from rumor.contract.issuing import enrolment_credential, key_name
from tests.collector.test_every_request import (
    JSON,
    LIMITS,
    Request,
    analysts,
    anybody,
    closed_gateway,
    posted,
    reports,
    withdrawals,
)
from tests.collector.tools import Answer, call, collection, rows
from tests.issuers import KEYS, blind_collection, invite
from tests.relay.tools import envelopes, running

ADDRESS = "127.0.0.5"
# What a sender's own headers say of them, and what they type where it does not belong.
SENDER = {
    "User-Agent": "agent-4f7a91",
    "Cookie": "session=cookie-4f7a92",
    "X-Forwarded-For": "203.0.113.77",
    "Forwarded": "for=203.0.113.78",
    "Referer": "https://referer-4f7a93.example",
    "From": "mail-4f7a98@example.org",
    "Accept-Language": "xx-4f7a99",
}
TYPED = ("answer-4f7a94", "token-4f7a95")
WHO = (ADDRESS, *(value.rpartition("=")[2] for value in SENDER.values()), *TYPED)
# What exceptions say inside: where the store is, and how it is opened.
REASON = "exception-4f7a96 of postgresql://user:dsn-4f7a97@store.example/db"


def typed() -> Iterator[Request]:
    """Bodies and headers with somebody's answer or token in a wrong place."""
    answer, wrong = TYPED
    bodies = [
        {answer: 1},
        {"question": answer, "reports": [], answer: answer},
        {"question": "colour", "reports": [{"id": "AA==", "report": "AA==", answer: 1}]},
        {"question": "colour", "keys": [], answer: answer},
        {"question": "colour", "keys": [answer]},
        {"question": answer, "keys": ["AA=="]},
        {"credential": answer, "tokens": []},
        {"credential": "AA==", "tokens": [{answer: answer}]},
        answer,
    ]
    for path in ("/v1/reports", "/v1/withdrawals", "/v1/tokens"):
        for body in bodies:
            contract = collection()
            yield posted(path, "", contract, json.dumps(body).encode(), JSON, Rumor_Token=wrong)
    for path in ("/v1/overview", "/v1/estimates/colour", "/v1/batches"):
        yield Request(path, 0, headers={"Authorization": f"Bearer {wrong}"})
    yield posted("/v1/reports", "", collection(), b"x", "application/vnd.rumor.reports",
                 Rumor_Question=answer, Rumor_Token=wrong)  # fmt: skip
    yield posted("/v1/batches", "", collection(), b"x", "application/vnd.rumor.envelopes",
                 Authorization=f"Bearer {wrong}")  # fmt: skip


def asked(url: str, request: Request) -> Answer:
    """Send a request as somebody who hides nothing."""
    headers = {**SENDER, **request.headers}
    return call(url, request.path, request.body, headers, request.verb, source=ADDRESS)


def found(text: bytes, secrets: Mapping[str, bytes]) -> list[str]:
    """Return the names of the secrets that a text holds, plain, in hexadecimal or in base64."""
    lowered = text.lower()
    return [
        name
        for name, secret in secrets.items()
        if secret.lower() in lowered
        or secret.hex().encode() in lowered
        or base64.b64encode(secret).rstrip(b"=") in text
    ]


def secrets_of(folder: Path, **more: bytes) -> dict[str, bytes]:
    """What no answer may hold."""
    inside = {"store": str(folder).encode(), "reason": b"4f7a96", "dsn": b"4f7a97"}
    return {**{who: who.encode() for who in WHO}, **inside, **more}


def check_answers(url: str, requests: list[Request], secrets: Mapping[str, bytes]) -> list[int]:
    """Send all requests; no answer may hold a secret, or set a cookie. Return their statuses."""
    statuses = []
    for request in requests:
        answer = asked(url, request)
        statuses.append(answer.status)
        whole = json.dumps(dict(answer.headers)).encode() + answer.body
        assert found(whole, secrets) == [], f"{request.verb} {request.path}: {whole!r}"
        assert "set-cookie" not in answer.headers
        assert "server" not in answer.headers
    return statuses


def check_left(folder: Path, secrets: Mapping[str, bytes], *kept: str) -> None:
    """No file below a folder holds a secret, and no row of a table says when somebody came."""
    now = time.time()
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in kept:
            assert found(path.read_bytes(), secrets) == [], path
    for path in folder.rglob("*.db"):
        database = sqlite3.connect(path)
        tables = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type='table'")
        ]
        for table in tables:
            if (path.stem, table) == ("relay", "release"):
                continue  # the schedule, which is public
            for row in database.execute(f"SELECT * FROM {table}"):
                for cell in row:
                    timed = isinstance(cell, (int, float)) and abs(cell - now) < 1e6
                    assert not timed, f"{path.name} {table}: {row}"
        database.close()


class Failing:
    """A store that can do nothing, and says why to whoever asks."""

    def __init__(self, trouble: Callable[[], Exception]) -> None:
        self._trouble = trouble

    def __getattr__(self, name: str) -> Any:
        def failing(*arguments: object, **named: object) -> Any:
            raise self._trouble()

        return failing


TROUBLES: dict[str, Callable[[], Exception]] = {
    "unavailable": lambda: StoreUnavailableError(REASON),
    "damaged": lambda: StoreDamagedError(REASON),
    "a mistake": lambda: RuntimeError(REASON),
    "a value": lambda: ValueError(REASON),
    "an operating system": lambda: OSError(5, REASON, REASON),
}


def check_failing(
    url: str, service: Any, requests: list[Request], secrets: Mapping[str, bytes]
) -> None:
    """Whatever fails inside, no answer says why."""
    # One good request for each method and path: the others are refused before anything fails.
    requests = list({(one.verb, one.path): one for one in requests if one.status < 300}.values())
    real, written = service.store, getattr(service, "_writer", None)
    write = None if written is None else written._write
    for name, trouble in TROUBLES.items():
        failing = Failing(trouble)
        service.store = service._store_health._store = failing
        service._store_health._felt = -1e9
        if written is not None:
            written._write = failing.write
        # What was known a moment ago still serves, so one round is enough for all.
        if hasattr(service, "_checked"):
            service._checked = -1e9
        statuses = check_answers(url, requests, secrets)
        failed = 503 if name in ("unavailable", "damaged") else 500
        assert failed in statuses, name
    service.store = service._store_health._store = real
    if written is not None:
        written._write = write


def check_log(lines: pytest.LogCaptureFixture, *kept: str) -> None:
    """No line of the log says who came, or what they typed."""
    who = {name: name.encode() for name in WHO}
    for record in lines.records:
        assert found(record.getMessage().encode(), who) == [], record.getMessage()
        text = logging.Formatter().format(record)
        assert found(text.encode(), who) == [], text
    assert not [record for record in lines.records if record.name == "uvicorn.access"]


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Everything that anybody logs, at the lowest level."""
    caplog.set_level(logging.DEBUG)
    for name in ("rumor.collector", "rumor.relay", "uvicorn.error", "uvicorn.access"):
        caplog.set_level(logging.DEBUG, logger=name)
    return caplog


def test_a_collector_tells_nobody_anything(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    (tmp_path / "collector").mkdir()
    store = open_store(f"sqlite:///{tmp_path / 'collector' / 'store.db'}")
    entry = store.register(collection())
    mine = add_token(tmp_path / "tokens", "alice")
    service = Service(store, "series", tokens=Tokens(tmp_path / "tokens"), limits=LIMITS)
    others = rows(entry, "colour", [0, 1])
    ids = {f"id {i}": row[:16].tobytes() for i, row in enumerate(others)}
    secrets = secrets_of(tmp_path, analyst=mine.encode(), **ids)
    sent = posted("/v1/reports", "", entry.collection, others.tobytes(),
                  "application/vnd.rumor.reports", Rumor_Question="colour")  # fmt: skip
    requests = [
        *anybody(entry.collection),
        *reports(entry),
        *withdrawals(entry),
        *analysts(mine),
        *closed_gateway(entry),
        *typed(),
    ]
    with background(service) as url:
        assert asked(url, sent).status == 200
        check_answers(url, requests, secrets)
        check_failing(url, service, requests, secrets)
    check_log(log)
    check_left(tmp_path / "collector", {who: who.encode() for who in WHO})


def test_a_relay_and_its_gateway_tell_nobody_anything(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    with running(tmp_path) as path3:
        contract = path3.collection
        one, other = envelopes(contract, 2)
        secrets = secrets_of(tmp_path, envelope=other[:40])
        relay = f"/v1/relay/{contract.digest}"
        kind, sealed = "application/octet-stream", "application/vnd.rumor.envelopes"
        answer, wrong = TYPED
        waits = posted(f"{relay}/colour", "", None, other, kind)
        requests = [
            posted(f"{relay}/colour", "", None, one, kind),
            posted(f"{relay}/colour", "", None, answer.encode(), kind),
            posted(f"{relay}/{answer}", "", None, one, kind),
            Request("/healthz", 200),
            Request("/metrics", 200),
        ]
        batches = [
            posted("/v1/batches", "", contract, one, sealed, Rumor_Question="colour",
                   Authorization=f"Bearer {word}")
            for word in (wrong, path3.relay.token())
        ]  # fmt: skip
        secrets["relay's token"] = path3.relay.token().encode()
        assert asked(path3.relay_url, waits).status == 202
        check_answers(path3.relay_url, requests, secrets)
        check_answers(path3.collector_url, batches, secrets)
        check_failing(
            path3.collector_url, path3.service, [*batches, Request("/healthz", 0)], secrets
        )
        check_failing(path3.relay_url, path3.relay, requests, secrets)
    check_log(log)
    check_left(tmp_path, {who: who.encode() for who in WHO})


def test_an_issuer_tells_nobody_anything(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'issuer.db'}")
    contract = blind_collection()
    store.register(contract)
    (code,) = invite(store)
    credential = enrolment_credential(contract, code)
    blinded = b"\x01" + hashlib.shake_256(b"blinded").digest(255)
    wish = {"key": key_name(KEYS.secrets["colour"].public), "number": 0, "blinded": blinded}
    named = {
        k: base64.b64encode(v).decode() if isinstance(v, bytes) else v for k, v in wish.items()
    }
    document = {"credential": base64.b64encode(credential).decode(), "tokens": [named]}
    secrets = secrets_of(tmp_path, code=code.encode(), credential=credential)
    service = IssuerService(store, contract, KEYS)
    requests = [
        posted("/v1/tokens", "", None, json.dumps(document).encode(), JSON),
        Request("/healthz", 200),
        *(one for one in typed() if one.path == "/v1/tokens"),
    ]
    with background(service) as url:
        check_answers(url, requests, secrets)
        check_failing(url, service, requests, secrets)
    check_log(log)
    # The issuer keeps of an invitation what nobody can enrol with, and of a message a hash.
    left = {"code": code.encode(), "credential": credential, "blinded": blinded}
    check_left(tmp_path, {**{who: who.encode() for who in WHO}, **left})


def test_an_invitation_leaves_no_trace_beside_its_report(tmp_path: Path) -> None:
    """Of a token that was used, no file of the store tells; nor of the invitation it came from."""
    wish = {
        "name": "Members only", "series": "series", "contact": "x", "admission": "invited",
        "questions": [
            {"id": "q", "kind": "choice", "labels": ["a", "b"], "epsilon": 1.0},
        ],
    }  # fmt: skip
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(Collection.resolve(wish))
    codes = [new_invitation() for _ in range(3)]
    shown = [token(read_invitation(code), "series", "q", 0) for code in codes]
    keys = [admission_keys(entry.collection, code) for code in codes]
    for some in keys:
        store.admit("series", some)
    with background(Service(store, "series", summarize_seconds=0.01)) as url:
        for one in shown[:2]:
            row = rows(entry, "q", [0]).tobytes()
            sent = posted("/v1/reports", "", entry.collection, row,
                          "application/vnd.rumor.reports", Rumor_Question="q",
                          Rumor_Token=one.hex())  # fmt: skip
            assert asked(url, sent).status == 200
    secrets = {f"code {i}": code.encode() for i, code in enumerate(codes)}
    secrets |= {f"token {i}": one for i, one in enumerate(shown)}
    secrets |= {f"used key {i}": one for i, (one,) in enumerate(keys[:2])}
    check_left(tmp_path, {**secrets, **{who: who.encode() for who in WHO}})
    assert found((tmp_path / "store.db").read_bytes(), {"key": keys[2][0]}) == ["key"]
