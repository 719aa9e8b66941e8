"""Groups end to end: chosen on the answer page, stored in PostgreSQL, selected on the dashboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import (
    ReportBatch,
    Store,
    StoredCollection,
    open_store,
    stored_name,
)
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from tests.browser.conftest import LANGUAGES, OpenPage
from tests.browser.sites import site
from tests.browser.test_dashboard import chart, figure
from tests.collector.postgres import Postgres
from tests.collector.tools import rows

SAID = {
    "en": "These groups are sent in the clear",
    "ja": "ノイズを加えずに、そのまま",
    "zh": "随每份报告以明文发送",
}
LANDS = ["DE", "a,b=c", "__proto__", "other"]


@dataclass
class Served:
    """A collector of one question by country and system."""

    url: str
    token: str
    store: Store
    entry: StoredCollection

    def fill(self, stratum: int, values: Any) -> None:
        """Store reports of these values in a stratum."""
        number = self.entry.questions[stored_name("colour", stratum)]
        self.store.write([ReportBatch(number, rows(self.entry, "colour", values))])

    def strata(self) -> dict[int, int]:
        self.store.summarize()
        return self.store.reports_by_stratum(self.entry, "colour")


def contract() -> Collection:
    question = {
        "id": "colour", "kind": "choice", "labels": ["red", "green"], "epsilon": 3.0,
        "text": "Which colour?", "reports_per_person": 2,
    }  # fmt: skip
    head = {"name": "Colours", "series": "colours", "contact": "c", "questions": [question]}
    return Collection.resolve({**head, "groups": {"country": LANDS, "os": ["other", "x"]}})


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> Iterator[Served]:
    store = open_store(postgres.new_database())
    entry = store.register(contract())
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    token = add_token(tokens, "analyst")
    with background(Service(store, "colours", tokens=Tokens(Path(tokens)))) as url:
        yield Served(url, token, store, entry)
    store.close()


def answer(page: Page) -> None:
    page.get_by_label("red", exact=True).check()
    page.locator("#go").click()
    expect(page.locator("[data-question=colour].drawn")).to_be_visible()
    page.locator("#go").click()
    expect(page.locator("[data-question=colour].sent")).to_be_visible()


def test_a_person_chooses_what_is_sent_in_the_clear(open_page: OpenPage, served: Served) -> None:
    before = served.strata()
    page = open_page()
    page.goto(f"{served.url}/answer?group=country=__proto__&group=land=x")
    expect(page.locator("#groups")).to_contain_text(SAID["en"])
    expect(page.get_by_label("country")).to_have_value("__proto__")
    expect(page.get_by_label("os")).to_have_value("other")
    expect(page.locator("#group-os option:checked")).to_have_text("other, or not said")
    page.get_by_label("country").select_option("a,b=c")
    page.get_by_label("os").select_option("x")
    answer(page)
    expect(page.get_by_label("country")).to_be_disabled()
    page.get_by_role("button", name="Answer again").click()
    page.get_by_label("country").select_option("DE")
    answer(page)
    after = served.strata()
    assert {s: n - before.get(s, 0) for s, n in after.items() if n != before.get(s, 0)} == {
        3: 1,
        1: 1,
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_notice_is_said_in_every_language(
    language: str, open_page: OpenPage, served: Served
) -> None:
    page = open_page()
    page.goto(f"{served.url}/answer?lang={language}")
    expect(page.locator("#groups")).to_contain_text(SAID[language])


def test_an_element_shows_the_groups_that_its_page_knows(
    open_page: OpenPage, served: Served, tmp_path: Path
) -> None:
    before = served.strata()
    script = f'<script type="module" src="{served.url}/client/element.js"></script>'
    question = f'<rumor-question collector="{served.url}" question="colour"></rumor-question>'
    head = '<!doctype html><html lang="en"><title>A page</title><link rel="icon" href="data:,">'
    (tmp_path / "index.html").write_text(f"{head}{script}<body>{question}</body></html>")
    with site(tmp_path) as address:
        page = open_page()
        page.goto(f"{address}/index.html")
        expect(page.get_by_label("country")).to_have_value("other")
        page.locator("rumor-question").evaluate("(node) => (node.groups = {country: 'DE'})")
        expect(page.get_by_label("country")).to_have_value("DE")
        page.get_by_label("os").select_option("x")
        page.get_by_label("red", exact=True).check()
        page.get_by_role("button", name="Add noise to my answer").click()
        page.get_by_role("button", name="Send this report").click()
        expect(page.get_by_text("Your report has been received")).to_be_visible()
    assert served.strata().get(1, 0) == before.get(1, 0) + 1


def test_an_analyst_looks_at_a_group(open_page: OpenPage, served: Served) -> None:
    served.fill(0, np.zeros(150, np.int64))
    served.fill(1, np.zeros(150, np.int64))
    served.fill(2, np.ones(200, np.int64))
    served.fill(4, [0])
    counts = served.strata()
    page = open_page()
    page.goto(f"{served.url}/#token={served.token}")
    expect(chart(page, "shares")).to_be_visible()
    assert figure(page, "reports") == str(sum(counts.values()))
    country = page.get_by_label("country")
    few = country.locator("option", has_text=re.compile(r"__proto__ .*too few"))
    expect(few).to_be_disabled()
    in_germany = counts[0] + counts[1]
    country.select_option("DE")
    expect(page.locator(".figure", has_text="reports").locator("dd")).to_have_text(str(in_germany))
    page.locator("#as-table summary").click()
    red = page.locator("#table tr", has_text="red").locator("td").first
    expect(red).to_contain_text(re.compile(r"^9\d|^100"))
    assert "group=country%3DDE" in page.url
    page.get_by_label("os").select_option("x")
    expect(page.locator(".figure", has_text="reports").locator("dd")).to_have_text(str(counts[1]))
    page.reload()
    expect(page.get_by_label("country")).to_have_value("DE")
    expect(page.locator(".figure", has_text="reports").locator("dd")).to_have_text(str(counts[1]))
    page.get_by_label("country").select_option("")
    page.get_by_label("os").select_option("")
    everybody = str(sum(counts.values()))
    expect(page.locator(".figure", has_text="reports").locator("dd")).to_have_text(everybody)


def test_a_group_of_few_is_not_shown(open_page: OpenPage, served: Served) -> None:
    served.fill(4, [0])
    page = open_page(allowed="status of 409")
    page.goto(f"{served.url}/#group=country%3D__proto__&token={served.token}")
    expect(page.locator("#problem")).to_contain_text("A group is shown from 100 reports on")
