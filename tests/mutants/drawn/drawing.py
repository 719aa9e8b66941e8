"""Every change of the sources, and a draw from them.

Tables of words (`TABLES`) are left out: a translation has a sentence per line, one test compares
the names in all languages, and so these lines are as good as always caught. In a draw they would
say that JavaScript is tested better than it is.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from tests.mutants.catalogue import ROOT
from tests.mutants.drawn import javascript_source, python_source
from tests.mutants.drawn.change import Change, area_of

SOURCES = Path("src") / "rumor"
TABLES = ("src/rumor/client/js/view/words/",)  # folders of data without decisions
_LANGUAGES: dict[str, ModuleType] = {
    ".py": python_source,
    ".js": javascript_source,
    ".mjs": javascript_source,
}


def files(areas: Sequence[str] = (), root: Path = ROOT) -> list[str]:
    """Return the sources of these areas, or of all, in order; tables of words are none."""
    paths = [path for path in (root / SOURCES).rglob("*") if path.suffix in _LANGUAGES]
    every = sorted(path.relative_to(root).as_posix() for path in paths)
    names = [name for name in every if not name.startswith(TABLES)]
    known = {area_of(name) for name in names}
    if odd := set(areas) - known:
        raise ValueError(f"an area must be one of {sorted(known)}; got {sorted(odd)}")
    return [name for name in names if not areas or area_of(name) in areas]


def changes(file: str, root: Path = ROOT) -> list[Change]:
    """Return every change of a source `file`."""
    source = (root / file).read_bytes()
    return list(_LANGUAGES[Path(file).suffix].changes(file, source))


def draw(count: int, seed: str, areas: Sequence[str] = (), root: Path = ROOT) -> list[Change]:
    """Return `count` changes, each of a line of its own.

    Every line that can be changed is equally likely, then every operator that fits the line, then
    every change by that operator: a line full of numbers counts as one line.
    """
    lines: dict[tuple[str, int], dict[str, list[Change]]] = {}
    for file in files(areas, root):
        for change in changes(file, root):
            operators = lines.setdefault((file, change.line), {})
            operators.setdefault(change.operator, []).append(change)
    chance = random.Random(f"rumor mutants {seed}")
    places = sorted(lines)
    chance.shuffle(places)
    drawn: list[Change] = []
    for place in places:
        if len(drawn) == count:
            break
        operators = lines[place]
        one = chance.choice(operators[chance.choice(sorted(operators))])
        if _LANGUAGES[Path(one.file).suffix].is_valid((root / one.file).read_bytes(), one):
            drawn.append(one)
    return drawn
