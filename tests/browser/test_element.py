"""`<rumor-question>` on a page of another origin: the same controls, ledger and bytes."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from docs.make_pages import DOCS
from rumor.client.modules import import_map, integrity
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import Store, StoredCollection, open_store
from rumor.contract.collection import Collection
from tests.browser.conftest import OpenPage
from tests.browser.sites import site
from tests.browser.test_accessibility import objections
from tests.browser.test_answer_use import NUMBER, WISH, choice

HOMEPAGE = choice("homepage", ["news", "mail", "blank"], 3.0)


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[tuple[str, Store, StoredCollection]]:
    """The example of the documentation on an origin of its own, and a collector elsewhere."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(Collection.resolve({**WISH, "questions": [HOMEPAGE, NUMBER]}))
    text = (DOCS / "how-to" / "embed.md").read_text("utf-8")
    (example,) = re.findall(r'```html title="page.html"\n(.*?)```', text, re.DOTALL)
    own = '<link rel="icon" href="data:,">'
    second = example.replace("</title>", f"</title>{own}").replace(
        "</main>",
        '<rumor-question collector="https://collector.example/" question="hours"></rumor-question>'
        "\n</main>",
    )
    folder = tmp_path / "site"
    folder.mkdir()
    with background(Service(store, "survey")) as url, site(folder) as address:
        page = second.replace("https://collector.example", url)
        (folder / "index.html").write_text(page)
        pins = f'<script type="importmap">{json.dumps(import_map(f"{url}/client"))}</script>'
        (folder / "pinned.html").write_text(page.replace("</title>", f"</title>{pins}"))
        modules = page.replace("element.bundle.js", "element.js")
        (folder / "modules.html").write_text(modules)
        (folder / "pinned-modules.html").write_text(modules.replace("</title>", f"</title>{pins}"))
        yield f"{address}/index.html", store, entry


def element(page: Page, question: str) -> Locator:
    return page.locator(f"rumor-question[question={question}]")


def test_a_question_is_answered_on_another_page(
    open_page: OpenPage, embedded: tuple[str, Store, StoredCollection], axe: str
) -> None:
    url, store, entry = embedded
    page = open_page(scheme="dark")
    page.add_init_script(
        "addEventListener('rumor-drawn', ({ type }) => (window.told ??= []).push(type));"
        "addEventListener('rumor-sent', ({ detail }) => (window.told ??= []).push(detail));"
    )
    page.goto(url)
    home, hours = element(page, "homepage"), element(page, "hours")
    home.get_by_label("mail").check()
    button = home.get_by_role("button", name="Add noise to my answer")
    assert button.evaluate("(node) => getComputedStyle(node).backgroundColor") == (
        "rgb(220, 168, 236)"
    )
    button.click()
    expect(home.get_by_role("heading", name="homepage?")).to_be_focused()
    expect(home.locator(".coins")).to_be_visible()
    bits = [int(bit) for bit in home.locator(".bit:not(.stays)").all_inner_texts()]
    hours.locator("input").fill("7")
    assert objections(page, axe) == []
    hours.get_by_role("button", name="Add noise to my answer").click()
    expect(hours.locator(".report")).to_be_visible()
    home.get_by_role("button", name="Send this report").click()
    expect(home.locator("[role=status]")).to_have_text("Thank you. Your report has been received.")
    expect(home.locator("[role=status]")).to_be_focused()
    expect(home.locator("[role=status]")).to_have_class("status notice received")
    expect(hours.locator("[role=status]")).to_have_class("status notice info")
    # The report of one question, as it was shown; that of the other waits for its own button.
    (report,) = store.newest_reports(entry, "homepage", 9)
    mechanism = entry.collection.question("homepage").mechanism
    assert mechanism.validate(report[None]).all
    assert [(report[0] >> place) & 1 for place in range(len(bits))] == bits
    assert len(store.newest_reports(entry, "hours", 9)) == 0
    sent = {"question": "homepage", "accepted": 1}
    assert page.evaluate("window.told") == ["rumor-drawn", "rumor-drawn", sent]
    # Each element shows what both have cost, and takes back what both have sent.
    expect(home.locator("[part=spent]")).to_contain_text("epsilon 4, of a limit of 4")
    expect(hours.locator("[part=spent]")).to_contain_text("epsilon 4, of a limit of 4")
    page.reload()
    expect(home).to_contain_text("You have answered this question.")
    expect(hours.get_by_role("button", name="Send this report")).to_be_visible()
    page.evaluate("document.documentElement.lang = 'ja'")
    hours.evaluate("(node) => (node.lang = 'ja')")
    expect(hours.get_by_role("button", name="このレポートを送る")).to_be_visible()


def test_reports_are_taken_back_in_an_element(
    open_page: OpenPage, embedded: tuple[str, Store, StoredCollection]
) -> None:
    url, store, entry = embedded
    page = open_page()
    page.goto(url)
    home, hours = element(page, "homepage"), element(page, "hours")
    home.get_by_label("mail").check()
    hours.locator("input").fill("7")
    for each in (home, hours):
        each.get_by_role("button", name="Add noise to my answer").click()
        each.get_by_role("button", name="Send this report").click()
        expect(each).to_contain_text("Your report has been received")
    hours.get_by_role("button", name="Withdraw my 2 reports").click()
    expect(hours.get_by_role("button", name="Cancel")).to_be_focused()
    hours.get_by_role("button", name="Yes, withdraw all 2").click()
    expect(hours.locator("[role=status]")).to_have_text("Your 2 reports have been withdrawn.")
    for each in (home, hours):
        expect(each).to_contain_text("You have answered this question.")
        expect(each).not_to_contain_text("Received.")
        expect(each.get_by_role("button", name="Withdraw")).to_have_count(0)
    for question in ("homepage", "hours"):
        assert len(store.newest_reports(entry, question, 9)) == 0


@pytest.mark.slow
def test_what_goes_wrong_is_told_in_the_element(
    open_page: OpenPage, embedded: tuple[str, Store, StoredCollection]
) -> None:
    url, _, _ = embedded
    page = open_page(allowed="Failed to load resource")
    page.add_init_script(
        "addEventListener('rumor-problem', ({ detail }) => (window.told ??= []).push(detail.code))"
    )
    page.goto(url)
    home = element(page, "homepage")
    home.get_by_label("mail").check()
    home.evaluate("(node) => node.setAttribute('digest', '0'.repeat(64))")
    expect(home.get_by_role("alert")).to_contain_text("Nothing was sent")
    home.evaluate("(node) => node.removeAttribute('digest')")
    home.get_by_label("news").check()
    home.get_by_role("button", name="Add noise").click()
    page.route("**/v1/reports", lambda route: route.abort())
    home.get_by_role("button", name="Send this report").click()
    expect(home.get_by_role("alert")).to_contain_text("Your reports are kept on this device")
    page.unroute("**/v1/reports")
    home.get_by_role("button", name="Try again").click()
    expect(home.locator("[role=status]")).to_contain_text("Thank you.")
    assert page.evaluate("window.told") == ["digest", "unreachable"]


def test_what_is_closed_draws_nothing_more_in_any_element(
    open_page: OpenPage, embedded: tuple[str, Store, StoredCollection]
) -> None:
    url, store, entry = embedded
    page = open_page(allowed="status of 410")
    page.goto(url)
    home, hours = element(page, "homepage"), element(page, "hours")
    home.get_by_label("mail").check()
    home.get_by_role("button", name="Add noise").click()
    store.close_collection(entry.collection.digest)
    home.get_by_role("button", name="Send this report").click()
    expect(home.get_by_role("alert")).to_contain_text("This collection is closed")
    expect(home.locator("button.primary")).to_have_count(0)
    expect(hours).to_contain_text("This collection is closed")
    expect(hours.locator("input, button.primary")).to_have_count(0)
    home.get_by_role("button", name="Withdraw my report").click()
    home.get_by_role("button", name="Yes, withdraw it").click()
    expect(home.get_by_role("status")).to_have_text("Your report has been withdrawn.")
    expect(home.locator("input, button")).to_have_count(0)


def test_an_element_loads_what_its_question_needs_and_says_so_when_it_cannot(
    open_page: OpenPage, embedded: tuple[str, Store, StoredCollection]
) -> None:
    url = embedded[0].replace("index.html", "modules.html")
    page = open_page(allowed="net::ERR_FAILED")
    asked: list[str] = []
    page.on("requestfinished", lambda request: asked.append(request.url))
    page.goto(url)
    home = element(page, "homepage")
    expect(home.get_by_label("mail")).to_be_visible()
    expect(element(page, "hours").locator("input")).to_be_visible()
    kinds = {each.rpartition("/")[2] for each in asked if "/client/kinds/" in each}
    assert kinds == {"choice.js", "number.js"}
    mechanisms = {each.rpartition("/")[2] for each in asked if "/client/mechanisms/" in each}
    shared = {"grid.js", "labels.js", "one-number.js", "windowed.js"}
    assert mechanisms == {"randomized-response.js", "window.js", *shared}
    for file in ("client/kinds/choice.js", "client/mechanisms/randomized-response.js"):
        page.route(f"**/{file}", lambda route: route.abort())
        page.reload()
        expect(home.get_by_role("alert")).to_contain_text("cannot be reached just now")
        expect(home.locator("input")).to_have_count(0)
        page.unroute(f"**/{file}")
    page.close()  # before the server, which other modules may still be asked of


def test_the_element_is_one_script_with_all_that_open_collections_need(
    open_page: OpenPage, embedded: tuple[str, Store, StoredCollection]
) -> None:
    """Two rounds of requests: the script; then the contract and the texts, side by side."""
    page = open_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.goto(embedded[0])
    expect(element(page, "homepage").get_by_label("mail")).to_be_visible()
    expect(element(page, "hours").locator("input")).to_be_visible()
    assert asked[:2] == ["index.html", "element.bundle.js"]
    assert sorted(asked[2:]) == ["collection", "en.js"]


def test_an_element_loads_the_second_script_where_a_contract_needs_more(
    open_page: OpenPage, tmp_path: Path
) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    groups = {"country": ["DE", "FR", "other"]}
    store.register(Collection.resolve({**WISH, "groups": groups, "questions": [HOMEPAGE]}))
    (tmp_path / "site").mkdir()
    with background(Service(store, "survey")) as url, site(tmp_path / "site") as address:
        (tmp_path / "site" / "index.html").write_text(
            '<!doctype html><html lang="ja"><link rel="icon" href="data:,"><title>Other</title>'
            f'<script type="module" src="{url}/client/element.bundle.js"></script>'
            f'<rumor-question collector="{url}" question="homepage"></rumor-question>'
        )
        page = open_page()
        page.goto(f"{address}/index.html")
        home = element(page, "homepage")
        home.locator("select").select_option("FR")
        home.get_by_label("mail").check()
        home.locator("button.primary").click()
        expect(home.locator(".report")).to_be_visible()


@pytest.mark.parametrize(
    ("name", "changed"),
    [("pinned.html", "element.bundle.js"), ("pinned-modules.html", "kinds/choice.js")],
)
def test_a_page_that_pins_the_modules_takes_no_others(
    open_page: OpenPage,
    embedded: tuple[str, Store, StoredCollection],
    name: str,
    changed: str,
) -> None:
    """The hashes that are published are those of what is served; one byte more is refused."""
    url = embedded[0].replace("index.html", name)
    page = open_page(allowed="integrity")
    page.goto(url)
    home = element(page, "homepage")
    expect(home.get_by_label("mail")).to_be_visible()
    collector = str(home.get_attribute("collector"))
    said = page.request.get(f"{collector}/client/integrity.json").json()
    assert said == integrity()
    assert {"rumor.js", "element.js", "mechanisms/unary.js", "view/words/ja.js"} <= set(said)
    for file, value in said.items():
        body = page.request.get(f"{collector}/client/{file}").body()
        assert value == "sha384-" + base64.b64encode(hashlib.sha384(body).digest()).decode()
    page.route(
        f"**/client/{changed}",
        lambda route: route.fulfill(response=route.fetch(), body="export {};"),
    )
    page.reload()
    # A module that loads later, and is not what was read: told, and nothing is asked.
    if changed != "element.bundle.js":
        expect(home.get_by_role("alert")).to_contain_text("cannot be reached just now")
    expect(home.locator("input")).to_have_count(0)
