"""A person answers in a browser, and the report reaches the collector through a relay alone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser.conftest import LANGUAGES, OpenPage
from tests.browser.sites import site
from tests.browser.test_accessibility import objections
from tests.collector.tools import stored
from tests.relay.test_devices import delivered
from tests.relay.tools import running

SAID = {
    "en": "which cannot open them and forwards them in batches of at least 5",
    "ja": "5件以上集まるとまとめて渡します",
    "zh": "每次至少凑够5份才一并转交",
}


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGUAGES)
def test_people_are_told_of_the_relay(
    open_page: OpenPage, tmp_path: Path, axe: str, lang: str
) -> None:
    with running(tmp_path) as path:
        page = open_page()
        page.goto(f"{path.collector_url}/answer?lang={lang}")
        expect(page.locator("#relay")).to_contain_text(SAID[lang])
        expect(page.locator("#relay")).to_contain_text(path.relay_url)
        assert objections(page, axe) == []


def requests(page: Page) -> list[Request]:
    """What a page asks for, from now on."""
    found: list[Request] = []
    page.on("request", lambda request: found.append(request))
    return found


def test_a_browser_answers_through_a_relay(open_page: OpenPage, tmp_path: Path) -> None:
    with running(tmp_path, crowd=2) as path:
        for _ in range(2):
            page = open_page()
            posted = requests(page)
            page.goto(f"{path.collector_url}/answer")
            page.locator("[data-question=colour]").get_by_label("green").check()
            page.locator("#go").click()
            expect(page.locator(".card.drawn")).to_have_count(1)
            page.locator("#go").click()
            expect(page.get_by_role("status")).to_contain_text("Thank you.")
            assert [request.url for request in posted if request.method == "POST"] == [
                f"{path.relay_url}/v1/relay/{path.collection.digest}/colour"
            ]
        assert stored(path.store, path.entry, "colour") == {}
        assert path.relay.store.waiting(path.batch()) == 2
        path.release()
        assert len(delivered(path, 2)) == 2


def test_a_page_names_the_turn_and_refuses_a_second_answer_in_it(
    open_page: OpenPage, tmp_path: Path
) -> None:
    with running(tmp_path, crowd=2, turn_hours=8760) as path:
        page = open_page()
        posted = requests(page)
        page.goto(f"{path.collector_url}/answer")
        expect(page.locator("#relay")).to_contain_text(
            "Your device sends at most one report per question every 8760 hours."
        )
        expect(page.locator("#relay")).to_contain_text("within 730 days")
        for number in range(2):
            page.locator("[data-question=colour]").get_by_label("green").check()
            page.locator("#go").click()
            if number:
                break
            page.locator("#go").click()
            expect(page.get_by_role("status")).to_contain_text("Thank you.")
            page.reload()
        problem = page.locator("#problem")
        expect(problem).to_contain_text(
            "has already answered this question in the current time slot"
        )
        expect(problem).to_contain_text("the next turn begins at")
        turn = int(time.time() // (8760 * 3600))
        assert [request.url for request in posted if request.method == "POST"] == [
            f"{path.relay_url}/v1/relay/{path.collection.digest}/colour/{turn}"
        ]


def test_a_page_may_send_to_the_relay_of_its_contract_and_to_nobody_else(
    open_page: OpenPage, tmp_path: Path
) -> None:
    with running(tmp_path) as path:
        page = open_page(allowed="Content Security Policy")
        response = page.goto(f"{path.collector_url}/answer")
        assert response is not None
        policy = response.headers["content-security-policy"]
        assert f"connect-src 'self' {path.relay_url};" in policy
        expect(
            page.locator("#go")
        ).to_be_visible()  # or it would load from a collector that is gone
        body = "{method: 'POST', body: new Uint8Array(98)}"
        reach = f"(url) => fetch(url, {body}).then((answer) => answer.status, () => 0)"
        where = f"/v1/relay/{path.collection.digest}/colour"
        assert page.evaluate(reach, f"{path.relay_url}{where}") == 202
        assert page.evaluate(reach, f"http://127.0.0.1:9{where}") == 0


EARLIER = """
const Real = Date;
globalThis.Date = class extends Real {
  constructor(...given) { given.length ? super(...given) : super(Real.now() - 6 * 3.6e6); }
  static now() { return Real.now() - 6 * 3.6e6; }
};
"""
"""A script that makes a page believe that it is six hours ago."""


@pytest.mark.slow
def test_a_report_of_another_tab_that_was_over_is_told_and_another_is_made(
    open_page: OpenPage, tmp_path: Path
) -> None:
    """Of two tabs: one drew a report in an earlier turn and did not send it."""
    with running(tmp_path, crowd=2, turn_hours=1) as path:
        page = open_page()
        page.goto(f"{path.collector_url}/answer")
        page.locator("[data-question=colour]").get_by_label("green").check()
        page.locator("[data-question=many] input").fill("3")
        older = open_page(share=page)
        older.add_init_script(EARLIER)
        older.goto(f"{path.collector_url}/answer")
        older.locator("[data-question=colour]").get_by_label("red").check()
        older.locator("#go").click()
        expect(older.locator(".card.drawn")).to_have_count(1)
        page.locator("#go").click()
        expect(page.locator("#problem")).to_contain_text("Another tab or window has answered")
        expect(page.locator(".card.drawn")).to_have_count(1)
        page.locator("#go").click()
        expect(page.locator("#problem")).to_contain_text("could not be sent in time")
        page.locator("#go").click()
        expect(page.locator(".card.drawn")).to_have_count(2)
        page.locator("#go").click()
        expect(page.get_by_role("status")).to_contain_text("Thank you.")
        expect(page.locator(".card.sent")).to_have_count(2)
        assert path.relay.metrics.reports["kept"] == 2


@pytest.mark.slow
def test_an_element_tells_of_what_was_over_and_then_of_what_arrived(
    open_page: OpenPage, tmp_path: Path
) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    with running(tmp_path, crowd=2, turn_hours=1) as path, site(folder) as address:
        (folder / "index.html").write_text(
            '<!doctype html><html lang="en"><head><title>t</title><link rel="icon" href="data:,">'
            f'<script type="module" src="{path.collector_url}/client/element.js"></script></head>'
            f'<body><rumor-question collector="{path.collector_url}" question="colour">'
            "</rumor-question></body></html>"
        )
        page = open_page()
        page.add_init_script(
            "for (const name of ['rumor-sent', 'rumor-problem']) addEventListener(name, "
            "({ type, detail }) => (window.told ??= []).push([type, detail]));"
        )
        page.goto(f"{address}/index.html")
        page.get_by_label("green").check()
        older = open_page(share=page)
        older.add_init_script(EARLIER)
        older.goto(f"{address}/index.html")
        older.get_by_label("red").check()
        older.get_by_role("button", name="Add noise").click()
        expect(older.locator(".report")).to_have_count(1)
        page.get_by_role("button", name="Add noise").click()
        problem = page.locator("div[role=alert]")
        expect(problem).to_contain_text("Another tab or window has answered")
        page.get_by_role("button", name="Send this report").click()
        expect(problem).to_contain_text("could not be sent in time")
        page.get_by_role("button", name="Add noise").click()
        expect(page.locator(".report")).to_have_count(1)
        page.get_by_role("button", name="Send this report").click()
        expect(page.get_by_role("status")).to_contain_text("Thank you.")
        assert page.evaluate("window.told") == [
            ["rumor-problem", {"code": "tab"}],
            ["rumor-problem", {"code": "over"}],
            ["rumor-sent", {"question": "colour", "accepted": 1}],
        ]
