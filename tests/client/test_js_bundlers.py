"""The npm package, built into applications by what people build with; then it must still answer."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

import rumor
from deploy.versions import npm_version
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.contract.collection import Collection
from rumor.mechanisms.registry import mechanisms_of_kind
from tests.browser.sites import site
from tests.needs import needs

ROOT = Path(rumor.__file__).parent.parent.parent
BUNDLERS = ROOT / "tests" / "js" / "bundlers"
BUILT_WITH = ["esbuild", "rollup", "vite", "webpack"]
WISH = {"name": "B", "series": "b", "contact": "x@example.org"}
RUN = """
import { readFileSync } from "node:fs";
const { default: answer } = await import(process.argv[1]);
const { contract, answers } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(await answer(contract, answers)));
"""


def run(*command: str, cwd: Path, given: str = "") -> str:
    done = subprocess.run(
        command, cwd=cwd, input=given, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make npm` makes."""
    needs("npm")
    folder = tmp_path_factory.mktemp("npm")
    run("make", "npm", f"NPM_OUT={folder}", cwd=ROOT)
    (found,) = folder.glob("*.tgz")
    return found


@pytest.mark.slow
def test_the_package_has_what_it_needs(tarball: Path) -> None:
    with tarfile.open(tarball) as packed:
        names = {name.removeprefix("package/") for name in packed.getnames()}
        described = json.loads(packed.extractfile("package/package.json").read())  # type: ignore[union-attr]
    assert {"LICENSE", "README.md", "rumor.js", "rumor.d.ts", "package.json"} <= names
    assert {
        f"device/rumor-device.{kind}" for kind in ("js", "mjs", "d.ts", "licenses.txt")
    } <= names
    assert described["name"] == "@rumor-ldp/client"
    assert described["version"] == npm_version(rumor.__version__)
    sources = Path(rumor.__file__).parent / "client" / "js"
    wanted = {str(path.relative_to(sources)) for path in sources.rglob("*.js")}
    assert wanted <= names


@pytest.fixture(scope="module")
def project(tarball: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has the package and the bundlers."""
    folder = tmp_path_factory.mktemp("project")
    for path in BUNDLERS.iterdir():
        if path.is_file():
            shutil.copy(path, folder / path.name)
    quiet = ("--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
    run("npm", "install", *quiet, str(tarball), cwd=folder)
    return folder


def built(project: Path, bundler: str, name: str) -> Path:
    """A file as a bundler has made it, once for all tests; what it is called is the bundler's."""
    folder = project / "built" / bundler
    if not folder.exists():
        run("node", "build.mjs", bundler, cwd=project)
    return next(path for path in folder.iterdir() if path.stem == name)


@pytest.mark.slow
@pytest.mark.parametrize("bundler", BUILT_WITH)
def test_every_mechanism_answers_from_a_bundle(project: Path, bundler: str) -> None:
    """Each is a file that is loaded when a contract names it: what bundlers break most easily."""
    oracles = [kind.name for kind in mechanisms_of_kind("choice") if kind.name != "basic-rappor"]
    choices = [
        {"id": name, "kind": "choice", "labels": ["a", "b", "c"], "epsilon": 1.0, "mechanism": name}
        for name in oracles
    ]
    number = {"id": "n", "kind": "number", "low": 0, "high": 9, "epsilon": 1.0}
    contract = Collection.resolve({**WISH, "questions": [*choices, number]})
    answers = {**dict.fromkeys(oracles, "b"), "n": 4}
    given = json.dumps({"contract": json.loads(contract.canonical()), "answers": answers})
    answer = str(built(project, bundler, "answer"))
    found = json.loads(
        run("node", "--input-type=module", "-e", RUN, answer, cwd=project, given=given)
    )
    assert found == {question.id: question.mechanism.width for question in contract.questions}


@pytest.mark.slow
@pytest.mark.parametrize("bundler", BUILT_WITH)
def test_the_element_asks_from_a_bundle(project: Path, bundler: str, tmp_path: Path) -> None:
    """Controls, words and mechanisms come when they are needed, from the bundle's own pieces."""
    chromium = needs("chromium")
    question = {"id": "home", "kind": "choice", "labels": ["news", "mail"], "epsilon": 1.0}
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(Collection.resolve({**WISH, "questions": [question]}))
    script = built(project, bundler, "page")
    with (
        background(Service(store, "b")) as url,
        site(script.parent) as address,
        sync_playwright() as playwright,
    ):
        (script.parent / "index.html").write_text(
            f'<!doctype html><html lang="ja"><title>Bundle</title><link rel="icon" href="data:,">'
            f'<script type="module" src="{script.name}"></script>'
            f'<rumor-question collector="{url}" question="home"></rumor-question>'
        )
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page, noises = browser.new_page(), list[str]()
        page.on("console", lambda said: noises.append(said.text))
        page.on("pageerror", lambda problem: noises.append(str(problem)))
        page.goto(f"{address}/index.html")
        page.get_by_label("mail").check()
        page.locator("button.primary").click()
        page.locator(".report .coins").wait_for()
        page.locator("button.primary").click()
        page.get_by_text("ありがとうございました").wait_for()
        browser.close()
    assert noises == []
    assert len(store.newest_reports(entry, "home", 9)) == 1
