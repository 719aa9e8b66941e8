"""The collector over HTTP: what it takes, what it refuses, and what it never tells."""

from __future__ import annotations

import gzip
import logging
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.cli import main
from rumor.collector.http.app import make_app
from rumor.collector.http.limits import Limits, RateLimiter
from rumor.collector.http.openapi import openapi
from rumor.collector.http.problems import TYPES
from rumor.collector.http.server import background, listen
from rumor.collector.service import Service
from rumor.collector.store.base import Store, StoredCollection, StoreUnavailableError, open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.results.view import View
from tests.collector.tools import as_json, call, collection, rows, send, send_json, stored

# What each object of the description holds, at least and at most.
HELD = {
    "document": ({"openapi", "info", "paths", "components"}, set[str]()),
    "operation": (
        {"summary", "responses"},
        {"description", "parameters", "requestBody", "security"},
    ),
    "parameter": ({"name", "in", "schema"}, {"required", "description"}),
    "body": ({"required", "content"}, set[str]()),
    "response": ({"description"}, {"content"}),
    "media": ({"schema"}, set[str]()),
    "schema": (
        set[str](),
        {
            *("$ref", "type", "description", "properties", "required", "additionalProperties"),
            *("items", "minItems", "maxItems", "minimum", "maxLength", "pattern", "format"),
            *("enum", "default", "contentEncoding"),
        },
    ),
}


def parts(what: str, one: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield an object of the description and all within it, with what each is."""
    yield what, one
    inner: list[tuple[str, Any]] = []
    if what == "operation":
        inner += [("parameter", each) for each in one.get("parameters", ())]
        inner += [("body", one[key]) for key in ("requestBody",) if key in one]
        inner += [("response", each) for each in one["responses"].values()]
    elif what in ("body", "response"):
        inner += [("media", each) for each in one.get("content", {}).values()]
    elif what in ("media", "parameter"):
        inner += [("schema", one[key]) for key in ("schema",) if key in one]
    else:
        inner += [("schema", each) for each in one.get("properties", {}).values()]
        nested = (one.get("items"), one.get("additionalProperties"))
        inner += [("schema", each) for each in nested if isinstance(each, dict)]
    for name, each in inner:
        yield from parts(name, each)


VALID = bytes(17)
LIMITS = Limits(body_bytes=50_000, json_reports=20, binary_reports=2_000, seconds_to_send=0.5)


@dataclass(frozen=True)
class Running:
    """A collector that runs, and what belongs to it."""

    url: str
    service: Service
    store: Store
    entry: StoredCollection
    token: str
    token_file: Path

    @property
    def contract(self) -> Collection:
        return self.entry.collection

    def records(self, question: str, values: object) -> bytes:
        return rows(self.entry, question, values).tobytes()


def make_service(tmp_path: Path, url: str, limits: Limits = LIMITS) -> tuple[Service, str]:
    store = open_store(url)
    store.register(collection())
    token = add_token(tmp_path / "tokens", "alice")
    return Service(store, "series", tokens=Tokens(tmp_path / "tokens"), limits=limits), token


@pytest.fixture
def running(tmp_path: Path, store_url: str) -> Iterator[Running]:
    service, token = make_service(tmp_path, store_url)
    with background(service) as url:
        entry = service.store.collections()[0]
        yield Running(url, service, service.store, entry, token, tmp_path / "tokens")


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Running]:
    service, token = make_service(tmp_path, f"sqlite:///{tmp_path / 'store.db'}")
    with background(service) as url:
        entry = service.store.collections()[0]
        yield Running(url, service, service.store, entry, token, tmp_path / "tokens")


class TestReports:
    def test_binary_and_json_bodies_are_kept_exactly_once(self, running: Running) -> None:
        binary = rows(running.entry, "many", np.arange(30))
        answer = send(running.url, running.contract, "many", binary.tobytes())
        assert (answer.status, answer.json()) == (200, {"accepted": 30, "duplicates": 0})
        answer = send_json(running.url, running.contract, as_json("many", binary[:20]))
        assert (answer.status, answer.json()) == (200, {"accepted": 0, "duplicates": 20})
        few = rows(running.entry, "colour", [0, 1, 2])
        answer = send_json(running.url, running.contract, as_json("colour", few))
        assert answer.json() == {"accepted": 3, "duplicates": 0}
        expected = {bytes(row[:16]): bytes(row[16:]) for row in binary}
        assert stored(running.store, running.entry, "many") == expected

    def test_gzip_is_taken(self, embedded: Running) -> None:
        body = gzip.compress(embedded.records("many", [1] * 50))
        answer = send(embedded.url, embedded.contract, "many", body, Content_Encoding="gzip")
        assert answer.json() == {"accepted": 50, "duplicates": 0}

    def test_other_bytes_under_a_used_id_are_refused_and_nothing_of_the_body_is_taken(
        self, running: Running
    ) -> None:
        first = rows(running.entry, "colour", [0])
        send(running.url, running.contract, "colour", first.tobytes())
        second = rows(running.entry, "colour", [0, 1])
        second[1, :16], second[1, 16] = first[0, :16], (first[0, 16] + 1) % 3
        answer = send(running.url, running.contract, "colour", second.tobytes())
        assert (answer.status, answer.problem) == (409, "id-conflict")
        assert answer.json()["refused"] == [1]
        assert len(stored(running.store, running.entry, "colour")) == 1

    @pytest.mark.parametrize(
        ("change", "status", "problem"),
        [
            ({"body": b""}, 400, "malformed"),
            ({"body": bytes(19)}, 400, "malformed"),
            ({"body": bytes(16) + b"\x03"}, 422, "invalid-report"),
            ({"Rumor-Question": "other"}, 404, "not-found"),
            ({"Rumor-Collection": "f" * 64}, 409, "unknown-collection"),
            ({"Rumor-Collection": ""}, 409, "unknown-collection"),
            ({"Content-Type": "text/plain"}, 415, "unsupported-type"),
            ({"Content-Encoding": "br"}, 415, "unsupported-type"),
            ({"Content-Encoding": "gzip"}, 400, "malformed"),
            ({"Content-Encoding": "gzip", "body": gzip.compress(VALID)[:-3]}, 400, "malformed"),
            ({"Content-Encoding": "gzip", "body": gzip.compress(bytes(10**6))}, 413, "too-large"),
            ({"Content-Encoding": "gzip", "body": gzip.compress(VALID) + b"x"}, 400, "malformed"),
            ({"body": bytes(17 * 2001)}, 413, "too-large"),
            ({"body": bytes(60_000)}, 413, "too-large"),
            ({"Content-Type": "application/json", "body": b"{}"}, 400, "malformed"),
            ({"Content-Type": "application/json", "body": b"\xff{"}, 400, "malformed"),
            ({"Content-Type": "application/json", "body": b"[" * 30_000}, 400, "malformed"),
            (
                {"Content-Type": "application/json", "body": b'{"question":"x","reports":[]}'},
                400,
                "malformed",
            ),
        ],
    )
    def test_anything_else_is_refused_with_one_sentence(
        self, refusing: Running, change: dict[str, str | bytes], status: int, problem: str
    ) -> None:
        headers: dict[str, str] = {
            "Content-Type": "application/vnd.rumor.reports",
            "Rumor-Collection": refusing.contract.digest,
            "Rumor-Question": "colour",
            **{name: value for name, value in change.items() if isinstance(value, str)},
        }
        body = change.get("body", refusing.records("colour", [0]))
        assert isinstance(body, bytes)
        answer = call(refusing.url, "/v1/reports", body, headers)
        assert (answer.status, answer.problem) == (status, problem)
        assert stored(refusing.store, refusing.entry, "colour") == {}

    @pytest.mark.parametrize(
        "document",
        [
            {"question": "colour", "reports": [{"id": "AAAA", "report": "AA=="}]},
            {"question": "colour", "reports": [{"id": "A" * 22 + "==", "report": "AAA="}]},
            {"question": "colour", "reports": [{"id": "A" * 22 + "==", "report": "/w=="}]},
        ],
    )
    def test_wrong_json_reports_are_named(self, refusing: Running, document: object) -> None:
        answer = send_json(refusing.url, refusing.contract, document)
        assert (answer.status, answer.problem) == (422, "invalid-report")
        assert answer.json()["refused"] == [0]

    def test_a_body_that_never_ends_is_given_up(self, embedded: Running) -> None:
        host, port = embedded.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(
                b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
                b"Content-Type: application/json\r\nRumor-Collection: "
                + embedded.contract.digest.encode()
                + b"\r\n\r\n{"
            )
            assert b" 408 " in connection.recv(1000)

    def test_an_endless_head_is_cut_off(self, embedded: Running) -> None:
        host, port = embedded.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: ")
            with pytest.raises(ConnectionError):
                _send_forever(connection)
        assert call(embedded.url, "/healthz").status == 200

    def test_a_collection_that_is_closed_meanwhile_says_so(self, running: Running) -> None:
        running.store.close_collection(running.contract.digest)
        answer = send(running.url, running.contract, "colour", running.records("colour", [0]))
        assert (answer.status, answer.problem) == (410, "closed")
        time.sleep(1.1)  # what the service knows is at most a second old
        assert call(running.url, "/v1/collection").json()["open"] is False

    def test_a_revision_is_taken_up_while_running(self, embedded: Running) -> None:
        revised = embedded.store.register(collection(name="Revised"), revise=True)
        time.sleep(1.1)
        served = call(embedded.url, "/v1/collection").json()
        assert served["digest"] == revised.collection.digest
        for entry in (embedded.entry, revised):
            body = rows(entry, "colour", [0]).tobytes()
            assert send(embedded.url, entry.collection, "colour", body).status == 200

    def test_another_series_of_the_same_store_is_not_known(self, tmp_path: Path) -> None:
        service, _ = make_service(tmp_path, f"sqlite:///{tmp_path / 'store.db'}")
        other = service.store.register(collection(series="other"))
        with background(service) as url:
            body = rows(other, "colour", [0]).tobytes()
            answer = send(url, other.collection, "colour", body)
            assert (answer.status, answer.problem) == (409, "unknown-collection")
            assert stored(service.store, other, "colour") == {}

    def test_rates_are_bounded(self, tmp_path: Path) -> None:
        limits = Limits(requests_per_second=2)
        service, _ = make_service(tmp_path, f"sqlite:///{tmp_path / 'store.db'}", limits)
        with background(service) as url:
            entry = service.store.collections()[0]
            answers = [
                send(url, entry.collection, "colour", rows(entry, "colour", [0]).tobytes())
                for _ in range(5)
            ]
        assert answers[0].status == 200
        assert (answers[-1].status, answers[-1].problem) == (429, "rate")
        assert answers[-1].headers["retry-after"] == "1"

    def test_too_much_waiting_is_turned_away(self, tmp_path: Path) -> None:
        limits = Limits(waiting_reports=5)
        service, _ = make_service(tmp_path, f"sqlite:///{tmp_path / 'store.db'}", limits)
        with background(service) as url:
            entry = service.store.collections()[0]
            body = rows(entry, "colour", [0] * 6).tobytes()
            answer = send(url, entry.collection, "colour", body)
        assert (answer.status, answer.problem) == (503, "unavailable")


def _send_forever(connection: socket.socket) -> None:
    for _ in range(1000):
        connection.sendall(b"y" * 10_000)
        time.sleep(0.001)


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One collector for all that is refused: nothing of it may leave a trace."""
    tmp_path = tmp_path_factory.mktemp("refusing")
    service, token = make_service(tmp_path, f"sqlite:///{tmp_path / 'store.db'}")
    with background(service) as url:
        entry = service.store.collections()[0]
        yield Running(url, service, service.store, entry, token, tmp_path / "tokens")


def test_the_bucket_refills() -> None:
    now = [0.0]
    bucket = RateLimiter(2, clock=lambda: now[0])
    assert [bucket.take() for _ in range(3)] == [True, True, False]
    now[0] = 0.5
    assert [bucket.take() for _ in range(2)] == [True, False]
    now[0] = 100.0
    assert [bucket.take() for _ in range(3)] == [True, True, False]


class TestContract:
    def test_it_is_served_as_it_was_digested(self, embedded: Running) -> None:
        answer = call(embedded.url, "/v1/collection")
        document = answer.json()
        assert document["open"] is True
        served = Collection.from_contract(document["contract"])
        assert served.digest == document["digest"] == answer.headers["rumor-collection"]
        assert served == collection()

    def test_a_large_one_is_compressed_for_whoever_takes_that(self, tmp_path: Path) -> None:
        question = {"id": "town", "kind": "choice", "epsilon": 1.0}
        towns = {**question, "labels": [f"town number {i}" for i in range(20_000)]}
        wish = {"name": "Towns", "series": "towns", "contact": "a@b.example"}
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        store.register(Collection.resolve({**wish, "questions": [towns]}))
        with background(Service(store, "towns")) as url:
            plain = call(url, "/v1/collection")
            for refused in ("identity", "gzip;q=0", "br, gzip; q=0.000"):
                again = call(url, "/v1/collection", headers={"Accept-Encoding": refused})
                assert (again.body, "content-encoding" in again.headers) == (plain.body, False)
            for taken in ("gzip, deflate, br", "GZIP;q=0.5", "*"):
                packed = call(url, "/v1/collection", headers={"Accept-Encoding": taken})
                assert packed.headers["content-encoding"] == "gzip"
                assert packed.headers["vary"] == "Accept-Encoding"
                assert gzip.decompress(packed.body) == plain.body
                assert len(packed.body) < len(plain.body) / 4
            store.close_collection(plain.json()["digest"])
            time.sleep(1.1)  # what the service knows is at most a second old
            packed = call(url, "/v1/collection", headers={"Accept-Encoding": "gzip"})
            assert b'"open":false' in gzip.decompress(packed.body)

    def test_browsers_of_any_site_may_send(self, embedded: Running) -> None:
        answer = call(embedded.url, "/v1/reports", method="OPTIONS")
        assert answer.status == 204
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "Rumor-Collection" in answer.headers["access-control-allow-headers"]
        assert call(embedded.url, "/v1/collection").headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers


class TestEstimates:
    def ask(self, running: Running, path: str, token: str | None = None) -> tuple[int, object]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        answer = call(running.url, f"/v1/estimates/{path}", headers=headers)
        return answer.status, answer.json() if answer.status == 200 else answer.problem

    def test_it_is_the_estimate_of_the_reports(self, running: Running) -> None:
        values = np.repeat([0, 1, 2], [600, 300, 100])
        sent = rows(running.entry, "colour", values)
        send(running.url, running.contract, "colour", sent.tobytes())
        status, answer = self.ask(running, "colour?level=0.9&of=people", running.token)
        assert status == 200
        mechanism = running.contract.question("colour").mechanism
        expected = rumor.estimate(mechanism, np.ascontiguousarray(sent[:, 16:]))
        assert answer == {
            "collection": running.contract.digest,
            "question": "colour",
            **expected.to_dict(0.9, of="people"),
            "halving": {"more_reports": 3000, "stderr": expected.stderr.max()},
            "above_noise": {"values": expected.above_noise(View(0.9, of="people")), "of": 3},
        }

    def test_rows_in_the_order_of_the_estimate_are_covered_as_such(self, embedded: Running) -> None:
        values = np.repeat([0, 1, 2], [100, 600, 300])
        sent = rows(embedded.entry, "colour", values)
        send(embedded.url, embedded.contract, "colour", sent.tobytes())
        status, answer = self.ask(embedded, "colour?order=estimate&rows=2", embedded.token)
        assert status == 200
        mechanism = embedded.contract.question("colour").mechanism
        expected = rumor.estimate(mechanism, np.ascontiguousarray(sent[:, 16:]))
        view = rumor.View(order="estimate", rows=2)
        assert answer["estimates"] == expected.to_dict(view)["estimates"]  # type: ignore[index]
        assert answer["covers"] == expected.coverage_sentence(view)  # type: ignore[index]

    def test_only_analysts_may_ask(self, embedded: Running) -> None:
        assert self.ask(embedded, "colour") == (401, "unauthorized")
        assert self.ask(embedded, "colour", "rumor-wrong") == (401, "unauthorized")
        assert self.ask(embedded, "colour", embedded.token) == (409, "no-reports")

    def test_tokens_are_rotated_without_a_restart(self, embedded: Running) -> None:
        new = add_token(embedded.token_file, "bob")
        assert self.ask(embedded, "colour", new) == (409, "no-reports")
        assert embedded.token not in embedded.token_file.read_text()
        lines = embedded.token_file.read_text().splitlines()
        embedded.token_file.write_text(lines[1] + "\n")
        assert self.ask(embedded, "colour", embedded.token) == (401, "unauthorized")
        assert self.ask(embedded, "colour", new) == (409, "no-reports")
        embedded.token_file.unlink()
        assert self.ask(embedded, "colour", new) == (401, "unauthorized")

    @pytest.mark.parametrize(
        "query",
        [
            "level=2",
            "level=x",
            "of=mars",
            "method=magic",
            "from=yesterday",
            "colour=red",
            "order=size",
            "rows=0",
            "rows=x",
        ],
    )
    def test_a_wrong_query_is_refused(self, embedded: Running, query: str) -> None:
        send(embedded.url, embedded.contract, "colour", embedded.records("colour", [0]))
        assert self.ask(embedded, f"colour?{query}", embedded.token) == (422, "invalid-query")

    def test_windows_and_unknown_questions(self, embedded: Running) -> None:
        send(embedded.url, embedded.contract, "colour", embedded.records("colour", [0]))
        assert self.ask(embedded, "colour?to=2020-01-01", embedded.token) == (409, "no-reports")
        assert self.ask(embedded, "colour?from=2020-01-01", embedded.token)[0] == 200
        assert self.ask(embedded, "smell", embedded.token) == (404, "not-found")
        assert self.ask(embedded, "colour?collection=ffff", embedded.token) == (404, "not-found")

    def test_without_a_token_file_there_are_no_estimates(self, tmp_path: Path) -> None:
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        store.register(collection())
        with background(Service(store, "series")) as url:
            answer = call(url, "/v1/estimates/colour", headers={"Authorization": "Bearer x"})
        assert (answer.status, answer.problem) == (403, "forbidden")


class TestSurroundings:
    def test_health_and_metrics(self, embedded: Running) -> None:
        assert call(embedded.url, "/healthz").json() == {"status": "ok"}
        records = embedded.records("colour", [0, 1])
        send(embedded.url, embedded.contract, "colour", records)
        send(embedded.url, embedded.contract, "colour", records)
        send(embedded.url, embedded.contract, "colour", b"x")
        answer = call(embedded.url, "/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        lines = answer.body.decode().splitlines()
        assert 'rumor_reports_total{outcome="accepted"} 2' in lines
        assert 'rumor_reports_total{outcome="duplicate"} 2' in lines
        assert 'rumor_responses_total{route="reports",status="400"} 1' in lines
        assert "rumor_commit_seconds_count 2" in lines
        assert "rumor_reports_waiting 0" in lines

    def test_every_route_and_problem_is_described(self, embedded: Running) -> None:
        document = call(embedded.url, "/v1/openapi.json").json()
        assert document == openapi(LIMITS)
        # A name may lead into a folder, which OpenAPI cannot say.
        routes = make_app(embedded.service).routes
        paths = {getattr(route, "path", "").replace(":path", "") for route in routes}
        assert paths == set(document["paths"])
        described = document["components"]["schemas"]["Problem"]["properties"]["type"]["enum"]
        assert described == [f"urn:rumor:problem:{name}" for name in TYPES]
        reference = (Path(__file__).parents[2] / "docs/reference/http.md").read_text()
        for word in [*document["paths"], *TYPES]:
            assert f"`{word}`" in reference or f" {word}`" in reference

    def test_the_description_has_the_form_of_openapi(self) -> None:
        document = openapi(LIMITS)
        assert re.fullmatch(r"3\.1\.\d+", document["openapi"])
        assert document["info"].keys() == {"title", "version", "description"}
        assert document["components"].keys() == {"schemas", "securitySchemes"}
        schemas = document["components"]["schemas"]
        found = [("document", document)]
        found += [part for one in schemas.values() for part in parts("schema", one)]
        named: set[str] = set()
        for path in document["paths"].values():
            assert path.keys() <= {"get", "post"}
            for operation in path.values():
                found += parts("operation", operation)
                assert all(re.fullmatch("[1-5][0-9]{2}", key) for key in operation["responses"])
                assert "200" in operation["responses"]
                named |= {name for way in operation.get("security", ()) for name in way}
        schemes = document["components"]["securitySchemes"]
        assert set(schemes) == named
        assert all(one == {"type": "http", "scheme": "bearer"} for one in schemes.values())
        for what, one in found:
            least, more = HELD[what]
            assert least <= set(one) <= least | more, one
            if "$ref" in one:
                assert one["$ref"].removeprefix("#/components/schemas/") in schemas
            elif what == "schema":
                assert {"type", "enum"} & set(one), one
                assert set(one.get("required", ())) <= set(one.get("properties", ())), one

    def test_a_store_that_takes_no_writes_is_ill(
        self, embedded: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refusing() -> None:
            raise StoreUnavailableError("read-only")

        for ping, status in ((refusing, 503), (embedded.store.ping, 200)):
            monkeypatch.setattr(embedded.store, "ping", ping)
            embedded.service._store_health._felt = -1e9  # it is asked once a second
            assert call(embedded.url, "/healthz").status == status

    def test_a_commit_that_failed_counts_as_ill_for_a_while(self, embedded: Running) -> None:
        """A small write may pass where reports just failed: a disk that is nearly full."""
        assert call(embedded.url, "/healthz").status == 200
        embedded.service.metrics.commit_failed()
        answer = call(embedded.url, "/healthz")
        assert (answer.status, answer.problem) == (503, "unavailable")
        embedded.service.metrics.committed(0.01)
        assert call(embedded.url, "/healthz").status == 200

    def test_a_collection_is_not_called_unknown_while_the_store_cannot_be_asked(
        self, embedded: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It was put back while the collector's connection broke: once asked, it is there."""
        service, digest = embedded.service, embedded.contract.digest
        body, registered = embedded.records("colour", [0]), embedded.store.collections
        asked: list[str] = []

        def broken() -> list[StoredCollection]:
            asked.append("broken")
            raise StoreUnavailableError("the connection broke")

        other = replace(service._entries[digest], number=-1)
        service._entries = {"0" * 64: other}  # as of a moment when the collection was away
        monkeypatch.setattr(embedded.store, "collections", broken)
        service._checked = -1e9
        for _ in range(2):
            answer = send(embedded.url, embedded.contract, "colour", body)
            assert (answer.status, answer.problem) == (503, "unavailable")
        assert asked == ["broken"] * 2  # a look that failed does not count as one
        monkeypatch.setattr(embedded.store, "collections", registered)
        assert send(embedded.url, embedded.contract, "colour", body).status == 200

    def test_unknown_paths_and_methods(self, embedded: Running) -> None:
        assert call(embedded.url, "/v2/reports").problem == "not-found"
        assert call(embedded.url, "/v1/reports").problem == "method-not-allowed"

    def test_nothing_about_a_sender_is_stored_or_logged(
        self, embedded: Running, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        marks = {"Cookie": "mark-a", "User-Agent": "mark-b", "X-Forwarded-For": "203.0.113.77"}
        body = embedded.records("colour", [0])
        answer = send(embedded.url, embedded.contract, "colour", body, **marks)
        assert answer.status == 200
        send(embedded.url, embedded.contract, "colour", b"mark-c", **marks)
        call(embedded.url, "/v1/estimates/mark-d", headers={"Authorization": "Bearer mark-e"})
        kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        said = " ".join(record.getMessage() for record in caplog.records)
        for mark in ("mark-a", "mark-b", "mark-c", "mark-d", "mark-e", "203.0.113.77", "127.0.0.1"):
            assert mark.encode() not in kept
            assert mark not in said
        assert "server" not in answer.headers
        assert "set-cookie" not in answer.headers

    def test_an_address_in_use_is_said(self) -> None:
        with (
            listen("127.0.0.1", 0) as taken,
            pytest.raises(rumor.InputError, match="needs a free port"),
        ):
            listen("127.0.0.1", taken.getsockname()[1])


class TestCommand:
    """`rumor serve` itself is run, and killed, in test_crashes."""

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["other.json"], "only as a revision (rumor collections revise)"),
            (["one.json", "--store", "mysql://x"], "a store must be sqlite:///FILE"),
            (["one.json", "--store", "sqlite:///no/such/folder.db"], "must be a SQLite file"),
            (["one.json", "--dictionary", "no-words"], "got 'no-words'"),
            (["one.json", "--dictionary", "empty"], "must have at least one candidate"),
            (["one.json", "--analyst-token-file", "bad-tokens"], "64 hexadecimal digits"),
            (["one.json", "--host", "203.0.113.1"], "an address of this machine"),
        ],
    )
    def test_what_is_wrong_is_said_before_anything_is_served(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        arguments: list[str],
        sentence: str,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        collection().save("one.json")
        collection(name="Another").save("other.json")
        Path("empty").write_text("\n")
        Path("bad-tokens").write_text("alice 1234\n")
        store = open_store("sqlite:///rumor.db")
        store.register(collection())
        store.close()
        assert main(["serve", *arguments]) == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert len(said.splitlines()) == 1

    def test_tokens_are_made_and_only_their_hash_is_kept(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "tokens"
        assert main(["token", str(path), "--name", "alice"]) == 0
        token = capsys.readouterr().out.strip()
        assert path.stat().st_mode & 0o777 == 0o600
        assert token not in path.read_text()
        assert path.read_text().startswith("alice ")
        assert Tokens(path).allow(token)
        assert not Tokens(path).allow(token + "x")
        assert main(["token", str(path), "--name", "Alice Smith"]) == 2
