"""A folder in memory where there is one: a sync is still a call, and costs nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")


def new_folder(name: str) -> Path:
    """A new folder, to be removed by whoever asked for it."""
    usable = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)
    return Path(tempfile.mkdtemp(prefix=f"rumor-{name}-", dir=_MEMORY if usable else None))


@contextmanager
def quick_folder(name: str) -> Iterator[Path]:
    """A folder for a while."""
    folder = new_folder(name)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
