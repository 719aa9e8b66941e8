"""Every page, in every state, light and dark, wide and narrow: nothing that axe-core objects to."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet
from playwright.sync_api import Page, expect

from docs.make_screenshots import reach
from rumor.demo.showcase import Showcase
from tests.browser.conftest import OpenPage


def looks(often: tuple[str, str]) -> list[ParameterSet]:
    """All sizes and colours: one is looked at every time, the others take long."""
    return [
        pytest.param(size, scheme, marks=[] if (size, scheme) == often else [pytest.mark.slow])
        for size in ("desktop", "phone")
        for scheme in ("light", "dark")
    ]


def objections(page: Page, axe: str) -> list[str]:
    """What axe-core finds, as rule and element; the page must not scroll sideways either."""
    wide = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert wide <= 0, f"the page is {wide} pixels too wide"
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe)
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")
    assert found["passes"], "axe looked at nothing"
    return [
        f"{rule['id']}: {node['html']}" for rule in found["violations"] for node in rule["nodes"]
    ]


@pytest.mark.parametrize(("size", "scheme"), looks(("phone", "dark")))
def test_the_answer_page(
    open_page: OpenPage, shown: Showcase, axe: str, size: str, scheme: str
) -> None:
    page = open_page(size=size, scheme=scheme, locale="ja-JP" if size == "phone" else "en-GB")
    page.goto(shown.answer_url)
    expect(page.locator("#action button").first).to_be_visible()
    assert objections(page, axe) == []
    reach(page, "health").get_by_label("back pain").check()
    reach(page, "sleep").locator("input").fill("7")
    assert objections(page, axe) == []
    reach(page, "word").locator("input").fill("busy")
    habits = reach(page, "habits")
    habits.locator(".pair input[type=checkbox]").first.check()
    habits.locator(".pair input[type=number]").first.fill("2")
    assert objections(page, axe) == []
    page.locator("#go").click()
    expect(page.locator(".card.drawn")).to_have_count(4)
    page.locator("[data-question=health] .brief > summary").click()
    page.locator("[data-question=health] .who summary").click()
    expect(page.locator("[data-question=health] .who dl")).to_be_visible()
    assert objections(page, axe) == []
    page.locator("#go").click()
    expect(page.locator(".card.sent")).to_have_count(4)
    assert objections(page, axe) == []
    page.reload()
    expect(page.locator(".card.full")).to_have_count(4)
    assert objections(page, axe) == []


@pytest.mark.parametrize(("size", "scheme"), looks(("desktop", "light")))
def test_the_dashboard(
    open_page: OpenPage, shown: Showcase, axe: str, size: str, scheme: str
) -> None:
    page = open_page(size=size, scheme=scheme, allowed="status of 401")
    page.goto(shown.url)
    page.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    assert objections(page, axe) == []
    page.get_by_label("Token").fill(shown.token)
    page.keyboard.press("Enter")
    for index, id in enumerate(shown.entry.questions):
        button = page.locator("#questions button").nth(index)
        button.click()
        expect(button).to_have_attribute("aria-current", "true")
        page.get_by_text("As a table").click()
        expect(page.locator("#status")).to_contain_text("Live")
        assert objections(page, axe) == [], id


def test_the_checker_objects_where_it_should(
    open_page: OpenPage, shown: Showcase, axe: str
) -> None:
    page = open_page()
    page.goto(shown.answer_url)
    expect(page.locator("#go")).to_be_visible()
    page.evaluate("document.querySelector('#go').replaceChildren()")
    assert [each.partition(":")[0] for each in objections(page, axe)] == ["button-name"]
