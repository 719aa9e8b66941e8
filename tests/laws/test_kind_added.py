"""A kind of question and a mechanism are files of their own and a line: CONTRIBUTING's recipes.

`added/` holds the kind `yesno` and the mechanism `ternary`; each is put into a copy of the package.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.laws.in_a_copy import change, run_in, try_in
from tests.test_layers import PACKAGE, ROOT

ADDED = Path(__file__).parent / "added"
LINE = '    RegistryEntry("ternary", "ternary", "Ternary", "number"),\n'


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with both, and their one line each."""
    copy = tmp_path_factory.mktemp("copy") / "rumor"
    shutil.copytree(PACKAGE, copy)
    shutil.copytree(ADDED / "yesno", copy / "kinds" / "yesno")
    change(copy / "kinds" / "__init__.py", r"(?m)^(NAMES = .*)\)$", r'\1, "yesno")')
    shutil.copy(ADDED / "ternary.py", copy / "mechanisms")
    change(copy / "mechanisms" / "registry.py", r"(?m)^(ENTRIES = \(\n(?: .*\n)+)", rf"\1{LINE}")
    return copy


def test_commands_take_a_kind_that_was_added(package: Path, tmp_path: Path) -> None:
    commands = "privatize,estimate,simulate,plan,show"
    assert "yesno" in try_in(package, tmp_path / "files", commands, "yesno")


def test_the_laws_cover_a_mechanism_that_was_added(package: Path) -> None:
    assert laws(package, "ternary", "test_laws.py", "test_liars.py") >= 40


@pytest.mark.slow
def test_the_laws_cover_a_kind_that_was_added(package: Path) -> None:
    """Served, answered, exported and imported too; and the mechanism is one of its kind's."""
    assert laws(package, "yesno or ternary or number", "test_every_kind.py") >= 14


def laws(package: Path, names: str, *files: str) -> int:
    """Run the laws that name one of `names` on the copy, and return how many passed."""
    paths = [str(ROOT / "tests" / "laws" / file) for file in files]
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
    said = run_in(package, "-m", "pytest", *options, f"--rootdir={ROOT}", "-k", names, *paths)
    return int(said.splitlines()[-1].partition(" passed")[0].rpartition(" ")[2])
