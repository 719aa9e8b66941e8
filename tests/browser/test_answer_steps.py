"""On a phone one question is a screen; and what chance did is said beside the bits."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from docs.make_screenshots import reach
from tests.browser.conftest import OpenPage
from tests.browser.test_answer_use import NUMBER, asked, choice

THREE = (choice("one", ["yes", "no"]), NUMBER, choice("three", ["red", "green", "blue"]))


def test_a_phone_shows_one_question_a_screen(open_page: OpenPage, tmp_path: Path) -> None:
    """Begin, next, back, skip; the focus at the question; thanks at the end."""
    with asked(tmp_path, *THREE) as url:
        page = open_page(size="phone")
        page.goto(url)
        page.get_by_role("button", name="Begin: 3 questions").press("Enter")
        cards = page.locator(".card >> visible=true")
        expect(cards).to_have_count(1)
        expect(page.locator("#q-one")).to_be_focused()
        expect(page.locator("#q-one")).to_have_accessible_description("1 of 3")
        expect(page.locator("#lead")).to_be_hidden()
        page.get_by_role("button", name="Skip").click()
        expect(page.locator("#q-hours")).to_be_focused()
        expect(page.locator("#progress")).to_have_text("2 of 3")
        # The buttons are at the lower end of the window, and nothing is below them.
        below = "innerHeight - document.querySelector('#action').getBoundingClientRect().bottom"
        assert page.evaluate(below) == pytest.approx(0, abs=1)
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        field = page.locator("[data-question=hours] input")
        field.fill("7")
        page.get_by_role("button", name="Back").click()
        expect(page.locator("#q-one")).to_be_focused()
        page.get_by_label("no").check()
        page.get_by_role("button", name="Next").click()
        expect(field).to_have_value("7")
        # What the browser calls back is a screen back as well, and loses no answer.
        page.go_back()
        expect(page.locator("#q-one")).to_be_focused()
        expect(page.get_by_label("no")).to_be_checked()
        page.get_by_role("button", name="Next").click()
        field.press("Enter")
        expect(page.locator("#q-three")).to_be_focused()
        page.get_by_role("button", name="Add noise to my 2 answers").click()
        expect(page.locator(".card.drawn")).to_have_count(2)
        expect(page.locator("#q-one")).to_be_focused()
        expect(cards).to_have_count(2)
        page.get_by_role("button", name="Send these 2 reports").click()
        expect(page.get_by_role("status")).to_contain_text("Thank you.")
        page.get_by_label("blue").check()
        page.locator("#go").click()
        page.get_by_role("button", name="Send this report").click()
        expect(page.locator("#hint")).to_contain_text("That was the last question")


def test_a_mistake_keeps_its_screen_and_a_wider_window_has_them_all(
    open_page: OpenPage, tmp_path: Path
) -> None:
    with asked(tmp_path, choice("year", 100), *THREE) as url:
        page = open_page(size="phone")
        page.goto(url)
        reach(page, "year").locator("input").fill("3000")
        page.locator("#next").click()
        expect(page.locator("#q-year-wrong")).to_have_text("Type a whole number from 0 to 99.")
        expect(page.locator("[data-question=year] input")).to_be_focused()
        page.set_viewport_size({"width": 1000, "height": 800})
        expect(page.locator(".card >> visible=true")).to_have_count(4)
        expect(page.locator("[data-question=year] input")).to_have_value("3000")
        page.locator("#go").click()
        expect(page.locator("#q-year-wrong")).not_to_be_empty()
        page.set_viewport_size({"width": 390, "height": 800})
        expect(page.locator(".card >> visible=true")).to_have_count(1)


@pytest.mark.parametrize("known", [True, False])
def test_chance_is_said_beside_the_bits(open_page: OpenPage, tmp_path: Path, known: bool) -> None:
    """Epsilon ln 3 of a unary question: 1/2 and 1/4, and odds of 3 to 1 for each other answer."""
    colours = ["red", "green", "blue", "grey"]
    question = {**choice("one", colours, 1.0986122886681098), "mechanism": "unary"}
    with asked(tmp_path, question) as url:
        page = open_page()
        page.goto(url)
        page.get_by_label("green").check()
        page.locator("#go").click()
        expect(page.locator(".coins")).to_contain_text("is 1 with 50%, each other bit with 25%")
        if not known:
            page.reload()
        page.get_by_text("Who else could have sent this report?").click()
        who = page.locator(".who")
        expect(who).to_contain_text("no answer leads to it more than 3 times as often as another")
        bits = dict(zip(colours, page.locator(".bit:not(.stays)").all_inner_texts(), strict=True))
        lines = {
            row.locator("dt").inner_text(): row.locator("dd").inner_text().split(", ")
            for row in who.locator("dl > div").all()
        }
        if known:
            own = bits.pop("green")
            more = "As often as" if own == "1" else "3 times as often as"
            less = "As often as" if own == "0" else "33.3% as often as"
            said = {"1": f"{more} your answer", "0": f"{less} your answer"}
        else:
            rare = "33.3% as often as those" if "1" in bits.values() else "Most often"
            said = {"1": "Most often", "0": rare}
        expected: dict[str, list[str]] = {}
        for colour, bit in bits.items():
            expected.setdefault(said[bit], []).append(colour)
        assert lines == expected
