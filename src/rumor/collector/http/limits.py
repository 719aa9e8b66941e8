"""How much a collector takes: sizes, rates and queues, each with a default that is generous."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from rumor.collector.store.base import MOST_EARLY


@dataclass(frozen=True)
class Limits:
    """Bounds on what one request and all requests together may ask of a collector."""

    body_bytes: int = 1 << 20
    """The most bytes of a body, as sent and, where it is compressed, as decompressed."""
    json_reports: int = 1_000
    """The most reports of a JSON body."""
    binary_reports: int = 10_000
    """The most reports of a binary body."""
    batch_bytes: int = 16 << 20
    """The most bytes of the envelopes that a relay hands over at once."""
    batch_envelopes: int = 5_000
    """The most of those envelopes."""
    requests_per_second: float = 20_000
    """How many requests are taken, on average over a second, from everybody together."""
    withdrawals_per_second: float = 100
    """How many of those requests may be withdrawals, on average over a second."""
    early_withdrawals: int = MOST_EARLY
    """How many reports of a collection may be withdrawn that have not arrived from its relay."""
    connections: int = 1_000
    """How many connections are held at once."""
    unfinished: int = 100
    """How many of them may wait for the rest of a request, from one address."""
    waiting_reports: int = 100_000
    """How many reports may wait for their commit."""
    seconds_to_send: float = 30.0
    """How long a body may take to arrive."""


class Bucket:
    """A token bucket for everybody together: the collector does not tell senders apart."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = per_second, clock
        self._tokens, self._then = per_second, clock()

    def take(self) -> bool:
        """Whether one more request may pass now."""
        now = self._clock()
        self._tokens = min(self._rate, self._tokens + (now - self._then) * self._rate)
        self._then = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
