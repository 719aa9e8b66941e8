"""One script for a page does what its modules do, and its lines are theirs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from rumor.client.modules import FOLDER as CLIENT
from rumor.collector.http.page_script import PageScript, page_script
from rumor.collector.http.pages import WEB, answer_script

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


def made(folder: Path, modules: Mapping[str, str]) -> PageScript:
    (folder / "client").mkdir()
    (folder / "client" / "thing.js").write_text(THING)
    for name, text in modules.items():
        (folder / "web" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "web" / name).write_text(text)
    folders = {"/assets/": folder / "web", "/client/": folder / "client"}
    return page_script("/assets/page.js", folders)


def test_it_does_what_its_modules_do(tmp_path: Path) -> None:
    """Names, whole modules, what is handed on, what loads later; each module is run once."""
    script = made(tmp_path, MODULES)
    (tmp_path / "page.mjs").write_text(script.text)
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


def test_the_answer_page_has_all_but_texts_in_it_and_keeps_its_lines() -> None:
    script = answer_script()
    lines = script.text.split("\n")
    client = {f"/client/{path.relative_to(CLIENT).as_posix()}" for path in CLIENT.rglob("*.js")}
    assert {name for name in client if "/mechanisms/" in name or "/kinds/" in name} <= set(
        script.before
    )
    for name, before in script.before.items():
        folder = WEB if name.startswith("/assets/") else CLIENT
        own = (folder / name.split("/", 2)[2]).read_text("utf-8").splitlines()
        for number, line in enumerate(own):
            if line and not line.lstrip().startswith(("import", "export", "*", "/", "}")):
                assert lines[before + number] in ("", line) or "import(" in line, (name, number)
    assert script.text.count("import(") == 1
    assert "import(`/client/view/words/${lang}.js`)" in script.text
