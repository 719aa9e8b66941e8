"""Peak memory, each measured in a process of its own.

The kernel's high-water mark of the process (VmHWM) is read: `ru_maxrss` would start at the
peak of the process that started it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from benchmarks.harness import Row, Scale, ceiling

_MEGABYTE = 1e6

_PRIVATIZE = """
    import numpy as np, rumor
    values = np.random.default_rng(4).integers(0, 1000, {count})
    reports = rumor.UnaryEncoding(domain=1000, epsilon=1.0).privatize(values)
    assert reports.shape == ({count}, 125)
"""

_PEAK = """
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            print(int(line.split()[1]) * 1024)
"""


def run(scale: Scale) -> Iterable[Row]:
    """A million unary reports of 125 bytes."""
    if not Path("/proc/self/status").exists():
        return
    peak = peak_bytes(_PRIVATIZE.format(count=1_000_000))
    yield ceiling(
        "unary privatize, D = 1000", "peak memory of 1,000,000", peak / _MEGABYTE, "MB", 600
    )


def peak_bytes(script: str) -> int:
    """The most memory that a Python script holds at once."""
    return int(run_script(textwrap.dedent(script) + textwrap.dedent(_PEAK)).split()[-1])


def run_script(script: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        check=True,
        capture_output=True,
        text=True,
        env=dict(os.environ),
    )
    return done.stdout
