"""Settings for every test: the same examples at every run, and what takes long only when asked."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import fnmatch
import gc
import hashlib
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from hypothesis import settings

from rumor.core import randomness

if TYPE_CHECKING:
    from tests.collector.postgres import Postgres

# Seconds after which a slow test hangs; others have the limit in pyproject.toml.
SLOW_LIMIT_S = 3600
# Seconds beyond its limit after which a test that no signal ends takes its process along.
LAST_RESORT_S = 60

# Derandomised, so that a run proves the same thing every time and cannot flake; without a
# deadline, since compiled loops load at their first call and the machine is shared.
settings.register_profile("rumor", derandomize=True, deadline=None, database=None, max_examples=25)
settings.register_profile("thorough", settings.get_profile("rumor"), max_examples=100)
settings.load_profile("rumor")

# Files and folders of tests that take long, the longest first. Workers take files in this order.
LONGEST = (
    "tests/laws/test_laws.py",
    "tests/analysis/test_spark.py",
    "tests/test_docs.py",
    "tests/cli/test_foreign_text.py",
    "tests/joins/",
    "tests/laws/",
    "tests/machine/",
    "tests/browser/",
    "tests/relay/",
    "tests/privacy/",
    "tests/client/",
)

# The laws are plain functions in modules of their own: let their assertions explain themselves.
pytest.register_assert_rewrite("tests.laws.laws", "tests.laws.oracle_laws", "tests.laws.chance")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What a device draws is a test's own, and the same at every run: none depends on its luck.

    Where a test starts processes of their own, those draw from the operating system as ever.
    """
    calls = iter(range(1 << 62))

    def urandom(count: int) -> bytes:
        return hashlib.shake_256(f"{item.nodeid} {next(calls)}".encode()).digest(count)

    randomness.os = SimpleNamespace(**{**vars(os), "urandom": urandom})  # type: ignore[assignment,attr-defined]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Start a PostgreSQL server, or join the one that another worker started."""
    from tests.collector.postgres import Postgres

    server = Postgres.shared()
    yield server
    server.release()


# Where the collector reads the time: a test may set another, and must put it back.
CLOCKS = (
    ("rumor.collector.clock", "now"),
    ("rumor.collector.store.ingest", "today"),
    ("rumor.collector.store.withdrawal", "today"),
    ("rumor.collector.periodic", "today"),
    ("rumor.collector.relay.store", "today"),
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Fail where a test leaves the collector another time: the tests after it would live by it."""
    yield
    for module, name in CLOCKS:
        if module in sys.modules:
            whose = str(getattr(getattr(sys.modules[module], name), "__module__", None))
            assert whose.startswith("rumor."), f"{item.nodeid} left its own {module}.{name}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End the process of a test that does not heed the signal of its timeout.

    A compiled loop never sees a signal, and Hypothesis tries again what a signal made fail.
    """
    marker = item.get_closest_marker("timeout")
    limit_s = float(marker.args[0] if marker else item.config.getini("timeout"))
    stderr = item.config.stash[fault_handler_stderr_fd_key]
    faulthandler.dump_traceback_later(limit_s + LAST_RESORT_S, exit=True, file=stderr)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_configure(config: pytest.Config) -> None:
    """Where there is time, laws are tried on more examples."""
    if config.getoption("--slow"):
        settings.load_profile("thorough")


def pytest_collection(session: pytest.Session) -> None:
    """Import this worker's part of the tests first: pytest rewrites each file in one worker then.

    Rewriting takes longer than all else that a collection does, and a worker finds on the disk
    what another one has rewritten. Nothing that is imported here is garbage, so that none is looked
    for either.
    """
    gc.disable()
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    folders = [path for path in map(Path, session.config.args) if path.is_dir()]
    files = sorted({file for folder in folders for file in folder.rglob("test_*.py")})
    mine = slice(int(worker["workerid"].removeprefix("gw")), None, worker["workercount"])
    for file in files[mine]:
        # A module that cannot be imported is reported where it is collected.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            name = file.resolve().relative_to(session.config.rootpath).with_suffix("")
            importlib.import_module(".".join(name.parts))


def pytest_collection_finish() -> None:
    """Let no search for garbage look through modules and tests, which stay until the end."""
    gc.freeze()
    atexit.register(gc.unfreeze)  # duckdb reports what is never freed as a leak
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """--slow: also what `make soak` runs of these tests."""
    parser.addoption("--slow", action="store_true", help="also tests that take long")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long, so that everything else is run often."""
    for item in items:
        if item.get_closest_marker("one_store") and "postgresql" in item.name:
            item.add_marker("slow")
        if _is_slow_case(item):
            item.add_marker("slow")
        takes_long = item.get_closest_marker("slow") or item.nodeid.startswith("tests/soak/")
        if takes_long and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_LIMIT_S))
    items.sort(key=_longest_file_first)
    if config.getoption("--slow"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


def _is_slow_case(item: pytest.Item) -> bool:
    """Return whether the marker `slow_cases` of a test lists the id of this case, by a pattern."""
    marker = item.get_closest_marker("slow_cases")
    if marker is None or not isinstance(item, pytest.Function):
        return False
    return any(fnmatch.fnmatchcase(item.callspec.id, pattern) for pattern in marker.args)


def _longest_file_first(item: pytest.Item) -> int:
    """Return the place of a test's file: a file that takes long must not be the last to begin."""
    places = (place for place, name in enumerate(LONGEST) if item.nodeid.startswith(name))
    return next(places, len(LONGEST))
