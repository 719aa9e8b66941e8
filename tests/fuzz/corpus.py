"""The corpus: inputs that a search found worth keeping, a line of base64 each.

`python -m tests.fuzz.corpus TARGET FOLDER` adds the files of a folder, and keeps of all inputs
as few as reach the same code. Findings are kept for ever: they come first, before the line
that says so.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.machine.quick import quick_folder

_FOLDER = Path(__file__).with_name("corpus")
_LINE = "# reached"
_MOST_BYTES = 4_000


def kept(name: str) -> tuple[list[bytes], list[bytes]]:
    """The findings of a target, and what else its corpus has."""
    path = _FOLDER / f"{name}.txt"
    findings, _, reached = (path.read_text() if path.exists() else "").partition(f"{_LINE}\n")
    first, second = (
        [base64.b64decode(line, validate=True) for line in part.splitlines()]
        for part in (findings, reached)
    )
    return first, second


def write(name: str, findings: Iterable[bytes], reached: Iterable[bytes]) -> None:
    """Replace the corpus of a target."""

    def lines(inputs: Iterable[bytes]) -> list[str]:
        ordered = sorted(set(inputs), key=lambda data: (len(data), data))
        return [base64.b64encode(data).decode() for data in ordered]

    text = "\n".join([*lines(findings), _LINE, *lines(reached)])
    (_FOLDER / f"{name}.txt").write_text(f"{text}\n")


def put(folder: Path, inputs: Iterable[bytes]) -> None:
    """Inputs as files, as a search takes them."""
    folder.mkdir(parents=True, exist_ok=True)
    for data in inputs:
        (folder / hashlib.sha256(data).hexdigest()[:20]).write_bytes(data)


def add(name: str, found: Path) -> None:
    """Add files; those called crash-... are findings."""
    findings, reached = kept(name)
    findings += [path.read_bytes() for path in found.glob("crash-*")]
    with quick_folder("corpus") as folder:
        put(folder / "all", [*reached, *findings])
        put(folder / "all", [path.read_bytes() for path in found.iterdir()])
        (folder / "few").mkdir()
        search = [sys.executable, "-m", "tests.fuzz.search", name, f"-max_len={_MOST_BYTES}"]
        subprocess.run(
            [*search, "-merge=1", str(folder / "few"), str(folder / "all")],
            check=True,
            capture_output=True,
        )
        few = [path.read_bytes() for path in (folder / "few").iterdir()]
    write(name, findings, set(few) - set(findings))
    print(f"{name}: {len(findings)} findings and {len(few)} inputs that reach everything")


if __name__ == "__main__":
    add(sys.argv[1], Path(sys.argv[2]))
