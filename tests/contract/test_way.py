"""What hides whose a report is: a revision may hide more, never less; devices hold it to that."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rumor.client.respondent import Respondent
from rumor.contract.admission import new_invitation
from rumor.contract.collection import Collection
from rumor.contract.way import Way
from rumor.core.errors import InputError
from tests.vectors.make_device import COLOUR, RELAY

WAYS = [
    Way(linked, *relay)
    for linked in (False, True)
    for relay in ((None, None), ("https://a", 10), ("https://a", 11), ("https://b", 10))
]


def collection(**more: object) -> Collection:
    wish = {"name": "n", "series": "s", "contact": "x", "questions": [dict(COLOUR)], **more}
    return Collection.resolve(wish)


def revised(before: Collection, after: Collection) -> Collection:
    return replace(after, revision=before.revision + 1, previous=before.digest)


def kept(ways: Sequence[Way]) -> bool:
    try:
        for before, after in itertools.pairwise(ways):
            before.check_kept(after, "s")
    except InputError:
        return False
    return True


def test_no_sequence_of_revisions_hides_less_than_any_before_it() -> None:
    for ways in itertools.product(WAYS, repeat=3):
        if kept(ways):
            for before, after in itertools.combinations(ways, 2):
                assert kept([before, after])
                assert before.linked or not after.linked
                if before.relay is not None:
                    assert after.relay == before.relay
                    assert (after.crowd or 0) >= (before.crowd or 0)


@pytest.mark.parametrize("way", WAYS)
def test_a_way_that_stays_is_kept(way: Way) -> None:
    way.check_kept(way, "s")


def test_an_operator_is_told_before_devices_refuse() -> None:
    first = collection(relay=RELAY)
    with pytest.raises(InputError, match=r"of 's', reports go through .*, and no longer would"):
        revised(first, collection()).check_revises(first)
    other_key = collection(relay={**RELAY, "days": 30})
    revised(first, other_key).check_revises(first)


def test_a_device_refuses_to_be_linked_and_spends_nothing(tmp_path: Path) -> None:
    first = collection(questions=[{**COLOUR, "reports_per_person": 2}])
    linked = revised(first, replace(first, admission="invited"))
    invitation = new_invitation()
    with Respondent(tmp_path) as device:
        device.prepare(first, {"colour": "red"})
        spent = device.spent
        with pytest.raises(InputError, match="invitations did not tell whose a report is"):
            device.prepare(linked, {"colour": "red"}, invitation=invitation)
        assert device.spent == spent
        device.prepare(first, {"colour": "red"})


def test_an_older_ledger_is_held_to_the_way_of_its_next_answer(tmp_path: Path) -> None:
    question = {**COLOUR, "reports_per_person": 3}
    first = collection(relay=RELAY, questions=[question])
    bare = revised(first, collection(questions=[question]))
    with Respondent(tmp_path) as device:
        device.prepare(first, {"colour": "red"})
        device._ledger._database.executescript(
            "ALTER TABLE pin DROP COLUMN linked; ALTER TABLE pin DROP COLUMN relay;"
            "ALTER TABLE pin DROP COLUMN crowd; PRAGMA user_version = 6"
        )
    with Respondent(tmp_path) as device:
        device.prepare(first, {"colour": "red"})
        with pytest.raises(InputError, match="and no longer would"):
            device.prepare(bare, {"colour": "red"})
