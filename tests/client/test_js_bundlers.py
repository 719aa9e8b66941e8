"""The npm package, built into applications by what people build with; then it must still answer."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

import rumor
from rumor.contract.collection import Collection
from rumor.mechanisms.registry import of_kind
from tests.needs import needs

ROOT = Path(rumor.__file__).parent.parent.parent
BUNDLERS = ROOT / "tests" / "js" / "bundlers"
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
    assert described["name"] == "@rumor-ldp/client"
    assert described["version"] == rumor.__version__
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


@pytest.mark.slow
@pytest.mark.parametrize("bundler", ["esbuild", "rollup", "vite", "webpack"])
def test_every_mechanism_answers_from_a_bundle(project: Path, bundler: str) -> None:
    """Each is a file that is loaded when a contract names it: what bundlers break most easily."""
    oracles = [kind.name for kind in of_kind("choice") if kind.name != "basic-rappor"]
    choices = [
        {"id": name, "kind": "choice", "labels": ["a", "b", "c"], "epsilon": 1.0, "mechanism": name}
        for name in oracles
    ]
    number = {"id": "n", "kind": "number", "low": 0, "high": 9, "epsilon": 1.0}
    wish = {"name": "B", "series": "b", "contact": "x@example.org"}
    contract = Collection.resolve({**wish, "questions": [*choices, number]})
    run("node", "build.mjs", bundler, cwd=project)
    built = next(path for path in (project / "built").iterdir() if path.stem == "answer")
    answers = {**dict.fromkeys(oracles, "b"), "n": 4}
    given = json.dumps({"contract": json.loads(contract.canonical()), "answers": answers})
    found = json.loads(
        run("node", "--input-type=module", "-e", RUN, str(built), cwd=project, given=given)
    )
    shutil.rmtree(project / "built")
    assert found == {question.id: question.mechanism.width for question in contract.questions}
