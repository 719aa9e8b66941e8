"""`rumor account`: what one person spends, over time, questions and collections."""

from __future__ import annotations

from typing import Annotated

import typer

from rumor.cli.common import AsJson, print_json


def account(
    collections: Annotated[
        list[str],
        typer.Argument(metavar="COLLECTION...", help="The collections one person takes part in."),
    ],
    days: Annotated[
        int, typer.Option("--days", metavar="N", help="How many days of daily reports.")
    ] = 365,
    changes: Annotated[
        int, typer.Option("--changes", metavar="R", help="How often the answer changes meanwhile.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Say what one person spends, at most.

    One report; daily reports of one answer, or of one that changes; any number of them; and
    everything that the collections may ever ask, the answers changing every time. Collections
    of one series are revisions and share their limits.

    \b
    Examples:
      rumor account examples/words.toml
      rumor account examples/words.toml examples/browser.toml --days 90 --changes 3
    """
    from rumor.contract.collection import Collection
    from rumor.privacy.account import account as spending

    found = spending([Collection.load(path) for path in collections], days=days, changes=changes)
    if as_json:
        print_json(found.to_dict())
    else:
        print(found.table())
