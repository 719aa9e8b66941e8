"""The ledger of the people in tables: what each has spent in the files of one series.

A device keeps its own ledger. Whoever makes reports of a table keeps one for all its people: a
file beside the reports that has, for each person, the number of reports of each question, with the
loss of one. People are named by a keyed hash (BLAKE2b, 16 bytes), so that the file without its key
says nothing about who they are; the key is a secret file of its own.

The most that a run may spend is written before its reports are, and what it did spend when they
are there: whatever stops a run in between, the ledger never says too little. A run that can be
resumed has an id, under which its charge stays open until it is settled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rumor.contract.person_rows import Counts, People, QuestionCosts
from rumor.core.errors import InputError
from rumor.core.files import OWNER_ONLY, PathLike, held_alone, whole_file, write_whole
from rumor.core.secret import open_secret

_VERSION, _SERIES, _OPEN = b"rumor.people", b"rumor.series", b"rumor.open"
_HASH_BYTES = 16
_PERSON = "person"
_ASSIGN = b"assignment"
# Seconds that a run waits for another to charge the ledger.
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class PersonLedger:
    """The file of what each person of a series spent, and the key of its names."""

    path: Path
    key: bytes
    series: str

    @classmethod
    def open(cls, path: PathLike, series: str) -> Self:
        """Return the ledger at `path`, with the key beside it, which is made where neither is."""
        file = Path(path)
        key = file.with_name(f"{file.name}.key")
        if file.exists() and not key.exists():
            raise InputError(
                f"the ledger {str(file)!r} needs the key by which it names people, {str(key)!r}; "
                f"there is none"
            )
        return cls(file, open_secret(key)[0], series)

    def hash_names(self, people: People) -> pa.Array:
        """Return the keyed hash of each person's name."""
        return pa.array(
            [_keyed(self.key, name.encode()) for name in people.names.to_pylist()],
            pa.binary(_HASH_BYTES),
        )

    def read(self, people: People) -> None:
        """Set the reports that `people` made before, by what this ledger says."""
        people.before.update(self._before(self.hash_names(people)))

    def _before(self, hashes: pa.Array) -> dict[QuestionCosts, NDArray[np.int64]]:
        found = self._table()
        if found is None:
            return {}
        rows = pc.index_in(hashes, value_set=found.column(_PERSON))
        places = pc.fill_null(rows, -1).to_numpy(zero_copy_only=False)
        before = {}
        for name in found.schema.names[1:]:
            counts = np.append(found.column(name).to_numpy(), 0)  # the last one is of strangers
            before[_read_costs(name)] = counts[places].astype(np.int64)
        return before

    def assign(self, people: People, questions: Sequence[str], count: int) -> NDArray[np.bool_]:
        """Return which `count` of `questions` each person is asked: the same in every file."""
        drawn = np.zeros((len(people), len(questions)), dtype=np.bool_)
        for person, name in enumerate(people.names.to_pylist()):
            order = [_keyed(self.key, name.encode(), id.encode()) for id in questions]
            for place in sorted(range(len(questions)), key=order.__getitem__)[:count]:
                drawn[person, place] = True
        return drawn

    @contextmanager
    def charging(self, people: People, most: Counts) -> Iterator[None]:
        """Charge `most` before the block and what `people` made after it; nothing if it fails.

        Another run may charge the ledger meanwhile: what it charged stays. Where it charged these
        people after they were read here, this run is refused, since `most` is by what was read.
        """
        hashes = self.hash_names(people)
        with self._alone():
            self._check_unchanged(hashes, people)
            before = self.path.read_bytes() if self.path.exists() else None
            self._add(hashes, most)
            charged = self.path.read_bytes()
        unspent = {key: -counts for key, counts in most.items()}
        try:
            yield
        except BaseException:
            with self._alone():
                if not self.path.exists() or self.path.read_bytes() != charged:
                    self._add(hashes, unspent)
                elif before is None:
                    self.path.unlink()
                else:
                    write_whole(self.path, before, OWNER_ONLY)
            raise
        made = {key: people.made.get(key, 0) + counts for key, counts in unspent.items()}
        with self._alone():
            self._add(hashes, made)

    def _check_unchanged(self, hashes: pa.Array, people: People) -> None:
        now, read = self._before(hashes), people.before
        if any(np.any(now.get(key, 0) != read.get(key, 0)) for key in {*now, *read}):
            raise InputError(
                f"{self.path}: another run charged some of these people while the table was read; "
                f"run again"
            )

    def is_open(self, run: str) -> bool:
        """Return whether the charge of the run with this id is open."""
        return run in _open_runs(self._table())

    def charge(self, people: People, most: Counts, run: str, *, again: bool = False) -> None:
        """Charge `most` for a `run`, whose charge stays open until `settle`.

        `again` says that the run was charged in a ledger that is lost.
        """
        hashes = self.hash_names(people)
        with self._alone():
            if not again:
                self._check_unchanged(hashes, people)
            self._add(hashes, most, opened=run)

    def settle(self, people: People, most: Counts, made: Counts, run: str) -> None:
        """Put what `people` made in the place of `most`, if the charge of the `run` is open."""
        rest = {key: made.get(key, 0) - counts for key, counts in most.items()}
        hashes = self.hash_names(people)
        with self._alone():
            if self.is_open(run):
                self._add(hashes, rest, settled=run)

    def at(self, place: Path) -> PersonLedger:
        """Return the ledger at another `place` that names people by the same key."""
        return replace(self, path=place)

    def copy_before(self, people: People, place: Path) -> None:
        """Write what `people` made before to a ledger at `place`, which is replaced."""
        place.unlink(missing_ok=True)
        self.at(place)._add(self.hash_names(people), people.before)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep every other process from charging while the block lasts, or until this one ends."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        try:
            with held_alone(lock, _PATIENCE_S):
                yield
        except BlockingIOError:
            raise InputError(f"{self.path}: another run keeps charging it; run again") from None

    def _table(self) -> pa.Table | None:
        """Return the ledger as a table; None where there is none yet."""
        if not self.path.exists():
            return None
        try:
            table = pq.read_table(self.path)
            metadata = table.schema.metadata or {}
            for name in table.schema.names[1:]:
                _read_costs(name)
        except (pa.ArrowException, OSError, ValueError):
            metadata, table = {}, None
        if table is None or metadata.get(_VERSION) != b"1":
            raise InputError(
                f"{self.path}: a ledger of people must be a file that rumor privatize --person "
                f"wrote; this one is damaged or something else"
            )
        if metadata.get(_SERIES, b"").decode() != self.series:
            raise InputError(
                f"{self.path}: a ledger of people belongs to one series; got that of "
                f"{metadata.get(_SERIES, b'').decode('utf-8', 'replace')!r} for {self.series!r}"
            )
        return table

    def _add(
        self,
        hashes: pa.Array,
        made: Counts,
        *,
        opened: str | None = None,
        settled: str | None = None,
    ) -> None:
        """Write the ledger with the reports `made` by the people of `hashes` added to it.

        The charge of the run `opened` is open from now on, and that of `settled` no more.
        """
        table = self._table()
        runs = (_open_runs(table) | {opened}) - {settled, None}
        names = hashes if table is None else _joined(table.column(_PERSON), hashes)
        known = 0 if table is None else len(table)
        columns: dict[str, NDArray[np.int64]] = {}
        if table is not None:
            for name in table.schema.names[1:]:
                columns[name] = np.zeros(len(names), dtype=np.int64)
                columns[name][:known] = table.column(name).to_numpy()
        rows = pc.index_in(hashes, value_set=names).to_numpy()
        for key, counts in made.items():
            whole = columns.setdefault(_write_costs(key), np.zeros(len(names), dtype=np.int64))
            whole[rows] += counts
        saved = pa.table({_PERSON: names, **columns})
        metadata = {_VERSION: b"1", _SERIES: self.series.encode()}
        if runs:
            metadata[_OPEN] = " ".join(sorted(map(str, runs))).encode()
        saved = saved.replace_schema_metadata(metadata)
        with whole_file(self.path, OWNER_ONLY) as aside:
            pq.write_table(saved, aside)


def _keyed(key: bytes, name: bytes, question: bytes | None = None) -> bytes:
    what = b"" if question is None else _ASSIGN
    made = hashlib.blake2b(name, key=key, digest_size=_HASH_BYTES, person=what)
    if question is not None:
        made.update(b"\x00" + question)
    return made.digest()


def _open_runs(table: pa.Table | None) -> set[str | None]:
    """Return the ids of the runs whose charges are open."""
    metadata = {} if table is None else table.schema.metadata or {}
    return set(metadata.get(_OPEN, b"").decode().split())


def _joined(known: pa.ChunkedArray, hashes: pa.Array) -> pa.Array:
    """Return the hashes that are known, then those that are not."""
    some = known.combine_chunks()
    if isinstance(some, pa.ChunkedArray):
        some = pa.concat_arrays(some.chunks) if some.num_chunks else hashes.slice(0, 0)
    fresh = hashes.filter(pc.invert(pc.is_in(hashes, value_set=some)))
    return pa.concat_arrays([some, fresh])


def _write_costs(key: QuestionCosts) -> str:
    id, turn, epsilon = key
    return f"{id} {turn} {epsilon.hex()}"


def _read_costs(name: str) -> QuestionCosts:
    id, turn, epsilon = name.split(" ")
    return id, int(turn), float.fromhex(epsilon)
