"""`rumor export` and `rumor import`: a collection out of a store, and back into one."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

from rumor.cli.common import ending_cleanly, print_json, warn
from rumor.cli.options import AsJson, argument, option
from rumor.cli.serve import DEFAULT_STORE, StoreUrl, made_store, store_at
from rumor.core.errors import InputError

if TYPE_CHECKING:
    from rumor.collector.backup import ExportResult


Digest = Annotated[str | None, option("--digest HEX", "The collection, if the store has several.")]


Of = Annotated[
    str | None, option("--collection FILE", "The collection of the reports files (.toml, .json).")
]


def export(
    folder: Annotated[str, argument("FOLDER", "The folder to make.")],
    store: StoreUrl = DEFAULT_STORE,
    digest: Digest = None,
    as_json: AsJson = False,
) -> None:
    """Export a collection from a store to Parquet files.

    One for each question and day.

    The folder is a backup (rumor import puts it back, counts and all) and at the same time
    what rumor estimate reads. A running collector need not be stopped for it.

    \b
    Example:
      rumor export backup --store sqlite:///rumor.db
      rumor estimate backup/contract.json backup/question=homepage
    """
    with ending_cleanly(), closing(store_at(store)) as opened:
        from rumor.collector.backup import export_collection

        known = [entry.collection.digest for entry in opened.collections()]
        if digest is None and len(known) != 1:
            raise InputError(
                f"--digest must say which of the store's {len(known)} collections to export; "
                f"got none (rumor collections list)"
            )
        done = export_collection(opened, known[0] if digest is None else digest, folder)
    _say(done, f"to {folder!r}", as_json)


def import_(
    folder: Annotated[
        str,
        argument("FOLDER", "A folder that rumor export wrote; with --collection, reports files."),
    ],
    store: StoreUrl = DEFAULT_STORE,
    collection: Of = None,
    as_json: AsJson = False,
) -> None:
    """Import an exported collection into a store.

    It goes on exactly where it was: reports that are sent again still count once. It appears
    whole or not at all, and collectors of the store may run meanwhile.

    With --collection, reports files (.parquet, or a folder of them) become the reports of that
    collection, which the store must not have yet. Their ids, days and groups stay; kept columns do
    not.

    \b
    Example:
      rumor import backup --store postgresql://rumor@localhost/rumor
      rumor import reports.parquet --collection examples/browser.toml
    """
    from pathlib import Path

    if collection is None and Path(folder).is_file():
        raise InputError(
            f"an import needs a folder that rumor export wrote, or --collection with reports "
            f"files; got {folder!r} alone"
        )
    with ending_cleanly(), made_store(store) as opened:
        if collection is None:
            from rumor.collector.backup import import_collection

            done = import_collection(opened, folder)
        else:
            from rumor.collector.reports_import import import_reports, lost_columns
            from rumor.contract.collection import Collection

            contract = Collection.load(collection)
            done = import_reports(opened, folder, contract)
            if lost := lost_columns(folder, contract):
                warn(f"a store has no place for kept columns: {', '.join(lost)} stayed behind.")
    _say(done, f"from {folder!r}", as_json)


def _say(done: ExportResult, where: str, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "collection": done.collection.digest,
                "reports": done.reports,
                "counted": done.counted,
            }
        )
    else:
        print(
            f"{done.reports:,} reports of {done.collection.name!r} {where} "
            f"({done.counted:,} counted in total)"
        )
