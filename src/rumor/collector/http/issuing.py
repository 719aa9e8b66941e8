"""The HTTP face of an issuer: one path, which browsers of any site may use."""

from __future__ import annotations

import base64

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope

from rumor.collector.http.application import application, health
from rumor.collector.http.post_route import PostRoute, content_type, headers_of
from rumor.collector.http.problems import Problem
from rumor.collector.http.wire import JSON_TYPE
from rumor.collector.issuing import IssuerService
from rumor.collector.store.base import BlindedToken


class JsonToken(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A token to be signed, as JSON."""

    key: bytes
    number: int
    blinded: bytes


class JsonTokens(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The body of a request for tokens."""

    credential: bytes
    tokens: list[JsonToken]


_decoder = msgspec.json.Decoder(JsonTokens)
_FORM = '{"credential": base64, "tokens": [{"key": base64, "number": 0, "blinded": base64}, ...]}'


def parse_tokens(body: bytes) -> tuple[bytes, list[BlindedToken]]:
    """Return the credential and the tokens of a request, not yet checked against the keys."""
    try:
        asked = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise Problem("malformed", f"a body must be {_FORM}; got something else") from None
    return asked.credential, [
        BlindedToken(one.key, one.number, one.blinded) for one in asked.tokens
    ]


def make_app(issuing: IssuerService) -> Starlette:
    """Return the ASGI application of an issuer."""

    async def healthy(request: Request) -> Response:
        return await health(issuing)

    return application(
        issuing,
        [
            Route("/v1/tokens", _Tokens(issuing), methods=["POST", "OPTIONS"]),
            Route("/healthz", healthy, methods=["GET"]),
        ],
    )


class _Tokens(PostRoute[IssuerService]):
    """POST /v1/tokens."""

    name = "tokens"

    async def _answer(self, scope: Scope, receive: Receive) -> bytes:
        headers = headers_of(scope)
        content_type(headers, JSON_TYPE)
        credential, wanted = parse_tokens(await self._body(headers, receive))
        signatures = await self._service.sign(credential, wanted)
        return msgspec.json.encode(
            {"signatures": [base64.b64encode(each).decode() for each in signatures]}
        )
