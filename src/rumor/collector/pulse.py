"""Whether a store takes writes: found out by a small one, at most once a second."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

from rumor.collector.store.base import StoreUnavailable

_FRESH_SECONDS = 1.0


class Pinged(Protocol):
    """What can be asked."""

    def ping(self) -> object:
        """Write something small, or raise StoreUnavailable."""


class Pulse:
    """What was found out last; whoever asks again within the second hears the same."""

    def __init__(self, store: Pinged) -> None:
        self._store = store
        self._felt, self._well = -1e9, False

    async def well(self) -> bool:
        """Whether the store takes writes."""
        if time.monotonic() - self._felt > _FRESH_SECONDS:
            self._felt = time.monotonic()
            try:
                await asyncio.to_thread(self._store.ping)
                self._well = True
            except StoreUnavailable:
                self._well = False
        return self._well
