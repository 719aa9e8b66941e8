"""`rumor demo`: the whole flow on this machine, in one go."""

from __future__ import annotations

from typing import Annotated

import typer

from rumor.cli.common import AsJson, print_json, progress


def demo(
    people: Annotated[
        int,
        typer.Option(
            "--people", "-n", min=100, max=10_000_000, metavar="N", help="How many answer."
        ),
    ] = 100_000,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Where to write the report (.html).")
    ] = "rumor-demo.html",
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Make the demonstration repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """See the whole flow: a crowd, a sensitive question, no answers.

    Simulated people answer, and nobody gets to see what. Shows what one person answered and
    what left their device, what the reports reveal together, and what the privacy amounts
    to; writes the same as a page to keep and pass on.

    \b
    Example:
      rumor demo --people 100000 --out rumor-demo.html
    """
    from rumor.demo import run
    from rumor.page import write_page

    with progress("answering") as update:
        shown = run(people, seed=seed, on_progress=update)
    page = write_page(shown, out)
    if as_json:
        print_json({**shown.to_dict(), "page": str(page)})
    else:
        print(shown.text())
        print(f"\nThe same as a page: {page}")
