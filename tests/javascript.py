"""The client for browsers, run by Node: what its tests share."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from rumor.contract.collection import Collection
from rumor.kinds.base import Kind
from rumor.mechanisms.registry import RegistryEntry
from tests.needs import needs

CLIENT = Path(__file__).parent.parent / "src" / "rumor" / "client" / "js"
SCRIPTS = Path(__file__).parent / "js"


def node(
    script: str,
    *arguments: str,
    given: object = None,
    scripts: Path = SCRIPTS,
    options: Sequence[str] = (),
) -> Any:
    """What a script of tests/js (or a copy of it) prints, as JSON; it must end well."""
    done = subprocess.run(
        [str(needs("node")), *options, str(scripts / script), *arguments],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def first_difference(found: Any, expected: Any, place: str = "") -> str:
    """Return where `found` first differs from `expected`, and both parts; "" where they agree."""
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        keys = dict.fromkeys([*expected, *found])
        parts = (
            first_difference(
                found.get(key, "nothing"), expected.get(key, "nothing"), f"{place}.{key}"
            )
            for key in keys
        )
        return next(filter(None, parts), "")
    if isinstance(found, list) and isinstance(expected, list):
        parts = (
            first_difference(a, b, f"{place}[{number}]")
            for number, (a, b) in enumerate(
                itertools.zip_longest(found, expected, fillvalue="nothing")
            )
        )
        return next(filter(None, parts), "")
    if found == expected:
        return ""
    return f"{place.lstrip('.')}: found {found!r}, expected {expected!r}"


def steps(*given: Mapping[str, object]) -> list[Any]:
    """The results of steps, one after the other (tests/js/run.mjs)."""
    found = node("run.mjs", given=given)
    assert len(found) == len(given)
    return list(found)


def parsed(collection: Collection, **more: object) -> dict[str, object]:
    """The step that reads a contract."""
    return {"step": "parse", "contract": collection.canonical().decode(), **more}


def collection(*questions: Mapping[str, object], series: str = "series") -> Collection:
    """A collection of these questions, ids a, b, c and so on unless said."""
    tables = [
        {"id": ascii_lowercase[place], "text": "", **question}
        for place, question in enumerate(questions)
    ]
    return Collection.resolve(
        {"name": "A test", "series": series, "contact": "me@example.org", "questions": tables}
    )


def refusals(results: Sequence[Any]) -> list[str | None]:
    """The sentence of each step that was refused, None for the others."""
    return [
        r["error"] if isinstance(r, Mapping) and set(r) == {"error", "code"} else None
        for r in results
    ]


def missing_twins(entries: Sequence[RegistryEntry], client: Path = CLIENT) -> list[str]:
    """What is left to write until every mechanism has its twin for browsers, in sentences."""
    wanted = {entry.name: entry.javascript for entry in entries}
    return _missing("mechanism", wanted, "src/rumor/client/js", "mechanisms.js", client)


def missing_kinds(kinds: Iterable[Kind[Any]], client: Path = CLIENT) -> list[str]:
    """Return what is left to write until browsers ask every kind and read its answers."""
    text, place = (client / "kinds.js").read_text("utf-8"), "src/rumor/client/js/kinds"
    known = {kind.name: kind for kind in kinds}
    problems = [
        f"the kind {name!r} has no file for browsers: write {place}/{name}.js"
        for name in known
        if not (client / "kinds" / f"{name}.js").is_file()
    ]
    problems += [
        f"{place}/{file.name} must export {part}"
        for file in sorted((client / "kinds").glob("*.js"))
        for part in ("parseAnswer", "control")
        if not re.search(rf"^export .*\b{part}\b", file.read_text("utf-8"), re.MULTILINE)
    ]
    for name, kind in known.items():
        parts = [
            f"contractFields: {json.dumps(kind.contract_names)}",
            f'load: () => import("./kinds/{name}.js")',
        ]
        if (home := kind.lineage()[-1]) != name:
            parts.insert(1, f"borrows: {json.dumps(home)}")
        line = f"{name}: {{ {', '.join(parts)} }},"
        if f"\n  {line}\n" not in text:
            problems.append(f"KINDS in {place}.js needs the line {line}")
    listed = re.findall(r"^  (\w+): \{ contractFields", text, re.MULTILINE)
    problems += [
        f"KINDS in {place}.js has a line for {name!r}, which is no kind"
        for name in listed
        if name not in known
    ]
    if not problems and listed != list(known):
        problems.append(f"KINDS in {place}.js must have the order of rumor.kinds")
    return problems


def _missing(
    noun: str, wanted: Mapping[str, str], place: str, table: str, folder: Path
) -> list[str]:
    """What the folder lacks of the files that a table of loaders must name, in their order."""
    text = (folder / table).read_text("utf-8")
    listed = re.findall(r'^  "?([\w-]+)"?: \(\) => import\("\./([^"]+)"\),$', text, re.MULTILINE)
    problems = [
        f"the {noun} {name!r} has no file for browsers: write {place}/{path}"
        for name, path in wanted.items()
        if not (folder / path).is_file()
    ]
    problems += [
        f'LOADERS in {place}/{table} needs the line "{name}": () => import("./{path}"),'
        for name, path in wanted.items()
        if (name, path) not in listed
    ]
    problems += [
        f"LOADERS in {place}/{table} has {name!r}, which is no {noun}"
        for name, _ in listed
        if name not in wanted
    ]
    if not problems and listed != list(wanted.items()):
        problems.append(f"LOADERS in {place}/{table} must have the registry's order")
    return problems
