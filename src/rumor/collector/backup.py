"""A collection out of a store and back into one: Parquet files that stand on their own.

    FOLDER/contract.json                            the contract
    FOLDER/state.json                               format version, whether it was open, and
                                                    how many users it was planned for
    FOLDER/question=ID/day=YYYY-MM-DD/reports.parquet   a reports file, as `rumor estimate` reads
    FOLDER/_counted/ID/YYYY-MM-DD.summary           the summary of a day, or from that day on
    FOLDER/_counted/ID/ids.bin                      ids of deleted reports, 16 bytes each
    FOLDER/_counted/ID/early.bin                    of those, ids of reports that were withdrawn
                                                    before they arrived: 16 bytes, and the day
                                                    (from 1970-01-01) in 4, little-endian
    FOLDER/_counted/ID/spans.json                   which summaries are of several days, and
                                                    which reports are in none any more

Where the contract has groups, reports files have their columns, and `_counted/ID` has a folder of
these files for each combination that has reports, by its number.

The summaries hold what has been counted of reports that are deleted since, and the ids keep
those from being counted again, so that a restored collection goes on exactly where it was.
All of it is read at one moment of the store, so the counts are those of the reports. The folder
appears whole or not at all; a running collector need not be stopped for it. `early.bin` and
`spans.json` are there where they say something; a Rumor that does not know them reads the rest.
"""

from __future__ import annotations

import datetime
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rumor.collector.store.base import (
    ID_BYTES,
    DroppedReports,
    QuestionContents,
    Store,
    StoredCollection,
    StoredReports,
    StoreReader,
    Strata,
    stored_name,
    strata_of,
)
from rumor.contract.collection import Collection, Question
from rumor.contract.groups import Groups
from rumor.contract.report_file import (
    DAMAGE,
    ReportFile,
    ReportWriter,
    damaged_file_error,
    report_bytes,
    write_reports,
)
from rumor.core.checks import checked_size
from rumor.core.errors import InputError, format_value
from rumor.core.exact import PLANNED
from rumor.core.files import OWNER_ONLY, PathLike, sync_folder, write_whole
from rumor.core.reports import Reports
from rumor.mechanisms.summary import Summary

_VERSION = 1
_ROWS = 50_000
_DAY_BYTES = 4
_MAX_USERS = 10**18


@dataclass(frozen=True)
class ExportResult:
    """The counts of an exported collection."""

    collection: Collection
    reports: int
    counted: int


def export_collection(store: Store, digest: str, folder: PathLike) -> ExportResult:
    """Write a collection with all its reports, summaries and ids to a new folder."""
    target = Path(folder)
    if target.exists():
        raise InputError(f"an export must go to a new folder; {str(folder)!r} is there already")
    aside = target.with_name(f".{target.name}.partial")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        store.summarize()
        with store.snapshot() as seen:
            entry = seen.find(digest)
            # Nobody else can look into it, from the first file on.
            aside.mkdir(parents=True, mode=0o700)
            entry.collection.save(aside / "contract.json")
            state = {"rumor export": _VERSION, "open": entry.open, "users": entry.users}
            write_whole(aside / "state.json", json.dumps(state).encode())
            totals = [
                _export_question(seen, entry, question, aside)
                for question in entry.collection.questions
            ]
        for place in aside.rglob("*"):
            place.chmod(0o700 if place.is_dir() else OWNER_ONLY)
            if place.is_dir():
                sync_folder(place)
        aside.rename(target)
        sync_folder(target.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return ExportResult(entry.collection, sum(a for a, _ in totals), sum(b for _, b in totals))


def _export_question(
    store: StoreReader, entry: StoredCollection, question: Question, folder: Path
) -> tuple[int, int]:
    # The mark is that of the snapshot, whatever is read beside it.
    mark, _ = store.day_summaries(entry, question.id)
    exported = 0
    with ExitStack() as stack:
        writer: ReportWriter | None = None
        current: datetime.date | None = None
        for part in store.reports(entry, question.id, mark):
            if writer is None or part.day != current:
                stack.close()
                current = part.day
                place = folder / f"question={question.id}" / f"day={part.day.isoformat()}"
                place.mkdir(parents=True)
                path = place / "reports.parquet"
                writer = stack.enter_context(write_reports(path, entry.collection, question))
            writer.write(
                np.ascontiguousarray(part.reports),
                part.day,
                _groups_of(entry.collection, part),
                ids=np.ascontiguousarray(part.ids),
            )
            exported += len(part.ids)
    total = 0
    for stratum, ids in store.spent_by_stratum(entry, question.id):
        counted = _counted_folder(folder, question, stratum)
        counted.mkdir(parents=True, exist_ok=True)
        with (counted / "ids.bin").open("ab") as file:
            file.write(ids.tobytes())
    for stratum in strata_of(entry.collection):
        counted = _counted_folder(folder, question, stratum)
        total += _export_counted(store, entry, question, stratum, counted)
    return exported, total


def _counted_folder(folder: Path, question: Question, stratum: int | None) -> Path:
    """Return the folder of what was counted of a question, or of one stratum of it."""
    whole = folder / "_counted" / question.id
    return whole if stratum is None else whole / str(stratum)


def _groups_of(collection: Collection, part: StoredReports) -> dict[str, pa.Array]:
    """Return the groups of stored reports as columns of a reports file."""
    if collection.groups is None or part.stratum is None:
        return {}
    groups = collection.groups.of_stratum(part.stratum)
    return {name: pa.repeat(pa.scalar(group), len(part.ids)) for name, group in groups.items()}


def _export_counted(
    store: StoreReader,
    entry: StoredCollection,
    question: Question,
    stratum: int | None,
    counted: Path,
) -> int:
    """Write the counts of a question, or of a stratum that has any; return their reports."""
    strata = None if stratum is None else (stratum,)
    _, days = store.day_summaries(entry, question.id, strata)
    dropped = store.dropped_reports(entry, question.id, strata)
    if stratum is not None and not (days or dropped or counted.exists()):
        return 0
    counted.mkdir(parents=True, exist_ok=True)
    for day, summary in days.items():
        summary.save(counted / f"{day.isoformat()}.summary")
    with (counted / "ids.bin").open("ab") as file:
        os.fsync(file.fileno())
    _export_merged(store, entry, question, strata, counted)
    return sum(summary.reports for summary in days.values())


def _export_merged(
    store: StoreReader,
    entry: StoredCollection,
    question: Question,
    strata: Strata,
    counted: Path,
) -> None:
    early = store.early_withdrawals(entry, question.id)
    if early:
        rows = [id + day.to_bytes(_DAY_BYTES, "little") for id, day in early.items()]
        write_whole(counted / "early.bin", b"".join(rows))
    spans = store.spans(entry, question.id, strata)
    dropped = store.dropped_reports(entry, question.id, strata)
    if spans or dropped:
        found = {
            "spans": {first.isoformat(): last.isoformat() for first, last in spans.items()},
            "dropped": None
            if dropped is None
            else [dropped.first.isoformat(), dropped.last.isoformat(), dropped.reports],
        }
        write_whole(counted / "spans.json", json.dumps(found).encode())


def import_collection(store: Store, folder: PathLike) -> ExportResult:
    """Put an exported collection into a store that does not have it."""
    source = Path(folder)
    try:
        state = json.loads((source / "state.json").read_text())
    except (OSError, ValueError):
        state = None
    if not isinstance(state, dict) or state.get("rumor export") != _VERSION:
        raise InputError(
            f"an import needs a folder that rumor export wrote (version {_VERSION}); "
            f"{str(folder)!r} is not one"
        )
    is_open, users = state.get("open", True), state.get("users", PLANNED)
    if not isinstance(is_open, bool):
        raise InputError(
            f"{source / 'state.json'}: open must be true or false; got {format_value(is_open)}"
        )
    checked_size(f"{source / 'state.json'}: users", users, 1, _MAX_USERS)
    collection = Collection.load(source / "contract.json")
    found = {
        stored_name(question.id, stratum): _QuestionFolder.read(
            source, collection, question, stratum
        )
        for question in collection.questions
        for stratum in strata_of(collection)
    }
    contents = {name: each.contents() for name, each in found.items()}
    store.restore(collection, contents, open=is_open, users=users)
    return ExportResult(
        collection,
        sum(each.reports for each in found.values()),
        sum(each.counted for each in found.values()),
    )


@dataclass(frozen=True)
class _QuestionFolder:
    """One question in an exported folder, checked as far as the file names and headers go."""

    days: dict[datetime.date, Summary]
    files: list[ReportFile]
    counted_in: Path
    groups: Groups | None

    @classmethod
    def read(
        cls, folder: Path, collection: Collection, question: Question, stratum: int | None
    ) -> Self:
        counted = _counted_folder(folder, question, stratum)
        days = {}
        for path in sorted(counted.glob("*.summary")):
            summary = Summary.load(path)
            if (summary.contract, summary.question) != (collection.digest, question.id):
                raise InputError(
                    f"{path}: the summary must be of this collection; it is of another"
                )
            try:
                days[datetime.date.fromisoformat(path.stem)] = summary
            except ValueError:
                raise InputError(f"{path}: a summary must be called by its first day") from None
        # The files hold all strata: they are read with the first.
        place = folder / f"question={question.id}"
        paths = [] if stratum else sorted(place.glob("day=*/*.parquet"))
        files = [ReportFile.open(path) for path in paths]
        for file in files:
            file.require(collection, question)
        return cls(days, files, counted, collection.groups)

    def contents(self) -> QuestionContents:
        spans, dropped = _read_spans(self.counted_in / "spans.json", self.days)
        early = _read_early(self.counted_in / "early.bin")
        ids = _spent(self.counted_in / "ids.bin")
        reports = stored_in(self.files, self.groups)
        return QuestionContents(reports, ids, self.days, spans, dropped, early)

    @property
    def reports(self) -> int:
        return sum(file.footer.num_rows for file in self.files)

    @property
    def counted(self) -> int:
        return sum(summary.reports for summary in self.days.values())


def _read_spans(
    path: Path, days: Mapping[datetime.date, Summary]
) -> tuple[dict[datetime.date, datetime.date], DroppedReports | None]:
    if not path.exists():
        return {}, None
    day = datetime.date.fromisoformat
    try:
        found = json.loads(path.read_text())
        spans = {day(first): day(last) for first, last in found["spans"].items()}
        without = found["dropped"]
        dropped = (
            None
            if without is None
            else DroppedReports(day(without[0]), day(without[1]), without[2])
        )
        whole = all(first in days and first < last for first, last in spans.items())
        if dropped is not None:
            whole &= dropped.first <= dropped.last and isinstance(dropped.reports, int)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        whole = False
    if not whole:
        raise InputError(f"{path}: it must say which summaries are of several days; it does not")
    return spans, dropped


def _read_early(path: Path) -> dict[bytes, int]:
    flat, size = path.read_bytes() if path.exists() else b"", ID_BYTES + _DAY_BYTES
    if len(flat) % size:
        raise InputError(f"{path}: records must have {size} bytes each; the file is cut")
    rows = [flat[at : at + size] for at in range(0, len(flat), size)]
    return {row[:ID_BYTES]: int.from_bytes(row[ID_BYTES:], "little") for row in rows}


def stored_in(files: Sequence[ReportFile], groups: Groups | None = None) -> Iterator[StoredReports]:
    """Yield the reports of files, each part of one day and, with `groups`, of one stratum."""
    names = () if groups is None else groups.names
    for file in files:
        try:
            with pq.ParquetFile(file.path) as parquet:
                for rows in parquet.iter_batches(_ROWS, columns=["id", "report", "day", *names]):
                    for stratum, some in _by_stratum(rows, groups):
                        yield from _by_day(some, stratum)
        except DAMAGE:
            raise damaged_file_error(file.path) from None
        except InputError as problem:
            raise InputError(f"{file.path}: {problem}") from None


def _by_stratum(
    rows: pa.RecordBatch, groups: Groups | None
) -> Iterator[tuple[int | None, pa.RecordBatch]]:
    """Yield the rows of each stratum; whatever a list lacks is "other"."""
    if groups is None:
        yield None, rows
        return
    columns = [rows.column(name).to_pylist() for name in groups.names]
    cells = list(zip(*columns, strict=True))
    named = {cell: dict(zip(groups.names, cell, strict=True)) for cell in set(cells)}
    known = {cell: groups.stratum(given) for cell, given in named.items()}
    strata = np.array([known[cell] for cell in cells], dtype=np.int64)
    for stratum in np.unique(strata).tolist():
        yield stratum, rows.filter(pa.array(strata == stratum))


def _by_day(rows: pa.RecordBatch, stratum: int | None) -> Iterator[StoredReports]:
    import pyarrow.compute as pc

    numbers = rows.column("day").cast(pa.int32())
    for number in pc.unique(numbers).to_pylist():
        try:
            day = datetime.date(1970, 1, 1) + datetime.timedelta(days=number)
        except (OverflowError, TypeError):  # TypeError: there is none
            raise InputError(
                f"the column day must hold days of the years 1 to 9999; got day {number}"
            ) from None
        some = rows.filter(pc.equal(numbers, number))
        ids, reports = (report_bytes(some.column(name)) for name in ("id", "report"))
        yield StoredReports(day, ids, reports, stratum)


def _spent(path: Path) -> Iterator[Reports]:
    if not path.exists():  # a stratum without reports
        return
    with path.open("rb") as file:
        while piece := file.read(ID_BYTES * _ROWS):
            if len(piece) % ID_BYTES:
                raise InputError(f"{path}: ids must have {ID_BYTES} bytes each; the file is cut")
            yield np.frombuffer(piece, dtype=np.uint8).reshape(-1, ID_BYTES)
