"""How much a collector takes: sizes, rates and queues, each with a default that is generous."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from rumor.collector.store.base import MOST_EARLY


@dataclass(frozen=True)
class Limits:
    """Limits on single requests and on all requests together."""

    body_bytes: int = 1 << 20
    """The most bytes of a body, as sent and, where it is compressed, as decompressed."""
    json_reports: int = 1_000
    """The most reports of a JSON body, and the most keys of a withdrawal."""
    binary_reports: int = 10_000
    """The most reports of a binary body."""
    batch_bytes: int = 16 << 20
    """The most bytes of the envelopes that a relay hands over at once."""
    batch_envelopes: int = 5_000
    """The most of those envelopes."""
    head_bytes: int = 1 << 15
    """The most bytes of a request's head: its path, its query and its headers."""
    head_lines: int = 100
    """The most headers of a request."""
    requests_per_second: float = 20_000
    """The most requests with a body that are taken in a second, from everybody together."""
    withdrawals_per_second: float = 100
    """The most of those requests that may be withdrawals, on average over a second."""
    early_withdrawals_per_second: float = 10
    """The most reports that may be withdrawn before they arrive, on average over a second."""
    early_withdrawals_at_once: int = 1_000
    """The most of them that may come at once, after a time without any."""
    early_withdrawals: int = MOST_EARLY
    """The most reports of a collection that may be withdrawn before they arrive from its relay."""
    connections: int = 1_000
    """The most connections that are held at once."""
    unfinished: int = 100
    """The most connections of one address that may wait for the rest of a request."""
    pipelined: int = 16
    """The most requests that one connection may send ahead of their answers."""
    waiting_reports: int = 100_000
    """The most reports that may wait for their commit."""
    seconds_to_ask: float = 10.0
    """The longest time that a request's head may take to arrive."""
    seconds_to_send: float = 30.0
    """The longest time that a body may take to arrive."""
    seconds_to_read: float = 60.0
    """The longest time that a sender may take to read an answer."""
    seconds_idle: float = 15.0
    """The longest time that a connection may be idle between two requests."""


class RateLimiter:
    """A token bucket for everybody together, which no single address can empty for the others.

    When the tokens of a second are used up, an address that has asked for none beyond them is
    still heard once in that second. Addresses are remembered only then, and until the next second.
    """

    def __init__(
        self,
        per_second: float,
        clock: Callable[[], float] = time.monotonic,
        *,
        burst: float | None = None,
    ) -> None:
        """Create a bucket of at most `burst` tokens, by default those of one second."""
        self._rate, self._clock = per_second, clock
        self._most = per_second if burst is None else burst
        self._tokens, self._then = self._most, clock()
        self._second, self._heard = int(self._then), set[str]()

    def take(self, address: str = "") -> bool:
        """Return whether one more request, from `address`, may pass now."""
        now = self._filled()
        if int(now) != self._second:
            self._second, self._heard = int(now), set()
        if self._tokens >= 1:
            self._tokens -= 1
            return True
        if not address or address in self._heard:
            return False
        self._heard.add(address)
        return True

    def take_all(self, count: int) -> float:
        """Take `count` tokens, or none; return 0 or after how many seconds there are as many."""
        self._filled()
        if self._tokens < count:
            return (count - self._tokens) / self._rate
        self._tokens -= count
        return 0.0

    def _filled(self) -> float:
        """Add what has come since the last call; return the time."""
        now = self._clock()
        self._tokens = min(self._most, self._tokens + (now - self._then) * self._rate)
        self._then = now
        return now
