"""The catalogue of planted bugs: each is a piece of text, what takes its place, and who notices.

A file of this folder is an area (`accounting.toml`); every entry is one bug:

    [[mutant]]
    name = "sums to nearest"              # what is wrong
    find = "return round_up(total)"       # a text that stands exactly once under src/
    replace = "return float(total)"
    tests = ["tests/core/test_exact.py"]       # what should fail, in the order it is tried

Where a text stands in several files, `file` (the end of a path) says which is meant; a bug of one
mechanism or kind always does, since the next one may be written after its model. Patches are by
text and never by line, so that they survive code that moves. A bug that changes nothing anybody
could notice says so: `equivalent = "why"`; it is listed and not run.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
FOLDER = Path(__file__).parent
_SOURCES = (".py", ".js", ".mjs", ".html", ".css", ".cu")
_KEYS = {"name", "find", "replace", "tests", "file", "equivalent"}


@dataclass(frozen=True)
class Mutant:
    """One planted bug."""

    area: str
    name: str
    find: str
    replace: str
    tests: tuple[str, ...]
    file: str = ""
    equivalent: str = ""

    def place(self, root: Path, texts: Mapping[Path, str] | None = None) -> Path:
        """The file that holds the text, relative to the root; the text must stand there once."""
        known = sources(root) if texts is None else texts
        found = [
            path
            for path, text in known.items()
            if path.as_posix().endswith(self.file) and self.find in text
        ]
        times = sum(known[path].count(self.find) for path in found)
        if times != 1:
            where = ", ".join(path.relative_to(root).as_posix() for path in found) or "nowhere"
            raise ValueError(
                f"{self.area}: {self.name!r} must stand once; it stands {times} times ({where})"
            )
        return found[0].relative_to(root)


def sources(root: Path) -> dict[Path, str]:
    """The text of every file that bugs are planted in."""
    return {
        path: path.read_text(encoding="utf-8")
        for path in sorted((root / "src").rglob("*"))
        if path.suffix in _SOURCES
    }


def catalogue(areas: Sequence[str] = ()) -> list[Mutant]:
    """Every planted bug of these areas, or of all."""
    found: list[Mutant] = []
    for path in sorted(FOLDER.glob("*.toml")):
        if areas and path.stem not in areas:
            continue
        for table in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            if odd := set(table) - _KEYS:
                raise ValueError(f"{path.name}: an entry has no {sorted(odd)}")
            found.append(Mutant(path.stem, **{**table, "tests": tuple(table.get("tests", ()))}))
    names = [(mutant.area, mutant.name) for mutant in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"names must differ within an area: {sorted(twice)}")
    return found
