"""What a person meets in the first minutes: mistakes, long lists, odd names, a lost network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from docs.make_screenshots import reach
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.contract.collection import Collection
from tests.browser.conftest import OpenPage
from tests.browser.test_accessibility import objections

WISH = {"name": "A survey", "series": "survey", "contact": "nobody@example.org"}
NUMBER = {"id": "hours", "kind": "number", "text": "Hours?", "low": 0, "high": 24, "epsilon": 1.0}


@contextmanager
def asked(folder: Path, *questions: dict[str, object]) -> Iterator[str]:
    """A collector of these questions; the address of its page for the people who are asked."""
    store = open_store(f"sqlite:///{folder / 'store.db'}")
    store.register(Collection.resolve({**WISH, "questions": list(questions)}))
    with background(Service(store, "survey")) as url:
        yield f"{url}/answer"


def choice(id: str, labels: list[str] | int, epsilon: float = 2.0) -> dict[str, object]:
    size = {"domain": labels} if isinstance(labels, int) else {"labels": labels}
    return {"id": id, "kind": "choice", "text": f"{id}?", "epsilon": epsilon, **size}


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.closest('[data-question]')?.dataset.question"))


def test_what_is_wrong_is_told_at_its_question(open_page: OpenPage, tmp_path: Path) -> None:
    """Beside the field, in plain words, with the focus there; nothing is drawn or spent."""
    many = [choice(f"q-{i}", ["yes", "no"]) for i in range(6)]
    with asked(tmp_path, NUMBER, *many, choice("year", 100)) as url:
        page = open_page(size="phone")
        page.goto(url)
        reach(page, "hours").locator("input").fill("99")
        expect(page.locator("#q-hours-hint")).to_contain_text("replaced by the nearest end")
        reach(page, "year").locator("input").fill("3000")
        page.locator("#go").click()
        wrong = page.locator("#q-year-wrong")
        expect(wrong).to_have_text("Type a whole number from 0 to 99.")
        expect(wrong).to_be_in_viewport()
        expect(page.locator("[data-question=year] input")).to_have_attribute("aria-invalid", "true")
        assert focused(page) == "year"
        expect(page.locator("#problem")).to_be_empty()
        expect(page.locator("#total")).to_contain_text("Nothing yet")
        page.locator("[data-question=year] input").fill("30")
        expect(wrong).to_be_empty()
        page.locator("#go").click()
        expect(page.locator(".card.drawn")).to_have_count(2)


def test_a_word_that_cannot_be_named_is_told_while_it_is_typed(
    open_page: OpenPage, tmp_path: Path
) -> None:
    short = {"id": "lot", "kind": "words", "text": "Which?", "longest": 6, "epsilon": 4.0}
    with asked(tmp_path, short) as url:
        page = open_page()
        page.goto(url)
        hint, field = page.locator("#q-lot-hint"), page.locator("[data-question=lot] input")
        field.fill("coffee")
        expect(hint).to_have_text("Your word; upper and lower case are different words")
        field.fill("c" * 60)
        expect(hint).to_contain_text("the result does not name it")


def test_a_long_list_takes_a_label_in_any_case(open_page: OpenPage, tmp_path: Path) -> None:
    """As its suggestions do; where two labels differ in case alone, each is its own."""
    labels = [*(f"town {i}" for i in range(70)), "Po", "PO"]
    with asked(tmp_path, choice("town", labels)) as url:
        page = open_page()
        page.goto(url)
        field, wrong = page.get_by_role("searchbox"), page.locator("#q-town-wrong")
        for typed in ("po", "town 70"):
            field.fill(typed)
            page.locator("#go").click()
            expect(wrong).to_have_text("Choose one of the answers in the list.")
        field.fill("TOWN 7")
        page.locator("#go").click()
        expect(page.locator("[data-question=town].drawn")).to_contain_text("town 7")


def test_a_list_of_more_than_a_dozen_is_searched_by_the_keyboard(
    open_page: OpenPage, tmp_path: Path, axe: str
) -> None:
    """Every label is whole, none is chosen before, and what was found is told."""
    labels = [f"place {i}, {'with a long name that no list may cut off ' * 2}" for i in range(13)]
    with asked(tmp_path, choice("place", labels)) as url:
        page = open_page(size="phone")
        page.goto(url)
        radios, hint = page.get_by_role("radio"), page.locator("#q-place-hint")
        expect(radios).to_have_count(13)
        expect(page.locator("[data-question=place] :checked")).to_have_count(0)
        assert page.locator(".found").evaluate("(e) => e.scrollWidth <= e.clientWidth")
        field = page.get_by_role("searchbox", name="place?", exact=True)
        expect(field).to_have_accessible_description("Type to find one of 13 answers.")
        field.press_sequentially("PLACE 1")
        expect(hint).to_have_text("4 answers match.")
        expect(radios).to_have_count(4)
        assert objections(page, axe) == []
        page.locator("#go").click()
        expect(page.locator("#q-place-wrong")).to_have_text(
            "Choose one of the answers in the list."
        )
        field.press("Tab")
        page.keyboard.press("ArrowDown")
        expect(radios.nth(1)).to_be_checked()
        expect(page.locator("#q-place-wrong")).to_be_empty()
        page.get_by_role("button", name="Clear this answer").click()
        expect(radios).to_have_count(13)
        expect(page.locator("#go")).to_be_disabled()
        field.fill("place 12")
        radios.check()
        page.locator("#languages a[hreflang=ja]").click()
        expect(page.locator("[data-question=place] :checked")).to_have_value(labels[12])
        page.locator("#go").click()
        expect(page.locator("[data-question=place].drawn")).to_contain_text("place 12")


def test_more_than_a_dozen_boxes_are_searched_and_ticked_ones_stay(
    open_page: OpenPage, tmp_path: Path, axe: str
) -> None:
    names = [f"thing {i}" for i in range(13)]
    several = {"id": "several", "kind": "set", "text": "Which?", "labels": names, "epsilon": 2.0}
    amounts = {"id": "amounts", "kind": "keyvalue", "text": "How many?", "keys": names}
    with asked(tmp_path, several, {**amounts, "low": 0, "high": 9, "epsilon": 2.0}) as url:
        page = open_page()
        page.goto(url)
        for id in ("several", "amounts"):
            place = page.locator(f"[data-question={id}]")
            boxes, field = place.get_by_role("checkbox"), place.get_by_role("searchbox")
            expect(boxes).to_have_count(14)
            place.get_by_label("thing 3", exact=True).check()
            field.fill("THING 1")
            expect(place.locator("[role=status]")).to_have_text("4 answers match.")
            expect(boxes).to_have_count(6)  # those, the one that is ticked, and none of these
            place.get_by_label("thing 11", exact=True).check()
        for number in page.get_by_role("spinbutton").all():
            number.fill("5")
        assert objections(page, axe) == []
        page.locator("#go").click()
        lines = page.locator(".brief > summary")
        expect(lines.nth(0)).to_contain_text("thing 3, thing 11")
        expect(lines.nth(1)).to_contain_text("thing 3: 5, thing 11: 5")


def test_bars_are_seen_in_forced_colours(open_page: OpenPage, tmp_path: Path) -> None:
    with asked(tmp_path, choice("one", ["yes", "no"]), choice("two", ["yes", "no"])) as url:
        page = open_page(size="phone")
        page.emulate_media(forced_colors="active")
        page.goto(url)
        colour = "(e) => getComputedStyle(e).backgroundColor"
        card = reach(page, "one")
        assert page.locator("progress").evaluate(
            "(e) => getComputedStyle(e).forcedColorAdjust"
        ) == ("none")
        before, track = card.locator(".belief .before"), card.locator(".belief .track")
        assert before.evaluate(colour) != track.evaluate(colour)
        assert "1px" in track.evaluate("(e) => getComputedStyle(e).border")


def test_few_positions_are_buttons_and_many_a_slider_without_a_place_before(
    open_page: OpenPage, tmp_path: Path, axe: str
) -> None:
    ten = {"id": "ten", "kind": "ordered", "text": "How well?", "low": -0.5, "high": 10.5}
    wide = {"id": "wide", "kind": "ordered", "text": "Minutes?", "low": 0, "high": 60, "bins": 12}
    with asked(tmp_path, {**ten, "bins": 11, "epsilon": 2.0}, {**wide, "epsilon": 2.0}) as url:
        page = open_page()
        page.goto(url)
        buttons = page.locator("[data-question=ten]").get_by_role("radio")
        expect(buttons).to_have_count(11)
        assert buttons.evaluate_all("(all) => all.map((e) => e.value)") == [
            str(n) for n in range(11)
        ]
        expect(page.locator("[data-question=ten] :checked")).to_have_count(0)
        slider = page.get_by_role("slider")
        expect(slider).to_have_attribute("aria-valuetext", "Choose an answer")
        expect(page.locator("#go")).to_be_disabled()
        buttons.nth(0).focus()
        page.keyboard.press("Space")
        page.keyboard.press("ArrowRight")
        expect(buttons.nth(1)).to_be_checked()
        # A click where the slider stands already is an answer; each key is a bin further.
        slider.click()
        number = page.get_by_role("spinbutton")
        expect(number).to_have_value("28" if slider.input_value() == "5" else "30")
        slider.focus()
        page.keyboard.press("Home")
        expect(number).to_have_value("3")
        page.keyboard.press("ArrowRight")
        expect(number).to_have_value("8")
        expect(slider).to_have_attribute("aria-valuetext", "8")
        number.fill("59")
        expect(slider).to_have_value("11")
        assert objections(page, axe) == []
        page.locator("#go").click()
        expect(page.locator("[data-question=ten].drawn .brief > summary")).to_contain_text("1")
        expect(page.locator("[data-question=wide].drawn .brief > summary")).to_contain_text("59")


@pytest.mark.parametrize(
    ("language", "asking", "clear"),
    [
        ("en", "Choose an answer", "Clear this answer"),
        ("ja", "答えを選んでください", "この答えを消す"),
        ("zh", "请选择答案", "清除这个答案"),
    ],
)
def test_many_labels_in_order_are_a_slider_between_the_names_of_its_ends(
    open_page: OpenPage, tmp_path: Path, axe: str, language: str, asking: str, clear: str
) -> None:
    labels = [f"stage {i}" for i in range(11)] + ["the end"]
    long = [f"mark {i}" for i in range(101)]
    ordered = {"kind": "ordered", "epsilon": 2.0}
    questions = [
        {**ordered, "id": "stage", "text": "How far?", "labels": labels},
        {**ordered, "id": "few", "text": "How few?", "labels": labels[:11]},
        {**ordered, "id": "long", "text": "How long?", "labels": long},
    ]
    with asked(tmp_path, *questions) as url:
        page = open_page(size="phone")
        page.goto(f"{url}?lang={language}")
        page.locator("#begin").click()
        stage = page.locator("[data-question=stage]")
        slider, named = stage.get_by_role("slider"), stage.locator("p.value")
        expect(stage.locator(".ends span")).to_have_text(["stage 0", "the end"])
        expect(named).to_have_text(asking)
        expect(slider).to_have_attribute("aria-valuetext", asking)
        expect(page.locator("#next")).to_have_class("quiet")  # which skips: nothing is chosen
        slider.focus()
        page.keyboard.press("End")
        expect(named).to_have_text("the end")
        expect(slider).to_have_attribute("aria-valuetext", "the end")
        page.keyboard.press("ArrowLeft")
        expect(named).to_have_text("stage 10")
        assert objections(page, axe) == []
        stage.get_by_role("button", name=clear).click()
        expect(named).to_have_text(asking)
        expect(slider).to_be_focused()
        page.keyboard.press("Home")
        page.locator("#next").click()
        expect(page.locator("[data-question=few]").get_by_role("radio")).to_have_count(11)
        page.locator("#next").click()
        expect(page.locator("[data-question=long]").get_by_role("searchbox")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator("#go").click()
        expect(page.locator("[data-question=stage].drawn .stays .value")).to_have_text("stage 0")


def test_what_was_drawn_is_a_line_for_each_of_many_questions(
    open_page: OpenPage, tmp_path: Path, axe: str
) -> None:
    """The answer beside what is sent; a tap shows every bit."""
    many = [{**choice(f"q{i}", ["yes", "no"]), "mechanism": "unary"} for i in range(12)]
    with asked(tmp_path, *many) as url:
        page = open_page(size="phone")
        page.goto(url)
        for i in range(12):
            reach(page, f"q{i}").get_by_label("yes").check()
        page.locator("#go").click()
        lines = page.locator(".brief > summary")
        expect(lines).to_have_count(12)
        expect(page.locator(".bittable:visible")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollHeight") < 4_000
        assert objections(page, axe) == []
        first = page.locator("[data-question=q3]")
        lines.nth(3).press("Enter")
        expect(first.locator(".bittable")).to_be_visible()
        sent = [first.locator("tbody .bit:not(.stays)").nth(i).inner_text() for i in range(2)]
        said = [label for label, bit in zip(["yes", "no"], sent, strict=True) if bit == "1"]
        expect(lines.nth(3)).to_have_text(
            f"Stays hereyesIs sent{', '.join(said) or 'None of these'}"
        )


def test_what_is_closed_draws_nothing_more(open_page: OpenPage, tmp_path: Path) -> None:
    """Its reports can be taken back; then no button adds noise that nobody would take."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    pair = [choice("one", ["yes", "no"]), choice("two", ["yes", "no"])]
    entry = store.register(Collection.resolve({**WISH, "questions": pair}))
    with background(Service(store, "survey")) as url:
        page = open_page(allowed="status of 410")
        page.goto(f"{url}/answer")
        page.locator("[data-question=one]").get_by_label("yes").check()
        page.locator("#go").click()
        expect(page.locator(".card.drawn")).to_have_count(1)
        store.close_collection(entry.collection.digest)
        page.locator("#go").click()
        expect(page.get_by_role("alert")).to_contain_text("This collection is closed")
        for _ in range(2):
            expect(page.locator("#go")).to_have_count(0)
            expect(page.locator(".card.open")).to_have_count(0)
            if page.locator("#back-ask").count():
                page.locator("#back-ask").click()
                page.locator("#back-yes").click()
                expect(page.locator("#status")).to_have_text("Your report has been withdrawn.")
                expect(page.locator("#status")).to_be_focused()
        expect(page.locator("#back-ask")).to_have_count(0)


def test_a_word_of_another_length_is_told_that_nobody_learns_of_it(
    open_page: OpenPage, tmp_path: Path
) -> None:
    lot = {"id": "lot", "kind": "words", "text": "Which lot?", "length": 3, "epsilon": 4.0}
    with asked(tmp_path, lot, {**lot, "id": "any", "length": None}) as url:
        page = open_page()
        page.goto(url)
        hint, field = page.locator("#q-lot-hint"), page.locator("[data-question=lot] input")
        expect(hint).to_have_text(
            "A word of 3 characters; upper and lower case are different words"
        )
        field.fill("éab")
        expect(hint).to_contain_text("A word of 3 characters")
        field.fill("🙂ab")
        expect(hint).to_contain_text("does not fit this question")
        field.fill("abcd")
        expect(hint).to_contain_text(
            "Words here have 3 characters. A word of another length is counted"
        )
        page.locator("[data-question=any] input").fill("abcd")
        expect(page.locator("#q-any-hint")).to_contain_text("Your word; upper")
        page.locator("#go").click()
        expect(page.locator(".card.drawn")).to_have_count(2)


@pytest.mark.slow
def test_a_hundred_thousand_answers_are_found_by_typing(
    open_page: OpenPage, tmp_path: Path
) -> None:
    labels = [f"town number {i}" for i in range(20_000)]
    with asked(tmp_path, choice("town", labels)) as url:
        page = open_page()
        page.goto(url)
        field = page.get_by_role("searchbox")
        field.fill("number 1234")
        expect(page.get_by_role("radio")).to_have_count(11)
        assert page.evaluate("document.querySelectorAll('*').length") < 400
        page.locator("#go").click()
        expect(page.locator("#q-town-wrong")).to_have_text("Choose one of the answers in the list.")
        field.fill("town number 12345")
        page.locator("#go").click()
        expect(page.locator(".card.drawn")).to_have_count(1)
        assert page.evaluate("document.querySelectorAll('*').length") < 1500
        height = page.evaluate("document.documentElement.scrollHeight")
        assert height < 4000


def test_many_bits_are_shown_around_the_answer(open_page: OpenPage, tmp_path: Path) -> None:
    question = {**choice("town", [f"town {i}" for i in range(200)]), "mechanism": "unary"}
    with asked(tmp_path, question) as url:
        page = open_page()
        page.goto(url)
        page.get_by_role("searchbox").fill("town 100")
        page.locator("#go").click()
        rows = page.locator(".bittable tbody tr")
        expect(rows).to_have_count(11)
        expect(page.locator(".bittable .own")).to_contain_text("town 100")
        expect(page.locator(".bittable tfoot")).to_contain_text("and 189 other answers, of which")


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["unary", "randomized-response"])
def test_names_that_every_object_has(open_page: OpenPage, tmp_path: Path, mechanism: str) -> None:
    labels = ["constructor", "__proto__", "hasOwnProperty", "toString"]
    with asked(tmp_path, {**choice("odd", labels), "mechanism": mechanism}) as url:
        page = open_page()
        page.goto(url)
        page.get_by_label("hasOwnProperty").check()
        page.locator("#go").click()
        expect(page.locator(".card.drawn")).to_have_count(1)
        text = page.locator("main").inner_text()
        assert "native code" not in text
        assert "hasOwnProperty" in text


@pytest.mark.slow
def test_texts_of_any_direction_and_length_stay_on_the_phone(
    open_page: OpenPage, tmp_path: Path
) -> None:
    odd = {**choice("odd", ["\u0646\u0639\u0645", "\u202eevil", "y" * 200]), "text": "W" * 300}
    with asked(tmp_path, odd) as url:
        page = open_page(size="phone")
        page.goto(url)
        expect(page.locator("h2[dir=auto]").first).to_be_visible()
        expect(page.locator(".option span[dir=auto]")).to_have_count(3)
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0


def test_the_whole_survey_has_its_cost_before_anything_is_drawn(
    open_page: OpenPage, tmp_path: Path
) -> None:
    with asked(tmp_path, choice("one", ["a", "b"], 1.0), choice("two", ["a", "b"], 1.0)) as url:
        page = open_page()
        page.goto(url)
        expect(page.locator("#cost")).to_contain_text(
            "at most 88.1% of the time (epsilon 2 in total)"
        )


def test_a_network_that_fails_can_be_tried_again(open_page: OpenPage, tmp_path: Path) -> None:
    with asked(tmp_path, choice("one", ["yes", "no"])) as url:
        page = open_page(allowed="Failed to load resource")
        page.goto(url)
        page.get_by_label("yes").check()
        page.locator("#go").click()
        expect(page.locator(".card.drawn")).to_have_count(1)
        page.route("**/v1/reports", lambda route: route.abort())
        page.locator("#go").click()
        expect(page.locator("#retry")).to_be_focused()
        expect(page.locator("#problem")).to_be_in_viewport()
        page.unroute("**/v1/reports")
        page.locator("#retry").click()
        expect(page.locator(".card.sent")).to_have_count(1)
        # The button is gone: whoever cannot see is where it is said.
        expect(page.locator("#status")).to_be_focused()
        other = open_page(allowed="Failed to load resource")
        other.route("**/v1/collection", lambda route: route.abort())
        other.goto(url)
        expect(other.locator("#retry")).to_be_visible()
        other.unroute("**/v1/collection")
        other.locator("#retry").click()
        expect(other.locator(".card.open")).to_have_count(1)


def test_a_browser_that_keeps_nothing_says_so(open_page: OpenPage, tmp_path: Path) -> None:
    with asked(tmp_path, choice("one", ["yes", "no"])) as url:
        page = open_page()
        page.add_init_script("Object.defineProperty(window, 'indexedDB', { value: undefined })")
        page.goto(url)
        expect(page.locator("#problem")).to_contain_text("does not let the page store anything")


PERMANENT = {"name": "basic-rappor", "f": 0.25, "p": 0.35, "q": 0.65}


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["unary", "randomized-response", PERMANENT])
def test_an_answer_is_tried_twenty_times_and_nothing_leaves(
    open_page: OpenPage, tmp_path: Path, mechanism: object
) -> None:
    question = {**choice("one", ["yes", "no", "both"], 4.0), "mechanism": mechanism}
    if mechanism == PERMANENT:
        del question["epsilon"]
    with asked(tmp_path, question) as url:
        page = open_page()
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.method))
        page.goto(url)
        page.get_by_role("button", name="Try it twenty times").click()
        expect(page.locator("#q-one-wrong")).to_have_text("Answer a question to continue")
        page.get_by_label("no", exact=True).check()
        page.get_by_role("button", name="Try it twenty times").click()
        first = page.locator(".trial tbody tr").first
        expect(first).to_contain_text("no your answer")
        # With epsilon 4 the own answer is told in half of the draws at least: fewer than 3 of 20
        # would be a chance of 1 in 5,000.
        assert int(first.locator("td").first.inner_text()) >= 3
        assert set(sent) == {"GET"}
        expect(page.locator("#total")).to_contain_text("Nothing yet")
        page.get_by_label("yes").check()
        expect(page.locator(".trial")).to_have_count(0)
