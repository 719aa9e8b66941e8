"""The one store in SQL: every promise in a file beside this one, on whatever database.

What differs between databases is in rumor.collector.store.dialects; the tables are described
in rumor.collector.store.tables.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rumor.collector.store import (
    admission,
    archive,
    contracts,
    expiry,
    ingest,
    issuing,
    repair,
    spans,
    summaries,
    withdrawal,
)
from rumor.collector.store.base import (
    MOST_EARLY,
    BlindedToken,
    CollectionUnknown,
    DroppedReports,
    EarlyWithdrawalsRefused,
    Outcome,
    QuestionContents,
    RepairResult,
    ReportBatch,
    StoredCollection,
    StoredReports,
    StoreUnavailableError,
    Strata,
)
from rumor.collector.store.counts import read_mark, read_summary
from rumor.collector.store.database import Database
from rumor.collector.store.dialects.dialect import Dialect
from rumor.contract.collection import Collection
from rumor.core.exact import PLANNED
from rumor.core.reports import Reports
from rumor.core.types import Days
from rumor.mechanisms.summary import Summary


class SqlReader:
    """The readable side of a SQL store, now or at one moment."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def collections(self) -> list[StoredCollection]:
        """Return every collection, oldest first."""
        with self.database.reading() as run:
            return contracts.read_collections(self.database, run)

    def find(self, digest: str) -> StoredCollection:
        """Return the one collection whose digest begins so."""
        return contracts.find(self.database, digest)

    def summary(
        self,
        registered: StoredCollection,
        question: str,
        window: Days = (None, None),
        strata: Strata = None,
    ) -> Summary:
        """Return the sum over the days of a window."""
        return summaries.summary(self.database, registered, question, window, strata)

    def reports_by_day(
        self, registered: StoredCollection, question: str, strata: Strata = None
    ) -> dict[datetime.date, int]:
        """Return how many reports of each day are counted."""
        return summaries.days(self.database, registered, question, strata)

    def reports_by_stratum(self, registered: StoredCollection, question: str) -> dict[int, int]:
        """Return how many reports of each stratum are counted."""
        return summaries.by_stratum(self.database, registered, question)

    def day_summaries(
        self, registered: StoredCollection, question: str, strata: Strata = None
    ) -> tuple[int, dict[datetime.date, Summary]]:
        """Return the summary of each day, and the mark."""
        return summaries.counted(self.database, registered, question, strata)

    def spans(
        self, registered: StoredCollection, question: str, strata: Strata = None
    ) -> dict[datetime.date, datetime.date]:
        """Return the last day of each summary that is of several days, by its first."""
        return spans.spans(self.database, registered, question, strata)

    def dropped_reports(
        self, registered: StoredCollection, question: str, strata: Strata = None
    ) -> DroppedReports | None:
        """Return the reports that are in no summary any more."""
        return spans.dropped(self.database, registered, question, strata)

    def reports(
        self, registered: StoredCollection, question: str, upto: int | None = None
    ) -> Iterator[StoredReports]:
        """Yield the reports that are still there, day by day."""
        return archive.reports(self.database, registered, question, upto)

    def newest_reports(
        self, registered: StoredCollection, question: str, most: int, strata: Strata = None
    ) -> Reports:
        """Return some of the newest reports that are still there."""
        return archive.newest_reports(self.database, registered, question, most, strata)

    def spent_ids(self, registered: StoredCollection, question: str) -> Iterator[Reports]:
        """Yield the ids of deleted reports."""
        return (ids for _, ids in archive.spent_ids(self.database, registered, question))

    def spent_by_stratum(
        self, registered: StoredCollection, question: str
    ) -> Iterator[tuple[int | None, Reports]]:
        """Yield the ids of deleted reports, those of each stratum apart."""
        return archive.spent_ids(self.database, registered, question)

    def early_withdrawals(self, registered: StoredCollection, question: str) -> dict[bytes, int]:
        """Return the days of withdrawals of reports that have not arrived, by id."""
        return withdrawal.early_days(self.database, registered, question)


class SqlStore(SqlReader):
    """A store in SQL, with the methods of `rumor.collector.store.base.Store`."""

    def __init__(self, dialect: Dialect, *, check: bool = True) -> None:
        """Without `check`, what is in the database may be damaged: for its repair."""
        super().__init__(Database(dialect))
        try:
            dialect.prepare()
            if check:
                self._check_contents()
        except (StoreUnavailableError, OSError) as problem:
            dialect.close()
            raise dialect.not_opened(problem) from None
        except BaseException:
            dialect.close()
            raise

    def _check_contents(self) -> None:
        """Check that tables, contracts, counts and the mark are as they were written."""
        dialect = self.database.dialect
        with self.database.reading() as run:
            dialect.check_tables(run)
            contracts.read_collections(self.database, run)
            read_mark(run)
            if dialect.reads_counts:
                for key in run("SELECT question, day FROM summary"):
                    read_summary(run, *key)
                for (question,) in run(
                    "SELECT question FROM span UNION SELECT question FROM drop_count"
                ):
                    spans.read_lasts(run, question)
                    spans.read_dropped(run, question)

    def ping(self) -> None:
        """Write something small, durably."""
        with self.database.writing() as run:
            run("UPDATE mark SET number = number")

    def close(self) -> None:
        """Let go of files and connections."""
        self.database.dialect.close()

    # Collections

    def register(
        self, collection: Collection, *, revise: bool = False, users: int | None = None
    ) -> StoredCollection:
        """Make a collection known, or find it known already."""
        return contracts.register(self.database, collection, revise=revise, users=users)

    def close_collection(self, digest: str) -> None:
        """Take no more reports of a collection."""
        contracts.close_collection(self.database, digest)

    def delete_collection(self, digest: str) -> None:
        """Delete a collection with all that belongs to it."""
        contracts.delete_collection(self.database, digest)

    # Reports that come in, and the tokens that admit them

    def write(self, batches: Sequence[ReportBatch]) -> list[Outcome]:
        """Make batches durable in one commit."""
        return ingest.write(self.database, batches)

    def admit(self, series: str, keys: Sequence[bytes]) -> None:
        """Keep the keys of tokens."""
        admission.admit(self.database, series, keys)

    def admissions(self, series: str) -> int:
        """Return how many tokens are still to be used."""
        return admission.admissions(self.database, series)

    def invite(self, series: str, people: Sequence[bytes]) -> None:
        """Let people enrol."""
        issuing.invite(self.database, series, people)

    def invited(self, series: str) -> int:
        """Return how many people may enrol."""
        return issuing.invited(self.database, series)

    def issue(
        self, series: str, person: bytes, wanted: Sequence[BlindedToken]
    ) -> tuple[int, ...] | None:
        """Note what is signed for a person."""
        return issuing.issue(self.database, series, person, wanted)

    def forget_tokens(self, *, thorough: bool = False) -> None:
        """Let nothing connect used tokens with their reports."""
        admission.forget_tokens(self.database, thorough=thorough)

    # Counts

    def summarize(self) -> int:
        """Add what is new to the summaries."""
        return summaries.summarize(self.database)

    # Reports that go: past their day, taken back, damaged

    def expire(self, today: datetime.date) -> int:
        """Delete counted reports past their retention."""
        return expiry.expire(self.database, today)

    def withdraw(
        self,
        registered: StoredCollection,
        question: str,
        ids: Reports,
        *,
        most_early: int = MOST_EARLY,
        charge: Callable[[int], float] = lambda count: 0.0,
    ) -> int | CollectionUnknown | EarlyWithdrawalsRefused:
        """Take back those of these reports that are still there."""
        return withdrawal.withdraw(self.database, registered, question, ids, most_early, charge)

    def repair(self) -> RepairResult:
        """Remove what is damaged."""
        return repair.repair(self.database)

    # Backups

    @contextmanager
    def snapshot(self) -> Iterator[SqlReader]:
        """Yield the store's contents at one moment, for as long as the block lasts."""
        with self.database.snapshot() as database:
            yield SqlReader(database)

    def restore(
        self,
        collection: Collection,
        contents: Mapping[str, QuestionContents],
        *,
        open: bool,
        users: int = PLANNED,
    ) -> StoredCollection:
        """Put back a collection in one commit."""
        return archive.restore(self.database, collection, contents, open=open, users=users)
