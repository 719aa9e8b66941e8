"""The client for browsers, run by Node: what its tests share."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rumor.contract.collection import Collection
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
