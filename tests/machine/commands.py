"""What the machine runs in processes of its own, beside the commands of Rumor's."""

from __future__ import annotations

import datetime
import resource
from collections.abc import Sequence
from contextlib import closing

from rumor.cli import main
from rumor.collector.store.base import open_store


def starved(arguments: Sequence[str], room: int) -> int:
    """A command on a disk where no file may grow past so many bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    return main(arguments)


def expire(store_url: str, today: str) -> int:
    """The housekeeper's work of a new day."""
    with closing(open_store(store_url)) as store:
        store.expire(datetime.date.fromisoformat(today))
    return 0
