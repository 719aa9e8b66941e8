"""Files written atomically: to a temporary file, synced, then renamed into place.

Also objects that are closed: by hand, or at the end of a `with` block.
"""

from __future__ import annotations

import glob
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol, Self

from rumor.core.errors import InputError

PathLike = str | os.PathLike[str]

OWNER_ONLY = 0o600
"""The mode of files that hold reports, counts, ids, keys or tokens."""


@contextmanager
def readable(what: str, path: PathLike) -> Iterator[None]:
    """Explain in one sentence why a text file cannot be read; `what` is "a collection file",
    say.
    """
    file = str(path)
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{what} must exist; got {file!r}") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(
            f"{what} must be readable UTF-8 text; {file!r} is not ({problem})"
        ) from None


@contextmanager
def whole_file(
    path: PathLike, mode: int = 0o644, announce: Callable[[Path], None] | None = None
) -> Iterator[Path]:
    """Yield a path to write to in place of `path`, which is replaced only on success.

    On any error, Ctrl-C included, the temporary file is removed and `path` keeps whatever it held
    before. `announce` is called with the temporary file when it is complete and durable, before it
    takes its place: from then on no error removes it.
    """
    target = Path(path)
    # The suffix stays, since some writers choose their format by it.
    try:
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.stem}.", suffix=target.suffix
        )
    except OSError as problem:
        raise type(problem)(problem.errno, problem.strerror, str(target)) from None
    os.close(handle)
    aside, is_announced = Path(name), False
    try:
        yield aside
        with aside.open("rb+") as file:
            os.fsync(file.fileno())
        aside.chmod(mode)
        if announce is not None:
            is_announced = True
            announce(aside)
        aside.replace(target)
        sync_folder(target.parent)
    except BaseException:
        if not is_announced:
            aside.unlink(missing_ok=True)
        raise


def write_whole(path: PathLike, data: bytes, mode: int = 0o644) -> None:
    """Write `data` to `path` so that the file holds all of it or is as it was."""
    with whole_file(path, mode) as aside:
        aside.write_bytes(data)


def append_for_owner(path: PathLike, data: bytes) -> None:
    """Append `data` to a file of secrets, durably; a new file is readable by its owner alone."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, OWNER_ONLY)
    with os.fdopen(handle, "ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def new_file(path: PathLike) -> Iterator[Path]:
    """Yield a path to create a file at, which appears as `path` once the block is done.

    Raises FileExistsError if `path` exists by then: an existing file is never replaced. Files
    beside it whose names begin with its name (a database's logs) are removed with it when the block
    fails.
    """
    target = Path(path)
    aside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        yield aside
        with aside.open("rb+") as file:
            os.fsync(file.fileno())
        target.hardlink_to(aside)
        sync_folder(target.parent)
    finally:
        for left in aside.parent.glob(f"{glob.escape(aside.name)}*"):
            left.unlink(missing_ok=True)


@contextmanager
def held_alone(lock: Path, patience_s: float = 0.0) -> Iterator[None]:
    """Keep other processes from the block until it ends, or this process does.

    Raises BlockingIOError if another one holds the file `lock` for longer than `patience_s`.
    """
    import sqlite3  # which most commands do without

    with closing(sqlite3.connect(lock, timeout=patience_s, isolation_level=None)) as database:
        lock.chmod(OWNER_ONLY)
        try:
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise BlockingIOError(f"{lock} is held by another process") from None
            raise OSError(None, str(problem), str(lock)) from None  # a full disk, say
        yield
        database.execute("ROLLBACK")


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Closable(Protocol):
    """An object with a `close` method."""

    def close(self) -> None:
        """Release what this object holds; a second call does nothing."""
        ...


class Closing:
    """A mixin that lets a `with` block close an object."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self: Closable, *raised: object) -> None:
        self.close()
