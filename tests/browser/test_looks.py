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
