"""A public path that takes a body: what its bounds are, and how it is answered."""

from __future__ import annotations

import abc
import asyncio
from typing import ClassVar, Generic, Protocol, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rumor.collector.http.headers import SENDER
from rumor.collector.http.limits import Limits, RateLimiter
from rumor.collector.http.problems import CONTENT_TYPE, Problem
from rumor.collector.http.wire import decompressed, too_large
from rumor.collector.metrics import Metrics
from rumor.core.errors import format_value

# Browsers of any site may fetch the contract and send reports: neither needs a credential.
PUBLIC = {"Access-Control-Allow-Origin": "*"}
PREFLIGHT = {
    **PUBLIC,
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type, Content-Encoding, Rumor-Collection, "
    "Rumor-Question, Rumor-Group, Rumor-Token",
    "Access-Control-Max-Age": "86400",
}

Headers = dict[str, str]


def headers_of(scope: Scope) -> Headers:
    """Return the request's headers, names in lower case (ASGI promises that)."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def content_type(headers: Headers, *known: str) -> str:
    """Return the content type in `headers`, which must be one of the `known` types."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in known:
        raise Problem(
            "unsupported-type",
            f"a body must be sent as {' or '.join(known)}; got {format_value(kind)}",
        )
    return kind


class Receiver(Protocol):
    """A service behind a POST route: its limits, its rate limiter and its metrics."""

    limits: Limits
    bucket: RateLimiter
    metrics: Metrics


S = TypeVar("S", bound=Receiver)


class PostRoute(abc.ABC, Generic[S]):
    """A public POST route as a bare ASGI application, since taking reports must be fast."""

    name: ClassVar[str]
    status: ClassVar[int] = 200

    def __init__(self, service: S) -> None:
        self._service = service

    @abc.abstractmethod
    async def _answer(self, scope: Scope, receive: Receive) -> bytes:
        """Return the JSON body of the response, or raise a Problem."""

    @property
    def _most_bytes(self) -> int:
        """The most bytes of a body."""
        return self._service.limits.body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request, and answer it."""
        metrics = self._service.metrics
        if scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=PREFLIGHT)(scope, receive, send)
            return
        try:
            self._admit(scope)
            body = await self._answer(scope, receive)
            status, kind, extra = self.status, b"application/json", {}
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

    def _admit(self, scope: Scope) -> None:
        """Refuse a request where there are too many."""
        service = self._service
        self._take(service.bucket, service.limits.requests_per_second, "requests", scope)

    def _take(self, bucket: RateLimiter, most: float, what: str, scope: Scope) -> None:
        if not bucket.take(scope.get(SENDER, "")):
            raise Problem(
                "rate",
                f"this service takes at most {most:,.0f} {what} a second; got more",
                headers={"Retry-After": "1"},
            )

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """Return the body, decompressed."""
        sent = await self._received(headers, receive)
        encoding = headers.get("content-encoding", "").strip().lower()
        return decompressed(sent, encoding, self._most_bytes)

    async def _received(self, headers: Headers, receive: Receive) -> bytes:
        limits, most = self._service.limits, self._most_bytes
        length = headers.get("content-length", "")
        if length.isdigit() and int(length[:20]) > most:
            raise too_large(most)
        try:
            async with asyncio.timeout(limits.seconds_to_send):
                parts, size = [], 0
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Problem("timeout", "a body must arrive whole; the sender hung up")
                    part = message.get("body", b"")
                    size += len(part)
                    if size > most:
                        raise too_large(most)
                    parts.append(part)
                    if not message.get("more_body", False):
                        return parts[0] if len(parts) == 1 else b"".join(parts)
        except TimeoutError:
            raise Problem(
                "timeout",
                f"a body must arrive within {limits.seconds_to_send:g} seconds; it did not",
            ) from None
