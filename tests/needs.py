"""Programs that some tests need and a machine may lack: skip with one sentence, or fail.

Where RUMOR_NO_SKIP=1 is set (as in continuous integration), a missing program fails the test:
nothing that was meant to be tested is left out in silence.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

# What a program is called, in order of preference, and where it is from.
_PROGRAMS: Mapping[str, tuple[Sequence[str], str]] = {
    "java": (("java",), "Debian package openjdk-17-jre-headless"),
    "node": (("node", "nodejs"), "Debian package nodejs"),
    "npm": (("npm",), "Debian package npm"),
    "chromium": (("chromium", "chromium-browser", "google-chrome"), "Debian package chromium"),
    "firefox": (("firefox-esr", "firefox"), "Debian package firefox-esr"),
    "buildah": (("buildah",), "Debian package buildah"),
    "mmdebstrap": (("mmdebstrap",), "Debian package mmdebstrap"),
    "dbt": (("dbt",), "tests/analysis/dbt-requirements.txt, in an environment of its own"),
    "cc": (("cc", "gcc"), "Debian package gcc"),
    "jsc": (("jsc",), "Debian package libjavascriptcoregtk-4.0-bin"),
    "deno": (("deno",), "npm package deno"),
    "c++": (("c++", "g++"), "Debian package g++"),
}


def needs(name: str) -> Path:
    """The path of a program; where it is missing, the test (or its module) is skipped.

    JAVA_HOME, NODE_HOME, DBT_HOME or the like, where set, is looked in first, as these programs'
    own tools do.
    """
    path = found(name)
    if path is not None:
        return path
    source = _PROGRAMS[name][1]
    return leave_out(f"{name} is needed for these tests and was not found ({source})")


def found(name: str) -> Path | None:
    """The path of a program, or None where it is missing."""
    home = os.environ.get(f"{name.upper()}_HOME")
    places = [str(Path(home) / "bin"), home] if home else []
    for place in [*places, None]:
        for command in _PROGRAMS[name][0]:
            path = shutil.which(command, path=place)
            if path is not None:
                return Path(path)
    return None


def leave_out(sentence: str) -> NoReturn:
    """Skip what runs, with one sentence that says why; or fail, where nothing may be skipped."""
    if os.environ.get("RUMOR_NO_SKIP") == "1":
        pytest.fail(f"{sentence}; RUMOR_NO_SKIP=1 forbids to skip them", pytrace=False)
    pytest.skip(sentence, allow_module_level=True)
