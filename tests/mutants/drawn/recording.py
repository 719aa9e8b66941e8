"""Which tests touch which lines: recorded once for a commit, and kept outside git.

A recording is a folder of layers. The first holds every file of tests; a file of tests that is
new or was changed since is recorded again, alone, in a layer on top. Each layer keeps the sources
of its time, so that its lines can be found again in sources that have moved on.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import coverage

from tests.mutants.catalogue import ROOT
from tests.mutants.trees import Copy

FOLDER = ROOT / "build" / "mutants"
LIMIT_S = 4 * 3600
# Their texts are the sources themselves: any change there breaks them, and none is noticed.
LEFT_OUT = {"tests/test_mutants.py", "tests/test_drawn_mutants.py"}


@dataclass(frozen=True)
class Test:
    """One test that passes, and its seconds."""

    name: str
    seconds: float
    """What the test takes by itself."""
    shared: float = 0.0
    """What it made for the whole file, as the first who needed it."""

    @property
    def file(self) -> str:
        """The file that the test stands in."""
        return self.name.partition("::")[0]


class Layer:
    """One run of tests under the recorder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        self.files: dict[str, str] = about["files"]
        """The files of tests, with the digests of their texts."""
        self._root = Path(about["root"])
        self._data = coverage.CoverageData(str(folder / "lines"))
        self._data.read()
        self.tests = [Test(**one) for one in about["tests"]]

    @functools.lru_cache(maxsize=64)  # noqa: B019 (a layer lives as long as the program)
    def contexts(self, file: str) -> dict[int, frozenset[str]]:
        """Return the tests, or files of tests, that touch each line of today's source `file`."""
        recorded = self._data.contexts_by_lineno(str(self._root / file))
        old = (self._folder / "sources" / file).read_text(encoding="utf-8").splitlines()
        new = (ROOT / file).read_text(encoding="utf-8").splitlines()
        found = {line: frozenset(context) - {""} for line, context in recorded.items()}
        if old == new:
            return found
        blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        moved = {b.a + i + 1: b.b + i + 1 for b in blocks for i in range(b.size)}
        return {moved[line]: tests for line, tests in found.items() if line in moved}

    def knows(self, file: str) -> bool:
        """Return whether `file` was among the sources."""
        return (self._folder / "sources" / file).is_file()


class Recording:
    """All layers together: of each file of tests the newest one counts."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers
        self._newest = {file: layer for layer in layers for file in layer.files}
        self.tests = {
            test.name: test
            for layer in layers
            for test in layer.tests
            if self._newest[test.file] is layer and (ROOT / test.file).is_file()
        }
        self._by_file: dict[str, list[str]] = {}
        for test in self.tests.values():
            self._by_file.setdefault(test.file, []).append(test.name)

    def shared(self, file: str) -> float:
        """Return the seconds of what the tests of a `file` share."""
        return sum(self.tests[name].shared for name in self._by_file.get(file, ()))

    def touching(self, file: str, lines: Iterable[int]) -> set[str]:
        """Return the tests that touch one of these `lines` of a source `file`."""
        wanted, found = set(lines), set()
        for layer in self._layers:
            if not layer.knows(file):
                continue
            for line, contexts in layer.contexts(file).items():
                if line in wanted:
                    found |= {c for c in contexts if self._newest.get(_file(c)) is layer}
        alone = {context for context in found if context in self.tests}
        return alone.union(*(self._by_file.get(context, ()) for context in found))

    def knows(self, file: str) -> bool:
        """Return whether `file` was among the sources."""
        return any(layer.knows(file) for layer in self._layers)

    def lines(self, file: str) -> set[int]:
        """Return the lines of a source `file` that ran, in a test or when it was imported."""
        layers = [layer for layer in self._layers if layer.knows(file)]
        return {line for layer in layers for line in layer.contexts(file)}


def _file(context: str) -> str:
    return context.partition("::")[0]


def files_of_tests(under: Sequence[str] = ()) -> dict[str, str]:
    """Return the files of tests (all, or those below one of these paths) and their digests."""
    paths = {path.relative_to(ROOT).as_posix(): path for path in ROOT.glob("tests/**/test_*.py")}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in sorted(paths.items())
        if name not in LEFT_OUT and (not under or name.startswith(tuple(under)))
    }


def recording(
    *, reuse: bool = False, slow: bool = False, under: Sequence[str] = (), workers: int = 2
) -> Recording:
    """Return the recording of this commit, made or brought up to date first.

    With `reuse` it is the newest one, of whatever commit.
    """
    head = ["git", "rev-parse", "--short=12", "HEAD"]
    commit = subprocess.run(head, cwd=ROOT, capture_output=True, check=True, text=True)
    ending = "-slow" if slow else ""
    folder = FOLDER / "recordings" / (commit.stdout.strip() + ending)
    if reuse:
        kept = [p for p in folder.parent.glob("*") if p.name.endswith("-slow") == slow]
        folder = max(kept, key=lambda path: path.stat().st_mtime, default=folder)
    layers = [Layer(path) for path in sorted(folder.glob("layer-*"))]
    known = {file: digest for layer in layers for file, digest in layer.files.items()}
    wanted = {f: d for f, d in files_of_tests(under).items() if known.get(f) != d}
    if wanted:
        print(f"recording what {len(wanted)} files of tests touch", flush=True)
        place = folder / f"layer-{len(layers):03}"
        _record(place, wanted, slow=slow, workers=workers)
        layers.append(Layer(place))
    return Recording(layers)


def _record(place: Path, files: dict[str, str], *, slow: bool, workers: int) -> None:
    """Run these files of tests under the recorder, in a copy of the tree."""
    begun = time.monotonic()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rumor-recording-") as temporary:
        copy, raw = Copy(Path(temporary) / "tree"), Path(temporary) / "raw"
        options = ["--slow"] if slow else []
        parallel = ["-n", str(workers), "--dist", "loadfile"] if workers > 1 else []
        ending = copy.pytest(
            ["-p", "tests.mutants.drawn.recorder", *options, *parallel, *files],
            limit_s=LIMIT_S,
            environment={"RUMOR_RECORDING": str(raw)},
            shown=True,
        )
        if ending.status not in (0, 1):  # all tests ran, and passed or failed
            raise RuntimeError(f"the recording broke off (pytest's exit status {ending.status})")
        times = [json.loads(line) for path in raw.glob("*.jsonl") for line in path.open()]
        failed = [one["test"] for one in times if "failed" in one]
        still = _still_failing(copy, failed, options)
        tests = [_timed(one) for one in times if "skipped" not in one and one["test"] not in still]
        made = Path(temporary) / "layer"
        shutil.copytree(copy.root / "src", made / "sources" / "src")
        combined = coverage.Coverage(data_file=str(made / "lines"))
        combined.combine([str(path) for path in raw.glob("lines.*")])
        combined.save()
        about = {"root": str(copy.root), "files": files, "tests": [vars(test) for test in tests]}
        (made / "about.json").write_text(json.dumps(about), encoding="utf-8")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made, place)
        os.utime(place.parent)
    print(
        f"recorded {len(tests)} tests in {time.monotonic() - begun:.0f} s; "
        f"{len(failed)} failed under the recorder, {len(still)} of them also without it"
    )
    for name in sorted(still):
        print(f"never chosen, since it fails in a copy of the tree: {name}")


def _still_failing(copy: Copy, tests: Sequence[str], options: Sequence[str]) -> set[str]:
    """Return which of `tests` fail without the recorder too."""
    if not tests:
        return set()
    return set(copy.pytest([*options, *tests], limit_s=LIMIT_S).failed(tests))


def _timed(one: dict[str, float | str]) -> Test:
    phases = [one.get(phase, 0.0) for phase in ("setup", "call", "teardown")]
    shared = float(one.get("shared", 0.0))
    whole = sum(float(seconds) for seconds in phases)
    return Test(str(one["test"]), max(0.0, whole - shared), shared)
