"""A collector within an application of somebody else's."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
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
from rumor.collector.http.server import free_port
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
    assert len(stored(again, again.collections()[0], asked.id)) == 1
    again.close()


APPLICATION = """
from contextlib import asynccontextmanager
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from rumor.collector.http.server import free_port
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
service = Service(open_store("sqlite:///store.db"), "series")
@asynccontextmanager
async def lifespan(app):
    await service.start()
    yield
    await service.stop()
async def home(request):
    return PlainTextResponse("mine")
app = Starlette(routes=[Route("/mine", home), Mount("/rumor", service.app())], lifespan=lifespan)
"""


@pytest.mark.parametrize("options", [[], ["--no-access-log"]])
def test_no_server_logs_who_answers(tmp_path: Path, options: list[str]) -> None:
    """Plain uvicorn writes its access log; of a collector's requests, no address stands there."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(collection())
    store.close()
    (tmp_path / "mine.py").write_text(APPLICATION)
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "mine:app", "--port", str(port), *options]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log) as server,
    ):
        url, limit = f"http://127.0.0.1:{port}", time.monotonic() + 30
        while time.monotonic() < limit:
            with contextlib.suppress(OSError):
                assert call(url, "/mine").status == 200
                break
            time.sleep(0.1)
        with rumor.Client(f"{url}/rumor", tmp_path / "device") as client:
            assert client.answer({"colour": "red"}).sent == 1
        call(url, "/rumor/nothing")
        server.terminate()
        server.wait(30)
    lines = (tmp_path / "log").read_text().splitlines()
    told = [line for line in lines if "127.0.0.1:" in line and "running on" not in line]
    assert not [line for line in told if "/rumor" in line]
    # The log is on where it is not turned off: the test would see an address.
    assert bool(told) == (not options)
    assert any("/rumor/v1/reports" in line for line in lines) == (not options)
