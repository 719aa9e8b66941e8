"""Copies of the working tree, in which bugs are planted and tests are run."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.mutants.catalogue import ROOT


@dataclass(frozen=True)
class Ending:
    """How a run of pytest ended."""

    status: int | None
    """The exit status; None for a run that was stopped after its limit."""
    output: str

    @property
    def first_failure(self) -> str:
        """The line that names the first test that failed, or the end of the output."""
        lines = self.output.splitlines()
        failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        return failures[0] if failures else self.output[-300:]

    @property
    def lacks_tests(self) -> bool:
        """Whether tests that were named are not there, although their files were loaded."""
        lines = self.output.splitlines()
        is_lacking = any(line.startswith("ERROR: not found: ") for line in lines)
        is_broken = any(line.startswith(("ERROR tests", "ERROR: found no coll")) for line in lines)
        return self.status == 4 and is_lacking and not is_broken

    def failed(self, tests: Sequence[str]) -> list[str]:
        """Return which of `tests` failed, in the order in which pytest lists them."""
        known, found = set(tests), []
        for line in self.output.splitlines():
            word, _, rest = line.partition(" ")
            if word in ("FAILED", "ERROR"):
                parts = rest.split(" - ")  # a name and a message; a name may hold one too
                names = [" - ".join(parts[: n + 1]) for n in range(len(parts))]
                found += [name for name in names if name in known][-1:]
        return found


class Copy:
    """A working tree of its own, with its own cache of compiled loops."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        for name in listed(ROOT):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(folder / "src"),
            "NUMBA_CACHE_DIR": str(folder / ".numba"),
        }

    def pytest(
        self,
        arguments: Sequence[str],
        *,
        limit_s: float,
        environment: Mapping[str, str] | None = None,
        shown: bool = False,
    ) -> Ending:
        """Run pytest with `arguments`; stop it and all its processes after `limit_s` seconds.

        Where it is `shown`, it writes to the terminal, and the ending holds no output.
        """
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        # A file, no pipe: what a test leaves running would hold a pipe open.
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                command, cwd=self.root, env={**self._environment, **(environment or {})},
                stdout=None if shown else output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                status: int | None = process.wait(timeout=limit_s)
            except subprocess.TimeoutExpired:
                _kill(process)
                status = None
            output.seek(0)
            said = output.read().decode(errors="replace")
        return Ending(status, said if status is not None else f"ran past {limit_s:.0f} s")

    @contextlib.contextmanager
    def holding(self, file: Path, text: bytes) -> Iterator[None]:
        """Keep `text` in `file` for a while, then the file as it was.

        Python's compiled files are judged by the time of their source: what was compiled of the
        file before is good again afterwards.
        """
        path = self.root / file
        whole, written = path.read_bytes(), path.stat().st_mtime_ns
        path.write_bytes(text)
        try:
            yield
        finally:
            path.write_bytes(whole)
            os.utime(path, ns=(written, written))


def listed(root: Path) -> list[str]:
    """Return the files of a working tree that git knows or does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True)
    return [name for name in sorted({*done.stdout.split("\0")} - {""}) if (root / name).is_file()]


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and everything that it started, browsers and databases too."""
    with contextlib.suppress(psutil.NoSuchProcess):
        children = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGKILL)
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
    process.wait()
