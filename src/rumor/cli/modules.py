"""`rumor modules`: the hashes of the client for browsers, and the answer page as one file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

from rumor.cli.common import print_json
from rumor.cli.options import AsJson, option
from rumor.core.errors import InputError
from rumor.core.files import write_whole


def modules(
    import_map: Annotated[
        str | None,
        option(
            "--import-map URL", "Print the import map of a page that loads the modules from URL."
        ),
    ] = None,
    page: Annotated[
        Path | None,
        option("--page FILE", "Write the answer page as one file, and print its SHA-256."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the hashes of the browser client's modules.

    As subresource integrity writes it (sha384). Compare it with what a collector says at
    /client/integrity.json, or pin it: with --import-map, what is printed goes into a page before
    its scripts, and a browser then takes these bytes and no others, of modules that load later
    too. The hashes are those of the version that is installed here.

    With --page, the answer page goes into one file that runs on any origin or from a disk, so
    that no collector can change the code that randomises.

    \b
    Example:
      rumor modules --import-map https://collect.example.org/client
      rumor modules --page rumor-answer.html
    """
    if page is not None:
        if import_map is not None:
            raise InputError("--page and --import-map must not go together: the page has no map")
        _write_page(page, as_json)
        return
    from rumor.client.modules import import_map as mapped
    from rumor.client.modules import integrity

    if import_map is None:
        if as_json:
            print_json(dict(integrity()))
            return
        for name, value in integrity().items():
            print(f"{value}  {name}")
        return
    if not import_map.startswith(("https://", "http://", "/")):
        raise InputError(f"--import-map must be an address or a path; got {import_map!r}")
    print_json(mapped(import_map))


def _write_page(path: Path, as_json: bool) -> None:
    """Write the answer page to `path`, and print its SHA-256 as `sha256sum` does."""
    from rumor.collector.answer_page import answer_file

    content = answer_file()
    write_whole(path, content)
    digest = hashlib.sha256(content).hexdigest()
    if as_json:
        print_json({"page": str(path), "sha256": digest})
    else:
        print(f"{digest}  {path}")
