"""A clock and a brake that several processes share: eight bytes each in a small mapped file.

Time stands still unless a test moves it, so that what depends on it (a collector's memory of
its contracts, retention) happens when the test says so. The brake counts a process's
transactions, entered and left, and stops the process at the one that was asked for.
"""

from __future__ import annotations

import datetime
import mmap
import os
import signal
import struct
from pathlib import Path

_SLOTS = 8
_SECONDS, _DAY, _BRAKES, _RELEASES = 0, 1, 2, 7
_LONG = 1_000_000  # so that a clock may go backwards


class Clock:
    """The shared cells."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(8 * _SLOTS))
        with path.open("r+b") as file:
            self._cells = mmap.mmap(file.fileno(), 8 * _SLOTS)
        self.path = path

    def _get(self, slot: int) -> int:
        return int(struct.unpack_from("<q", self._cells, 8 * slot)[0])

    def _set(self, slot: int, value: int) -> None:
        struct.pack_into("<q", self._cells, 8 * slot, value)

    def monotonic(self) -> float:
        """Seconds, for whatever remembers something for a while."""
        return float(self._get(_SECONDS))

    def today(self) -> datetime.date:
        """The day, for whatever keeps something for some days."""
        return datetime.date(2026, 3, 1) + datetime.timedelta(days=self._get(_DAY))

    def releases(self) -> float:
        """The time by which a relay's schedule goes."""
        return float(_LONG + self._get(_RELEASES))

    def move_releases(self, seconds: int) -> None:
        """Move that time, backwards too."""
        self._set(_RELEASES, self._get(_RELEASES) + seconds)

    def pass_seconds(self, seconds: int) -> None:
        self._set(_SECONDS, self._get(_SECONDS) + seconds)

    def pass_days(self, days: int) -> None:
        self._set(_DAY, self._get(_DAY) + days)

    def start_again(self) -> None:
        """The first day, and no brake set."""
        for slot in range(_SLOTS):
            self._set(slot, 0)

    def set_brake(self, brake: int, transactions: int) -> None:
        """Stop a process as it begins or ends its next transaction but so many (0: never)."""
        self._set(_BRAKES + brake, transactions)

    def passing(self, brake: int) -> None:
        """A process is about to begin a transaction, or has just ended one."""
        left = self._get(_BRAKES + brake)
        if left > 0:
            self._set(_BRAKES + brake, left - 1)
            if left == 1:
                os.kill(os.getpid(), signal.SIGSTOP)

    def close(self) -> None:
        self._cells.close()
