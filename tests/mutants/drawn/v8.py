"""Which lines of JavaScript ran, as V8 tells it: Node by a folder, Chromium by its protocol."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from rumor.collector.http.pages import SCRIPTS

Report = Mapping[str, Any]
"""One script: its `url`, its `functions` with `ranges` of offsets and counts; its `source` where it
has many modules in it."""


def lines(reports: Sequence[Report], sources: Path) -> dict[str, set[int]]:
    """Return the lines that ran, by file of `sources`; scripts from elsewhere are left out."""
    found: dict[str, set[int]] = defaultdict(set)
    for report in reports:
        if "source" in report:
            ran = lines_of_script(report["source"], report["functions"])
            for module, own in lines_of_modules(report["source"], ran).items():
                place, name = module[1:].split("/", 1)
                found[str(sources / SERVED[place] / name)] |= own
            continue
        path = source_of(report["url"], sources)
        if path is not None:
            text = path.read_text(encoding="utf-8")
            found[str(path)] |= lines_of_script(text, report["functions"])
    return {path: ran for path, ran in found.items() if ran}


def lines_of_script(text: str, functions: Sequence[Mapping[str, Any]]) -> set[int]:
    """Return the lines of `text` of which at least one character ran.

    Ranges nest; the innermost one says how often a character ran.
    """
    ranges = [one for function in functions for one in function["ranges"]]
    count = np.zeros(len(text) + 1, dtype=np.int64)
    for one in sorted(ranges, key=lambda r: (r["startOffset"], -r["endOffset"])):
        count[one["startOffset"] : one["endOffset"]] = one["count"]
    ran, place = set(), 0
    for number, line in enumerate(text.split("\n"), start=1):
        begin = place + len(line) - len(line.lstrip())
        if line.strip() and count[begin : place + len(line.rstrip())].any():
            ran.add(number)
        place += len(line) + 1
    return ran


SERVED = {"client": "client/js", "assets": "collector/web"}
"""The folder of each address from which a page's modules are served."""
_MODULE = re.compile(r'\$modules\["([^"]+)"\] = \(\) => \{')


def lines_of_modules(text: str, ran: Set[int]) -> dict[str, set[int]]:
    """Return the lines that `ran` of a script of a page, by its modules (page_script.py)."""
    found: dict[str, set[int]] = {}
    own: set[int] = set()
    begin = 0
    for number, line in enumerate(text.split("\n"), start=1):
        module = _MODULE.fullmatch(line)
        if module:
            own, begin = found.setdefault(module[1], set()), number
        elif number in ran and not line.startswith(("return {", "};")):
            own.add(number - begin)
    return found


@functools.lru_cache(maxsize=4096)
def source_of(url: str, sources: Path) -> Path | None:
    """Return the source that a script was loaded from: by its path, or the end of its path.

    A collector serves a source under another path, and tests copy the client: of the sources that
    have this name, the one counts that shares the most folders with the address.
    """
    parts = Path(unquote(urlsplit(url).path)).parts
    if not parts or "node_modules" in parts:
        return None
    same_name = [path for path in sources.rglob(parts[-1]) if path.suffix in (".js", ".mjs")]
    return max(same_name, key=lambda path: _shared_end(path.parts, parts), default=None)


def _shared_end(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many parts two paths share, from their ends."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


class Chromium:
    """Every page that Playwright opens in Chromium, with V8's account of what ran in it."""

    def __init__(self) -> None:
        self._sessions: list[Any] = []
        self._reports: list[Report] = []
        try:
            from playwright.sync_api import BrowserContext, Page
        except ImportError:
            return
        new_page, close_context, close_page = (
            BrowserContext.new_page,
            BrowserContext.close,
            Page.close,
        )

        def counted_page(context: BrowserContext) -> Page:
            page = new_page(context)
            browser = context.browser
            if browser is not None and browser.browser_type.name == "chromium":
                session = context.new_cdp_session(page)
                session.send("Profiler.enable")
                how = {"callCount": True, "detailed": True}
                session.send("Profiler.startPreciseCoverage", how)
                self._sessions.append(session)
            return page

        def closed_context(context: BrowserContext, **how: Any) -> None:
            self._ask()
            close_context(context, **how)

        def closed_page(page: Page, **how: Any) -> None:
            self._ask()
            close_page(page, **how)

        setattr(BrowserContext, "new_page", counted_page)  # noqa: B010
        setattr(BrowserContext, "close", closed_context)  # noqa: B010
        setattr(Page, "close", closed_page)  # noqa: B010

    def take(self) -> list[Report]:
        """Return what was told since the last time."""
        told, self._reports = self._reports, []
        return told

    def _ask(self) -> None:
        """Ask every page what ran in it, before one of them closes."""
        from playwright.sync_api import Error

        left = []
        for session in self._sessions:
            try:
                told = session.send("Profiler.takePreciseCoverage")["result"]
                for report in told:
                    if urlsplit(report["url"]).path.removeprefix("/assets/") in SCRIPTS:
                        session.send("Debugger.enable")
                        script = {"scriptId": report["scriptId"]}
                        source = session.send("Debugger.getScriptSource", script)
                        report["source"] = source["scriptSource"]
                self._reports += told
                left.append(session)
            except Error:
                continue  # its page is gone
        self._sessions = left
