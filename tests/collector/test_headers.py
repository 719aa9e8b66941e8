"""What headers, queries and totals say, in every way that they may be written."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from rumor.collector.answer_page import WORDS, languages
from rumor.collector.http.app import _flag
from rumor.collector.http.connections import sender
from rumor.collector.http.headers import SENDER, SecurityHeaders, check_bearer, takes_gzip
from rumor.collector.http.limits import Limits, RateLimiter
from rumor.collector.http.pages import Asset, _language
from rumor.collector.http.post_route import PostRoute, content_type
from rumor.collector.http.problems import TYPES, Problem
from rumor.collector.metrics import Metrics
from rumor.collector.tokens import Tokens, add_token


def request(headers: Mapping[str, str], query: str = "") -> Request:
    """A request with these headers."""
    named = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": query.encode()}
    return Request({**scope, "headers": named})


@pytest.mark.parametrize(
    ("accept", "taken"),
    [
        ("", False),
        ("gzip", True),
        ("GZip", True),
        (" gzip ", True),
        ("br, gzip;q=0.5", True),
        ("br ,gzip ; q=1", True),
        ("*", True),
        ("*;q=0", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("GZIP; Q=0.0", False),
        ("gzip;q=0.001", True),
        ("gzip;q=10", True),
        ("br", False),
        ("xgzip", False),
        ("br;q=1, identity", False),
    ],
)
def test_gzip_is_sent_to_whoever_takes_it(accept: str, taken: bool) -> None:
    assert takes_gzip(accept) == taken


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("Bearer {}", ""),
        ("bearer {}", ""),
        ("BEARER  {} ", ""),
        ("Basic {}", "got one that is not known"),
        ("{}", "got none"),
        ("Bearer {}x", "got one that is not known"),
        ("Bearer", "got none"),
        ("", "got none"),
    ],
)
def test_a_bearer_shows_a_token_that_is_known(tmp_path: Path, form: str, said: str) -> None:
    other, token = add_token(tmp_path / "tokens", "other"), add_token(tmp_path / "tokens", "mine")
    assert other != token
    tokens = Tokens(tmp_path / "tokens")
    for one in (other, token):
        if not said:
            check_bearer(tokens, form.format(one), "estimates need an analyst's", "--file")
            continue
        with pytest.raises(Problem) as found:
            check_bearer(tokens, form.format(one), "estimates need an analyst's", "--file")
        assert found.value.type == "unauthorized"
        assert found.value.headers == {"WWW-Authenticate": "Bearer"}
        assert str(found.value) == (
            f"estimates need an analyst's token (Authorization: Bearer TOKEN); {said}"
        )
    with pytest.raises(Problem) as found:
        check_bearer(None, form.format(token), "batches need a relay's", "--file")
    assert found.value.type == "forbidden"
    assert found.value.detail == (
        "batches need a relay's token, and this collector has none (rumor serve --file FILE)"
    )


def test_a_file_is_sent_again_only_when_it_has_changed() -> None:
    body = b"body { }" * 50
    asset = Asset.of(body, ".css")
    usual = {"etag": asset.etag, "cache-control": "no-cache", "vary": "Accept-Encoding", "x": "y"}

    def sent(headers: Mapping[str, str]) -> tuple[int, bytes, dict[str, str]]:
        response = asset.response(request(headers), {"X": "y"})
        more = dict(response.headers)
        assert {name: more.pop(name, None) for name in usual} == usual
        return response.status_code, bytes(response.body), more

    plain = {"content-type": "text/css; charset=utf-8", "content-length": str(len(body))}
    assert sent({}) == (200, body, plain)
    assert sent({"If-None-Match": '"another"'}) == (200, body, plain)
    for known in (
        asset.etag,
        f"W/{asset.etag}",
        f'"a",  {asset.etag} ,"b"',
        f'"a", W/{asset.etag}',
    ):
        assert sent({"If-None-Match": known, "Accept-Encoding": "gzip"})[:2] == (304, b"")
    status, packed, more = sent({"Accept-Encoding": "br, gzip"})
    assert (status, gzip.decompress(packed)) == (200, body)
    assert len(packed) < len(body)
    assert more.pop("content-encoding") == "gzip"
    assert more == {**plain, "content-length": str(len(packed))}
    assert Asset.of(body, ".css") == asset  # made again, it is known by the same name
    assert Asset.of(body + b" ", ".css").etag != asset.etag


def test_the_answer_page_speaks_the_language_that_was_asked_for() -> None:
    known = list(languages())
    assert known == ["en", *sorted(path.stem for path in WORDS.glob("*.js") if path.stem != "en")]
    other, third = known[1], known[2]
    asked = {
        ("", ""): "en",
        ("xx", ""): "en",
        ("xx, " + other, ""): other,
        (f" {other.upper()}-XX ;q=0.9,{third}", ""): other,
        (f"{third}-Hant, {other}", ""): third,
        (third, f"lang={other}"): other,
        (third, f"lang={other.upper()}-ZZ"): other,
        (third, "lang=xx"): third,
        ("", f"other={third}"): "en",
    }
    found = {
        (accept, query): _language(request({"Accept-Language": accept}, query))
        for accept, query in asked
    }
    assert found == asked
    assert _language(request({})) == "en"


def test_a_content_type_is_the_same_however_it_is_written() -> None:
    known = ("application/json", "text/plain")
    for said in ("application/json", "Application/JSON", " application/json ; charset=utf-8"):
        assert content_type({"content-type": said}, *known) == "application/json"
    for said in ("", "application/xml", "application/json2", "application"):
        with pytest.raises(Problem) as found:
            content_type({"content-type": said}, *known)
        assert found.value.type == "unsupported-type"
        assert "application/json or text/plain" in found.value.detail
    with pytest.raises(Problem, match="got ''"):
        content_type({}, *known)


def test_a_flag_is_said_in_several_words() -> None:
    for said in ("true", "TRUE", "1", "yes", "Yes"):
        assert _flag({"key": said}, "key")
    for given in ({}, {"key": "false"}, {"key": "0"}, {"key": ""}, {"key": "on"}, {"other": "1"}):
        assert not _flag(given, "key")


class Receiver:
    """A service behind a route."""

    def __init__(self) -> None:
        self.limits = Limits(body_bytes=10, requests_per_second=5)
        self.bucket, self.metrics = RateLimiter(5, lambda: 0.0), Metrics()


class Route(PostRoute[Receiver]):
    """A route that gives back what it was sent, or refuses it."""

    name, status = "route", 202

    async def _answer(self, scope: Any, receive: Any) -> bytes:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        body = await self._body(headers, receive)
        if body == b"no":
            raise Problem("rate", "not now", headers={"Retry-After": "7"}, refused=[1])
        return body


def told(
    service: Receiver, *parts: bytes, headers: Mapping[str, str] = {}, sender: str = "",
    hangs_up: bool = False,
) -> tuple[int, dict[str, str], bytes]:  # fmt: skip
    """What a route answers to a body in these parts."""
    sent: list[dict[str, Any]] = []
    left = list(parts)

    async def receive() -> dict[str, Any]:
        if not left:
            return {"type": "http.disconnect"}
        part = left.pop(0)
        last = not left and not hangs_up
        if last:
            return {"type": "http.request", "body": part}
        return {"type": "http.request", "body": part, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    named = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "headers": named, SENDER: sender}
    asyncio.run(Route(service)(scope, receive, send))
    start, end = sent
    assert (start["type"], end["type"]) == ("http.response.start", "http.response.body")
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    assert all(name == name.lower() for name in found)  # ASGI wants them so
    assert found["content-length"] == str(len(end["body"]))
    assert found["access-control-allow-origin"] == "*"
    return start["status"], found, end["body"]


def test_a_body_arrives_in_parts_up_to_its_last_byte() -> None:
    service = Receiver()
    assert told(service, b"abc")[::2] == (202, b"abc")
    status, headers, body = told(service, b"abc", b"", b"defg", b"hij")
    assert (status, headers["content-type"], body) == (202, "application/json", b"abcdefghij")
    assert told(service, b"abcdefghij", headers={"content-length": "10"})[0] == 202
    for parts in ((b"abcdefghijk",), (b"abcde", b"fghijk")):
        assert told(service, *parts, sender="a" * len(parts))[0] == 413
    assert service.metrics.responses == {("route", 202): 3, ("route", 413): 2}
    service = Receiver()
    # One that says that it is too long is not read at all.
    for length in ("11", "9" * 20, "9" * 5000):
        status, _, body = told(service, b"abc", headers={"content-length": length})
        assert status == 413
        assert b"at most 10 bytes" in body
    assert told(service, b"abc", headers={"content-length": "x"})[0] == 202
    status, headers, body = told(service, b"abc", hangs_up=True)
    assert status == 408
    assert b"the sender hung up" in body
    assert headers["content-type"] == "application/problem+json"


def test_a_body_is_unpacked_however_its_coding_is_written() -> None:
    service = Receiver()
    packed = gzip.compress(b"abc")
    assert len(packed) > 10
    service.limits = Limits(body_bytes=30)
    for coding in ("gzip", " GZip "):
        assert told(service, packed, headers={"content-encoding": coding})[::2] == (202, b"abc")
    for coding in ("identity", " Identity ", ""):
        assert told(service, b"abc", headers={"content-encoding": coding})[::2] == (202, b"abc")
    assert told(service, gzip.compress(bytes(30)), headers={"content-encoding": "gzip"},
                sender="a")[2] == bytes(30)  # fmt: skip
    assert told(service, gzip.compress(bytes(31)), headers={"content-encoding": "gzip"},
                sender="b")[0] == 413  # fmt: skip


def test_a_refusal_has_its_headers_and_members() -> None:
    service = Receiver()
    status, headers, body = told(service, b"no")
    assert (status, headers["retry-after"]) == (429, "7")
    assert body == (
        b'{"type":"urn:rumor:problem:rate","title":"rate","status":429,"detail":"not now",'
        b'"refused":[1]}'
    )
    for _ in range(4):
        assert told(service, b"ok")[0] == 202
    # The tokens of this second are used up; an address that took none of them is heard once.
    status, headers, body = told(service, b"ok")
    assert (status, headers["retry-after"]) == (429, "1")
    assert b"this service takes at most 5 requests a second; got more" in body
    assert [told(service, b"ok", sender="a")[0] for _ in range(2)] == [202, 429]


@pytest.mark.parametrize("type", TYPES)
def test_a_problem_says_its_sentence(type: str) -> None:
    problem = Problem(type, "one sentence")
    assert (str(problem), problem.detail, problem.headers) == ("one sentence",) * 2 + ({},)


def test_nobody_behind_the_headers_sees_who_asks() -> None:
    heard: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        heard.append(dict(scope))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x", b"y")]})
        await send({"type": "http.response.body", "body": b"z"})

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    for client in (("2001:db8::7", 5), None):
        asyncio.run(SecurityHeaders(app)({"type": "http", "client": client}, None, send))  # type: ignore[arg-type]
    asyncio.run(SecurityHeaders(app)({"type": "lifespan"}, None, send))  # type: ignore[arg-type]
    assert [(scope.get("client"), scope.get(SENDER)) for scope in heard] == [
        (None, sender("2001:db8::7")),
        (None, ""),
        (None, None),
    ]
    assert [name for name, _ in sent[0]["headers"]].count(b"content-security-policy") == 1
    assert sent[1] == {"type": "http.response.body", "body": b"z"}
    assert sent[4]["headers"] == [(b"x", b"y")]  # no response of HTTP


def test_totals_are_told_in_one_order_and_commits_by_their_length() -> None:
    found = Metrics(("kept", "dropped"), "envelopes")
    found.reports["kept"] += 3
    found.responses["relay", 202] += 2
    found.responses["pages", 304] += 1
    found.responses["pages", 200] += 4
    found.waiting = 5
    found.commit_failed()
    bounds = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
    for number, bound in enumerate(bounds):
        for _ in range(number + 1):
            found.committed(bound)  # a bound belongs to what is below it
    found.committed(2.75)
    assert found.text().splitlines() == [
        "# HELP rumor_envelopes_total Envelopes by what became of them.",
        "# TYPE rumor_envelopes_total counter",
        'rumor_envelopes_total{outcome="dropped"} 0',
        'rumor_envelopes_total{outcome="kept"} 3',
        "# HELP rumor_responses_total Responses by route and status.",
        "# TYPE rumor_responses_total counter",
        'rumor_responses_total{route="pages",status="200"} 4',
        'rumor_responses_total{route="pages",status="304"} 1',
        'rumor_responses_total{route="relay",status="202"} 2',
        "# HELP rumor_envelopes_waiting Envelopes waiting for their commit.",
        "# TYPE rumor_envelopes_waiting gauge",
        "rumor_envelopes_waiting 5",
        "# HELP rumor_commits_failed_total Commits that the store refused.",
        "# TYPE rumor_commits_failed_total counter",
        "rumor_commits_failed_total 1",
        "# HELP rumor_commit_seconds How long commits took.",
        "# TYPE rumor_commit_seconds histogram",
        *(
            f'rumor_commit_seconds_bucket{{le="{bound:g}"}} {(n + 1) * (n + 2) // 2}'
            for n, bound in enumerate(bounds)
        ),
        'rumor_commit_seconds_bucket{le="+Inf"} 67',
        f"rumor_commit_seconds_sum {sum((n + 1) * b for n, b in enumerate(bounds)) + 2.75:.6f}",
        "rumor_commit_seconds_count 67",
    ]
    assert found.text().endswith("\n")
