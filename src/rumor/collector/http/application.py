"""An application of ours: every response has the security headers, every refusal a sentence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from rumor.collector.http.headers import SecurityHeaders
from rumor.collector.http.post_route import PUBLIC, Receiver
from rumor.collector.http.problems import CONTENT_TYPE, Problem, unavailable
from rumor.collector.store.base import StoreUnavailableError
from rumor.core.errors import format_value


class StartStop(Protocol):
    """A service that starts and stops with its application."""

    async def start(self) -> None:
        """Begin."""

    async def stop(self) -> None:
        """Finish what is under way, and let go."""


class HealthChecked(Protocol):
    """A service that reports whether it accepts requests now."""

    async def is_healthy(self) -> bool:
        """Return whether the service accepts requests now."""


def json_response(document: object, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response of plain data."""
    body = msgspec.json.encode(document, enc_hook=_plain)
    return Response(body, media_type="application/json", headers=headers)


def _plain(value: object) -> object:
    """Convert `value`, which msgspec cannot encode: numpy's numbers and arrays become Python's."""
    plain: Callable[[], object] | None = getattr(value, "tolist", None)
    return str(value) if plain is None else plain()


async def health(service: HealthChecked) -> Response:
    """Return whether something can be taken now."""
    if not await service.is_healthy():
        raise Problem("unavailable", "the store must take writes; it does not just now")
    return json_response({"status": "ok"})


def metrics(service: Receiver) -> Response:
    """Return totals for Prometheus."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


class _App(Starlette):
    """An application whose every response, failures included, has the security headers."""

    def build_middleware_stack(self) -> ASGIApp:
        """Return Starlette's own stack, wrapped in ours."""
        return SecurityHeaders(super().build_middleware_stack())


def application(service: StartStop, routes: Sequence[Route]) -> Starlette:
    """Return the application with these routes, which a service stands behind."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    return _App(
        routes=routes,
        exception_handlers={
            Problem: _problem,
            HTTPException: _http_problem,
            StoreUnavailableError: _store_problem,
            Exception: _failure,
        },
        lifespan=lifespan,
    )


async def _problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)
    return Response(
        problem.body(),
        status_code=problem.status,
        headers={**PUBLIC, **problem.headers},
        media_type=CONTENT_TYPE.decode(),
    )


async def _http_problem(request: Request, problem: Exception) -> Response:
    """Turn a refusal of Starlette's router into problem+json."""
    assert isinstance(problem, HTTPException)
    if problem.status_code == 405:
        refusal = Problem(
            "method-not-allowed",
            f"the method must be one that this path has; got {format_value(request.method)}",
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
    """Answer a bug of ours with a plain sentence; Starlette lets the server log it."""
    return await _problem(
        request, Problem("failed", "this service made a mistake; its log says more")
    )
