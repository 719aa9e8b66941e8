"""Every request that a device makes, byte for byte, and how long it waits before each.

A server that sets cookies, wants a login and asks to come back later listens; it must hear the
headers of one short list and nothing else, from every method of the transport and from a client
in each of its states. Pauses are drawn by a source of ours and slept through a clock of ours.
"""

from __future__ import annotations

import base64
import inspect
import json
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import rumor
from rumor.client.client import Receipt, Withdrawal
from rumor.client.transport import Refused, Transport, Unreachable
from rumor.contract.admission import new_invitation, read_invitation, token
from rumor.core.errors import InputError
from tests.collector.tools import collection, many_questions
from tests.impostor import Heard, Told, impostor
from tests.relay.tools import relayed

# What urllib adds to a request with a body, and to one without.
BARE = {"accept-encoding": "identity", "connection": "close", "user-agent": "rumor"}
COOKIES = {"Set-Cookie": "who=somebody; Path=/", "Content-Type": "text/plain", "ETag": '"x"'}
DIGEST = "d" * 64


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


@dataclass(frozen=True)
class Call:
    """A method of the transport with what it is given, the request it makes, and the answers."""

    given: tuple[Any, ...]
    path: str
    headers: Mapping[str, str]
    body: bytes | None
    good: object
    """What the server says when all is well."""
    found: object
    """What the method then returns."""
    bad: tuple[object, ...] = ()
    """What is no answer of such a server."""
    status: int = 200
    method: str = "POST"


JSON = {"content-type": "application/json"}
REPORTS = {
    "content-type": "application/vnd.rumor.reports",
    "rumor-collection": DIGEST,
    "rumor-question": "q",
}
ENVELOPES = {**REPORTS, "content-type": "application/vnd.rumor.envelopes"}
COUNTS: tuple[object, ...] = (
    {},
    {"accepted": 1},
    {"accepted": "2", "duplicates": 0},
    {"accepted": 1, "duplicates": 2},
)
KEYS = (b"a" * 16, b"b" * 16)
ASKED = json.dumps({"question": "q", "keys": [text(key) for key in KEYS]}).encode()
WISH = json.dumps(
    {
        "credential": text(b"who"),
        "tokens": [{"key": text(b"k"), "number": 3, "blinded": text(b"m")}],
    }
).encode()

CALLS: dict[str, Call] = {
    "collection": Call(
        (), "/v1/collection", {}, None,
        {"digest": DIGEST, "open": True, "contract": {}}, None,
        ({"digest": 1, "open": True}, {"digest": DIGEST, "open": 1}, []), method="GET",
    ),
    "send": Call(
        (DIGEST, "q", b"records", 2), "/v1/reports", REPORTS, b"records",
        {"accepted": 1, "duplicates": 1}, 1, COUNTS,
    ),
    "send with a token": Call(
        (DIGEST, "q", b"record", 1, b"\x01\xab"), "/v1/reports",
        {**REPORTS, "rumor-token": "01ab"}, b"record", {"accepted": 1, "duplicates": 0}, 1,
    ),
    "pass_on": Call(
        (DIGEST, "q", b"sealed"), f"/v1/relay/{DIGEST}/q",
        {"content-type": "application/octet-stream"}, b"sealed",
        {"taken": 1}, None, ({"taken": 2}, {}), 202,
    ),
    "pass_on in a turn": Call(
        (DIGEST, "q", b"sealed", 17), f"/v1/relay/{DIGEST}/q/17",
        {"content-type": "application/octet-stream"}, b"sealed", {"taken": 1}, None, (), 202,
    ),
    "hand_over": Call(
        (DIGEST, "q", b"many", 3, "secret"), "/v1/batches",
        {**ENVELOPES, "authorization": "Bearer secret"}, b"many",
        {"taken": 3}, None, ({"taken": 2}, {}),
    ),
    "hand_over of a turn": Call(
        (DIGEST, "q", b"many", 3, "secret", 9), "/v1/batches",
        {**ENVELOPES, "authorization": "Bearer secret", "rumor-turn": "9"}, b"many",
        {"taken": 3}, None,
    ),
    "withdraw": Call(
        (DIGEST, "q", KEYS), "/v1/withdrawals", {**JSON, "rumor-collection": DIGEST}, ASKED,
        {"withdrawn": 1, "absent": 1}, 1, ({"withdrawn": 2, "absent": 1}, {"withdrawn": 2}),
    ),
    "withdraw with a token": Call(
        (DIGEST, "q", KEYS, b"\x01\xab"), "/v1/withdrawals",
        {**JSON, "rumor-collection": DIGEST, "rumor-token": "01ab"}, ASKED,
        {"withdrawn": 0, "absent": 2}, 0,
    ),
    "tokens": Call(
        (b"who", [(b"k", 3, b"m")]), "/v1/tokens", JSON, WISH,
        {"signatures": [text(b"signed")]}, [b"signed"],
        ({}, {"signatures": []}, {"signatures": ["?"]}, {"signatures": [1]}),
    ),
}  # fmt: skip


def name_of(title: str) -> str:
    return title.split(" ")[0]


def test_every_method_of_the_transport_has_a_request() -> None:
    public = {
        name for name, _ in inspect.getmembers(Transport, inspect.isfunction) if name[0] != "_"
    }
    assert {name_of(title) for title in CALLS} == public


def headers_of(call: Call, heard: Heard) -> dict[str, str]:
    """Every header that a request may have, with its value."""
    more = {} if call.body is None else {"content-length": str(len(call.body))}
    return {**BARE, "host": heard.headers["host"], **more, **call.headers}


@pytest.mark.parametrize("title", CALLS)
def test_a_request_says_what_it_is_for_and_nothing_else(title: str) -> None:
    call = CALLS[title]
    with impostor(lambda heard: (call.status, call.good, COOKIES)) as here:
        transport = Transport(here.url, 5.0)
        for _ in range(2):  # the second time a browser would send the cookie back
            found = getattr(transport, name_of(title))(*call.given)
            if title != "collection":
                assert found == call.found
            else:
                assert (found.digest, found.open, found.contract) == (DIGEST, True, {})
    assert len(here.heard) == 2
    for heard in here.heard:
        assert (heard.method, heard.path) == (call.method, call.path)
        assert heard.headers == headers_of(call, heard)
        assert heard.body == (call.body or b"")


@pytest.mark.parametrize("title", CALLS)
def test_another_answer_is_none(title: str) -> None:
    call = CALLS[title]
    for status, said in [(call.status + 1, call.good), *((call.status, bad) for bad in call.bad)]:
        with impostor(lambda heard: (status, said, {})) as here, pytest.raises(Unreachable):  # noqa: B023
            getattr(Transport(here.url, 5.0), name_of(title))(*call.given)


@pytest.mark.parametrize("title", CALLS)
def test_refusals_are_told_from_what_passes(title: str) -> None:
    call = CALLS[title]

    def told(kind: str, status: int, **more: object) -> Callable[[Heard], Told]:
        said = {"type": f"urn:rumor:problem:{kind}", "detail": f"it is  {kind}\n\x1b[2J", **more}
        return lambda heard: (status, said, {"Retry-After": "7", **COOKIES})

    def asked(answer: Callable[[Heard], Told]) -> Any:
        with impostor(answer) as here:
            return getattr(Transport(here.url, 5.0), name_of(title))(*call.given)

    for kind in ("rate", "unavailable", "timeout", "failed"):
        with pytest.raises(Unreachable, match=f"it is {kind}") as passing:
            asked(told(kind, 503))
        assert passing.value.retry_after == 7.0
        assert "\x1b" not in str(passing.value)
    if title == "collection":
        with pytest.raises(InputError, match="must serve its contract"):
            asked(told("closed", 410))
        return
    with pytest.raises(Refused, match="it is closed") as refused:
        asked(told("closed", 410, refused=[1, "2", 3]))
    assert (refused.value.type, refused.value.indices) == ("closed", (1, 3))
    with pytest.raises(Unreachable, match="answered with status 410"):
        asked(lambda heard: (410, {"type": "about:blank", "detail": "x"}, {}))


@dataclass
class Chance:
    """What a client draws and sleeps: bounds of each draw, and each pause."""

    drawn: list[tuple[float, float]] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    part: float = 0.5

    def uniform(self, low: float, high: float) -> float:
        self.drawn.append((low, high))
        return low + self.part * (high - low)

    def sleep(self, seconds: float) -> None:
        """Note a pause of the test's own thread; others, of servers, are made."""
        if threading.current_thread() is not threading.main_thread():
            _sleep(seconds)
        else:
            self.slept.append(seconds)


_sleep = time.sleep


@pytest.fixture
def chance(monkeypatch: pytest.MonkeyPatch) -> Chance:
    found = Chance()
    monkeypatch.setattr("rumor.client.client.random.uniform", found.uniform)
    monkeypatch.setattr("rumor.client.client.time.sleep", found.sleep)
    return found


def relaying(heard: Heard) -> Told:
    return 202, {"taken": 1}, COOKIES


def test_each_envelope_waits_for_a_time_of_its_own(tmp_path: Path, chance: Chance) -> None:
    with impostor(relaying) as here:
        contract = relayed(url=here.url, crowd=50)
        given = ("http://127.0.0.1:9", tmp_path, contract)
        with rumor.Client(*given, delay=8.0) as client:
            assert client.answer({"colour": "red", "many": 3}) == Receipt(2, 0, 0)
        with rumor.Client(*given) as client:
            assert client.answer({"colour": "red"}) == Receipt(1, 0, 0)
            assert client.flush() == Receipt(0, 0, 0)
    assert chance.drawn == [(0, 8.0), (0, 8.0), (0, 5.0)]
    assert chance.slept == [4.0, 4.0, 2.5]
    assert len(here.heard) == 3
    for heard in here.heard:
        assert heard.headers.keys() == {*BARE, "host", "content-length", "content-type"}
        assert heard.path.startswith(f"/v1/relay/{contract.digest}/")


def test_nobody_waits_before_a_collector(tmp_path: Path, chance: Chance) -> None:
    with impostor() as here, rumor.Client(here.url, tmp_path, collection()) as client:
        assert client.answer({"colour": "red"}).sent == 1
    assert (chance.drawn, chance.slept) == ([], [])


@pytest.mark.parametrize(
    ("attempts", "waits", "slept"),
    [
        (1, "", []),
        (2, "", [0.25 * 1.3]),
        (5, "", [0.25 * 1.3, 0.5 * 1.3, 1.0 * 1.3, 2.0 * 1.3]),
        (10, "", [0.325 * 2**n for n in range(7)] + [39.0, 39.0]),
        (3, "10", [13.0, 13.0]),
        (3, "30", [39.0, 39.0]),
        (3, "31", []),  # a long pause is not made
        (3, "x", [0.325, 0.65]),
        (3, "123456", [0.325, 0.65]),
    ],
)
def test_pauses_grow_and_heed_the_collector(
    tmp_path: Path, chance: Chance, attempts: int, waits: str, slept: list[float]
) -> None:
    said = {"type": "urn:rumor:problem:unavailable", "detail": "not now"}
    headers = {"Retry-After": waits} if waits else {}
    with (
        impostor(lambda heard: (503, said, headers)) as here,
        rumor.Client(here.url, tmp_path, collection(), attempts=attempts) as client,
    ):
        assert client.answer({"colour": "red"}) == Receipt(0, 1, 0, "not now")
        assert chance.slept == pytest.approx(slept)
        assert chance.drawn == [(1.0, 1.6)] * len(slept)
        assert len(here.heard) == len(slept) + 1
        chance.slept.clear()
        assert client.withdraw() == Withdrawal(0, 0, 1, "not now")
        assert chance.slept == pytest.approx(slept)


def test_no_attempt_is_no_client(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="attempts must be 1 or more; got 0"):
        rumor.Client("http://127.0.0.1:9", tmp_path, collection(), attempts=0)


def test_a_client_says_nothing_but_what_it_must(tmp_path: Path) -> None:
    """Of an answer, an invitation, a secret or a folder, nothing but the report and its token."""
    contract, code = many_questions(2, admission="invited"), new_invitation()
    served = {"digest": contract.digest, "open": True, "contract": contract.contract()}

    def collecting(heard: Heard) -> Told:
        counts = {"accepted": 1, "duplicates": 0, "withdrawn": 1, "absent": 0}
        return 200, {**served, **counts}, COOKIES

    with impostor(collecting) as here:
        with rumor.Client(here.url, tmp_path / "device", invitation=code) as client:
            assert client.answer({"q0": "green", "q1": "red"}).sent == 2
            assert client.withdraw().withdrawn == 2
        secret = (tmp_path / "device" / "secret").read_text().split()[-1]
    shown = {token(read_invitation(code), contract.series, f"q{n}", 0).hex() for n in range(2)}
    assert {heard.headers.get("rumor-token") for heard in here.heard} == {None, *shown}
    assert [heard.path for heard in here.heard].count("/v1/collection") == 1
    for heard in here.heard:
        whole = json.dumps([heard.path, dict(heard.headers)]).encode() + heard.body
        for kept in (b"green", b"red", code.encode(), secret.encode(), bytes.fromhex(secret)):
            assert kept not in whole
        assert str(tmp_path).encode() not in whole
        assert heard.headers.keys() <= {
            *BARE, "host", "content-length", "content-type", "rumor-collection",
            "rumor-question", "rumor-token",
        }  # fmt: skip


def test_a_device_keeps_no_answer_and_no_invitation(tmp_path: Path) -> None:
    """Whatever a device leaves on its disk, an answer is not in it, nor what admits another."""
    number = {
        "id": "income", "kind": "number", "low": 0, "high": 1_000_000, "epsilon": 1.0,
        "reports_per_person": 3,
    }  # fmt: skip
    contract = many_questions(1, admission="invited", questions=[number])
    code = new_invitation()
    said = {"type": "urn:rumor:problem:closed", "detail": "no"}
    with impostor(lambda heard: (410, said, COOKIES)) as here:
        for value in (731_953, 731_953, 202_020):
            with rumor.Client(here.url, tmp_path, contract, invitation=code, attempts=1) as client:
                client.answer({"income": value})
        with rumor.Client(here.url, tmp_path, contract, invitation=code) as client:
            assert len(client.waiting()) == 3
    secrets = [code.encode(), read_invitation(code), b"cookie", b"who=somebody"]
    for value in (731_953, 202_020):
        secrets += [str(value).encode(), value.to_bytes(4, "big"), value.to_bytes(4, "little")]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"secret", "ledger.sqlite3", "current"}
    for path in files:
        held = path.read_bytes()
        assert not [secret for secret in secrets if secret in held], path


def test_a_proxy_of_the_environment_hears_nothing_meant_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with impostor(lambda heard: (202, {"taken": 1}, {})) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        for host in ("127.0.0.1", "localhost"):
            with impostor(lambda heard: (202, {"taken": 1}, {})) as here:
                url = here.url.replace("127.0.0.1", host)
                Transport(url, 5.0).pass_on(DIGEST, "q", b"sealed")
                assert len(here.heard) == 1
        assert proxy.heard == []
        assert urllib.request.getproxies()["http"] == proxy.url
        Transport("http://collect.example", 5.0).pass_on(DIGEST, "q", b"sealed")
        assert len(proxy.heard) == 1
