"""Malformed requests without end: mutations of valid ones, and JSON that nearly fits the schema.

Everything is drawn from a seed. An oracle of a few plain lines says which requests are valid
all the same, so that an answer of 200 can be told right from wrong.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import random
import re
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rumor.collector.http.app import make_app
from rumor.collector.http.limits import Limits
from rumor.collector.service import Service
from rumor.collector.store.base import Store, StoredCollection
from tests.collector.tools import as_json, rows

LIMITS = Limits(body_bytes=20_000, json_reports=50, binary_reports=200, requests_per_second=1e9)
_JSON, _BINARY = "application/json", "application/vnd.rumor.reports"
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_SCALARS: list[Any] = [
    None, True, 0, -1, 1e308, 2**70, "", "x", "AA==", "colour", "\u0000", "é", "💧" * 20, [], {},
]  # fmt: skip


@dataclass(frozen=True)
class Attempt:
    """One request."""

    headers: dict[str, str]
    body: bytes


class Fuzzer:
    """Draws requests."""

    def __init__(self, entry: StoredCollection, seed: int) -> None:
        self._entry, self._chance = entry, random.Random(seed)
        self._pool = {id: rows(entry, id, [i % 3 for i in range(400)]) for id in ("colour", "many")}

    def attempt(self) -> Attempt:
        """A request that is most likely malformed."""
        chance = self._chance
        question = chance.choice(["colour", "many"])
        pool = self._pool[question]
        count = chance.choice([1, 1, 2, 5, 20])
        some = pool[np.array([chance.randrange(len(pool)) for _ in range(count)])]
        headers = {"rumor-collection": self._entry.collection.digest}
        if chance.random() < 0.5:
            headers["content-type"] = _JSON
            document: Any = as_json(question, some)
            if chance.random() < 0.7:
                document = warp(document, chance)
            body = json.dumps(document).encode()
        else:
            headers |= {"content-type": _BINARY, "rumor-question": question}
            body = some.tobytes()
        if chance.random() < 0.7:
            body = self._mutate(body)
        if chance.random() < 0.2:
            headers["content-encoding"] = "gzip"
            body = gzip.compress(body, compresslevel=1, mtime=0)
            if chance.random() < 0.5:
                body = self._mutate(body)
        if chance.random() < 0.1:
            name = chance.choice([*headers, "content-length", "content-encoding"])
            headers[name] = chance.choice(["", "x", "gzip", "0", "-1", "9" * 30, _JSON, "\xff\x00"])
        if chance.random() < 0.02:
            headers.pop(chance.choice(list(headers)))
        return Attempt(headers, body)

    def _mutate(self, body: bytes) -> bytes:
        """The bytes with some flipped, cut, doubled or put in."""
        chance, changed = self._chance, bytearray(body)
        for _ in range(chance.choice([1, 1, 2, 8])):
            place = chance.randrange(len(changed) + 1)
            action = chance.randrange(5)
            if action == 0 and place < len(changed):
                changed[place] ^= 1 << chance.randrange(8)
            elif action == 1:
                del changed[place : place + chance.randrange(1, 40)]
            elif action == 2:
                changed[place:place] = chance.randbytes(chance.randrange(1, 40))
            elif action == 3:
                changed = changed[:place]
            else:
                changed += changed[
                    : chance.randrange(1, 4) * 10_000 if chance.random() < 0.1 else place
                ]
        return bytes(changed)


def warp(node: Any, chance: random.Random, depth: int = 0) -> Any:
    """The document with something changed somewhere: a type, a key, a length."""
    if depth > 4 or chance.random() < 0.15:
        return chance.choice(_SCALARS)
    if isinstance(node, dict):
        changed = dict(node)
        key = chance.choice([*changed, "extra"])
        action = chance.randrange(4)
        if action == 0:
            changed.pop(key, None)
        elif action == 1:
            changed[key + "x"] = chance.choice(_SCALARS)
        else:
            changed[key] = warp(changed.get(key), chance, depth + 1)
        return changed
    if isinstance(node, list) and node:
        changed_list = list(node)
        index = chance.randrange(len(changed_list))
        changed_list[index] = warp(changed_list[index], chance, depth + 1)
        return changed_list * chance.choice([1, 1, 1, 60])
    if isinstance(node, str) and node:
        cut = chance.randrange(len(node))
        return node[:cut] + chance.choice(["", "=", "*", "A", "\u2028"]) + node[cut + 1 :]
    return chance.choice(_SCALARS)


def valid_rows(attempt: Attempt, entry: StoredCollection) -> list[bytes] | None:
    """The oracle: the rows of a valid request, None for any other."""
    headers, body = attempt.headers, attempt.body
    kind = headers.get("content-type")
    length = headers.get("content-length", "")
    if headers.get("rumor-collection") != entry.collection.digest or (
        length.isascii() and length.isdigit() and int(length) > LIMITS.body_bytes
    ):
        return None
    try:
        encoding = headers.get("content-encoding", "")
        if encoding == "gzip":
            inflate = zlib.decompressobj(wbits=31)
            body = inflate.decompress(body) if len(body) <= LIMITS.body_bytes else b""
            if not inflate.eof or inflate.unused_data:
                return None
        elif encoding:
            return None
        if not 0 < len(body) <= LIMITS.body_bytes:
            return None
        if kind == _JSON:
            document = json.loads(body.decode("utf-8"))
            question, items = document["question"], document["reports"]
            if set(document) != {"question", "reports"} or not 0 < len(items) <= 50:
                return None
            found = []
            for item in items:
                id, report = (
                    base64.b64decode(item[key], validate=True) for key in ("id", "report")
                )
                if set(item) != {"id", "report"} or len(id) != 16:
                    return None
                found.append(id + report)
        elif kind == _BINARY:
            question = headers.get("rumor-question")
            size = {"colour": 17, "many": 20}[question or ""]
            if len(body) % size or len(body) // size > 200:
                return None
            found = [body[i : i + size] for i in range(0, len(body), size)]
        else:
            return None
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error):
        return None
    good = {"colour": _is_colour, "many": _is_many}.get(
        question if isinstance(question, str) else ""
    )
    return found if good is not None and all(map(good, found)) else None


def _says_twice(attempt: Attempt) -> bool:
    """Whether JSON has a key twice in an object; then the first may be what is refused."""
    twice = False

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal twice
        twice = twice or len({key for key, _ in pairs}) < len(pairs)
        return dict(pairs)

    try:
        packed = attempt.headers.get("content-encoding") == "gzip"
        body = gzip.decompress(attempt.body) if packed else attempt.body
        json.loads(body, object_pairs_hook=note)
    except ValueError:
        return False
    return twice


def _is_colour(row: bytes) -> bool:
    return len(row) == 17 and row[16] < 3


def _is_many(row: bytes) -> bool:
    return len(row) == 20 and row[19] < 1 << 6


@dataclass
class Tally:
    """How a run went."""

    statuses: Counter[int]
    accepted: set[bytes]
    wrong: list[tuple[Attempt, int, bytes]]


async def run(
    store: Store, entry: StoredCollection, attempts: int, seed: int, watch: Callable[[int], None]
) -> Tally:
    """Send so many requests to the application, in this process; `watch` is told how far it is."""
    service = Service(store, entry.collection.series, limits=LIMITS)
    app = make_app(service)
    await service.start()
    fuzzer, tally = Fuzzer(entry, seed), Tally(Counter(), set(), [])
    try:
        for done in range(attempts):
            attempt = fuzzer.attempt()
            status, body = await _ask(app, attempt)
            tally.statuses[status] += 1
            expected = valid_rows(attempt, entry)
            if status == 200 and expected is not None:
                tally.accepted.update(expected)
            elif not 400 <= status < 500 or (
                expected is not None and status != 409 and not _says_twice(attempt)
            ):
                tally.wrong.append((attempt, status, body))
            if done % 1000 == 0:
                watch(done)
    finally:
        await service.stop()
    return tally


async def _ask(app: Callable[..., Awaitable[None]], attempt: Attempt) -> tuple[int, bytes]:
    sent: list[dict[str, Any]] = []
    half = len(attempt.body) // 2
    parts = [attempt.body[:half], attempt.body[half:]]

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in attempt.headers.items()]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/reports",
        "raw_path": b"/v1/reports",
        "root_path": "",
        "query_string": b"",
        "headers": headers,
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "client": None,
    }
    try:
        await app(scope, receive, send)
    except Exception as problem:
        return 599, repr(problem).encode()
    return int(sent[0]["status"]), b"".join(part.get("body", b"") for part in sent[1:])


def fuzz(
    store: Store, entry: StoredCollection, attempts: int, seed: int, watch: Callable[[int], None]
) -> Tally:
    """The same, from code that is not asynchronous."""
    return asyncio.run(run(store, entry, attempts, seed, watch))
