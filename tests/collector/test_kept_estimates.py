"""Estimates that the collector keeps: the answers of a fresh one, made once for the same counts."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rumor.collector import estimating
from rumor.collector.estimating import KeptEstimates
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import ReportBatch, Store, StoredCollection
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.mechanisms.summary import Summary
from tests.collector.tools import call, collection, rows

FORMS = ("", "?looks=one", "?order=given", "?rows=1", "?find=e", "?of=people")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int]]:
    """Question, method and number of reports of each estimate that is made."""
    found, make = [], estimating.make_estimate

    def counted(question: Any, summary: Summary, method: str, *rest: Any) -> Any:
        found.append((question.id, method, summary.reports))
        return make(question, summary, method, *rest)

    monkeypatch.setattr(estimating, "make_estimate", counted)
    return found


class Desk:
    """An analyst of a collector that has been running, and of one that began just now."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.folder = store, folder
        self.headers = {"Authorization": f"Bearer {add_token(folder / 'tokens', 'alice')}"}

    def service(self, series: str) -> Service:
        return Service(self.store, series, tokens=Tokens(self.folder / "tokens"))

    def asked(self, url: str, path: str) -> Any:
        answer = call(url, f"/v1/estimates/{path}", headers=self.headers)
        assert answer.status == 200, answer.body
        return answer.json()

    def fresh(self, series: str, path: str) -> Any:
        with background(self.service(series)) as url:
            return self.asked(url, path)


@pytest.fixture
def desk(store: Store, tmp_path: Path) -> Desk:
    return Desk(store, tmp_path)


def written(store: Store, entry: StoredCollection, question: str, values: object) -> Any:
    """The ids of reports that were written just now."""
    sent = rows(entry, question, values)
    store.write([ReportBatch(entry.questions[question], sent)])
    return sent[:, :16]


def test_all_forms_of_an_estimate_are_of_one_that_is_made_once(
    desk: Desk, store: Store, made: list[tuple[str, str, int]]
) -> None:
    entry = store.register(collection())
    written(store, entry, "colour", np.arange(900) % 3)
    written(store, entry, "many", np.arange(900) % 3)
    with background(desk.service("series")) as url:
        found = {form: desk.asked(url, f"colour{form}") for form in FORMS * 2}
        assert made == [("colour", "auto", 900)]
        desk.asked(url, "colour?method=inversion")
        desk.asked(url, "many")
        assert made[1:] == [("colour", "inversion", 900), ("many", "auto", 900)]
    assert len({str(one) for one in found.values()}) > 3, "the forms differ"
    for form, one in found.items():
        assert one == desk.fresh("series", f"colour{form}"), form


def test_reports_and_withdrawals_change_the_answer_at_once(
    desk: Desk, store: Store, made: list[tuple[str, str, int]]
) -> None:
    entry = store.register(collection())
    written(store, entry, "colour", [0] * 500)
    with background(desk.service("series")) as url:
        first = desk.asked(url, "colour")
        ids = written(store, entry, "colour", [2] * 400)
        second = desk.asked(url, "colour")
        assert second == desk.fresh("series", "colour")
        assert (first["reports"], second["reports"]) == (500, 900)
        # As many reports as before, of other people: the number alone does not say enough.
        store.withdraw(entry, "colour", ids)
        assert desk.asked(url, "colour") == first
        written(store, entry, "colour", [1] * 400)
        third = desk.asked(url, "colour")
        assert third == desk.fresh("series", "colour")
        assert third["estimates"] != second["estimates"]
    assert [reports for *_, reports in made] == [500, 900, 900, 900, 900], "the first was kept"


def test_a_revision_and_another_question_have_estimates_of_their_own(
    desk: Desk, store: Store
) -> None:
    old = store.register(collection())
    written(store, old, "colour", np.arange(300) % 3)
    named = collection(name="Asked again")
    new = store.register(replace(named, revision=2, previous=old.collection.digest), revise=True)
    with background(desk.service("series")) as url:
        before = desk.asked(url, f"colour?collection={old.collection.digest}")
        written(store, new, "colour", np.arange(300) % 3)
        after = desk.asked(url, f"colour?collection={new.collection.digest}")
        assert before["collection"] != after["collection"]
        assert before == desk.asked(url, f"colour?collection={old.collection.digest}")


def test_open_words_are_searched_once_for_the_same_counts(
    desk: Desk, store: Store, made: list[tuple[str, str, int]]
) -> None:
    names = {"name": "x", "series": "words", "contact": "x"}
    asked = {"id": "engine", "kind": "text", "words": "open", "epsilon": 4.0, "longest": 6}
    entry = store.register(Collection.resolve({**names, "questions": [asked]}))
    written(store, entry, "engine", ["google"] * 3000 + ["bing"] * 2000)
    with background(desk.service("words")) as url:
        first = desk.asked(url, "engine")
        assert {"google", "bing"} <= {row["value"] for row in first["estimates"]}
        assert desk.asked(url, "engine") == first
        assert len(made) == 1
        written(store, entry, "engine", ["yahoo"] * 3000)
        again = desk.asked(url, "engine")
        assert again == desk.fresh("words", "engine")
        assert "yahoo" in {row["value"] for row in again["estimates"]}


def test_few_estimates_and_few_rows_are_kept(made: list[tuple[str, str, int]]) -> None:
    question = collection().question("many")
    mechanism = question.mechanism

    def ask(kept: KeptEstimates, *people: int) -> int:
        before = len(made)
        for count in people:
            reports = mechanism.without_labels().privatize(np.arange(count) % 30)
            counts = Summary.empty(mechanism, question="many").update(reports)
            tallies.setdefault(count, counts)
            kept.estimate(question, tallies[count], "auto", None)
        return len(made) - before

    tallies: dict[int, Summary] = {}
    kept = KeptEstimates(most=2)
    assert ask(kept, 100, 200, 100, 200) == 2
    assert ask(kept, 100, 300) == 1
    assert ask(kept, 100) == 0, "the one asked for longest ago goes first"
    assert ask(kept, 200) == 1
    assert ask(KeptEstimates(most_rows=60), 100, 200, 100, 200) == 2
    assert ask(KeptEstimates(most_rows=59), 100, 200, 100, 200) == 4
    assert ask(KeptEstimates(most_rows=0), 100, 100) == 1, "the last one always stays"


def test_two_threads_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    question = collection().question("many")
    reports = question.mechanism.without_labels().privatize(np.arange(90) % 30)
    summary = Summary.empty(question.mechanism, question="many").update(reports)
    both = threading.Barrier(2, timeout=20)
    make = estimating.make_estimate

    def beside(*given: Any) -> Any:
        both.wait()
        return make(*given)

    monkeypatch.setattr(estimating, "make_estimate", beside)
    kept = KeptEstimates()
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(kept.estimate, question, summary, "auto", None) for _ in range(2)]
        first, second = [one.result() for one in asked]
    assert first.to_dict() == second.to_dict()
    assert kept.estimate(question, summary, "auto", None) in (first, second)
