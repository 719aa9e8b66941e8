"""The client for browsers, run by Node: what its tests share."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rumor.contract.collection import Collection
from rumor.mechanisms.registry import Entry
from tests.needs import needs

CLIENT = Path(__file__).parent.parent / "src" / "rumor" / "client" / "js"
SCRIPTS = Path(__file__).parent / "js"


def node(script: str, *arguments: str, given: object = None) -> Any:
    """What a script of tests/js prints, as JSON; it must end well."""
    done = subprocess.run(
        [str(needs("node")), str(SCRIPTS / script), *arguments],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
        {"id": "abcdefgh"[place], "text": "", **question}
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


def missing_twins(entries: Sequence[Entry], client: Path = CLIENT) -> list[str]:
    """What is left to write until every mechanism has its twin for browsers, in sentences."""
    table = (client / "mechanisms.js").read_text("utf-8")
    listed = re.findall(r'^  "([^"]+)": \(\) => import\("\./([^"]+)"\),$', table, re.MULTILINE)
    wanted = [(entry.name, entry.javascript) for entry in entries]
    problems = [
        f"the mechanism {name!r} has no twin for browsers: write src/rumor/client/js/{path}"
        for name, path in wanted
        if not (client / path).is_file()
    ]
    problems += [
        f"LOADERS in src/rumor/client/js/mechanisms.js needs the line "
        f'"{name}": () => import("./{path}"),'
        for name, path in wanted
        if (name, path) not in listed
    ]
    problems += [
        f"LOADERS in src/rumor/client/js/mechanisms.js has {name!r}, which no registry knows"
        for name, _ in listed
        if name not in dict(wanted)
    ]
    if not problems and listed != wanted:
        problems.append(
            "LOADERS in src/rumor/client/js/mechanisms.js must have the registry's order"
        )
    return problems
