"""Pages that Node runs in a small document (tests/js/page): what a person does, and what follows.

A life is a browser, a network that answers it, and steps. Its transcript says of each step what
changed: lines of the page, requests with all that they say, pauses, what is kept, what is drawn.
The transcripts of tests/js/page/lives are what the pages do now, read by whoever changed them:

    python -m tests.pages
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rumor.contract.collection import Collection
from tests.javascript import SCRIPTS, node

LIVES = SCRIPTS / "page" / "lives"
NOW = "2026-03-04T12:34:56Z"
Step = dict[str, Any]


@dataclass
class Life:
    """What a person does with pages, and who answers them."""

    steps: Sequence[Step]
    network: Mapping[str, Any] = field(default_factory=dict)
    browser: Mapping[str, Any] = field(default_factory=dict)

    def results(self) -> list[dict[str, Any]]:
        """Return what came of each step (tests/js/pages.mjs)."""
        given = {
            "browser": {"now": NOW, **self.browser},
            "network": self.network,
            "steps": self.steps,
        }
        options = ["--experimental-vm-modules", "--no-warnings"]
        found = node("pages.mjs", given=given, options=options)
        assert len(found) >= len(self.steps)  # a step may be many
        page: list[str] = []
        for result in found:
            head, tail, lines = (result["page"][key] for key in ("head", "tail", "lines"))
            page = [*page[:head], *lines, *page[len(page) - tail :]]
            result["page"] = page
        return list(found)


def transcript(results: Sequence[Mapping[str, Any]]) -> str:
    """Return what each step changed, as text."""
    lines: list[str] = []
    charts: dict[str, int] = {}
    before: Mapping[str, Any] = {"page": [], "databases": {}, "session": {}, "persisted": 0}
    for after in results:
        lines += ["", f"> {_told(after['step'])}", *_changes(before, after, charts)]
        before = after
    return "\n".join([*lines[1:], ""])


def served(contract: Collection, *, open: bool = True, **more: Any) -> dict[str, Any]:
    """Return a network whose collector serves `contract` and takes its reports."""
    widths = {q.id: q.mechanism.width for q in contract.questions}
    document = {"contract": contract.contract(), "digest": contract.digest, "open": open}
    return {
        "served": {"/v1/collection": document, **more.pop("served", {})},
        "widths": widths,
    } | more


def _told(step: Step) -> str:
    rest = ((key, value) for key, value in step.items() if key != "do")
    said = (f"{key}={json.dumps(value, ensure_ascii=False)[:120]}" for key, value in rest)
    return " ".join([step["do"], *said])


def _changes(
    before: Mapping[str, Any], after: Mapping[str, Any], charts: dict[str, int]
) -> list[str]:
    """Return the lines that tell a step's result from the one before."""
    lines = [f"asks {_short(request)}" for request in after["requests"]]
    lines += [f"opened {each}" for each in after["opened"]]
    lines += [f"waits {pause}" for pause in after["pauses"]]
    lines += [line for drawn in after["drawn"] for line in _chart(drawn, charts)]
    lines += [f"tells {_short(told)}" for told in after["told"]]
    lines += [f"console {said}" for said in after["said"]]
    lines += [f"downloads {_short(each)}" for each in after["downloads"]]
    lines += _diff(_kept(before), _kept(after))
    return lines + _diff(before["page"], after["page"])


def _chart(drawn: Mapping[str, Any], charts: dict[str, int]) -> list[str]:
    """Return what is drawn where; what was told before (`charts`) by its number."""
    spec = dict(drawn["spec"])
    parts = {"looks": [spec.pop("config"), drawn["options"]], "chart": spec}
    lines = []
    for name, part in parts.items():
        text = _short(part)
        if text not in charts:
            charts[text] = len(charts) + 1
            lines.append(f"{name} {charts[text]} is {text}")
    numbers = ", ".join(f"{name} {charts[_short(part)]}" for name, part in parts.items())
    return [*lines, f"draws in #{drawn['id']}: {numbers}"]


def _kept(result: Mapping[str, Any]) -> list[str]:
    """Return what the browser keeps, a line for each row."""
    lines = [f"kept {key} {value}" for key, value in result["session"].items()]
    if result["persisted"]:
        lines.append(f"storage asked to last {result['persisted']}")
    for database, stores in result["databases"].items():
        for store, rows in stores.items():
            for key, state in rows.items():
                for name, value in state.items():
                    many = value if isinstance(value, list) else [value]
                    place = f"kept {database}/{store}/{key} {name}"
                    lines += [f"{place} {_short(row)}" for row in many] or [place]
    return lines


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines two texts share from their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _diff(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return the lines that are new, and how many are gone where (they were new once)."""
    first = _shared(before, after)
    same = _shared(before[first:][::-1], after[first:][::-1])
    old, new = before[first : len(before) - same], after[first : len(after) - same]
    lines = []
    for change, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if change != "equal":
            lines += [f"- {j - i} from line {first + i + 1}"] * (j > i)
            lines += [f"+ {line}" for line in new[k:m]]
    return lines


def _short(value: object) -> str:
    """Return JSON without what random keys sealed, and long hexadecimal texts by their hash."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = re.sub(r'("sealed": ")[0-9a-f]+"', r'\1..."', text)
    text = re.sub(r'("url": "[^"]*/v1/relay/[^}]*"hex": ")[0-9a-f]+"', r'\1..."', text)
    return re.sub(r"\b[0-9a-f]{32,}\b", _hashed, text)


def _hashed(found: re.Match[str]) -> str:
    return f"#{hashlib.sha256(found[0].encode()).hexdigest()[:8]}"


def write() -> None:
    """Write every transcript anew."""
    from tests import lives_of_analysts, lives_of_respondents

    for old in LIVES.glob("*.txt"):
        old.unlink()
    LIVES.mkdir(exist_ok=True)
    for name, life in {**lives_of_respondents.LIVES, **lives_of_analysts.LIVES}.items():
        (LIVES / f"{name}.txt").write_text(transcript(life().results()), encoding="utf-8")


if __name__ == "__main__":
    write()
