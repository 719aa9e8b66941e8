"""What a person types into the answer page stays in it, whether it fits its question or not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.contract.collection import Collection
from tests.browser.conftest import OpenPage
from tests.planted import INTEGER, NUMBER, TEXT, assert_nothing_left, assert_silent

KEPT = """async () => {
  const small = { ...localStorage, ...sessionStorage };
  const found = [location.href, document.cookie, JSON.stringify(small)];
  for (const { name } of await indexedDB.databases()) {
    const database = await new Promise((done) => {
      const opening = indexedDB.open(name);
      opening.onsuccess = () => done(opening.result);
    });
    for (const table of database.objectStoreNames) {
      const rows = await new Promise((done) => {
        const asked = database.transaction(table).objectStore(table).getAll();
        asked.onsuccess = () => done(asked.result);
      });
      found.push(JSON.stringify(rows));
    }
    database.close();
  }
  return found;
}"""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A collector whose tables would refuse what lies outside."""
    ends = {"low": 0, "high": 9, "epsilon": 1.0}
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(
        Collection.resolve(
            {
                "name": "Health",
                "series": "series",
                "contact": "x",
                "questions": [
                    {"id": "word", "kind": "text"},
                    {"id": "number", "kind": "number", **ends},
                    {"id": "pairs", "kind": "keyvalue", "keys": ["tea", "milk"], "cap": 1,
                     "mechanism": "item-sampling", **ends},
                    {"id": "code", "kind": "choice", "domain": 9, "epsilon": 1.0},
                ],
            }
        )
    )  # fmt: skip
    with background(Service(store, "series")) as served:
        yield f"{served}/answer"
    store.close()
    assert_nothing_left(tmp_path)


def watched(page: Page) -> list[str]:
    """Everything that the page asks for or sends, as it goes on."""
    seen: list[str] = []

    def look(request: Request) -> None:
        body = (request.post_data_buffer or b"").decode("latin-1")
        seen.append(f"{request.url} {json.dumps(request.headers)} {body}")

    page.on("request", look)
    return seen


def test_answers_outside_are_taken_and_told_and_nothing_repeats_them(
    open_page: OpenPage, url: str
) -> None:
    """The page is held to an empty console by its fixture."""
    page = open_page()
    sent = watched(page)
    page.goto(url)
    page.locator("[data-question=word] input").fill(TEXT)
    page.locator("[data-question=number] input").fill(str(NUMBER))
    pairs = page.locator("[data-question=pairs]")
    for key in ("tea", "milk"):
        pairs.get_by_label(key, exact=True).check()
        pairs.get_by_label(f"How much: {key}").fill(str(NUMBER))
    page.get_by_role("button", name="Add noise to my 3 answers").click()
    clipped = "A number outside 0 to 9 was replaced by the nearest end of the range before noise"
    clipped += " was added."
    expect(page.locator("[data-question=number] .note")).to_have_text([clipped])
    over = (
        "You gave more than 1. The report is drawn at random from all of them, which is just as "
        "private."
    )
    expect(pairs.locator(".note")).to_have_text([clipped, over])
    expect(page.locator("[data-question=word] .note")).to_have_count(0)
    for language in ("ja", "zh"):
        page.locator(f"#languages a[hreflang={language}]").click()
        expect(page.locator("[data-question=number] .note")).to_contain_text("9")
    # At once, while the other may still be loading: the last that was chosen is what stays.
    page.locator("#languages a[hreflang=en]").click()
    expect(page.locator("h1")).to_have_text("Answer in private")
    page.get_by_role("button", name="Send these 3 reports").click()
    expect(page.get_by_role("status")).to_have_text("Thank you. Your 3 reports have been received.")
    assert len([each for each in sent if "/v1/reports" in each]) == 3
    assert_silent(*sent, *page.evaluate(KEPT))
    page.reload()
    expect(page.locator("[data-question=number] .done")).to_be_visible()
    assert_silent(page.content(), *sent)


def test_an_answer_that_is_none_is_refused_without_being_repeated(
    open_page: OpenPage, url: str
) -> None:
    page = open_page()
    sent = watched(page)
    page.goto(url)
    page.locator("[data-question=code] input").fill(str(INTEGER))
    page.locator("#go").click()
    wrong = page.locator("#q-code-wrong")
    expect(wrong).to_have_text("Type a whole number from 0 to 8.")
    assert_silent(wrong.inner_text(), *sent, *page.evaluate(KEPT))


def test_a_bug_of_the_page_is_told_without_its_message(open_page: OpenPage, url: str) -> None:
    """What an unforeseen error says may hold an answer: the console gets where it was."""
    page = open_page(allowed="TypeError")
    noises: list[str] = []
    page.on("console", lambda message: noises.append(message.text))
    page.goto(url)
    page.locator("[data-question=word] input").fill(TEXT)
    page.evaluate(
        "text => { crypto.subtle.digest = () => { throw new TypeError(`cannot read ${text}`); }; }",
        TEXT,
    )
    page.locator("#go").click()
    expect(page.locator("#problem .notice")).to_have_text(
        "Something went wrong, and nothing was sent."
    )
    assert len(noises) == 1
    assert "TypeError" in noises[0]
    assert "at sha256" in noises[0]
    assert "answer.bundle.js" in noises[0]
    assert_silent(*noises, page.locator("#problem").inner_text())
