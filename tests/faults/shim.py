"""The preloaded library: built with the system's compiler, armed in a child of a nursery."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.machine.nursery import Nursery
from tests.needs import needs

MODES = {"fails": 1, "disk is full from": 2, "killed before": 3, "torn at": 4, "killed after": 5}


def build(folder: Path) -> Path:
    """Compile the library."""
    library = folder / "shim.so"
    source = Path(__file__).with_name("shim.c")
    compiler = [str(needs("cc")), "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*compiler, "-o", str(library), str(source), "-ldl"], check=True)
    return library


@contextmanager
def preloaded(folder: Path) -> Iterator[Nursery]:
    """A nursery whose children can be armed."""
    scenarios = tuple(f"tests.faults.{name}_scenario" for name in ("store", "device", "parts"))
    nursery = Nursery(folder, {"LD_PRELOAD": str(build(folder))}, scenarios)
    try:
        yield nursery
    finally:
        nursery.close()


def arm(root: str, at: int, mode: int) -> None:
    """In a child: from now on, count what is written below a folder, and strike at a number."""
    library = ctypes.CDLL(None)
    library.rumor_fault_arm(root.encode(), ctypes.c_long(at), mode)


def calls() -> int:
    """In a child: how many calls there were."""
    library = ctypes.CDLL(None)
    library.rumor_fault_calls.restype = ctypes.c_long
    return int(library.rumor_fault_calls())
