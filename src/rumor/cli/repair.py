"""`rumor repair`: what can be saved of a damaged store."""

from __future__ import annotations

from contextlib import closing

from rumor.cli.common import ending_cleanly, print_json
from rumor.cli.options import AsJson
from rumor.cli.serve import DEFAULT_STORE, StoreUrl, store_at


def repair(store: StoreUrl = DEFAULT_STORE, as_json: AsJson = False) -> None:
    """Remove the rows of a store whose checksums do not match.

    Stop the collectors and copy the file first. Reports that do not fit are removed (they stay
    counted if they were counted before); days whose counts do not fit are counted anew from the
    reports that are left. A SQLite file whose pages are damaged is recovered by SQLite's own
    shell before that.

    \b
    Example:
      sqlite3 rumor.db .recover | sqlite3 saved.db
      rumor repair --store sqlite:///saved.db
    """
    with ending_cleanly():
        with closing(store_at(store, check=False)) as opened:
            done = opened.repair()
        store_at(store).close()  # as everybody else opens it from now on
    if as_json:
        print_json({"removed": done.removed, "recounted": done.recounted})
    else:
        print(
            f"{done.removed:,} report{'s'[: done.removed != 1]} removed, "
            f"{done.recounted:,} day{'s'[: done.recounted != 1]} counted anew"
        )
