"""`rumor account`: what one person spends, over time, questions and collections."""

from __future__ import annotations

from typing import Annotated

from rumor.cli.common import print_json
from rumor.cli.options import AsJson, ShuffledBatch, argument, count, option

AccountCollections = Annotated[
    list[str], argument("COLLECTION...", "The collections that one respondent answers.")
]

Relay = Annotated[
    bool, option("--relay", "Also state the epsilon of reports that a relay shuffles.")
]


def account(
    collections: AccountCollections,
    days: Annotated[int, count("--days N", "How many days of daily reports.")] = 365,
    changes: Annotated[int, count("--changes R", "How often the answer changes meanwhile.")] = 0,
    *,
    relay: Relay = False,
    crowd: ShuffledBatch,
    as_json: AsJson = False,
) -> None:
    """State the largest total epsilon of one respondent.

    One report; daily reports of one answer, or of one that changes; any number of them; and
    everything that the collections may ever ask, the answers changing every time. Collections
    of one series are revisions and share their limits. With --relay, also the epsilon of shuffled
    reports: of all that one person may send, in one batch or in many, on conditions that are
    stated with it. Where all collections name a relay, the batches are theirs and delta is 1e-8,
    unless --crowd and --delta are given.

    \b
    Examples:
      rumor account examples/words.toml
      rumor account examples/words.toml examples/browser.toml --days 90 --changes 3
      rumor account examples/browser.toml --relay --crowd 1e4 --delta 1e-8
    """
    from rumor.contract.collection import Collection
    from rumor.core.errors import InputError
    from rumor.privacy.account import account as spending
    from rumor.privacy.shuffle.account import relay_account, shuffle_account

    among = crowd.given()
    loaded = [Collection.load(path) for path in collections]
    hidden = None
    if among is not None:
        hidden = shuffle_account(loaded, people=among[0], delta=among[1])
    elif relay:
        hidden = relay_account(loaded)
    if relay != (hidden is not None):
        raise InputError(
            "reports are shuffled only by a relay: --relay goes with --crowd and --delta, or "
            "with collections that name one"
        )
    found = spending(loaded, days=days, changes=changes)
    if as_json:
        print_json({**found.to_dict(), **({} if hidden is None else {"relay": hidden.to_dict()})})
        return
    print(found.table())
    if hidden is not None:
        print(f"\n{hidden.table()}")
