"""The folders of the package hold to the table of layers in CONTRIBUTING, lazy imports included."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rumor.contract.collection import Collection
from rumor.mechanisms.registry import ENTRIES
from tests.fresh import modules_after

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "rumor"
EXAMPLES = ROOT / "examples"
_ROW = re.compile(r"^\| `([a-z]+)` \| ([^|]*) \|", re.MULTILINE)


def layers() -> dict[str, set[str]]:
    """Each folder, top first, and the folders that it may import."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = _ROW.findall(text[text.index("| folder | may import |") :])
    return {folder: set(re.findall(r"`([a-z]+)`", allowed)) for folder, allowed in rows}


def imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Every module of ours that a file names in an import, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{package}: imports are written from the top"
            if node.module == "rumor":
                yield from (f"rumor.{alias.name}" for alias in node.names)
            elif node.module is not None and node.module.startswith("rumor."):
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] == "rumor")


def edges() -> Iterator[tuple[str, str, str]]:
    """File, its folder, and the folder of something it imports."""
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        if len(inside.parts) == 1:
            continue
        for module in imports(ast.parse(path.read_text(encoding="utf-8")), str(inside)):
            parts = module.split(".")
            if len(parts) > 1 and parts[1] != "__version__":
                yield str(inside), inside.parts[0], parts[1]


def test_the_top_of_the_package_holds_its_names_and_nothing_else() -> None:
    files = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert files == {"__init__.py", "__main__.py", "py.typed"}


def test_the_table_names_every_folder_and_points_upwards_only() -> None:
    table = layers()
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert set(table) == folders
    above: set[str] = set()
    for folder, allowed in table.items():
        # So there is no cycle between folders.
        assert allowed <= above, folder
        above.add(folder)


def test_no_file_imports_what_its_folder_may_not() -> None:
    table = layers()
    wrong = [
        f"{file} imports rumor.{to}"
        for file, folder, to in edges()
        if to != folder and to not in table[folder]
    ]
    assert not wrong


def test_no_module_needs_itself_to_load() -> None:
    """Modules import each other without cycles, so that each can be the first to be loaded."""
    known = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in PACKAGE.rglob("*.py")
    }
    needs: dict[str, set[str]] = {}
    for name in known:
        path = PACKAGE.parent.joinpath(*name.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        first = ast.parse(path.read_text(encoding="utf-8")).body
        found = {
            target if (target := f"{s.module}.{alias.name}") in known else str(s.module)
            for s in first
            if isinstance(s, ast.ImportFrom)
            for alias in s.names
        }
        needs[name] = (found & known) - {name}
    sorter = graphlib.TopologicalSorter(needs)
    sorter.prepare()  # raises a CycleError that names a cycle


def test_the_reader_of_imports_sees_lazy_and_hidden_ones() -> None:
    text = "def f():\n    from rumor.cli import main\nif TYPE_CHECKING:\n    import rumor.papers\n"
    assert list(imports(ast.parse(text), "x")) == ["rumor.cli", "rumor.papers"]


def test_what_a_device_needs_of_a_kind_is_light() -> None:
    """A kind's `question.py` is what a device loads, with files of its own that are as light."""
    light = {"rumor.kinds", "rumor.kinds.base", "rumor.kinds.domains", "rumor.kinds.filter_key"}
    light |= {
        f"rumor.kinds.{path.parent.name}.question" for path in PACKAGE.glob("kinds/*/question.py")
    }
    for path in sorted((PACKAGE / "kinds").glob("*/question.py")):
        kind, todo = f"rumor.kinds.{path.parent.name}.", [path]
        while todo:
            file = todo.pop()
            for module in imports(ast.parse(file.read_text(encoding="utf-8")), str(file)):
                if module in light or module.split(".")[1] in ("core", "mechanisms"):
                    continue
                assert module.startswith(kind), f"{file} imports {module}"
                todo.append(path.with_name(f"{module.removeprefix(kind)}.py"))


PREPARE = """
import tempfile
from rumor.client.respondent import Respondent
from rumor.contract.collection import Collection
with Respondent(tempfile.mkdtemp()) as device:
    device.prepare(Collection.load({contract!r}), {answers!r})
"""


@pytest.mark.parametrize(
    ("example", "answers"),
    [
        ("commute.toml", {"minutes": 35.0}),
        ("app-usage.toml", {"apps": {"Maps": 1.5}}),
        ("words.toml", {"engine": "ecosia"}),
        ("browser.toml", {"homepage": "news"}),
    ],
)
def test_a_device_loads_nothing_of_estimation_or_planning(
    tmp_path: Path, example: str, answers: dict[str, object]
) -> None:
    contract = tmp_path / "contract.json"
    collection = Collection.load(EXAMPLES / example)
    collection.save(contract)
    after = modules_after(PREPARE.format(contract=str(contract), answers=answers))
    loaded = {name for name in after if name.startswith("rumor.")}
    folders = {name.split(".")[1] for name in loaded}
    assert folders <= {"core", "mechanisms", "kinds", "contract", "privacy", "client"}
    parts = {name for name in loaded if name.startswith("rumor.kinds.")}
    heavy = ("estimate", "result", "picture", "simulate", "plan", "planning", "tables", "dry_run")
    assert not {name for name in parts if set(name.split(".")) & set(heavy)}
    # Of the mechanisms those that the contract names, with what they build on, and no other.
    names = {question.mechanism.name for question in collection.questions}
    named = [f"rumor.mechanisms.{entry.module}" for entry in ENTRIES if entry.name in names]
    registered = {f"rumor.mechanisms.{entry.module}" for entry in ENTRIES}
    needed = modules_after("\n".join(f"import {module}" for module in named))
    assert loaded & registered == needed & registered
