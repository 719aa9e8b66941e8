"""The interface between a `SqlStore` and a database; all databases run the same statements.

A new database is one file with such a class, and its line in `rumor.collector.store.base`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import ClassVar, Generic, Protocol, Self, TypeVar

from rumor.collector.store.base import Outcome, ReportBatch, StoreUnavailableError
from rumor.collector.store.exactly_once import Known
from rumor.collector.store.tables import Run
from rumor.core.errors import InputError
from rumor.core.files import Closable
from rumor.core.reports import Reports

C = TypeVar("C", bound=Closable)


class OneConnection(Generic[C]):
    """One connection, made when it is needed and made anew when it breaks."""

    trouble: ClassVar[type[Exception]]
    """The exception of the database driver."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.open: C | None = None

    def _drop(self) -> None:
        if self.open is not None:
            with suppress(self.trouble):
                self.open.close()
        self.open = None

    def close(self) -> None:
        """End it, when nobody uses it."""
        with self._lock:
            self._drop()


class Repeated(Exception):  # noqa: N818 (not an error)
    """Some ids exist already: the transaction is rolled back, and each id is looked up."""


def split_rows(rows: Reports) -> dict[str, object]:
    """Return rows as parameters of a statement that splits them again."""
    return {"blob": rows.tobytes(), "size": rows.shape[1], "length": rows.size}


class Dialect(Protocol):
    """A database: its connections, its transactions, and moving many rows at once."""

    reads_counts: bool
    """Whether every summary is read when a store is opened, which is quick in a file alone."""

    @classmethod
    def from_url(cls, url: str) -> Self:
        """Return the database that a URL names; nothing is opened yet."""
        ...

    def prepare(self) -> None:
        """Make what is missing, and bring the tables to the newest schema."""
        ...

    def check_tables(self, run: Run) -> None:
        """Raise `StoreDamaged` where the tables themselves are not as they were made."""
        ...

    def not_opened(self, problem: StoreUnavailableError | OSError) -> InputError:
        """Return the sentence for whoever wanted a store that cannot be opened."""
        ...

    def writing(self, *, alone: bool) -> AbstractContextManager[Run]:
        """Return a transaction that becomes durable when the block ends well.

        `alone`: while no other process is between taking a report's number and its commit.
        """
        ...

    def reading(self) -> AbstractContextManager[Run]:
        """Return a transaction that only reads, and does not wait for writers."""
        ...

    def snapshot(self) -> AbstractContextManager[Run]:
        """Return a transaction that only reads, and sees the store at one moment.

        It has a connection of its own: `reading` goes on beside it.
        """
        ...

    def write_new(self, batches: Sequence[ReportBatch], day: int) -> list[Outcome]:
        """Make batches durable in one commit, the quickest way; `Repeated` where that is not open.

        It need not find out what is the matter then: nothing is written, and care is taken.
        """
        ...

    def insert(self, run: Run, question: int, day: int, rows: Reports) -> int:
        """Insert rows (id and report) whose ids are not in use; how many those were."""
        ...

    def insert_spent(self, run: Run, question: int, ids: Reports) -> None:
        """Insert ids without reports."""
        ...

    def known(self, run: Run, ids: Reports) -> Known:
        """Return those of `ids` that are in use."""
        ...

    def fresh(self, run: Run, above: int, upto: int) -> dict[tuple[int, int], bytes]:
        """Return the reports with these numbers by question and day: ids, reports, checksums."""
        ...

    def tidy(self) -> bool:
        """Remove deleted bytes from the files too; return False if some are left."""
        ...

    def tidy_tokens(self, thorough: bool) -> None:
        """Remove the traces of used tokens from the files too."""
        ...

    def close(self) -> None:
        """Let go of files and connections; they are made anew when they are needed."""
        ...
