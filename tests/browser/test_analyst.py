"""An analyst's ten questions: each is answered from the page, without opening a table or a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import ReportBatch, open_store, stored_name
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from tests.browser.conftest import OpenPage
from tests.browser.test_dashboard import settled
from tests.browser.test_dashboard_use import WISH, choice, served
from tests.collector.tools import rows

LABELS = [f"place {i}" for i in range(5_000)]
HOURS = {"id": "hours", "kind": "number", "text": "Hours?", "low": 0, "high": 12, "epsilon": 1.0}


def week(first: int, share: float) -> dict[str, list[int]]:
    """Seven days of March, on each of which this share of 2,000 people says yes."""
    codes = [0] * round(2_000 * share) + [1] * round(2_000 * (1 - share))
    return {f"2026-03-{day:02}": codes for day in range(first, first + 7)}


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page of a survey of two weeks; fewer said yes in the second."""
    draws = np.random.default_rng(4).zipf(1.6, 30_000) % 5_000
    past = {
        "smokes": {**week(2, 0.55), **week(9, 0.35)},
        "place": {"2026-03-02": draws.tolist()},
        "hours": {"2026-03-02": [6.0, 8.0] * 1_000},
    }
    smokes = {**choice("smokes", ["yes", "no"], "Do you smoke?"), "mechanism": "unary"}
    asked = smokes, choice("place", LABELS, "Where?")
    with served(tmp_path_factory.mktemp("survey"), *asked, HOURS, past=past) as (url, _, _):
        yield url


def headline(page: Page, pattern: str) -> None:
    expect(page.locator("#headline")).to_have_text(re.compile(pattern))


@pytest.fixture
def page(open_page: OpenPage, survey: str) -> Page:
    made = open_page()
    made.goto(survey)
    return made


def test_how_many_say_yes_since_when_and_is_that_more_than_last_week(page: Page) -> None:
    # 1. How many say no, the most frequent answer of 28,000? 2. Since when has it changed?
    headline(
        page,
        r"^no: \d+\.\d+% \(\d+\.\d+ to \d+\.\d+\), up \d+\.\d+ percentage points since 9 March",
    )
    # 3. How sure is each figure? It stands at the end of its bar.
    for answer in ("yes", "no"):
        row = page.locator("#shares li", has=page.get_by_text(answer, exact=True))
        expect(row).to_have_text(re.compile(rf"^{answer}\d+\.\d+% \d+\.\d+ to \d+\.\d+$"))
    # 4. Is that more than in the week before?
    page.get_by_role("button", name="Against the period before").click()
    against = r"up \d+\.\d+ percentage points \(\d+\.\d+ to \d+\.\d+\) against the 7 days before$"
    headline(page, rf"^no: .*, {against}")
    expect(page.locator("#shares li").first).to_contain_text(re.compile(against))
    shown = page.get_by_role("button", name="7 days", exact=True)
    expect(shown).to_have_attribute("aria-pressed", "true")
    assert "from=2026-03-09&to=2026-03-15&against=1" in page.url
    page.get_by_role("button", name="Since the start").click()
    headline(page, "since 9 March")
    expect(page.locator("#moved svg")).to_be_visible()


def test_one_label_of_many_and_how_many_stand_out(page: Page) -> None:
    page.get_by_role("button", name="Where?").click()
    # 5. How many of 5,000 labels stand out from noise? A line parts the others, which are faint.
    standing = page.locator("#standing")
    expect(standing).to_have_text(re.compile(r"^\d+ of 5,000 answers stand out from noise\.$"))
    many = int(standing.inner_text().split()[0])
    assert 0 < many < 20
    expect(page.locator("#shares li:not(.faint, .cut)")).to_have_count(many)
    expect(page.locator("#shares .cut")).to_be_visible()
    # 6. What about one of them? It is far below those that the page has.
    page.get_by_label("Find an answer").fill("Place 4321")
    expect(page.locator("#shares .name")).to_have_text(["place 4321"])
    expect(page.locator("#shares .said")).to_have_text(re.compile(r"^[\d.]+% [\d.]+ to [\d.]+$"))
    expect(standing).to_have_text("1 answer contains “Place 4321”.")
    page.get_by_label("Find an answer").fill("")
    expect(page.locator("#shares .cut")).to_be_visible()
    page.get_by_label("Sort by").select_option("name")
    names = page.locator("#shares .name")
    expect(names.nth(1)).not_to_have_text("place 1")
    numbers = [int(name.split()[1]) for name in names.all_inner_texts()]
    assert numbers == sorted(numbers)


def test_all_at_a_glance_how_much_is_there_and_can_it_be_trusted(page: Page) -> None:
    # 7. What does every question say, and does one need a look?
    page.get_by_role("button", name="All questions").click()
    cards = page.locator(".glance")
    expect(cards.nth(0)).to_contain_text(
        re.compile(r"no: \d+\.\d+%.*since 9 March.*28,000 reports")
    )
    expect(cards.nth(1)).to_contain_text(re.compile(r"place \d+: [\d.]+%.*30,000 reports"))
    expect(cards.nth(2)).to_contain_text(re.compile(r"mean: [67]\.\d+ \([\d.]+ to [\d.]+\)"))
    expect(cards.nth(0).locator("figcaption span")).to_have_text(
        [re.compile(r"^2 March: [\d.]+%$"), re.compile(r"^15 March: [\d.]+%$")]
    )
    # The line is drawn over the band of its intervals, on one scale.
    band = cards.nth(0).locator("polygon").bounding_box()
    line = cards.nth(0).locator("polyline").bounding_box()
    assert band is not None
    assert line is not None
    assert line["height"] < band["height"]
    assert "view=all" in page.url
    cards.nth(2).get_by_role("button").click()
    # 8. How many have answered, and how many more would halve the error?
    expect(page.locator("h1")).to_have_text("Hours?")
    expect(page.locator("#figures")).to_contain_text("reports2,000")
    expect(page.locator("#halving")).to_contain_text("6,000 more reports would halve every error")
    # 9. Do the reports look crafted?
    expect(page.locator("#alarms")).to_contain_text("Not tested for crafted reports.")
    page.go_back()
    expect(cards).to_have_count(3)
    page.get_by_role("button", name="Do you smoke?").first.click()
    expect(page.locator("#alarms")).to_contain_text("No alarm in the newest")


def test_groups_side_by_side(open_page: OpenPage, tmp_path: Path) -> None:
    # 10. Does it differ between groups?
    asked = {**WISH, "questions": [choice("smokes", ["yes", "no"], "Do you smoke?")]}
    groups = {"country": ["DE", "FR", "IT", "other"]}
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(Collection.resolve({**asked, "groups": groups}))
    for stratum, said in enumerate([[0] * 900 + [1] * 100, [0] * 100 + [1] * 900, [0] * 20]):
        number = entry.questions[stored_name("smokes", stratum)]
        store.write([ReportBatch(number, rows(entry, "smokes", said))])
    token = add_token(tmp_path / "tokens", "analyst")
    with background(Service(store, "survey", tokens=Tokens(tmp_path / "tokens"))) as url:
        page = open_page()
        page.goto(f"{url}/#token={token}")
        shown = page.locator("#groups .multiples > div")
        expect(shown).to_have_count(2)  # the others hold too few people to hide among
        for place, (group, least) in enumerate([("DE", "yes"), ("FR", "yes")]):
            expect(shown.nth(place).locator("h4")).to_have_text(f"{group} 1,000 reports")
            row = shown.nth(place).locator("li", has_text=least)
            assert (float(row.locator("strong").inner_text()[:-1]) > 50) == (group == "DE")
        settled(page)
