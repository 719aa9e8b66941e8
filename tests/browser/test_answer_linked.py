"""The page of a collection whose reports on two questions may be joined: it says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from tests.browser.conftest import LANGUAGES, OpenPage
from tests.browser.test_accessibility import objections
from tests.browser.test_answer_promises import asking, vote

SAID = {
    "en": "Your reports on “Smokes?” and “drinks” may be linked",
    "ja": "「Smokes?」と「drinks」についてのあなたのレポートは、一つに結び付けられる",
    "zh": "您对“Smokes?”和“drinks”的报告可能会被关联起来",
}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_people_are_told_that_two_reports_may_be_joined(
    open_page: OpenPage, tmp_path: Path, axe: str, lang: str
) -> None:
    coin = vote(mechanism="randomized-response")
    questions = [
        {**coin, "id": "drinks", "epsilon": 0.75},
        {**coin, "id": "smokes", "text": "Smokes?"},
    ]
    contract = asking(*questions, linked=["smokes", "drinks"])
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(contract)
    with background(Service(store, contract.series)) as url:
        page = open_page()
        page.goto(f"{url}/answer?lang={lang}")
        expect(page.locator("#linked")).to_contain_text(SAID[lang])
        expect(page.locator("#linked")).to_contain_text("1.75")
        assert objections(page, axe) == []
