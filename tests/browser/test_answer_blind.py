"""The page of a collection whose tokens an issuer signs: enrol there, and answer here."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Request, expect

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from tests.browser.conftest import LANGUAGES, OpenPage
from tests.browser.test_accessibility import objections
from tests.browser.test_answer import state_of
from tests.issuers import invite, issuing

HINTS = {
    "en": "Your invitation is shown only to the issuer",
    "ja": "招待コードは発行者にだけ示されます",
    "zh": "您的邀请码只出示给签发方",
}


def test_a_person_enrols_with_the_issuer_and_answers(
    open_page: OpenPage, tmp_path: Path, axe: str
) -> None:
    issuer = open_store(f"sqlite:///{tmp_path / 'issuer.db'}")
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    with issuing(issuer) as contract:
        entry = store.register(contract)
        assert contract.issuer is not None
        (code,) = invite(issuer)
        with background(Service(store, "series")) as url:
            stranger = open_page()
            stranger.goto(f"{url}/answer")
            stranger.get_by_label("red").check()
            stranger.locator("#go").click()
            told = "Enter the invitation that you received."
            expect(stranger.get_by_role("alert")).to_contain_text(told)
            assert state_of(stranger, "colour") == "open"
            page, requests = open_page(), list[Request]()
            page.on("request", lambda request: requests.append(request))
            page.goto(f"{url}/answer#invitation={code}")
            assert objections(page, axe) == []
            page.get_by_label("red").check()
            page.locator("#go").click()
            page.get_by_role("button", name="Send this report").click()
            expect(page.locator(".card.sent")).to_have_count(1)
            assert len(store.newest_reports(entry, "colour", 9)) == 1
            # One request to the issuer, for the tokens of both questions; the code goes nowhere.
            asked = [each for each in requests if each.url.startswith(contract.issuer.url)]
            (tokens,) = [each for each in asked if each.method == "POST"]
            assert (tokens.post_data or "").count("blinded") == 3
            assert not any(code in (each.post_data or "") + each.url for each in requests)
            assert not any("Rumor-Token" in each.headers for each in asked)
            # It can be taken back, by what only this browser has.
            page.locator("#back-ask").click()
            page.locator("#back-yes").click()
            expect(page.locator("#back")).to_be_empty()
            assert len(store.newest_reports(entry, "colour", 9)) == 0
            # The same invitation in another browser, where nobody knows what was signed.
            again = open_page(allowed="status of 403")
            again.goto(f"{url}/answer#invitation={code}")
            again.get_by_label("green").check()
            again.locator("#go").click()
            expect(again.get_by_role("alert")).to_contain_text("another device has used it")
            expect(again.locator("#total")).to_contain_text("Nothing yet")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_people_are_told_who_sees_their_invitation(
    open_page: OpenPage, tmp_path: Path, lang: str
) -> None:
    issuer = open_store(f"sqlite:///{tmp_path / 'issuer.db'}")
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    with issuing(issuer) as contract:
        store.register(contract)
        with background(Service(store, "series")) as url:
            page = open_page()
            page.goto(f"{url}/answer?lang={lang}")
            expect(page.locator("#code-hint")).to_contain_text(HINTS[lang])
