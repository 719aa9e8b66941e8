"""Which tests are run for a change: those that touch its line, the fastest first."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from tests.mutants.catalogue import ROOT
from tests.mutants.drawn.change import Change
from tests.mutants.drawn.recording import Recording

# Golden output, which is written anew without a thought: asked last.
GOLDEN = "tests/test_docs.py"
# Options of commands are built as their modules are loaded.
COMMANDS, HELP = "src/rumor/cli/", "tests/cli/test_help.py"
# These read defaults off signatures and what is shown off fields, and run no line of theirs.
CENSUSES = ("tests/test_defaults.py", "tests/results/test_shown.py")
# Compiled loops leave no trace of their lines; each is held to its plain twin.
COMPILED, TWINS = "core/loops/compiled/", "tests/core/test_loops.py"
LOAD_S = 0.4  # seconds to load a file of tests
QUICK_S = 8.0  # seconds of the tests that are run before the others are even loaded
MOST_TESTS = 1500  # of one run; a command line has an end
_DEPTH = 3  # how far a name is followed to the lines that use it


@dataclass(frozen=True)
class Chosen:
    """Tests in the order they are run, and the seconds they need."""

    tests: tuple[str, ...]
    among: int
    """How many could have been chosen."""
    seconds: float
    longest: float
    """The seconds of the longest of them, with what its file's tests share."""
    touch: bool
    """Whether one of them touches the line, or a line that uses it."""
    quick: int = 0
    """The number of tests, from the first one, that are run before the others are loaded."""
    quick_seconds: float = 0.0

    def rounds(self) -> list[Chosen]:
        """Return the quick tests and then the others, where there are both.

        Pytest loads every file that it is given before it runs a test. Most bugs are caught by a
        quick test, and then nothing else needs to be loaded.
        """
        if not 0 < self.quick < len(self.tests):
            return [self]
        rest_s = self.seconds - self.quick_seconds
        return [
            replace(self, tests=self.tests[: self.quick], seconds=self.quick_seconds, quick=0),
            replace(self, tests=self.tests[self.quick :], seconds=rest_s, quick=0),
        ]


def choose(recording: Recording, change: Change, limit_s: float) -> Chosen:
    """Return the tests for a `change` that fit into `limit_s` seconds."""
    picked: list[str] = []
    known: set[str] = set()
    spent = 0.0
    touch = False
    for touches, tests in _tiers(recording, change):
        for golden in (False, True):
            ours = [t for t in tests - known if (_file(t) == GOLDEN) == golden]
            spent = _fill(recording, ours, picked, spent, limit_s)
        known |= tests
        touch = touch or (touches and bool(tests))
    files: dict[str, list[str]] = {}
    for name in picked:
        files.setdefault(_file(name), []).append(name)

    def cost(file: str) -> float:
        own = sum(recording.tests[name].seconds for name in files[file])
        return own + recording.shared(file) + LOAD_S

    order = sorted(files, key=lambda file: (file == GOLDEN, cost(file), file))
    names = tuple(name for file in order for name in _in_order(recording, files[file]))
    longest = max((recording.tests[name].seconds for name in picked), default=0.0)
    shared = max((recording.shared(file) for file in files), default=0.0)
    costs = list(accumulate(map(cost, order)))
    quick = [spent_s for spent_s in costs if spent_s <= QUICK_S]
    return Chosen(
        names,
        len(known),
        seconds=sum(map(cost, files)),
        longest=longest + shared,
        touch=touch,
        quick=sum(len(files[file]) for file in order[: len(quick)]),
        quick_seconds=max(quick, default=0.0),
    )


def _fill(
    recording: Recording, tests: Sequence[str], picked: list[str], spent: float, limit_s: float
) -> float:
    """Add tests to `picked`, in turn the fastest of each file, while seconds are left."""
    queues: dict[str, list[str]] = {}
    for name in sorted(tests, key=lambda name: (recording.tests[name].seconds, name)):
        queues.setdefault(_file(name), []).append(name)
    open_files = {_file(name) for name in picked}
    while queues:
        for file in list(queues):
            name = queues[file].pop(0)
            seconds = recording.tests[name].seconds
            if file not in open_files:
                seconds += recording.shared(file) + LOAD_S
            full = spent + seconds > limit_s or len(picked) >= MOST_TESTS
            if full and picked:  # the first one always runs
                del queues[file]
                continue
            picked.append(name)
            open_files.add(file)
            spent += seconds
            if not queues[file]:
                del queues[file]
    return spent


def _tiers(recording: Recording, change: Change) -> Iterator[tuple[bool, set[str]]]:
    """Yield sets of tests, the nearest first: of the line, of lines that use it, of the file.

    With each set comes whether it touches the line, as far as anybody can know.

    A line that runs when its module is loaded is touched by whoever loads it first. Such a line
    belongs to the tests of what it is the head of, and of the lines that name what it sets; an
    option of a command, to those of its help; a default or a field, to their censuses too. Compiled
    loops leave no trace either: they belong to the tests of twins, and to the lines that call them.
    """
    scope = change.scope
    if change.operator == "changed default" or scope.at_import:
        censuses = {name for name in recording.tests if _file(name) in CENSUSES}
        yield change.operator == "changed default", censuses
    if COMPILED in change.file:
        yield True, {name for name in recording.tests if _file(name) == TWINS}
    if not scope.at_import:
        exact = recording.touching(change.file, [change.line])
        lines = range(scope.statement[0], scope.statement[1] + 1)
        found = exact or recording.touching(change.file, lines)
        yield True, found
        if found:
            return
        yield COMPILED in change.file, _users(recording, change)
    elif scope.body is not None:
        found = recording.touching(change.file, range(scope.body[0], scope.body[1] + 1))
        yield True, found
        yield COMPILED in change.file, set() if found else _users(recording, change)
    else:
        if change.file.startswith(COMMANDS):
            yield True, {name for name in recording.tests if _file(name) == HELP}
        yield True, _users(recording, change, only=change.file)
        yield True, _users(recording, change)
    yield False, recording.touching(change.file, _inner_lines(change.file))


def _users(recording: Recording, change: Change, only: str = "") -> set[str]:
    """Return the tests of lines that name what the change is part of, through compiled loops."""
    names, found = set(change.scope.names), set[str]()
    for _ in range(_DEPTH):
        callers: set[str] = set()
        for name in sorted(names):
            for file, lines in _mentions(name).items():
                if only in ("", file):
                    found |= recording.touching(file, [line for line, _ in lines])
                    callers |= {function for _, function in lines if function}
        if found or callers <= names:
            break
        names = callers
    return found


@functools.lru_cache(maxsize=1024)
def _mentions(name: str) -> dict[str, list[tuple[int, str]]]:
    """Return the lines of functions that name something, with those functions, by file."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    found: dict[str, list[tuple[int, str]]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not word.search(text):
            continue
        file = path.relative_to(ROOT).as_posix()
        inside, rows = _functions(file), text.splitlines()
        lines = [
            (n, inside[n])
            for n, row in enumerate(rows, start=1)
            if n in inside and word.search(row)
        ]
        if lines:
            found[file] = lines
    return found


@functools.lru_cache(maxsize=1024)
def _functions(file: str) -> dict[int, str]:
    """Return the lines of a file that stand in a function's body, with the function's name."""
    import ast

    found: dict[int, str] = {}
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for line in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1):
                found[line] = node.name  # of functions within functions the inner one comes later
    return found


def _inner_lines(file: str) -> Sequence[int]:
    """Return the lines of a file that do not just run when it is loaded."""
    if file.endswith(".py"):
        return sorted(_functions(file))
    return range(1, (ROOT / file).read_text(encoding="utf-8").count("\n") + 2)


def _in_order(recording: Recording, names: Sequence[str]) -> list[str]:
    """Return tests of one file in the order in which they were recorded."""
    place = _places(recording)
    return sorted(names, key=place)


@functools.lru_cache(maxsize=4)
def _places(recording: Recording) -> Callable[[str], int]:
    places = {name: place for place, name in enumerate(recording.tests)}
    return places.__getitem__


def _file(test: str) -> str:
    return test.partition("::")[0]
