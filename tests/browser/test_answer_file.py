"""The answer page as one file: from another origin and from a disk, with its own hash."""

from __future__ import annotations

import hashlib
import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Error

from rumor.collector.answer_page import answer_file
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import Store, StoredCollection, open_store
from rumor.contract.collection import Collection
from tests.browser.conftest import people_of
from tests.browser.driving import KEYS, People, Tab
from tests.browser.sites import site
from tests.browser.test_answer_use import NUMBER, WISH, choice
from tests.browser.test_both_browsers import send_colour, send_sealed
from tests.issuers import invite, issuing
from tests.relay.tools import running

HOME = {**choice("homepage", ["news", "mail", "blank"], 3.0), "mechanism": "unary"}
NAME = "rumor-answer.html"


@pytest.fixture(scope="module")
def people(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[People]:
    with people_of(request.param, tmp_path_factory.mktemp("people")) as found:
        yield found


def by(*cases: tuple[str, ...]) -> pytest.MarkDecorator:
    """Run a test in the first two of these browsers, and the rest with what takes long."""
    slow = [pytest.param(*case, marks=pytest.mark.slow) for case in cases[2:]]
    names = ["people", "where"][: len(cases[0])]
    return pytest.mark.parametrize(names, [*cases[:2], *slow], indirect=["people"])


ANYWHERE = by(("chromium", "host"), ("firefox", "disk"), ("chromium", "disk"), ("firefox", "host"))
FILES = by(("chromium", "disk"), ("firefox", "host"), ("chromium", "host"), ("firefox", "disk"))
ALONE = by(("chromium",), ("firefox",))


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[tuple[str, Store, StoredCollection]]:
    """A collector of two questions."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(Collection.resolve({**WISH, "questions": [HOME, NUMBER]}))
    with background(Service(store, "survey")) as url:
        yield url, store, entry


@contextmanager
def placed(folder: Path, where: str, content: bytes | None = None) -> Iterator[str]:
    """The address of the page as a file of a disk, or on a host that is no collector."""
    folder = folder / "site"
    folder.mkdir()
    (folder / NAME).write_bytes(answer_file() if content is None else content)
    if where == "disk":
        yield (folder / NAME).as_uri()
        return
    with site(folder) as address:
        yield f"{address}/{NAME}"


def see_anew(tab: Tab, css: str, text: str) -> None:
    """Wait until elements are seen on a page that loads itself anew meanwhile."""
    end = time.monotonic() + 60
    while True:
        try:
            tab.see(css, text)
        except (Error, AssertionError):  # the page that was asked has gone
            assert time.monotonic() < end
        else:
            return


def answer(tab: Tab) -> list[int]:
    """Answer both questions and send them; returns the bits that were shown."""
    tab.click("[data-question=homepage] label", "mail")
    tab.fill("[data-question=hours] input", "7")
    tab.click("#go")
    tab.see(".card.drawn", count=2)
    tab.click("[data-question=homepage] summary", "mail")
    tab.see("[data-question=homepage] .bit")
    bits = [int(bit) for bit in tab.texts("[data-question=homepage] .bit:not(.stays)")]
    tab.click("#go")
    tab.see("#status", "Your 2 reports have been received")
    return bits


@ANYWHERE
def test_it_is_answered_from_anywhere_and_shows_its_hash(
    people: People, asked: tuple[str, Store, StoredCollection], tmp_path: Path, where: str
) -> None:
    url, store, entry = asked
    with placed(tmp_path, where) as page:
        tab = people.new()
        tab.go(f"{page}#collector={url}/&digest={entry.collection.digest}")
        tab.see("#hash", hash_of(answer_file()))
        tab.see("#file", f"Collector: {url}")
        bits = answer(tab)
        (report,) = store.newest_reports(entry, "homepage", 9)
        assert np.unpackbits(report, bitorder="little")[:3].tolist() == bits
        assert len(store.newest_reports(entry, "hours", 9)) == 1
        # The page's host has sent one file; everything else went to the collector.
        said = {each.partition("#")[0] for _, each in tab.requests}
        hosts = {page} if where == "host" else set()
        own = {f"{url}/v1/collection", f"{url}/v1/reports"}
        assert {each for each in said if each.startswith("http")} == hosts | own
        # The ledger stays with the page: after a reload, in another language, taken back.
        tab.click("#languages a", "日本語")
        tab.see("#file", "このページ (SHA-256)")
        again = tab.run("() => location.href")
        tab.go("about:blank")
        tab.go(again)
        tab.see("#file", "このページ (SHA-256)")
        tab.see(".card.full", count=2)
        tab.see("#hash", hash_of(answer_file()))
        tab.click("#back-ask")
        tab.click("#back-yes")
        tab.see("#status.received")
        assert len(store.newest_reports(entry, "homepage", 9)) == 0
        tab.hush()


@FILES
def test_a_changed_page_shows_another_hash_or_does_not_run(
    people: People, asked: tuple[str, Store, StoredCollection], tmp_path: Path, where: str
) -> None:
    """Markup that differs in one byte has its own hash; a changed script runs in no browser."""
    url, _, _ = asked
    markup = answer_file().replace(b'tabindex="-1">Answer', b'tabindex="-2">Answer', 1)
    assert len(markup) == len(answer_file())
    with placed(tmp_path, where, markup) as page:
        tab = people.new()
        tab.go(f"{page}#collector={url}")
        tab.see("#hash", hash_of(markup))
        assert hash_of(markup) != hash_of(answer_file())
        tab.see(".card.open", count=2)
        tab.hush()
    script = answer_file().replace(b"busy: false, say: null", b"busy: false, say:  null", 1)
    assert len(script) == len(answer_file()) + 1
    (tmp_path / "more").mkdir()
    with placed(tmp_path / "more", where, script) as page:
        tab = people.new()
        tab.go(f"{page}#collector={url}")
        tab.until("() => window.breaches?.some((said) => said.startsWith('script-src'))")
        assert tab.texts("#hash") == []
        assert tab.texts(".card") == []


@FILES
def test_a_page_without_a_collector_asks_for_one(
    people: People, asked: tuple[str, Store, StoredCollection], tmp_path: Path, where: str
) -> None:
    url, _, _ = asked
    with placed(tmp_path, where) as page:
        tab = people.new()
        tab.go(page)
        tab.see("#hash", hash_of(answer_file()))
        tab.see("label", "Collector")
        for wrong in ("", "collector.example", "http://collector.example", "javascript:alert(1)"):
            tab.fill("#collector", wrong or " ")
            tab.click("#open")
            tab.see("#collector-wrong", "The address of a collector begins with https://.")
        tab.fill("#collector", f"{url}/")
        tab.type(KEYS["Enter"])
        see_anew(tab, "#file", f"Collector: {url}")
        tab.see(".card.open", count=2)
        tab.hush()
        # Another address after # is another page.
        tab.run("() => void (location.hash = 'collector=http://elsewhere.example')")
        see_anew(tab, "#collector-wrong", "The address of a collector begins with https://.")
        tab.see(".card.open", count=0)
        tab.see("#hash", hash_of(answer_file()))


class Stripping(BaseHTTPRequestHandler):
    """Stands before a collector as a proxy that takes away what lets other sites ask."""

    collector = ""

    def do_GET(self) -> None:
        host = urlsplit(self.collector).netloc
        asked = http.client.HTTPConnection(host)
        asked.request("GET", self.path)
        found = asked.getresponse()
        body = found.read()
        self.send_response(found.status)
        for name, value in found.getheaders():
            if not name.lower().startswith(("access-control", "connection", "transfer")):
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        asked.close()

    def log_message(self, format: str, *args: object) -> None:
        pass


@ALONE
def test_a_collector_that_allows_no_other_site_is_told_in_one_sentence(
    people: People, asked: tuple[str, Store, StoredCollection], tmp_path: Path
) -> None:
    """Nothing is drawn, spent or sent; on the collector's own page nothing changes."""
    url, store, entry = asked
    handler = type("Handler", (Stripping,), {"collector": url})
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), handler) as proxy,
        placed(tmp_path, "host") as page,
    ):
        threading.Thread(target=proxy.serve_forever, args=(0.01,), daemon=True).start()
        closed = f"http://127.0.0.1:{proxy.server_port}"
        tab = people.new()
        tab.go(f"{page}#collector={closed}")
        tab.see("#problem", "does not let pages of other sites ask it (CORS). Nothing was sent.")
        assert tab.texts("#problem p") == [
            f"{closed} cannot be reached, or does not let pages of other sites ask it (CORS). "
            "Nothing was sent."
        ]
        tab.see("#hash", hash_of(answer_file()))
        assert tab.texts(".card") == []
        own = people.new()
        own.go(f"{closed}/answer")
        own.see(".card.open", count=2)
        own.see("#file", count=0)
        own.hush()
        proxy.shutdown()
    assert len(store.newest_reports(entry, "homepage", 9)) == 0


@ALONE
def test_a_pinned_contract_is_the_only_one_that_is_shown(
    people: People, asked: tuple[str, Store, StoredCollection], tmp_path: Path
) -> None:
    url, _, entry = asked
    digest = entry.collection.digest
    other = digest[:-1] + ("0" if digest[-1] != "0" else "1")
    with placed(tmp_path, "disk") as page:
        tab = people.new()
        tab.go(f"{page}#collector={url}&digest={other}")
        tab.see("#problem", "This is not the contract that was expected. Nothing was sent.")
        assert tab.texts(".card") == []
        tab.hush()


@ANYWHERE
def test_issuers_relays_and_groups_are_reached(people: People, tmp_path: Path, where: str) -> None:
    """The invitation goes out of the address, and the rest of it stays."""
    issuer = open_store(f"sqlite:///{tmp_path / 'issuer.db'}")
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    with issuing(issuer) as contract, placed(tmp_path, where) as page:
        entry = store.register(contract)
        (code,) = invite(issuer)
        with background(Service(store, "series")) as url:
            tab = people.new()
            tab.go(f"{page}#invitation={code}&collector={url}")
            tab.see(".card.open")
            assert code not in tab.run("() => location.href")
            send_colour(tab, "red")
            tab.see(".card.sent")
            assert len(store.newest_reports(entry, "colour", 9)) == 1
            tab.hush()
        (tmp_path / "relay").mkdir()
        with running(tmp_path / "relay", crowd=2) as path:
            send_sealed(people.new(), path, f"{page}#collector={path.collector_url}")
        groups = {"country": ["DE", "FR", "other"]}
        grouped = Collection.resolve({**WISH, "groups": groups, "questions": [HOME]})
        store = open_store(f"sqlite:///{tmp_path / 'groups.db'}")
        entry = store.register(grouped)
        with background(Service(store, "survey")) as url:
            tab = people.new()
            tab.go(f"{page}#collector={url}&group=country=FR")
            tab.click("[data-question=homepage] label", "mail")
            tab.click("#go")
            tab.see(".card.drawn")
            tab.click("#go")
            tab.see("#status", "Your report has been received")
            counts = [len(store.newest_reports(entry, "homepage", 9, strata=[n])) for n in range(3)]
            assert counts == [0, 1, 0]
            tab.hush()
