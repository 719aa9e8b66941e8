"""Estimates that are read every day: by HTTP and in the dashboard, valid at any look."""

from __future__ import annotations

import datetime
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rumor.cli.serve import registered
from rumor.collector.backup import export_collection, import_collection
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store import ingest
from rumor.collector.store.base import Store, open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.core.exact import PLANNED
from rumor.kinds import KINDS
from tests.collector.tools import batch, call, collection
from tests.results import made

DAYS = 60
EACH_DAY = 150
SHARES = (0.5, 0.3, 0.2)


def test_the_planned_number_is_fixed_by_the_first_report(store: Store) -> None:
    first = collection()
    assert store.register(first).users == PLANNED
    assert store.register(first, users=900).users == 900, "nobody has answered yet"
    entry = store.register(first, users=700)
    store.write([batch(entry, "many", [3])])
    assert store.register(first, users=900).users == 700
    assert store.register(first).users == 700
    revised = replace(first, name="Asked again")
    assert store.register(revised, revise=True).users == 700, "a revision has that of its series"
    assert store.register(collection(series="other")).users == PLANNED


def test_a_collector_that_starts_again_does_not_plan_anew(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    for users in (300, 9_000, None):
        with closing(registered(url, collection(), users)) as opened:
            entry = opened.find(collection().digest)
            assert entry.users == 300
            opened.write([batch(entry, "colour", [1])])


def test_an_export_keeps_the_planned_number(store: Store, tmp_path: Path) -> None:
    entry = store.register(collection(), users=700)
    store.write([batch(entry, "colour", [0, 1, 2])])
    export_collection(store, entry.collection.digest, tmp_path / "out")
    with closing(open_store(f"sqlite:///{tmp_path / 'new.db'}")) as other:
        import_collection(other, tmp_path / "out")
        assert other.find(entry.collection.digest).users == 700


def test_sixty_days_of_reading_one_dashboard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each day people answer, and an analyst reads: no interval of any look ever misses."""
    rng = np.random.default_rng(8)
    opened = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = opened.register(collection(), users=5_000)
    token = add_token(tmp_path / "tokens", "alice")
    service = Service(opened, "series", tokens=Tokens(tmp_path / "tokens"))
    headers = {"Authorization": f"Bearer {token}"}
    lengths: list[tuple[float, float]] = []
    missed = {"any": 0, "one": 0}
    with background(service) as url:

        def ask(path: str) -> Any:
            answer = call(url, path, headers=headers)
            assert answer.status == 200, answer.body
            return answer.json()

        for day in range(DAYS):
            date = datetime.date(2026, 3, 2) + datetime.timedelta(days=day)
            monkeypatch.setattr(ingest, "today", lambda date=date: date)
            opened.write([batch(entry, "colour", rng.choice(3, size=EACH_DAY, p=SHARES))])
            found = {}
            for looks in ("any", "one"):
                said = ask(f"/v1/estimates/colour?order=estimate&looks={looks}")
                assert said["looks"] == looks
                assert said["reports"] == (day + 1) * EACH_DAY
                rows = {row["value"]: row for row in said["estimates"]}
                found[looks] = rows
                missed[looks] += sum(
                    not rows[name]["low"] <= share <= rows[name]["high"]
                    for name, share in zip(("red", "green", "blue"), SHARES, strict=True)
                )
            reach = [found[looks]["red"]["high"] - found[looks]["red"]["low"] for looks in found]
            lengths.append((reach[0], reach[1]))
        overview = ask("/v1/overview")
        assert len(overview["questions"][0]["days"]) == DAYS
        assert overview["users"] == 5_000
        refused = call(url, "/v1/estimates/colour?looks=each", headers=headers)
        assert (refused.status, refused.problem) == (422, "invalid-query")
        of_people = "/v1/estimates/colour?looks=any&of=people"
        assert call(url, of_people, headers=headers).status == 422
    assert missed["any"] == 0
    ratios = [longer / one for longer, one in lengths[5:]]
    assert all(1.1 < ratio < 2.2 for ratio in ratios)
    planned = lengths[5_000 // EACH_DAY]
    assert planned[0] / planned[1] < 1.7


@pytest.mark.parametrize("name", list(KINDS))
def test_the_overview_says_which_kinds_can_be_read_at_any_look(name: str) -> None:
    assert KINDS[name].any_look == made.estimated(name).ANY_LOOK
