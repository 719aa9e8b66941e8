"""The browser client as files, and the hashes by which a page pins the modules it loads.

The element is one script as well, with all that open collections need: a page that loads it asks
for three files instead of dozens, one after the other.

A hash is written as subresource integrity writes it (sha384, base64). An import map with them holds
a browser to these bytes for every module, those that are loaded later included.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path

from rumor.client.page_script import page_scripts

FOLDER = Path(__file__).parent / "js"
"""The folder of the modules, which any site may load to send reports."""


ELEMENT = ("element.bundle.js", "element.later.js")
"""The scripts of the element: the one that a page loads, and what few collections need."""


@functools.cache
def element_scripts() -> Mapping[str, bytes]:
    """Return the two scripts of the element by name."""
    begun = [
        f"/client/{path.relative_to(FOLDER).as_posix()}"
        for folder in ("kinds", "mechanisms")
        for path in sorted((FOLDER / folder).glob("*.js"))
    ]
    made = page_scripts("/client/element.js", begun, ELEMENT[1], {"/client/": FOLDER})
    return {name: text.encode() for name, text in zip(ELEMENT, made, strict=True)}


@functools.cache
def integrity() -> Mapping[str, str]:
    """Return the hash of each module, and of the element's scripts, by its path."""
    files = {
        path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in FOLDER.rglob("*.js")
    }
    return {
        name: f"sha384-{base64.b64encode(hashlib.sha384(body).digest()).decode()}"
        for name, body in sorted({**files, **element_scripts()}.items())
    }


def import_map(base: str) -> dict[str, dict[str, str]]:
    """Return the import map that holds a browser to these bytes at the address `base`."""
    place = base.rstrip("/")
    return {"integrity": {f"{place}/{name}": value for name, value in integrity().items()}}
