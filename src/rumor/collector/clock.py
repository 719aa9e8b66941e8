"""The wall clock of a collector and of a relay: days, turns and releases are read off it.

Call it as `clock.now()`, so that a test which replaces `now` moves all of them together.
"""

from __future__ import annotations

import time


def now() -> float:
    """Return the seconds since 1970 UTC."""
    return time.time()
