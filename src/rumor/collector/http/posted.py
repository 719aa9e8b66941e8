"""Public paths that take a body, and what all applications of ours answer alike.

Nothing of a request is kept or logged beyond what a path needs: no address, no header, no
cookie, no time.
"""

from __future__ import annotations

import abc
import asyncio
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rumor.collector.http.headers import SecurityHeaders
from rumor.collector.http.limits import Bucket, Limits
from rumor.collector.http.problems import CONTENT_TYPE, Problem, unavailable
from rumor.collector.http.wire import decompressed, too_large
from rumor.collector.metrics import Metrics
from rumor.collector.store.base import StoreUnavailable
from rumor.core.errors import shown

# Browsers of any site may fetch the contract and send reports: neither needs a credential.
PUBLIC = {"Access-Control-Allow-Origin": "*"}
PREFLIGHT = {
    **PUBLIC,
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type, Content-Encoding, Rumor-Collection, "
    "Rumor-Question, Rumor-Token",
    "Access-Control-Max-Age": "86400",
}

Headers = dict[str, str]


class Host(Protocol):
    """What stands behind a path: its limits, and what it counts."""

    limits: Limits
    bucket: Bucket
    metrics: Metrics


H = TypeVar("H", bound=Host)


class App(Starlette):
    """An application whose every response, failures included, has the security headers."""

    def build_middleware_stack(self) -> ASGIApp:
        """Starlette's own stack, inside ours."""
        return SecurityHeaders(super().build_middleware_stack())


class Posted(abc.ABC, Generic[H]):
    """A public path that takes a body, as a bare ASGI application: one of them must be fast."""

    name: ClassVar[str]

    def __init__(self, service: H) -> None:
        self._service = service

    @abc.abstractmethod
    async def _answer(self, headers: Headers, receive: Receive) -> bytes:
        """What is answered, as JSON; or a Problem."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; what is refused is answered and counted like what is not."""
        metrics = self._service.metrics
        if scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=PREFLIGHT)(scope, receive, send)
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
                f"this service takes at most {service.limits.requests_per_second:,.0f} requests "
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


def content_type(headers: Headers, *known: str) -> str:
    """What a body is sent as, which must be one of these."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in known:
        raise Problem(
            "unsupported-type", f"a body must be sent as {' or '.join(known)}; got {shown(kind)}"
        )
    return kind


def _headers(scope: Scope) -> Headers:
    """The request's headers, names in lower case (ASGI promises that)."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _plain(value: object) -> object:
    """What msgspec does not know: numpy's numbers and arrays as Python's."""
    plain: Callable[[], object] | None = getattr(value, "tolist", None)
    return str(value) if plain is None else plain()


def json_response(document: object, headers: Mapping[str, str] | None = None) -> Response:
    """A response of plain data."""
    body = msgspec.json.encode(document, enc_hook=_plain)
    return Response(body, media_type="application/json", headers=headers)


async def _problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)
    return Response(
        problem.body(),
        status_code=problem.status,
        headers={**PUBLIC, **problem.headers},
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
        request, Problem("failed", "this service made a mistake; its log says more")
    )


HANDLERS: Mapping[Any, Callable[..., Any]] = {
    Problem: _problem,
    HTTPException: _http_problem,
    StoreUnavailable: _store_problem,
    Exception: _failure,
}
