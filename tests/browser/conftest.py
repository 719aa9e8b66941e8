"""A real browser, pages that must stay quiet, and collectors to look at.

Everything is of one module: Playwright's event loop must not outlive the tests that use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from rumor.demo.showcase import Showcase, showcase
from tests.browser.driving import People, by_bidi, by_playwright
from tests.needs import needs

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    # A name that is not this machine's own, for a connection that is not secure.
    "--host-resolver-rules=MAP elsewhere.test 127.0.0.1",
]
SIZES: dict[str, ViewportSize] = {
    "desktop": {"width": 1280, "height": 900},
    "phone": {"width": 390, "height": 844},
}

# A machine that is busy is not a failure.
_PATIENCE = 30_000
expect.set_options(timeout=_PATIENCE)

OpenPage = Callable[..., Page]

# Every language says a sentence of its own; that each has all of them is checked elsewhere.
LANGUAGES = ["en", *(pytest.param(lang, marks=pytest.mark.slow) for lang in ("ja", "zh"))]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = needs("chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield launched
        launched.close()


@contextmanager
def people_of(browser: str, folder: Path) -> Iterator[People]:
    """Return people who use a browser, "firefox" or "chromium"; a profile goes into the folder."""
    program = needs(browser)
    if browser == "firefox":
        with by_bidi(program, folder) as found:
            yield found
        return
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        with by_playwright(launched) as found:
            yield found
        launched.close()


@pytest.fixture(scope="module")
def shown() -> Iterator[Showcase]:
    """A collector with a question of each kind and some thousand reports of past days."""
    with showcase({2: 1_500, 1: 1_500}, seed=12) as running:
        yield running


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Makes pages, each of a person of their own, and holds them to silence.

    A page must not write to the console (a breach of the content policy does), fail, set a
    cookie, or ask any other origin. Pages that share a person share a context.
    """
    contexts: list[BrowserContext] = []
    noises: list[str] = []

    def opened(
        *,
        size: str = "desktop",
        scheme: str = "light",
        locale: str = "en-GB",
        share: Page | None = None,
        javascript: bool = True,
        allowed: str | None = None,
    ) -> Page:
        if share is not None:
            context = share.context
        else:
            context = browser.new_context(
                viewport=SIZES[size],
                color_scheme=scheme,  # type: ignore[arg-type]
                locale=locale,
                has_touch=size == "phone",
                java_script_enabled=javascript,
                reduced_motion="reduce",
            )
            context.set_default_timeout(_PATIENCE)
            contexts.append(context)
        page = context.new_page()

        def note(text: str) -> None:
            if allowed is None or allowed not in text:
                noises.append(text)

        page.on("console", lambda message: note(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda problem: note(f"error: {problem}"))
        return page

    yield opened
    cookies = [cookie for context in contexts for cookie in context.cookies()]
    for context in contexts:
        context.close()
    assert noises == []
    assert cookies == []


@pytest.fixture(scope="session")
def axe() -> str:
    """The accessibility checker."""
    import axe_playwright_python

    folder = Path(axe_playwright_python.__file__).parent
    return (folder / "axe.min.js").read_text(encoding="utf-8")
