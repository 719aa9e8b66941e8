"""The page of a collection that asks each person some of its questions, or on one of many days."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from playwright.sync_api import expect

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.collector.tokens import Tokens, add_token
from tests.browser.conftest import LANGUAGES, OpenPage
from tests.browser.test_accessibility import objections
from tests.browser.test_answer_promises import asking, vote
from tests.collector.tools import batch

SAID = {
    "en": "You are asked 1 of 5 questions, drawn at random on this device.",
    "ja": "5問のうち1問だけをお尋ねしています。",
    "zh": "5个问题中只问您1个",
}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_only_the_drawn_one_is_asked_and_it_stays(
    open_page: OpenPage, tmp_path: Path, axe: str, lang: str
) -> None:
    questions = [{**vote(0.5 + i), "id": f"vote{i}"} for i in range(5)]
    contract = asking(*questions, ask={"questions": 1})
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(contract)
    with background(Service(store, contract.series)) as url:
        page = open_page()
        page.goto(f"{url}/answer?lang={lang}")
        expect(page.locator(".card")).to_have_count(1)
        expect(page.locator("#asked")).to_contain_text(SAID[lang])
        drawn = page.locator(".card").get_attribute("data-question")
        assert drawn is not None
        for _ in range(3):  # not answering draws nothing anew
            page.reload()
            expect(page.locator(".card")).to_have_attribute("data-question", drawn)
        # What it may cost at most is what was drawn: not the sum, not the dearest.
        most = f"{contract.question(drawn).epsilon:g}"
        expect(page.locator("#total")).to_contain_text(most)
        assert objections(page, axe) == []
        page.get_by_label("yes").check()
        page.locator("#go").click()
        expect(page.locator(".card.drawn")).to_have_count(1)
        page.locator("#go").click()
        expect(page.locator(".card.sent")).to_have_count(1)
        expect(page.locator("#total")).to_contain_text(most)
    sent = {q.id: len(store.newest_reports(entry, q.id, 9)) for q in contract.questions}
    assert sent == {q.id: int(q.id == drawn) for q in contract.questions}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("starts", "said"), [(2, "That day has not come yet."), (-9, "That day is over")]
)
def test_another_day_takes_no_answer(
    open_page: OpenPage, tmp_path: Path, starts: int, said: str
) -> None:
    # Two days on either side: no midnight of the test changes which days they are.
    first = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=starts)
    contract = asking(vote(), ask={"days": 3, "starts": first.isoformat()})
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(contract)
    with background(Service(store, contract.series)) as url:
        page = open_page()
        page.goto(f"{url}/answer")
        asked = page.locator("#asked")
        expect(asked).to_contain_text(
            "You answer on one of 3 days, drawn at random on this device:"
        )
        expect(asked).to_contain_text(said)
        expect(page.locator(".card.away input")).to_have_count(0)
        expect(page.locator("#go")).to_have_count(0)


def test_nothing_more_is_loaded_where_everything_is_asked(
    open_page: OpenPage, tmp_path: Path
) -> None:
    contract = asking(vote())
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(contract)
    with background(Service(store, contract.series)) as url:
        page = open_page()
        loaded: list[str] = []
        page.on("request", lambda request: loaded.append(request.url))
        page.goto(f"{url}/answer")
        page.get_by_label("yes").check()
        page.locator("#go").click()
        expect(page.locator(".card.drawn")).to_have_count(1)
        assert not [one for one in loaded if one.endswith("assignment.js")]
        expect(page.locator("#asked")).to_have_count(0)


@pytest.mark.slow
def test_the_dashboard_shows_each_questions_own_reports(
    open_page: OpenPage, tmp_path: Path
) -> None:
    questions = [{**vote(), "id": f"vote{i}", "text": f"Vote {i}?"} for i in range(3)]
    contract = asking(*questions, ask={"questions": 1})
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(contract)
    for i in range(3):
        store.write([batch(entry, f"vote{i}", [0] * (20 + 10 * i))])
    token = add_token(tmp_path / "tokens", "analyst")
    tokens = Tokens(tmp_path / "tokens")
    with background(Service(store, contract.series, tokens=tokens)) as url:
        page = open_page()
        page.goto(f"{url}/#token={token}")
        for i in range(3):
            page.get_by_role("button", name=f"Vote {i}?").click()
            expect(page.locator("#figures")).to_contain_text(f"{20 + 10 * i}")
            # Nothing is on its way any more when the next one is asked for, or the page closed.
            expect(page.locator("#remarks")).to_contain_text("Method")
            expect(page.locator("#alarms")).to_contain_text(f"got {20 + 10 * i}")
            expect(page.locator("#shares .bars")).to_be_visible()
        expect(page.locator("#asks")).to_have_text(
            "Each person is asked 1 of 3 questions, drawn at random on their device. So every "
            "question has reports of its own, and questions cannot be tabled against each other."
        )
