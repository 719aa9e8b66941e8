"""Every state of every page, each reached as a person reaches it, for the screenshots.

A state is a function of a page and a stage; the stage starts collectors and ends them.
"""

from __future__ import annotations

import datetime
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from playwright.sync_api import Locator, Page

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import (
    QuestionContents,
    ReportBatch,
    StoredReports,
    open_store,
    stored_name,
    today,
)
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.admission import new_invitation
from rumor.contract.collection import Collection
from rumor.core.randomness import Seeded
from rumor.demo.crowd import run
from rumor.demo.page import write_page
from rumor.demo.showcase import RunningCollector, Showcase, showcase
from rumor.mechanisms.summary import Summary

_PAST = {ago: 1_400 + 90 * (ago * 5 % 7) for ago in range(13, 0, -1)}
_LATELY = 700
_SECONDS = 60_000
ABOUT = {"name": "How we live", "series": "living", "contact": "survey@example.org"}

# A question of each kind, as people meet them.
KINDS: Mapping[str, dict[str, object]] = {
    "choice": {
        "text": "How do you mostly get around?",
        "labels": ["on foot", "bicycle", "bus or train", "car"],
    },
    "long-choice": {
        "kind": "choice",
        "text": "Which of 5,000 places do you live in?",
        "labels": [f"place number {i}" for i in range(5_000)],
    },
    "ordered": {"text": "How many minutes do you walk on a day?", "low": 0, "high": 60, "bins": 12},
    "set": {
        "text": "Which of these have you used this week?",
        "labels": ["bus", "bicycle", "car", "train"],
        "cap": 2,
    },
    "text": {"text": "Which one word says how this week felt?", "bits": 64, "cohorts": 8},
    "words": {"text": "Which word do you type most?", "longest": 12, "epsilon": 4.0},
    "number": {"text": "How many hours did you sleep last night?", "low": 0, "high": 12},
    "keyvalue": {
        "text": "Which did you have yesterday, and how many?",
        "keys": ["coffee", "tea", "juice"],
        "low": 0,
        "high": 9,
    },
    "joint": {
        "text": "Do you smoke, and do you drink?",
        "parts": [
            {"id": "smokes", "labels": ["yes", "no"]},
            {"id": "drinks", "labels": ["never", "seldom", "often"]},
        ],
    },
}


def asked(name: str, **more: object) -> dict[str, object]:
    """The question of a kind."""
    return {"id": name, "kind": name, "epsilon": 2.0, **KINDS[name], **more}


class Stage:
    """Collectors to take pictures of: one that is shared, and others as a state needs them."""

    def __init__(self, shared: Showcase, stack: ExitStack) -> None:
        self.shared, self._stack = shared, stack
        self._kept: dict[str, RunningCollector] = {}

    def fresh(
        self,
        *questions: dict[str, object],
        days: Mapping[int, np.ndarray] | None = None,
        **about: object,
    ) -> RunningCollector:
        """A collector of these questions; the first may have had answers, so many days ago."""
        contract = Collection.resolve({**ABOUT, **about, "questions": list(questions)})
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        store = open_store(f"sqlite:///{folder / 'store.db'}")
        if days is None:
            entry = store.register(contract)
        else:
            entry = store.restore(contract, _past(contract, days), open=True)
        token = add_token(folder / "tokens", "analyst")
        service = Service(store, contract.series, tokens=Tokens(folder / "tokens"))
        return RunningCollector(self._stack.enter_context(background(service)), token, store, entry)

    def kept(self, name: str, make: Callable[[], RunningCollector]) -> RunningCollector:
        """The same for every picture that only looks."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]


@contextmanager
def stage() -> Iterator[Stage]:
    """The shared collector, with two weeks behind it."""
    with showcase(_PAST, seed=7) as shared, ExitStack() as stack:
        shared.more(_LATELY)
        yield Stage(shared, stack)


def _past(contract: Collection, days: Mapping[int, np.ndarray]) -> dict[str, QuestionContents]:
    """Reports of the first question, as an export has them."""
    found = {}
    for place, question in enumerate(contract.questions):
        empty = Summary.empty(question.mechanism, contract=contract.digest, question=question.id)
        made = {
            today() - datetime.timedelta(days=ago): question.mechanism.without_labels().privatize(
                codes, random=Seeded(ago)
            )
            for ago, codes in (days.items() if place == 0 else ())
        }
        kept = [StoredReports(day, _ids(len(each)), each) for day, each in made.items()]
        found[question.id] = QuestionContents(
            iter(kept), iter(()), {day: empty.update(each) for day, each in made.items()}
        )
    return found


def _ids(number: int) -> np.ndarray:
    return np.frombuffer(secrets.token_bytes(16 * number), np.uint8).reshape(-1, 16)


# What people do.


def reach(page: Page, question: str) -> Locator:
    """A question's card, on its own screen where the window is narrow."""
    page.locator("#action button").first.wait_for()
    if page.locator("#begin").count():
        page.locator("#begin").click()
    card = page.locator(f"[data-question={question}]")
    while not card.is_visible():
        page.locator("#next").click()
    return card


def give(card: Locator) -> None:
    """Some answer, by whatever control the card has."""
    place = card.locator(".control")
    ticks, numbers = place.locator("input[type=checkbox]"), place.locator("input[type=number]")
    if place.locator("input[type=radio]").count():
        for group in place.get_by_role("radiogroup").all():
            group.locator("input[type=radio]").nth(1).check()
    elif ticks.count() or numbers.count():
        if ticks.count():
            ticks.nth(1).check()
        if numbers.count():
            numbers.locator("visible=true").fill("7")
    else:
        place.locator("input[type=text]").fill("hopeful")


def draw(page: Page) -> None:
    """Add the noise."""
    page.locator("#go").click()
    page.locator(".card.drawn").first.wait_for()


def send(page: Page) -> None:
    """Send what was drawn."""
    page.locator("#go").click()
    page.locator(".card.sent").first.wait_for()


def answered(page: Page, stage: Stage) -> None:
    """The form, with an answer of each kind."""
    page.goto(stage.shared.answer_url)
    reach(page, "health").get_by_label("migraine").check()
    reach(page, "sleep").locator("input").fill("6.5")
    reach(page, "word").locator("input").fill("hopeful")
    pair = reach(page, "habits").locator(".pair").first
    pair.locator("input[type=checkbox]").check()
    pair.locator("input[type=number]").fill("3")


def begun(page: Page, stage: Stage) -> None:
    """The page as it opens."""
    page.goto(stage.shared.answer_url)
    page.locator("#action button").first.wait_for()


def chosen(page: Page, stage: Stage) -> None:
    """The first question, with an answer."""
    begun(page, stage)
    reach(page, "health").get_by_label("migraine").check()


def drawn(page: Page, stage: Stage) -> None:
    """What would be sent."""
    answered(page, stage)
    draw(page)


def sent(page: Page, stage: Stage) -> None:
    """What was sent, and what it cost: thanks."""
    drawn(page, stage)
    send(page)


def later(page: Page, stage: Stage) -> None:
    """Whoever comes back finds what was answered, and the way to take it back."""
    sent(page, stage)
    page.reload()
    page.locator(".card.full").first.wait_for()


def who(page: Page, stage: Stage) -> None:
    """Who else could have sent this."""
    chosen(page, stage)
    while not page.locator("#go").count():
        page.locator("#next").click()
    draw(page)
    page.locator(".who summary").first.click()
    page.locator(".who dl").first.wait_for()


def rehearsed(page: Page, stage: Stage) -> None:
    """Twenty draws that nobody gets."""
    chosen(page, stage)
    page.locator("[data-question=health] button.quiet").last.click()
    page.locator(".trial").wait_for()


def kind(name: str, drawn: bool) -> Callable[[Page, Stage], None]:
    """A question of one kind: answered, or drawn."""

    def look(page: Page, stage: Stage) -> None:
        running = stage.kept(f"kind-{name}", lambda: stage.fresh(asked(name)))
        page.goto(running.answer_url)
        give(reach(page, name))
        if drawn:
            draw(page)

    return look


def mistaken(page: Page, stage: Stage) -> None:
    """A mistake is told at its place."""
    running = stage.kept("kind-long-choice", lambda: stage.fresh(asked("long-choice")))
    page.goto(running.answer_url)
    reach(page, "long-choice").locator("[type=search]").fill("somewhere")
    page.locator("#go").click()
    page.locator(".wrong:not(:empty)").wait_for()


def drawn_choice(page: Page, stage: Stage) -> None:
    """One choice answered and drawn, and nothing sent yet."""
    running = stage.kept("kind-choice", lambda: stage.fresh(asked("choice")))
    page.goto(running.answer_url)
    give(reach(page, "choice"))
    draw(page)


def sending(page: Page, stage: Stage) -> None:
    """On its way."""
    drawn_choice(page, stage)
    page.evaluate("() => void (window.fetch = () => new Promise(() => {}))")  # nothing comes back
    page.locator("#go").click()
    page.locator("#go:disabled").wait_for()


def waiting(page: Page, stage: Stage) -> None:
    """The collector cannot be reached, and may be tried again."""
    drawn_choice(page, stage)
    page.route("**/v1/reports", lambda route: route.abort())
    page.locator("#go").click()
    page.locator("#retry").wait_for()


def closed(page: Page, stage: Stage) -> None:
    """The collection was closed while somebody answered."""
    running = stage.fresh(asked("choice"))
    page.goto(running.answer_url)
    give(reach(page, "choice"))
    draw(page)
    running.store.close_collection(running.entry.collection.digest)
    page.locator("#go").click()
    page.locator("#problem .notice").wait_for()


def stranger(page: Page, stage: Stage) -> None:
    """A wrong invitation."""
    running = stage.kept("invited", lambda: stage.fresh(asked("choice"), admission="invited"))
    page.goto(running.answer_url)
    give(reach(page, "choice"))
    page.locator("#code").fill(new_invitation())
    draw(page)
    page.locator("#go").click()
    page.locator("#problem .notice").wait_for()
    page.locator("#go:focus").wait_for()


def mistyped(page: Page, stage: Stage) -> None:
    """An invitation that cannot be one."""
    running = stage.kept("invited", lambda: stage.fresh(asked("choice"), admission="invited"))
    page.goto(running.answer_url)
    give(reach(page, "choice"))
    page.locator("#code").fill("rumor-invitation-wrong")
    page.locator("#go").click()
    page.locator("#q-choice:focus").wait_for()


def unaffordable(page: Page, stage: Stage) -> None:
    """Another answer would cost more than was agreed."""
    again = asked("choice", reports_per_person=9, epsilon=1.0)
    running = stage.kept("dear", lambda: stage.fresh(again, series_epsilon=1.5))
    page.goto(running.answer_url)
    give(reach(page, "choice"))
    draw(page)
    send(page)
    page.reload()
    page.locator(".card.full").wait_for()


def revised(page: Page, stage: Stage) -> None:
    """A revision asks for more."""
    running = stage.fresh(asked("choice", epsilon=1.0))
    page.goto(running.answer_url)
    give(reach(page, "choice"))
    draw(page)
    send(page)
    more = asked("choice", epsilon=1.0), asked("number", epsilon=1.5)
    known = running.entry.collection.digest
    wish = {
        **ABOUT,
        "revision": 2,
        "previous": known,
        "series_epsilon": 4.0,
        "questions": list(more),
    }
    running.store.register(Collection.resolve(wish), revise=True)
    page.wait_for_timeout(1_100)  # a collector asks its store about this once a second
    page.reload()
    give(reach(page, "number"))
    page.locator("#go").click()
    page.locator(".consent").wait_for()


def forgetful(page: Page, stage: Stage) -> None:
    """A browser that keeps nothing."""
    page.add_init_script("Object.defineProperty(window, 'indexedDB', { value: undefined })")
    page.goto(stage.shared.answer_url)
    page.locator("#problem .notice").wait_for()


# What analysts see.


def signing_in(page: Page, stage: Stage) -> None:
    """The dashboard without a token."""
    page.goto(stage.shared.url)
    page.locator("#token").wait_for()


def refused(page: Page, stage: Stage) -> None:
    """A token that is not known."""
    signing_in(page, stage)
    page.locator("#token").fill("wrong")
    page.keyboard.press("Enter")
    page.locator("[role=alert]:not(:empty)").wait_for()


# The trend and the groups come after the estimate.
_DRAWN = """() => (!document.querySelector("#trend[open]") || document.querySelector("#moved svg"))
  && (!document.querySelector("#groups") || document.querySelector("#groups .bars"))"""


def settled(page: Page) -> None:
    """Everything has been drawn."""
    page.get_by_text("Live, as of").wait_for(timeout=_SECONDS)
    page.wait_for_function(_DRAWN, timeout=_SECONDS)


def question(number: int) -> Callable[[Page, Stage], None]:
    """The dashboard, at one of its questions."""

    def look(page: Page, stage: Stage) -> None:
        page.goto(stage.shared.dashboard_url)
        button = page.locator("#questions button").nth(number)
        button.wait_for()
        if number:
            button.click()
        settled(page)

    return look


def _yes(people: int, share: float, seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).random(people) < share).astype(np.int64)


def empty(page: Page, stage: Stage) -> None:
    """Nobody has answered."""
    page.goto(stage.kept("empty", lambda: stage.fresh(asked("choice"))).dashboard_url)
    page.locator("#problem").get_by_text("No reports yet").wait_for()


def one_day(page: Page, stage: Stage) -> None:
    """One day of reports."""
    days = {0: _yes(800, 0.4, 1)}
    running = stage.kept("one-day", lambda: stage.fresh(asked("choice"), days=days))
    page.goto(running.dashboard_url)
    settled(page)


def all_questions(page: Page, stage: Stage) -> None:
    """A card for each question."""
    page.goto(stage.shared.dashboard_url)
    page.get_by_role("button", name="All questions").click()
    page.locator(".glance:last-child figcaption:not(:has-text('report'))").wait_for(
        timeout=_SECONDS
    )


def against(page: Page, stage: Stage) -> None:
    """The last seven days against the seven before."""
    week = {ago: _yes(1_500, 0.4 if ago > 6 else 0.52, ago) for ago in range(14)}
    running = stage.kept("weeks", lambda: stage.fresh(asked("choice"), days=week))
    page.goto(running.dashboard_url)
    settled(page)
    page.get_by_role("button", name="Against the period before").click()
    page.locator(".bars .more").first.wait_for()
    settled(page)


def grouped(page: Page, stage: Stage) -> None:
    """Each group beside the others."""
    countries = ["DE", "FR", "IT", "ES", "other"]

    def make() -> RunningCollector:
        running = stage.fresh(asked("choice"), groups={"country": countries})
        for stratum in range(4):
            number = running.entry.questions[stored_name("choice", stratum)]
            codes = np.random.default_rng(stratum).integers(0, 2 + stratum % 3, 900)
            mechanism = running.entry.collection.question("choice").mechanism
            reports = mechanism.without_labels().privatize(codes, random=Seeded(stratum))
            rows = np.concatenate([_ids(len(reports)), reports], axis=1)
            running.store.write([ReportBatch(number, rows)])
        return running

    page.goto(stage.kept("groups", make).dashboard_url)
    settled(page)


def grouped_below(page: Page, stage: Stage) -> None:
    """The groups themselves."""
    grouped(page, stage)
    page.locator("#groups").scroll_into_view_if_needed()


def trend(page: Page, stage: Stage) -> None:
    """The trend of a question."""
    against(page, stage)
    page.locator("#moved").scroll_into_view_if_needed()


def ordered(page: Page, stage: Stage) -> None:
    """A distribution."""
    minutes = np.random.default_rng(2).integers(0, 7, 3_000)
    running = stage.kept("minutes", lambda: stage.fresh(asked("ordered"), days={1: minutes}))
    page.goto(running.dashboard_url)
    settled(page)


def found(page: Page, stage: Stage) -> None:
    """One of twenty thousand answers."""
    large(page, stage)
    page.get_by_label("Find an answer").fill("number 1234")
    page.locator("#standing", has_text="contain").wait_for()


def long_question(page: Page, stage: Stage) -> None:
    """A question of 400 characters, with long answers."""
    text = "When you think of all the places that you have lived in since you were a child, " * 5
    labels = [f"the one that I remember best because of {what}" for what in ("people", "food")]
    many = {**asked("choice"), "text": text.strip(), "labels": [*labels, "none of them"]}
    days = {1: np.random.default_rng(5).integers(0, 3, 900)}
    page.goto(stage.kept("long", lambda: stage.fresh(many, days=days)).dashboard_url)
    settled(page)


def compared(page: Page, stage: Stage) -> None:
    """Two periods beside each other."""
    page.goto(stage.shared.dashboard_url)
    settled(page)
    page.get_by_text("Compare two periods").click()
    page.get_by_role("button", name="Compare").click()
    page.locator("#differences .bars").wait_for()
    page.locator("#differences").scroll_into_view_if_needed()


def tabled(page: Page, stage: Stage) -> None:
    """The estimate as a table."""
    page.goto(stage.shared.dashboard_url)
    settled(page)
    page.get_by_text("As a table").click()


def large(page: Page, stage: Stage) -> None:
    """Twenty thousand possible answers."""
    draws = np.random.default_rng(3).zipf(1.3, 6_000) % 20_000
    text = "Which of 20,000 places do you live in?"
    many = {
        **asked("long-choice"),
        "text": text,
        "labels": [f"place number {i}" for i in range(20_000)],
    }
    running = stage.kept("large", lambda: stage.fresh(many, days={1: draws}))
    page.goto(running.dashboard_url)
    settled(page)


def many_questions(page: Page, stage: Stage) -> None:
    """Fifty questions."""
    many = [{**asked("choice"), "id": f"q-{i}", "text": f"Question number {i}?"} for i in range(50)]
    days = {1: _yes(900, 0.4, 1), 0: _yes(300, 0.5, 2)}
    running = stage.kept("many", lambda: stage.fresh(*many, days=days))
    page.goto(running.dashboard_url)
    settled(page)


def updated(page: Page, stage: Stage) -> None:
    """After reports have come while the page was open."""
    page.goto(stage.shared.dashboard_url)
    settled(page)
    before = page.locator(".figure dd").first.inner_text()
    stage.shared.more(50)
    page.wait_for_function(
        "(old) => document.querySelector('.figure dd').textContent !== old", arg=before
    )
    settled(page)


def away(page: Page, stage: Stage) -> None:
    """The collector went away."""
    page.goto(stage.shared.dashboard_url)
    settled(page)
    page.route("**/v1/overview*", lambda route: route.abort())
    page.get_by_text("Not live: as of").wait_for(timeout=_SECONDS)


def demonstration(page: Page, stage: Stage) -> None:
    """The file that `rumor demo` writes."""
    with tempfile.TemporaryDirectory() as folder:
        page.goto(write_page(run(20_000, seed=1), Path(folder) / "demo.html").as_uri())


STATES: dict[str, Callable[[Page, Stage], None]] = {
    "begun": begun,
    "chosen": chosen,
    "answer": answered,
    "drawn": drawn,
    "sent": sent,
    "later": later,
    "who": who,
    "rehearsed": rehearsed,
    **{f"kind-{name}": kind(name, False) for name in KINDS},
    **{f"kind-{name}-drawn": kind(name, True) for name in KINDS},
    "mistaken": mistaken,
    "sending": sending,
    "waiting": waiting,
    "closed": closed,
    "stranger": stranger,
    "mistyped": mistyped,
    "unaffordable": unaffordable,
    "revised": revised,
    "forgetful": forgetful,
    "sign-in": signing_in,
    "refused": refused,
    "dashboard": question(0),
    "dashboard-number": question(1),
    "dashboard-words": question(2),
    "dashboard-keys": question(3),
    "dashboard-empty": empty,
    "dashboard-one-day": one_day,
    "dashboard-all": all_questions,
    "dashboard-against": against,
    "dashboard-trend": trend,
    "dashboard-groups": grouped,
    "dashboard-groups-below": grouped_below,
    "dashboard-ordered": ordered,
    "dashboard-found": found,
    "dashboard-long": long_question,
    "dashboard-compared": compared,
    "dashboard-table": tabled,
    "dashboard-large": large,
    "dashboard-many": many_questions,
    "dashboard-updated": updated,
    "dashboard-away": away,
    "demonstration": demonstration,
}
