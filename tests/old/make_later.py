"""Make artefacts of the formats that came after 0.1.0: groups, turns, parts, ledgers of people.

make_old.py calls this. Folders that exist are never made again (tests/old/README.md).
"""

from __future__ import annotations

import contextlib
import datetime
import io
from contextlib import closing
from pathlib import Path
from typing import Any

import rumor
from rumor.cli import main as rumor_command
from rumor.collector.backup import export_collection
from rumor.collector.relay.store import ArrivedEnvelope, EnvelopeBatch, RelayStore
from rumor.collector.store.base import ReportBatch, Store, open_store
from rumor.contract.collection import Collection
from rumor.contract.envelope import EnvelopeFormat
from rumor.contract.relay import turn_at

NOON = datetime.datetime(2026, 11, 16, 12, tzinfo=datetime.UTC).timestamp()
PEOPLE = 24
_EVENTS = "person,colour\n" + "".join(
    f"u{n},{('red', 'green', 'blue')[n % 3]}\n" for n in range(PEOPLE)
)


def later_files(choice: str, relay: str) -> dict[str, tuple[str, str]]:
    """Return the heads and questions of collections that came later, by series."""
    colour = choice.format(id="colour")
    groups = 'groups = { country = ["DE", "FR", "other"] }\n'
    return {
        "grouped": (groups, colour),
        "turning": (relay.replace("days = 3650", "days = 3650\nturn_hours = 24"), colour),
        "people": ("", colour + "reports_per_person = 2\n"),
    }


def grouped_contents(store: Store, collection: Collection) -> dict[str, Any]:
    """Return what a store says of each combination of groups."""
    store.summarize()
    entry = store.find(collection.digest)
    return {
        str(stratum): {
            "counted": store.summary(entry, "colour", strata=[stratum]).reports,
            "tally": store.summary(entry, "colour", strata=[stratum]).tally.tolist(),
        }
        for stratum in range(3)
    } | {"reports": sum(len(part.ids) for part in store.reports(entry, "colour"))}


def make_groups(folder: Path, rows: Any) -> dict[str, Any]:
    """Make a store whose collection has groups, and its export."""
    collection = Collection.load(folder / "contracts" / "grouped.json")
    with closing(open_store(f"sqlite:///{folder / 'grouped.db'}")) as store:
        entry = store.register(collection)
        for stratum, count in enumerate((5, 3, 2)):
            made = rows(collection, "colour", [n % 3 for n in range(count)], 40 + stratum)
            store.write([ReportBatch(entry.questions[f"colour/{stratum}"], made)])
        told = grouped_contents(store, collection)
        export_collection(store, collection.digest, folder / "grouped-export")
    return told


def make_turns(folder: Path, rows: Any) -> dict[str, Any]:
    """Make a relay's store with envelopes of a turn, and say what is in them."""
    collection = Collection.load(folder / "contracts" / "turning.json")
    turn = turn_at(NOON, 24)
    form = EnvelopeFormat.of(collection, collection.question("colour"), turn)
    made = rows(collection, "colour", [n % 3 for n in range(6)], 50)
    sealed = [form.seal(row[:16].tobytes(), None, row[16:].tobytes()) for row in made]
    with closing(RelayStore(f"sqlite:///{folder / 'turns.db'}")) as store:
        store.register(collection)
        (kind,) = store.classes()
        assert all(store.keep([ArrivedEnvelope(kind.number, each, turn) for each in sealed[:5]]))
        assert store.waiting(EnvelopeBatch(kind, turn)) == 5
    (folder / "turning.envelope").write_bytes(sealed[5])
    return {
        "turn": turn,
        "kept": [each.hex() for each in sealed[:5]],
        "id": made[5][:16].tobytes().hex(),
        "report": made[5][16:].tobytes().hex(),
    }


def make_tables(folder: Path) -> dict[str, Any]:
    """Make a folder of parts from a table of people, with their ledger; and a summary with ids."""
    (folder / "events.csv").write_text(_EVENTS)
    contract = folder / "contracts" / "people.json"
    made = rumor.privatize(
        contract,
        folder / "events.csv",
        f"{folder / 'parts'}/",
        person="person",
        ledger=folder / "people.ledger",
        day=datetime.date(2026, 11, 16),
    )
    assert made.people is not None
    command = ["estimate", str(folder / "contracts" / "survey.json")]
    with contextlib.redirect_stdout(io.StringIO()):
        saved = [str(folder / "reports.parquet"), "--save-summary", str(folder / "ids.summary")]
        assert rumor_command([*command, *saved, "-q", "colour"]) == 0
    return {
        "reports": made.reports,
        "epsilon": made.people.epsilon,
        "people": len(_EVENTS.splitlines()) - 1,
    }


def make_later(folder: Path, rows: Any) -> dict[str, Any]:
    """Make everything; return what the present code says of it."""
    return {
        "groups": make_groups(folder, rows),
        "turns": make_turns(folder, rows),
        "tables": make_tables(folder),
    }
