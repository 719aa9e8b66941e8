"""What people do, in each of the two engines: the same scenarios in Firefox and in Chromium.

Firefox runs them every time; in Chromium, where the tests beside these say more, they run with
what takes long, so that the scenarios stay true of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.contract.admission import new_invitation
from rumor.contract.collection import Collection
from rumor.demo.showcase import Showcase
from tests.browser.conftest import people_of
from tests.browser.driving import KEYS, People, Tab
from tests.browser.sites import site
from tests.browser.test_answer import newest
from tests.browser.test_answer_use import NUMBER, WISH, asked, choice
from tests.browser.test_dashboard_use import served
from tests.everything import every_mechanism
from tests.issuers import invite, issuing
from tests.relay.tools import Path3, running

BROWSERS = ["firefox", pytest.param("chromium", marks=pytest.mark.slow)]


@pytest.fixture(scope="module", params=BROWSERS)
def people(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[People]:
    with people_of(request.param, tmp_path_factory.mktemp("people")) as found:
        yield found


def give_any(tab: Tab, question: str) -> None:
    """Some answer, by whatever control the question has."""
    place = f"[data-question={question}] .control"
    tab.see(place)
    kinds = tab.run(
        "(css) => [...document.querySelectorAll(`${css} input`)].map((e) => e.type)",
        place,
    )
    if "radio" in kinds:
        count = tab.run(
            "(css) => document.querySelectorAll(css).length", f"{place} [role=radiogroup]"
        )
        for group in range(count):
            # A radio group is moved through by its keys.
            tab.run(
                "(css, n) => document.querySelectorAll(css)[n].querySelector('input').focus()",
                f"{place} [role=radiogroup]",
                group,
            )
            tab.type(KEYS["Space"] + KEYS["ArrowDown"])
    elif "checkbox" in kinds or "number" in kinds:
        if "checkbox" in kinds:
            tab.click(f"{place} label:has(input[type=checkbox]):nth-of-type(1)")
        if "number" in kinds:
            most = tab.until(
                "(css) => document.querySelector(css)?.max", f"{place} input[type=number]"
            )
            tab.fill(f"{place} input[type=number]", most)
    else:
        tab.fill(f"{place} input[type=text]", "word")


def send_colour(tab: Tab, label: str) -> None:
    """Answer the question of the colour, look at what was drawn, and send it."""
    tab.click("[data-question=colour] label", label)
    tab.click("#go")
    tab.see(".card.drawn")
    tab.click("#go")


def send_sealed(tab: Tab, path: Path3, address: str) -> None:
    """Answer at `address`, and see that the relay of a `path` alone was sent the report."""
    tab.go(address)
    send_colour(tab, "green")
    tab.see("#status", "Thank you.")
    assert path.relay.store.waiting(path.batch()) == 1
    posted = [where for method, where in tab.requests if method == "POST"]
    assert posted == [f"{path.relay_url}/v1/relay/{path.collection.digest}/colour"]
    tab.hush()


def test_every_kind_and_mechanism_is_answered_by_keys_and_taken(
    people: People, tmp_path: Path
) -> None:
    contract = every_mechanism()
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(contract)
    with background(Service(store, contract.series)) as url:
        tab = people.new()
        tab.go(f"{url}/answer")
        for question in contract.questions:
            give_any(tab, question.id)
        tab.click("#go")
        tab.see(".card.drawn", count=len(contract.questions))
        tab.click("#go")
        tab.see(".card.sent", count=len(contract.questions))
        tab.until("() => document.activeElement.id === 'status'")
        # To the collector and to nobody else, one request for each report.
        assert all(where.startswith((url, "data:")) for _, where in tab.requests)
        posted = [where for method, where in tab.requests if method != "GET"]
        assert posted == [f"{url}/v1/reports"] * len(contract.questions)
        tab.hush()
    for question in contract.questions:
        reports = store.newest_reports(entry, question.id, 9)
        assert len(reports) == 1
        assert question.mechanism.validate(reports).all


def test_what_is_shown_is_what_leaves(people: People, shown: Showcase) -> None:
    tab = people.new()
    tab.go(shown.answer_url)
    for id in shown.entry.questions:
        give_any(tab, id)
    tab.click("#go")
    tab.see(".card.drawn", count=4)
    tab.run("() => { for (const each of document.querySelectorAll('.brief')) each.open = true; }")
    drawn = {
        id: [int(bit) for bit in tab.texts(f"[data-question={id}] .bit:not(.stays)")]
        for id in shown.entry.questions
    }
    tab.click("#go")
    tab.see(".card.sent", count=4)
    assert newest(shown, "health")[:11] == drawn["health"]
    assert newest(shown, "sleep") == drawn["sleep"]
    assert newest(shown, "word")[8:] == drawn["word"]
    assert newest(shown, "habits") == drawn["habits"]
    tab.hush()


def test_a_reload_asks_before_it_drops_answers(people: People, tmp_path: Path) -> None:
    with asked(tmp_path, choice("one", ["yes", "no"], 2.0)) as url:
        tab = people.new()
        tab.go(url)
        tab.see("label", "yes")
        assert tab.reload() == []
        tab.click("label", "yes")
        assert tab.reload() == ["beforeunload"]
        # What was drawn is kept, so nothing is lost by it.
        tab.click("label", "yes")
        tab.click("#go")
        tab.see(".card.drawn")
        assert tab.reload() == []
        tab.see(".card.drawn")
        tab.hush()


def test_a_double_click_and_two_tabs_debit_once(people: People, tmp_path: Path) -> None:
    with asked(tmp_path, choice("one", ["yes", "no"], 2.0)) as url:
        tab = people.new()
        other = tab.share()
        for each in (tab, other):
            each.go(url)
            each.click("label", "yes")
        tab.click("#go", times=2)
        tab.see(".card:is(.drawn, .sent)")
        if tab.texts("#go"):
            tab.click("#go", times=2)
        tab.see(".card.sent")
        tab.see("#total", "epsilon 2, of a limit of 2")
        other.click("#go", times=2)
        other.see("[role=alert]", "Another tab or window has answered")
        other.see("#total", "epsilon 2, of a limit of 2")
        posted = [where for each in (tab, other) for how, where in each.requests if how == "POST"]
        assert len(posted) == 1
        for each in (tab, other):
            each.hush()


def test_a_person_enrols_blindly_and_seals_for_a_relay(people: People, tmp_path: Path) -> None:
    """What the pages do with the browser's own cryptography."""
    issuer = open_store(f"sqlite:///{tmp_path / 'issuer.db'}")
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    with issuing(issuer) as contract:
        entry = store.register(contract)
        (code,) = invite(issuer)
        with background(Service(store, "series")) as url:
            tab = people.new()
            tab.go(f"{url}/answer#invitation={code}")
            send_colour(tab, "red")
            tab.see(".card.sent")
            assert len(store.newest_reports(entry, "colour", 9)) == 1
            assert not any(code in where.partition("#")[0] for _, where in tab.requests)
            tab.hush()
    (tmp_path / "relay").mkdir()
    with running(tmp_path / "relay", crowd=2) as path:
        send_sealed(people.new(), path, f"{path.collector_url}/answer")


def test_a_mistake_is_told_at_its_place_on_a_phone(people: People, tmp_path: Path) -> None:
    with asked(tmp_path, choice("year", 100), NUMBER) as url:
        tab = people.new()
        tab.resize(390, 844)
        tab.go(url)
        tab.click("#begin")
        tab.fill("[data-question=year] input", "3000")
        tab.click("#next")
        tab.see("#q-year-wrong", "Type a whole number from 0 to 99.")
        assert tab.run("() => document.activeElement.getAttribute('aria-invalid')") == "true"
        tab.see("#q-year-wrong", count=1)
        assert tab.run(
            "() => { const { top, bottom } = document.getElementById('q-year-wrong')"
            ".getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; }"
        )
        tab.fill("[data-question=year] input", "30")
        tab.type(KEYS["Enter"])
        tab.until("() => document.activeElement.id === 'q-hours'")
        assert tab.run("() => document.documentElement.scrollWidth <= innerWidth")
        tab.hush()


def test_a_slider_is_moved_a_long_list_searched_and_a_line_opened(
    people: People, tmp_path: Path
) -> None:
    """By the keys; nothing is chosen before, and each answer is a line that opens."""
    walked = {"id": "walked", "kind": "ordered", "low": 0, "high": 60, "bins": 12, "epsilon": 2.0}
    town = choice("town", [f"town {i}" for i in range(70)], 2.0)
    labels = [f"stage {i}" for i in range(12)]
    stage = {"id": "stage", "kind": "ordered", "labels": labels, "epsilon": 2.0}
    with asked(tmp_path, walked, town, stage) as url:
        tab = people.new()
        tab.go(url)
        slider = "[data-question=walked] input[type=range]"
        tab.see(slider)
        said = "(css) => document.querySelector(css).getAttribute('aria-valuetext')"
        assert tab.run(said, slider) == "Choose an answer"
        assert tab.texts("#go") == ["Answer a question to continue"]
        tab.run("(css) => document.querySelector(css).focus()", slider)
        tab.type(KEYS["ArrowDown"])
        tab.until(f"(css) => ({said})(css) === '20'", slider)
        tab.fill("[data-question=town] input[type=search]", "n 69")
        tab.see("[data-question=town] .option", count=1)
        tab.see("#q-town-hint", "1 answer matches.")
        tab.type(KEYS["Tab"] + KEYS["Space"])
        tab.see("#go", "Add noise to my 2 answers")
        tab.see("[data-question=stage] .ends", "stage 0")
        tab.see("[data-question=stage] p.value", "Choose an answer")
        tab.run(
            "(css) => document.querySelector(css).focus()", "[data-question=stage] [type=range]"
        )
        tab.type(KEYS["Home"] + KEYS["ArrowRight"])
        tab.see("[data-question=stage] p.value", "stage 1")
        tab.click("#go")
        tab.see(".card.drawn", count=3)
        tab.see("[data-question=town] summary", "town 69")
        tab.see("[data-question=stage] summary", "stage 1")
        tab.see(".report", count=0)
        tab.click("[data-question=walked] summary", "20")
        tab.see(".report", count=1)
        # A note is information, or what was received: in its colours, with its sign.
        sign = "(css) => getComputedStyle(document.querySelector(css), '::before').content[1]"
        tab.see("#status.notice.info", "Noise was added to 3 answers")
        assert tab.run(sign, "#status") == "i"
        tab.click("#go")
        tab.see("#status.notice.received", "Your 3 reports have been received")
        assert tab.run(sign, "#status") == "✓"
        tab.hush()


def test_what_was_sent_is_taken_back_and_what_is_closed_offers_nothing(
    people: People, tmp_path: Path
) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    question = choice("one", ["yes", "no"])
    entry = store.register(Collection.resolve({**WISH, "questions": [question]}))
    with background(Service(store, "survey")) as url:
        tab, late = people.new(), people.new()
        for each in (tab, late):
            each.go(f"{url}/answer")
            each.click("label", "yes")
            each.click("#go")
            each.see(".card.drawn")
        tab.click("#go")
        tab.see(".card.sent")
        assert len(store.newest_reports(entry, "one", 9)) == 1
        # After a reload too; the button that changes nothing has the focus.
        tab.go(f"{url}/answer")
        tab.click("#back-ask", "Withdraw my report")
        tab.until("() => document.activeElement.textContent === 'Cancel'")
        tab.click("#back-yes")
        tab.see("#status", "Your report has been withdrawn.")
        assert len(store.newest_reports(entry, "one", 9)) == 0
        tab.see("#total", "epsilon 2, of a limit of 2")
        tab.hush()
        store.close_collection(entry.collection.digest)
        late.click("#go")
        late.see("[role=alert]", "This collection is closed")
        late.see("#go", count=0)
        late.click("#back-ask")
        late.click("#back-yes")
        late.see("#status", "Your report has been withdrawn.")
        late.see("#back-ask", count=0)


def test_an_invitation_a_word_and_a_set_are_explained_where_they_are_given(
    people: People, tmp_path: Path
) -> None:
    lot = {"id": "lot", "kind": "words", "text": "Which lot?", "length": 3, "epsilon": 4.0}
    ways = {"id": "ways", "kind": "set", "text": "Which?", "labels": list("abcd"), "cap": 2}
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    both = [lot, {**ways, "epsilon": 2.0}]
    store.register(Collection.resolve({**WISH, "admission": "invited", "questions": both}))
    with background(Service(store, "survey")) as url:
        tab = people.new()
        tab.go(f"{url}/answer")
        tab.fill("[data-question=lot] input", "abcd")
        tab.see("#q-lot-hint", "Words here have 3 characters.")
        for label in "abc":
            tab.click("[data-question=ways] label", label)
        # One letter of the code is another one: its form is right, its checksum is not.
        code = new_invitation()
        tab.fill("#code", code[:-5] + ("A" if code[-5] != "A" else "B") + code[-4:])
        tab.click("#go")
        tab.see("[role=alert]", "This invitation contains a typing mistake.")
        tab.see(".card.drawn", count=0)
        tab.fill("#code", code)
        tab.click("#go")
        tab.see(".card.drawn", count=2)
        tab.click("[data-question=ways] summary")
        tab.see("[data-question=ways] .note", "more than 2")
        tab.hush()


def test_an_element_takes_back_what_its_sibling_sent(people: People, tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    pair = [choice("home", ["news", "mail"]), choice("work", ["desk", "road"])]
    entry = store.register(Collection.resolve({**WISH, "questions": pair}))
    (tmp_path / "site").mkdir()
    with background(Service(store, "survey")) as url, site(tmp_path / "site") as address:
        element = f'<rumor-question collector="{url}" question="%s" id="%s"></rumor-question>'
        (tmp_path / "site" / "index.html").write_text(
            '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Other</title>'
            f'<script type="module" src="{url}/client/element.js"></script>'
            f"<body>{element % ('home', 'home')}{element % ('work', 'work')}"
        )
        tab = people.new()
        tab.go(f"{address}/index.html")
        for id, label in (("home", "mail"), ("work", "road")):
            tab.click(f"#{id} >>> label", label)
            tab.click(f"#{id} >>> button.primary", "Add noise")
            tab.click(f"#{id} >>> button.primary", "Send")
            tab.see(f"#{id} >>> [role=status]", "received")
        tab.click("#work >>> button", "Withdraw my 2 reports")
        tab.click("#work >>> button", "Yes, withdraw all 2")
        tab.see("#work >>> [role=status]", "Your 2 reports have been withdrawn.")
        for id in ("home", "work"):
            assert len(store.newest_reports(entry, id, 9)) == 0
            tab.see(f"#{id} >>> p", "You have answered this question.")
        tab.hush()


def test_a_browser_that_keeps_nothing_and_a_collector_that_is_away(
    people: People, tmp_path: Path
) -> None:
    with asked(tmp_path, choice("one", ["yes", "no"])) as url:
        tab = people.new()
        tab.before("() => Object.defineProperty(window, 'indexedDB', { value: undefined })")
        tab.go(url)
        tab.see("#problem", "does not let the page store anything")
        tab = people.new()
        tab.before(
            "() => { const real = fetch; window.fetch = (where, ...more) => window.away"
            " ? Promise.reject(new TypeError('away')) : real(where, ...more); }"
        )
        tab.go(url)
        tab.click("label", "no")
        tab.click("#go")
        tab.see(".card.drawn")
        tab.run("() => void (window.away = true)")
        tab.click("#go")
        tab.see("#retry")
        tab.run("() => void (window.away = false)")
        tab.click("#retry")
        tab.see(".card.sent")
        tab.until("() => document.activeElement.id === 'status'")
        tab.hush()


def test_an_analyst_finds_sorts_compares_and_reads_tables_on_a_phone(
    people: People, tmp_path: Path
) -> None:
    labels = [f"place {i}" for i in range(40)]
    codes = np.random.default_rng(4).zipf(1.5, 3_000) % 40
    days = {"place": {f"2026-03-{day:02}": codes.tolist() for day in range(2, 6)}}
    asked = {"id": "place", "kind": "choice", "text": "Where?", "epsilon": 2.0, "labels": labels}
    with served(tmp_path, asked, past=days) as (url, _, _):
        tab = people.new()
        tab.resize(390, 844)
        tab.go(url)
        tab.see("#headline", "place 1: ")
        tab.see("#shares .bars li:not(.cut)", count=20)
        tab.see("#shares .cut")
        tab.fill("#find", "place 39")
        tab.see("#standing", "1 answer contains")
        tab.see("#shares .bars li:not(.cut)", "place 39", count=1)
        change = """(id, value, event) => {
          const field = document.getElementById(id);
          field.value = value;
          field.dispatchEvent(new Event(event));
        }"""
        tab.run(change, "find", "", "input")
        tab.run(change, "sort", "name", "change")
        tab.until("() => document.querySelector('#shares .name').textContent === 'place 0'")
        tab.click(".presets button", "Against the period before")
        tab.see("#headline", "against the 2 days before")
        tab.see("#shares .more", "against the 2 days before", count=20)
        tab.click("summary", "Compare two periods")
        tab.click("#compare button", "Compare")
        tab.see("#compared tbody th", count=40)
        tab.click("summary", "As a table")
        tab.see("#table tbody th", count=40)
        for place, column in (("#table", "standard error"), ("#compared", "adjusted")):
            cut = "(css) => { const { scrollWidth, clientWidth } = document.querySelector(css);"
            assert tab.run(f"{cut} return scrollWidth - clientWidth; }}", f"{place} .scroll") <= 0
            last = f"{place} tbody td:last-child[data-column='{column}']"
            name = "(css) => getComputedStyle(document.querySelector(css), '::before').content"
            assert tab.run(name, last) in (f'"{column}"', "attr(data-column)")
        assert tab.run("() => document.documentElement.scrollWidth <= innerWidth")
        tab.see("#status", "Live, as of")
        tab.hush()


@pytest.mark.slow
def test_the_dashboard_keeps_its_width_after_an_update(people: People, shown: Showcase) -> None:
    tab = people.new()
    tab.resize(1920, 1080)
    tab.go(shown.dashboard_url)
    tab.see("#shares .bars")
    before = tab.texts(".figure dd")[0]
    shown.more(400)
    tab.until("(old) => document.querySelector('.figure dd').textContent !== old", before)
    tab.see("#perday .drawing", count=1)
    drawn, room = tab.run(
        "() => [Number(document.querySelector('#perday svg').getAttribute('width')),"
        " document.querySelector('#perday').getBoundingClientRect().width]"
    )
    assert drawn == pytest.approx(room, abs=2)
    assert room < 1000, "the chart is one column of the page"
    tab.hush()


# Everything that a style sheet of another page may do to what it did not make.
HOSTILE = """
* { all: unset !important; font: 30px/0.5 cursive !important; color: lime !important }
* { text-transform: uppercase !important; letter-spacing: 9px !important }
div, input, button, label, table, p, h2 { display: none !important; position: fixed !important }
html { direction: rtl; visibility: visible } body { display: block !important }
rumor-question { display: block !important }
"""


def test_an_element_bears_hostile_styles_and_its_own_double(people: People, tmp_path: Path) -> None:
    """Two elements of one question on a page that styles everything: one answer, one debit."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    question = {**choice("home", ["news", "mail"], 3.0), "mechanism": "unary"}
    entry = store.register(Collection.resolve({**WISH, "questions": [question]}))
    (tmp_path / "site").mkdir()
    with background(Service(store, "survey")) as url, site(tmp_path / "site") as address:
        element = f'<rumor-question collector="{url}" question="home" id="%s"></rumor-question>'
        (tmp_path / "site" / "index.html").write_text(
            '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Other</title>'
            f'<style>{HOSTILE}</style><script type="module" src="{url}/client/element.js"></script>'
            f"<body>{element % 'first'}{element % 'second'}"
        )
        tab = people.new()
        tab.go(f"{address}/index.html")
        for id in ("first", "second"):
            tab.click(f"#{id} >>> label", "mail")
        look = tab.run(
            "() => { const box = getComputedStyle(document.querySelector('#first').shadowRoot"
            ".querySelector('label')); return [box.color, box.textTransform, box.fontFamily]; }"
        )
        assert look == ["rgb(29, 31, 35)", "none", "system-ui, sans-serif"]
        tab.click("#first >>> button.primary")
        tab.see("#first >>> .report")
        bits = [int(bit) for bit in tab.texts("#first >>> .bit:not(.stays)")]
        # The second shows the same report without an answer, as a second tab would, and pays
        # nothing.
        tab.see("#second >>> .report")
        assert tab.texts("#second >>> .stays") == []
        tab.click("#first >>> button.primary", times=2)
        tab.see("#first >>> [role=status]", "Thank you.")
        (report,) = store.newest_reports(entry, "home", 9)
        assert np.unpackbits(report, bitorder="little")[:2].tolist() == bits
        tab.hush()
