"""Files and stores that older versions left behind: read, and gone on with, by the present code."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rumor.cli import main
from rumor.client.transport import Transport
from rumor.collector.gateway import Gateway, read_keys
from rumor.collector.http.problems import Problem
from rumor.collector.http.server import background
from rumor.collector.issuer_keys import IssuerKeys
from rumor.collector.issuing import IssuerService
from rumor.collector.relay.service import RelayService
from rumor.collector.relay.store import RelayStore
from rumor.collector.service import Service
from rumor.collector.store.base import (
    BatchAccepted,
    BlindedToken,
    CollectionClosed,
    IdConflict,
    ReportBatch,
    Store,
    StoredCollection,
    TokenRefused,
    open_store,
)
from rumor.collector.tokens import Tokens
from rumor.contract.admission import admission_key, read_invitation, token
from rumor.contract.collection import Collection
from rumor.contract.deletion import new_key, report_id
from rumor.contract.envelope import EnvelopeFormat
from rumor.contract.issuing import credential
from rumor.mechanisms.summary import Summary
from tests.collector.tools import batch
from tests.javascript import steps
from tests.needs import needs
from tests.old.kept import HERE, address_of, copied, received, store_in
from tests.old.make_old import contents, estimate_of, read_contracts

VERSIONS = ("0.1.0", "1.0.0rc1")
Told = dict[str, Any]


@pytest.fixture(params=VERSIONS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Told]:
    """A copy of what a version wrote, and what that version said of it."""
    return copied(HERE / request.param, tmp_path / "old")


@pytest.fixture
def folder(old: tuple[Path, Told]) -> Path:
    return old[0]


@pytest.fixture
def told(old: tuple[Path, Told]) -> Told:
    return old[1]


# --- Contracts ------------------------------------------------------------------------------


def test_contracts_and_collection_files_mean_what_they_meant(folder: Path, told: Told) -> None:
    known = read_contracts(folder)
    assert set(known) == set(told["contracts"])
    for name, collection in known.items():
        said = told["contracts"][name]
        path = folder / "contracts" / f"{name}.json"
        assert collection.digest == said["digest"], name
        assert collection.canonical() == path.read_bytes()
        assert {q.id: q.mechanism.epsilon for q in collection.questions} == said["epsilon"]
        assert (collection.revision, collection.admission) == (said["revision"], said["admission"])
        assert Collection.load(path.with_suffix(".toml")) == collection


def test_there_is_a_contract_of_every_kind(folder: Path) -> None:
    known = read_contracts(folder).values()
    for name in ("relay", "issuer", "linked", "ask", "series_epsilon", "previous"):
        given = [getattr(collection, name) for collection in known]
        assert None in given
        assert any(each is not None for each in given), name


def test_browsers_read_contracts(folder: Path, told: Told) -> None:
    needs("node")
    known = read_contracts(folder)
    parse = [{"step": "parse", "contract": c.canonical().decode()} for c in known.values()]
    assert steps(*parse) == [told["contracts"][name]["digest"] for name in known]


# --- Reports files and summaries ------------------------------------------------------------


def same_estimates(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """The same labels, and the same numbers up to the last few digits."""
    assert [row["value"] for row in found] == [row["value"] for row in expected]
    for name in ("unbiased", "stderr"):
        wanted = [row[name] for row in expected]
        assert [row[name] for row in found] == pytest.approx(wanted, rel=1e-9)


def test_reports_files_are_read(folder: Path, told: Told) -> None:
    contract, reports = folder / "contracts" / "survey.json", folder / "reports.parquet"
    same_estimates(estimate_of(contract, reports), told["files"]["estimates"])
    url = f"sqlite:///{folder / 'new.db'}"
    assert main(["import", str(reports), "--collection", str(contract), "--store", url]) == 0
    with closing(open_store(url)) as store:
        (entry,) = store.collections()
        store.summarize()
        assert store.summary(entry, "colour").tally.tolist() == told["files"]["tally"]
        days = store.reports_by_day(entry, "colour")
        first = told["files"]["first day"]
        assert list(days.values()) == [first, told["files"]["reports"] - first]


def test_kept_columns_are_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contract, reports = folder / "contracts" / "survey.json", folder / "reports.parquet"
    assert main(["estimate", str(contract), str(reports), "-q", "colour", "--by", "country"]) == 0
    said = capsys.readouterr().out
    assert "DE" in said
    assert "FR" in said


def test_summaries_are_read_and_go_on(folder: Path, told: Told) -> None:
    path = folder / "colour.summary"
    summary = Summary.load(path)
    assert Summary.from_bytes(path.read_bytes()) == summary
    assert summary.to_bytes() == path.read_bytes()
    assert summary.tally.tolist() == told["files"]["tally"]
    estimates = estimate_of(folder / "contracts" / "survey.json", path)
    same_estimates(estimates, told["files"]["estimates"])
    report = summary.mechanism.without_labels().privatize([0])
    assert summary.update(report).reports == told["files"]["reports"] + 1


# --- Stores and exports ---------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, folder: Path) -> Iterator[Store]:
    """The store of an older version, in both databases."""
    with closing(open_store(store_in(folder, request))) as opened:
        yield opened


def entry_of(store: Store, told: Told, name: str) -> StoredCollection:
    return store.find(told["contracts"][name]["digest"])


def again(entry: StoredCollection, question: str, said: Told, change: int = 0) -> ReportBatch:
    """All reports that a store holds of a question, once more or with other bytes."""
    rows = [bytes.fromhex(id + report) for id, (_, report) in said["reports"].items()]
    made = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1).copy()
    made[:, 16:] ^= change
    return ReportBatch(entry.questions[question], made)


def test_stores_hold_what_they_held(store: Store, told: Told) -> None:
    assert contents(store) == told["store"]["collections"]
    assert store.admissions("club") == told["store"]["admissions"]


def test_stores_go_on(store: Store, told: Told) -> None:
    """Every report is known, spent ids stay spent, and a new report is counted."""
    entry = entry_of(store, told, "survey-2")
    said = told["store"]["collections"][entry.collection.digest]["questions"]
    gone = store.dropped_reports(entry, "colour")
    before = 0 if gone is None else gone.reports
    known = again(entry, "colour", said["colour"])
    assert store.write([known]) == [BatchAccepted(0, len(known))]
    other = again(entry, "colour", said["colour"], change=1)
    assert store.write([other]) == [IdConflict(tuple(range(len(other))))]
    spent = [bytes.fromhex(id) + b"\x00" for id in said["colour"]["spent"]]
    rows = np.frombuffer(b"".join(spent), np.uint8).reshape(len(spent), -1)
    number = entry.questions["colour"]
    assert store.write([ReportBatch(number, rows)]) == [BatchAccepted(0, len(spent))]
    assert store.write([batch(entry, "colour", [0, 1])]) == [BatchAccepted(2, 0)]
    closed = entry_of(store, told, "survey")
    assert store.write([batch(closed, "many", [0])]) == [CollectionClosed()]
    store.summarize()
    assert store.summary(entry, "colour").reports == said["colour"]["counted"] + 2
    assert store.withdraw(entry, "colour", known.rows[:2, :16].copy()) == 2
    assert store.summary(entry, "colour").reports == said["colour"]["counted"]
    # A month later what was there is deleted: too few to keep their counts, only their number.
    days = [day for day, _ in said["colour"]["reports"].values()]
    assert store.expire(datetime.date(2026, 12, 16)) == sum(d < "2026-11-16" for d in days[2:])
    dropped = store.dropped_reports(entry, "colour")
    assert dropped is not None
    left = store.summary(entry, "colour").reports
    assert left + dropped.reports - before == said["colour"]["counted"]
    assert store.summary(entry, "many").reports == said["many"]["counted"]


def test_tokens_in_stores_admit_once(store: Store, told: Told) -> None:
    entry = entry_of(store, told, "club")

    def sent(invitation: str) -> list[Any]:
        shown = token(read_invitation(invitation), "club", "colour", 0)
        made = batch(entry, "colour", [1])
        key = admission_key("club", "colour", shown)
        return list(store.write([ReportBatch(made.question, made.rows, key)]))

    used, fresh = told["invitations"]
    assert sent(used) == [TokenRefused()]
    assert sent(fresh) == [BatchAccepted(1, 0)]
    assert sent(fresh) == [TokenRefused()]
    assert store.admissions("club") == told["store"]["admissions"] - 1


def test_exports_are_put_back(folder: Path, told: Told) -> None:
    url = f"sqlite:///{folder / 'new.db'}"
    assert main(["import", str(folder / "export"), "--store", url]) == 0
    with closing(open_store(url)) as store:
        digest = told["contracts"]["survey-2"]["digest"]
        found = contents(store)
        assert found == {digest: told["store"]["collections"][digest]}
        questions = found[digest]["questions"].values()
        assert sum(len(each["reports"]) for each in questions) == told["export"]["reports"]
        assert sum(each["counted"] for each in questions) == told["export"]["counted"]
        takes_nothing_twice(store, told)


def test_stores_take_nothing_twice(store: Store, told: Told) -> None:
    takes_nothing_twice(store, told)


def takes_nothing_twice(store: Store, told: Told) -> None:
    """What was withdrawn or has expired does not come back."""
    entry = entry_of(store, told, "survey-2")
    known = told["store"]["collections"][entry.collection.digest]["questions"]
    assert known["colour"]["spent"]
    for question, said in known.items():
        width = entry.collection.question(question).mechanism.width
        for id in said["spent"]:
            row = np.frombuffer(bytes.fromhex(id) + bytes(width), np.uint8).reshape(1, -1)
            assert store.write([ReportBatch(entry.questions[question], row)]) == [
                BatchAccepted(0, 1)
            ]
        store.summarize()
        assert store.summary(entry, question).reports == said["counted"]


# --- Relay, gateway and envelopes -----------------------------------------------------------


def test_a_relay_goes_on_with_what_it_kept(folder: Path, told: Told) -> None:
    """What is under way and what is a crowd goes out; the rest waits until it is one."""
    collection, kept = read_contracts(folder)["relayed"], told["relay"]
    assert collection.relay is not None
    gateway = Gateway(read_keys(folder / "gateway.pem"), Tokens(folder / "tokens"))
    store = open_store(f"sqlite:///{folder / 'collector.db'}")
    store.register(collection)
    relay_store = RelayStore(f"sqlite:///{folder / 'relay.db'}")
    with (
        background(Service(store, collection.series, gateway=gateway)) as url,
        address_of(collection.relay.url) as listener,
        background(
            RelayService(relay_store, url, lambda: kept["token"], every=0.1, look_seconds=0.02),
            listener=listener,
        ),
    ):
        expected = {
            **reports_of(kept, "under way", "colour"),
            **reports_of(kept, "waiting crowd", "many"),
        }
        wait_for(store, collection, expected)
        time.sleep(0.3)  # three turns
        assert received(store, collection) == expected
        # The fourth of those that wait makes them a crowd; onwithout_labels delivered does not.
        question = collection.question("colour")
        id, report = (
            report_id(new_key()),
            question.mechanism.without_labels().privatize([1]).tobytes(),
        )
        way = Transport(collection.relay.url)
        way.pass_on(collection.digest, "colour", bytes.fromhex(kept["delivered"]))
        time.sleep(0.3)
        assert received(store, collection) == expected
        sealed = EnvelopeFormat.of(collection, question).seal(id, None, report)
        way.pass_on(collection.digest, "colour", sealed)
        expected |= reports_of(kept, "waiting", "colour")
        wait_for(store, collection, {**expected, id.hex(): ("colour", report.hex())})


def reports_of(kept: Told, name: str, question: str) -> dict[str, tuple[str, str]]:
    """The reports in envelopes, by id."""
    return {id: (question, report) for id, report in kept["envelopes"][name].items()}


def wait_for(store: Store, collection: Collection, expected: dict[str, tuple[str, str]]) -> None:
    """Until a collector holds these reports, and no others."""
    deadline = time.monotonic() + 20
    while received(store, collection) != expected and time.monotonic() < deadline:
        time.sleep(0.02)
    assert received(store, collection) == expected


def test_envelopes_open(folder: Path, told: Told) -> None:
    keys, known = read_keys(folder / "gateway.pem"), read_contracts(folder)
    for name, said in told["sealed"].items():
        collection, sealed = known[name], (folder / f"{name}.envelope").read_bytes()
        assert collection.relay is not None
        key = keys[collection.relay.key]
        opened = EnvelopeFormat.of(collection, collection.question("colour")).open(
            key, sealed, collection
        )
        assert opened is not None, name
        admitted, report = opened
        found = None if admitted.key is None else admitted.key.hex()
        assert (admitted.id.hex(), found, report.hex()) == (said["id"], said["key"], said["report"])
        # Of another question it is none.
        others = [question for question in collection.questions if question.id != "colour"]
        other = EnvelopeFormat.of(collection, others[0])
        assert other.open(key, sealed, collection) is None


def test_token_files_admit_whom_they_admitted(folder: Path, told: Told) -> None:
    tokens = Tokens(folder / "tokens")
    assert tokens.allow(told["relay"]["token"])
    assert not tokens.allow(told["relay"]["token"][:-1])


# --- The issuer -----------------------------------------------------------------------------


def test_an_issuer_goes_on(folder: Path, told: Told) -> None:
    """The token that was signed is signed again, no other in its place; others get theirs."""
    said, (first, second) = told["issuer"], told["invitations"]
    wanted = BlindedToken(
        bytes.fromhex(said["key"]), said["number"], bytes.fromhex(said["blinded"])
    )
    other = BlindedToken(wanted.key, wanted.number, wanted.blinded[:-1] + b"\x01")
    with closing(open_store(f"sqlite:///{folder / 'issuer.db'}")) as store:
        assert store.invited("blind") == said["invited"]
        issuer = IssuerService(
            store, read_contracts(folder)["blind"], IssuerKeys.load(folder / "issuer.json")
        )

        def sign(invitation: str, token: BlindedToken) -> str:
            shown = credential(read_invitation(invitation), "blind")
            return asyncio.run(issuer.sign(shown, [token]))[0].hex()

        assert sign(first, wanted) == said["signature"]
        with pytest.raises(Problem, match="went to another device"):
            sign(first, other)
        assert sign(second, wanted) == said["signature"]
