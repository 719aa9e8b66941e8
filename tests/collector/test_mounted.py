"""A collector within an application of somebody else's."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

import rumor
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from tests.collector.tools import call, collection, stored


@contextmanager
def _serving(service: Service, place: str) -> Iterator[str]:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    async def home(request: Request) -> PlainTextResponse:
        return PlainTextResponse("my own page")

    routes = [Route("/mine", home), Mount(place, service.app())]
    server = uvicorn.Server(
        uvicorn.Config(Starlette(routes=routes, lifespan=lifespan), log_level="error")
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            limit = time.monotonic() + 30
            while not server.started and time.monotonic() < limit:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.mark.parametrize("place", ["/rumor", "/"])
def test_reports_reach_a_mounted_collector(place: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = open_store(url)
    store.register(collection())
    prefix = place.rstrip("/")
    with _serving(Service(store, "series"), place) as at:
        assert call(at, "/mine").body == b"my own page"
        with rumor.Client(f"{at}{prefix}", tmp_path / "device") as client:
            asked = client.collection().questions[0]
            assert asked.labels is not None
            assert client.answer({asked.id: asked.labels[0]}).sent == 1
        assert call(at, f"{prefix}/v1/collection").status == 200
        assert call(at, f"{prefix}/v1/nothing").status == 404
    again = open_store(url)
    assert len(stored(again, again.registered()[0], asked.id)) == 1
    again.close()
