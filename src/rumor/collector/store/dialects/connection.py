"""What connections to any database share: one is made when it is needed, none is kept broken."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import ClassVar, Generic, TypeVar

from rumor.core.closing import Closable

C = TypeVar("C", bound=Closable)


class OneConnection(Generic[C]):
    """One connection, made when it is needed and made anew when it breaks."""

    trouble: ClassVar[type[Exception]]
    """What its driver raises."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.open: C | None = None

    def _drop(self) -> None:
        if self.open is not None:
            with suppress(self.trouble):
                self.open.close()
        self.open = None

    def close(self) -> None:
        """End it, when nobody uses it."""
        with self._lock:
            self._drop()
