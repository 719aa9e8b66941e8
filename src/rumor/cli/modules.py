"""`rumor modules`: the hashes of the client for browsers."""

from __future__ import annotations

from typing import Annotated

from rumor.cli.common import print_json
from rumor.cli.options import AsJson, option
from rumor.core.errors import InputError


def modules(
    import_map: Annotated[
        str | None,
        option(
            "--import-map URL", "Print the import map of a page that loads the modules from URL."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the hashes of the browser client's modules.

    As subresource integrity writes it (sha384). Compare it with what a collector says at
    /client/integrity.json, or pin it: with --import-map, what is printed goes into a page before
    its scripts, and a browser then takes these bytes and no others, of modules that load later
    too. The hashes are those of the version that is installed here.

    \b
    Example:
      rumor modules --import-map https://collect.example.org/client
    """
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
