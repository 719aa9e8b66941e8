"""What a sender makes the collector hold in memory, whatever it sends."""

from __future__ import annotations

import gzip
import socket
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from rumor.collector.http.limits import Limits
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import StoredCollection, open_store
from tests.collector.tools import collection, send

# Above what the server hands on at once, so that a body comes in many parts.
BODY = 1 << 20
# A body as sent and as decompressed, buffers of sockets and of the parser, and room to spare.
MOST = 8 * BODY
SENT = 4 * MOST


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[str, StoredCollection]]:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    with background(Service(store, "series", limits=Limits(body_bytes=BODY))) as url:
        send(url, entry.collection, "colour", b"")  # what is loaded once is not counted
        yield url, entry


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """All threads of this process, the collector's among them, hold no more than before plus so
    many bytes at any time."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < size


def test_a_gzip_bomb_is_not_inflated(running: tuple[str, StoredCollection]) -> None:
    url, entry = running
    bomb = gzip.compress(bytes(SENT), compresslevel=9)
    assert len(bomb) < BODY
    with at_most(MOST):
        answer = send(url, entry.collection, "colour", bomb, Content_Encoding="gzip")
    assert (answer.status, answer.problem) == (413, "too-large")


def test_a_body_without_a_length_is_not_gathered(running: tuple[str, StoredCollection]) -> None:
    url, entry = running
    host, port = url.removeprefix("http://").split(":")
    head = (
        "POST /v1/reports HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        "Content-Type: application/vnd.rumor.reports\r\nRumor-Question: colour\r\n"
        f"Rumor-Collection: {entry.collection.digest}\r\n\r\n"
    )
    piece = b"%x\r\n%s\r\n" % (BODY // 8, bytes(BODY // 8))
    with at_most(MOST), socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(head.encode())
        # What is refused already is read for a while, so that the refusal is heard; then no more.
        with suppress(ConnectionError):
            for _ in range(SENT // len(piece)):
                connection.sendall(piece)
            connection.sendall(b"0\r\n\r\n")
        answer = connection.recv(100)
    assert answer.startswith(b"HTTP/1.1 413 ")
