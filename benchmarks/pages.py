"""The two pages in a browser: what they weigh on the wire, and how long until they can be used.

    python -m benchmarks.pages [--quick]

Each figure is of fresh people with empty caches: bytes of all responses with their headers, the
median time from the address to the first text, and the median and the longest time to a control
that takes an answer, or to an estimate that is drawn. The questions of the demonstration, and one
of a hundred thousand answers. Limits: 60 kB for the answer page of the demonstration, and two
seconds for every page; at 400 ms for each request and 50 kB a second, which Chromium imitates,
first text after 1.5 s and three seconds for the answer page. The estimate is warm when the
dashboard is timed, as it is for an analyst who keeps it open; the first is told beside it. Times
are of the wall: on a machine that does something else they say little.
Needs Chromium and Playwright (`pip install 'rumor[dev]'`).
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Request, sync_playwright

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import ReportBatch, open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.core.plain_text import aligned
from rumor.core.randomness import Keyed
from rumor.demo.showcase import showcase

SECONDS, BYTES = 2.0, 60_000
SLOW = {"offline": False, "latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000}
SLOW_TEXT, SLOW_SECONDS = 1.5, 3.0
WATCH = """
new MutationObserver((changes, observer) => {
  if (!(USABLE)) return;
  observer.disconnect();
  window.usableAt = performance.now();
  document.documentElement.classList.add("usable");
}).observe(document, { childList: true, subtree: true, characterData: true });
"""
FIRST_TEXT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
PATIENCE = 120_000
ANSWER = "document.querySelector('[data-question] input') !== null"
ESTIMATE = "document.body?.textContent.includes('Live, as of')"


@contextmanager
def many(labels: int, people: int) -> Iterator[tuple[str, str]]:
    """A question of so many answers: the addresses of its two pages."""
    names = [f"town number {i}" for i in range(labels)]
    asked = {"id": "town", "kind": "choice", "text": "Where?", "labels": names, "epsilon": 3.0}
    about = {"name": "Towns", "series": "towns", "contact": "nobody@example.org"}
    contract = Collection.resolve({**about, "questions": [asked]})
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/store.db")
        entry = store.register(contract)
        random = np.random.default_rng(3)
        mechanism = contract.question("town").mechanism
        values = [names[place] for place in random.integers(0, labels, people)]
        reports = mechanism.privatize(values, random=Keyed(bytes(32), "benchmark"))
        ids = random.bytes(16 * people)
        rows = np.hstack([np.frombuffer(ids, np.uint8).reshape(people, 16), reports])
        store.write([ReportBatch(entry.questions["town"], rows)])
        token = add_token(Path(folder) / "tokens", "analyst")
        service = Service(store, "towns", tokens=Tokens(Path(folder) / "tokens"))
        with background(service) as url:
            yield f"{url}/answer", f"{url}/#token={token}"


@dataclass(frozen=True)
class Visit:
    """Seconds until a page shows text and until it can be used, its bytes and its requests."""

    text: float
    usable: float
    weight: int
    requests: int


def opened(browser: Browser, url: str, usable: str, slow: bool = False) -> Visit:
    """Open a page as somebody new; `usable` is what can then be used."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    if slow:
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", SLOW)
    found: list[Request] = []
    page.on("requestfinished", lambda request: found.append(request))
    # Playwright itself looks twice a second only.
    page.add_init_script(WATCH.replace("USABLE", usable))
    page.goto(url, timeout=PATIENCE, wait_until="commit")
    page.locator("html.usable").wait_for(state="attached", timeout=PATIENCE)
    page.wait_for_load_state("networkidle")
    sizes = [request.sizes() for request in found]
    text, taken = (float(page.evaluate(each)) / 1e3 for each in (FIRST_TEXT, "usableAt"))
    context.close()
    weight = sum(each["responseBodySize"] + each["responseHeadersSize"] for each in sizes)
    return Visit(text, taken, weight, len(sizes))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a limit is passed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="fewer answers, each page once")
    quick = parser.parse_args(arguments).quick
    labels, rounds = (10_000, 1) if quick else (100_000, 5)
    lines, missed = [], False
    with (
        showcase({2: 1_500, 1: 1_500}, seed=12) as shown,
        many(labels, 20_000) as (answer, dashboard),
        sync_playwright() as playwright,
    ):
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened(browser, answer, ANSWER)  # the browser's own start is nobody's
        for name, url, usable, most, slow in (
            ("answer, four questions", shown.answer_url, ANSWER, BYTES, False),
            ("answer, slow network", shown.answer_url, ANSWER, BYTES, True),
            ("dashboard, four questions", shown.dashboard_url, ESTIMATE, None, False),
            (f"answer, {labels:,} answers", answer, ANSWER, None, False),
            (f"dashboard, {labels:,} answers", dashboard, ESTIMATE, None, False),
        ):
            first = opened(browser, url, usable, slow)
            turns = [opened(browser, url, usable, slow) for _ in range(rounds)]
            text = statistics.median(turn.text for turn in turns)
            seconds = statistics.median(turn.usable for turn in turns)
            held = seconds <= (SLOW_SECONDS if slow else SECONDS)
            held &= (not slow or text <= SLOW_TEXT) and (most is None or first.weight <= most)
            missed |= not held
            times = [text, seconds, max(turn.usable for turn in turns), first.usable]
            lines.append([name, f"{first.weight / 1e3:.1f} kB", str(first.requests)])
            lines[-1] += [*(f"{each:.2f} s" for each in times), "pass" if held else "miss"]
        browser.close()
    head = ["page", "weight", "requests", "text after", "usable after", "longest", "first", ""]
    print(aligned(head, lines))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
