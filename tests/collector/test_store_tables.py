"""What a store writes down, column by column, after each thing that it does.

Two collections of two questions, two days, two people: each operation must change the rows that it
is for, and leave all others as they were. However few rows are handled at a time, the tables end up
the same.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rumor.collector import clock
from rumor.collector.store import archive, expiry, repair, summaries, withdrawal
from rumor.collector.store.base import (
    BatchAccepted,
    BlindedToken,
    CollectionClosed,
    CollectionUnknown,
    EarlyWithdrawalsRefused,
    ReportBatch,
    Store,
    StoredCollection,
    open_store,
)
from rumor.collector.store.checksums import checksum
from rumor.collector.store.sql import SqlStore
from rumor.collector.store.tables import day_number
from rumor.core.errors import InputError
from rumor.core.exact import PLANNED
from rumor.core.randomness import Seeded
from tests.collector.tools import collection, rows
from tests.relay.tools import relayed

MONDAY = datetime.date(2026, 3, 2)
TUESDAY = MONDAY + datetime.timedelta(days=1)
TABLES = {
    "collection": "number",
    "question": "number",
    "report": "number",
    "summary": "question, day",
    "span": "question, day",
    "drop_count": "question",
    "mark": "number",
    "early_withdrawal": "id",
    "admission": "key",
    "invited": "person",
    "issued": "person, key, number",
}
Tables = dict[str, list[dict[str, Any]]]
COLUMNS = {
    "collection": "number, digest, series, contract, open, users",
    "question": "number, collection, id",
    "report": "number, id, question, day, report, checksum",
    "summary": "question, day, reports, tally, checksum",
    "span": "question, day, last, checksum",
    "drop_count": "question, day, last, reports, checksum",
    "mark": "number, checksum",
    "early_withdrawal": "id, question, day",
    "admission": "key, series",
    "invited": "person, series",
    "issued": "person, key, number, message",
}


def tables(store: Store) -> Tables:
    """Everything in a store, by table and column."""
    assert isinstance(store, SqlStore)
    found: Tables = {}
    with store.database.reading() as run:
        for name, columns in COLUMNS.items():
            names = columns.split(", ")
            found[name] = [
                dict(zip(names, map(_plain, row), strict=True))
                for row in run(f"SELECT {columns} FROM {name} ORDER BY {TABLES[name]}")
            ]
    return found


def _plain(cell: Any) -> Any:
    return bytes(cell) if isinstance(cell, (memoryview, bytearray)) else cell


def changed(before: Tables, after: Tables) -> set[str]:
    """Return the names of the tables that are not as they were."""
    return {name for name in before if before[name] != after[name]}


class Life:
    """A store with two collections, and the reports that were sent to it."""

    def __init__(self, store: Store, patch: pytest.MonkeyPatch) -> None:
        self.store, self._patch = store, patch
        self.entries = [
            store.register(collection(retention=5)),
            store.register(collection(series="other", name="Another")),
        ]
        self.sent: dict[tuple[int, str, datetime.date], np.ndarray] = {}

    def on(self, day: datetime.date) -> None:
        """Let it be the middle of a day."""
        noon = datetime.datetime.combine(day, datetime.time(12), datetime.UTC).timestamp()
        self._patch.setattr(clock, "now", lambda: noon)

    def fill(self, count: int = 4) -> None:
        """Send reports to every question of both collections, on two days."""
        for day in (MONDAY, TUESDAY):
            self.on(day)
            for number, entry in enumerate(self.entries):
                for question in ("colour", "many"):
                    made = rows(entry, question, np.arange(count) % 3)
                    self.sent[number, question, day] = made
                    batch = ReportBatch(entry.questions[question], made)
                    assert self.store.write([batch]) == [BatchAccepted(count, 0)]

    def expected_summary(self, leave_out: Collection[bytes] = ()) -> list[dict[str, Any]]:
        """The counts of all reports but some, as the table has them."""
        found = []
        for (number, question, day), made in self.sent.items():
            kept = made[[row[:16].tobytes() not in leave_out for row in made]]
            if not len(kept):
                continue
            entry = self.entries[number]
            mechanism = entry.collection.question(question).mechanism
            counted = mechanism.tally(np.ascontiguousarray(kept[:, 16:]))
            tally = counted.astype("<i8").tobytes()
            numbers = (entry.questions[question], day_number(day), len(kept))
            found.append(
                {
                    **dict(zip(("question", "day", "reports"), numbers, strict=True)),
                    "tally": tally,
                    "checksum": checksum(*numbers, data=tally),
                }
            )
        return sorted(found, key=lambda row: (row["question"], row["day"]))

    def expected_reports(self) -> list[dict[str, Any]]:
        """The rows of all reports: each commit in the order of its ids."""
        found: list[dict[str, Any]] = []
        for (number, question, day), made in self.sent.items():
            of, on = self.entries[number].questions[question], day_number(day)
            for row in sorted(map(bytes, made)):
                found.append(
                    {
                        "number": len(found) + 1, "id": row[:16], "question": of, "day": on,
                        "report": row[16:], "checksum": checksum(of, on, data=row),
                    }
                )  # fmt: skip
        return found


@pytest.fixture
def life(store: Store, monkeypatch: pytest.MonkeyPatch) -> Life:
    return Life(store, monkeypatch)


pytestmark = pytest.mark.one_store


def test_collections_are_registered_once(life: Life) -> None:
    found = tables(life.store)
    assert found["collection"] == [
        {
            "number": entry.number, "digest": entry.collection.digest,
            "series": entry.collection.series,
            "contract": entry.collection.canonical().decode(), "open": 1,
            "users": PLANNED,
        }
        for entry in life.entries
    ]  # fmt: skip
    assert [(row["collection"], row["id"]) for row in found["question"]] == [
        (entry.number, id) for entry in life.entries for id in ("colour", "many")
    ]
    assert found["mark"] == [{"number": 0, "checksum": checksum(0)}]
    for name in TABLES.keys() - {"collection", "question", "mark"}:
        assert found[name] == []
    assert life.store.register(life.entries[0].collection) == life.entries[0]
    assert tables(life.store) == found
    revised = replace(
        collection(retention=5), revision=2, previous=life.entries[0].collection.digest
    )
    with pytest.raises(InputError, match="only as a revision"):
        life.store.register(revised)
    assert tables(life.store) == found
    life.store.register(revised, revise=True)
    states = [entry.state for entry in life.store.collections()]
    assert states == ["superseded", "open", "open"]


def test_reports_are_written_and_counted_once(life: Life) -> None:
    life.fill()
    found = tables(life.store)
    assert found["report"] == life.expected_reports()
    assert found["summary"] == []
    assert life.store.summarize() == 32
    counted = tables(life.store)
    assert changed(found, counted) == {"summary", "mark"}
    assert counted["summary"] == life.expected_summary()
    assert counted["mark"] == [{"number": 32, "checksum": checksum(32)}]
    assert life.store.summarize() == 0
    # What was there before changes nothing, nor does it count again.
    for (number, question, _), made in life.sent.items():
        batch = ReportBatch(life.entries[number].questions[question], made)
        assert life.store.write([batch]) == [BatchAccepted(0, 4)]
    assert life.store.summarize() == 0
    assert tables(life.store) == counted


def test_reports_are_read_back_as_they_came(life: Life) -> None:
    life.fill()
    life.store.summarize()
    for number, entry in enumerate(life.entries):
        for question in ("colour", "many"):
            parts = list(life.store.reports(entry, question))
            assert [part.day for part in parts] == [MONDAY, TUESDAY]
            for part in parts:
                made = sorted(map(bytes, life.sent[number, question, part.day]))
                back = [
                    a.tobytes() + b.tobytes() for a, b in zip(part.ids, part.reports, strict=True)
                ]
                assert back == made
            monday = life.sent[number, question, MONDAY]
            upto = next(row["number"] for row in tables(life.store)["report"]
                        if row["id"] == max(map(bytes, monday))[:16])  # fmt: skip
            only = list(life.store.reports(entry, question, upto))
            assert [(part.day, len(part.ids)) for part in only] == [(MONDAY, 4)]
            newest = life.store.newest_reports(entry, question, 5)
            assert len(newest) == 5
            last = {bytes(row)[16:] for row in life.sent[number, question, TUESDAY]}
            assert {row.tobytes() for row in newest[:4]} <= last
            assert life.store.reports_by_day(entry, question) == {MONDAY: 4, TUESDAY: 4}
            mark, days = life.store.day_summaries(entry, question)
            assert (mark, set(days)) == (32, {MONDAY, TUESDAY})
            later = TUESDAY + datetime.timedelta(days=1)
            windows = {(None, None): 8, (TUESDAY, None): 4, (None, MONDAY): 4,
                       (MONDAY, TUESDAY): 8, (TUESDAY, TUESDAY): 4, (later, None): 0}  # fmt: skip
            for window, reports in windows.items():
                summary = life.store.summary(entry, question, window)
                assert (summary.reports, summary.question) == (reports, question)
                assert summary.contract == entry.collection.digest


def ids_of(*made: np.ndarray) -> np.ndarray:
    return np.concatenate([one[:, :16] for one in made])


def test_a_withdrawal_takes_its_reports_and_no_others(life: Life) -> None:
    life.fill()
    entry = life.entries[0]
    one = life.sent[0, "colour", MONDAY][:2]
    two = life.sent[0, "colour", TUESDAY]
    others = life.sent[1, "colour", MONDAY][:1]
    before = tables(life.store)
    # Those of another collection or question are not there to be taken back.
    assert life.store.withdraw(entry, "many", ids_of(one)) == 0
    assert life.store.withdraw(entry, "colour", ids_of(others)) == 0
    assert tables(life.store) == before
    gone = {row[:16].tobytes() for row in np.concatenate([one, two])}
    assert life.store.withdraw(entry, "colour", ids_of(one, two, one, others)) == 6
    after = tables(life.store)
    assert changed(before, after) == {"report", "summary", "mark"}
    assert after["summary"] == life.expected_summary(gone)
    for row, old in zip(after["report"], before["report"], strict=True):
        if row["id"] in gone:
            spent = {"day": None, "report": None, "checksum": None}
            assert row == {**old, **spent}
        else:
            assert row == old
    assert life.store.withdraw(entry, "colour", ids_of(one, two)) == 0
    assert tables(life.store) == after
    # They do not come back, nor are they counted again.
    batch = ReportBatch(entry.questions["colour"], np.concatenate([one, two]))
    assert life.store.write([batch]) == [BatchAccepted(0, 6)]
    assert life.store.summarize() == 0
    assert tables(life.store) == after
    spent_ids = np.concatenate(list(life.store.spent_ids(entry, "colour")))
    assert {row.tobytes() for row in spent_ids} == gone


def test_retention_ends_on_its_day(life: Life) -> None:
    life.fill()
    life.store.summarize()
    before = tables(life.store)
    last = MONDAY + datetime.timedelta(days=5)
    assert life.store.expire(last) == 0
    assert tables(life.store) == before
    assert life.store.expire(last + datetime.timedelta(days=1)) == 8
    after = tables(life.store)
    mine = set(life.entries[0].questions.values())
    for row, old in zip(after["report"], before["report"], strict=True):
        over = row["question"] in mine and old["day"] == day_number(MONDAY)
        assert row["report"] == (None if over else old["report"])
        assert row["day"] == (None if over else old["day"])
    # Too few to keep their counts: their number is kept alone.
    kept = [
        r for r in before["summary"] if r["question"] not in mine or r["day"] != day_number(MONDAY)
    ]
    assert after["summary"] == kept
    day = day_number(MONDAY)
    assert after["drop_count"] == [
        {"question": number, "day": day, "last": day, "reports": 4,
         "checksum": checksum(number, day, day, 4)}
        for number in sorted(mine)
    ]  # fmt: skip
    assert changed(before, after) == {"report", "summary", "drop_count"}


def test_closing_and_deleting_are_of_one_collection(life: Life) -> None:
    life.fill()
    life.store.summarize()
    first, other = life.entries
    life.store.withdraw(first, "colour", ids_of(life.sent[0, "colour", MONDAY]))
    life.store.withdraw(other, "colour", ids_of(life.sent[1, "colour", MONDAY]))
    for series in ("series", "other"):
        life.store.admit(series, [f"{series} {n}".encode().ljust(32) for n in range(3)])
        person = f"person of {series}".encode().ljust(32)
        life.store.invite(series, [person])
        assert life.store.issue(series, person, [BlindedToken(b"k" * 32, 0, b"m")]) == ()
    before = tables(life.store)
    life.store.close_collection(first.collection.digest)
    closed = tables(life.store)
    assert changed(before, closed) == {"collection", "report"}
    assert [row["open"] for row in closed["collection"]] == [0, 1]
    # Ids of deleted reports have done their work here, and stay there.
    of = first.questions["colour"]
    gone = [row for row in before["report"] if row["question"] == of and row["report"] is None]
    assert len(gone) == 4
    assert closed["report"] == [row for row in before["report"] if row not in gone]
    again = ReportBatch(of, rows(first, "colour", [0]))
    assert life.store.write([again]) == [CollectionClosed()]
    life.store.delete_collection(first.collection.digest)
    after = tables(life.store)
    mine = set(first.questions.values())
    assert after["collection"] == closed["collection"][1:]
    assert after["question"] == closed["question"][2:]
    for name in ("report", "summary"):
        assert after[name] == [row for row in closed[name] if row["question"] not in mine]
        assert after[name]
    for name in ("admission", "invited"):
        assert {row["series"] for row in after[name]} == {"other"}
    assert [row["person"].rstrip() for row in after["issued"]] == [b"person of other"]
    assert after["mark"] == closed["mark"]
    assert life.store.write([again]) == [CollectionUnknown()]
    assert life.store.withdraw(first, "colour", ids_of(again.rows)) == CollectionUnknown()
    assert tables(life.store) == after


def test_tokens_and_people_are_of_their_series(life: Life) -> None:
    store = life.store
    keys = [bytes([n]) * 32 for n in range(4)]
    store.admit("series", keys[:3])
    store.admit("other", keys[3:])
    assert (store.admissions("series"), store.admissions("other")) == (3, 1)
    assert tables(store)["admission"] == [
        {"key": key, "series": "series" if n < 3 else "other"} for n, key in enumerate(keys)
    ]
    store.invite("series", keys[:2])
    assert (store.invited("series"), store.invited("other")) == (2, 0)
    wanted = [BlindedToken(b"k" * 32, number, b"message %d" % number) for number in (1, 0)]
    assert store.issue("other", keys[0], wanted) is None
    assert store.issue("series", keys[2], wanted) is None
    assert tables(store)["issued"] == []
    assert store.issue("series", keys[0], wanted) == ()
    found = tables(store)
    assert found["issued"] == [
        {"person": keys[0], "key": b"k" * 32, "number": one.number, "message": one.name}
        for one in reversed(wanted)
    ]
    assert store.issue("series", keys[0], wanted) == ()
    # Another message for a number that was signed: nothing of the request is noted.
    other = [BlindedToken(b"k" * 32, 2, b"new"), BlindedToken(b"k" * 32, 1, b"another")]
    assert store.issue("series", keys[0], other) == (1,)
    assert tables(store) == found
    assert store.issue("series", keys[1], other) == ()


def test_withdrawals_before_arrival_are_counted_and_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = relayed(crowd=1001)
    entry = store.register(contract)
    life = Life.__new__(Life)
    life._patch = monkeypatch
    life.on(MONDAY)
    made = rows(entry, "colour", [0, 1, 2])
    asked: list[int] = []

    def charge(count: int) -> float:
        asked.append(count)
        return 0.0

    ids = ids_of(made)
    # Exactly as many as there is room for pass, one more does not, and nothing of it is kept.
    assert store.withdraw(
        entry, "colour", ids, most_early=2, charge=charge
    ) == EarlyWithdrawalsRefused(0, 3)
    assert tables(store)["early_withdrawal"] == []
    assert asked == []
    assert store.withdraw(entry, "colour", ids[:2], most_early=2, charge=charge) == 0
    day = day_number(MONDAY)
    kept = sorted(id.tobytes() for id in ids[:2])
    number = entry.questions["colour"]
    assert tables(store)["early_withdrawal"] == [
        {"id": id, "question": number, "day": day} for id in kept
    ]
    assert store.early_withdrawals(entry, "colour") == dict.fromkeys(kept, day)
    assert asked == [2]
    # The same ones again are not new.
    assert store.withdraw(entry, "colour", ids[:2], most_early=2, charge=charge) == 0
    assert asked == [2]
    late = store.withdraw(entry, "colour", ids, most_early=3, charge=lambda count: 7.5)
    assert late == EarlyWithdrawalsRefused(0, 1, 7.5)
    assert len(tables(store)["early_withdrawal"]) == 2
    # When it arrives after all, it is not taken, and its withdrawal is one of a deleted report.
    batches = [ReportBatch(number, made[n : n + 1]) for n in range(3)]
    assert store.write(batches) == [BatchAccepted(0, 1), BatchAccepted(0, 1), BatchAccepted(1, 0)]
    found = tables(store)
    assert found["early_withdrawal"] == []
    assert sum(row["report"] is None for row in found["report"]) == 2
    life.on(MONDAY)
    assert store.withdraw(entry, "many", ids_of(rows(entry, "many", [1]))) == 0
    assert contract.relay is not None
    last = MONDAY + datetime.timedelta(days=contract.relay.days_under_way)
    store.expire(last)
    assert len(tables(store)["early_withdrawal"]) == 1
    store.expire(last + datetime.timedelta(days=1))
    after = tables(store)
    assert after["early_withdrawal"] == []
    assert [row["question"] for row in after["report"]] == [number] * 3


CHUNKED = (archive, expiry, repair, summaries, withdrawal)


def lived(folder: Path, patch: pytest.MonkeyPatch, chunk: int | None) -> Tables:
    """What a store holds after everything was done to it, with so many rows at a time."""
    if chunk is not None:
        for module in CHUNKED:
            patch.setattr(module, "CHUNK", chunk)
    store = open_store(f"sqlite:///{folder / f'{chunk}.db'}")
    life = Life(store, patch)
    seeds = np.random.default_rng(7)

    def row(entry: StoredCollection, question: str, values: Any) -> np.ndarray:
        mechanism = entry.collection.question(question).mechanism.without_labels()
        reports = mechanism.privatize(values, random=Seeded(int(seeds.integers(1 << 30))))
        ids = seeds.integers(0, 256, (len(reports), 16), dtype=np.uint8)
        return np.concatenate([ids, reports], axis=1)

    patch.setattr("tests.collector.test_store_tables.rows", row)
    life.fill(7)
    store.summarize()
    taken = life.sent[0, "colour", TUESDAY][:3]
    assert store.withdraw(life.entries[0], "colour", ids_of(taken)) == 3
    spent = [len(part) for part in store.spent_ids(life.entries[0], "colour")]
    assert sum(spent) == 3
    if chunk is not None:
        assert max(spent) <= chunk
    for number, entry in enumerate(life.entries):
        for question in ("colour", "many"):
            found = sum(len(part.ids) for part in store.reports(entry, question))
            assert found == 14 - 3 * (number == 0 and question == "colour")
    store.expire(MONDAY + datetime.timedelta(days=6))
    assert store.repair().removed == 0
    found_tables = tables(store)
    store.close()
    patch.undo()
    return found_tables


def test_it_does_not_matter_how_many_rows_are_handled_at_a_time(tmp_path: Path) -> None:
    patch = pytest.MonkeyPatch()
    whole = lived(tmp_path, patch, None)
    for chunk in (1, 3, 7, 8):
        assert lived(tmp_path, patch, chunk) == whole


def test_every_table_is_looked_at(store: Store) -> None:
    assert isinstance(store, SqlStore)
    if store.database.dialect.__class__.__name__ != "Sqlite":
        pytest.skip("tables are listed in the words of SQLite")
    with store.database.reading() as run:
        names = run("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        assert {name for (name,) in names} - {"sqlite_sequence"} == set(TABLES)
        for table, columns in COLUMNS.items():
            told = [row[1] for row in run(f"PRAGMA table_info({table})")]
            assert set(told) == set(columns.split(", ")), table
