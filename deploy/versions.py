"""The version of a release, which stands in src/rumor/__init__.py, and what repeats it.

    python -m deploy.versions      writes it wherever else it is said

The changelog's first section is written by hand and must be of this version. Papers' results and
measurements keep the version that made them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def version() -> str:
    """Return the version that Python's package says, in the form of PEP 440."""
    text = (ROOT / "src" / "rumor" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found is not None, "src/rumor/__init__.py must say the version"
    return found[1]


def npm_version(version: str) -> str:
    """Return `version` in npm's form: a candidate 1.0.0rc1 is 1.0.0-rc.1."""
    return re.sub(r"(a|b|rc)(\d+)$", r"-\1.\2", version)


def minor(version: str) -> str:
    """Return the line of releases that `version` is of: 1.0 for 1.0.0rc1."""
    return ".".join(version.split(".")[:2])


FOLLOWERS: tuple[tuple[str, str, Callable[[str], str]], ...] = (
    ("CITATION.cff", r"(?m)^(version: )(\S+)$", str),
    ("src/rumor/client/js/package.json", r'("version": ")([^"]+)', npm_version),
    ("deploy/Containerfile", r'(org\.opencontainers\.image\.version=")([^"]+)', str),
    ("mkdocs.yml", r"(?m)^(copyright: Rumor )(\S+)$", str),
    ("docs/how-to/upgrade.md", r"(These pages are of Rumor )([\w.]*\w)", str),
    ("SECURITY.md", r"(?m)^(\| )(\d\S*)(?= \| yes)", minor),
)
"""A file, what stands before the version and the version, and the form that it has there."""


def following(name: str) -> tuple[str, str]:
    """Return the text of the file `name`, as it is and with the version of the package."""
    text = (ROOT / name).read_text(encoding="utf-8")
    made = text
    for _, pattern, form in (each for each in FOLLOWERS if each[0] == name):
        made, count = re.subn(pattern, rf"\g<1>{form(version())}", made)
        assert count == 1, f"{name} must say the version once; it does {count} times"
    return text, made


def check() -> None:
    """Raise AssertionError where a file says another version than the package."""
    for name, _, _ in FOLLOWERS:
        text, made = following(name)
        assert text == made, f"{name} must name version {version()}: run python -m deploy.versions"
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first = re.search(r"(?m)^## (\S+)", changes)
    assert first is not None, "CHANGELOG.md must have sections"
    assert first[1] == version(), (
        f"CHANGELOG.md must begin with version {version()}; got {first[1]}"
    )


def main() -> int:
    """Write the version of the package into every file that repeats it."""
    for name, _, _ in FOLLOWERS:
        text, made = following(name)
        if made != text:
            (ROOT / name).write_text(made, encoding="utf-8")
            print(f"{name}: {version()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
