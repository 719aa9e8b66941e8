"""The HTTP face of a collector: routes, and how requests become calls of the service.

Nothing of a request is kept or logged beyond what a route needs: no address, no header, no
cookie, no time.
"""

from __future__ import annotations

import asyncio
import datetime
import gzip
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope

from rumor.collector.http.application import application, health, json_response, metrics
from rumor.collector.http.headers import check_bearer, takes_gzip
from rumor.collector.http.openapi import openapi
from rumor.collector.http.pages import Pages
from rumor.collector.http.post_route import PREFLIGHT, PUBLIC, PostRoute, content_type, headers_of
from rumor.collector.http.problems import Problem
from rumor.collector.http.wire import (
    BINARY_TYPE,
    ENVELOPES_TYPE,
    JSON_TYPE,
    binary_rows,
    json_rows,
    parse_json,
    parse_withdrawal,
    stratum_of,
)
from rumor.collector.service import EstimateQuery, Service
from rumor.core.errors import InputError, format_value
from rumor.core.exact import CONFIDENCE
from rumor.results.view import View

# Answers to an analyst are for this analyst alone, so no cache may keep them.
_PRIVATE = {"Cache-Control": "no-store"}


def make_app(service: Service) -> Starlette:
    """Return the ASGI application of a service."""
    routes = _Routes(service)
    return application(
        service,
        [
            Route("/v1/reports", _Ingest(service), methods=["POST", "OPTIONS"]),
            Route("/v1/withdrawals", _Withdrawals(service), methods=["POST", "OPTIONS"]),
            Route("/v1/batches", _Batches(service), methods=["POST"]),
            Route("/v1/collection", routes.collection, methods=["GET", "OPTIONS"]),
            Route("/v1/overview", routes.overview, methods=["GET"]),
            Route("/v1/estimates/{question}", routes.estimates, methods=["GET"]),
            Route("/v1/trends/{question}", routes.trends, methods=["GET"]),
            Route("/v1/comparisons/{question}", routes.comparisons, methods=["GET"]),
            Route("/v1/integrity/{question}", routes.integrity, methods=["GET"]),
            Route("/v1/openapi.json", routes.openapi, methods=["GET"]),
            Route("/healthz", routes.health, methods=["GET"]),
            Route("/metrics", routes.metrics, methods=["GET"]),
            *Pages(service.metrics, service.reached, service.asked).routes(),
        ],
    )


class _Ingest(PostRoute[Service]):
    """POST /v1/reports."""

    name = "reports"

    async def _answer(self, scope: Scope, receive: Receive) -> bytes:
        service, headers = self._service, headers_of(scope)
        kind = content_type(headers, JSON_TYPE, BINARY_TYPE)
        entry = await service.entry(headers.get("rumor-collection", ""))
        body = await self._body(headers, receive)
        group: int | str | None
        if kind == JSON_TYPE:
            sent = parse_json(body, service.limits)
            question = service.question(entry.collection, sent.question)
            rows, group = json_rows(sent.reports, question), sent.group
        else:
            question = service.question(entry.collection, headers.get("rumor-question", ""))
            rows, group = binary_rows(body, question, service.limits), headers.get("rumor-group")
        stratum = stratum_of(entry.collection.groups, group)
        token = headers.get("rumor-token", "")
        outcome = await service.take(entry, question, rows, token, stratum)
        return b'{"accepted":%d,"duplicates":%d}' % (outcome.new, outcome.duplicates)


class _Withdrawals(PostRoute[Service]):
    """POST /v1/withdrawals."""

    name = "withdrawals"

    def _admit(self, scope: Scope) -> None:
        super()._admit(scope)
        most = self._service.limits.withdrawals_per_second
        self._take(self._service.withdrawals, most, "withdrawals", scope)

    async def _answer(self, scope: Scope, receive: Receive) -> bytes:
        service, headers = self._service, headers_of(scope)
        content_type(headers, JSON_TYPE)
        entry = await service.entry(headers.get("rumor-collection", ""))
        id, ids = parse_withdrawal(await self._body(headers, receive), service.limits)
        question = service.question(entry.collection, id)
        token = headers.get("rumor-token", "")
        withdrawn = await service.withdraw(entry, question, ids, token)
        return b'{"withdrawn":%d,"absent":%d}' % (withdrawn, len(ids) - withdrawn)


class _Batches(PostRoute[Service]):
    """POST /v1/batches: envelopes that a relay delivers."""

    name = "batches"

    @property
    def _most_bytes(self) -> int:
        return self._service.limits.batch_bytes

    async def _answer(self, scope: Scope, receive: Receive) -> bytes:
        service, headers = self._service, headers_of(scope)
        tokens = None if service.gateway is None else service.gateway.tokens
        authorization = headers.get("authorization", "")
        check_bearer(tokens, authorization, "batches need a relay's", "--relay-token-file")
        content_type(headers, ENVELOPES_TYPE)
        entry = await service.entry(headers.get("rumor-collection", ""))
        question = service.question(entry.collection, headers.get("rumor-question", ""))
        turn = service.turn_of(entry.collection, headers.get("rumor-turn"))
        body = await self._body(headers, receive)
        taken = await service.take_batch(entry, question, body, turn)
        return b'{"taken":%d}' % taken


class _Routes:
    """All routes except those that take reports, withdrawals or envelopes."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._last = (b"", b"")

    async def collection(self, request: Request) -> Response:
        """Return the contract that new reports should be made under."""
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=PREFLIGHT)
        entry = await self._service.current()
        digest = entry.collection.digest
        self._count("collection", 200)
        document = {
            "digest": digest,
            "open": entry.open,
            "contract": msgspec.Raw(entry.collection.canonical()),
        }
        headers = {**PUBLIC, "Vary": "Accept-Encoding", "ETag": f'"{digest}"'}
        response = json_response(document, headers={**headers, "Rumor-Collection": digest})
        if takes_gzip(request.headers.get("accept-encoding", "")):
            packed = await self._packed(bytes(response.body))
            if len(packed) < len(response.body):
                response.body = packed
                response.headers["Content-Encoding"] = "gzip"
                response.headers["Content-Length"] = str(len(packed))
        return response

    async def _packed(self, body: bytes) -> bytes:
        """Return a contract compressed and cached, since large domains take long to compress."""
        if self._last[0] != body:
            self._last = (body, await asyncio.to_thread(gzip.compress, body, 6, mtime=0))
        return self._last[1]

    async def estimates(self, request: Request) -> Response:
        """Return the estimate of a question, for analysts."""
        self._admit_analyst(request)
        query = _query(request.path_params["question"], request.query_params)
        if query.format == "json":
            response = json_response(await self._service.estimate(query), headers=_PRIVATE)
        else:
            name = f'attachment; filename="{query.question}.{query.format}"'
            response = Response(
                await self._service.estimate_file(query),
                media_type=_FORMATS[query.format],
                headers={**_PRIVATE, "Content-Disposition": name},
            )
        self._count("estimates", 200)
        return response

    async def comparisons(self, request: Request) -> Response:
        """Answer GET comparisons: the difference between two periods, for analysts."""
        self._admit_analyst(request)
        given = request.query_params
        keys = ("collection", "first", "second", "different_people", "level", "looks", "group")
        _known_keys(given, keys)
        if "first" not in given or "second" not in given:
            raise Problem(
                "invalid-query", "a comparison is of a first and a second period; got one"
            )
        answer = await self._service.comparison(
            request.path_params["question"],
            given.get("collection"),
            [given["first"], given["second"]],
            _flag(given, "different_people"),
            _view(given),
            given.getlist("group"),
        )
        self._count("comparisons", 200)
        return json_response(answer, headers=_PRIVATE)

    async def trends(self, request: Request) -> Response:
        """Answer GET trends: the trend of a question over the days, for analysts."""
        self._admit_analyst(request)
        given = request.query_params
        _known_keys(given, ("collection", "every", "different_people", "group"))
        answer = await self._service.trend(
            request.path_params["question"],
            given.get("collection"),
            given.get("every", "day"),
            _flag(given, "different_people"),
            given.getlist("group"),
        )
        self._count("trends", 200)
        return json_response(answer, headers=_PRIVATE)

    async def overview(self, request: Request) -> Response:
        """Return the collections, the questions and how many reports came when, for analysts."""
        self._admit_analyst(request)
        answer = await self._service.overview(_collection(request.query_params))
        self._count("overview", 200)
        return json_response(answer, headers=_PRIVATE)

    async def integrity(self, request: Request) -> Response:
        """Return whether reports look crafted, for analysts."""
        self._admit_analyst(request)
        question = request.path_params["question"]
        answer = await self._service.integrity(question, _collection(request.query_params))
        self._count("integrity", 200)
        return json_response(answer, headers=_PRIVATE)

    def _admit_analyst(self, request: Request) -> None:
        authorization = request.headers.get("authorization", "")
        tokens, option = self._service.tokens, "--analyst-token-file"
        check_bearer(tokens, authorization, "estimates need an analyst's", option)

    async def openapi(self, request: Request) -> Response:
        """Return the interface, described for programs."""
        return json_response(openapi(self._service.limits), headers=PUBLIC)

    async def health(self, request: Request) -> Response:
        """Return whether reports can be taken now."""
        return await health(self._service)

    async def metrics(self, request: Request) -> Response:
        """Return totals for Prometheus."""
        return metrics(self._service)

    def _count(self, route: str, status: int) -> None:
        self._service.metrics.responses[route, status] += 1


_VIEW_KEYS = ("level", "of", "simultaneous", "rows", "order", "looks")
_QUERY_KEYS = ("collection", "method", *_VIEW_KEYS, "from", "to", "group", "find", "format")
_FORMATS = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "png": "image/png",
    "svg": "image/svg+xml",
}


def _known_keys(given: Mapping[str, str], known: tuple[str, ...]) -> None:
    for key in given:
        if key not in known:
            raise Problem(
                "invalid-query", f"a query may say {', '.join(known)}; got {format_value(key)}"
            )


def _collection(given: Mapping[str, str]) -> str | None:
    _known_keys(given, ("collection",))
    return given.get("collection")


def _query(question: str, given: QueryParams) -> EstimateQuery:
    _known_keys(given, _QUERY_KEYS)
    format = given.get("format", "json")
    if format not in _FORMATS:
        raise Problem(
            "invalid-query",
            f"format must be one of {', '.join(_FORMATS)}; got {format_value(format)}",
        )
    if "find" in given and format != "json":
        raise Problem("invalid-query", f"find needs the format json; got {format}")
    first, last = _day(given, "from"), _day(given, "to")
    if first is not None and last is not None and first > last:
        raise Problem("invalid-query", f"from must not be after to; got {first} and {last}")
    return EstimateQuery(
        question,
        given.get("collection"),
        given.get("method", "auto"),
        _view(given),
        (first, last),
        format,
        given.getlist("group"),
        given.get("find"),
    )


def _view(given: Mapping[str, str]) -> View:
    """Return the view of the estimate that the query parameters `given` ask for."""
    try:
        return View(
            level=_number(given, "level", float, "a number", CONFIDENCE),
            of=given.get("of", "population"),
            simultaneous=_flag(given, "simultaneous"),
            rows=_number(given, "rows", int, "a whole number", None),
            order=given.get("order"),
            looks=given.get("looks", "one"),
        )
    except InputError as problem:
        raise Problem("invalid-query", str(problem)) from None


def _flag(given: Mapping[str, str], key: str) -> bool:
    return given.get(key, "false").lower() in ("true", "1", "yes")


def _number(
    given: Mapping[str, str], key: str, kind: Callable[[str], Any], what: str, unsaid: Any
) -> Any:
    try:
        return kind(given[key]) if key in given else unsaid
    except ValueError:
        raise Problem(
            "invalid-query", f"{key} must be {what}; got {format_value(given[key])}"
        ) from None


def _day(given: Mapping[str, str], key: str) -> datetime.date | None:
    text = given.get(key)
    if text is None:
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise Problem(
            "invalid-query", f"{key} must be a day written YYYY-MM-DD; got {format_value(text)}"
        ) from None
