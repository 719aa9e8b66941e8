"""The HTTP face of a relay: one path to send envelopes to, and two for whoever runs it.

Every envelope of the right size gets the same answer, good or bad, new or repeated. Nothing of a
request is kept or logged: no address, no header, no time.
"""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope

from rumor.collector.http.application import application, health, metrics
from rumor.collector.http.post_route import PostRoute, headers_of
from rumor.collector.relay.service import RelayService


class _Envelopes(PostRoute[RelayService]):
    """POST /v1/relay/{digest}/{question}, and /{turn} where the contract has turns."""

    name = "relay"
    status = 202

    async def _answer(self, scope: Scope, receive: Receive) -> bytes:
        path, service = scope["path_params"], self._service
        kind = service.kind(path["digest"], path["question"])
        batch = service.batch(kind, path.get("turn"))
        await service.take(batch, await self._received(headers_of(scope), receive))
        return b'{"taken":1}'


def make_relay(service: RelayService) -> Starlette:
    """Return the ASGI application of a relay."""

    async def healthy(request: Request) -> Response:
        return await health(service)

    async def totals(request: Request) -> Response:
        return metrics(service)

    path = "/v1/relay/{digest}/{question}"
    return application(
        service,
        [
            Route(path, _Envelopes(service), methods=["POST", "OPTIONS"]),
            Route(path + "/{turn}", _Envelopes(service), methods=["POST", "OPTIONS"]),
            Route("/healthz", healthy, methods=["GET"]),
            Route("/metrics", totals, methods=["GET"]),
        ],
    )
