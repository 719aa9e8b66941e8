"""The HTTP face of a collector: routes, and how requests become calls of the service.

Nothing of a request is kept or logged beyond what a route needs: no address, no header, no
cookie, no time.
"""

from __future__ import annotations

import abc
import asyncio
import datetime
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rumor.collector.http.headers import SecurityHeaders
from rumor.collector.http.openapi import openapi
from rumor.collector.http.pages import Pages
from rumor.collector.http.problems import CONTENT_TYPE, Problem, unavailable
from rumor.collector.http.wire import (
    BINARY_TYPE,
    JSON_TYPE,
    binary_rows,
    decompressed,
    json_rows,
    parse_json,
    parse_withdrawal,
    too_large,
)
from rumor.collector.service import EstimateQuery, Service
from rumor.collector.store.base import StoreUnavailable
from rumor.core.errors import InputError, shown
from rumor.results.view import View

# Browsers of any site may fetch the contract and send reports: neither needs a credential.
_PUBLIC = {"Access-Control-Allow-Origin": "*"}
_PREFLIGHT = {
    **_PUBLIC,
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type, Content-Encoding, Rumor-Collection, "
    "Rumor-Question, Rumor-Token",
    "Access-Control-Max-Age": "86400",
}

# What an analyst hears is for this analyst alone.
_PRIVATE = {"Cache-Control": "no-store"}

Headers = dict[str, str]


class _App(Starlette):
    """An application whose every response, failures included, has the security headers."""

    def build_middleware_stack(self) -> ASGIApp:
        """Starlette's own stack, inside ours."""
        return SecurityHeaders(super().build_middleware_stack())


def make_app(service: Service) -> Starlette:
    """The ASGI application of a service."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    routes = _Routes(service)
    return _App(
        routes=[
            Route("/v1/reports", _Ingest(service), methods=["POST", "OPTIONS"]),
            Route("/v1/withdrawals", _Withdrawals(service), methods=["POST", "OPTIONS"]),
            Route("/v1/collection", routes.collection, methods=["GET", "OPTIONS"]),
            Route("/v1/overview", routes.overview, methods=["GET"]),
            Route("/v1/estimates/{question}", routes.estimates, methods=["GET"]),
            Route("/v1/trends/{question}", routes.trends, methods=["GET"]),
            Route("/v1/comparisons/{question}", routes.comparisons, methods=["GET"]),
            Route("/v1/integrity/{question}", routes.integrity, methods=["GET"]),
            Route("/v1/openapi.json", routes.openapi, methods=["GET"]),
            Route("/healthz", routes.health, methods=["GET"]),
            Route("/metrics", routes.metrics, methods=["GET"]),
            *Pages(service.metrics).routes(),
        ],
        exception_handlers={
            Problem: _problem,
            HTTPException: _http_problem,
            StoreUnavailable: _store_problem,
            Exception: _failure,
        },
        lifespan=lifespan,
    )


class _Posted(abc.ABC):
    """A public path that takes a body, as a bare ASGI application: one of them must be fast."""

    name: ClassVar[str]

    def __init__(self, service: Service) -> None:
        self._service = service

    @abc.abstractmethod
    async def _answer(self, headers: Headers, receive: Receive) -> bytes:
        """What is answered, as JSON; or a Problem."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        metrics = self._service.metrics
        if scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=_PREFLIGHT)(scope, receive, send)
            return
        try:
            self._admit()
            body = await self._answer(_headers(scope), receive)
            status, kind, extra = 200, b"application/json", {}
        except Problem as problem:
            body, status = problem.body(), problem.status
            kind, extra = CONTENT_TYPE, problem.headers
        metrics.responses[self.name, status] += 1
        headers = [
            (b"content-type", kind),
            (b"content-length", str(len(body)).encode()),
            (b"access-control-allow-origin", b"*"),
            *((name.lower().encode(), value.encode()) for name, value in extra.items()),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _admit(self) -> None:
        service = self._service
        if not service.bucket.take():
            raise Problem(
                "rate",
                f"the collector takes at most {service.limits.requests_per_second:,.0f} requests "
                f"a second; got more",
                headers={"Retry-After": "1"},
            )

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """The body, decompressed."""
        limits = self._service.limits
        sent = await self._received(headers, receive)
        return decompressed(sent, headers.get("content-encoding", "").strip().lower(), limits)

    async def _received(self, headers: Headers, receive: Receive) -> bytes:
        limits = self._service.limits
        length = headers.get("content-length", "")
        if length.isdigit() and int(length[:20]) > limits.body_bytes:
            raise too_large(limits)
        try:
            async with asyncio.timeout(limits.seconds_to_send):
                parts, size = [], 0
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Problem("timeout", "a body must arrive whole; the sender hung up")
                    part = message.get("body", b"")
                    size += len(part)
                    if size > limits.body_bytes:
                        raise too_large(limits)
                    parts.append(part)
                    if not message.get("more_body", False):
                        return parts[0] if len(parts) == 1 else b"".join(parts)
        except TimeoutError:
            raise Problem(
                "timeout",
                f"a body must arrive within {limits.seconds_to_send:g} seconds; it did not",
            ) from None


class _Ingest(_Posted):
    """POST /v1/reports."""

    name = "reports"

    async def _answer(self, headers: Headers, receive: Receive) -> bytes:
        service = self._service
        kind = _content_type(headers, JSON_TYPE, BINARY_TYPE)
        entry = await service.entry(headers.get("rumor-collection", ""))
        body = await self._body(headers, receive)
        if kind == JSON_TYPE:
            id, reports = parse_json(body, service.limits)
            question = service.question(entry.collection, id)
            rows = json_rows(reports, question)
        else:
            question = service.question(entry.collection, headers.get("rumor-question", ""))
            rows = binary_rows(body, question, service.limits)
        outcome = await service.take(entry, question, rows, headers.get("rumor-token", ""))
        return b'{"accepted":%d,"duplicates":%d}' % (outcome.new, outcome.duplicates)


class _Withdrawals(_Posted):
    """POST /v1/withdrawals."""

    name = "withdrawals"

    async def _answer(self, headers: Headers, receive: Receive) -> bytes:
        service = self._service
        _content_type(headers, JSON_TYPE)
        entry = await service.entry(headers.get("rumor-collection", ""))
        id, ids = parse_withdrawal(await self._body(headers, receive), service.limits)
        question = service.question(entry.collection, id)
        withdrawn = await service.withdraw(entry, question, ids)
        return b'{"withdrawn":%d,"absent":%d}' % (withdrawn, len(ids) - withdrawn)


def _content_type(headers: Headers, *known: str) -> str:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in known:
        raise Problem(
            "unsupported-type", f"a body must be sent as {' or '.join(known)}; got {shown(kind)}"
        )
    return kind


class _Routes:
    """Everything but ingest."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def collection(self, request: Request) -> Response:
        """The contract that new reports should be made under."""
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=_PREFLIGHT)
        entry = await self._service.current()
        digest = entry.collection.digest
        self._count("collection", 200)
        document = {
            "digest": digest,
            "open": entry.open,
            "contract": msgspec.Raw(entry.collection.canonical()),
        }
        headers = {**_PUBLIC, "ETag": f'"{digest}"', "Rumor-Collection": digest}
        return _json(document, headers=headers)

    async def estimates(self, request: Request) -> Response:
        """The estimate of a question, for analysts."""
        self._admit_analyst(request)
        query = _query(request.path_params["question"], request.query_params)
        if query.format == "json":
            response = _json(await self._service.estimate(query), headers=_PRIVATE)
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
        """What differs between two periods, for analysts."""
        self._admit_analyst(request)
        given = request.query_params
        _known_keys(given, ("collection", "first", "second", "different_people", "level"))
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
        )
        self._count("comparisons", 200)
        return _json(answer, headers=_PRIVATE)

    async def trends(self, request: Request) -> Response:
        """How answers moved from day to day, for analysts."""
        self._admit_analyst(request)
        given = request.query_params
        _known_keys(given, ("collection", "every", "different_people"))
        answer = await self._service.trend(
            request.path_params["question"],
            given.get("collection"),
            given.get("every", "day"),
            _flag(given, "different_people"),
        )
        self._count("trends", 200)
        return _json(answer, headers=_PRIVATE)

    async def overview(self, request: Request) -> Response:
        """The collections, the questions and how many reports came when, for analysts."""
        self._admit_analyst(request)
        answer = await self._service.overview(_collection(request.query_params))
        self._count("overview", 200)
        return _json(answer, headers=_PRIVATE)

    async def integrity(self, request: Request) -> Response:
        """Whether reports look crafted, for analysts."""
        self._admit_analyst(request)
        question = request.path_params["question"]
        answer = await self._service.integrity(question, _collection(request.query_params))
        self._count("integrity", 200)
        return _json(answer, headers=_PRIVATE)

    def _admit_analyst(self, request: Request) -> None:
        tokens = self._service.tokens
        if tokens is None:
            raise Problem(
                "forbidden",
                "estimates need an analyst's token, and this collector has none "
                "(rumor serve --analyst-token-file FILE)",
            )
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not tokens.allow(token.strip()):
            raise Problem(
                "unauthorized",
                "estimates need an analyst's token (Authorization: Bearer TOKEN); "
                + ("got one that is not known" if token else "got none"),
                headers={"WWW-Authenticate": "Bearer"},
            )

    async def openapi(self, request: Request) -> Response:
        """The interface, described for programs."""
        return _json(openapi(self._service.limits), headers=_PUBLIC)

    async def health(self, request: Request) -> Response:
        """Whether reports can be taken now."""
        healthy = await self._service.healthy()
        if not healthy:
            raise Problem("unavailable", "the store must take writes; it does not just now")
        return _json({"status": "ok"})

    async def metrics(self, request: Request) -> Response:
        """Totals for Prometheus."""
        text = self._service.metrics.text()
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    def _count(self, route: str, status: int) -> None:
        self._service.metrics.responses[route, status] += 1


def _headers(scope: Scope) -> Headers:
    """The request's headers, names in lower case (ASGI promises that)."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


_VIEW_KEYS = ("level", "of", "simultaneous", "rows", "order")
_QUERY_KEYS = ("collection", "method", *_VIEW_KEYS, "from", "to", "format")
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
            raise Problem("invalid-query", f"a query may say {', '.join(known)}; got {shown(key)}")


def _collection(given: Mapping[str, str]) -> str | None:
    _known_keys(given, ("collection",))
    return given.get("collection")


def _query(question: str, given: Mapping[str, str]) -> EstimateQuery:
    _known_keys(given, _QUERY_KEYS)
    format = given.get("format", "json")
    if format not in _FORMATS:
        raise Problem(
            "invalid-query", f"format must be one of {', '.join(_FORMATS)}; got {shown(format)}"
        )
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
    )


def _view(given: Mapping[str, str]) -> View:
    """How the answer is to be shown, as far as the query says."""
    try:
        return View(
            level=_number(given, "level", float, "a number", 0.95),
            of=given.get("of", "population"),
            simultaneous=_flag(given, "simultaneous"),
            rows=_number(given, "rows", int, "a whole number", None),
            order=given.get("order"),
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
        raise Problem("invalid-query", f"{key} must be {what}; got {shown(given[key])}") from None


def _day(given: Mapping[str, str], key: str) -> datetime.date | None:
    text = given.get(key)
    if text is None:
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise Problem(
            "invalid-query", f"{key} must be a day written YYYY-MM-DD; got {shown(text)}"
        ) from None


def _plain(value: object) -> object:
    """What msgspec does not know: numpy's numbers and arrays as Python's."""
    plain: Callable[[], object] | None = getattr(value, "tolist", None)
    return str(value) if plain is None else plain()


def _json(document: object, headers: Mapping[str, str] | None = None) -> Response:
    body = msgspec.json.encode(document, enc_hook=_plain)
    return Response(body, media_type="application/json", headers=headers)


async def _problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)
    return Response(
        problem.body(),
        status_code=problem.status,
        headers={**_PUBLIC, **problem.headers},
        media_type=CONTENT_TYPE.decode(),
    )


async def _http_problem(request: Request, problem: Exception) -> Response:
    """What the router itself refuses."""
    assert isinstance(problem, HTTPException)
    if problem.status_code == 405:
        refusal = Problem(
            "method-not-allowed",
            f"the method must be one that this path has; got {shown(request.method)}",
            headers=problem.headers,
        )
    elif problem.status_code == 404:
        refusal = Problem("not-found", "the path must be one of this service; got another")
    else:
        refusal = Problem("malformed", problem.detail)
    return await _problem(request, refusal)


async def _store_problem(request: Request, problem: Exception) -> Response:
    return await _problem(request, unavailable("the store cannot be read just now; try again"))


async def _failure(request: Request, problem: Exception) -> Response:
    """A bug of ours; Starlette lets the server log it."""
    return await _problem(
        request, Problem("failed", "the collector made a mistake; its log says more")
    )
