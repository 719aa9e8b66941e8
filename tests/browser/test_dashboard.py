"""The analysts' page in a real browser: it sharpens as reports come, and lets one take it away."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import ReportBatch, open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.demo.showcase import Showcase, showcase
from rumor.privacy.integrity import craft
from tests.browser.conftest import OpenPage
from tests.collector.tools import batch, collection, rows


def figure(page: Page, label: str) -> str:
    return page.locator(".figure", has_text=label).locator("dd").inner_text()


def chart(page: Page, id: str) -> Locator:
    return page.locator(f"#{id} .bars, #{id} svg").first


def settled(page: Page) -> None:
    """Wait until nothing is under way that the end of a collector would break off."""
    expect(page.locator("#status")).to_contain_text("Live, as of")


def signed_in(open_page: OpenPage, shown: Showcase, **options: str) -> Page:
    page = open_page(**options)
    page.goto(shown.dashboard_url)
    expect(chart(page, "shares")).to_be_visible()
    return page


def test_a_wrong_token_and_the_right_one(open_page: OpenPage, shown: Showcase) -> None:
    page = open_page(allowed="status of 401")
    page.goto(shown.url)
    page.get_by_label("Token").fill("rumor-wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("This token is not known here.")
    page.get_by_label("Token").fill(shown.token)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Which of these troubles you most?")
    expect(chart(page, "shares")).to_be_visible()
    page.reload()
    expect(page.locator("h1")).to_have_text("Which of these troubles you most?")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_focused()
    page.reload()
    expect(page.get_by_label("Token")).to_be_visible()


@pytest.mark.parametrize("path", ["overview", "estimates", "integrity"])
def test_nothing_comes_of_a_request_after_signing_out(
    open_page: OpenPage, shown: Showcase, path: str
) -> None:
    page, held = open_page(), list[Route]()
    page.goto(f"{shown.url}#token={shown.token}")
    expect(chart(page, "shares")).to_be_visible()
    page.route(re.compile(f"/v1/{path}"), lambda route: held.append(route))
    with page.expect_request(re.compile(f"/v1/{path}")):
        page.locator("#questions button").nth(1).click()
    page.get_by_role("button", name="Sign out").click()
    with page.expect_response(re.compile(f"/v1/{path}")):
        held[0].continue_()
    page.evaluate("() => new Promise((done) => setTimeout(done, 100))")
    expect(page.get_by_label("Token")).to_be_visible()


def test_panels_load_when_questions_need_them(open_page: OpenPage, shown: Showcase) -> None:
    page = open_page(allowed="net::ERR_FAILED")
    asked: list[str] = []
    page.on("requestfinished", lambda request: asked.append(request.url.removeprefix(shown.url)))
    page.goto(shown.url)
    expect(page.get_by_label("Token")).to_be_focused()

    def panels() -> set[str]:
        return {path for path in asked if path.startswith("/assets/kinds/")}

    assert panels() == {"/assets/kinds/choice.js"}  # which most kinds are shown with
    page.goto(shown.dashboard_url)
    expect(chart(page, "shares")).to_be_visible()
    assert panels() == {f"/assets/kinds/{kind}.js" for kind in ("choice", "keyvalue", "number")}
    page.route("**/assets/kinds/number.js", lambda route: route.abort())
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("The collector cannot be reached just now.")
    expect(page.get_by_label("Token")).to_be_visible()


def test_the_address_does_not_keep_the_token(open_page: OpenPage, shown: Showcase) -> None:
    page = signed_in(open_page, shown)
    assert page.url == f"{shown.url}/"
    assert shown.token not in page.content()


def test_the_estimate_is_shown_and_sharpens(open_page: OpenPage, shown: Showcase) -> None:
    page = signed_in(open_page, shown)
    before = int(figure(page, "reports").replace(",", ""))
    error = float(figure(page, "largest standard error").split()[1])
    bars = page.locator("#shares .bar")
    expect(bars).to_have_count(11)
    expect(page.locator("#halving")).to_contain_text(f"{3 * before:,} more reports")
    expect(page.locator("#halving")).to_contain_text("429 a day")
    expect(page.locator("#promise")).to_contain_text("by at most a factor of 3 (epsilon 1.099)")
    expect(page.locator("#perday svg .mark-rect path")).to_have_count(
        len(shown.store.reports_by_day(shown.entry, "health"))
    )
    page.get_by_text("As a table").click()
    first = page.locator("#table tbody tr").first
    expect(first).to_have_text(re.compile(r"nothing\s*\d+"))
    # Rows come in the order of the estimate, with the intervals of rows that came out first.
    expect(page.locator("#remarks")).to_contain_text(
        "on average at least 95% of those shown contain the true share"
    )
    shown.more(9_000)
    now = f"{before + 9_000:,}"
    expect(page.locator(".figure", has_text="reports").first).to_contain_text(now)
    expect(page.locator("#questions small").first).to_have_text(f"{now} reports")
    sharper = float(figure(page, "largest standard error").split()[1])
    # Four times the reports or nearly so, as two digits show it.
    expected = error * (before / (before + 9_000)) ** 0.5
    assert sharper == pytest.approx(expected, rel=0.05)


def test_every_kind_of_question(open_page: OpenPage, shown: Showcase) -> None:
    page = signed_in(open_page, shown)
    page.get_by_role("button", name="How many hours").click()
    expect(page.locator("#means .point")).to_have_count(1)
    assert 5.5 < float(figure(page, "mean")) < 8
    page.get_by_role("button", name="Which one word").click()
    expect(page.locator("#remarks")).to_contain_text(re.compile(r"Everything else: -?\d"))
    expect(page.locator("#remarks")).to_contain_text("of 45 candidates were detected")
    page.get_by_role("button", name="Which of these did you have").click()
    expect(page.locator("#shares .bar")).to_have_count(6)
    expect(page.locator("#means .point")).to_have_count(6)
    first = page.locator("#shares li").first
    expect(first).to_have_text(re.compile(r"^coffee[\d.]+% [\d.]+ to [\d.]+$"))
    page.get_by_text("As a table").click()
    expect(page.locator("#table thead")).to_contain_text("mean")


def test_downloads(open_page: OpenPage, shown: Showcase, tmp_path: Path) -> None:
    page = signed_in(open_page, shown)
    for name, suffix in (("CSV", "csv"), ("Parquet", "parquet"), ("PNG", "png")):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=name, exact=True).click()
        assert waiting.value.suggested_filename == f"rumor-showcase-health.{suffix}"
        waiting.value.save_as(tmp_path / f"health.{suffix}")
    table = pq.read_table(tmp_path / "health.parquet")
    lines = (tmp_path / "health.csv").read_text().splitlines()
    assert lines[0] == ",".join(table.schema.names)
    assert [line.partition(",")[0] for line in lines[1:]] == table["value"].to_pylist()
    assert (tmp_path / "health.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_crafted_reports_raise_an_alarm(open_page: OpenPage, tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    token = add_token(tmp_path / "tokens", "analyst")
    store.write([batch(entry, "many", np.random.default_rng(5).geometric(0.3, 6_000) % 30)])
    with background(Service(store, "series", tokens=Tokens(tmp_path / "tokens"))) as url:
        page = open_page()
        page.goto(f"{url}/#token={token}")
        expect(page.locator("#problem")).to_contain_text("No reports yet.")
        page.get_by_role("button", name="many").click()
        expect(page.locator("#alarms")).to_contain_text("No alarm in the newest 6,000 reports.")
        expect(page.locator("#remarks")).to_contain_text("The 10 least frequent are in the table")
        fakes = rows(entry, "many", np.zeros(2_000, dtype=np.int64))
        oracle = entry.collection.question("many").mechanism
        fakes[:, 16:] = craft(oracle, np.arange(6), 2_000)  # type: ignore[arg-type]
        store.write([ReportBatch(entry.questions["many"], fakes)])
        expect(page.locator("#alarms [role=alert]")).to_contain_text("crafted reports are likely")


@pytest.mark.slow
def test_a_test_that_fails_is_not_hidden(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    store.write([batch(entry, "colour", np.arange(2_000) % 3)])
    token = add_token(tmp_path / "tokens", "analyst")

    def failing(*arguments: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("rumor.collector.estimating.integrity", failing)
    with background(Service(store, "series", tokens=Tokens(tmp_path / "tokens"))) as url:
        page = open_page(allowed="status of 500")
        page.goto(f"{url}/#token={token}")
        expect(chart(page, "shares")).to_be_visible()
        expect(page.locator("#alarms")).to_contain_text("Not tested")
        expect(page.locator("#alarms")).not_to_contain_text("No alarm")
        settled(page)


@pytest.mark.slow
def test_a_collector_that_is_away_for_a_while(open_page: OpenPage, shown: Showcase) -> None:
    page = signed_in(open_page, shown, allowed="Failed to load resource")
    page.route("**/v1/overview*", lambda route: route.abort())
    expect(page.get_by_role("alert")).to_have_text("The collector cannot be reached just now.")
    page.unroute("**/v1/overview*")
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.slow
def test_words_need_a_dictionary(open_page: OpenPage, tmp_path: Path) -> None:
    """The refusal is shown, and the same is not asked again and again."""
    question = {"id": "word", "kind": "text", "text": "A word?", "epsilon": 2.0}
    wish = {"name": "Words", "series": "words", "contact": "nobody@example.org"}
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(Collection.resolve({**wish, "questions": [question]}))
    store.write([batch(entry, "word", ["calm"] * 20)])
    token = add_token(tmp_path / "tokens", "analyst")
    with background(Service(store, "words", tokens=Tokens(tmp_path / "tokens"))) as url:
        page = open_page(allowed="status of 422")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url.partition("?")[0]))
        page.goto(f"{url}/#token={token}")
        expect(page.get_by_role("alert")).to_contain_text("with a dictionary of candidates")
        expect(page.get_by_role("button", name="CSV")).to_be_disabled()
        before = asked.count(f"{url}/v1/overview")
        while asked.count(f"{url}/v1/overview") < before + 2:
            page.wait_for_timeout(200)
        assert asked.count(f"{url}/v1/estimates/word") == 1


@pytest.mark.slow
def test_a_few_reports_say_little(open_page: OpenPage) -> None:
    with showcase({1: 40}, seed=3) as small:
        page = signed_in(open_page, small)
        expect(page.locator("#alarms")).to_contain_text("needs at least 1,000 reports; got 40")
        page.get_by_role("button", name="Which one word").click()
        expect(page.locator("#remarks")).to_contain_text("No candidate was detected.")
        expect(page.locator("#shares")).to_be_hidden()


def test_days_are_labelled_in_utc(open_page: OpenPage, shown: Showcase) -> None:
    """The chart of days is the same wherever an analyst sits."""
    today = datetime.datetime.now(datetime.UTC).date()
    page = signed_in(open_page, shown)
    devices, drawn = page.context.new_cdp_session(page), list[str]()
    for zone in ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"):  # 14 hours before, 11 after
        devices.send("Emulation.setTimezoneOverride", {"timezoneId": zone})
        page.reload()
        expect(page.locator("#perday svg .mark-rect path")).not_to_have_count(0)
        drawn.append(page.locator("#perday svg").inner_html())
    assert drawn == drawn[:1] * 3
    labels = [f"{today - datetime.timedelta(days=ago):%-d %b}" for ago in range(2)]
    assert any(label in drawn[0] for label in labels)


@pytest.mark.slow
def test_revised_collections_can_be_chosen(open_page: OpenPage, tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    older = store.register(collection())
    store.write([batch(older, "colour", np.repeat([0, 1, 2], [700, 200, 100]))])
    newer = store.register(collection(name="Again"), revise=True)
    token = add_token(tmp_path / "tokens", "analyst")
    with background(Service(store, "series", tokens=Tokens(tmp_path / "tokens"))) as url:
        page = open_page()
        page.goto(f"{url}/#token={token}")
        expect(page.locator("#name")).to_have_text("Again")
        expect(page.locator("#problem")).to_contain_text("No reports yet.")
        chosen = page.get_by_label("Collection")
        expect(chosen).to_have_value(newer.collection.digest)
        chosen.select_option(older.collection.digest)
        expect(page.locator("#name")).to_have_text("A test")
        expect(page.locator("#shares .bar")).to_have_count(3)
        expect(page.locator("#promise code")).to_have_text(older.collection.digest)
        settled(page)


@pytest.mark.slow
def test_sets_show_options_and_what_goes_together(open_page: OpenPage, tmp_path: Path) -> None:
    asked = {"labels": ["bus", "train", "car"], "cap": 2, "pairs": True, "epsilon": 4.0}
    question = {"id": "ways", "kind": "set", "text": "Which?", **asked}
    wish = {"name": "Ways", "series": "ways", "contact": "nobody@example.org"}
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(Collection.resolve({**wish, "questions": [question]}))
    store.write([batch(entry, "ways", [[0, 1]] * 600 + [[2]] * 400)])
    token = add_token(tmp_path / "tokens", "analyst")
    with background(Service(store, "ways", tokens=Tokens(tmp_path / "tokens"))) as url:
        page = open_page()
        page.goto(f"{url}/#token={token}")
        expect(page.locator("#shares .bar")).to_have_count(3)
        expect(page.locator("#remarks li")).to_have_count(3)
        expect(page.locator("#remarks li").first).to_contain_text(re.compile(r"bus and train: \d"))
        page.get_by_text("As a table").click()
        expect(page.locator("#table")).to_contain_text("Shares have no sum")
        kept = "Of whoever chose more than 2 options, 2 were kept at random: only those are counted"
        expect(page.locator("#remarks")).to_contain_text(kept)
        settled(page)


@pytest.mark.slow
def test_keys_above_a_cap_are_said_to_be_left_out(open_page: OpenPage, tmp_path: Path) -> None:
    mechanism = {"name": "key-set", "over_cap": "sample"}
    asked = {"keys": ["maps", "chat", "mail"], "cap": 2, "epsilon": 4.0, "mechanism": mechanism}
    question = {"id": "apps", "kind": "keyvalue", "text": "Hours?", "low": 0, "high": 4, **asked}
    wish = {"name": "Apps", "series": "apps", "contact": "nobody@example.org"}
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(Collection.resolve({**wish, "questions": [question]}))
    store.write([batch(entry, "apps", np.tile([1.0, 2.0, 3.0], (600, 1)))])
    token = add_token(tmp_path / "tokens", "analyst")
    with background(Service(store, "apps", tokens=Tokens(tmp_path / "tokens"))) as url:
        page = open_page()
        page.goto(f"{url}/#token={token}")
        expect(page.locator("#shares .bar")).to_have_count(3)
        kept = "Of whoever held more than 2 keys, 2 were kept at random: only those are counted"
        expect(page.locator("#remarks")).to_contain_text(f"{kept}, and intervals allow for")
        settled(page)


@pytest.mark.slow
def test_how_the_answers_moved(open_page: OpenPage) -> None:
    """Lines of the values are there at once, and the largest change of each in a table."""
    with showcase({1: 400, 2: 400, 3: 400, 4: 400}, seed=3) as several:
        page = signed_in(open_page, several, allowed="status of 422")
        expect(chart(page, "moved")).to_be_visible()
        page.get_by_text("Largest change of each answer").click()
        changes = page.locator("#changes tbody tr")
        assert changes.count() >= 3
        expect(page.locator("#changes")).to_contain_text("adjusted for searching every day")
        expect(page.locator("#changes")).to_contain_text("If nothing changes, an alarm comes in")
        page.get_by_text("Compare two periods").click()
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("#compared tbody tr")).to_have_count(changes.count())
        expect(page.locator("#compared")).to_contain_text("hold at all looks together")
        page.get_by_label("Second from").fill("2020-01-01")
        page.get_by_label("until").fill("2020-01-02")
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("#compared")).to_contain_text("needs reports of both periods")


def test_intervals_are_valid_at_any_look_unless_one_is_chosen(
    open_page: OpenPage, shown: Showcase
) -> None:
    page = signed_in(open_page, shown)
    switch, hint = page.get_by_label("Valid at any look"), page.locator("#looks-hint")
    expect(switch).to_be_checked()
    expect(hint).to_contain_text("read them as often as you like")
    expect(page.locator("#remarks")).to_contain_text("valid at any look")
    page.get_by_text("As a table").click()
    interval = page.locator("#table tbody tr").first.locator("td").nth(1)

    def length() -> float:
        low, high = re.findall(r"[\d.]+", interval.inner_text())[:2]
        return float(high) - float(low)

    at_any = length()
    switch.uncheck()
    expect(hint).to_contain_text("at a time fixed in advance")
    expect(page.locator("#remarks")).to_contain_text("valid for one look")
    assert "looks=one" in page.url
    assert length() < at_any
    page.reload()
    expect(page.get_by_label("Valid at any look")).not_to_be_checked()
    page.get_by_label("Valid at any look").check()
    expect(page.locator("#remarks")).to_contain_text("valid at any look")
    assert "looks" not in page.url
    # Words are found by a test for one look, so there is nothing to choose.
    page.get_by_role("button", name="Which one word").click()
    expect(page.locator("#looks-hint")).to_contain_text("words are found by a test for one look")
    expect(page.get_by_label("Valid at any look")).to_have_count(0)
    expect(page.locator("#remarks")).to_contain_text("valid for one look")
