"""Every route of every service, each refusal that it has: status, type, headers, totals.

One list of requests for a collector, a gateway, a relay and an issuer; each says what the answer
must be. A route or a method without a request fails.
"""

from __future__ import annotations

import base64
import datetime
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from rumor.client.modules import integrity
from rumor.collector import clock
from rumor.collector.http.headers import DATA_POLICY
from rumor.collector.http.limits import Limits
from rumor.collector.http.pages import SCRIPTS
from rumor.collector.http.server import background
from rumor.collector.issuing import IssuerService
from rumor.collector.service import Service
from rumor.collector.store.base import StoredCollection, open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.contract.deletion import new_key, report_id
from rumor.contract.issuing import enrolment_credential, key_name
from tests.collector.tools import Answer, as_json, batch, call, collection, rows
from tests.issuers import KEYS, blind_collection, invite
from tests.relay.tools import envelopes, running

LIMITS = Limits(body_bytes=20_000, json_reports=20, binary_reports=100)
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
JSON, BINARY = "application/json", "application/vnd.rumor.reports"

# What every response says to a browser.
EVERY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "browsing-topics=(), camera=(), geolocation=(), microphone=(), "
    "payment=(), usb=()",
    "content-security-policy": DATA_POLICY,
}
PUBLIC = {"access-control-allow-origin": "*"}
PREFLIGHT = {
    **PUBLIC,
    "access-control-allow-methods": "GET, POST",
    "access-control-allow-headers": "Content-Type, Content-Encoding, Rumor-Collection, "
    "Rumor-Question, Rumor-Group, Rumor-Token",
    "access-control-max-age": "86400",
}
PRIVATE = {"cache-control": "no-store"}
# What a response may have beside, whose values are its own.
OWN = {"date", "content-length", "content-type", "etag", "content-encoding", "connection"}


@dataclass(frozen=True)
class Request:
    """A request, and the answer that it must have."""

    path: str
    status: int
    problem: str = ""
    """The type of a refusal."""
    counted: str = ""
    """Under which route the metrics count it; under none where it is empty."""
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = ""
    told: Mapping[str, str] = field(default_factory=dict)
    """Headers of the answer beside those that all have."""
    said: object = None
    """The answer itself, where it is short."""
    kind: str = "application/json"
    """What the answer is sent as, where it is no refusal."""

    @property
    def verb(self) -> str:
        return self.method or ("GET" if self.body is None else "POST")


def posted(
    path: str, counted: str, contract: Collection | None, body: bytes, kind: str, /,
    status: int = 200, problem: str = "", said: object = None,
    told: Mapping[str, str] = {}, **headers: str,
) -> Request:  # fmt: skip
    """A request with a body, by whoever may send one."""
    named = {} if contract is None else {"Rumor-Collection": contract.digest}
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    given = {"Content-Type": kind, **named, **more}
    return Request(path, status, problem, counted, body, given, told={**PUBLIC, **told}, said=said)


def reports(entry: StoredCollection) -> Iterator[Request]:
    """Everything that can become of reports."""
    contract = entry.collection

    def sent(body: bytes, kind: str = BINARY, **more: Any) -> Request:
        return posted("/v1/reports", "reports", contract, body, kind,
                      **{"Rumor_Question": "colour", **more})  # fmt: skip

    few = rows(entry, "colour", [0, 1, 2])
    body = few.tobytes()
    yield sent(body, said={"accepted": 3, "duplicates": 0})
    yield sent(body, said={"accepted": 0, "duplicates": 3})
    document = json.dumps(as_json("colour", few)).encode()
    yield sent(document, JSON, said={"accepted": 0, "duplicates": 3})
    packed = gzip.compress(rows(entry, "many", [4]).tobytes())
    yield sent(packed, Rumor_Question="many", Content_Encoding="GZIP ",
               said={"accepted": 1, "duplicates": 0})  # fmt: skip
    other = bytes([*body[:16], (few[0, 16] + 1) % 3])
    yield sent(other, status=409, problem="id-conflict")
    yield sent(b"", status=400, problem="malformed")
    yield sent(bytes(18), status=400, problem="malformed")
    yield sent(bytes(16) + b"\x09", status=422, problem="invalid-report")
    yield sent(bytes(17 * 101), status=413, problem="too-large")
    yield sent(bytes(20_001), status=413, problem="too-large")
    yield sent(body, status=404, problem="not-found", Rumor_Question="else")
    yield sent(body, "text/plain", status=415, problem="unsupported-type")
    yield sent(body, status=415, problem="unsupported-type", Content_Encoding="br")
    yield sent(body, status=400, problem="malformed", Content_Encoding="gzip")
    yield sent(b'{"made up": "field"}', JSON, status=400, problem="malformed")
    many = json.dumps(as_json("colour", rows(entry, "colour", [0] * 21))).encode()
    yield sent(many, JSON, status=413, problem="too-large")
    yield sent(body, status=409, problem="unknown-collection", told={"retry-after": "60"},
               Rumor_Collection="0" * 64)  # fmt: skip
    yield Request("/v1/reports", 204, method="OPTIONS", told=PREFLIGHT)
    yield refused_method("/v1/reports", "PUT")


def refused_method(path: str, method: str) -> Request:
    """A method that a path has not."""
    return Request(path, 405, "method-not-allowed", method=method, told={**PUBLIC, "allow": ""})


def withdrawals(entry: StoredCollection) -> Iterator[Request]:
    """Everything that can become of a withdrawal."""
    contract = entry.collection

    def asked(document: object, kind: str = JSON, **more: Any) -> Request:
        text = document if isinstance(document, bytes) else json.dumps(document).encode()
        return posted("/v1/withdrawals", "withdrawals", contract, text, kind, **more)

    def keys(*some: bytes, question: str = "colour") -> dict[str, object]:
        return {"question": question, "keys": [base64.b64encode(key).decode() for key in some]}

    key = new_key()
    row = report_id(key) + rows(entry, "colour", [1])[0, 16:].tobytes()
    yield posted("/v1/reports", "reports", contract, row, BINARY, Rumor_Question="colour",
                 said={"accepted": 1, "duplicates": 0})  # fmt: skip
    yield asked(keys(key, new_key(), key), said={"withdrawn": 1, "absent": 1})
    yield asked(keys(key), said={"withdrawn": 0, "absent": 1})
    yield asked(keys(), status=400, problem="malformed")
    yield asked(keys(b"short"), status=400, problem="malformed")
    yield asked({"made up": "field"}, status=400, problem="malformed")
    yield asked(keys(key, question="else"), status=404, problem="not-found")
    yield asked(keys(*(new_key() for _ in range(21))), status=413, problem="too-large")
    yield asked(keys(key), "text/plain", status=415, problem="unsupported-type")
    yield asked(keys(key), status=409, problem="unknown-collection", told={"retry-after": "60"},
                Rumor_Collection="0" * 64)  # fmt: skip
    yield Request("/v1/withdrawals", 204, method="OPTIONS", told=PREFLIGHT)
    yield refused_method("/v1/withdrawals", "DELETE")


# Routes of analysts, and a query that each refuses.
ANALYSTS = {
    "overview": "",
    "estimates": "/colour",
    "trends": "/colour",
    "comparisons": "/colour",
    "integrity": "/colour",
}
PERIODS = "first=2026-01-01..2026-01-02&second=2026-01-03..2026-01-04"


def analysts(token: str) -> Iterator[Request]:
    """What analysts hear, and what others hear who ask as they do."""
    mine = {"Authorization": f"Bearer {token}"}
    for name, end in ANALYSTS.items():
        path = f"/v1/{name}{end}"
        for wrong in ({}, {"Authorization": "Bearer other"}, {"Authorization": f"Basic {token}"}):
            told = {**PUBLIC, "www-authenticate": "Bearer"}
            yield Request(path, 401, "unauthorized", headers=wrong, told=told)
        yield refused_method(path, "POST")
        yield Request(f"{path}?wrong=1", 422, "invalid-query", headers=mine, told=PUBLIC)
        asked = "?collection=0000"
        if name == "comparisons":
            yield Request(path, 422, "invalid-query", headers=mine, told=PUBLIC)
            asked = f"?{PERIODS}&collection=0000"
        yield Request(path + asked, 404, "not-found", headers=mine, told=PUBLIC)
        if end:
            path = f"/v1/{name}/else" + ("" if name != "comparisons" else f"?{PERIODS}")
            yield Request(path, 404, "not-found", headers=mine, told=PUBLIC)
    yield Request("/v1/overview", 200, "", "overview", headers=mine, told=PRIVATE)
    yield Request("/v1/estimates/colour", 200, "", "estimates", headers=mine, told=PRIVATE)
    yield Request("/v1/integrity/colour", 200, "", "integrity", headers=mine, told=PRIVATE)
    path = "/v1/trends/colour?every=year&different_people=1"
    yield Request(path, 422, "invalid-query", headers=mine, told=PUBLIC)
    for more in ("", "?every=week&different_people=true"):
        yield Request(f"/v1/trends/colour{more}", 200, "", "trends", headers=mine, told=PRIVATE)
    compared = f"/v1/comparisons/colour?{PERIODS}&different_people=yes&level=0.9"
    yield Request(compared, 200, "", "comparisons", headers=mine, told=PRIVATE)
    earlier = "/v1/estimates/colour?from=2026-01-02&to=2026-01-03&level=0.9&rows=2&of=people"
    yield Request(earlier, 200, "", "estimates", headers=mine, told=PRIVATE)
    windows = "?from=2020-01-01&to=2020-01-02"
    yield Request(f"/v1/estimates/colour{windows}", 409, "no-reports", headers=mine, told=PUBLIC)
    for wrong_query in ("from=x", "from=2020-01-02&to=2020-01-01", "level=2", "rows=x",
                        "format=pdf", "of=nobody", "method=none",
                        "find=red&format=csv"):  # fmt: skip
        path = f"/v1/estimates/colour?{wrong_query}"
        yield Request(path, 422, "invalid-query", headers=mine, told=PUBLIC)
    kinds = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
    for format, kind in kinds.items():
        name = f'attachment; filename="colour.{format}"'
        yield Request(f"/v1/estimates/colour?format={format}", 200, "", "estimates", headers=mine,
                      told={**PRIVATE, "content-disposition": name}, kind=kind)  # fmt: skip


def anybody(contract: Collection) -> Iterator[Request]:
    """What everybody hears."""
    told = {**PUBLIC, "vary": "Accept-Encoding", "rumor-collection": contract.digest}
    for accepted in ("", "gzip", "identity, gzip;q=0.5"):
        headers = {"Accept-Encoding": accepted}
        yield Request("/v1/collection", 200, "", "collection", headers=headers, told=told)
    yield Request("/v1/collection", 204, method="OPTIONS", told=PREFLIGHT)
    yield refused_method("/v1/collection", "POST")
    yield Request("/v1/openapi.json", 200, told=PUBLIC)
    yield Request("/healthz", 200, said={"status": "ok"})
    yield Request("/metrics", 200, kind=PROMETHEUS)
    for path in ("/v1/openapi.json", "/healthz", "/metrics", "/", "/answer"):
        yield refused_method(path, "POST")
    yield Request("/nothing/here", 404, "not-found", told=PUBLIC)
    pages = {"cache-control": "no-cache", "vary": "Accept-Encoding"}
    policy = {"content-security-policy": "PAGE"}
    for path, vary in (("/", "Accept-Encoding"), ("/answer", "Accept-Encoding, Accept-Language")):
        page, told = "text/html; charset=utf-8", {**pages, **policy, "vary": vary}
        yield Request(path, 200, "", "pages", told=told, kind=page)
    style = "text/css; charset=utf-8"
    yield Request("/assets/base.css", 200, "", "pages", told=pages, kind=style)
    module = f"/client/{next(iter(integrity()))}"
    script = "text/javascript; charset=utf-8"
    for name in SCRIPTS:
        yield Request(f"/assets/{name}", 200, "", "pages", told=pages, kind=script)
    yield Request(module, 200, "", "pages", told={**pages, **PUBLIC}, kind=script)
    yield Request("/client/integrity.json", 200, "", "pages", told={**pages, **PUBLIC})
    for path in ("/assets/none.css", "/client/../answer.py", "/assets/answer.html"):
        yield Request(path, 404, "not-found", told=PUBLIC)
    for path in ("/assets/base.css", module):
        yield refused_method(path, "PUT")


def checked(url: str, request: Request) -> Answer:
    """Send a request and check its answer: status, type, every header, totals later."""
    answer = call(url, request.path, request.body, request.headers, request.verb)
    place = f"{request.verb} {request.path}: {answer.body[:300]!r}"
    assert answer.status == request.status, place
    if request.problem:
        assert answer.problem == request.problem, place
        assert set(answer.json()) <= {"type", "title", "status", "detail", "refused", "current"}
    elif request.status != 204:
        assert answer.headers["content-type"] == request.kind, place
    if request.said is not None:
        assert answer.json() == request.said, place
    expected = {**EVERY, **request.told}
    found = {name: value for name, value in answer.headers.items() if name not in OWN}
    if expected["content-security-policy"] == "PAGE":
        assert "default-src 'none'; script-src 'self'" in found["content-security-policy"]
        expected["content-security-policy"] = found["content-security-policy"]
    if "allow" in expected:
        expected["allow"] = found.get("allow", "missing")
        assert request.verb not in expected["allow"].split(", "), place
    assert found == expected, place
    return answer


def totals(done: list[tuple[Request, Answer]]) -> Counter[tuple[str, int]]:
    """Return how many responses the metrics must have counted, by route and status."""
    return Counter((one.counted, answer.status) for one, answer in done if one.counted)


def untried(app: Starlette, done: list[tuple[Request, Answer]]) -> set[tuple[str, str]]:
    """Return the routes and methods of an application that no request tried."""
    missing = set()
    for route in app.routes:
        assert isinstance(route, Route)
        methods = (route.methods or set()) - {"HEAD"}
        for method in methods:
            if not any(
                one.verb == method and route.path_regex.match(one.path.partition("?")[0])
                for one, _ in done
            ):
                missing.add((method, route.path))
    return missing


def tried(url: str, service: Any, requests: list[Request]) -> list[tuple[Request, Answer]]:
    """Send all requests, and check what the service counted and that no route was left out."""
    before = Counter(service.metrics.responses)
    done = [(one, checked(url, one)) for one in requests]
    assert Counter(service.metrics.responses) - before == totals(done)
    assert untried(service.app(), done) == set()
    return done


def test_a_collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    for day in (1, 2, 3, 4, 14):
        moment = datetime.datetime(2026, 1, day, tzinfo=datetime.UTC).timestamp()
        monkeypatch.setattr(clock, "now", lambda: moment)  # noqa: B023
        store.write([batch(entry, "colour", [0, 1, 2] * (10 * day))])
    monkeypatch.undo()
    token = add_token(tmp_path / "tokens", "alice")
    service = Service(store, "series", tokens=Tokens(tmp_path / "tokens"), limits=LIMITS)
    with background(service) as url:
        done = tried(
            url,
            service,
            [
                *anybody(entry.collection),
                *reports(entry),
                *withdrawals(entry),
                *analysts(token),
                *closed_gateway(entry),
            ],
        )
        seen = service.metrics.reports
        # Of those that were refused, only what the store refused: others never were reports.
        assert dict(seen) == {
            "accepted": 5,
            "duplicate": 6,
            "refused": 1,
            "withdrawn": 1,
            "dropped": 0,
        }
        told = {one.path: answer for one, answer in done if answer.status == 200}
        check_heard({path: told[path].json() for path in told if "0.9" in path})
        conflict = next(a for one, a in done if one.problem == "id-conflict")
        assert conflict.json()["refused"] == [0]
        after_closing(url, service, entry)


def check_heard(heard: Mapping[str, Any]) -> None:
    """What analysts asked for is what they hear: the window, the level, the rows, the periods."""
    few = next(answer for path, answer in heard.items() if "level=0.9&rows=2" in path)
    assert few["reports"] == 30 * 2 + 30 * 3
    assert (few["level"], len(few["estimates"])) == (0.9, 2)
    compared = next(answer for path, answer in heard.items() if "comparisons" in path)
    assert compared["level"] == 0.9
    assert compared["question"] == "colour"


def closed_gateway(entry: StoredCollection) -> Iterator[Request]:
    """What a collector without a gateway says to relays."""
    yield posted("/v1/batches", "batches", entry.collection, b"x", "application/octet-stream",
                 status=403, problem="forbidden", Authorization="Bearer x")  # fmt: skip
    yield Request("/v1/batches", 405, "method-not-allowed", method="GET",
                  told={**PUBLIC, "allow": ""})  # fmt: skip


def after_closing(url: str, service: Service, entry: StoredCollection) -> None:
    """A collection that is closed takes nothing, and serves what it has."""
    contract = entry.collection
    service.store.close_collection(contract.digest)
    one = rows(entry, "colour", [0]).tobytes()
    checked(url, posted("/v1/reports", "reports", contract, one, BINARY, status=410,
                        problem="closed", Rumor_Question="colour"))  # fmt: skip
    service._checked = -1e9
    answer = call(url, "/v1/collection")
    assert answer.json()["open"] is False
    service.bucket._tokens = service.bucket._rate = 0.0
    service.bucket._heard = {"127.0.0.1"}
    service.bucket.take = lambda address="": False  # type: ignore[method-assign]
    for path in ("/v1/reports", "/v1/withdrawals", "/v1/batches"):
        limited = posted(path, "", contract, one, BINARY, status=429, problem="rate",
                         told={"retry-after": "1"})  # fmt: skip
        checked(url, limited)


def test_a_relay_and_a_gateway(tmp_path: Path) -> None:
    with running(tmp_path) as path3:
        contract = path3.collection
        one, other = envelopes(contract, 2)
        relay = f"/v1/relay/{contract.digest}"
        kind = "application/octet-stream"
        told = [
            posted(f"{relay}/colour", "relay", None, one, kind, status=202, said={"taken": 1}),
            posted(f"{relay}/colour", "relay", None, one, kind, status=202, said={"taken": 1}),
            posted(f"{relay}/colour", "relay", None, one[1:], kind, 400, "malformed"),
            posted(f"{relay}/else", "relay", None, one, kind, 404, "not-found"),
            posted(f"/v1/relay/{'0' * 64}/colour", "relay", None, one, kind, 404, "not-found"),
            posted(f"{relay}/colour/7", "relay", None, one, kind, 409, "wrong-turn"),
            Request(f"{relay}/colour", 204, method="OPTIONS", told=PREFLIGHT),
            Request(f"{relay}/colour/7", 204, method="OPTIONS", told=PREFLIGHT),
            refused_method(f"{relay}/colour", "GET"),
            Request("/healthz", 200, said={"status": "ok"}),
            Request("/metrics", 200, kind=PROMETHEUS),
            Request("/", 404, "not-found", told=PUBLIC),
        ]
        tried(path3.relay_url, path3.relay, told)
        counts = path3.relay.metrics.reports
        assert (counts["kept"], counts["repeated"]) == (1, 1)
        gateway(path3.service, path3.collector_url, contract, tmp_path, [one, other])


def gateway(
    service: Service, url: str, contract: Collection, folder: Path, sealed: list[bytes]
) -> None:
    """What a collector says to its relay, and to whoever comes past it."""
    token = add_token(folder / "relays", "another")

    def handed(body: bytes, *said: Any, **more: Any) -> Request:
        headers = {"Rumor_Question": "colour", "Authorization": f"Bearer {token}", **more}
        kind = headers.pop("kind", "application/vnd.rumor.envelopes")
        return posted("/v1/batches", "batches", contract, body, kind, *said, **headers)

    good = b"".join(sealed)
    size = len(sealed[0])
    who = {"www-authenticate": "Bearer"}
    record = bytes(16) + b"\x01"
    done = [
        handed(good, said={"taken": 2}),
        handed(good, said={"taken": 2}),
        handed(bytes(size), said={"taken": 1}),
        handed(good[1:], 400, "malformed"),
        handed(b"", 400, "malformed"),
        handed(good, 401, "unauthorized", told=who, Authorization="Bearer other"),
        handed(good, 401, "unauthorized", told=who, Authorization=""),
        handed(good, 404, "not-found", Rumor_Question="else"),
        handed(good, 409, "wrong-turn", Rumor_Turn="7"),
        handed(good, 415, "unsupported-type", kind="application/json"),
        # Nobody comes past the relay.
        posted("/v1/reports", "reports", contract, record, BINARY, 403, "forbidden",
               Rumor_Question="colour"),
    ]  # fmt: skip
    before = Counter(service.metrics.responses)
    answers = [(one, checked(url, one)) for one in done]
    assert Counter(service.metrics.responses) - before == totals(answers)
    counts = service.metrics.reports
    assert (counts["accepted"], counts["duplicate"], counts["dropped"]) == (2, 2, 1)


def test_an_issuer(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'issuer.db'}")
    contract = blind_collection()
    store.register(contract)
    (code,) = invite(store)
    credential = enrolment_credential(contract, code)
    service = IssuerService(store, contract, KEYS)
    name = key_name(KEYS.secrets["colour"].public)

    def wanted(
        who: bytes = credential, blinded: bytes = bytes(255) + b"\x07", **more: Any
    ) -> bytes:
        one = {"key": name, "number": 0, "blinded": blinded, **more}
        named = {
            key: base64.b64encode(value).decode() if isinstance(value, bytes) else value
            for key, value in one.items()
        }
        document = {"credential": base64.b64encode(who).decode(), "tokens": [named]}
        return json.dumps(document).encode()

    def asked(body: bytes, *said: Any, kind: str = JSON) -> Request:
        return posted("/v1/tokens", "tokens", None, body, kind, *said)

    with background(service) as url:
        done = tried(
            url,
            service,
            [
                asked(wanted()),
                asked(wanted()),
                asked(wanted(blinded=bytes(255) + b"\x09"), 403, "not-admitted"),
                asked(wanted(who=bytes(len(credential))), 403, "not-admitted"),
                asked(wanted(who=b"short"), 400, "malformed"),
                asked(wanted(key=bytes(len(name))), 409, "unknown-collection"),
                asked(wanted(number=1), 400, "malformed"),
                asked(wanted(number=-1), 400, "malformed"),
                asked(wanted(blinded=b"\x07"), 400, "malformed"),
                asked(wanted(blinded=b"\xff" * 256), 400, "malformed"),
                asked(b'{"credential": "AA==", "tokens": []}', 400, "malformed"),
                asked(b'{"made up": 1}', 400, "malformed"),
                asked(wanted(), 415, "unsupported-type", kind="text/plain"),
                Request("/v1/tokens", 204, method="OPTIONS", told=PREFLIGHT),
                refused_method("/v1/tokens", "GET"),
                Request("/healthz", 200, said={"status": "ok"}),
                Request("/metrics", 404, "not-found", told=PUBLIC),
            ],
        )
    first, again = done[0][1].json(), done[1][1].json()
    assert first == again
    assert [len(base64.b64decode(one)) for one in first["signatures"]] == [256]
    assert done[2][1].json()["refused"] == [0]


def test_what_fails_inside_is_said_in_one_sentence(tmp_path: Path) -> None:
    """What such an answer never holds is tested in test_strangers.py."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(blind_collection())
    issuing = IssuerService(store, blind_collection(), KEYS)
    (tmp_path / "relay").mkdir()
    with running(tmp_path / "relay") as path3, background(issuing) as issuer_url:
        services = {
            path3.collector_url: path3.service,
            path3.relay_url: path3.relay,
            issuer_url: issuing,
        }
        for url, service in services.items():
            service.is_healthy = broken  # type: ignore[attr-defined]
            checked(url, Request("/healthz", 500, "failed", told=PUBLIC))
            service.is_healthy = ill  # type: ignore[attr-defined]
            checked(url, Request("/healthz", 503, "unavailable", told=PUBLIC))


async def ill() -> bool:
    return False


async def broken() -> bool:
    raise RuntimeError("a reason that nobody outside may read")
