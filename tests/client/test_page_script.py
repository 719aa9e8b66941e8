"""The scripts of a page do what its modules do, and their lines are theirs."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from rumor.client.modules import FOLDER as CLIENT
from rumor.client.modules import element_scripts, integrity
from rumor.client.page_script import page_scripts, whole_script
from rumor.collector.answer_page import WEB
from rumor.collector.http.pages import answer_scripts, modules_of
from rumor.contract.collection import Collection
from tests.everything import every_mechanism
from tests.issuers import blind_collection
from tests.mutants.drawn.v8 import lines_of_modules
from tests.relay.tools import relayed

MODULES = {
    "page.js": """\
/** Everything
 * begins here. */

import { double as twice, count } from "./lib/numbers.js";
import {
  Thing,
} from "/client/thing.js";
import * as whole from "/client/thing.js";

// A comment of its own.
const later = async () => (await import("./lib/later.js")).said(3);
console.log(twice(2), count(), count(), whole.Thing === Thing, new Thing().name, await_());
function await_() {
  later().then((said) => console.log(said));
  return "/* no comment */";
}
""",
    "lib/numbers.js": """\
let counted = 0;
export const double = (n) => 2 * n;
export function count() {
  return ++counted;
}
""",
    "lib/later.js": """\
import { count } from "./numbers.js";
export { double } from "./numbers.js";

export async function said(n) {
  return `later: ${n}, ${count()}`;
}
""",
}
THING = """\
export class Thing {
  name = "thing";
}
"""


def made(folder: Path, modules: Mapping[str, str], *begun: str) -> tuple[str, str]:
    (folder / "client").mkdir()
    (folder / "client" / "thing.js").write_text(THING)
    for name, text in modules.items():
        (folder / "web" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "web" / name).write_text(text)
    folders = {"/assets/": folder / "web", "/client/": folder / "client"}
    return page_scripts("/assets/page.js", begun, "later.mjs", folders)


@pytest.mark.parametrize("begun", [(), ("/assets/lib/later.js",)])
def test_it_does_what_its_modules_do(tmp_path: Path, begun: tuple[str, ...]) -> None:
    """Names, whole modules, what is handed on, what loads later; each module is run once."""
    first, later = made(tmp_path, MODULES, *begun)
    assert ("later: " in first) == bool(begun)
    assert "later: " in later
    (tmp_path / "page.mjs").write_text(first)
    if not begun:
        (tmp_path / "later.mjs").write_text(later)
    done = subprocess.run(["node", "page.mjs"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == "4 1 2 true thing /* no comment */\nlater: 3, 3\n"


@pytest.mark.parametrize(
    "line",
    ['import thing from "/client/thing.js";', "export let n = 0;", "export default {};"],
)
def test_other_imports_and_exports_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(ValueError, match=r"/assets/page\.js must import and export as other"):
        made(tmp_path, {"page.js": f"{line}\n"})


def test_texts_stay_files_of_their_own_beside_the_script(tmp_path: Path) -> None:
    """Data that is loaded later is imported from where it lies, seen from the script's folder."""
    page = 'const words = async () => (await import("./lib/words.js")).default;\n'
    page += "words().then((said) => console.log(said.title));\n"
    modules = {"page.js": page, "lib/words.js": 'export default {\n  title: "Title",\n};\n'}
    first, later = made(tmp_path, modules)
    assert "Title" not in first + later
    (tmp_path / "web" / "page.bundle.mjs").write_text(first)
    (tmp_path / "web" / "package.json").write_text('{"type": "module"}')
    command = ["node", "page.bundle.mjs"]
    done = subprocess.run(command, cwd=tmp_path / "web", capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("Title\n", "")


def test_a_whole_script_has_everything_texts_too(tmp_path: Path) -> None:
    """It asks for no other file, and does what its modules do."""
    lines = 'const words = () => import("./lib/words.js");\n'
    lines += MODULES["page.js"] + "words().then((said) => console.log(said.default.title));\n"
    words = 'export default {\n  title: "Title",\n};\n'
    made(tmp_path, {**MODULES, "page.js": lines, "lib/words.js": words})
    folders = {"/assets/": tmp_path / "web", "/client/": tmp_path / "client"}
    whole = whole_script("/assets/page.js", folders)
    assert "import(" not in whole
    assert whole.endswith('$use("/assets/page.js");\n')
    assert whole.count("] = () => {") == len(MODULES) + 2
    (tmp_path / "page.mjs").write_text(whole)
    done = subprocess.run(["node", "page.mjs"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ""
    said = ["4 1 2 true thing /* no comment */", "Title", "later: 3, 3"]
    assert sorted(done.stdout.splitlines()) == sorted(said)


def test_the_answer_page_begins_with_what_its_questions_need_and_keeps_lines() -> None:
    asked = every_mechanism()
    some = dataclasses.replace(asked, questions=asked.questions[:1])
    client = {f"/client/{path.relative_to(CLIENT).as_posix()}" for path in CLIENT.rglob("*.js")}
    parts = {name for name in client if "/mechanisms/" in name or "/kinds/" in name}
    for collection in (asked, some):
        first, later = (
            asset.body.decode() for asset in answer_scripts(modules_of(collection)).values()
        )
        found = [
            lines_of_modules(text, set(range(text.count("\n") + 1))) for text in (first, later)
        ]
        begun = modules_of(collection)
        assert begun <= set(found[0]) <= set(found[0]) | set(found[1])
        assert parts <= set(found[1])
        for text, modules in zip((first, later), found, strict=True):
            lines = text.split("\n")
            for name in modules:
                folder = WEB if name.startswith("/assets/") else CLIENT
                own = (folder / name.split("/", 2)[2]).read_text("utf-8").splitlines()
                before = lines.index(f'$modules["{name}"] = () => {{') + 1
                for number, line in enumerate(own):
                    if line and not line.lstrip().startswith(("import", "export", "*", "/", "}")):
                        assert lines[before + number] in ("", line) or "import(" in line, name
        assert first.count("import(") == 4
        for lang in ("en", "ja", "zh"):
            assert f'import("./../client/view/words/{lang}.js")' in first
    assert "/client/mechanisms/rappor.js" not in found[0]
    assert modules_of(None) == {"/assets/steps.js"}


def two_choices(**more: object) -> Collection:
    """Two questions of one kind and one mechanism, with `more` said of the collection."""
    coin = {"mechanism": "randomized-response", "epsilon": 1.0}
    question = {"kind": "choice", "labels": ["x", "y"], **coin}
    return Collection.resolve(
        {
            "name": "Two choices",
            "series": "two-choices",
            "contact": "nobody@example.org",
            "questions": [{"id": "one", **question}, {"id": "two", **question}],
            **more,
        }
    )


NOTICED = {"view/notices.js"}
LANDS = {"country": ["DE", "other"]}


@pytest.mark.parametrize(
    ("asked", "needed"),
    [
        (two_choices(), set[str]()),
        (two_choices(admission="invited"), {"admission.js"}),
        (two_choices(ask={"questions": 1}), {"assignment.js"} | NOTICED),
        (two_choices(linked=["one", "two"]), {"linked.js"} | NOTICED),
        (two_choices(groups=LANDS), {"groups.js"} | NOTICED),
        (
            two_choices(groups=LANDS, admission="invited"),
            {"groups.js", "admission.js"} | NOTICED,
        ),
        (relayed(), {"relay.js"} | NOTICED),
        (blind_collection(), {"issuing.js"}),
    ],
    ids=["open", "invited", "ask", "linked", "groups", "groups, invited", "relay", "blind"],
)
def test_the_answer_page_begins_with_the_parts_of_its_contract_and_no_others(
    asked: Collection, needed: set[str]
) -> None:
    questions = {f"kinds/{question.kind}.js" for question in asked.questions}
    questions |= {f"mechanisms/{question.mechanism.name}.js" for question in asked.questions}
    names = {f"/client/{name}" for name in questions | needed}
    assert modules_of(asked) == {"/assets/steps.js"} | names


def test_scripts_and_hashes_are_the_same_wherever_a_folder_lists_its_files_in_another_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scripts, hashes = element_scripts(), integrity()
    assert list(hashes) == sorted(hashes)
    listed = Path.glob
    monkeypatch.setattr(Path, "glob", lambda *given: sorted(listed(*given), reverse=True))
    assert element_scripts.__wrapped__() == scripts
    assert list(integrity.__wrapped__()) == list(hashes)
