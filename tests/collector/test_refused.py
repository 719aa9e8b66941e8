"""What a collector's files, stores and service refuse, with the exact sentence; SQLite alone."""

from __future__ import annotations

import asyncio
import datetime
import functools
import json
import operator
import resource
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

import rumor
from rumor.collector import next_round
from rumor.collector.backup import export_collection, import_collection
from rumor.collector.gateway import Gateway, add_key, read_keys
from rumor.collector.group_commit import Writer
from rumor.collector.http import server
from rumor.collector.http.limits import Limits
from rumor.collector.http.problems import Problem
from rumor.collector.issuer_keys import IssuerKeys
from rumor.collector.issuing import IssuerService
from rumor.collector.metrics import Metrics
from rumor.collector.overview import overview
from rumor.collector.relay.store import RelayStore
from rumor.collector.service import _strata
from rumor.collector.store import contracts, counts, expiry, ingest, withdrawal
from rumor.collector.store.base import (
    CollectionUnknown,
    Store,
    StoreDamagedError,
    StoreUnavailableError,
    open_store,
)
from rumor.collector.store.checksums import checksum
from rumor.collector.store.counts import DayTally
from rumor.collector.store.dialects import sqlite
from rumor.collector.store.dialects.dialect import Repeated
from rumor.collector.store.dialects.sqlite import Sqlite
from rumor.collector.store.sql import SqlStore
from rumor.collector.tokens import Tokens, add_token, read_tokens
from rumor.core.blind_rsa import SecretKey
from rumor.core.errors import InputError
from rumor.mechanisms.summary import Summary
from tests.collector.tools import batch, collection, many_questions, stored, two_rounds
from tests.issuers import KEYS, blind_collection
from tests.relay.tools import relayed


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Store]:
    """A store with a collection and three reports of each question, on one day."""
    opened = open_store(f"sqlite:///{tmp_path / 'one.db'}")
    entry = opened.register(collection())
    opened.write([batch(entry, "colour", [0, 1, 2]), batch(entry, "many", [0, 1, 2])])
    yield opened
    opened.close()


def refused(give: Callable[[], object], kind: type[Exception] = InputError) -> str:
    with pytest.raises(kind) as found:
        give()
    return str(found.value)


# --- Exports ------------------------------------------------------------------------------------


def _cut_early(folder: Path) -> Path:
    file = folder / "_counted" / "colour" / "early.bin"
    file.write_bytes(bytes(39))
    return file


def _damaged_rows(folder: Path) -> Path:
    (file,) = (folder / "question=colour").rglob("*.parquet")
    held = bytearray(file.read_bytes())
    held[4:200] = bytes(196)  # the footer stays: what is wrong is found when the rows are read
    file.write_bytes(held)
    return file


def _on_day(number: int | None) -> Callable[[Path], Path]:
    def spoil(folder: Path) -> Path:
        (file,) = (folder / "question=colour").rglob("*.parquet")
        held = pq.read_table(file)
        days = pa.array([number] * len(held), pa.int32()).cast(pa.date32())
        at = held.schema.get_field_index("day")
        pq.write_table(held.set_column(at, pa.field("day", pa.date32()), days), file)
        return file

    return spoil


DAYS = "the column day must hold days of the years 1 to 9999; got day "


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_cut_early, "records must have 20 bytes each; the file is cut"),
        (
            _damaged_rows,
            "a reports file must be a complete Parquet file; this one is truncated, damaged or "
            "something else",
        ),
        (_on_day(2_932_897), f"{DAYS}2932897"),  # the first of January of the year 10000
        (_on_day(-719_163), f"{DAYS}-719163"),  # the day before the year 1
        (_on_day(None), f"{DAYS}None"),
    ],
)
def test_an_export_that_was_spoilt_is_refused_by_the_name_of_its_file(
    one: Store, tmp_path: Path, spoil: Callable[[Path], Path], sentence: str
) -> None:
    export_collection(one, one.collections()[0].collection.digest, tmp_path / "backup")
    file = spoil(tmp_path / "backup")
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    said = refused(lambda: import_collection(other, tmp_path / "backup"))
    assert said == f"{file}: {sentence}"
    assert other.collections() == []
    other.close()


@pytest.mark.parametrize("number", [2_932_896, -719_162])
def test_the_first_and_the_last_day_of_a_calendar_are_imported(
    one: Store, tmp_path: Path, number: int
) -> None:
    export_collection(one, one.collections()[0].collection.digest, tmp_path / "backup")
    _on_day(number)(tmp_path / "backup")
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    import_collection(other, tmp_path / "backup")
    day = datetime.date.fromordinal(number + 719_163)
    (entry,) = other.collections()
    assert {part.day for part in other.reports(entry, "colour")} == {day}
    other.close()


def test_reports_whose_ids_are_in_use_are_not_put_back(one: Store, tmp_path: Path) -> None:
    (entry,) = one.collections()
    export_collection(one, entry.collection.digest, tmp_path / "backup")
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    there = other.register(collection(series="another"))
    held = stored(one, entry, "colour")
    id, report = next(iter(held.items()))
    row = np.frombuffer(id + report, np.uint8).reshape(1, -1)
    other.write([type(batch(there, "colour", [0]))(there.questions["colour"], row)])
    said = refused(lambda: import_collection(other, tmp_path / "backup"))
    assert said == "report ids must be new to the store; some are in use"
    assert [each.collection.series for each in other.collections()] == ["another"]
    other.close()


# --- Keys, tokens, rounds -----------------------------------------------------------------------


def test_what_is_no_key_token_or_round_is_refused_in_a_sentence(one: Store, tmp_path: Path) -> None:
    keys = tmp_path / "issuer.keys"

    def load(**members: object) -> IssuerKeys:
        keys.write_text(json.dumps(members))
        keys.chmod(0o600)
        return IssuerKeys.load(keys)

    good = {"colour": [f"{KEYS.secrets['colour'].first:x}", f"{KEYS.secrets['colour'].second:x}"]}
    assert load(rumor=1, series="s", keys=good).secrets == {"colour": KEYS.secrets["colour"]}
    as_made = f"a key file must be as rumor issue keys makes it; {str(keys)!r} is not"
    for version in (0, 2, "1", None):
        assert refused(functools.partial(load, rumor=version, series="s", keys=good)) == as_made
    small = SecretKey(2**521 - 1, 2**607 - 1)
    short = {"colour": [f"{small.first:x}", f"{small.second:x}"]}
    assert refused(lambda: load(rumor=1, series="s", keys={**good, **short})) == (
        f"a key must have 2048 bits; one of {str(keys)!r} has not"
    )
    tokens = tmp_path / "tokens"
    tokens.write_bytes(b"analyst \xff\n")
    assert refused(lambda: read_tokens(tokens)) == (
        f"a token file must be UTF-8 text; {str(tokens)!r} is not"
    )
    assert refused(lambda: IssuerService(one, collection(), KEYS)) == (
        "an issuer needs a collection with admission = \"blind\"; 'A test' has 'open'"
    )
    IssuerService(one, blind_collection(), KEYS)
    digest = one.register(many_questions(1, series="single")).collection.digest
    assert refused(lambda: next_round.advance(one, digest)) == (
        "only PrivKVM has rounds; got 'randomized-response'"
    )
    first, second = two_rounds()
    store = open_store(f"sqlite:///{tmp_path / 'later.db'}")
    later = store.register(second)
    assert refused(lambda: next_round.chain(store, later, "uses")) == (
        f"the rounds before must be in the store; {first.digest[:16]}... is not there"
    )
    store.close()


def test_envelopes_are_opened_for_a_collection_with_a_relay_alone(tmp_path: Path) -> None:
    add_token(tmp_path / "relays", "relay")
    gateway = Gateway({}, Tokens(tmp_path / "relays"))
    for contract, name in ((collection(), "A test"), (relayed(), "Through a relay")):
        with pytest.raises(Problem) as found:
            gateway.key_of(contract)
        assert found.value.type == "forbidden"
        assert found.value.detail == (
            f"envelopes are taken for a collection with a relay whose key this collector has; "
            f"{name!r} is none"
        )


@pytest.mark.parametrize(
    "key",
    [
        ec.derive_private_key(7, ec.SECP384R1()),
        ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)),
    ],
)
def test_keys_of_other_kinds_open_no_envelope(tmp_path: Path, key: Any) -> None:
    path = tmp_path / "gateway.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    before = path.read_bytes()
    for give in (read_keys, add_key):
        assert refused(functools.partial(give, path)) == (
            f"a gateway's key file must hold private keys that rumor key made; {str(path)!r} "
            f"holds a key of another kind"
        )
    assert path.read_bytes() == before


def test_a_collection_without_groups_has_no_estimate_of_one(one: Store) -> None:
    (entry,) = one.collections()
    assert _strata(entry, []) is None
    assert refused(lambda: _strata(entry, ["country=DE", "os=other"])) == (
        "'A test' has no groups; got country=DE, os=other"
    )


def test_an_overview_says_what_each_person_is_asked(one: Store) -> None:
    by_question = {"questions": 1}
    by_day = {"days": 7, "starts": "2026-03-02"}
    said = "Each person is asked {}, drawn at random on their device."
    day = "on one of 7 days from 2026-03-02 on"
    apart = (
        " So every question has reports of its own, and questions cannot be tabled against each "
        "other."
    )
    for ask, sentence in (
        (by_question, said.format("1 of 3 questions") + apart),
        (by_day, said.format(day)),
        ({**by_question, **by_day}, said.format(f"1 of 3 questions, {day}") + apart),
    ):
        series = f"s{len(one.collections())}"
        entry = one.register(many_questions(3, series=series, ask=ask))
        assert overview(one, entry, [entry])["asks"] == sentence


# --- The store ----------------------------------------------------------------------------------


def test_a_store_that_cannot_be_made_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = tmp_path / "none" / "relay.db"
    said = refused(lambda: RelayStore(f"sqlite:///{missing}"))
    assert said.startswith(
        f"a relay's store must be a SQLite file that can be written; {str(missing)!r}"
    )

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "migrate", full)
        path = tmp_path / "new.db"
        assert refused(lambda: open_store(f"sqlite:///{path}")) == (
            f"a store must be a SQLite file that can be written; {str(path)!r} is not "
            f"(database or disk is full)"
        )
        assert not path.exists()
    for version, is_enough in (((3, 34, 1), False), ((3, 35, 0), True)):
        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "sqlite_version_info", version)
            patch.setattr(sqlite3, "sqlite_version", ".".join(map(str, version)))
            if is_enough:
                Sqlite(tmp_path / "any.db")
            else:
                said = refused(lambda: Sqlite(tmp_path / "any.db"))
                assert said == "a store needs SQLite 3.35 or newer; got 3.34.1"
    assert Sqlite(tmp_path / "any.db")._writer.outside_transaction("SELECT 1") == []


def test_counts_that_do_not_fit_are_damage() -> None:
    most = DayTally(7, 20_000, 3, np.array([1, 2]))
    rest = most - DayTally(7, 20_000, 3, np.array([1, 2]))
    assert (rest.reports, rest.tally.tolist()) == (0, [0, 0])
    for reports, tally in ((4, [1, 2]), (3, [2, 1]), (0, [0, 3])):
        less = DayTally(7, 20_000, reports, np.array(tally))
        said = refused(functools.partial(operator.sub, most, less), StoreDamagedError)
        assert "the counts of day 20000 lack reports that were counted" in said
    held = np.array([1, 2], dtype="<i8").tobytes()
    sealed = checksum(7, 20_000, 3, data=held)
    pair, triple = (Summary.empty(rumor.RandomizedResponse(domain=n, epsilon=1.0)) for n in (2, 3))
    whole = counts.checked_summary((7, 20_000, 3, held, sealed), pair)
    assert whole.tally.tolist() == [1, 2]
    other = "the counts of day 20000 are of another question"
    assert other in refused(
        lambda: counts.checked_summary((7, 20_000, 3, held, sealed), triple), StoreDamagedError
    )
    unfit = "the counts of day 20000 of a question do not fit their checksum"
    rows: list[tuple[Any, ...]] = [
        (7, 20_000, 3, held, None), (7, 20_000, 3, held, "text"), (7, 20_000, 3, None, sealed),
        (2**70, 20_000, 3, held, sealed), ("7", 20_000, 3, held, sealed),
        (7, 20_000, 4, held, sealed),
    ]  # fmt: skip
    for row in rows:
        said = refused(functools.partial(counts.checked_summary, row), StoreDamagedError)
        assert unfit in said


@pytest.mark.parametrize(
    ("statement", "removed"),
    [
        ("UPDATE report SET report = 'text' WHERE number = 2", 1),
        ("UPDATE report SET day = 'May' WHERE number <= 2", 2),
        ("UPDATE report SET checksum = NULL WHERE number = 1", 1),
        ("UPDATE report SET day = day", 0),
    ],
)
def test_rows_of_other_types_are_removed_by_a_repair(
    one: Store, statement: str, removed: int
) -> None:
    assert isinstance(one, SqlStore)
    with one.database.writing() as run:
        run(statement)
    found = one.repair()
    assert found.removed == removed
    (entry,) = one.collections()
    left = sum(len(stored(one, entry, id)) for id in ("colour", "many"))
    assert left == 6 - removed


def test_a_number_of_dropped_reports_that_changed_is_noticed(one: Store) -> None:
    assert isinstance(one, SqlStore)
    (entry,) = one.collections()
    number = entry.questions["colour"]
    sealed = checksum(number, 3, 5, 7)
    values = f"VALUES ({number}, 3, 5, 7, ?)"
    with one.database.writing() as run:
        run(f"INSERT INTO drop_count (question, day, last, reports, checksum) {values}", sealed)
    found = one.dropped_reports(entry, "colour")
    assert found is not None
    assert (found.first, found.last, found.reports) == (
        datetime.date(1970, 1, 4),
        datetime.date(1970, 1, 6),
        7,
    )
    with one.database.writing() as run:
        run("UPDATE drop_count SET reports = 8")
    said = refused(lambda: one.dropped_reports(entry, "colour"), StoreDamagedError)
    assert "the number of reports without counts does not fit its checksum" in said


def test_reports_that_others_keep_writing_are_given_up_after_a_few_attempts(
    one: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def repeated(*_: object) -> None:
        tried.append(1)
        raise Repeated

    assert isinstance(one, SqlStore)
    (entry,) = one.collections()
    monkeypatch.setattr(one.database.dialect, "write_new", repeated)
    monkeypatch.setattr(ingest, "_write_with_care", repeated)
    said = refused(lambda: one.write([batch(entry, "colour", [0])]), StoreUnavailableError)
    assert said == "other collectors keep writing the same reports"
    assert len(tried) == 1 + ingest._ATTEMPTS


def test_few_strata_are_deleted_in_one_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "CHUNK", 10)

    def days(*reports: int) -> list[expiry._Days]:
        return [expiry._Days(day, n, 1, 2, (n, day)) for day, n in enumerate(reports)]

    found = {
        1: days(4),
        2: days(3, 3),
        3: days(6, 5),
        4: days(1),
        5: days(10),
        6: days(2),
        7: days(8),
    }
    # Of the third there are too many for one transaction: it is deleted by itself.
    assert list(expiry._few_at_a_time(found)) == [[1, 2], [4], [5], [6, 7]]
    assert list(expiry._few_at_a_time({})) == []


def test_nothing_is_withdrawn_from_a_collection_that_was_deleted(
    one: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (entry,) = one.collections()
    ids = np.frombuffer(b"".join(stored(one, entry, "colour")), np.uint8).reshape(-1, 16)
    take_back = withdrawal._take_back

    def deleted_first(*arguments: Any) -> object:
        one.delete_collection(entry.collection.digest)
        return take_back(*arguments)

    # Deleted between the two looks at it, and before the first one.
    monkeypatch.setattr(withdrawal, "_take_back", deleted_first)
    for _ in range(2):
        assert one.withdraw(entry, "colour", ids) == CollectionUnknown()
    there = one.register(relayed(series="relayed"))
    one.delete_collection(there.collection.digest)
    assert one.withdraw(there, "colour", ids) == CollectionUnknown()


def test_a_collection_that_is_deleted_while_all_are_read_is_left_out(one: Store) -> None:
    assert isinstance(one, SqlStore)
    with one.database.reading() as run:
        rows = {sql: run(sql) for sql in (_all_collections(one),)}
    assert [len(each) for each in rows.values()] == [2]

    def later(sql: str, *_: object) -> list[Any]:
        return next(iter(rows.values())) if "JOIN" in sql else []

    one.database.contracts.clear()
    assert contracts.read_collections(one.database, later) == []


def _all_collections(store: SqlStore) -> str:
    """Return the statement by which a store reads all collections."""
    said: list[str] = []

    def listening(sql: str, *_: object) -> list[Any]:
        said.append(sql)
        return []

    contracts.read_collections(store.database, listening)
    (sql,) = said
    return sql


# --- The service --------------------------------------------------------------------------------


def test_what_waits_is_written_before_a_writer_ends() -> None:
    go, commits = threading.Event(), []

    def write(items: Sequence[bytes]) -> list[int]:
        commits.append(list(items))
        go.wait(10)
        return [len(item) for item in items]

    async def life() -> list[list[int]]:
        writer: Writer[bytes, int] = Writer(write, Metrics(), 1000)
        first = writer.submit(b"a")
        while not commits:
            await asyncio.sleep(0.001)
        more = [writer.submit(b"bb"), writer.submit(b"ccc", b"d")]
        ended = asyncio.ensure_future(writer.stop())
        await asyncio.sleep(0)
        go.set()
        answers = [await each for each in (first, *more)]
        await ended
        assert not writer._thread.is_alive()
        return answers

    assert asyncio.run(life()) == [[1], [2], [3, 1]]
    assert commits == [[b"a"], [b"bb", b"ccc", b"d"]]


class Failing:
    """A service that does not start."""

    limits = Limits()

    def app(self) -> Any:
        async def answer(scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await send({"type": "lifespan.startup.failed", "message": "no"})

        return answer


def test_a_service_that_does_not_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    urls: list[str] = []
    sentence = "a service must start to be of use; the log above says why it did not"
    try:
        listener = server.listen("127.0.0.1", 0)
        assert refused(lambda: server.serve(Failing(), listener, urls.append)) == sentence
    finally:
        signal.signal(signal.SIGTERM, before)
    assert urls == []
    assert listener.fileno() == -1  # closed
    assert refused(lambda: server.background(Failing()).__enter__()) == sentence

    def ill(*_: object, **__: object) -> None:
        raise OSError("no sockets are left")

    monkeypatch.setattr(server.Server, "run", ill)
    assert refused(lambda: server.background(Failing()).__enter__(), OSError) == (
        "no sockets are left"
    )


NO_LIMIT = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("soft", "hard", "asked"),
    [
        (1024, 4096, (2000, 4096)),
        (1024, 1500, (1500, 1500)),
        (1024, NO_LIMIT, (2000, NO_LIMIT)),
        (1999, 4096, (2000, 4096)),
        (2000, 4096, None),
        (1500, 1500, None),
        (NO_LIMIT, NO_LIMIT, None),
    ],
)
def test_as_many_files_may_be_opened_as_the_system_allows(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, asked: tuple[int, int] | None
) -> None:
    said = []

    def setrlimit(which: int, limits: tuple[int, int]) -> None:
        said.append((which, limits))
        raise ValueError("not allowed to raise maximum limit")  # then what there is must do

    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    server._allow_files(2000)
    assert said == ([] if asked is None else [(resource.RLIMIT_NOFILE, asked)])
