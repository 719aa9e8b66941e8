"""A database under watch: what every part of a SQL store works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rumor.collector.store.base import StoreDamagedError
from rumor.collector.store.dialects.dialect import Dialect
from rumor.collector.store.tables import Run
from rumor.contract.collection import Collection


class Database:
    """A dialect's transactions, with the caches of one process."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.contracts: dict[str, Collection] = {}
        """Contracts that were read and checked, by digest: a digest has one contract for ever."""
        self.untidy = False
        """Whether a commit since the last tidying deleted what must leave no trace."""
        self._damage: StoreDamagedError | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Remember damage, so that every later call is answered with it too.

        What is acknowledged must be counted, and a damaged store cannot promise that.
        """
        if self._damage is not None:
            raise StoreDamagedError(str(self._damage))
        try:
            yield
        except StoreDamagedError as problem:
            self._damage = problem
            raise

    @contextmanager
    def writing(self, *, alone: bool = False) -> Iterator[Run]:
        """Yield the dialect's transaction, and remember damage."""
        with self.watched(), self.dialect.writing(alone=alone) as run:
            yield run

    @contextmanager
    def reading(self) -> Iterator[Run]:
        """Yield the dialect's transaction, and remember damage."""
        with self.watched(), self.dialect.reading() as run:
            yield run

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Yield the database as it is now, for as long as the block lasts."""
        with self.watched(), self.dialect.snapshot() as run:
            yield Snapshot(self, run)


class Snapshot(Database):
    """A database at one moment: every reading is a part of one transaction."""

    def __init__(self, database: Database, run: Run) -> None:
        super().__init__(database.dialect)
        self.contracts, self._run = database.contracts, run

    @contextmanager
    def reading(self) -> Iterator[Run]:
        """Yield the dialect's transaction, and remember damage."""
        yield self._run
