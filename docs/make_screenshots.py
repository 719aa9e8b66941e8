"""The screenshots of the documentation: the pages of a real collector in a real browser.

    python -m docs.make_screenshots               write them to docs/screenshots
    python -m docs.make_screenshots --all FOLDER  every state of every page in every look

Needs Chromium and Playwright (`pip install 'rumor[dev]'`). Noise is noise, so every run gives
other pictures; run it when a page has changed, and look at what comes out.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, ViewportSize, sync_playwright

from rumor.demo.showcase import Showcase, showcase

FOLDER = Path(__file__).resolve().parent / "screenshots"

SIZES: dict[str, tuple[ViewportSize, float]] = {
    "desktop": ({"width": 1120, "height": 860}, 1),
    "phone": ({"width": 390, "height": 844}, 1),
}
_PAST = {ago: 1_400 + 90 * (ago * 5 % 7) for ago in range(13, 0, -1)}
_LATELY = 700
_SECONDS = 60_000


def reach(page: Page, question: str) -> Locator:
    """A question's card, on its own screen where the window is narrow."""
    page.locator("#action button").first.wait_for()
    if page.locator("#begin").count():
        page.locator("#begin").click()
    card = page.locator(f"[data-question={question}]")
    while not card.is_visible():
        page.locator("#next").click()
    return card


def answered(page: Page, running: Showcase) -> None:
    """The form, with an answer of each kind."""
    page.goto(running.answer_url)
    reach(page, "health").get_by_label("migraine").check()
    reach(page, "sleep").locator("input").fill("6.5")
    reach(page, "word").locator("input").fill("hopeful")
    pair = reach(page, "habits").locator(".pair").first
    pair.locator("input[type=checkbox]").check()
    pair.locator("input[type=number]").fill("3")


def drawn(page: Page, running: Showcase) -> None:
    """What would be sent."""
    answered(page, running)
    page.locator("#go").click()
    page.locator(".card.drawn").first.wait_for()


def sent(page: Page, running: Showcase) -> None:
    """What was sent, and what it cost."""
    drawn(page, running)
    page.locator("#go").click()
    page.locator(".card.sent").first.wait_for()


def sign_in(page: Page, running: Showcase) -> None:
    """The dashboard without a token."""
    page.goto(running.url)
    page.locator("#token").wait_for()


def question(number: int) -> Callable[[Page, Showcase], None]:
    """The dashboard, at one of its questions."""

    def look(page: Page, running: Showcase) -> None:
        page.goto(running.dashboard_url)
        button = page.locator("#questions button").nth(number)
        button.wait_for()
        if number:
            button.click()
        page.get_by_text("Live, as of").wait_for(timeout=_SECONDS)

    return look


STATES: dict[str, Callable[[Page, Showcase], None]] = {
    "answer": answered,
    "drawn": drawn,
    "sent": sent,
    "sign-in": sign_in,
    "dashboard": question(0),
    "dashboard-number": question(1),
    "dashboard-words": question(2),
    "dashboard-keys": question(3),
}

# What the pages of the documentation show; `--all FOLDER` makes every state in every look.
SHOWN: dict[str, tuple[str, str, str, str]] = {
    "answer-phone": ("answer", "phone", "light", "en"),
    "drawn-phone-dark": ("drawn", "phone", "dark", "en"),
    "drawn-phone-japanese": ("drawn", "phone", "light", "ja"),
    "sent-phone-chinese": ("sent", "phone", "dark", "zh"),
    "drawn-desktop": ("drawn", "desktop", "light", "en"),
    "dashboard-desktop": ("dashboard", "desktop", "light", "en"),
    "dashboard-desktop-dark": ("dashboard-keys", "desktop", "dark", "en"),
    "dashboard-phone-dark": ("dashboard", "phone", "dark", "en"),
}


def everything() -> dict[str, tuple[str, str, str, str]]:
    """Every state, wide and narrow, light and dark."""
    return {
        f"{state}-{size}-{scheme}": (state, size, scheme, "en")
        for state in STATES
        for size in SIZES
        for scheme in ("light", "dark")
    }


def shoot(browser: Browser, running: Showcase, shot: tuple[str, str, str, str], path: Path) -> None:
    """One picture, of a person of its own."""
    state, size, scheme, language = shot
    viewport, scale = SIZES[size]
    context = browser.new_context(
        viewport=viewport,
        device_scale_factor=scale,
        color_scheme="dark" if scheme == "dark" else "light",
        locale={"en": "en-GB", "ja": "ja-JP", "zh": "zh-CN"}[language],
        reduced_motion="reduce",
    )
    page = context.new_page()
    STATES[state](page, running)
    if size == "phone":
        # As tall as the page, or nearly: the button stays at the bottom of what is seen.
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": viewport["width"], "height": min(height, 1_500)})
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.screenshot(path=path, full_page=size == "desktop")
    context.close()


def main(arguments: list[str]) -> None:
    """Make the pictures of the documentation, or all into a folder."""
    shots, folder = (SHOWN, FOLDER) if not arguments else (everything(), Path(arguments[1]))
    folder.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with showcase(_PAST, seed=7) as running, sync_playwright() as playwright:
        running.more(_LATELY)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, shot in shots.items():
            shoot(browser, running, shot, folder / f"{name}.png")
            print(folder / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
