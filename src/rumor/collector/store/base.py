"""Where reports are kept: what every store promises, and the few words it speaks.

A store holds collections (each a contract, open or closed), the reports of their questions
and the summaries of them. Its promises:

- *Durable*: when `write` returns, what it accepted survives any crash.
- *Exactly once*: a report is named by its 16-byte id. The same id and bytes again is a
  duplicate and counts once; the same id with other bytes is refused, and with it the whole
  batch that held it. Ids are kept while the collection accepts reports, even when the
  reports themselves have been deleted; where a token names its report, while any collection
  of the series accepts tokens of its key.
- *Admitted once*: where a collection asks for tokens, the commit that takes a report deletes
  the key of its token; nothing says which report it was for. Sending the same report again
  needs no second token.
- *No clock*: of the time a row has the day; the rows of a commit are ordered by their ids,
  which are random, so their order says nothing about who came first.
- *Counted once*: `summarize` adds what is new to the stored summaries and moves on, so that
  an estimate never reads a report again.
- *Restored whole*: what an export held appears in one commit, open or closed as it was, or
  not at all, whoever else uses the store meanwhile.
- *Withdrawn*: a person's report that is still there leaves the reports and the counts
  together.
- *Intact*: reports and summaries carry checksums, and what does not fit its own is never
  counted, estimated from or handed out: `StoreDamaged` says so.
"""

from __future__ import annotations

import datetime
import hashlib
import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rumor.collector import clock
from rumor.contract.collection import Collection, Question
from rumor.core.errors import DamagedError, InputError, UnavailableError, format_value
from rumor.core.exact import PLANNED
from rumor.core.files import new_file
from rumor.core.reports import Reports
from rumor.core.types import Days
from rumor.mechanisms.summary import Summary

ID_BYTES = 16
MOST_EARLY = 100_000
"""How many reports of a collection may be withdrawn that have not arrived from a relay."""


class StoreUnavailableError(UnavailableError):
    """The store cannot write or read just now (disk full, database gone); try again later."""


class StoreDamagedError(StoreUnavailableError, DamagedError):
    """The store has contents that do not fit their checksums; the message names the repair."""


Strata = Sequence[int] | None
"""Numbers of strata of a contract with groups; None for all of them."""


def stored_name(question: str, stratum: int | None = None) -> str:
    """Return the name of a question in a store, which has one for each stratum of groups."""
    return question if stratum is None else f"{question}/{stratum}"


def strata_of(collection: Collection) -> Sequence[int | None]:
    """Return the strata of a collection's groups, or None alone without groups."""
    return (None,) if collection.groups is None else range(collection.groups.strata)


def stored_questions(collection: Collection) -> dict[str, Question]:
    """Return the questions of `collection` by their names in a store."""
    return {
        stored_name(question.id, stratum): question
        for question in collection.questions
        for stratum in strata_of(collection)
    }


@dataclass(frozen=True)
class StoredCollection:
    """A collection that a store knows: its contract, and whether it takes reports."""

    number: int
    collection: Collection
    open: bool
    current: bool
    """Whether it is the newest revision of its series."""
    questions: dict[str, int]
    """The store's number for each question by `stored_name`; with groups, for each stratum."""
    users: int = PLANNED
    """The number of reports that intervals for any look are planned for, fixed by the first."""

    @property
    def state(self) -> str:
        """Its state in a word."""
        if not self.open:
            return "closed"
        return "open" if self.current else "superseded"

    def numbers(self, question: str, strata: Strata = None) -> dict[int, int | None]:
        """Return the stratum (None without groups) of each of a question's numbers in the store."""
        wanted = strata_of(self.collection) if strata is None else strata
        return {self.questions[stored_name(question, stratum)]: stratum for stratum in wanted}


@dataclass(frozen=True)
class ReportBatch:
    """Reports of one question that are stored together or not at all: rows of id and report."""

    question: int
    rows: Reports
    admission: bytes | None = None
    """The key of a one-time token, where the collection asks for one."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class BlindedToken:
    """A token to be signed: the key, its number, and the blinded message."""

    key: bytes
    number: int
    blinded: bytes

    @property
    def name(self) -> bytes:
        """Return the hash of the message, which the store keeps instead of the message."""
        return hashlib.sha256(self.blinded).digest()


@dataclass(frozen=True)
class BatchAccepted:
    """The outcome of a stored batch: its new reports, and those that were there before."""

    new: int
    duplicates: int


@dataclass(frozen=True)
class IdConflict:
    """A batch is refused: some of its ids were used with other bytes."""

    indices: tuple[int, ...]


@dataclass(frozen=True)
class CollectionClosed:
    """A batch is refused: its collection takes no more reports."""


@dataclass(frozen=True)
class CollectionUnknown:
    """A batch is refused: its collection is not in the store now, but may be restored."""


@dataclass(frozen=True)
class TokenRefused:
    """A batch is refused: its token is not known, or has been used."""


@dataclass(frozen=True)
class EarlyWithdrawalsRefused:
    """A withdrawal is refused: some reports have not arrived, and their ids cannot be kept."""

    withdrawn: int
    """How many others were there, and are withdrawn."""
    missing: int
    """How many have not arrived."""
    seconds: float = 0.0
    """After how many seconds they can be kept; 0 where there is no room for them."""


Outcome = BatchAccepted | IdConflict | CollectionClosed | CollectionUnknown | TokenRefused


@dataclass(frozen=True)
class StoredReports:
    """Some reports of one question, one day and one stratum, with their ids."""

    day: datetime.date
    ids: Reports
    reports: Reports
    stratum: int | None = None
    """The groups of the reports, where the contract has groups."""


@dataclass(frozen=True)
class DroppedReports:
    """Reports past their retention that were too few to keep their counts: days and number."""

    first: datetime.date
    last: datetime.date
    reports: int


@dataclass(frozen=True)
class QuestionContents:
    """The stored contents of one question, or of one stratum, as an export has them."""

    reports: Iterator[StoredReports]
    """The reports, which may be of several strata."""
    spent_ids: Iterator[Reports]
    """Ids of reports that were deleted after they had been counted."""
    days: Mapping[datetime.date, Summary]
    """By day, or by the first of several."""
    spans: Mapping[datetime.date, datetime.date] = field(default_factory=dict)
    """The last day of each summary that is of several, by its first."""
    dropped: DroppedReports | None = None
    early: Mapping[bytes, int] = field(default_factory=dict)
    """On which day (from 1970-01-01) reports were withdrawn that had not arrived, by id."""


@dataclass(frozen=True)
class RepairResult:
    """The losses of a repair."""

    removed: int
    """Reports that did not fit their checksums, or any question."""
    recounted: int
    """Days whose counts were made anew."""


class StoreReader(Protocol):
    """The readable side of a store: collections, their reports and their summaries."""

    def collections(self) -> list[StoredCollection]:
        """Return every collection, oldest first."""
        ...

    def find(self, digest: str) -> StoredCollection:
        """Return the one collection whose digest begins so."""
        ...

    # What is read of a question may be of some `strata` of the contract's groups alone.

    def summary(
        self,
        registered: StoredCollection,
        question: str,
        window: Days = ...,
        strata: Strata = ...,
    ) -> Summary:
        """Return the summary of a question as counted so far, over the days of a window."""
        ...

    def reports_by_day(
        self, registered: StoredCollection, question: str, strata: Strata = ...
    ) -> dict[datetime.date, int]:
        """Return how many reports of each day are counted so far, the first day first."""
        ...

    def reports_by_stratum(self, registered: StoredCollection, question: str) -> dict[int, int]:
        """Return how many reports of each stratum are counted so far."""
        ...

    def day_summaries(
        self, registered: StoredCollection, question: str, strata: Strata = ...
    ) -> tuple[int, dict[datetime.date, Summary]]:
        """Return the summary of each day, and the number of the last report that is in them."""
        ...

    def spans(
        self, registered: StoredCollection, question: str, strata: Strata = ...
    ) -> dict[datetime.date, datetime.date]:
        """Return the last day of each summary that is of several days, by its first.

        Days past retention are merged until they hold enough reports together, and those of
        several strata where they overlap.
        """
        ...

    def dropped_reports(
        self, registered: StoredCollection, question: str, strata: Strata = ...
    ) -> DroppedReports | None:
        """Return the reports past retention that were too few to keep their counts."""
        ...

    def reports(
        self, registered: StoredCollection, question: str, upto: int | None = None
    ) -> Iterator[StoredReports]:
        """Yield the reports that are still there (up to a number), day by day, some at a time."""
        ...

    def newest_reports(
        self, registered: StoredCollection, question: str, most: int, strata: Strata = ...
    ) -> Reports:
        """Return some of the newest reports that are still there, without their ids."""
        ...

    def spent_by_stratum(
        self, registered: StoredCollection, question: str
    ) -> Iterator[tuple[int | None, Reports]]:
        """Yield the ids of deleted reports, those of each stratum (None without groups) apart."""
        ...

    def spent_ids(self, registered: StoredCollection, question: str) -> Iterator[Reports]:
        """Yield the ids of reports that were deleted after they had been counted."""
        ...

    def early_withdrawals(self, registered: StoredCollection, question: str) -> dict[bytes, int]:
        """Return the day (from 1970-01-01) of withdrawals whose report has not arrived, by id."""
        ...


class Store(StoreReader, Protocol):
    """Collections, their reports and the summaries of them."""

    def snapshot(self) -> AbstractContextManager[StoreReader]:
        """Yield the store's contents at one moment, for as long as the block lasts."""
        ...

    def register(
        self, collection: Collection, *, revise: bool = ..., users: int | None = ...
    ) -> StoredCollection:
        """Make a collection known, or find it known already.

        Another contract of the same series is taken only as a revision of it, said so.
        """
        ...

    def close_collection(self, digest: str) -> None:
        """Take no more reports of this collection, and forget the ids of deleted ones.

        Except where another collection of the series takes tokens of the same key: those ids are
        forgotten when the last such collection is closed.
        """
        ...

    def delete_collection(self, digest: str) -> None:
        """Delete a collection with its reports, ids and summaries."""
        ...

    def write(self, batches: Sequence[ReportBatch]) -> list[Outcome]:
        """Make batches durable in one commit; what became of each, in their order."""
        ...

    def admit(self, series: str, keys: Sequence[bytes]) -> None:
        """Keep the keys of tokens; each admits one report, and is deleted with it."""
        ...

    def admissions(self, series: str) -> int:
        """Return how many tokens of a series are still to be used."""
        ...

    def invite(self, series: str, people: Sequence[bytes]) -> None:
        """Let people enrol with the issuer, whose store this is."""
        ...

    def invited(self, series: str) -> int:
        """Return how many people of a series may enrol."""
        ...

    def issue(
        self, series: str, person: bytes, wanted: Sequence[BlindedToken]
    ) -> tuple[int, ...] | None:
        """Note durably that tokens are signed for a person: all (and give none back), or none.

        Gives the indices of those whose number was signed for with another message, or None
        where the person is not invited.
        """
        ...

    def forget_tokens(self, *, thorough: bool = ...) -> None:
        """Let nothing in the store's own files connect used tokens with their reports.

        A commit leaves traces of what it deleted beside what it wrote, withdrawn reports among
        it; thoroughly takes longer.
        """
        ...

    def summarize(self) -> int:
        """Add reports that are not counted yet to the summaries; how many there were."""
        ...

    def expire(self, today: datetime.date) -> int:
        """Delete reports that are past their question's retention; how many there were.

        They have been counted before; their ids stay, and so do their counts where there are
        enough reports (rumor.collector.store.spans).
        """
        ...

    def restore(
        self,
        collection: Collection,
        contents: Mapping[str, QuestionContents],
        *,
        open: bool,
        users: int = ...,
    ) -> StoredCollection:
        """Put back a collection that the store does not have, by stored name, in one commit."""
        ...

    def withdraw(
        self,
        registered: StoredCollection,
        question: str,
        ids: Reports,
        *,
        most_early: int = ...,
        charge: Callable[[int], float] = ...,
    ) -> int | CollectionUnknown | EarlyWithdrawalsRefused:
        """Delete reports from the store and the counts; how many of them were still there.

        Their ids stay while the collection takes reports, so that none comes back. Where a relay
        may still have some, so do the ids of reports that are not there: for as long as such a
        report may come, and at most `most_early` of a collection. `charge` is told how many are
        new, and returns after how many seconds they may come: 0 for now.
        """
        ...

    def repair(self) -> RepairResult:
        """Remove what does not fit its checksum: the store is intact afterwards.

        Not what a contract says: a collection whose contract is damaged cannot be repaired.
        """
        ...

    def ping(self) -> None:
        """Return if the store can be written to now; else raise `StoreUnavailableError`."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


# Which dialect a URL means: one line for each, loaded when it is asked for.
_DIALECTS = {
    r"sqlite:///.+": "rumor.collector.store.dialects.sqlite:Sqlite",
    r"postgres(ql)?://.*": "rumor.collector.store.dialects.postgres:Postgres",
}


def open_store(url: str, *, check: bool = True) -> Store:
    """Return the store at a URL: sqlite:///path (three slashes, relative) or postgresql://...

    Its contents are checked first, as far as that is quick, unless it is to be repaired.
    """
    for form, place in _DIALECTS.items():
        if re.fullmatch(form, url, re.DOTALL):
            from rumor.collector.store.sql import SqlStore

            module, _, name = place.partition(":")
            dialect = getattr(importlib.import_module(module), name)
            return SqlStore(dialect.from_url(url), check=check)
    raise InputError(
        "a store must be sqlite:///FILE or postgresql://USER@HOST/DATABASE; "
        f"got {format_value(_without_password(url))}"
    )


@contextmanager
def filled_store(url: str) -> Iterator[Store]:
    """Yield the store at a URL, to be filled by the block and closed.

    A SQLite file that does not exist yet appears when the block has ended well, and not at all
    when it fails or is killed.
    """
    path = Path(url.removeprefix("sqlite:///"))
    if not url.startswith("sqlite:///") or len(url) == len("sqlite:///") or path.exists():
        with closing(open_store(url)) as store:
            yield store
        return
    aside = path
    try:
        with new_file(path) as aside, closing(open_store(f"sqlite:///{aside}")) as store:
            yield store
    except InputError as problem:
        raise InputError(str(problem).replace(aside.name, path.name)) from None
    except FileExistsError:
        raise InputError(
            f"a new store must be made once; another process has made {str(path)!r} meanwhile"
        ) from None


def _without_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}...@{rest.rpartition('@')[2]}" if "@" in rest else url


def today() -> datetime.date:
    """Return the day in UTC: all that is ever kept of the time."""
    return datetime.datetime.fromtimestamp(clock.now(), datetime.UTC).date()


def sorted_by_id(rows: Reports) -> Reports:
    """Return rows in the order of their ids.

    Ids are random, so this is a shuffle that needs no randomness; and several collectors
    that write the same ids at once take their locks in the same order.
    """
    words = np.ascontiguousarray(rows[:, :ID_BYTES]).view(">u8")
    order: NDArray[np.intp] = np.lexsort((words[:, 1], words[:, 0]))
    return np.ascontiguousarray(rows[order])
