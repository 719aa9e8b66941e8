"""Joint answers in a real browser: both parts are asked, and the page says what was drawn."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.mechanisms.mixed.mixed import Mixed
from tests.browser.conftest import OpenPage
from tests.collector.tools import batch


def habits() -> Collection:
    parts = [
        {"id": "smokes", "labels": ["yes", "no", "no answer"]},
        {"id": "drinks", "labels": ["never", "seldom", "often"]},
    ]
    asked: dict[str, object] = {
        "id": "habits",
        "kind": "joint",
        "text": "Your habits?",
        "parts": parts,
    }
    wish = {"name": "Habits", "series": "habits", "contact": "a@b.example"}
    asked |= {"epsilon": 1.0, "mechanism": {"name": "mixed", "pair": 0.5}}
    return Collection.resolve({**wish, "questions": [asked]})


def test_both_parts_are_answered_and_the_page_says_what_was_drawn(
    open_page: OpenPage, tmp_path: Path
) -> None:
    contract = habits()
    mixed = contract.question().mechanism
    assert isinstance(mixed, Mixed)
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(contract)
    with background(Service(store, contract.series)) as url:
        asked = set()
        for _ in range(40):  # all of them of one sort: once in 10^12
            page = open_page()
            page.goto(f"{url}/answer")
            card = page.locator("[data-question=habits]")
            expect(card).to_contain_text("The report is about some of these answers together")
            card.get_by_label("yes", exact=True).check()
            expect(page.locator("#go")).to_be_disabled()
            card.get_by_label("often", exact=True).check()
            page.locator("#go").click()
            parts = card.locator("dd").first.inner_text().split(", ")
            # The row of the own answer to what was asked, and the bits of the whole table of it.
            own = ", ".join({"smokes": "yes", "drinks": "often"}[part] for part in parts)
            expect(card.locator("tr.own th")).to_have_text(re.compile(f"^{own} your answer"))
            bits = [int(bit) for bit in card.locator(".bit:not(.stays)").all_inner_texts()]
            page.locator("#go").click()
            expect(page.get_by_role("status")).to_contain_text("Your report has been received.")
            (report,) = store.newest_reports(entry, "habits", 1)
            one = mixed.components[report[0]]
            assert [mixed.parts.keys[part] for part in one.asks] == parts
            inner = report[None, 1 : 1 + one.oracle.width].copy()
            assert one.oracle.tally(inner).tolist() == bits
            asked.add(tuple(parts))
            if len(asked) > 1:
                break
        assert len(asked) > 1, "half of the reports are of one part alone"


@pytest.mark.slow
def test_the_dashboard_shows_the_table(open_page: OpenPage, tmp_path: Path) -> None:
    contract = habits()
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(contract)
    truth = np.array([3, 10, 12, 27, 28, 10, 3, 4, 3]) / 100
    people = np.random.default_rng(1).choice(9, size=6_000, p=truth)
    store.write([batch(entry, "habits", people)])
    token = add_token(tmp_path / "tokens", "analyst")
    with background(Service(store, contract.series, tokens=Tokens(tmp_path / "tokens"))) as url:
        page = open_page()
        page.goto(f"{url}/#token={token}")
        expect(page.locator("#tables svg .layer_0_marks path")).to_have_count(9)
        expect(page.locator("#tables svg .layer_1_marks text")).to_have_count(9)
        expect(page.locator("#remarks")).to_contain_text("smokes and drinks: Cramér's V")
        expect(page.locator("#figures")).to_contain_text("Cramér's V")
        page.locator("#tables svg .layer_1_marks text").first.hover()
        expect(page.locator("#vg-tooltip-element")).to_contain_text("times independence")
        page.get_by_text("As a table").click()
        expect(page.locator("#table tbody tr")).to_have_count(9 + 6)
        expect(page.locator("#table tbody tr").first).to_contain_text("smokes: yes, drinks: never")
