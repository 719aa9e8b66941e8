"""A pytest plugin that records which test touches which line, and how long each test takes.

    RUMOR_RECORDING=FOLDER python -m pytest -p tests.mutants.drawn.recorder tests

Python's lines are seen by coverage.py, with a context for each test, in the processes that a test
starts too. JavaScript's lines are seen by V8, in Node and in Chromium. Everything ends in FOLDER:
data files of coverage.py, and a line of JSON for each test.

What several tests share runs once, and its lines would be the first test's alone. So a fixture of
a wider scope than one test, and a cached helper of the tests, is recorded for the whole file
(a context without `::`), and caches of the code under test are emptied before each test.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import coverage
import pytest

from tests.mutants.drawn import v8

FOLDER = Path(os.environ.get("RUMOR_RECORDING", "build/mutants/recording")).resolve()
SOURCES = Path.cwd() / "src" / "rumor"
# Read by the configuration of coverage.py, in the processes that a test starts.
CONTEXT, V8_FOLDER = "RUMOR_RECORDING_CONTEXT", "NODE_V8_COVERAGE"
_CONFIGURATION = f"""[run]
source = {SOURCES}
data_file = {FOLDER / "lines"}
parallel = true
sigterm = true
context = ${{{CONTEXT}-}}
disable_warnings =
    couldnt-parse
    dynamic-conflict
    include-ignored
    module-not-imported
    module-not-measured
    module-not-python
    no-data-collected
    already-imported
    trace-changed
"""


class Recorder:
    """What is recorded of one process that runs tests."""

    def __init__(self) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        configuration = FOLDER / f"coverage-{os.getpid()}.ini"
        configuration.write_text(_CONFIGURATION, encoding="utf-8")
        self._coverage = coverage.Coverage(config_file=str(configuration))
        self._coverage.start()
        os.environ["COVERAGE_PROCESS_START"] = str(configuration)
        suffix = f"javascript-{os.getpid()}"
        self._scripts = coverage.CoverageData(str(FOLDER / "lines"), suffix=suffix)
        self._context = ""
        self._file = ""
        self._caches: list[tuple[str, Any]] = []
        self._modules_seen = 0
        self.chromium = v8.Chromium()
        self.seconds: dict[str, defaultdict[str, float]] = {}

    def enter(self, context: str) -> None:
        """Record what runs from now on for `context`: a test, a file of tests, or nobody."""
        self._collect_scripts()
        self._context = context
        os.environ[CONTEXT] = context
        place = hashlib.sha256(context.encode()).hexdigest()[:16]
        os.environ[V8_FOLDER] = str(FOLDER / "v8" / f"{os.getpid()}-{place}")
        self._coverage.switch_context(context)

    @contextmanager
    def for_the_file(self) -> Iterator[None]:
        """Record what runs inside for the file of the present test."""
        before = self._context
        self.enter(before.partition("::")[0])
        try:
            yield
        finally:
            self.enter(before)

    def begin(self, test: str) -> None:
        """Begin a test with empty caches."""
        file = test.partition("::")[0]
        for module, cached in self._known_caches():
            if file != self._file or module.startswith("rumor"):
                cached.cache_clear()
        self._file = file
        self.seconds[test] = defaultdict(float)
        self.enter(test)

    def end(self) -> None:
        """Keep everything that was recorded."""
        self.enter("")
        self._coverage.stop()
        self._coverage.save()
        shutil.rmtree(FOLDER / "v8", ignore_errors=True)

    def _collect_scripts(self) -> None:
        """Keep the lines of the scripts that ran for the present context."""
        reports = self.chromium.take()
        folder = Path(os.environ.get(V8_FOLDER, ""))
        for path in sorted(folder.glob("*.json")) if self._context else ():
            try:
                reports += json.loads(path.read_text(encoding="utf-8"))["result"]
            except (ValueError, KeyError):
                continue  # a process that was stopped while it wrote
            path.unlink()
        lines = v8.lines(reports, SOURCES)
        if lines and self._context:
            self._scripts.set_context(self._context)
            self._scripts.add_lines(lines)

    def _known_caches(self) -> list[tuple[str, Any]]:
        """Return the caches of functions in modules of ours, with the names of the modules."""
        if len(sys.modules) != self._modules_seen:
            self._modules_seen = len(sys.modules)
            self._caches = [
                (name, value)
                for name, module in list(sys.modules.items())
                if name.startswith(("rumor", "tests"))
                for held in (module, *_classes(module))
                for value in list(vars(held).values())
                if isinstance(value, functools._lru_cache_wrapper)
            ]
        return self._caches


def _classes(module: object) -> list[type]:
    return [value for value in list(vars(module).values()) if isinstance(value, type)]


RECORDER: Recorder | None = None
_lru_cache = functools.lru_cache


def _patient_cache(function: Callable[..., Any]) -> Any:
    """Cache a function; of a helper of the tests, record the first call for the whole file."""
    if not function.__module__.startswith("tests"):
        return _lru_cache(maxsize=None)(function)

    @functools.wraps(function)
    def recorded(*arguments: Any, **keywords: Any) -> Any:
        if RECORDER is None:
            return function(*arguments, **keywords)
        with RECORDER.for_the_file():
            return function(*arguments, **keywords)

    return _lru_cache(maxsize=None)(recorded)


functools.cache = _patient_cache  # before any test is loaded


def pytest_configure(config: pytest.Config) -> None:
    """Record in processes that run tests: not in the one that hands them out."""
    global RECORDER
    if not (config.getoption("numprocesses", None) and not hasattr(config, "workerinput")):
        RECORDER = Recorder()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Record a test from its set-up to its end."""
    assert RECORDER is not None
    RECORDER.begin(item.nodeid)
    yield
    RECORDER.enter("")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Record what a file's tests share for the file."""
    if RECORDER is None or fixturedef.scope == "function":
        return (yield None)
    begun = time.perf_counter()
    with RECORDER.for_the_file():
        made = yield None
    times = next(reversed(RECORDER.seconds.values()))
    times["shared"] += time.perf_counter() - begun
    return made


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add the seconds of a phase; a test that fails or is skipped says so."""
    if RECORDER is None or report.nodeid not in RECORDER.seconds:
        return
    times = RECORDER.seconds[report.nodeid]
    times[report.when] += report.duration
    if report.outcome != "passed":
        times[report.outcome] = 1


def pytest_sessionfinish() -> None:
    """Write the tests of this process."""
    if RECORDER is None:
        return
    RECORDER.end()
    with (FOLDER / f"tests-{os.getpid()}.jsonl").open("w", encoding="utf-8") as file:
        for test, times in RECORDER.seconds.items():
            file.write(json.dumps({"test": test, **times}) + "\n")
