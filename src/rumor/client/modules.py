"""The client for browsers as files, and their hashes, by which a page pins what it loads.

A hash is written as subresource integrity writes it (sha384, base64). An import map with them holds
a browser to these bytes for every module, those that are loaded later included.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent / "js"
"""The modules that any site may load, as it may send reports."""


@functools.cache
def integrity() -> Mapping[str, str]:
    """The hash of each module, by its path."""
    return {
        path.relative_to(FOLDER).as_posix(): "sha384-"
        + base64.b64encode(hashlib.sha384(path.read_bytes()).digest()).decode()
        for path in sorted(FOLDER.rglob("*.js"))
    }


def import_map(base: str) -> dict[str, dict[str, str]]:
    """What a page says so that its browser takes these bytes and no others from this address."""
    place = base.rstrip("/")
    return {"integrity": {f"{place}/{name}": value for name, value in integrity().items()}}
