"""What a person was promised, on the page: limits, rounds, periods, and consent to a revision."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.contract.collection import Collection
from tests.browser.conftest import LANGUAGES, OpenPage
from tests.browser.test_accessibility import objections
from tests.browser.test_answer import state_of

WORDS = """async (lang) => {
    const { consent, errors } = (await import(`/client/view/words/${lang}.js`)).default;
    return [consent.title, consent.no, consent.yes, errors.consent];
}"""


def asking(*questions: dict[str, object], **more: object) -> Collection:
    """A contract of these questions."""
    about = {"name": "Now and then", "series": "then", "contact": "nobody@example.org"}
    return Collection.resolve({**about, **more, "questions": list(questions)})


def vote(epsilon: float = 1.0, **more: object) -> dict[str, object]:
    return {"id": "vote", "kind": "choice", "labels": ["yes", "no"], "epsilon": epsilon, **more}


def send_vote(page: Page) -> None:
    """Answer and send; what happens is for the test to see."""
    page.get_by_label("yes").check()
    page.locator("#go").click()
    page.get_by_role("button", name="Send this report").click()
    expect(page.locator(".card.sent")).to_have_count(1)


@pytest.mark.slow
def test_the_limit_is_what_the_series_may_cost(open_page: OpenPage, tmp_path: Path) -> None:
    contract = asking(vote(reports_per_person=9), series_epsilon=1.5)
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(contract)
    with background(Service(store, contract.series)) as url:
        page = open_page()
        page.goto(f"{url}/answer")
        expect(page.locator("#total")).to_have_text(
            "Nothing yet. The limit for this collection is epsilon 1.5."
        )
        send_vote(page)
        expect(page.locator("#total")).to_have_text(
            "epsilon 1, of a limit of 1.5 for this collection"
        )
        # Nothing is offered that the ledger would refuse, and whoever comes back is told why.
        expect(page.get_by_role("button", name="Answer again")).to_have_count(0)
        page.reload()
        expect(page.locator(".card.full")).to_contain_text(
            "epsilon 1.5, so this question is no longer"
        )
        expect(page.locator("#go")).to_have_count(0)
        expect(page.locator("#total")).to_contain_text("epsilon 1, of")
    assert len(store.newest_reports(entry, "vote", 9)) == 1


@pytest.mark.slow
def test_what_other_collections_cost_is_said(open_page: OpenPage, tmp_path: Path) -> None:
    contract = asking(vote())
    other = asking(vote(0.5), series="before")
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(contract)
    with background(Service(store, contract.series)) as url:
        page = open_page()
        page.goto(f"{url}/answer")
        expect(page.locator("#spent")).not_to_contain_text("Other collections")
        page.evaluate(
            """async (given) => {
                const client = await import("/client/rumor.js");
                const contract = await client.parseContract(given);
                await (await client.Respondent.open()).prepare(contract, { vote: "yes" });
            }""",
            other.canonical().decode(),
        )
        page.reload()
        expect(page.locator("#spent")).to_contain_text("Other collections have spent epsilon 0.5")
        expect(page.locator("#total")).to_contain_text(
            "Nothing yet. The limit for this collection is epsilon 1"
        )


@pytest.mark.slow
def test_rounds_say_what_all_of_them_cost(open_page: OpenPage, tmp_path: Path) -> None:
    """Not what the first alone costs."""
    pairs = {"id": "apps", "kind": "keyvalue", "keys": ["a", "b"], "low": 0, "high": 4}
    rounds = {"name": "privkvm", "rounds": 3}
    contract = asking({**pairs, "epsilon": 4.0, "mechanism": rounds})
    question = contract.question()
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(contract)
    with background(Service(store, contract.series)) as url:
        page = open_page()
        page.goto(f"{url}/answer")
        odds = page.locator("[data-question=apps] .odds")
        expect(odds).to_contain_text("has 3 rounds, with a report in each; this is round 1")
        expect(odds).to_contain_text(f"(epsilon {question.epsilon_total:.4g} together)")
        expect(odds).not_to_contain_text(f"{question.epsilon:.4g}")
        expect(page.locator("#total")).to_contain_text(f"is epsilon {question.epsilon_total:.3g}")
        assert question.epsilon_total > question.epsilon + 1


def test_the_answer_of_a_period_is_said_and_stands(open_page: OpenPage, tmp_path: Path) -> None:
    mood = {"id": "mood", "kind": "choice", "labels": [f"mood {i}" for i in range(10)]}
    permanent = {"name": "basic-rappor", "f": 0.5, "p": 0, "q": 1}
    period = {"memo": "period", "period_days": 30_000, "reports_per_person": 3}
    contract = asking({**mood, "mechanism": permanent, **period})
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(contract)
    with background(Service(store, contract.series)) as url:
        page = open_page()
        page.goto(f"{url}/answer")
        odds = page.locator("[data-question=mood] .odds")
        expect(odds).to_contain_text("Your first answer in every 30000 days stands for all of that")
        for value in ("mood 1", "mood 2", "mood 3"):
            page.get_by_label(value, exact=True).check()
            page.locator("#go").click()
            page.get_by_role("button", name="Send this report").click()
            expect(page.locator(".card.sent")).to_have_count(1)
            if value != "mood 3":
                page.get_by_role("button", name="Answer again").click()
        expect(page.locator("#total")).to_contain_text(
            f"epsilon {contract.question().epsilon:.3g}, of"
        )
    reports = store.newest_reports(entry, "mood", 9)
    assert len(reports) == 3
    assert len(np.unique(reports, axis=0)) == 1  # no fresh noise, and one answer for the period


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_revision_that_costs_more_asks_first(
    open_page: OpenPage, tmp_path: Path, axe: str, lang: str
) -> None:
    """Old total, new total, what was spent; nothing is sent or spent without a yes."""
    first = asking(vote())
    revision: dict[str, object] = {"revision": 2, "previous": first.digest, "series_epsilon": 6.0}
    second = asking(vote(2.5, reports_per_person=3), **revision)
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(first)
    with background(Service(store, "then")) as url:
        page = open_page(size="phone" if lang == "ja" else "desktop")
        page.goto(f"{url}/answer")
        send_vote(page)
        entry = store.register(second, revise=True)
        page.wait_for_timeout(1_100)  # a collector asks its store about this once a second
        page.goto(f"{url}/answer?lang={lang}")
        expect(page.locator("#total")).to_contain_text("1")
        title, no, yes, told = page.evaluate(WORDS, lang)
        page.get_by_label("yes").check()
        asked = page.get_by_role("dialog", name=title)
        for leave in ("press no", "press escape"):
            page.locator("#go").click()
            expect(asked).to_be_visible()
            expect(asked.get_by_role("button", name=no, exact=True)).to_be_focused()
            costs = asked.locator("dd").all_inner_texts()
            assert [float(re.findall(r"[\d.]+", cost)[0]) for cost in costs] == [1, 1, 6]
            assert objections(page, axe) == []
            if leave == "press no":
                asked.get_by_role("button", name=no, exact=True).click()
            else:
                page.keyboard.press("Escape")
            expect(asked).to_have_count(0)
            expect(page.get_by_role("alert")).to_contain_text(told)
            assert state_of(page, "vote") == "open"
        assert len(store.newest_reports(entry, "vote", 9)) == 0
        assert spent_on(page) == [1.0, 1.0]
        page.locator("#go").click()
        asked.get_by_role("button", name=yes, exact=True).click()
        expect(page.locator(".card.drawn")).to_have_count(1)
        assert spent_on(page) == [3.5, 6.0]
        page.locator("#go").click()
        expect(page.locator(".card.sent")).to_have_count(1)
        # What was agreed to is not asked for again.
        page.locator(".card.sent button").click()
        page.get_by_label("no", exact=True).check()
        page.locator("#go").click()
        expect(page.locator(".card.drawn")).to_have_count(1)
        assert spent_on(page) == [6.0, 6.0]
    assert len(store.newest_reports(entry, "vote", 9)) == 1


def spent_on(page: Page) -> list[float]:
    """What the device says of the series: spent, and at most."""
    held: list[float] = page.evaluate(
        """async () => {
            const client = await import("/client/rumor.js");
            const contract = await client.fetchContract("/v1/collection");
            const { spent, ceiling } = await (await client.Respondent.open()).budget(contract);
            return [spent, ceiling];
        }"""
    )
    return [round(value, 9) for value in held]


@pytest.mark.slow
def test_a_contract_that_does_not_follow_is_refused(open_page: OpenPage, tmp_path: Path) -> None:
    first, other = asking(vote()), asking(vote(reports_per_person=2))
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(first)
    with background(Service(store, "then")) as url:
        page = open_page()
        page.goto(f"{url}/answer")
        send_vote(page)
        entry = store.register(other, revise=True)
        page.wait_for_timeout(1_100)  # a collector asks its store about this once a second
        page.goto(f"{url}/answer")
        page.get_by_label("yes").check()
        page.locator("#go").click()
        expect(page.get_by_role("alert")).to_contain_text("Nothing was sent.")
        expect(page.get_by_role("alert")).to_contain_text(
            "A series must have one contract of each revision"
        )
        assert spent_on(page) == [1.0, 1.0]
    assert len(store.newest_reports(entry, "vote", 9)) == 0
