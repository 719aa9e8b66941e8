"""A server that sends a byte now and then holds nobody beyond the timeout."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rumor
from rumor.client.transport import Transport, Unreachable
from rumor.collector.relay import service as relay_service
from rumor.collector.relay.store import RelayStore
from tests.collector.tools import collection
from tests.javascript import CLIENT
from tests.needs import needs
from tests.relay.tools import relayed

TIMEOUT = 0.5
MARGIN = 0.7  # for a machine with much else to do; an answer of 40 bytes takes four seconds
DRIP = 0.1
DIGEST = "0" * 64

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
DRIPS = {
    "the status": (b"", b"HTTP/1.1 200 OK" + b" " * 40),
    "headers": (OK, b"X-Slow: y\r\n" * 4),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2),
    "a body": (OK + b"Content-Length: 41\r\n\r\n", b"{" + b" " * 40),
    "a body without a length": (OK + b"\r\n", b"{" + b" " * 40),
    "chunks": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n" * 7),
    "a refusal": (OK.replace(b"200 OK", b"503 No") + b"Content-Length: 40\r\n\r\n", b" " * 40),
    "a redirection": (OK.replace(b"200 OK", b"302 Found") + b"Location: /x\r\n", b"X: y\r\n" * 7),
}
CALLS: dict[str, Callable[[Transport], object]] = {
    "collection": lambda to: to.collection(),
    "send": lambda to: to.send(DIGEST, "colour", bytes(17), 1),
    "pass_on": lambda to: to.pass_on(DIGEST, "colour", bytes(100)),
    "hand_over": lambda to: to.hand_over(DIGEST, "colour", bytes(100), 1, "token"),
    "withdraw": lambda to: to.withdraw(DIGEST, "colour", [bytes(16)]),
    "tokens": lambda to: to.tokens(bytes(16), [(bytes(32), 0, bytes(256))]),
}


@contextlib.contextmanager
def dripping(
    at_once: bytes, slowly: bytes, secure: ssl.SSLContext | None = None, *, reads: bool = True
) -> Iterator[str]:
    """A server that says some bytes at once and the others one by one."""
    done = threading.Event()

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as held:
            held.enter_context(connection)
            if secure is not None:
                connection = held.enter_context(secure.wrap_socket(connection, server_side=True))
            if reads:
                connection.recv(1 << 16)
            connection.sendall(at_once)
            for each in slowly:
                if done.wait(DRIP):
                    return
                connection.sendall(bytes([each]))

    def accept() -> None:
        while not done.is_set():
            with contextlib.suppress(OSError):
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        thread = threading.Thread(target=accept)
        thread.start()
        scheme = "http" if secure is None else "https"
        yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
        done.set()
        thread.join()


@contextlib.contextmanager
def in_time(seconds: float = TIMEOUT) -> Iterator[None]:
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < seconds + MARGIN


@pytest.mark.parametrize("what", DRIPS)
def test_a_slow_answer_is_given_up_in_time(what: str) -> None:
    with dripping(*DRIPS[what]) as url, in_time(), pytest.raises(Exception, match=r"reach|status"):
        Transport(url, TIMEOUT).collection()


@pytest.mark.parametrize("name", CALLS)
def test_every_request_has_the_deadline(name: str) -> None:
    at_once, slowly = DRIPS["a body"]
    status = b"202" if name == "pass_on" else b"200"
    with (
        dripping(at_once.replace(b"200", status, 1), slowly) as url,
        in_time(),
        pytest.raises(Unreachable, match="timed out"),
    ):
        CALLS[name](Transport(url, TIMEOUT))


def test_a_server_that_does_not_read_is_given_up_in_time() -> None:
    """A body larger than the kernels of both sides hold."""
    with dripping(b"", b" " * 40, reads=False) as url, in_time(), pytest.raises(Unreachable):
        Transport(url, TIMEOUT).hand_over(DIGEST, "colour", bytes(64 << 20), 1, "token")


def certificate(folder: Path) -> ssl.SSLContext:
    """A server's side of TLS, with a certificate of its own making."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "own.pem").write_bytes(made.public_bytes(pem))
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "own.key").write_bytes(private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "own.pem", folder / "own.key")
    return context


def test_tls_has_the_same_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And works at all: an answer that comes at once is heard."""
    secure = certificate(tmp_path)
    body = b'{"digest": "%s", "open": true, "contract": {}}' % DIGEST.encode()
    whole = OK + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    with dripping(whole, b"", secure) as url:
        with pytest.raises(Unreachable, match="certificate"):
            Transport(url, 10).collection()
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))
        assert Transport(url, 10).collection().digest == DIGEST
    with dripping(*DRIPS["a body"], secure) as url, in_time(), pytest.raises(Unreachable):
        Transport(url, TIMEOUT).collection()


def test_a_slow_handshake_is_given_up_in_time() -> None:
    hello = (b"\x16\x03\x03\x40\x00", b"\x02" * 40)
    with dripping(*hello) as url, in_time(), pytest.raises(Unreachable):
        Transport(url.replace("http:", "https:"), TIMEOUT).collection()


def test_a_slow_resolver_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait(5) and [])
    with in_time(), pytest.raises(Unreachable, match="timed out"):
        Transport("http://collector.example", TIMEOUT).collection()
    released.set()


def test_an_unknown_name_is_said_as_before() -> None:
    with pytest.raises(Unreachable, match="cannot be reached"):
        Transport("http://nowhere.invalid", 20).collection()


def test_a_device_is_held_no_longer_than_its_attempts(tmp_path: Path) -> None:
    """The reported case: a timeout of one second, and a server that drips."""
    with dripping(*DRIPS["a body"]) as url:
        client = rumor.Client(url, tmp_path, collection(), attempts=1, timeout=TIMEOUT)
        with client, in_time():
            receipt = client.answer({"colour": "red"})
        assert (receipt.sent, receipt.waiting) == (0, 1)
        assert receipt.problem is not None


def test_a_relay_is_held_no_longer_by_its_gateway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_service, "_SECONDS_TO_TAKE", TIMEOUT)
    store = RelayStore(f"sqlite:///{tmp_path / 'relay.db'}")
    store.register(relayed())
    with dripping(*DRIPS["a body"]) as url:
        service = relay_service.RelayService(store, url, lambda: "token")
        with in_time(), pytest.raises(Unreachable, match="timed out"):
            service._gateway.hand_over(DIGEST, "colour", bytes(100), 1, "token")
    store.close()


_SCRIPT = """
import {{ request }} from "{client}/transport.js";
const real = AbortSignal.timeout.bind(AbortSignal);
const asked = [];
AbortSignal.timeout = (ms) => (asked.push(ms), real(ms / 20));
const begun = performance.now();
const code = await request("{url}/v1/collection").then(() => "answered", (e) => e.code);
console.log(JSON.stringify({{ code, asked, seconds: (performance.now() - begun) / 1000 }}));
process.exit(0);
"""


@pytest.mark.parametrize("what", ["the status", "headers", "a body", "chunks", "a refusal"])
def test_browsers_have_an_overall_deadline_too(what: str) -> None:
    """The signal that ends a request after 10 seconds, here a twentieth of that."""
    with dripping(*DRIPS[what]) as url:
        script = _SCRIPT.format(client=CLIENT.as_uri(), url=url)
        done = subprocess.run(
            [str(needs("node")), "--input-type=module", "-e", script],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    told = json.loads(done.stdout)
    assert told["code"] == "unreachable"
    assert told["asked"] == [10_000]
    assert told["seconds"] < TIMEOUT + MARGIN
