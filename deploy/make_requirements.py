"""Write deploy/requirements.txt: every package of the container, with the hashes of its wheels.

    python deploy/make_requirements.py

Asks pip what it would install for the container's Python on each of its machines, with the
versions of constraints.txt, and keeps what it answers. Nothing is installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "deploy" / "requirements.txt"
PYTHON = "3.12"
MACHINES = ("x86_64", "aarch64")
GLIBC = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")


def wanted(extra: str | None = None) -> set[str]:
    """The requirements of the base and of an extra, those of its parts included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: set[str] = set()
    lines = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    for line in lines:
        if parts := re.fullmatch(r"rumor\[(.+)\]", line):
            for part in parts[1].split(","):
                found |= wanted(part)
        else:
            found.add(line.split(";")[0].strip())
    return found


def resolved(machine: str, python: str) -> dict[str, tuple[str, str]]:
    """What pip would install there: names, with version and hash."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        platforms = [f"--platform={libc}_{machine}" for libc in GLIBC]
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"),
                *("--ignore-installed", "--only-binary=:all:", "--implementation=cp"),
                *(f"--python-version={python}", *platforms, f"--target={folder}/none"),
                *(f"--report={report}", f"--constraint={ROOT / 'constraints.txt'}"),
                *sorted(wanted() | wanted("server")),
            ],
            check=True,
        )
        entries = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {
        re.sub(r"[-_.]+", "-", entry["metadata"]["name"]).lower(): (
            entry["metadata"]["version"],
            entry["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for entry in entries
    }


def requirements(python: str = PYTHON, machines: Sequence[str] = MACHINES) -> str:
    """Every package with its version and hashes, for these machines."""
    pins: dict[tuple[str, str], set[str]] = {}
    for machine in machines:
        for name, (version, digest) in resolved(machine, python).items():
            pins.setdefault((name, version), set()).add(digest)
    lines = [
        f"# Python {python} on {' and '.join(machines)}; written by deploy/make_requirements.py."
    ]
    for (name, version), digests in sorted(pins.items()):
        hashes = " \\\n".join(f"    --hash=sha256:{digest}" for digest in sorted(digests))
        lines.append(f"{name}=={version} \\\n{hashes}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the file."""
    made = requirements()
    OUT.write_text(made, encoding="utf-8")
    print(f"{made.count('==')} packages to {OUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
