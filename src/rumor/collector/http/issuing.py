"""The HTTP face of an issuer: one path, which browsers of any site may use."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive

from rumor.collector.http.posted import (
    HANDLERS,
    App,
    Headers,
    Posted,
    content_type,
    json_response,
)
from rumor.collector.http.problems import Problem
from rumor.collector.http.wire import JSON_TYPE
from rumor.collector.issuing import Issuing
from rumor.collector.store.base import Wanted


class JsonToken(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A token that is wanted."""

    key: bytes
    number: int
    blinded: bytes


class JsonTokens(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The body of a request."""

    credential: bytes
    tokens: list[JsonToken]


_decoder = msgspec.json.Decoder(JsonTokens)
_FORM = '{"credential": base64, "tokens": [{"key": base64, "number": 0, "blinded": base64}, ...]}'


def parse_tokens(body: bytes) -> tuple[bytes, list[Wanted]]:
    """Who asks, and for what; not yet checked against the keys."""
    try:
        asked = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise Problem("malformed", f"a body must be {_FORM}; got something else") from None
    return asked.credential, [Wanted(one.key, one.number, one.blinded) for one in asked.tokens]


def make_app(issuing: Issuing) -> Starlette:
    """The ASGI application of an issuer."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await issuing.stop()

    async def health(request: Request) -> Response:
        if not await issuing.healthy():
            raise Problem("unavailable", "the store must take writes; it does not just now")
        return json_response({"status": "ok"})

    return App(
        routes=[
            Route("/v1/tokens", _Tokens(issuing), methods=["POST", "OPTIONS"]),
            Route("/healthz", health, methods=["GET"]),
        ],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )


class _Tokens(Posted[Issuing]):
    """POST /v1/tokens."""

    name = "tokens"

    async def _answer(self, headers: Headers, receive: Receive) -> bytes:
        content_type(headers, JSON_TYPE)
        credential, wanted = parse_tokens(await self._body(headers, receive))
        signatures = await self._service.sign(credential, wanted)
        return msgspec.json.encode(
            {"signatures": [base64.b64encode(each).decode() for each in signatures]}
        )
