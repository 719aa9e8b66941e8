"""Every option of every command reaches what it is for, with its value and its unit.

Each command runs in this process while whatever it calls notes its arguments by name (`scenes`).
The table wiring.toml says what a command calls always, and what each option changes of that: the
one setting that it is for, and nothing else. A command or an option without a row fails.
"""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scenes import COMMANDS, SCENES, changes, notes_of, prepare

TABLE: dict[str, Any] = tomllib.loads(
    (Path(__file__).parent / "wiring.toml").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read."""
    folder = tmp_path_factory.mktemp("wiring") / "template"
    folder.mkdir()
    prepare(folder)
    return folder


def names_of(command: str) -> dict[str, list[str]]:
    """Return the names of every option and argument of a command, by the first of them."""
    return {one.opts[0]: one.opts for one in COMMANDS.commands[command].params}  # type: ignore[attr-defined]


def test_every_option_of_every_command_has_a_row() -> None:
    tried: dict[str, set[str]] = {}
    for scene in SCENES.values():
        tried.setdefault(scene.command, set()).update(scene.options)
    assert set(tried) == set(COMMANDS.commands)  # type: ignore[attr-defined]
    for command, options in tried.items():
        assert options == set(names_of(command)), f"rumor {command}"


def test_the_table_has_every_scene_and_nothing_else() -> None:
    assert list(TABLE) == list(SCENES)
    for title, scene in SCENES.items():
        assert list(TABLE[title]["with"]) == list(scene.options), title
        for option, changed in TABLE[title]["with"].items():
            assert changed, f"{title}: {option} changes nothing"


@pytest.mark.parametrize("title", SCENES)
def test_options_reach_what_they_are_for(title: str, template: Path, tmp_path: Path) -> None:
    scene, wanted = SCENES[title], TABLE[title]
    always = notes_of(scene, scene.line(), template, tmp_path / "always")
    assert always == wanted["always"]
    for option in scene.options:
        for number, name in enumerate(names_of(scene.command)[option]):
            line, folder = scene.line(option, name), tmp_path / f"{option}-{number}"
            changed = changes(always, notes_of(scene, line, template, folder))
            assert changed == wanted["with"][option], " ".join(["rumor", *line])


def written_by(title: str) -> list[str]:
    """Return the options of a scene that name a file to write."""
    return [
        option
        for option, changed in TABLE[title]["with"].items()
        if option.startswith("--")
        and any(key.startswith("new file") and value for key, value in changed.items())
        and f"new file {SCENES[title].options[option]}" in changed
    ]


WRITING = {title: options for title in SCENES if (options := written_by(title))}


@pytest.mark.parametrize("title", WRITING)
def test_no_option_writes_over_what_is_read(title: str, template: Path, tmp_path: Path) -> None:
    """A file that a command reads is refused as the file to write, and stays as it is."""
    scene = SCENES[title]
    for name in (name for name in scene.arguments.values() if (template / name).is_file()):
        for option in WRITING[title]:
            # Of the right name: else its ending would be the reason to refuse it.
            both = Path(name).with_suffix(Path(scene.options[option]).suffix)
            if not (template / both).exists():
                shutil.copy(template / name, template / both)
            again = replace(scene, options={**scene.options, option: str(both)})
            line = [str(both) if word == name else word for word in again.line(option)]
            folder = tmp_path / f"{name}{option}"
            notes = notes_of(scene, line, template, folder)
            assert notes["status"] == "2", " ".join(["rumor", *line])
            assert (folder / both).read_bytes() == (template / both).read_bytes()
