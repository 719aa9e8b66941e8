"""The browser client as files, and the hashes by which a page pins the modules it loads.

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
"""The folder of the modules, which any site may load to send reports."""


@functools.cache
def integrity() -> Mapping[str, str]:
    """Return the hash of each module, by its path."""
    return {
        path.relative_to(FOLDER).as_posix(): "sha384-"
        + base64.b64encode(hashlib.sha384(path.read_bytes()).digest()).decode()
        for path in sorted(FOLDER.rglob("*.js"))
    }


def import_map(base: str) -> dict[str, dict[str, str]]:
    """Return the import map that holds a browser to these bytes at the address `base`."""
    place = base.rstrip("/")
    return {"integrity": {f"{place}/{name}": value for name, value in integrity().items()}}
