"""`rumor account`: what one person spends, over time, questions and collections."""

from __future__ import annotations

from typing import Annotated

from rumor.cli.common import print_json
from rumor.cli.options import AsJson, argument, option

AccountCollections = Annotated[
    list[str], argument("COLLECTION...", "The collections one person takes part in.")
]


def account(
    collections: AccountCollections,
    days: Annotated[int, option("--days N", "How many days of daily reports.")] = 365,
    changes: Annotated[int, option("--changes R", "How often the answer changes meanwhile.")] = 0,
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
