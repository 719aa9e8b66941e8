"""Write down what every option of every command reaches: the table that a test compares with.

    python -m tests.cli.make_wiring > tests/cli/wiring.toml

Read the difference before you keep it: each line says which function is given which value.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.cli.scenes import SCENES, changes, notes_of, prepare

HEAD = (
    "# What commands call, and what each option changes of it (python -m tests.cli.make_wiring).\n"
)


def table(title: str, notes: Mapping[str, str]) -> str:
    """Return one table of TOML, its keys and values as texts."""
    lines = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in notes.items()]
    return "\n".join([f"[{title}]", *lines, ""])


def main() -> None:
    """Print the whole table."""
    said = [HEAD]
    with tempfile.TemporaryDirectory() as place:
        template = Path(place) / "template"
        template.mkdir()
        prepare(template)
        for number, (title, scene) in enumerate(SCENES.items()):
            always = notes_of(scene, scene.line(), template, Path(place) / f"{number}")
            said.append(table(f"{json.dumps(title)}.always", always))
            for place_of, option in enumerate(scene.options):
                folder = Path(place) / f"{number}-{place_of}"
                now = notes_of(scene, scene.line(option), template, folder)
                name = f"{json.dumps(title)}.with.{json.dumps(option)}"
                said.append(table(name, changes(always, now)))
    sys.stdout.write("\n".join(said))


if __name__ == "__main__":
    main()
