"""The pages of real collectors in a real browser, as pictures.

    python -m docs.make_screenshots                   every state of every page, wide and narrow,
                                                      light and dark, to build/screenshots, and a
                                                      sheet of each to look at; the few that the
                                                      documentation shows, to docs/screenshots
    python -m docs.make_screenshots --only drawn,who  some states alone, none for the documentation

Needs Chromium and Playwright (`pip install 'rumor[dev]'`). Noise is noise, so every run gives
other pictures; run it when a page has changed, and look at what comes out.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from docs.screenshot_states import STATES, Stage, reach, stage

__all__ = ["FOLDER", "SHOWN", "SIZES", "STATES", "reach"]

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "screenshots"
EVERYTHING = ROOT / "build" / "screenshots"

SIZES: dict[str, tuple[ViewportSize, float]] = {
    "desktop": ({"width": 1120, "height": 860}, 1),
    "phone": ({"width": 390, "height": 844}, 1),
}
LOOKS = [(size, scheme) for size in SIZES for scheme in ("light", "dark")]

# What the pages of the documentation show: state, size, scheme, language.
Shot = tuple[str, str, str, str]
SHOWN: dict[str, Shot] = {
    "answer-phone": ("chosen", "phone", "light", "en"),
    "drawn-phone-dark": ("drawn", "phone", "dark", "en"),
    "drawn-phone-japanese": ("drawn", "phone", "light", "ja"),
    "sent-phone-chinese": ("sent", "phone", "dark", "zh"),
    "drawn-desktop": ("drawn", "desktop", "light", "en"),
    "dashboard-desktop": ("dashboard", "desktop", "light", "en"),
    "dashboard-desktop-dark": ("dashboard-keys", "desktop", "dark", "en"),
    "dashboard-phone-dark": ("dashboard", "phone", "dark", "en"),
}


def shoot(browser: Browser, staged: Stage, shot: Shot, path: Path) -> None:
    """One picture, of a person of its own: what the window shows."""
    state, size, scheme, language = shot
    viewport, scale = SIZES[size]
    context = browser.new_context(
        viewport=viewport,
        device_scale_factor=scale,
        color_scheme="dark" if scheme == "dark" else "light",
        locale={"en": "en-GB", "ja": "ja-JP", "zh": "zh-CN"}[language],
        reduced_motion="reduce",
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    STATES[state](page, staged)
    page.screenshot(path=path)
    context.close()


def sheet(browser: Browser, state: str, folder: Path) -> None:
    """The looks of a state beside each other, to be looked at together."""
    page = browser.new_page(viewport={"width": 1560, "height": 700})
    images = "".join(
        f'<img src="{(folder / f"{state}-{size}-{scheme}.png").as_uri()}" height="600">'
        for size, scheme in LOOKS
    )
    whole = folder / "sheet.html"
    whole.write_text(f'<body style="margin:8px;background:#777;white-space:nowrap">{images}')
    page.goto(whole.as_uri())
    page.set_viewport_size({"width": page.evaluate("document.body.scrollWidth + 8"), "height": 616})
    (folder / "sheets").mkdir(exist_ok=True)
    page.screenshot(path=folder / "sheets" / f"{state}.png")
    page.close()
    whole.unlink()


def pictures(only: Sequence[str]) -> Mapping[Path, Shot]:
    """Where each picture goes, and what it shows."""
    found = {
        EVERYTHING / f"{state}-{size}-{scheme}.png": (state, size, scheme, "en")
        for state in only or STATES
        for size, scheme in LOOKS
    }
    return found if only else {**found, **{FOLDER / f"{n}.png": shot for n, shot in SHOWN.items()}}


def main(arguments: Sequence[str]) -> None:
    """Make the pictures, and say where they are."""
    parser = argparse.ArgumentParser(prog="python -m docs.make_screenshots", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", default="", help="states, with commas between them")
    only = [name for name in parser.parse_args(arguments).only.split(",") if name]
    EVERYTHING.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with stage() as staged, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        found = pictures(only)
        for number, (path, shot) in enumerate(found.items(), 1):
            shoot(browser, staged, shot, path)
            if path.parent == EVERYTHING and number % len(LOOKS) == 0:
                sheet(browser, shot[0], EVERYTHING)
        browser.close()
    print(f"{len(found)} pictures in {EVERYTHING.relative_to(ROOT)} and docs/screenshots")


if __name__ == "__main__":
    main(sys.argv[1:])
