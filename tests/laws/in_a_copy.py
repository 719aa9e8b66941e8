"""A copy of the package in which something was deleted or added, and what is tried in it.

    python tests/laws/in_a_copy.py FOLDER COMMAND,COMMAND... [KIND...]

PYTHONPATH names the copy; files are written into FOLDER. Without a kind, every module is imported
and every public name loaded, and the commands are tried on all kinds.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path


def change(file: Path, found: str, new: str) -> None:
    """Put `new` in the place of all that the pattern `found` finds in `file`."""
    file.write_text(re.sub(found, new, file.read_text()))


def run_in(package: Path, *arguments: str) -> str:
    """Run Python with these `arguments` on the copy `package`, and return what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def try_in(package: Path, folder: Path, commands: str, *kinds: str) -> list[str]:
    """Try `commands` on the examples of `kinds`, or of all kinds; return those that there are."""
    folder.mkdir()
    said = json.loads(run_in(package, __file__, str(folder), commands, *kinds).splitlines()[-1])
    assert said["from"] == str(package / "__init__.py")
    return list(said["kinds"])


def import_everything() -> None:
    """Import every module of the package, and load every public name."""
    import rumor

    package = Path(str(rumor.__file__)).parent
    for file in sorted(package.rglob("*.py")):
        if file.name != "__main__.py":
            parts = file.relative_to(package.parent).with_suffix("").parts
            importlib.import_module(".".join(parts).removesuffix(".__init__"))
    for name in rumor.__all__:
        getattr(rumor, name)


def try_kind(name: str, folder: Path, commands: list[str]) -> None:
    """Take the example of the kind `name` through some `commands` in `folder`."""
    from rumor.cli import main
    from rumor.contract.collection import Collection
    from rumor.kinds import KINDS

    example = KINDS[name].example()
    question = {"id": "asked", "kind": name, "text": "What?", **example.spec}
    law = {"name": "Law", "series": "law", "contact": "a@b.example", "questions": [question]}
    contract, answers, words, reports, planned = (
        folder / f"{name}{end}" for end in (".json", ".csv", ".txt", ".parquet", ".toml")
    )
    Collection.resolve(law).save(contract)
    answers.write_text(example.table)
    words.write_text("\n".join(example.words or ()))
    candidates = [] if example.words is None else ["--candidates", words]
    plan = [f"--{key}={value}" for key, value in example.plan.items()]
    lines: dict[str, list[object]] = {
        "privatize": [contract, answers, "-o", reports],
        "estimate": [contract, reports, *candidates],
        "simulate": [contract, answers, *candidates, "--people", 200, "--seed", 1],
        "plan": ["--kind", name, *plan, "--users", 10_000, "--epsilon", 1, "--write", planned],
        "show": [planned],
    }
    for command in commands:
        status = main([command, *map(str, lines[command]), "--json"])
        assert status == 0, f"rumor {command} of kind {name}: exit {status}"
    if "plan" in commands:
        assert Collection.load(planned).question().kind == name


if __name__ == "__main__":
    import rumor
    from rumor.kinds import NAMES

    given, wanted, *only = sys.argv[1:]
    if not only:
        import_everything()
    for kind in only or NAMES:
        try_kind(kind, Path(given), wanted.split(","))
    print(json.dumps({"kinds": NAMES, "from": rumor.__file__}))
