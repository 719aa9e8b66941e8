"""The client in a real browser: storage that survives, tabs that cannot both spend."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from rumor.core.exact import sum_up
from tests.javascript import CLIENT, collection
from tests.needs import needs

CHROMIUM = needs("chromium")
CONTRACT = collection(
    {
        "kind": "choice",
        "labels": ["well", "so so", "unwell", "no answer"],
        "mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0, "q": 1},
        "reports_per_person": 5,
    },
    {"kind": "keyvalue", "keys": ["Maps", "Mail"], "low": 0, "high": 6, "epsilon": 1.0},
    {"kind": "number", "low": 0, "high": 1, "epsilon": 1.0},
    {"kind": "text"},
    {"kind": "choice", "domain": 100, "epsilon": 1.0},
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The client's folder with an empty page, as a collector would serve it."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "client").symlink_to(CLIENT)
    (folder / "index.html").write_text('<!doctype html><html lang="en"><title>t</title></html>')
    (folder / "contract.json").write_bytes(CONTRACT.canonical())

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--host-resolver-rules=MAP insecure.test 127.0.0.1"]
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield running
        running.close()


@pytest.fixture
def person(browser: Browser) -> Iterator[BrowserContext]:
    """A browser profile of its own."""
    context = browser.new_context()
    yield context
    context.close()


def run(page: Page, body: str, argument: object = None) -> Any:
    """Run a function's body in the page, with the client and the contract at hand."""
    code = f"""async (argument) => {{
      const rumor = await import("/client/rumor.js");
      try {{
        const contract = await rumor.parseContract(await (await fetch("/contract.json")).text());
        {body}
      }} catch (problem) {{
        if (!(problem instanceof rumor.RumorError)) throw problem;
        return {{ code: problem.code, error: problem.message }};
      }}
    }}"""
    return page.evaluate(code, argument)


def opened(person: BrowserContext, url: str) -> Page:
    page = person.new_page()
    page.goto(url)
    return page


PREPARE = """
  const person = await rumor.Respondent.open({ maxEpsilon: 20 });
  const made = await person.prepare(contract, argument);
  return made.map(({ question, report }) => [question, Array.from(report)]);
"""


def test_every_kind_of_question_is_answered(person: BrowserContext, site: str) -> None:
    answers = {"a": "well", "b": {"Maps": 2}, "c": 0.5, "d": "検索", "e": 42}
    made = dict(run(opened(person, site), PREPARE, answers))
    for question in CONTRACT.questions:
        report = bytes(made[question.id])
        question.mechanism.validate([report]).require()


def test_a_reload_keeps_the_permanent_answer_and_the_ledger(
    person: BrowserContext, site: str
) -> None:
    page = opened(person, site)
    first = run(page, PREPARE, {"a": "well"})
    page.reload()
    assert run(page, PREPARE, {"a": "well"}) == first  # p = 0 and q = 1: no fresh noise
    page.close()
    look = """
      const person = await rumor.Respondent.open();
      return [await person.spending(), (await person.pending(contract)).length];
    """
    spending, pending = run(opened(person, site), look)
    assert pending == 2
    assert [(s["reports"], s["values"]) for s in spending] == [(2, 1)]
    assert spending[0]["epsilon"] == pytest.approx(CONTRACT.question("a").epsilon)


def test_two_tabs_cannot_both_spend_what_is_left(person: BrowserContext, site: str) -> None:
    tabs = [opened(person, site) for _ in range(3)]
    start = """
      const person = await rumor.Respondent.open();
      const one = () => person.prepare(contract, { a: "well" }).then(() => true, (e) => e.code);
      globalThis.race = Promise.all(Array.from({ length: 6 }, one));
      return null;
    """
    for tab in tabs:
        run(tab, start)
    found = [outcome for tab in tabs for outcome in tab.evaluate("() => globalThis.race")]
    assert sorted(map(str, found)) == ["True"] * 5 + ["limit"] * 13


def test_a_debit_is_on_the_disk_before_its_report_is_handed_out(
    person: BrowserContext, site: str
) -> None:
    """What the browser is asked for is read back from the live transactions."""
    page = opened(person, site)
    page.evaluate("""() => {
      globalThis.asked = [];
      const made = IDBDatabase.prototype.transaction;
      IDBDatabase.prototype.transaction = function (...given) {
        const transaction = made.apply(this, given);
        const note = { mode: transaction.mode, durability: transaction.durability, done: false };
        transaction.addEventListener("complete", () => (note.done = true));
        globalThis.asked.push(note);
        return transaction;
      };
    }""")
    written = run(
        page,
        """
          const person = await rumor.Respondent.open();
          await person.prepare(contract, { a: "well" });
          return globalThis.asked.filter(({ mode }) => mode === "readwrite");
        """,
    )
    # One for the secret, one for the debit; both were complete when the report came.
    assert written == [{"mode": "readwrite", "durability": "strict", "done": True}] * 2


def test_damaged_storage_gives_one_sentence_and_is_left_alone(
    person: BrowserContext, site: str
) -> None:
    page = opened(person, site)
    run(page, PREPARE, {"a": "well"})
    damage = """
      const store = new rumor.BrowserStore();
      const kept = await store.transaction(async (state) => {
        const broken = { ...state, secret: "gone" };
        return { state: broken, result: broken };
      });
      const complaint = await rumor.Respondent.open().catch((e) => [e.code, e.message]);
      return [complaint, JSON.stringify(kept) ===
        JSON.stringify(await store.transaction(async (state) => ({ result: state })))];
    """
    (code, sentence), untouched = run(page, damage)
    assert code == "state"
    assert sentence == (
        "a person's ledger must be intact and of version 1 or 2; the one in this storage is not"
    )
    assert untouched


def test_the_ledger_of_an_earlier_version_stays_charged(person: BrowserContext, site: str) -> None:
    page = opened(person, site)
    question = CONTRACT.question("a")
    row = {"series": "series", "question": "a", "round": 1, "mechanism": "0" * 64, "reports": 1}
    spending = [{**row, "epoch": "00" * 8, "tag": "00" * 16, "epsilon": question.epsilon}]
    old = {"rumor": 1, "secret": "07" * 32, "spending": spending, "pending": []}
    write = """
      await new rumor.BrowserStore().transaction(async () => ({ state: argument }));
      return null;
    """
    run(page, write, old)
    run(page, PREPARE, {"a": "well"})
    page.reload()
    look = """
      const person = await rumor.Respondent.open();
      const state = await new rumor.BrowserStore().transaction(async (kept) => ({ result: kept }));
      return [await person.spending(), state.rumor, state.answers.map(({ cell }) => cell)];
    """
    spending_now, version, cells = run(page, look)
    assert [(s["reports"], s["values"]) for s in spending_now] == [(2, 2)]
    assert spending_now[0]["epsilon"] == sum_up([question.epsilon] * 2)
    assert (version, cells) == (
        2,
        ["version 1: " + "0" * 64, question.mechanism.permanence.memo_digest],
    )


def test_a_page_that_is_not_secure_says_so(person: BrowserContext, site: str) -> None:
    page = opened(person, site.replace("127.0.0.1", "insecure.test"))
    assert page.evaluate("() => isSecureContext") is False
    sentence = (
        "a page must be secure (https, or localhost) for its browser to offer cryptography; "
        "this one is not"
    )
    for body in (
        "return null;",
        "await rumor.Respondent.open();",
        "new rumor.BrowserStore();",
    ):
        assert run(page, body) == {"code": "insecure", "error": sentence}


def test_the_browser_reproduces_the_digest(person: BrowserContext, site: str) -> None:
    assert run(opened(person, site), "return contract.digest;") == CONTRACT.digest
