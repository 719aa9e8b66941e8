"""What an analyst does with the page all day: long lists, odd names, ranges, links, updates."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Route, expect

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import (
    QuestionContents,
    Store,
    StoredCollection,
    StoredReports,
    open_store,
)
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.core.randomness import Seeded
from rumor.demo.showcase import Showcase
from rumor.mechanisms.summary import Summary
from tests.browser.conftest import OpenPage
from tests.browser.test_dashboard import chart, figure, settled, signed_in
from tests.collector.tools import batch

WISH = {"name": "A survey", "series": "survey", "contact": "nobody@example.org"}


Days = dict[str, list[int]]


@contextmanager
def served(
    folder: Path, *questions: dict[str, object], past: dict[str, Days] | None = None
) -> Iterator[tuple[str, Store, StoredCollection]]:
    """A collector of these questions, perhaps with a past; its page, with a token."""
    store = open_store(f"sqlite:///{folder / 'store.db'}")
    asked = Collection.resolve({**WISH, "questions": list(questions)})
    known = {
        each.id: remembered(asked, each.id, (past or {}).get(each.id, {}))
        for each in asked.questions
    }
    entry = store.restore(asked, known, open=True)
    token = add_token(folder / "tokens", "analyst")
    with background(Service(store, "survey", tokens=Tokens(folder / "tokens"))) as url:
        yield f"{url}/#token={token}", store, entry


def remembered(asked: Collection, question: str, days: Days) -> QuestionContents:
    """Reports of past days, as an export has them."""
    mechanism = asked.question(question).mechanism
    empty = Summary.empty(mechanism, contract=asked.digest, question=question)
    made = {
        datetime.date.fromisoformat(day): mechanism.without_labels().privatize(
            codes, random=Seeded(i)
        )
        for i, (day, codes) in enumerate(days.items())
    }
    kept = [
        StoredReports(
            day, np.frombuffer(secrets.token_bytes(16 * len(each)), np.uint8).reshape(-1, 16), each
        )
        for day, each in made.items()
    ]
    return QuestionContents(
        iter(kept), iter(()), {day: empty.update(each) for day, each in made.items()}
    )


def choice(id: str, labels: list[str] | int, text: str = "") -> dict[str, object]:
    size = {"domain": labels} if isinstance(labels, int) else {"labels": labels}
    return {"id": id, "kind": "choice", "text": text or id, "epsilon": 2.0, **size}


@pytest.mark.slow
def test_charts_keep_their_width_after_an_update(open_page: OpenPage, shown: Showcase) -> None:
    page = signed_in(open_page, shown)
    page.set_viewport_size({"width": 1920, "height": 1080})
    before = figure(page, "reports")
    shown.more(400)
    expect(page.locator(".figure", has_text="reports").first).not_to_contain_text(before)
    expect(page.locator("#perday .drawing")).to_have_count(1)
    drawn = page.locator("#perday svg").get_attribute("width")
    room = page.locator("#perday").bounding_box()
    assert drawn is not None
    assert room is not None
    assert float(drawn) == pytest.approx(room["width"], abs=2)
    assert room["width"] < 1000, "the chart is one column of the page"


@pytest.mark.slow
def test_fifty_questions_leave_the_estimate_at_the_top(open_page: OpenPage, tmp_path: Path) -> None:
    many = [choice(f"q-{i}", ["yes", "no"], f"Question number {i}?") for i in range(50)]
    with served(tmp_path, *many) as (url, store, entry):
        store.write([batch(entry, "q-0", np.arange(1000) % 2)])
        page = open_page()
        page.goto(url)
        expect(chart(page, "shares")).to_be_visible()
        place = page.locator(".estimate").bounding_box()
        assert place is not None
        assert place["y"] < 400
        page.get_by_label("Find a question").fill("number 42")
        expect(page.locator("#questions li:visible")).to_have_count(1)
        page.get_by_role("button", name="Question number 42?").click()
        expect(page.locator("h1")).to_have_text("Question number 42?")
        expect(page.locator("#problem")).to_contain_text("No reports yet.")
        expect(page.locator("#problem a")).to_have_attribute("href", "/answer")
        expect(page.locator("#shares")).to_be_hidden()
        for name in (".days", ".halving", ".downloads", "#alarms"):
            expect(page.locator(name)).to_be_hidden()


def test_names_that_every_object_has_and_texts_that_turn(
    open_page: OpenPage, tmp_path: Path
) -> None:
    labels = ["constructor", "__proto__", "toString", "\u202eevil", "\u0646\u0639\u0645", "x" * 60]
    asked = "W" * 300
    with served(tmp_path, choice("odd", labels, asked)) as (url, store, entry):
        store.write([batch(entry, "odd", np.arange(3000) % 6)])
        page = open_page(size="phone")
        page.goto(url)
        expect(page.locator("#shares .bar")).to_have_count(6)
        # A long question is short until somebody asks for all of it.
        title = page.locator("h1")
        short = title.bounding_box()
        page.get_by_role("button", name="Show the whole question").click()
        expect(page.get_by_role("button", name="Shorten the question")).to_be_visible()
        long = title.bounding_box()
        assert short is not None
        assert long is not None
        assert short["height"] < 110 < long["height"]
        for name in ("constructor", "__proto__", "toString"):
            expect(page.locator("#shares")).to_contain_text(name)
        # A bar is as long as its share, some sixth of the people, not nothing.
        bars = [b.bounding_box() for b in page.locator("#shares .bar .answer").all()]
        assert all(bar is not None and bar["width"] > 20 for bar in bars)
        assert "\u202e" not in (page.locator("#shares").text_content() or "")
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        page.get_by_text("As a table").click()
        expect(page.locator("#table th[dir=auto]")).to_have_count(6)
        settled(page)


@pytest.mark.slow
def test_a_range_of_days_and_a_link_to_it(open_page: OpenPage, tmp_path: Path) -> None:
    asked = choice("one", ["yes", "no"], "One?"), choice("two", ["yes", "no"], "Two?")
    codes = {"2026-03-01": [0] * 800, "2026-03-02": [1] * 600, "2026-03-03": [1] * 400}
    with served(tmp_path, *asked, past={"two": codes}) as (url, _, _):
        page = open_page()
        page.goto(url)
        page.get_by_role("button", name="Two?").click()
        expect(chart(page, "shares")).to_be_visible()
        assert figure(page, "reports") == "1,800"
        page.get_by_text("Other days").click()
        page.get_by_label("Days from").fill("2026-03-02")
        page.get_by_role("button", name="Show").click()
        expect(page.locator(".figure", has_text="reports").first).to_contain_text("1,000")
        assert page.url.endswith("#question=two&from=2026-03-02&to=2026-03-03")
        # Everybody of these days said no: the first row.
        page.get_by_text("As a table").click()
        expect(page.locator("#table tbody th").first).to_have_text("no")
        with page.expect_download() as waiting:
            page.get_by_role("button", name="SVG").click()
        waiting.value.save_as(tmp_path / "two.svg")
        assert "1,000 reports" in (tmp_path / "two.svg").read_text()
        # Somebody else opens the link, with a token of theirs.
        other = open_page()
        other.goto(f"{url}&{page.url.partition('#')[2]}")
        expect(other.locator("h1")).to_have_text("Two?")
        expect(other.locator(".figure", has_text="reports").first).to_contain_text("1,000")
        assert "token" not in other.url
        other.get_by_role("button", name="Since the start").click()
        expect(other.locator(".figure", has_text="reports").first).to_contain_text("1,800")
        other.go_back()
        expect(other.locator(".figure", has_text="reports").first).to_contain_text("1,000")
        for each in (page, other):  # before the collector ends, which they would miss
            each.close()


def test_one_report_is_one(open_page: OpenPage, tmp_path: Path) -> None:
    number = {"id": "n", "kind": "number", "text": "How many?", "low": 0, "high": 24}
    with served(tmp_path, {**number, "epsilon": 1.0}) as (url, store, entry):
        store.write([batch(entry, "n", [12.0])])
        page = open_page()
        page.goto(url)
        expect(page.locator("#questions small")).to_have_text("1 report")
        expect(chart(page, "means")).to_be_visible()
        assert page.locator(".figure", has_text="report").first.inner_text() == "report\n1"
        # One report of a person leaves the noise of the mechanism at least.
        error = float(figure(page, "standard error").split()[1])
        assert error > 5
        expect(page.locator("#halving")).not_to_contain_text("from 0 to 0")
        settled(page)


def test_an_estimate_that_takes_long_says_so_and_the_last_one_stays(
    open_page: OpenPage, tmp_path: Path
) -> None:
    asked = choice("one", ["yes", "no"], "One?"), choice("two", ["yes", "no"], "Two?")
    with served(tmp_path, *asked) as (url, store, entry):
        store.write([batch(entry, name, np.arange(1000) % 2) for name in ("one", "two")])
        page = open_page()
        held: list[Route] = []
        holds = True

        def hold(route: Route) -> None:
            if holds:
                held.append(route)
            else:
                route.continue_()

        page.goto(url)
        first = page.locator("#shares .bars")
        expect(first).to_contain_text("%")
        page.route("**/v1/estimates/**", hold)
        page.get_by_role("button", name="Two?").click()
        expect(page.locator("#problem")).to_have_text("Estimating …")
        expect(first).to_have_count(0)
        page.get_by_role("button", name="One?").click()
        # The figures of before are there at once, and said to be those.
        expect(first).to_contain_text("%")
        said = "Estimating …, the figures are those of 1,000 reports"
        expect(page.locator("#status")).to_have_text(said)
        holds = False
        for each in held:
            each.continue_()
        settled(page)
        expect(page.locator("#problem")).to_be_empty()


@pytest.mark.slow
def test_while_the_collector_is_away_nothing_is_live(open_page: OpenPage, shown: Showcase) -> None:
    page = signed_in(open_page, shown, allowed="Failed to load resource")
    expect(page.locator("#status")).to_contain_text("Live")
    page.route("**/v1/overview*", lambda route: route.abort())
    expect(page.locator("#status")).to_contain_text("Not live: as of")
    page.unroute("**/v1/overview*")
    expect(page.locator("#status")).to_contain_text("Live, as of")


@pytest.mark.slow
def test_two_periods_have_a_picture(open_page: OpenPage, tmp_path: Path) -> None:
    codes = {"2026-03-01": [0, 1] * 400, "2026-03-02": [0, 0, 0, 1] * 200}
    with served(tmp_path, choice("q", ["yes", "no"]), past={"q": codes}) as (url, _, _):
        page = open_page()
        page.goto(url)
        page.get_by_text("Compare two periods").click()
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("#differences .difference")).to_have_count(2)
        settled(page)


def test_tables_on_a_phone_have_all_their_columns(open_page: OpenPage, tmp_path: Path) -> None:
    labels = ["yes", "no", "an answer of very many words, as people write them into their lists"]
    three = [[0, 1, 2] * 300, [0, 0, 0, 1, 2, 2] * 150, [0] * 400 + [1, 2] * 250]
    days = {f"2026-03-0{day}": codes for day, codes in enumerate(three, 1)}
    with served(tmp_path, choice("q", labels), past={"q": days}) as (url, _, _):
        page = open_page(size="phone")
        page.goto(url)
        for name in ("As a table", "Largest change of each answer", "Compare two periods"):
            page.get_by_text(name).click()
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("#compared tbody tr")).to_have_count(3)
        said = "First period: 1 March. Second period: 2 March to 3 March. Differences are in"
        expect(page.locator("#compared")).to_contain_text(f"{said} percentage points.")
        compared = ["first period", "second period", "difference"]
        for place, columns in (
            ("#table", ["share", "95% interval", "standard error"]),
            ("#changes", ["before", "after", "from", "p-value", "adjusted"]),
            ("#compared", [*compared, "95% interval", "p-value", "adjusted"]),
        ):
            table = page.locator(f"{place} .scroll")
            room = "(scroll) => scroll.scrollWidth - scroll.clientWidth"
            assert table.evaluate(room) <= 0, place
            cells = table.locator("tbody tr").first.get_by_role("cell")
            named = "(cells) => cells.map((cell) => getComputedStyle(cell, '::before').content)"
            assert cells.evaluate_all(named) == [f'"{name}"' for name in columns]
            # Each stands below the name of its row, and none is cut off.
            head = table.get_by_role("rowheader").first.bounding_box()
            assert head is not None
            for box in (cell.bounding_box() for cell in cells.all()):
                assert box is not None
                assert box["y"] >= head["y"] + head["height"]
                assert box["x"] + box["width"] <= 390
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        # With more room they are tables as before.
        page.set_viewport_size({"width": 1280, "height": 900})
        expect(page.locator("#table").get_by_role("columnheader", name="share")).to_be_visible()
        # No word of a head is broken.
        lines = """(head) => {
          const range = document.createRange();
          range.selectNodeContents(head);
          return range.getClientRects().length;
        }"""
        for word in ("difference", "adjusted"):
            head_of = page.locator("#compared").get_by_role("columnheader", name=word)
            assert head_of.evaluate(lines) == 1
        cell = page.locator("#table").get_by_role("cell").first
        assert cell.evaluate("(cell) => getComputedStyle(cell, '::before').content") == "none"
        settled(page)


def test_lines_over_time_are_of_what_changed_and_then_of_the_largest(
    open_page: OpenPage, tmp_path: Path
) -> None:
    """With eight answers two have no line: those that few gave and that did not change."""
    sizes = [900, 800, 700, 60, 500, 400, 300, 0]
    still = [code for code, many in enumerate(sizes) for _ in range(many)]
    days = {f"2026-03-{day:02}": still for day in range(1, 9)}
    days |= {f"2026-03-{day:02}": [*still, *([7] * 200)] for day in range(9, 17)}
    labels = [f"answer {i}" for i in range(8)]
    with served(tmp_path, choice("q", labels), past={"q": days}) as (url, _, _):
        page = open_page(size="phone")
        page.goto(url)
        legend = page.locator("#moved svg .role-legend-label text")
        expect(legend.first).to_be_visible()
        named = set(legend.all_text_contents())
        assert named == {"answer 7", *(f"answer {i}" for i in (0, 1, 2, 4, 5))}
        expect(page.locator("#changes")).to_contain_text("since 9 March")
        settled(page)


@pytest.mark.slow
def test_a_hundred_thousand_answers(open_page: OpenPage, tmp_path: Path) -> None:
    with served(tmp_path, choice("big", 100_000)) as (url, store, entry):
        draw = np.random.default_rng(1).zipf(1.3, 20_000) % 100_000
        store.write([batch(entry, "big", draw)])
        page = open_page()
        page.goto(url)
        expect(chart(page, "shares")).to_be_visible()
        assert page.evaluate("document.querySelectorAll('*').length") < 3000
        page.get_by_text("As a table").click()
        expect(page.locator("#table tbody tr")).to_have_count(500)
        expect(page.locator("#remarks")).to_contain_text("The table has the 500 most frequent")
        settled(page)
