"""Names that a release promised: Python's, the commands' and JSON's are there until version 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rumor
from rumor.cli.app import OLD_COMMANDS
from rumor.core.deprecation import KEYWORDS, MEMBERS
from tests.old.kept import HERE
from tests.old.make_names import JSON_COMMANDS, command_names, json_of, parameters_of, python_names

RELEASES = sorted(HERE.glob("*/names.json"))


@pytest.fixture(params=RELEASES, ids=lambda path: path.parent.name)
def release(request: pytest.FixtureRequest) -> tuple[Path, dict[str, Any]]:
    """The folder of a release, and its names."""
    return request.param.parent, json.loads(request.param.read_text())


def is_renamed(name: str) -> bool:
    """Whether a member that was called `name` is found under its old name, with a warning."""
    owner, _, member = name.partition(".")
    kind = getattr(rumor, owner, None)
    return isinstance(kind, type) and any(member in MEMBERS.get(base, {}) for base in kind.__mro__)


def test_python_names_stay(release: tuple[Path, dict[str, Any]]) -> None:
    now, renamed = python_names(), {old for _, names in KEYWORDS for old in names}
    for name, parameters in release[1]["python"].items():
        assert name in now or is_renamed(name), f"rumor.{name} is gone"
        missing = set(parameters) - set(now.get(name, parameters)) - renamed
        assert not missing, f"rumor.{name} has no {sorted(missing)}"


def test_commands_and_options_stay(release: tuple[Path, dict[str, Any]]) -> None:
    now = command_names()
    for name, options in release[1]["commands"].items():
        found = now.get(name, now.get(OLD_COMMANDS.get(name, ""), []))
        assert set(options) <= set(found), f"rumor {name}: {sorted(set(options) - set(found))}"


@pytest.mark.parametrize("command", JSON_COMMANDS)
def test_members_of_json_stay(release: tuple[Path, dict[str, Any]], command: str) -> None:
    folder, told = release
    said = set(told["json"][command])
    assert said <= set(json_of(folder, command)), command


def test_a_lost_name_would_be_noticed() -> None:
    """The comparison bites: parameters are found, and those that catch all others are not."""
    assert parameters_of(lambda a, *rest, b=1, **more: None) == ["a", "b"]
