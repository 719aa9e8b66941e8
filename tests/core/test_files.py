"""Files are whole or as they were."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from rumor.core import files
from rumor.core.files import whole_file, write_whole


def test_a_written_file_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    write_whole(path, b"old")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_everything_as_it_was(
    tmp_path: Path, problem: type[BaseException]
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def fail() -> None:
        with whole_file(path) as aside:
            aside.write_bytes(b"half of the n")
            raise problem

    with pytest.raises(problem):
        fail()
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]


def test_nothing_is_there_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with whole_file(path) as aside:
        aside.write_bytes(b"half")
        assert not path.exists()
        assert aside.parent == path.parent
        assert aside.name.startswith(".")
        assert aside.suffix == path.suffix
    assert path.read_bytes() == b"half"


def test_a_missing_folder_is_named_as_the_caller_named_it(tmp_path: Path) -> None:
    path = tmp_path / "no" / "a.bin"
    with pytest.raises(FileNotFoundError) as problem:
        write_whole(path, b"x")
    assert problem.value.filename == str(path)


def _written(path: Path) -> None:
    write_whole(path, b"x")


def _appended(path: Path) -> None:
    files.append_for_owner(path, b"x")


def _new(path: Path) -> None:
    with files.new_file(path) as aside:
        aside.write_bytes(b"x")


def _held(path: Path) -> None:
    with files.held_alone(path):
        pass


def _failed(path: Path) -> None:
    with contextlib.suppress(ValueError), whole_file(path):
        raise ValueError


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs a list of open files")
@pytest.mark.parametrize("write", [_written, _appended, _new, _held, _failed])
def test_no_file_is_left_open(tmp_path: Path, write: Callable[[Path], None]) -> None:
    """A service that writes for months would run out of them."""
    before = sorted(file.name for file in Path("/proc/self/fd").iterdir())
    write(tmp_path / "a.bin")
    assert sorted(file.name for file in Path("/proc/self/fd").iterdir()) == before
