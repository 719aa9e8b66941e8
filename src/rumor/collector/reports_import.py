"""Reports files into a store that does not have their collection yet: ids and days stay.

For reports that `rumor privatize` made, or that came from elsewhere, and shall be served, estimated
and kept like those of devices. Other columns than the contract's groups have no place in a store.
"""

from __future__ import annotations

import datetime

from rumor.collector.backup import ExportResult, stored_in
from rumor.collector.store.base import QuestionContents, Store, stored_name, strata_of
from rumor.contract.collection import Collection, Question
from rumor.contract.report_file import RESERVED_COLUMNS, ReportFile, find_files, group_names
from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.mechanisms.summary import Summary


def import_reports(store: Store, path: PathLike, collection: Collection) -> ExportResult:
    """Put the reports of a file, or of a folder of them, into a store; all of them or none."""
    if any(entry.collection.digest == collection.digest for entry in store.collections()):
        raise InputError(
            "reports files are imported into a store that does not have their collection yet, "
            "since reports that arrive get the day on which they do; this one has it"
        )
    if collection.admission != "open":
        raise InputError(
            f"reports files are imported of collections that are open to everybody; "
            f"got admission {collection.admission!r}"
        )
    files = find_files(path)
    of: dict[str, list[ReportFile]] = {question.id: [] for question in collection.questions}
    for file in files:
        asked = collection.question(file.question if file.question in of else None)
        file.require(collection, asked)
        of[asked.id].append(file)
    contents: dict[str, QuestionContents] = {}
    for question in collection.questions:
        days = _counted(collection, question, of[question.id])
        held = stored_in(of[question.id], collection.groups)
        for stratum in strata_of(collection):
            name = stored_name(question.id, stratum)
            # The files hold all strata: they are read with the first.
            contents[name] = QuestionContents(
                iter(()) if stratum else held, iter(()), days.get(name, {})
            )
    store.restore(collection, contents, open=True)
    reports = sum(file.footer.num_rows for file in files)
    return ExportResult(collection, reports, reports)


def lost_columns(path: PathLike, collection: Collection) -> list[str]:
    """Return the kept columns of reports files, which a store has no place for."""
    kept = (*RESERVED_COLUMNS, *group_names(collection))
    names = (name for file in find_files(path) for name in file.schema.names)
    return sorted({name for name in names if name not in kept})


def _counted(
    collection: Collection, question: Question, files: list[ReportFile]
) -> dict[str, dict[datetime.date, Summary]]:
    """Return the summary of each stored name and day; an invalid report refuses all files."""
    found: dict[str, dict[datetime.date, Summary]] = {}
    for part in stored_in(files, collection.groups):
        empty = Summary.empty(question.mechanism, contract=collection.digest, question=question.id)
        days = found.setdefault(stored_name(question.id, part.stratum), {})
        days[part.day] = days.get(part.day, empty).update(part.reports)
    return found
