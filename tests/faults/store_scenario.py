"""A fixed piece of a store's life, which is struck at one of its writes, and what must hold.

It begins with a store of an older schema and goes through everything that writes: migration,
registration, reports, repeats, what an issuer signed, tokens, counting, expiry, withdrawal, backup,
deletion, restoring.
Whoever is refused tries again, as devices and operators do.
"""

from __future__ import annotations

import datetime
import random
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

from rumor.collector.backup import export_collection, import_collection
from rumor.collector.store import ingest
from rumor.collector.store.base import (
    BatchAccepted,
    BlindedToken,
    ReportBatch,
    Store,
    StoredCollection,
    open_store,
)
from rumor.contract.collection import Collection
from rumor.core.errors import InputError, UnavailableError
from rumor.core.reports import Reports
from tests.faults import shim
from tests.machine.books import Kept, check_counts, look
from tests.machine.contracts import INVITED, QUESTIONS, SERIES, contracts

DAYS = (datetime.date(2026, 3, 1), datetime.date(2026, 3, 20))
MAIN, SIDE = contracts()[0], contracts()[1]
_TRIES = 3
_PERSON = b"p" * 32


@dataclass(frozen=True, eq=False)
class Sent:
    """A batch of the scenario."""

    name: str
    contract: Collection
    question: str
    rows: Reports
    day: int
    key: bytes | None = None


def _rows(contract: Collection, question: str, count: int, seed: int) -> Reports:
    """Valid reports, the same in every process."""
    chance = random.Random(seed)
    mechanism = contract.question(question).mechanism
    rows = []
    for _ in range(count):
        report = [chance.randrange(3)] if question == "colour" else [chance.randrange(64)] * 4
        rows.append([*chance.randbytes(16), *report])
    found = np.array(rows, dtype=np.uint8)
    assert mechanism.validate(np.ascontiguousarray(found[:, 16:])).all
    return found


def batches() -> dict[str, Sent]:
    """Everything that is ever sent."""
    invited = contracts()[INVITED]
    made = [
        Sent("old", MAIN, "colour", _rows(MAIN, "colour", 3, 1), 0),
        Sent("side", SIDE, "colour", _rows(SIDE, "colour", 4, 2), 0),
        Sent("side-many", SIDE, "many", _rows(SIDE, "many", 2, 3), 0),
        Sent("first", MAIN, "many", _rows(MAIN, "many", 3, 4), 0),
        Sent("token", invited, "colour", _rows(invited, "colour", 1, 5), 0, b"k" * 32),
        Sent("late", MAIN, "colour", _rows(MAIN, "colour", 2, 6), 1),
        Sent("taken", MAIN, "many", _rows(MAIN, "many", 2, 8), 1),
        Sent("last", MAIN, "many", _rows(MAIN, "many", 2, 7), 1),
    ]
    return {each.name: each for each in made}


def prepare(folder: Path) -> None:
    """A store of the schema before checksums, with one batch in it."""
    from tests.machine.rewind import rewind

    url = f"sqlite:///{folder / 'store.db'}"
    store = open_store(url)
    store.register(MAIN)
    _write(store, batches()["old"])
    store.close()
    rewind(url)


class Refused(Exception):  # noqa: N818 (an answer)
    """The store does not take a batch."""


def _write(store: Store, sent: Sent) -> object:
    number = store.find(sent.contract.digest).questions[sent.question]
    with mock.patch.object(ingest, "today", return_value=DAYS[sent.day]):
        (outcome,) = store.write([ReportBatch(number, sent.rows, sent.key)])
    if not isinstance(outcome, BatchAccepted):
        raise Refused(outcome)
    return outcome


def run(folder: str, at: int, mode: int) -> int:
    """In a child: the scenario, struck at a call. What is printed has happened."""
    place = Path(folder)
    shim.arm(folder, at, mode)
    store: Store | None = None

    def opened() -> Store:
        nonlocal store
        if store is None:
            store = open_store(f"sqlite:///{place / 'store.db'}")
        return store

    def close() -> None:
        nonlocal store
        if store is not None:
            store.close()
        store = None

    def attempt(name: str, work: Callable[[], object]) -> None:
        print(f"begun {name}", flush=True)
        for _ in range(_TRIES):
            try:
                work()
            except (UnavailableError, InputError, OSError, Refused) as problem:
                print(f"failed {name}: {problem}", flush=True)
            else:
                print(f"done {name}", flush=True)
                return

    sent = batches()

    def write(name: str) -> None:
        attempt(name, lambda: _write(opened(), sent[name]))

    attempt("open", opened)
    attempt("revise", lambda: opened().register(SIDE, revise=True))
    attempt("invited", lambda: opened().register(contracts()[INVITED], revise=True))
    write("side")
    write("first")
    write("side-many")
    write("first")  # once more: a repeat
    attempt("people", lambda: _invited(opened()))
    attempt("issue", lambda: _issued(opened(), b"m"))
    attempt("admit", lambda: opened().admit(SERIES, [b"k" * 32]))
    write("token")
    attempt("count", lambda: opened().summarize())
    attempt("forget", lambda: opened().forget_tokens(thorough=True))
    close()
    write("late")
    write("taken")
    attempt("expire", lambda: opened().expire(DAYS[1]))
    attempt("withdraw", lambda: _withdrawn(opened()))
    attempt("export", lambda: _exported(opened(), place / "backup"))
    attempt("delete", lambda: _deleted(opened()))
    attempt("import", lambda: _imported(opened(), place / "backup"))
    write("last")
    attempt("close", lambda: _closed(opened()))
    close()
    print(f"calls {shim.calls()}", flush=True)
    return 0


def _invited(store: Store) -> None:
    if store.invited(SERIES) == 0:  # where only the last sync failed, they are there
        store.invite(SERIES, [_PERSON])


def _issued(store: Store, message: bytes) -> None:
    outcome = store.issue(SERIES, _PERSON, [BlindedToken(b"k" * 16, 0, message)])
    if outcome != ():
        raise Refused(outcome)


def _withdrawn(store: Store) -> None:
    taken = batches()["taken"]
    ids = np.ascontiguousarray(taken.rows[:, :16])
    store.withdraw(store.find(MAIN.digest), taken.question, ids)


def _exported(store: Store, folder: Path) -> None:
    if not folder.exists():  # where only the last sync failed, it is there
        export_collection(store, SIDE.digest, folder)


def _deleted(store: Store) -> None:
    if _known(store, SIDE) is not None:
        store.delete_collection(SIDE.digest)


def _imported(store: Store, folder: Path) -> None:
    # A commit whose last sync failed may come to light when the store is opened again: only
    # what was seen to be deleted is put back.
    if _known(store, SIDE) is not None or not folder.exists():
        raise Refused("nothing to put back")
    import_collection(store, folder)


def _closed(store: Store) -> None:
    if _known(store, SIDE) is not None:
        store.close_collection(SIDE.digest)


def _known(store: Store, contract: Collection) -> StoredCollection | None:
    return next((each for each in store.collections() if each.collection == contract), None)


def verify(folder: Path, said: str) -> None:
    """After the process has ended: start again, look, and finish what it had begun."""
    lines = said.splitlines()
    done = {line.removeprefix("done ") for line in lines if line.startswith("done ")}
    begun = {line.removeprefix("begun ") for line in lines if line.startswith("begun ")}
    store = open_store(f"sqlite:///{folder / 'store.db'}")  # the restart is clean
    sent = batches()
    acknowledged = [sent[name] for name in sent if name in done or name == "old"]
    if "withdraw" in begun:
        acknowledged = [each for each in acknowledged if each.name != "taken"]
    _check(store, acknowledged, side_may_be_gone="delete" in begun and "import" not in done)
    if "issue" in done:
        # What was signed is signed again, and nothing else for its number.
        _issued(store, b"m")
        assert store.issue(SERIES, _PERSON, [BlindedToken(b"k" * 16, 0, b"other")]) == (0,)
    # Whoever was not answered sends again; whoever was, might.
    if "invited" not in done or "revise" not in done:
        store.register(SIDE, revise=True)
        store.register(contracts()[INVITED], revise=True)
    if _known(store, SIDE) is None and (folder / "backup").exists():
        _imported(store, folder / "backup")
    if "admit" not in done and store.admissions(SERIES) == 0:
        token = contracts()[INVITED]
        held = _known(store, token)
        assert held is not None
        if not look(store, held, "colour").present:
            store.admit(SERIES, [b"k" * 32])
    for each in sent.values():
        entry = _known(store, each.contract)
        if entry is not None and entry.open:
            _write(store, each)
    _withdrawn(store)
    store.summarize()
    everything = [
        each
        for each in sent.values()
        if (entry := _known(store, each.contract)) is not None
        and (entry.open or each in acknowledged)
        and each.name != "taken"
    ]
    _check(store, everything, side_may_be_gone=False)
    for entry in store.collections():
        for question in QUESTIONS:
            expected = sum(
                len(each.rows)
                for each in everything
                if (each.contract, each.question) == (entry.collection, question)
            )
            dropped = store.dropped_reports(entry, question)
            few = 0 if dropped is None else dropped.reports
            assert store.summary(entry, question).reports + few == expected
    store.expire(DAYS[1])
    if (folder / "backup").exists():
        shutil.rmtree(folder / "backup")
    export_collection(store, MAIN.digest, folder / "backup")  # nothing left behind is in the way
    store.close()
    with sqlite3.connect(folder / "store.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()


def _check(store: Store, acknowledged: list[Sent], *, side_may_be_gone: bool) -> None:
    """What was acknowledged is there once, or expired by rule, and the counts are of it."""
    sent = batches()
    for contract in contracts():
        entry = _known(store, contract)
        mine = [each for each in acknowledged if each.contract == contract]
        if entry is None:
            assert not mine or (contract == SIDE and side_may_be_gone), "a collection is gone"
            continue
        for question in QUESTIONS:
            seen = look(store, entry, question)
            known = {
                bytes(row[:16]): (bytes(row[16:]), DAYS[each.day])
                for each in sent.values()
                if (each.contract, each.question) == (contract, question)
                for row in each.rows
            }
            assert all(known[id] == row for id, row in seen.present.items())
            # Reports of the last day are not old: whose bytes are gone all the same was withdrawn.
            taken = {bytes(row[:16]) for row in sent["taken"].rows}
            spent = {id: known[id] for id in seen.spent - taken}
            assert contract != SIDE or not spent
            assert all(day == DAYS[0] for _, day in spent.values())
            there = seen.present.keys() | spent.keys()
            for each in mine:
                if each.question == question:
                    for row in each.rows:
                        assert bytes(row[:16]) in there, f"{each.name!r} is lost"
            check_counts(contract, question, Kept(dict(seen.present), spent), seen)
