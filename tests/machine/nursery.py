"""A process that has everything loaded, and forks: a command of Rumor's starts in a moment.

Each child is a process of its own that runs `rumor ...` as from a terminal: it can be stopped
between two transactions, starved of disk, and killed. The nursery may be started under a
preloaded library, which its children then share.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.machine.clock import Clock

_DEADLINE = 120.0


@dataclass(frozen=True)
class Child:
    """A process that a nursery started, and the files that hold what it said."""

    nursery: Nursery
    pid: int
    out: Path
    err: Path

    def state(self) -> str:
        """The letter that the system has for the state of a process."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return "Z"

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Sleep until something is so, or the process has ended or stopped."""
        deadline = time.monotonic() + _DEADLINE
        while not ready() and self.state() not in "ZXT":
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.002)

    def stopped(self) -> bool:
        """Wait until it stops itself or ends; whether it did the former."""
        self.wait_until(lambda: False)
        return self.state() == "T"

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Its exit status, negative for a signal."""
        assert not self.stopped(), self.said()
        return int(self.nursery.ask({"wait": self.pid})["status"])

    def kill(self) -> int:
        self.signal(signal.SIGKILL)
        return self.wait()

    def said(self) -> str:
        return self.err.read_text(errors="replace") if self.err.exists() else ""


class Nursery:
    """The parent of such processes."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        modules: tuple[str, ...] = (),
        source: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Load what children need, of `source` if given; theirs is a clock of others, if given."""
        self._folder, self._born = folder, 0
        self.clock = clock or Clock(folder / "clock")
        root = Path(__file__).parents[2]
        given = [str(source or ""), os.environ.get("PYTHONPATH", ""), str(root)]
        paths = [path for path in given if path]
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from tests.machine.nursery import run; run(*{modules!r})"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **(environment or {})},
        )
        assert self.ask({})["ready"]

    def ask(self, request: Mapping[str, object]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def start(
        self, target: str, arguments: Sequence[object], *, cwd: Path, brake: int = 0
    ) -> Child:
        """Fork a child that calls `module:function` with these arguments."""
        self._born += 1
        out, err = (self._folder / f"{self._born}.{name}" for name in ("out", "err"))
        request = {
            "target": target,
            "arguments": arguments,
            "out": str(out),
            "err": str(err),
            "cwd": str(cwd),
            "clock": str(self.clock.path),
            "brake": brake,
        }
        return Child(self, int(self.ask(request)["pid"]), out, err)

    def command(self, arguments: Sequence[str], *, cwd: Path, brake: int = 0) -> Child:
        """Fork a child that runs `rumor` with these arguments."""
        return self.start("rumor.cli:main", [list(arguments)], cwd=cwd, brake=brake)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()
        self.clock.close()


def run(*modules: str) -> None:
    """The nursery itself: requests in, answers out, a line of JSON each."""
    _load(modules)
    children: set[int] = set()
    answers = sys.stdout
    for line in sys.stdin:
        request = json.loads(line)
        if "target" in request:
            answers.flush()
            pid = os.fork()
            if pid == 0:
                _live(request)
            children.add(pid)
            answer: dict[str, object] = {"pid": pid}
        elif "wait" in request:
            answer = {"status": _reaped(int(request["wait"]))}
            children.discard(int(request["wait"]))
        else:
            answer = {"ready": True}
        print(json.dumps(answer), file=answers, flush=True)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _reaped(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _load(modules: Sequence[str]) -> None:
    """What every child needs, loaded once."""
    import pyarrow as pa
    import typer.main

    for name in ("backup", "estimating", "http.app", "http.server", "service", "relay.app"):
        importlib.import_module(f"rumor.collector.{name}")
    for name in ("postgres", "sqlite"):
        importlib.import_module(f"rumor.collector.store.dialects.{name}")
    # Arrow loads pandas by itself when it makes its first table.
    for name in ("pandas", "pyarrow.compute", "tests.machine.commands", *modules):
        importlib.import_module(name)
    # Threads do not survive a fork: none may be running.
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    # The parser of the command line is made once, and not again in every child.
    typer.main.get_command = functools.cache(typer.main.get_command)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for command in ("serve", "relay", "collections", "export", "import", "invite"):
            importlib.import_module("rumor.cli").main([command, "--no-such-option"])
            importlib.import_module("rumor.cli").main([command, "--help"])
    gc.collect()
    gc.freeze()


def _live(request: Mapping[str, Any]) -> None:
    """In the child: run what was asked for, and end with its status."""
    status = 70
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # no child outlives the nursery
        for path, handle in ((request["out"], 1), (request["err"], 2)):
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(opened, handle)
            os.close(opened)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False, buffering=1)
        os.chdir(request["cwd"])
        _keep_time(Clock(Path(request["clock"])), int(request["brake"]))
        module, _, function = str(request["target"]).partition(":")
        found = getattr(importlib.import_module(module), function)(*request["arguments"])
        status = int(found or 0)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _keep_time(clock: Clock, brake: int) -> None:
    """Let the collector live by the shared clock, and stop at its transactions' ends."""
    from rumor.collector import service
    from rumor.collector.store import base, database
    from rumor.collector.store.dialects import postgres, sqlite

    real = base.today
    # Those that have its name, which differ from version to version.
    loaded = [module for name, module in sys.modules.items() if name.startswith("rumor.collector.")]
    living = [module for module in loaded if getattr(module, "today", None) is real]
    assert {"ingest", "store"} <= {module.__name__.rpartition(".")[2] for module in living}
    for module in living:
        setattr(module, "today", clock.today)  # noqa: B010 (not for others to use)
    assert hasattr(service, "time")
    setattr(service, "time", SimpleNamespace(monotonic=clock.monotonic))  # noqa: B010
    if hasattr(database, "Snapshot"):  # the first release has none, and runs no relay here
        wall = importlib.import_module("rumor.collector.clock")
        assert hasattr(wall, "now")
        setattr(wall, "now", clock.releases)  # noqa: B010
    for owner, name in (
        (sqlite._Connection, "transaction"),
        (postgres._Connection, "transaction"),
        (postgres._Connection, "pipeline"),
        (getattr(database, "Snapshot", database.Database), "reading"),
    ):
        setattr(owner, name, _braked(getattr(owner, name), clock, brake))


def _braked(method: Callable[..., Any], clock: Clock, brake: int) -> Callable[..., Any]:
    @contextlib.contextmanager
    def transaction(*arguments: Any, **options: Any) -> Iterator[Any]:
        clock.passing(brake)
        with method(*arguments, **options) as run:
            yield run
        clock.passing(brake)

    return transaction
