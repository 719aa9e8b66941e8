"""A kind of question is its folder and its registry lines: without them the rest is whole."""

from __future__ import annotations

import ast
import functools
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.kinds import KINDS, NAMES
from tests.laws.in_a_copy import change, try_in
from tests.test_layers import PACKAGE, imports

# Lines that name what is in a kind's folder: the public names, and what type checkers are told of
# `estimate`. They go with the kind, and so does an overload that returns what such a line imports.
PUBLIC, OVERLOADS = "__init__.py", "kinds/estimating.py"

# Papers that are about one kind's own method: they go with the kind, and so do their lines in
# papers/__init__.py. A paper that merely asks a question of a kind is not among them.
PAPERS = {
    "text": ("decoding", "rappor_decode"),
    "keyvalue": ("keyvalue", "privkv_em"),
}


def delete(kind: str, package: Path) -> None:
    """Delete `kind` from a copy of the package, with its registry lines."""
    shutil.rmtree(package / "kinds" / kind)
    change(package / "kinds" / "__init__.py", rf'(?m)^(NAMES = .*)"{kind}"(?:, )?', r"\1")
    line = rf"(?m)^.*\brumor\.kinds\.{kind}\..*\n"
    overloads = package / OVERLOADS
    results = re.findall(rf"rumor\.kinds\.{kind}\.\S+ import (\w+)", overloads.read_text())
    for file in (package / PUBLIC, overloads):
        change(file, line, "")
    for result in results:
        change(overloads, rf"@overload\n(?:(?!@overload).*\n)*?.*-> {result}: \.\.\.\n", "")
    for paper in PAPERS.get(kind, ()):
        place, name = package / "papers" / paper, paper.replace("_", "-")
        shutil.rmtree(place) if place.is_dir() else place.with_suffix(".py").unlink()
        change(package / "papers" / "__init__.py", rf'(?m)^ .*(\.{paper}\b|: "{name}").*\n', "")


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[] if k == NAMES[0] else pytest.mark.slow) for k in NAMES]
)
def test_the_other_kinds_work_without_it(kind: str, tmp_path: Path) -> None:
    package = tmp_path / "copy" / "rumor"
    shutil.copytree(PACKAGE, package)
    delete(kind, package)
    left = try_in(package, tmp_path / "files", "privatize,estimate")
    assert left == [name for name in NAMES if name != kind]


def test_what_asks_for_a_deleted_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rumor.kinds.NAMES", ("choice", "text"))
    monkeypatch.setattr("rumor.kinds.base.NAMES", ("choice", "text"))
    with pytest.raises(InputError, match=r"^words must be one of listed; got 'open'$"):
        KINDS["text"].effective_kind({"words": "open"})
    asked = {"kind": "choice", "labels": ["a", "b"], "mechanism": "randomized-response"}
    questions = [{"id": id, "epsilon": 1.0, **asked} for id in ("one", "two")]
    law = {"name": "Law", "series": "law", "contact": "a@b.example", "questions": questions}
    with pytest.raises(InputError, match=r"no table is made of kind 'choice'; got question 'one'$"):
        Collection.resolve({**law, "linked": ["one", "two"]})


@functools.cache
def named() -> Mapping[str, set[str]]:
    """The modules that each file imports, lazily too, and every text in it."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        texts = {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        found[str(file.relative_to(PACKAGE))] = texts | set(imports(tree, str(file)))
    return found


@pytest.mark.parametrize("kind", NAMES)
def test_nothing_else_names_what_is_in_its_folder(kind: str) -> None:
    allowed = {PUBLIC, OVERLOADS, *(f"papers/{paper}.py" for paper in PAPERS.get(kind, ()))}
    wrong = [
        f"{file}: {text}"
        for file, texts in named().items()
        for text in texts
        if re.match(rf"rumor\.kinds\.{kind}\b", text)
        if file not in allowed and not file.startswith(f"kinds/{kind}/")
    ]
    assert not wrong
