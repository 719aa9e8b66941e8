"""What every SQL store stands on: its tables, transactions, and the collections it knows.

Tables, in every dialect alike:

    collection  number, digest, series, contract (canonical JSON), open
    question    number, collection, id
    report      number, id (unique), question, day, report, checksum; the last three are NULL
                once the report has been deleted and only its id is kept
    summary     question, day, reports, tally (little-endian 64-bit counters), checksum
    mark        number: reports up to this one are in the summaries; checksum
    admission   key, series: one-time tokens that were not used yet

Days are counted from 1970-01-01.
"""

from __future__ import annotations

import abc
import datetime
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from rumor.collector.store.base import Registered, StoreDamaged
from rumor.collector.store.checksums import damaged
from rumor.collector.store.exactly_once import Known
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.core.reports import Reports

Row = tuple[Any, ...]
Run = Callable[..., list[Row]]
"""Run a statement (with ? for each parameter) inside a transaction; the rows it gives."""

_EPOCH = datetime.date(1970, 1, 1)


def day_number(day: datetime.date) -> int:
    """A day as the store counts it."""
    return (day - _EPOCH).days


def day_of(number: int) -> datetime.date:
    """The day with this number."""
    return _EPOCH + datetime.timedelta(days=number)


class SqlBase(abc.ABC):
    """Transactions, bulk movements (both left to the dialect) and collections."""

    def __init__(self) -> None:
        self._contracts: dict[str, Collection] = {}
        self._untidy = False
        self._damage: StoreDamaged | None = None

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Damage that is found once is the answer to everything from then on.

        What is acknowledged must be counted, and a damaged store cannot promise that.
        """
        if self._damage is not None:
            raise StoreDamaged(str(self._damage))
        try:
            yield
        except StoreDamaged as problem:
            self._damage = problem
            raise

    @abc.abstractmethod
    def _writing(self, *, alone: bool = False) -> AbstractContextManager[Run]:
        """A transaction that becomes durable when the block ends well.

        `alone`: while no other process is between taking a report's number and its commit.
        """

    @abc.abstractmethod
    def _reading(self) -> AbstractContextManager[Run]:
        """A transaction that only reads, and does not wait for writers."""

    @abc.abstractmethod
    def _insert(self, run: Run, question: int, day: int, rows: Reports) -> int:
        """Insert rows (id and report) whose ids are not in use; how many those were."""

    @abc.abstractmethod
    def _insert_spent(self, run: Run, question: int, ids: Reports) -> None:
        """Insert ids without reports."""

    @abc.abstractmethod
    def _known(self, run: Run, ids: Reports) -> Known:
        """Those of these ids that are in use."""

    @abc.abstractmethod
    def _fresh(self, run: Run, above: int, upto: int) -> dict[tuple[int, int], bytes]:
        """The reports with these numbers, by question and day: ids, reports and checksums."""

    @abc.abstractmethod
    def _tidy(self) -> None:
        """After a deletion: let the bytes be gone from the files too."""

    @abc.abstractmethod
    def _tidy_tokens(self, thorough: bool) -> None:
        """After tokens were used: let their traces be gone from the files too."""

    def ping(self) -> None:
        """Write something small, durably."""
        with self._writing() as run:
            run("UPDATE mark SET number = number")

    def register(self, collection: Collection, *, revise: bool = False) -> Registered:
        """Make a collection known, or find it known already."""
        with self._writing(alone=True) as run:
            rows = run("SELECT digest FROM collection WHERE series = ?", collection.series)
            digests = [digest for (digest,) in rows]
            if collection.digest not in digests:
                if digests and not revise:
                    raise InputError(
                        f"a store takes another contract of series {collection.series!r} only as "
                        f"a revision (rumor collections revise); got digest "
                        f"{collection.digest[:16]}..., it has {digests[-1][:16]}..."
                    )
                self._add_collection(run, collection)
        return self.find(collection.digest)

    def _add_collection(
        self, run: Run, collection: Collection, *, open: bool = True
    ) -> dict[str, int]:
        """The numbers of its questions, by their ids."""
        (number,) = run(
            "INSERT INTO collection (digest, series, contract, open) VALUES (?, ?, ?, ?)"
            " RETURNING number",
            collection.digest,
            collection.series,
            collection.canonical().decode(),
            int(open),
        )[0]
        insert = "INSERT INTO question (collection, id) VALUES (?, ?) RETURNING number"
        return {
            question.id: run(insert, number, question.id)[0][0] for question in collection.questions
        }

    def registered(self) -> list[Registered]:
        """Every collection, oldest first."""
        with self._reading() as run:
            return self._registered(run)

    def _registered(self, run: Run) -> list[Registered]:
        # One statement sees one moment, whoever deletes a collection meanwhile.
        rows = run(
            "SELECT collection.number, digest, series, open, question.id, question.number"
            " FROM collection LEFT JOIN question ON question.collection = collection.number"
            " ORDER BY collection.number, question.number"
        )
        newest = {row[2]: row[0] for row in rows}
        questions: dict[int, dict[str, int]] = {}
        for number, *_, id, question in rows:
            questions.setdefault(number, {})[id] = question
        known = []
        for number, digest, series, is_open in dict.fromkeys(row[:4] for row in rows):
            contract = self._contracts.get(digest) or self._read_contract(run, digest)
            if contract is None:  # deleted a moment ago
                continue
            if questions[number].keys() != {question.id for question in contract.questions}:
                raise damaged(f"collection {digest[:16]}... has not the questions of its contract")
            current = newest[series] == number
            known.append(Registered(number, contract, bool(is_open), current, questions[number]))
        return known

    def _read_contract(self, run: Run, digest: str) -> Collection | None:
        """A stored contract, which must have the digest that it is stored under."""
        rows = run("SELECT contract FROM collection WHERE digest = ?", digest)
        if not rows:
            return None
        try:
            contract = Collection.from_json(rows[0][0])
        except (InputError, TypeError, UnicodeError):
            contract = None
        if contract is None or contract.digest != digest:
            raise damaged(f"the contract of {str(digest)[:16]}... does not fit its digest")
        self._contracts[digest] = contract
        return contract

    def find(self, digest: str) -> Registered:
        """The collection whose digest begins so."""
        known = self.registered()
        found = [entry for entry in known if entry.collection.digest.startswith(digest)]
        if len(found) != 1 or not digest:
            raise InputError(
                f"a digest must name one of the store's {len(known)} collections; "
                f"got {digest[:64]!r}, which names {len(found) if digest else 'none'}"
            )
        return found[0]

    def close_collection(self, digest: str) -> None:
        """Take no more reports; the ids of deleted reports have done their work."""
        entry = self.find(digest)
        with self._writing(alone=True) as run:
            run("UPDATE collection SET open = 0 WHERE number = ?", entry.number)
            for number in entry.questions.values():
                run("DELETE FROM report WHERE question = ? AND report IS NULL", number)
        self._tidy()

    def delete_collection(self, digest: str) -> None:
        """Delete a collection with all that belongs to it."""
        entry = self.find(digest)
        with self._writing(alone=True) as run:
            run("UPDATE mark SET number = number")  # nobody counts meanwhile
            for number in entry.questions.values():
                run("DELETE FROM report WHERE question = ?", number)
                run("DELETE FROM summary WHERE question = ?", number)
            run("DELETE FROM question WHERE collection = ?", entry.number)
            run("DELETE FROM collection WHERE number = ?", entry.number)
            series = entry.collection.series
            if not run("SELECT 1 FROM collection WHERE series = ?", series):
                run("DELETE FROM admission WHERE series = ?", series)
        self._tidy()
