"""The respondent's page in a real browser: what is asked, what leaves, what is remembered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Dialog, Page, Request, Route, expect

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import Store, StoredCollection, open_store
from rumor.contract.admission import admission_keys, new_invitation
from rumor.contract.collection import Collection, Question
from rumor.demo.showcase import Showcase
from rumor.kinds import KINDS
from tests.browser.conftest import OpenPage
from tests.browser.sites import site
from tests.everything import every_mechanism

TITLES = {"en": "Answer in private", "ja": "答えを知られずに回答する", "zh": "私密作答"}


def answer_everything(page: Page) -> None:
    """One answer of each kind."""
    page.get_by_label("migraine").check()
    page.locator("[data-question=sleep] input").fill("6.5")
    page.locator("[data-question=word] input").fill("calm")
    habits = page.locator("[data-question=habits]")
    habits.get_by_label("coffee", exact=True).check()
    habits.get_by_label("How much: coffee").fill("3")


def state_of(page: Page, question: str) -> str:
    return (page.locator(f"[data-question={question}]").get_attribute("class") or "").split()[1]


def tiles(page: Page, question: str) -> list[int]:
    """The bits that a card shows as those that leave."""
    page.evaluate("for (const each of document.querySelectorAll('.brief')) each.open = true")
    bits = page.locator(f"[data-question={question}] .bit:not(.stays)")
    expect(bits.first).to_be_visible()  # the page may still be drawing them
    return [int(bit) for bit in bits.all_inner_texts()]


def newest(shown: Showcase, question: str) -> list[int]:
    """The bits of the newest stored report."""
    report = shown.store.newest_reports(shown.entry, question, 1)
    bits: list[int] = np.unpackbits(report[0], bitorder="little").tolist()
    return bits


def counts(shown: Showcase) -> dict[str, int]:
    shown.store.summarize()
    return {
        id: sum(shown.store.reports_by_day(shown.entry, id).values())
        for id in shown.entry.questions
    }


def test_each_kind_is_answered_seen_and_counted(open_page: OpenPage, shown: Showcase) -> None:
    before = counts(shown)
    page = open_page()
    page.goto(shown.answer_url)
    expect(page.locator("h1")).to_have_text(TITLES["en"])
    health = page.locator("[data-question=health]")
    expect(health.locator(".odds")).to_contain_text("by at most a factor of 3 (epsilon 1.099)")
    expect(health.locator(".odds")).to_contain_text("right at most 75% of the time")
    again = "a guess that is right half of the time becomes right at most 73.1% of the time"
    expect(page.locator("[data-question=sleep] .odds")).to_contain_text(f"Here, {again}")
    expect(page.locator("#go")).to_be_disabled()
    answer_everything(page)
    page.get_by_role("button", name="Add noise to my 4 answers").click()
    send = page.get_by_role("button", name="Send these 4 reports")
    expect(send).to_be_enabled()
    # Nothing has left yet; what will leave is drawn, bit for bit.
    assert counts(shown) == before
    expect(health.locator("tr.own")).to_have_text(re.compile("migraine your answer"))
    assert len(tiles(page, "health")) == 11
    assert len(tiles(page, "sleep")) == 8
    assert len(tiles(page, "word")) == 64
    assert len(tiles(page, "habits")) == 16
    drawn = {id: tiles(page, id) for id in shown.entry.questions}
    group = int(page.locator("[data-question=word] dd").first.inner_text())
    send.click()
    expect(page.get_by_role("status")).to_have_text("Thank you. Your 4 reports have been received.")
    assert counts(shown) == {id: number + 1 for id, number in before.items()}
    # What arrived is what was shown.
    assert newest(shown, "health")[:11] == drawn["health"]
    assert newest(shown, "sleep") == drawn["sleep"]
    assert newest(shown, "word")[8:] == drawn["word"]
    assert newest(shown, "word")[:8] == [(group >> i) & 1 for i in range(8)]
    assert newest(shown, "habits") == drawn["habits"]
    expect(page.locator("#total")).to_have_text(
        "epsilon 6.1, of a limit of 6.1 for this collection"
    )
    page.reload()
    for id in shown.entry.questions:
        expect(page.locator(f"[data-question={id}] .done")).to_contain_text("You have answered")
    expect(page.locator("#total")).to_contain_text("epsilon 6.1")
    expect(page.locator("#go")).to_have_count(0)


def test_another_tab_shows_what_was_drawn_and_no_answer(
    open_page: OpenPage, shown: Showcase
) -> None:
    """The second tab's answer is not drawn, and never stands beside the report of the first."""
    page = open_page()
    page.goto(shown.answer_url)
    other = open_page(share=page)
    other.goto(shown.answer_url)
    before = counts(shown)
    page.get_by_label("nothing").check()
    other.get_by_label("anxiety").check()
    page.locator("#go").click()
    bits = tiles(page, "health")
    other.locator("#go").click()
    expect(other.get_by_role("alert")).to_contain_text("Another tab or window has answered")
    health = other.locator("[data-question=health]")
    expect(health).to_contain_text("This device does not keep your answer")
    expect(health.locator(".own, .stays")).to_have_count(0)
    assert tiles(other, "health") == bits
    other.get_by_role("button", name="Send this report").click()
    expect(other.locator("#status")).to_contain_text("Your report has been received")
    page.get_by_role("button", name="Send this report").click()
    expect(page.locator("#status")).to_have_text(
        "These reports were sent or withdrawn in another tab or window."
    )
    assert state_of(page, "health") == "full"
    assert counts(shown)["health"] == before["health"] + 1
    # Taken back in one tab, it does not stand as received in the other.
    page.get_by_role("button", name="Withdraw my report").click()
    page.get_by_role("button", name="Yes, withdraw it").click()
    expect(page.locator("#status")).to_contain_text("has been withdrawn")
    other.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(other.locator(".card.sent")).to_have_count(0)


def test_a_second_answer_in_another_tab_is_refused(open_page: OpenPage, shown: Showcase) -> None:
    page = open_page()
    page.goto(shown.answer_url)
    other = open_page(share=page)
    other.goto(shown.answer_url)
    for each in (page, other):
        each.get_by_label("nothing").check()
    page.locator("#go").click()
    page.get_by_role("button", name="Send this report").click()
    expect(page.locator(".card.sent")).to_have_count(1)
    before = counts(shown)
    other.locator("#go").click()
    expect(other.get_by_role("alert")).to_contain_text("Another tab or window has answered")
    assert state_of(other, "health") == "full"
    assert counts(shown) == before


def test_a_reload_asks_before_it_drops_answers(open_page: OpenPage, shown: Showcase) -> None:
    page = open_page()
    page.goto(shown.answer_url)
    asked: list[str] = []

    def accept(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", accept)
    page.reload()
    assert asked == []
    page.get_by_label("nothing").check()
    page.reload()
    assert asked == ["beforeunload"]


def test_reports_wait_on_the_device_and_arrive_once(open_page: OpenPage, shown: Showcase) -> None:
    page = open_page(allowed="Failed to load resource")
    page.goto(shown.answer_url)
    before = counts(shown)
    page.get_by_label("anxiety").check()
    page.locator("#go").click()
    # The report arrives, but its sender does not hear so.
    delivered = []

    def deaf(route: Route) -> None:
        delivered.append(route.fetch())
        route.abort()

    page.route("**/v1/reports", deaf)
    bits = tiles(page, "health")
    page.locator("#go").click()
    expect(page.get_by_role("alert")).to_contain_text("kept on this device")
    assert len(delivered) == 3, "it tried again before it gave up"
    page.unroute("**/v1/reports")
    page.reload()
    health = page.locator("[data-question=health]")
    expect(health).to_contain_text("This device does not keep your answer")
    expect(health.locator(".own")).to_have_count(0)
    assert tiles(page, "health") == bits
    page.get_by_role("button", name="Send this report").click()
    expect(page.locator(".card.sent")).to_have_count(1)
    assert counts(shown)["health"] == before["health"] + 1


@pytest.mark.slow
@pytest.mark.parametrize("lang", TITLES)
def test_three_languages(open_page: OpenPage, shown: Showcase, lang: str) -> None:
    """By the browser's language, by the address, and by a link that keeps what was typed."""
    locale = {"en": "en-US", "ja": "ja-JP", "zh": "zh-CN"}
    page = open_page(locale=locale[lang])
    page.goto(shown.answer_url)
    expect(page.locator("h1")).to_have_text(TITLES[lang])
    assert (page.locator("html").get_attribute("lang") or "")[:2] == lang
    page.goto(f"{shown.answer_url}?lang={lang}")
    page.locator("[data-question=word] input").fill("calm")
    for other in TITLES:
        page.locator(f"#languages a[hreflang={other}]").click()
        expect(page.locator("h1")).to_have_text(TITLES[other])
        expect(page.locator("[data-question=word] input")).to_have_value("calm")
        expect(page.locator("[aria-current=true]")).to_have_attribute("hreflang", other)
    text = page.locator("main").inner_text()
    assert "undefined" not in text
    assert "null" not in text


def captions_in(page: Page, lang: str) -> set[str]:
    """The mechanisms whose reports are described in the words of a language."""
    script = (
        "async (lang) => "
        "Object.keys((await import(`/client/view/words/${lang}.js`)).default.captions)"
    )
    return set(page.evaluate(script, lang))


def test_the_page_is_light_and_alone(open_page: OpenPage, shown: Showcase) -> None:
    page = open_page()
    sizes: dict[str, int] = {}
    requests: list[Request] = []
    page.on("requestfinished", lambda request: requests.append(request))
    page.goto(shown.answer_url)
    answer_everything(page)
    page.locator("#go").click()
    expect(page.locator(".card.drawn")).to_have_count(4)
    for request in requests:
        measured = request.sizes()
        sizes[request.url] = measured["responseBodySize"] + measured["responseHeadersSize"]
    assert all(url.startswith(shown.url) for url in sizes)
    # A request after another costs a slow network most: the page, what it names, the contract.
    assert {url.removeprefix(shown.url) for url in sizes} == {
        "/answer",
        "/assets/base.css",
        "/assets/answer.css",
        "/assets/icon.svg",
        "/assets/answer.bundle.js",
        "/client/view/words/en.js",
        "/v1/collection",
    }
    assert sum(sizes.values()) < 60_000, sizes  # headers included
    stored = page.evaluate("Object.keys(localStorage).concat(Object.keys(sessionStorage))")
    assert stored == []


def test_the_keyboard_is_enough(open_page: OpenPage, shown: Showcase) -> None:
    page = open_page()
    page.goto(shown.answer_url)
    expect(page.locator("#go")).to_be_visible()
    page.locator("#languages a").last.focus()
    for key in ("Tab", "Space", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.get_by_label("back pain")).to_be_checked()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "go":
            break
    page.keyboard.press("Enter")
    expect(page.locator("[data-question=health].drawn h2")).to_be_focused()
    expect(page.get_by_role("status")).to_contain_text("Noise was added.")


def test_without_scripts_nothing_is_promised(open_page: OpenPage, shown: Showcase) -> None:
    page = open_page(javascript=False)
    page.goto(shown.answer_url)
    sentence = page.locator("noscript p")
    expect(sentence).to_be_visible()
    expect(sentence).to_contain_text("Without it, nothing is sent.")


def test_an_insecure_connection_is_refused(open_page: OpenPage, shown: Showcase) -> None:
    page = open_page(allowed="Cross-Origin-Opener-Policy")
    page.goto(shown.answer_url.replace("127.0.0.1", "elsewhere.test"))
    expect(page.get_by_role("alert")).to_contain_text("Open this page with https.")
    expect(page.locator("#go")).to_have_count(0)


# A collection that asks again, and one question too many.


@pytest.fixture
def again(tmp_path: Path) -> Iterator[tuple[str, Store, StoredCollection]]:
    """A word asked many times with permanent noise, and two answers that cost much."""
    costly = {"kind": "choice", "labels": ["yes", "no"], "epsilon": 5.0}
    word = {"bits": 128, "hashes": 1, "cohorts": 2, "f": 0.5, "p": 0.01, "q": 0.99}
    contract = Collection.resolve(
        {
            "name": "Again",
            "series": "again",
            "contact": "nobody@example.org",
            "questions": [
                {"id": "word", "kind": "text", **word, "reports_per_person": 3},
                {"id": "first", "text": "First?", **costly},
                {"id": "second", "text": "Second?", **costly},
            ],
        }
    )
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(contract)
    with background(Service(store, "again")) as url:
        yield url, store, entry


def test_permanent_noise_and_spending_survive_a_reload(
    open_page: OpenPage, again: tuple[str, Store, StoredCollection]
) -> None:
    url, store, entry = again
    page = open_page()
    page.goto(f"{url}/answer")
    reports, spent = [], []
    for value in ("calm", "calm", "busy"):
        page.locator("[data-question=word] input").fill(value)
        page.locator("#go").click()
        page.get_by_role("button", name="Send this report").click()
        expect(page.locator(".card.sent")).to_have_count(1)
        reports.append(store.newest_reports(entry, "word", 1)[0])
        spent.append(float(page.locator("#total").inner_text().split()[1].rstrip(",")))
        page.reload()
        expect(page.locator(".card").first).to_be_visible()
    bits = np.unpackbits(np.array(reports)[:, 1:], axis=1)
    assert (np.array(reports)[:, 0] == reports[0][0]).all(), "the group stays"
    # Fresh noise turns 1% of the bits; without a memory half of all bits would be drawn anew,
    # and some 48 of the 128 would differ (5 standard deviations are 28).
    assert np.count_nonzero(bits[0] != bits[1]) < 20
    assert np.count_nonzero(bits[0] != bits[2]) > 20
    mechanism = entry.collection.question("word").mechanism
    expected = [mechanism.epsilon_after(1), mechanism.epsilon_after(2)]
    assert spent[:2] == pytest.approx(expected, rel=0.005)
    assert spent[2] == pytest.approx(mechanism.epsilon_after(2) + mechanism.epsilon, rel=0.005)
    expect(page.locator("[data-question=word] .done")).to_contain_text("3 times")


def test_only_invited_people_may_answer(open_page: OpenPage, tmp_path: Path) -> None:
    contract = Collection.resolve(
        {
            "name": "For members",
            "series": "members",
            "contact": "nobody@example.org",
            "admission": "invited",
            "questions": [
                {"id": "vote", "kind": "choice", "labels": ["yes", "no"], "epsilon": 1.0}
            ],
        }
    )
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(contract)
    invitation = new_invitation()
    store.admit("members", admission_keys(contract, invitation))
    with background(Service(store, "members")) as url:
        stranger = open_page()
        stranger.goto(f"{url}/answer")
        stranger.get_by_label("yes").check()
        stranger.locator("#go").click()
        expect(stranger.get_by_role("alert")).to_contain_text(
            "Enter the invitation that you received."
        )
        assert state_of(stranger, "vote") == "open"
        page = open_page()
        page.goto(f"{url}/answer#invitation={invitation}")
        expect(page.get_by_label("Invitation")).to_have_value(invitation)
        assert invitation not in page.url
        page.get_by_label("yes").check()
        page.locator("#go").click()
        page.get_by_role("button", name="Send this report").click()
        expect(page.locator(".card.sent")).to_have_count(1)
        assert len(store.newest_reports(entry, "vote", 9)) == 1
        # The same invitation in another browser, where no ledger knows of it.
        again = open_page(allowed="status of 403")
        again.goto(f"{url}/answer#invitation={invitation}")
        again.get_by_label("no").check()
        again.locator("#go").click()
        again.get_by_role("button", name="Send this report").click()
        expect(again.get_by_role("alert")).to_contain_text("or has been used. Your reports stay")
        assert len(store.newest_reports(entry, "vote", 9)) == 1
        # It is not lost: another invitation sends the same report.
        other = new_invitation()
        store.admit("members", admission_keys(contract, other))
        spent = again.locator("#total").inner_text()
        again.get_by_label("Invitation").fill(other)
        again.get_by_role("button", name="Send this report").click()
        expect(again.locator(".card.sent")).to_have_count(1)
        assert len(store.newest_reports(entry, "vote", 9)) == 2
        assert again.locator("#total").inner_text() == spent


@pytest.mark.slow
def test_a_closed_collection_says_so(
    open_page: OpenPage, again: tuple[str, Store, StoredCollection]
) -> None:
    """To whoever opened the page before, and to whoever opens it now."""
    url, store, entry = again
    page = open_page(locale="ja-JP", allowed="status of 410")
    page.goto(f"{url}/answer")
    page.locator("[data-question=first]").get_by_label("yes").check()
    page.locator("#go").click()
    expect(page.locator(".card.drawn")).to_have_count(1)
    store.close_collection(entry.collection.digest)
    page.locator("#go").click()
    # What was paid for stays with the person, who is told so and may take it back.
    expect(page.get_by_role("alert")).to_contain_text("レポートはこの端末に残っています")
    expect(page.locator("#problem .notice")).to_be_in_viewport()
    assert state_of(page, "first") == "drawn"
    page.wait_for_timeout(1_100)  # a collector asks its store about this once a second
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("この調査は終了しました")
    expect(page.locator("#go")).to_have_count(0)
    page.locator("#back-ask").click()
    page.locator("#back-yes").click()
    expect(page.locator("#status")).to_contain_text("1件のレポートを取り消しました")
    expect(page.locator("#back-ask")).to_have_count(0)


def test_what_was_sent_is_taken_back(
    open_page: OpenPage, again: tuple[str, Store, StoredCollection]
) -> None:
    url, store, entry = again
    page = open_page()
    page.goto(f"{url}/answer")
    expect(page.locator("#go")).to_be_visible()
    expect(page.locator("#back")).to_be_hidden()
    page.locator("[data-question=first]").get_by_label("yes").check()
    page.locator("#go").click()
    page.get_by_role("button", name="Send this report").click()
    expect(page.locator("#status")).to_contain_text("has been received")
    assert len(store.newest_reports(entry, "first", 9)) == 1
    spent = page.locator("#total").inner_text()
    page.reload()
    page.get_by_role("button", name="Withdraw my report").click()
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    expect(page.locator("#back")).to_contain_text("exports and publications cannot be withdrawn")
    page.get_by_role("button", name="Cancel").click()
    assert len(store.newest_reports(entry, "first", 9)) == 1
    page.get_by_role("button", name="Withdraw my report").click()
    page.get_by_role("button", name="Yes, withdraw it").click()
    expect(page.locator("#status")).to_contain_text("has been withdrawn")
    assert len(store.newest_reports(entry, "first", 9)) == 0
    store.summarize()
    assert store.summary(entry, "first").reports == 0
    expect(page.locator("#back")).to_be_hidden()
    page.reload()
    expect(page.locator("[data-question=first] .done")).to_contain_text("left to withdraw")
    # Nothing is refunded.
    assert page.locator("#total").inner_text() == spent


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """Another site, with one empty page."""
    (tmp_path / "page.html").write_text('<link rel="icon" href="data:,">', encoding="utf-8")
    with site(tmp_path) as address:
        yield f"{address}/page.html"


def test_pages_of_other_sites_may_ask_too(
    open_page: OpenPage, shown: Showcase, elsewhere: str
) -> None:
    """Another origin loads the client from the collector, fetches its contract and sends."""
    page = open_page()
    page.goto(elsewhere)
    before = counts(shown)
    outcome = page.evaluate(
        """async (collector) => {
            const client = await import(`${collector}/client/rumor.js`);
            const contract = await client.fetchContract(`${collector}/v1/collection`);
            const person = await client.Respondent.open({ maxEpsilon: 2 });
            await person.prepare(contract, { health: "cancer" });
            return person.send(collector, contract);
        }""",
        shown.url,
    )
    assert (outcome["accepted"], outcome["pending"]) == (1, 0)
    assert counts(shown)["health"] == before["health"] + 1


def give_any(page: Page, question: Question) -> None:
    """Some answer, by whatever control the question has."""
    place = page.locator(f"[data-question={question.id}] .control")
    expect(place).to_be_visible()
    ticks, numbers = place.locator("input[type=checkbox]"), place.locator("input[type=number]")
    if place.locator("input[type=radio]").count():
        for group in place.get_by_role("radiogroup").all():
            group.locator("input[type=radio]").nth(1).check()
    elif ticks.count() or numbers.count():
        if ticks.count():
            ticks.nth(1).check()
        if numbers.count():
            number = numbers.locator("visible=true")
            number.fill(number.get_attribute("max") or "")
    else:
        place.locator("input[type=text]").fill("word")


def test_every_mechanism_is_drawn_and_taken(open_page: OpenPage, tmp_path: Path) -> None:
    contract = every_mechanism()
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(contract)
    with background(Service(store, contract.series)) as url:
        page = open_page()
        page.goto(f"{url}/answer")
        for question in contract.questions:
            give_any(page, question)
        page.locator("#go").click()
        expect(page.locator(".card.drawn")).to_have_count(len(contract.questions))
        shown_bits = {question.id: tiles(page, question.id) for question in contract.questions}
        assert all(shown_bits.values()), shown_bits
        for lang in ("ja", "zh", "en"):
            page.locator(f"#languages a[hreflang={lang}]").click()
            expect(page.locator("h1")).to_have_text(TITLES[lang])
            expect(page.locator(".coins")).to_have_count(len(contract.questions))
            captions = page.locator(".report > p:first-child").all_text_contents()
            assert len(captions) == len(contract.questions)
            described = captions_in(page, lang)
            for question, text in zip(contract.questions, captions, strict=True):
                known = question.mechanism.name in described
                assert bool(re.search(r"[一-鿿]", text)) is known, (lang, question.id)
        page.locator("#go").click()
        expect(page.locator(".card.sent")).to_have_count(len(contract.questions))
    for question in contract.questions:
        reports = store.newest_reports(entry, question.id, 9)
        assert len(reports) == 1
        assert question.mechanism.validate(reports).all


@pytest.mark.slow
def test_a_set_is_ticked_up_to_its_cap_and_more_is_told(
    open_page: OpenPage, tmp_path: Path
) -> None:
    asked = {**KINDS["set"].example().spec, "id": "ways", "kind": "set", "text": "Which?"}
    wish = {"name": "Sets", "series": "sets", "contact": "a@b.example", "questions": [asked]}
    contract = Collection.resolve(wish)
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(contract)
    with background(Service(store, contract.series)) as url:
        page = open_page()
        page.goto(f"{url}/answer")
        expect(page.locator(".control")).to_contain_text("Choose up to 2. If you choose more, 2")
        ticks = page.locator(".control input[type=checkbox]")
        expect(ticks).to_have_count(5)
        ticks.last.check()  # none of these
        ticks.nth(0).check()
        expect(ticks.last).not_to_be_checked()
        for place in (1, 3):
            ticks.nth(place).check()
        page.locator("#go").click()
        expect(page.locator(".note")).to_contain_text("more than 2")
        own = page.locator(".bittable tr.own th")
        expect(own).to_have_count(3)
        assert [text.split()[0] for text in own.all_inner_texts()] == ["bus", "bicycle", "train"]
        page.locator("#go").click()
        expect(page.locator(".card.sent")).to_have_count(1)
