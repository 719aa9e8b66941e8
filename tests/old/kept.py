"""What older versions wrote, copied for a test, and the addresses that it names."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import json
import shutil
import socket
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rumor.collector.http.server import background, listen
from rumor.collector.relay.service import RelayService
from rumor.collector.relay.store import ArrivedEnvelope, EnvelopeBatch, RelayStore
from rumor.collector.service import Service
from rumor.collector.store.base import Store, open_store
from rumor.contract.collection import Collection
from tests.collector.postgres import Postgres
from tests.collector.tools import stored

HERE = Path(__file__).parent


def copied(source: Path, target: Path) -> tuple[Path, dict[str, Any]]:
    """A copy that a test may change, and what the version that wrote it said of it.

    Databases are unpacked, and files are their owner's alone, which git does not keep.
    """
    shutil.copytree(source, target)
    for path in [path for path in target.rglob("*") if path.is_file()]:
        if path.suffix == ".gz":
            path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
            path.unlink()
            path = path.with_suffix("")
        path.chmod(0o600)
    return target, json.loads((target / "expected.json").read_text())


def store_in(folder: Path, request: pytest.FixtureRequest) -> str:
    """The URL of the store in a copy: the SQLite file, or a database with what was dumped."""
    if request.param == "sqlite":
        return f"sqlite:///{folder / 'store.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    url = server.clean_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((folder / "postgresql.sql").read_bytes())
    return url


@contextlib.contextmanager
def address_of(url: str) -> Iterator[socket.socket]:
    """A listener at an address that an old contract names; one test at a time has it."""
    port = int(url.rpartition(":")[2])
    with Path(tempfile.gettempdir(), f"rumor-old-{port}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield listen("127.0.0.1", port)


@contextlib.contextmanager
def collector(
    folder: Path, collection: Collection, listener: socket.socket | None = None
) -> Iterator[tuple[str, Store]]:
    """A collector of one collection over a new store: its URL and the store."""
    store = open_store(f"sqlite:///{folder / f'{collection.series}.db'}")
    store.register(collection)
    with background(Service(store, collection.series), listener=listener) as url:
        yield url, store


@contextlib.contextmanager
def quiet_relay(folder: Path, collection: Collection) -> Iterator[RelayStore]:
    """A relay at the address that a contract names, which releases nothing; its store."""
    assert collection.relay is not None
    store = RelayStore(f"sqlite:///{folder / 'quiet-relay.db'}")
    store.register(collection)
    service = RelayService(store, "http://127.0.0.1:9", lambda: "", every=1e9)
    with (
        address_of(collection.relay.url) as listener,
        background(service, listener=listener),
    ):
        yield store


def holds(store: RelayStore, sealed: bytes) -> bool:
    """Whether exactly one envelope waits at a relay, and has these bytes."""
    (kind,) = store.classes()
    alone = store.waiting(EnvelopeBatch(kind)) == 1
    return alone and store.keep([ArrivedEnvelope(kind.number, sealed)]) == [False]


def received(store: Store, collection: Collection) -> dict[str, tuple[str, str]]:
    """By id, the question and the bytes of all reports that a collector holds."""
    entry = store.find(collection.digest)
    return {
        id.hex(): (question.id, report.hex())
        for question in collection.questions
        for id, report in stored(store, entry, question.id).items()
    }


def unpacked(place: Path) -> Path:
    """The package of the release before, unpacked in a folder: what PYTHONPATH then names."""
    with tarfile.open(HERE / "0.1.0" / "source.tar.xz") as packed:
        packed.extractall(place, filter="data")
    return place / "src"
