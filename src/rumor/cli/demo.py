"""`rumor demo`: the whole flow on this machine, in one go."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from rumor.cli.common import ending_cleanly, print_json, progress
from rumor.cli.options import AsJson, count, option

if TYPE_CHECKING:
    from rumor.demo.serving import ServiceDemo

# Devices are real clients with a disk of their own, so a few dozen stand for all.
_SERVED_DEVICES, _SERVED_PEOPLE = 50, 20_000
# Every envelope travels alone.
_RELAYED_PEOPLE = 2_000


People = Annotated[int, count("--people -n N", "How many answer.", min=100, max=10_000_000)]
Out = Annotated[str, option("--out -o FILE", "Where to write the report (.html).")]


def demo(
    people: People = 100_000,
    out: Out = "rumor-demo.html",
    seed: Annotated[int | None, option("--seed N", "Make the demonstration repeatable.")] = None,
    relay: Annotated[bool, option("--relay", "Show a collection through a relay instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the whole system on simulated respondents.

    Simulated people answer, and nobody gets to see what. Shows what one person answered and
    what left their device, what the reports reveal together, and what the privacy amounts
    to; writes the same as a page to keep and pass on. Then does it as a service: a collector
    on this machine, devices that answer it over HTTP, an analyst who asks. In a terminal it
    ends in the browser: the page that people answer on and the analyst's dashboard run until
    Ctrl-C. With --relay, devices, a relay and a collector are three processes, and what each of
    them sees is shown.

    \b
    Example:
      rumor demo --people 100000 --out rumor-demo.html
      rumor demo --relay
    """
    if relay:
        _relayed(people, seed, as_json)
        return
    from rumor.demo.crowd import run
    from rumor.demo.page import write_page

    with progress("answering") as update:
        shown = run(people, seed=seed, on_progress=update)
    page = write_page(shown, out)
    served = _served(people, seed)
    if as_json:
        print_json(
            {
                **shown.to_dict(),
                "page": str(page),
                "service": None if served is None else served.to_dict(),
            }
        )
    else:
        print(shown.text())
        print()
        print(
            "The service is shown too once its packages are there: pip install 'rumor[server]'."
            if served is None
            else served.text()
        )
        print(f"\nThe same as a page: {page}")
        if served is not None and sys.stdin.isatty() and sys.stdout.isatty():
            from rumor.demo.showcase import stay

            stay()


def _relayed(people: int, seed: int | None, as_json: bool) -> None:
    """Run the demonstration with a relay: devices, relay and collector in three processes."""
    try:
        from rumor.demo.relaying import run
    except ImportError as problem:
        from rumor.cli.serve import needs_server

        raise needs_server(problem) from None
    with ending_cleanly(), progress("sealing and sending") as update:
        shown = run(min(people, _RELAYED_PEOPLE), seed=seed, on_progress=update)
    if as_json:
        print_json(shown.to_dict())
    else:
        print(shown.text())


def _served(people: int, seed: int | None) -> ServiceDemo | None:
    """Run the demonstration through a collector; None if the server's packages are missing."""
    from rumor.demo.crowd import SHARES, demo_collection

    try:
        from rumor.demo.serving import run
    except ImportError:
        return None
    crowd = min(people, _SERVED_PEOPLE)
    with progress("sending") as update:
        return run(
            demo_collection(),
            SHARES,
            devices=min(_SERVED_DEVICES, crowd // 10),
            people=crowd,
            seed=seed,
            on_progress=update,
        )
