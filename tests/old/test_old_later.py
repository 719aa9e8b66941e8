"""Groups, turns, folders of parts and ledgers of people of older versions: read, and gone on with.

No artefact of 0.1.0 has them.
"""

from __future__ import annotations

import gzip
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import rumor
from rumor.cli import main
from rumor.collector.gateway import read_keys
from rumor.collector.relay.release_times import last_moment
from rumor.collector.relay.store import ArrivedEnvelope, EnvelopeBatch, RelayStore
from rumor.collector.store.base import BatchAccepted, ReportBatch, open_store
from rumor.contract.collection import Collection
from rumor.contract.envelope import EnvelopeFormat
from rumor.core.errors import InputError
from rumor.mechanisms.summary import Summary
from tests.collector.tools import rows
from tests.old.kept import HERE, copied
from tests.old.make_later import NOON, PEOPLE, grouped_contents
from tests.old.make_old import estimate_of

VERSIONS = [path.parent.name for path in sorted(HERE.glob("*/grouped.db.gz"))]
Old = tuple[Path, dict[str, Any]]


@pytest.fixture(params=VERSIONS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Old:
    """A copy of what a version wrote, and what that version said of it."""
    return copied(HERE / request.param, tmp_path / "old")


def test_groups_in_stores_go_on(old: Old) -> None:
    folder, told = old
    collection = Collection.load(folder / "contracts" / "grouped.json")
    with closing(open_store(f"sqlite:///{folder / 'grouped.db'}")) as store:
        assert grouped_contents(store, collection) == told["groups"]
        entry = store.find(collection.digest)
        new = ReportBatch(entry.questions["colour/1"], rows(entry, "colour", [0, 1]))
        assert store.write([new]) == [BatchAccepted(2, 0)]
        found = grouped_contents(store, collection)
        assert found["1"]["counted"] == told["groups"]["1"]["counted"] + 2
        assert [found[name] for name in "02"] == [told["groups"][name] for name in "02"]


def test_exports_with_groups_are_put_back(old: Old) -> None:
    folder, told = old
    url = f"sqlite:///{folder / 'new.db'}"
    assert main(["import", str(folder / "grouped-export"), "--store", url]) == 0
    with closing(open_store(url)) as store:
        collection = Collection.load(folder / "contracts" / "grouped.json")
        assert grouped_contents(store, collection) == told["groups"]


def test_turns_in_relay_stores_go_on(old: Old) -> None:
    """What was kept is known; the batch goes out in the next turn, whole."""
    folder, told = old
    turns = told["turns"]
    kept = [bytes.fromhex(each) for each in turns["kept"]]
    with closing(RelayStore(f"sqlite:///{folder / 'turns.db'}")) as store:
        (kind,) = store.classes()
        batch_of_turn = EnvelopeBatch(kind, turns["turn"])
        assert store.waiting(batch_of_turn) == len(kept)
        again = [ArrivedEnvelope(kind.number, each, turns["turn"]) for each in kept]
        assert store.keep(again) == [False] * len(kept)
        moment = last_moment(NOON + 86_400.0, 24)
        assert moment is not None
        (released,) = store.release_turns(NOON + 86_400.0)
        assert released.released == len(kept)
        assert store.under_way(batch_of_turn, 9) == sorted(kept)


def test_envelopes_of_a_turn_open(old: Old) -> None:
    folder, told = old
    turns = told["turns"]
    collection = Collection.load(folder / "contracts" / "turning.json")
    assert collection.relay is not None
    key = read_keys(folder / "gateway.pem")[collection.relay.key]
    sealed = (folder / "turning.envelope").read_bytes()
    question = collection.question("colour")
    form = EnvelopeFormat.of(collection, question, turns["turn"])
    opened = form.open(key, sealed, collection)
    assert opened is not None
    assert (opened[0].id.hex(), opened[1].hex()) == (turns["id"], turns["report"])
    later = EnvelopeFormat.of(collection, question, turns["turn"] + 1)
    assert later.open(key, sealed, collection) is None


def test_folders_of_parts_are_read(old: Old, capsys: pytest.CaptureFixture[str]) -> None:
    folder, told = old
    contract = folder / "contracts" / "people.json"
    assert main(["estimate", str(contract), str(folder / "parts"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["reports"] == told["tables"]["reports"] == PEOPLE
    given = [str(contract), str(folder / "events.csv"), "-o", str(folder / "parts"), "--resume"]
    more = ["--person", "person", "--ledger", str(folder / "people.ledger")]
    assert main(["privatize", *given, *more, "--day", "2026-11-16"]) == 2
    assert "are complete (24): nothing is left to make" in capsys.readouterr().err


def test_ledgers_of_people_go_on(old: Old) -> None:
    """Everybody has one report left, under the names that the old key gave them."""
    folder, told = old
    contract, events = folder / "contracts" / "people.json", folder / "events.csv"
    ledger = folder / "people.ledger"
    spent = told["tables"]["epsilon"]
    made = rumor.privatize(
        contract, events, folder / "more.parquet", person="person", ledger=ledger
    )
    assert made.people is not None
    assert made.reports == PEOPLE
    assert made.people.epsilon_series == pytest.approx(2 * spent, rel=1e-12)
    with pytest.raises(InputError, match="a report needs a person who may still answer"):
        rumor.privatize(contract, events, folder / "most.parquet", person="person", ledger=ledger)


def test_summaries_with_ids_are_read_and_not_added_twice(old: Old) -> None:
    folder, told = old
    path = folder / "ids.summary"
    summary = Summary.load(path)
    assert path.read_bytes().startswith(b"rumor summary 2\n")
    assert summary.to_bytes() == path.read_bytes()
    assert summary.tally.tolist() == told["files"]["tally"]
    found = estimate_of(folder / "contracts" / "survey.json", path)
    assert [row["value"] for row in found] == [row["value"] for row in told["files"]["estimates"]]
    with pytest.raises(InputError, match="both count some reports"):
        rumor.merge([summary, summary])


def test_reports_of_older_versions_are_drawn_to_the_bit() -> None:
    """Every vector that clients of a version reproduced is one that present clients reproduce."""
    text = (HERE.parent / "vectors" / "client.json").read_text()
    now = {line.rstrip("],}") for line in text.splitlines()}
    kept = sorted(HERE.glob("*/vectors.json.gz"))
    assert kept[0].parent.name == "0.1.0"
    for path in kept:
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        assert len(lines) > 3_000
        changed = [line for line in lines if line.rstrip("],}") not in now]
        assert not changed, changed[0]
