"""Strangers on the open internet against a collector without a proxy: what each can do to others.

Every test attacks a server that runs, over real sockets; 127.0.0.2 and its neighbours stand for
other addresses. Whoever comes meanwhile must be served.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import logging
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from rumor.collector.http.limits import Limits, RateLimiter
from rumor.collector.http.server import _LOG, background
from rumor.collector.service import Service
from rumor.collector.store.base import StoredCollection, open_store
from tests.collector.test_connections import connected, head
from tests.collector.tools import call, collection, rows, send

ASK = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
LIMITS = Limits(connections=40, unfinished=10, seconds_to_read=2.0, seconds_to_ask=2.0)

LOGGERS = ("uvicorn", "rumor.connections")

Running = tuple[str, StoredCollection]


@contextlib.contextmanager
def attacked(folder: Path, limits: Limits) -> Iterator[Running]:
    """A collector with these limits."""
    store = open_store(f"sqlite:///{folder / 'store.db'}")
    entry = store.register(collection())
    with background(Service(store, "series", limits=limits)) as url:
        yield url, entry


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with attacked(tmp_path, LIMITS) as found:
        yield found


def newcomer(url: str, source: str = "127.0.0.2", path: str = "/v1/collection") -> int:
    """The status that a new connection from another address gets; 0 where it is cut off."""
    try:
        with connected(url, source=source) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            told = connection.recv(100)
            return int(told.split(b" ")[1]) if told else 0
    except (OSError, ConnectionError):
        return 0


def refused(url: str, count: int, seconds: float) -> list[int]:
    """What newcomers of the next `seconds` hear who are not served, of `count`."""
    heard = []
    for _ in range(count):
        heard.append(newcomer(url))
        time.sleep(seconds / count)
    return [status for status in heard if status != 200]


def opened(held: contextlib.ExitStack, url: str, said: bytes, count: int) -> list[socket.socket]:
    """Connections of one address which have all said this."""
    found = []
    for _ in range(count):
        with contextlib.suppress(OSError):
            found.append(held.enter_context(connected(url)))
            found[-1].sendall(said)
    return found


def idle(held: contextlib.ExitStack, url: str, count: int) -> list[socket.socket]:
    """Connections of one address that have had an answer and stay."""
    found = []
    for _ in range(count):
        with contextlib.suppress(OSError):
            connection = held.enter_context(connected(url))
            connection.sendall(ASK)
            connection.recv(1000)
            found.append(connection)
    return found


def test_idle_connections_of_one_address_lock_nobody_out(running: Running) -> None:
    url, entry = running
    with contextlib.ExitStack() as held:
        idle(held, url, 2 * LIMITS.connections + 10)
        assert not refused(url, 21, 1.0)
        body = rows(entry, "colour", [0]).tobytes()
        assert send(url, entry.collection, "colour", body).status == 200


def test_idle_connections_of_others_are_left_alone(running: Running) -> None:
    """The address with the most gives way, not whoever has been idle longest."""
    url, _ = running
    with contextlib.ExitStack() as held:
        honest = held.enter_context(connected(url, source="127.0.0.3"))
        honest.sendall(ASK)
        honest.recv(1000)
        idle(held, url, 2 * LIMITS.connections)
        honest.sendall(ASK)
        assert b" 200 " in honest.recv(1000)


@pytest.mark.slow
def test_two_thousand_idle_connections_lock_nobody_out(tmp_path: Path) -> None:
    """As it was reported: 21 newcomers within 30 seconds, while idle ones are kept alive."""
    with attacked(tmp_path, Limits()) as (url, _), contextlib.ExitStack() as held:
        attackers = idle(held, url, 2_000)
        heard = []
        for _ in range(21):
            for each in attackers:
                with contextlib.suppress(OSError):
                    each.setblocking(False)
                    each.sendall(ASK)
            idle(held, url, 50)
            heard.append(newcomer(url))
            time.sleep(1.0)
        assert heard == [200] * 21


def is_reset(connection: socket.socket) -> bool:
    """Whether the other side has cut a connection off."""
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


@pytest.mark.slow
def test_answers_that_nobody_reads_lock_nobody_out(running: Running) -> None:
    """Answers too large for the kernel, asked for again and again, and never read."""
    url, _ = running
    assert call(url, "/assets/vega.js").status == 200
    ask = b"GET /assets/vega.js HTTP/1.1\r\nHost: x\r\n\r\n" * 10
    with contextlib.ExitStack() as held:
        attackers = []
        for _ in range(2 * LIMITS.connections + 10):
            connection = held.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", int(url.rpartition(":")[2])))
            connection.sendall(ask)
            attackers.append(connection)
        assert not refused(url, 21, 1.0)
        # Nor are they kept when nobody needs their places.
        deadline = time.monotonic() + 5 * LIMITS.seconds_to_read
        while waiting := [each for each in attackers if not is_reset(each)]:
            attackers = waiting
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_an_early_refusal_leaves_no_connection_behind(running: Running) -> None:
    """A body that comes after its refusal: no timer of uvicorn's runs from then on."""
    url, entry = running
    with connected(url) as connection:
        connection.sendall(head(entry, "Content-Length: 4").replace(b"/vnd", b"/x"))
        assert b" 415 " in connection.recv(1000)
        connection.sendall(b"body")
        connection.settimeout(3 * LIMITS.seconds_to_read)
        with contextlib.suppress(ConnectionError):
            assert connection.recv(100) == b""


def answered(url: str, request: bytes) -> bytes:
    """What a server says to these bytes, until it hangs up or says nothing for a while."""
    told = b""
    with connected(url) as connection:
        connection.settimeout(3)
        with contextlib.suppress(OSError):
            connection.sendall(request)
        with contextlib.suppress(OSError):
            while part := connection.recv(1 << 16):
                told += part
    return told


HEADS = {
    "a long header": b"X: " + b"y" * LIMITS.head_bytes,
    "many headers": b"".join(b"X%d: y\r\n" % n for n in range(LIMITS.head_lines + 1))[:-2],
    "many empty headers": (b"X:\r\n" * (LIMITS.head_lines + 1))[:-2],
}


@pytest.mark.parametrize("what", HEADS)
def test_heads_are_bounded(running: Running, what: str) -> None:
    url, _ = running
    told = answered(url, b"GET / HTTP/1.1\r\n" + HEADS[what] + b"\r\n\r\n")
    assert told.startswith(b"HTTP/1.1 413 ")
    assert b"32,768 bytes and 100 lines" in told
    assert newcomer(url) == 200


@pytest.mark.parametrize("path", [b"/" + b"a" * 40_000, b"/answer?" + b"a=b&" * 10_000])
def test_paths_and_queries_are_bounded(running: Running, path: bytes) -> None:
    url, _ = running
    assert answered(url, b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path).startswith(b"HTTP/1.1 413 ")
    assert newcomer(url) == 200


def test_an_ordinary_head_passes(running: Running) -> None:
    """As large a head as browsers send, and more: 60 headers of 200 bytes."""
    url, _ = running
    more = b"".join(b"X-%d: %s\r\n" % (n, b"y" * 200) for n in range(60))
    told = answered(url, b"GET /healthz HTTP/1.1\r\nConnection: close\r\n" + more + b"\r\n")
    assert told.startswith(b"HTTP/1.1 200 ")


def test_requests_sent_ahead_are_bounded(running: Running) -> None:
    """Few are answered in order; thousands in one packet are refused, and none is kept."""
    url, _ = running
    told = answered(url, ASK * 5)
    assert told.count(b"HTTP/1.1 200 ") == 5
    told = answered(url, ASK * 5_000)
    assert told.count(b"HTTP/1.1 200 ") <= LIMITS.pipelined + 1
    assert b" 400 " in told
    assert newcomer(url) == 200


def test_an_endless_body_without_a_length_is_cut_off(running: Running) -> None:
    url, entry = running
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    sent = 0
    with connected(url) as connection:
        connection.sendall(head(entry, "Transfer-Encoding: chunked"))
        with contextlib.suppress(OSError):
            while sent < 10_000:
                connection.sendall(chunk)
                sent += 1
    assert sent < 1_000  # 64 MiB, of which the kernels of both sides hold some
    assert newcomer(url) == 200


def test_a_compressed_bomb_is_not_unpacked(running: Running) -> None:
    url, entry = running
    bomb = gzip.compress(bytes(200 << 20), 9)
    assert len(bomb) < LIMITS.body_bytes
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = send(url, entry.collection, "colour", bomb, Content_Encoding="gzip")
    assert told.problem == "too-large"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 << 10


@pytest.mark.parametrize(
    "request_line", ["HEAD /answer", "OPTIONS /v1/reports", "GET /{}", "GET /answer?{}", "BREW /"]
)
def test_floods_of_cheap_requests_lock_nobody_out(running: Running, request_line: str) -> None:
    """As many as one address can send, on as many connections as it can hold."""
    url, _ = running
    with contextlib.ExitStack() as held:
        attackers = opened(held, url, b"", 2 * LIMITS.connections)
        heard = []
        for turn in range(10):
            for n, each in enumerate(attackers):
                line = request_line.format(f"{turn}-{n}")
                with contextlib.suppress(OSError):
                    each.setblocking(False)
                    each.sendall(f"{line} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            heard.append(newcomer(url))
        assert heard == [200] * 10


@pytest.mark.slow
def test_rubbish_does_not_fill_the_log(running: Running, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever a stranger sends, or stops reading, writes no line."""
    url, entry = running
    rubbish = [
        b"\x16\x03\x01 a TLS hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"GET /assets/vega.js HTTP/1.1\r\nHost: x\r\n\r\n" * 10,
        ASK * 5_000,
        head(entry, "Content-Length: 17"),
    ]
    with caplog.at_level(logging.INFO):
        for each in rubbish:
            with connected(url) as connection, contextlib.suppress(OSError):
                connection.sendall(each)
                time.sleep(0.1)
        assert newcomer(url) == 200
    assert not [record for record in caplog.records if record.name.startswith(LOGGERS)]


def test_uvicorns_configuration_does_not_open_the_log() -> None:
    """Whoever mounts a collector configures uvicorn's loggers, and their children are set back."""
    uvicorn.Config("nothing:app")
    assert not _LOG.isEnabledFor(logging.WARNING)


def test_a_flood_of_reports_leaves_others_their_turn(tmp_path: Path) -> None:
    """One address uses up the rate of all, and another one is still heard."""
    with attacked(tmp_path, Limits(requests_per_second=5)) as (url, entry):
        host, port = url.removeprefix("http://").split(":")
        statuses = []
        for source in ["127.0.0.1"] * 40 + ["127.0.0.2"]:
            connection = http.client.HTTPConnection(host, int(port), 10, (source, 0))
            with contextlib.closing(connection):
                headers = {
                    "Content-Type": "application/vnd.rumor.reports",
                    "Rumor-Collection": entry.collection.digest,
                    "Rumor-Question": "colour",
                }
                body = rows(entry, "colour", [0]).tobytes()
                connection.request("POST", "/v1/reports", body, headers)
                statuses.append(connection.getresponse().status)
    assert 429 in statuses[:40]
    assert statuses[40] == 200


def test_the_bucket_hears_a_new_address_once_in_a_second() -> None:
    now = [100.0]
    bucket = RateLimiter(2, lambda: now[0])
    assert [bucket.take("a") for _ in range(5)] == [True, True, True, False, False]
    assert [bucket.take("b") for _ in range(3)] == [True, False, False]
    assert bucket._heard == {"a", "b"}
    assert not bucket.take()
    now[0] += 10
    assert bucket.take("a")
    assert not bucket._heard  # forgotten with the next request


@pytest.mark.slow
def test_a_server_has_as_many_files_as_places(tmp_path: Path) -> None:
    """A shell that allows fewer open files than there are places does not make it deaf."""
    collection().save(tmp_path / "contract.json")
    command = [sys.executable, "-m", "rumor", "serve", "contract.json", "--port", "0"]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def few_files() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))

    server = subprocess.Popen(
        [*command, "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=few_files,
        env={**os.environ},
    )
    try:
        assert server.stdout is not None
        server.stdout.readline()
        url = server.stdout.readline().split('"')[3]
        with contextlib.ExitStack() as held:
            idle(held, url, 300)
            assert not refused(url, 5, 0.5)
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=30)
