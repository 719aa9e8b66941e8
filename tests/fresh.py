"""What a fresh process has loaded after running a program."""

from __future__ import annotations

import subprocess
import sys


def modules_after(program: str) -> set[str]:
    """The names of all modules that are loaded once the program has run."""
    script = f"{program}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())
