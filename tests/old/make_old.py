"""Make one artefact of each stored format by the present code, for later versions to read.

    PYTHONPATH=$PWD/src:$PWD .venv/bin/python tests/old/make_old.py tests/old/1.0.0rc1

Run it when a stored format changes, before the change, into a folder with the name of the version
that is about to end, and add that folder to VERSIONS of tests/old/test_old.py. Folders that exist
are never made again: an older version wrote them. Reports, ids and days are the same in every run;
the gateway's key, tokens and envelopes are new. Ledgers of devices and states of browsers have
scripts of their own (tests/old/README.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import gzip
import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from rumor.cli import main as rumor
from rumor.collector.backup import export_collection
from rumor.collector.gateway import add_key
from rumor.collector.issuer_keys import IssuerKeys
from rumor.collector.issuing import IssuerService
from rumor.collector.relay.store import ArrivedEnvelope, RelayStore
from rumor.collector.relay.store import EnvelopeBatch as RelayBatch
from rumor.collector.store import ingest
from rumor.collector.store.base import (
    BlindedToken,
    ReportBatch,
    Store,
    StoredCollection,
    open_store,
)
from rumor.collector.tokens import add_token
from rumor.contract.admission import admission_key, admission_keys, read_invitation, token
from rumor.contract.collection import Collection
from rumor.contract.envelope import EnvelopeFormat
from rumor.contract.issuing import credential, key_name, new_opening, token_id, token_message
from rumor.contract.report_file import write_reports
from rumor.core.blind_rsa import blind, blind_sign, finalize
from rumor.core.randomness import Seeded
from rumor.core.reports import Reports
from rumor.mechanisms.summary import Summary
from tests.issuers import SECRETS, invite
from tests.old.make_later import later_files, make_later

RELAY, ISSUER = "http://127.0.0.1:18947", "http://127.0.0.1:18948"
# Two invitations that everybody knows.
INVITATIONS = [
    "rumor-invitation-AAECAwQFBgcICQoLDA0OD9_G",
    "rumor-invitation-EBESExQVFhcYGRobHB0eH6P_",
]
_HEAD = 'name = "Old {series}"\nseries = "{series}"\ncontact = "old@example.org"\n'
_CHOICE = """
[[questions]]
id = "{id}"
kind = "choice"
labels = ["red", "green", "blue"]
epsilon = 1.0
mechanism = "randomized-response"
"""
_KINDS = """
[[questions]]
id = "minutes"
kind = "number"
low = 0
high = 120
outside = "clip"
epsilon = 1.0

[[questions]]
id = "rating"
kind = "ordered"
labels = ["bad", "poor", "fair", "good", "excellent"]
epsilon = 1.0

[[questions]]
id = "apps"
kind = "keyvalue"
keys = ["Maps", "Mail", "Camera"]
low = 0
high = 6
outside = "clip"
epsilon = 2.0

[[questions]]
id = "ways"
kind = "set"
labels = ["on foot", "bicycle", "bus", "tram"]
cap = 2
epsilon = 2.0

[[questions]]
id = "both"
kind = "joint"
parts = [ {{ id = "smokes", labels = ["yes", "no"] }}, {{ id = "drinks", labels = ["yes", "no"] }} ]
epsilon = 1.0

[[questions]]
id = "where"
kind = "text"
words = "open"
longest = 8
key = "00010203"
epsilon = 4.0

[[questions]]
id = "home"
kind = "text"
bits = 32
hashes = 2
cohorts = 4
f = 0.5
p = 0.5
q = 0.75
key = "00010203"
reports_per_person = 365
memo = "period"
period_days = 30
retention_days = 90
"""


def collection_files(key: str) -> dict[str, str]:
    """TOML files by the name of their series; `key` is the gateway's."""
    moduli = "".join(
        f'{id} = "{secret.public.modulus:x}"\n'
        for id, secret in zip(("colour", "other"), SECRETS, strict=True)
    )
    relay = f'\n[relay]\nurl = "{RELAY}"\nkey = "{key}"\ncrowd = 4\ndays = 3650\n'
    two = _CHOICE.format(id="colour") + _CHOICE.format(id="other")
    more = {
        "kinds": ("", _CHOICE.format(id="colour") + _KINDS.format()),
        "survey": ("", _CHOICE.format(id="colour") + "retention_days = 30\n" + _many(8)),
        "club": ('admission = "invited"\n', two),
        "relayed": (relay, _CHOICE.format(id="colour") + _many(30)),
        "relayed-club": ('admission = "invited"\n' + relay, two),
        "blind": (
            f'admission = "blind"\n\n[issuer]\nurl = "{ISSUER}"\n[issuer.keys]\n{moduli}',
            two,
        ),
        "relayed-blind": (
            f'admission = "blind"\n{relay}\n[issuer]\nurl = "{ISSUER}"\n[issuer.keys]\n{moduli}',
            two,
        ),
        "linked": ('linked = ["colour", "other"]\n', two),
        "asked": ('ask = { questions = 1, days = 7, starts = "2026-11-16" }\n', two),
        "ceiling": ("series_epsilon = 2.5\n", two),
        **later_files(_CHOICE, relay),
    }
    return {
        series: _HEAD.format(series=series) + head + questions
        for series, (head, questions) in more.items()
    }


def _many(domain: int) -> str:
    return (
        f'\n[[questions]]\nid = "many"\nkind = "choice"\ndomain = {domain}\nepsilon = 1.0\n'
        f'mechanism = "unary"\n'
    )


def read_contracts(folder: Path) -> dict[str, Collection]:
    """The contracts of a folder, by name."""
    found = {path.stem: Collection.load(path) for path in (folder / "contracts").glob("*.json")}
    return dict(sorted(found.items()))


def make_contracts(folder: Path) -> dict[str, Any]:
    """Collection files and their contracts, the second revision of one among them."""
    place = folder / "contracts"
    place.mkdir()
    for name, text in collection_files(add_key(folder / "gateway.pem")).items():
        (place / f"{name}.toml").write_text(text)
        Collection.load(place / f"{name}.toml").save(place / f"{name}.json")
    first = Collection.load(place / "survey.json")
    text = f'revision = 2\nprevious = "{first.digest}"\n'
    head = _HEAD.format(series="survey")
    survey = (place / "survey.toml").read_text()
    (place / "survey-2.toml").write_text(head + text + survey.removeprefix(head))
    Collection.load(place / "survey-2.toml").save(place / "survey-2.json")
    return {
        name: {
            "digest": collection.digest,
            "epsilon": {
                question.id: question.mechanism.epsilon for question in collection.questions
            },
            "revision": collection.revision,
            "admission": collection.admission,
        }
        for name, collection in read_contracts(folder).items()
    }


def rows(collection: Collection, question: str, values: Sequence[int], seed: int) -> Reports:
    """Reports of values with ids in front, the same ones in every run."""
    reports = (
        collection.question(question)
        .mechanism.without_labels()
        .privatize(values, random=Seeded(seed))
    )
    names = [hashlib.sha256(f"{seed} {n}".encode()).digest()[:16] for n in range(len(values))]
    ids = np.frombuffer(b"".join(names), np.uint8).reshape(-1, 16)
    return np.concatenate([ids, reports], axis=1)


# Reports files and summaries


def estimate_of(contract: Path, reports: Path) -> list[dict[str, Any]]:
    """What `rumor estimate` says of each label, without shrinking anything."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        command = ["estimate", str(contract), str(reports), "-q", "colour", "-m", "inversion"]
        assert rumor([*command, "--json"]) == 0
    document = json.loads(said.getvalue())
    names = ("value", "unbiased", "stderr")
    return [{name: row[name] for name in names} for row in document["estimates"]]


def make_files(folder: Path) -> dict[str, Any]:
    """A reports file with a kept column, and the summary of its reports."""
    contract = folder / "contracts" / "survey.json"
    collection = Collection.load(contract)
    question, path = collection.question("colour"), folder / "reports.parquet"
    strata = pa.schema([("country", pa.string())])
    summary = Summary.empty(question.mechanism, contract=collection.digest, question="colour")
    with write_reports(path, collection, question, strata=strata, random=Seeded(5)) as writer:
        for day, count in ((1, 60), (2, 40)):
            values = [number % 3 % 2 for number in range(count)]
            reports = rows(collection, "colour", values, day)[:, 16:]
            kept = {"country": pa.array(["DE", "FR"] * (count // 2))}
            writer.write(np.ascontiguousarray(reports), datetime.date(2026, 11, day), kept)
            summary = summary.update(np.ascontiguousarray(reports))
    summary.save(folder / "colour.summary")
    return {
        "reports": 100,
        "tally": summary.tally.tolist(),
        "estimates": estimate_of(contract, path),
        "first day": 60,
    }


# Stores


def on_day(year: int, month: int, day: int) -> contextlib.AbstractContextManager[object]:
    """While this lasts, reports arrive on a day."""
    return mock.patch.object(ingest, "today", return_value=datetime.date(year, month, day))


def fill(store: Store, known: dict[str, Collection]) -> None:
    """Write two revisions, the first closed; reports withdrawn, expired and not counted yet."""

    def write(entry: StoredCollection, question: str, count: int, seed: int) -> Reports:
        made = rows(entry.collection, question, [n % 3 for n in range(count)], seed)
        store.write([ReportBatch(entry.questions[question], made)])
        return made

    first = store.register(known["survey"])
    with on_day(2026, 9, 1):
        write(first, "colour", 12, 11)
        write(first, "many", 5, 12)
    with on_day(2026, 9, 2):
        write(first, "colour", 3, 13)
    second = store.register(known["survey-2"], revise=True)
    with on_day(2026, 10, 20):
        old = write(second, "colour", 10, 14)
        write(second, "many", 6, 15)
    with on_day(2026, 11, 15):
        new = write(second, "colour", 9, 16)
        write(second, "many", 4, 17)
    store.withdraw(second, "colour", np.concatenate([old[:1, :16], new[:2, :16]]))
    store.close_collection(known["survey"].digest)
    # Of colour, everything from before the end of October is deleted and stays counted.
    store.expire(datetime.date(2026, 11, 30))
    club = store.register(known["club"])
    for code in INVITATIONS:
        store.admit("club", admission_keys(club.collection, code))
    with on_day(2026, 11, 15):
        shown = token(read_invitation(INVITATIONS[0]), "club", "colour", 0)
        made = rows(club.collection, "colour", [1], 18)
        store.write(
            [ReportBatch(club.questions["colour"], made, admission_key("club", "colour", shown))]
        )
    store.summarize()
    with on_day(2026, 11, 16):
        write(second, "colour", 3, 19)


def contents(store: Store) -> dict[str, Any]:
    """All that a store says of its collections, with everything counted."""
    store.summarize()
    return {
        entry.collection.digest: {
            "state": entry.state,
            "questions": {
                question.id: {
                    "counted": store.summary(entry, question.id).reports,
                    "tally": store.summary(entry, question.id).tally.tolist(),
                    "reports": reports_in(store, entry, question.id),
                    "spent": sorted(
                        bytes(id).hex()
                        for part in store.spent_ids(entry, question.id)
                        for id in part
                    ),
                }
                for question in entry.collection.questions
            },
        }
        for entry in store.collections()
    }


def reports_in(store: Store, entry: StoredCollection, question: str) -> dict[str, list[str]]:
    """By their ids, the day and the bytes of reports that are still there."""
    found = {
        bytes(id).hex(): [part.day.isoformat(), bytes(report).hex()]
        for part in store.reports(entry, question)
        for id, report in zip(part.ids, part.reports, strict=True)
    }
    return dict(sorted(found.items()))


def told_by(url: str) -> dict[str, Any]:
    """What a copy of a store says; counting what is new is left to whoever reads the original."""
    with closing(open_store(url)) as store:
        return {"collections": contents(store), "admissions": store.admissions("club")}


def make_stores(folder: Path) -> dict[str, Any]:
    """The same contents in SQLite and in PostgreSQL, and an export of the second revision."""
    import psutil

    from tests.collector.postgres import Postgres

    known = read_contracts(folder)
    with closing(open_store(f"sqlite:///{folder / 'store.db'}")) as store:
        fill(store, known)
    (folder / "copy.db").write_bytes((folder / "store.db").read_bytes())
    told = told_by(f"sqlite:///{folder / 'copy.db'}")
    with closing(open_store(f"sqlite:///{folder / 'copy.db'}")) as store:
        done = export_collection(store, known["survey-2"].digest, folder / "export")
    (folder / "copy.db").unlink()
    server = Postgres.shared()
    try:
        url = server.new_database()
        with closing(open_store(url)) as store:
            fill(store, known)
        program = Path(psutil.Process(server.pid).exe()).with_name("pg_dump")
        options = ["--schema=rumor", "--inserts", "--no-owner", "--no-privileges", url]
        dump = subprocess.run([program, *options], capture_output=True, check=True, text=True)
        # Commands of psql, which only psql understands.
        lines = [line for line in dump.stdout.splitlines() if not line.startswith("\\")]
        (folder / "postgresql.sql").write_text("\n".join(lines) + "\n")
        assert told_by(url) == told
    finally:
        server.release()
    return {"store": told, "export": {"reports": done.reports, "counted": done.counted}}


# The relay and the gateway


def make_relay(folder: Path) -> dict[str, Any]:
    """Make a relay's store: envelopes delivered, under way and waiting; of `many` a whole crowd."""
    collection = Collection.load(folder / "contracts" / "relayed.json")
    day = datetime.date(2026, 11, 16)
    told: dict[str, dict[str, str]] = {}
    repeated = b""
    with closing(RelayStore(f"sqlite:///{folder / 'relay.db'}")) as store:
        store.register(collection)
        colour, many = store.classes()
        store.release(20_773 * 86_400.0, 86_400.0, day)

        def keep(of: Any, name: str, count: int, seed: int) -> list[bytes]:
            made = rows(collection, of.question, [n % 3 for n in range(count)], seed)
            kind = EnvelopeFormat.of(collection, collection.question(of.question))
            sealed = [kind.seal(r[:16].tobytes(), None, r[16:].tobytes()) for r in made]
            told[name] = {r[:16].tobytes().hex(): r[16:].tobytes().hex() for r in made}
            assert all(store.keep([ArrivedEnvelope(of.number, each) for each in sealed]))
            return sealed

        delivered = keep(colour, "delivered", 4, 21)
        store.release(20_774 * 86_400.0, 86_400.0, day)
        store.delivered(RelayBatch(colour), delivered, day)
        keep(colour, "under way", 5, 22)
        store.release(20_775 * 86_400.0, 86_400.0, day)
        keep(colour, "waiting", 3, 23)
        keep(many, "waiting crowd", 4, 24)
        store.tidy(thorough=True)
        repeated = delivered[0]
    shown = add_token(folder / "tokens", "relay")
    return {"envelopes": told, "delivered": repeated.hex(), "token": shown}


def make_envelopes(folder: Path) -> dict[str, Any]:
    """One envelope of each kind of admission, and what the gateway finds in it."""
    known, found = read_contracts(folder), {}
    secret, message = SECRETS[0], token_message(new_opening())
    hidden = blind(secret.public, message)
    signature = finalize(secret.public, message, blind_sign(secret, hidden.message), hidden.inverse)
    shown = token(read_invitation(INVITATIONS[0]), "relayed-club", "colour", 0)
    tokens = {"relayed": None, "relayed-club": shown, "relayed-blind": message + signature}
    for name, given in tokens.items():
        question = known[name].question("colour")
        row = rows(known[name], "colour", [2], 31)[0].tobytes()
        id, report = token_id(message) if name == "relayed-blind" else row[:16], row[16:]
        sealed = EnvelopeFormat.of(known[name], question).seal(id, given, report)
        key = None if given is None else admission_key(name, "colour", given)
        (folder / f"{name}.envelope").write_bytes(sealed)
        found[name] = {
            "id": id.hex(),
            "report": report.hex(),
            "key": key.hex() if key is not None and name == "relayed-club" else None,
        }
    return found


# The issuer


def make_issuer(folder: Path) -> dict[str, Any]:
    """Keys, and a store in which one of two invited people has had a token signed."""
    collection = Collection.load(folder / "contracts" / "blind.json")
    keys = IssuerKeys("blind", dict(zip(("colour", "other"), SECRETS, strict=True)))
    keys.save(folder / "issuer.json")
    wanted = BlindedToken(
        key_name(keys.secrets["colour"].public),
        0,
        blind(keys.secrets["colour"].public, token_message(bytes(range(48)))).message,
    )
    with closing(open_store(f"sqlite:///{folder / 'issuer.db'}")) as store:
        invite(store, *INVITATIONS, series="blind")
        shown = credential(read_invitation(INVITATIONS[0]), "blind")
        (signed,) = asyncio.run(IssuerService(store, collection, keys).sign(shown, [wanted]))
    return {
        "key": wanted.key.hex(),
        "number": wanted.number,
        "blinded": wanted.blinded.hex(),
        "signature": signed.hex(),
        "invited": 2,
    }


def pack(folder: Path) -> None:
    """Compress databases, which are mostly zeros: nobody opens, and so changes, the original."""
    for path in folder.rglob("*.lock"):
        path.unlink()
    for path in [*folder.rglob("*.db"), *folder.rglob("*.sqlite3")]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()


def main(folder: Path) -> None:
    """Make the folder, which must not exist."""
    folder.mkdir(parents=True)
    made = {
        "invitations": INVITATIONS,
        "contracts": make_contracts(folder),
        "files": make_files(folder),
        **make_stores(folder),
        "relay": make_relay(folder),
        "sealed": make_envelopes(folder),
        "issuer": make_issuer(folder),
        **make_later(folder, rows),
    }
    pack(folder)
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in made.items()]
    (folder / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
