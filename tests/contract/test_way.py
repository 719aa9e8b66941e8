"""What hides whose a report is: a revision may hide more, never less; devices hold it to that."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from rumor.cli import main
from rumor.client.respondent import Respondent
from rumor.collector.store.base import open_store
from rumor.contract.collection import Collection
from rumor.contract.sender_anonymity import SenderAnonymity
from rumor.core.errors import InputError
from tests.client.test_asked import TO_VERSION_7
from tests.vectors.make_device import COLOUR, RELAY

WAYS = [
    SenderAnonymity(issuer is not None, relay, crowd, issuer, hours)
    for issuer in (None, "https://i", "https://j")
    for relay, crowd, hours in (
        (None, None, None),
        ("https://a", 10, None),
        ("https://a", 11, None),
        ("https://b", 10, None),
        ("https://a", 10, 24),
        ("https://a", 11, 48),
    )
]


def collection(**more: object) -> Collection:
    wish = {"name": "n", "series": "s", "contact": "x", "questions": [dict(COLOUR)], **more}
    return Collection.resolve(wish)


def revised(before: Collection, after: Collection) -> Collection:
    return replace(after, revision=before.revision + 1, previous=before.digest)


def kept(ways: Sequence[SenderAnonymity]) -> bool:
    try:
        for before, after in itertools.pairwise(ways):
            before.check_not_weaker(after, "s")
    except InputError:
        return False
    return True


def test_no_sequence_of_revisions_hides_less_than_any_before_it() -> None:
    for ways in itertools.product(WAYS, repeat=3):
        if kept(ways):
            for before, after in itertools.combinations(ways, 2):
                assert kept([before, after])
                assert after.blind or not before.blind
                assert before.issuer in (None, after.issuer)
                if before.relay is not None:
                    assert after.relay == before.relay
                    assert (after.crowd or 0) >= (before.crowd or 0)
                    assert (after.turn_hours or 0) >= (before.turn_hours or 0)


@pytest.mark.parametrize("way", WAYS)
def test_a_way_that_stays_is_kept(way: SenderAnonymity) -> None:
    way.check_not_weaker(way, "s")


def test_an_operator_is_told_what_devices_will_refuse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = collection(relay=RELAY)
    longer = revised(first, collection(relay={**RELAY, "days": 30}))
    bare = revised(longer, collection())
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with closing(open_store(url)) as store:
        store.register(first)
    said = []
    for number, contract in enumerate((longer, bare)):
        contract.save(tmp_path / f"{number}.json")
        assert (
            main(["collections", "revise", str(tmp_path / f"{number}.json"), "--store", url]) == 0
        )
        said.append(capsys.readouterr().out.splitlines())
    assert [len(lines) for lines in said] == [1, 2]
    assert said[1][1] == (
        "Devices that answered before will not take it: a revision must not weaken sender "
        "anonymity: series 's' sends reports through https://relay.example and this revision does "
        "not; start a new series"
    )


def test_a_revision_that_is_refused_costs_nothing(tmp_path: Path) -> None:
    first = collection(relay=RELAY, questions=[{**COLOUR, "reports_per_person": 2}])
    bare = revised(first, replace(first, relay=None))
    with Respondent(tmp_path) as device:
        device.prepare(first, {"colour": "red"})
        spent = device.spent
        with pytest.raises(InputError, match="a revision must not weaken sender anonymity"):
            device.prepare(bare, {"colour": "red"})
        assert device.spent == spent
        device.prepare(first, {"colour": "red"})


def test_an_older_ledger_is_held_to_the_way_of_its_next_answer(tmp_path: Path) -> None:
    question = {**COLOUR, "reports_per_person": 3}
    first = collection(relay=RELAY, questions=[question])
    bare = revised(first, collection(questions=[question]))
    with Respondent(tmp_path) as device:
        device.prepare(first, {"colour": "red"})
        device._ledger._database.executescript(
            f"{TO_VERSION_7}"
            "ALTER TABLE pin DROP COLUMN blind; ALTER TABLE pin DROP COLUMN relay;"
            "ALTER TABLE pin DROP COLUMN crowd; PRAGMA user_version = 6"
        )
    with Respondent(tmp_path) as device:
        device.prepare(first, {"colour": "red"})
        with pytest.raises(InputError, match="this revision does not"):
            device.prepare(bare, {"colour": "red"})
