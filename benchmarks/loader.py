"""A load generator for a collector on this machine: bounded in number and in time.

A process of its own that is told over a pipe what to prepare and when to send it, so that
making requests is not part of what is measured:

    {"prepare": "binary" or "json", "requests": n, "batch": k, ...}   answers "ready"
    {"go": connections}                                     answers seconds and the p99

It connects to 127.0.0.1 and to nothing else.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
import time
from functools import partial
from typing import Any

import numpy as np

_MOST_REQUESTS = 200_000
_MOST_SECONDS = 120.0
_FINE = b"HTTP/1.1 200"


def prepare(order: dict[str, Any]) -> list[bytes]:
    """Whole requests, head and body, every report with a fresh random id."""
    requests, batch, width = order["requests"], order["batch"], order["width"]
    assert requests <= _MOST_REQUESTS
    head = (
        f"POST /v1/reports HTTP/1.1\r\nHost: 127.0.0.1\r\nRumor-Collection: {order['digest']}\r\n"
        f"Rumor-Question: {order['question']}\r\n"
    )
    if order["prepare"] == "binary":
        rows = np.frombuffer(os.urandom(requests * batch * (16 + width)), np.uint8)
        pieces = rows.reshape(requests, -1)
        kind = "application/vnd.rumor.reports"
        bodies = [piece.tobytes() for piece in pieces]
    else:
        kind, bodies = "application/json", []
        for _ in range(requests):
            reports = [
                {
                    "id": base64.b64encode(os.urandom(16)).decode(),
                    "report": base64.b64encode(os.urandom(width)).decode(),
                }
                for _ in range(batch)
            ]
            bodies.append(json.dumps({"question": order["question"], "reports": reports}).encode())
    return [
        f"{head}Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        for body in bodies
    ]


class Sender(asyncio.Protocol):
    """One connection: sends a request when the last one has been answered."""

    def __init__(self, waiting: list[bytes], done: asyncio.Future[None]) -> None:
        self._waiting, self._done = waiting, done
        self._answer = b""
        self.seconds: list[float] = []
        self._start = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self._transport: Any = transport
        self._next()

    def _next(self) -> None:
        if not self._waiting:
            self._transport.close()
            if not self._done.done():
                self._done.set_result(None)
            return
        self._start = time.perf_counter()
        self._transport.write(self._waiting.pop())

    def data_received(self, data: bytes) -> None:
        """Gather the answer; when it is whole, send the next request."""
        self._answer += data
        head, end, body = self._answer.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        if not head.startswith(_FINE):
            self._done.set_exception(RuntimeError(self._answer.decode()))
            self._transport.close()
            return
        self.seconds.append(time.perf_counter() - self._start)
        self._answer = b""
        self._next()

    def connection_lost(self, problem: Exception | None) -> None:
        """Fail, unless everything was sent."""
        if not self._done.done():
            self._done.set_exception(problem or RuntimeError("the connection was closed"))


def _same(sender: Sender) -> Sender:
    return sender


async def go(port: int, connections: int, waiting: list[bytes]) -> tuple[float, float]:
    """Send everything over so many connections; the seconds it took, and the 99th percentile."""
    loop = asyncio.get_running_loop()
    senders, answers = [], []
    start = time.perf_counter()
    async with asyncio.timeout(_MOST_SECONDS):
        for _ in range(connections):
            done = loop.create_future()
            sender = Sender(waiting, done)
            await loop.create_connection(partial(_same, sender), "127.0.0.1", port)
            senders.append(sender)
            answers.append(done)
        await asyncio.gather(*answers)
    elapsed = time.perf_counter() - start
    each = [seconds for sender in senders for seconds in sender.seconds]
    return elapsed, float(np.percentile(each, 99))


def main() -> None:
    import uvloop

    port, waiting = int(sys.argv[1]), []
    for line in sys.stdin:
        order = json.loads(line)
        if "prepare" in order:
            waiting = prepare(order)
            print("ready", flush=True)
        else:
            elapsed, p99 = uvloop.run(go(port, order["go"], waiting))
            print(json.dumps([elapsed, p99]), flush=True)


if __name__ == "__main__":
    main()
