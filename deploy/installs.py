"""Installs of a wheel in environments of their own: which Pythons there are, what an install holds.

Used by release_check.py and by `python -m deploy.least_versions`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_FREE = re.compile(
    r"apache|bsd|mit\b|isc|mpl|psf|python software|unlicense|zlib|hpnd|lgpl|lesser general|0bsd",
    re.IGNORECASE,
)
_LIST = """
import json
from importlib.metadata import distributions
print(json.dumps([
    [d.metadata["Name"], d.version, d.metadata.get("License-Expression"), d.metadata.get("License"),
     [c for c in d.metadata.get_all("Classifier") or () if c.startswith("License ::")]]
    for d in distributions()
]))
"""


@dataclass(frozen=True)
class Package:
    """An installed package, with its licence as it says it itself."""

    name: str
    version: str
    licence: str

    @property
    def is_free(self) -> bool:
        """Return whether the licence lets Rumor, under its own, be passed on with the package."""
        return bool(_FREE.search(self.licence))


def pythons() -> dict[str, Path]:
    """Return the interpreters found for each version that Rumor supports."""
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": Path(sys.executable)}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in PYTHONS:
        places = [*sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]
        if (on_path := shutil.which(f"python{version}")) is not None:
            places.append(Path(on_path))
        for place in places:
            if version not in found and _is_version(place, version):
                found[version] = place
    return {version: found[version] for version in PYTHONS if version in found}


def _is_version(python: Path, version: str) -> bool:
    """Return whether `python` runs and is of `version`; shims of a version manager may not."""
    command = [str(python), "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == version


def install(python: Path, place: Path, *wanted: str, constraints: Path | None = None) -> Path:
    """Make an environment of `python` at `place`, install `wanted`, and return its Python."""
    subprocess.run([python, "-m", "venv", "--without-pip", place], check=True)
    inside = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(inside), "install", "--quiet"]
    limit = [] if constraints is None else [f"--constraint={constraints}"]
    done = subprocess.run(
        [*pip, "--no-compile", *limit, *wanted], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"pip installs no {' '.join(wanted)}: {done.stderr[-400:]}"
    return inside


def size_of(place: Path) -> float:
    """Return the megabytes of the files in a folder."""
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / 1e6


def packages(python: Path) -> list[Package]:
    """Return what is installed in an environment."""
    done = subprocess.run([python, "-c", _LIST], capture_output=True, text=True, check=True)
    return sorted(
        (
            Package(name, version, licence(expression, text, classifiers))
            for name, version, expression, text, classifiers in json.loads(done.stdout)
        ),
        key=lambda each: each.name.lower(),
    )


def licence(expression: str | None, text: str | None, classifiers: list[str]) -> str:
    """Return a licence in one line: its expression, else its classifiers, else its text."""
    if expression:
        return expression
    named = [each.split(" :: ")[-1] for each in classifiers]
    named = [each for each in named if each != "OSI Approved"]
    if named:
        return ", ".join(named)
    first = (text or "").strip().splitlines()[:1]
    return first[0][:60] if first else "not stated"
