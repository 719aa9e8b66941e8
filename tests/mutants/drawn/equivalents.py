"""Changes that nobody could notice, judged by hand (equivalent.toml).

    [[equivalent]]
    file = "src/rumor/core/loops/__init__.py"
    line = "SMALL_BYTES = 1 << 21"        # the line as it is, spaces joined
    changed = "SMALL_BYTES = 1 << 20"     # the line as it would be
    why = "decides about time alone"

Texts, no number of a line, so that code may move. Where a line stands several times, `near` is a
text that stands at most five lines from the one that is meant. Where `changed` is left out, every
change of the line by the `operators` that are listed is meant.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.catalogue import ROOT
from tests.mutants.drawn.change import OPERATORS, Change

NEAR = 5  # lines
FILE = Path(__file__).parent / "equivalent.toml"


@dataclass(frozen=True)
class Equivalent:
    """One judgement."""

    file: str
    line: str
    why: str
    changed: str = ""
    operators: tuple[str, ...] = ()
    near: str = ""

    def __post_init__(self) -> None:
        if bool(self.changed) == bool(self.operators):
            raise ValueError(f"{self.file}: {self.line!r} must have `changed` or `operators`")
        if odd := set(self.operators) - set(OPERATORS):
            raise ValueError(f"{self.file}: {self.line!r} has unknown operators {sorted(odd)}")

    def covers(self, change: Change, source: bytes) -> bool:
        """Return whether this is the judgement of `change`."""
        if change.file != self.file:
            return False
        before, after = change.lines(source)
        same = after == self.changed if self.changed else change.operator in self.operators
        return before == self.line and same and self.near in _around(change, source)


def _around(change: Change, source: bytes) -> str:
    """Return the lines around a change, joined by spaces."""
    lines = source.decode().splitlines()[max(0, change.line - 1 - NEAR) : change.line + NEAR]
    return " ".join(" ".join(lines).split())


def equivalents(file: Path = FILE) -> list[Equivalent]:
    """Return every judgement."""
    tables = tomllib.loads(file.read_text(encoding="utf-8")).get("equivalent", [])
    return [Equivalent(**{**t, "operators": tuple(t.get("operators", ()))}) for t in tables]


def reason(change: Change, judged: Sequence[Equivalent], root: Path = ROOT) -> str:
    """Return why nobody could notice `change`, or an empty text."""
    source = (root / change.file).read_bytes()
    return next((one.why for one in judged if one.covers(change, source)), "")
