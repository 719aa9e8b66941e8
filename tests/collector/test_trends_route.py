"""/v1/trends says what `rumor trend` says, to analysts alone, and of different people alone."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest

import rumor
from rumor.analysis.compare.method import read_period
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store import ingest
from rumor.collector.store.base import open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from tests.analysis.test_comparing import memoised
from tests.collector.tools import batch, call


def stored(
    folder: Path, contract: Collection, id: str, days: int, clock: pytest.MonkeyPatch
) -> str:
    """A store with 500 reports of each day; everybody changes to the first value on the fifth."""
    url = f"sqlite:///{folder / 'store.db'}"
    store = open_store(url)
    entry = store.register(contract)
    rng = np.random.default_rng(3)
    for number in range(days):
        values = rng.integers(0, 2, 500) if number < 4 else np.zeros(500, dtype=np.int64)
        day = datetime.date(2026, 3, 1) + datetime.timedelta(days=number)
        clock.setattr(ingest, "today", lambda day=day: day)
        store.write([batch(entry, id, values)])
    store.close()
    return url


def test_it_says_what_python_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    question = {"id": "q", "kind": "choice", "labels": ["a", "b"], "epsilon": 2.0}
    names = {"name": "A test", "series": "series", "contact": "nobody@example.org"}
    contract = Collection.resolve({**names, "questions": [question]})
    url = stored(tmp_path, contract, "q", 8, monkeypatch)
    headers = {"Authorization": f"Bearer {add_token(tmp_path / 'tokens', 'alice')}"}
    service = Service(open_store(url), "series", tokens=Tokens(tmp_path / "tokens"))
    with background(service) as address:
        assert call(address, "/v1/trends/q").problem == "unauthorized"
        found = call(address, "/v1/trends/q", headers=headers).json()
        weeks = call(address, "/v1/trends/q?every=week", headers=headers)
        assert weeks.problem == "invalid-query"  # eight days are two weeks
        assert call(address, "/v1/trends/q?every=hour", headers=headers).problem == "invalid-query"
        assert call(address, "/v1/trends/q?level=1", headers=headers).problem == "invalid-query"
        assert call(address, "/v1/trends/none", headers=headers).problem == "not-found"
        both = "first=2026-03-01..2026-03-04&second=2026-03-05.."
        compared = call(address, f"/v1/comparisons/q?{both}", headers=headers).json()
        ever = call(address, f"/v1/comparisons/q?{both}&looks=any", headers=headers).json()
        for query, sentence in (
            ("first=2026-03-01", "a first and a second period; got one"),
            ("first=2026-03-01&second=2027-01-01..", "needs reports of both periods; got none of"),
            ("first=now&second=2026-03-02", "days written FIRST..LAST; got 'now'"),
            ("first=2026-03-01&second=2026-03-01", "two groups or more"),
        ):
            refused = call(address, f"/v1/comparisons/q?{query}", headers=headers)
            assert refused.problem == "invalid-query"
            assert sentence in refused.json()["detail"]
    store = open_store(url)
    entry = store.collections()[0]
    early, late = (
        store.summary(entry, "q", read_period(p)) for p in ("..2026-03-04", "2026-03-05..")
    )
    known = rumor.compare(contract.question("q").mechanism, early, late)
    assert [row["difference"] for row in compared["estimates"]] == known.difference.tolist()
    assert list(compared["groups"].values()) == [2000, 2000]
    planned = known.columns(looks="any", users=entry.users)
    for name in ("low", "high", "p_value", "adjusted"):
        assert [row[name] for row in ever["estimates"]] == planned[name]
    assert (compared["looks"], ever["looks"]) == ("one", "any")
    _, days = store.day_summaries(entry, "q")
    store.close()
    plain = rumor.trend(contract.question("q").mechanism, days)
    assert [change["from"] for change in found["changes"]] == ["2026-03-05", "2026-03-05"]
    assert found["changes"][0]["adjusted"] == plain.adjusted[0]
    assert [row["line"] for row in found["estimates"]] == plain.columns()["line"]
    assert found["collection"] == contract.digest
    watched = rumor.watch(contract.question("q").mechanism, days)
    assert found["watch"] == watched.changes_as_dict()
    assert found["watch"]["finding"] == watched.finding
    assert [row["from"] for row in found["watch"]["changes"]] == [
        watched.periods[change.began] for change in watched.changes
    ]


def test_memoised_answers_are_followed_only_of_different_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = memoised(5)
    url = stored(tmp_path, contract, "asked", 4, monkeypatch)
    headers = {"Authorization": f"Bearer {add_token(tmp_path / 'tokens', 'alice')}"}
    service = Service(open_store(url), contract.series, tokens=Tokens(tmp_path / "tokens"))
    with background(service) as address:
        refused = call(address, "/v1/trends/asked", headers=headers)
        assert refused.problem == "invalid-query"
        periods = "first=..2026-03-02&second=2026-03-03.."
        refused = call(address, f"/v1/comparisons/asked?{periods}", headers=headers)
        assert refused.problem == "invalid-query"
        said = call(address, f"/v1/comparisons/asked?{periods}&different_people=1", headers=headers)
        assert said.json()["reports"] == 2000
        said = call(address, "/v1/trends/asked?different_people=true", headers=headers)
        assert said.json()["reports"] == 2000
