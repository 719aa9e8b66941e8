"""One look: the demonstration's file and the documentation are styled by the pages' own tokens."""

from __future__ import annotations

import importlib.util
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from docs.make_pages import ROOT
from rumor.demo.crowd import run
from rumor.demo.page import tokens, write_page
from tests.browser.conftest import OpenPage
from tests.browser.sites import site
from tests.browser.test_accessibility import objections
from tests.needs import leave_out

PAGES = ["index", "how-to/dashboard", "tutorial/first-collection", "papers/css2020"]
PAPER = {"light": "rgb(248, 247, 244)", "dark": "rgb(19, 21, 24)"}


def ground(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


@pytest.mark.slow
def test_the_demonstrations_file_has_the_look_of_the_pages(
    open_page: OpenPage, axe: str, tmp_path: Path
) -> None:
    path = write_page(run(2_000, seed=1), tmp_path / "demo.html")
    for size, scheme in (("phone", "dark"), ("desktop", "light")):
        page = open_page(size=size, scheme=scheme)
        page.goto(path.as_uri())
        assert ground(page) == PAPER[scheme]
        assert objections(page, axe) == []


def overlaps(page: Page, texts: str) -> list[str]:
    """Texts that stand on another, leave the window, or are smaller than people read."""
    found: list[str] = page.evaluate(
        """(texts) => {
          const boxes = [...document.querySelectorAll(texts)].map((node) => {
            const range = document.createRange();
            range.selectNodeContents(node);
            const scale = node.getScreenCTM?.().a ?? 1;
            const size = parseFloat(getComputedStyle(node).fontSize) * scale;
            return { said: node.textContent, size, ...range.getBoundingClientRect().toJSON() };
          });
          const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
            && a.top < b.bottom - 3 && b.top < a.bottom - 3;
          return boxes.flatMap((box, i) => [
            box.left < 0 || box.right > innerWidth ? `${box.said} leaves the window` : [],
            box.size < 11 ? `${box.said} is ${box.size} pixels small` : [],
            boxes.slice(i + 1).filter((other) => meet(box, other))
              .map((other) => `${box.said} lies on ${other.said}`),
          ].flat());
        }""",
        texts,
    )
    assert page.locator(texts).count() > 10
    return found


def test_the_demonstrations_file_is_read_on_a_phone(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(size="phone")
    page.goto(write_page(run(2_000, seed=1), tmp_path / "demo.html").as_uri())
    assert overlaps(page, ".bars :is(.name, .said), .shares :is(th, td)") == []
    # Each bar has the width of the chart to itself, and an interval stands on one line.
    widths = "(tracks) => tracks.map((track) => track.getBoundingClientRect().width)"
    assert min(page.locator(".track").evaluate_all(widths)) > 280
    for cell in page.locator(".shares td:last-child").all():
        lines = cell.evaluate(
            "(node) => { const range = document.createRange(); range.selectNodeContents(node);"
            " return range.getClientRects().length; }"
        )
        assert lines == 1, cell.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_flow_is_read_on_a_phone(open_page: OpenPage, tmp_path: Path) -> None:
    """As the documentation shows it: as wide as the column, which leaves 16 pixels each side."""
    page = open_page(size="phone")
    svg = (ROOT / "docs" / "pictures" / "flow.svg").read_text("utf-8")
    style = "<style>body { margin: 16px } svg { max-width: 100%; height: auto }</style>"
    page.set_content(f"<!doctype html>{style}{svg}")
    assert overlaps(page, "svg text") == []


def test_tokens_are_all_that_the_pages_are_coloured_by() -> None:
    """Nothing else of their style, and all of it: the documentation has no colours of its own."""
    found = tokens()
    assert found.count("{") == found.count("}")
    assert "--paper" in found
    assert "box-sizing" not in found
    style = (ROOT / "docs" / "style.css").read_text("utf-8")
    named = {part.split(")")[0] for part in style.split("var(--")[1:]}
    assert {name for name in named if f"--{name}:" not in found} == set()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make docs` builds."""
    if importlib.util.find_spec("material") is None:
        leave_out("the documentation is built with mkdocs-material (pip install 'rumor[docs]')")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_documentation_has_the_look_of_the_pages(
    open_page: OpenPage, axe: str, built: Path, scheme: str
) -> None:
    with site(built) as address:
        for size, name in itertools.product(("desktop", "phone"), PAGES):
            page = open_page(size=size, scheme=scheme)
            page.goto(f"{address}/{name}.html")
            assert ground(page) == PAPER[scheme]
            assert objections(page, axe) == [], name


@pytest.mark.slow
def test_the_documentation_is_searched_as_files_and_fetches_nothing(
    open_page: OpenPage, built: Path
) -> None:
    page = open_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((built / "how-to" / "dashboard.html").as_uri())
    page.locator(".md-search__input").click()
    page.keyboard.type("invitation")
    expect(page.locator(".md-search-result__item").first).to_contain_text("nvitation")
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
