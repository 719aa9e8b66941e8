"""A blind token is spent once in a series: across revisions, deletion, closing and backups."""

from __future__ import annotations

import datetime
import secrets
from pathlib import Path

import numpy as np
import pytest

import rumor
from rumor.collector.backup import export_collection, import_collection
from rumor.collector.store import ingest
from rumor.collector.store.base import (
    BatchAccepted,
    IdConflict,
    ReportBatch,
    Store,
    StoredCollection,
    open_store,
)
from rumor.collector.store.sql import SqlStore
from rumor.contract.collection import Collection
from tests.collector.tools import stored
from tests.issuers import blind_collection

DAY = datetime.date(2026, 3, 1)
RULES = {"kind": "choice", "epsilon": 1.0, "retention_days": 1}
QUESTIONS = [
    {"id": "colour", "labels": ["red", "green"], **RULES},
    {"id": "home", "labels": ["blank", "news"], **RULES},
]


def revisions() -> tuple[Collection, Collection]:
    first = blind_collection(questions=QUESTIONS)
    return first, blind_collection(
        questions=QUESTIONS, name="Again", revision=2, previous=first.digest
    )


@pytest.fixture(autouse=True)
def _on_one_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "today", lambda: DAY)


def spend(store: Store, entry: StoredCollection, id: bytes, question: str = "colour") -> object:
    """What becomes of a report that is named by its token."""
    mechanism = entry.collection.question(question).mechanism.without_labels()
    row = np.frombuffer(id + mechanism.privatize([0]).tobytes(), np.uint8)[None]
    (found,) = store.write([ReportBatch(entry.questions[question], row)])
    return found


def both(store: Store) -> tuple[StoredCollection, StoredCollection]:
    first, second = revisions()
    return store.register(first), store.register(second, revise=True)


def withdraw(store: Store, entry: StoredCollection, id: bytes) -> None:
    assert store.withdraw(entry, "colour", np.frombuffer(id, np.uint8)[None]) == 1


def expire(store: Store, entry: StoredCollection, id: bytes) -> None:
    assert store.expire(DAY + datetime.timedelta(days=5)) == 1


LEAVES = {"withdrawn": withdraw, "expired": expire}


@pytest.mark.parametrize("leave", LEAVES)
@pytest.mark.parametrize("close_first", [False, True])
def test_closing_a_revision_gives_no_token_back(
    store: Store, leave: str, close_first: bool
) -> None:
    one, two = both(store)
    id = secrets.token_bytes(16)
    assert spend(store, one, id) == BatchAccepted(1, 0)
    if close_first:
        store.close_collection(one.collection.digest)
    LEAVES[leave](store, one, id)
    if not close_first:
        store.close_collection(one.collection.digest)
    assert spend(store, two, id) == IdConflict((0,))
    # When no open contract takes tokens of this key, the id has done its work.
    store.close_collection(two.collection.digest)
    assert isinstance(store, SqlStore)
    with store.database.reading() as run:
        assert run("SELECT * FROM report") == []


@pytest.mark.parametrize("leave", LEAVES)
def test_deleting_a_revision_gives_no_token_back(store: Store, leave: str) -> None:
    one, two = both(store)
    gone, here = secrets.token_bytes(16), secrets.token_bytes(16)
    assert spend(store, one, gone) == BatchAccepted(1, 0)
    LEAVES[leave](store, one, gone)
    assert spend(store, one, here) == BatchAccepted(1, 0)
    store.delete_collection(one.collection.digest)
    for id in (gone, here):
        assert spend(store, two, id) == BatchAccepted(0, 1)  # taken for one that was there
    assert stored(store, two, "colour") == {}
    assert store.summarize() == 0


@pytest.mark.parametrize("leave", LEAVES)
@pytest.mark.parametrize("turned", [False, True])
def test_a_restored_series_knows_its_spent_tokens(
    store: Store, tmp_path: Path, leave: str, turned: bool
) -> None:
    one, two = both(store)
    id = secrets.token_bytes(16)
    spend(store, one, id)
    LEAVES[leave](store, one, id)
    store.close_collection(one.collection.digest)
    folders = [tmp_path / "one", tmp_path / "two"]
    for entry, folder in zip((one, two), folders, strict=True):
        export_collection(store, entry.collection.digest, folder)
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    for folder in folders[:: -1 if turned else 1]:
        import_collection(other, folder)
    assert spend(other, other.find(two.collection.digest), id) == IdConflict((0,))
    other.close()


def test_a_deleted_revision_can_be_restored(store: Store, tmp_path: Path) -> None:
    one, two = both(store)
    id = secrets.token_bytes(16)
    spend(store, one, id)
    export_collection(store, one.collection.digest, tmp_path / "one")
    store.delete_collection(one.collection.digest)
    assert spend(store, two, id) == BatchAccepted(0, 1)
    import_collection(store, tmp_path / "one")
    back = store.find(one.collection.digest)
    assert set(stored(store, back, "colour")) == {id}
    assert spend(store, two, id) == IdConflict((0,))


def test_other_keys_and_other_series_keep_nothing(store: Store) -> None:
    first, second = revisions()
    one = store.register(first)
    assert second.issuer is not None
    keys = second.issuer.contract()["keys"]
    assert isinstance(keys, dict)
    swapped = {"url": second.issuer.url, "keys": {"colour": keys["home"]}}
    elsewhere = blind_collection(series="other", questions=QUESTIONS)
    store.register(elsewhere)
    id = secrets.token_bytes(16)
    spend(store, one, id)
    withdraw(store, one, id)
    turned = store.register(
        blind_collection(
            questions=QUESTIONS[:1], issuer=swapped, name="Turned", revision=2,
            previous=first.digest,
        ),
        revise=True,
    )  # fmt: skip
    # The key of "home" admits to "colour" there, so only ids of "home" stay.
    home = secrets.token_bytes(16)
    spend(store, one, home, "home")
    store.withdraw(one, "home", np.frombuffer(home, np.uint8)[None])
    store.close_collection(first.digest)
    assert [bytes(ids) for ids in store.spent_ids(one, "home")] == [home]
    assert list(store.spent_ids(one, "colour")) == []
    assert spend(store, turned, home) == IdConflict((0,))


def test_a_key_whose_spent_tokens_are_forgotten_is_refused(store: Store) -> None:
    first, second = revisions()
    store.register(first)
    store.close_collection(first.digest)
    with pytest.raises(rumor.InputError, match=r"key of question 'colour'.*rumor issue keys"):
        store.register(second, revise=True)
    assert store.register(first).open is False
    assert len(store.collections()) == 1


def test_a_key_that_an_open_collection_takes_goes_on(store: Store) -> None:
    """Whichever of those that took its tokens is closed: one that is open knows what was spent."""
    first, second = both(store)
    store.close_collection(first.collection.digest)
    third = blind_collection(
        questions=QUESTIONS, name="Third", revision=3, previous=second.collection.digest
    )
    assert store.register(third, revise=True).open
    assert [entry.state for entry in store.collections()] == ["closed", "superseded", "open"]
