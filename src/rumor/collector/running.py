"""What runs behind a service while it is up."""

from __future__ import annotations

import asyncio
from typing import Any

from rumor.collector.group_commit import Writer
from rumor.collector.turns import Turns
from rumor.core.closing import Closable


class Running:
    """A writer to a store, and what takes its turn there: both end before the store closes."""

    store: Closable
    _writer: Writer[Any, Any] | None = None
    _turns: Turns | None = None

    async def stop(self) -> None:
        """Write what is waiting and let go."""
        if self._writer is not None:
            await self._writer.stop()
        if self._turns is not None:
            await asyncio.to_thread(self._turns.stop)
        await asyncio.to_thread(self.store.close)
