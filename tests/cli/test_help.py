"""Help that teaches: nothing undocumented, an example for everything, answers at once."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
from typer.main import get_command

from rumor.cli import main
from rumor.cli.app import app
from rumor.kinds import KINDS

COMMANDS: dict[str, Any] = dict(get_command(app).commands)  # type: ignore[attr-defined]


def test_the_commands_there_are() -> None:
    assert set(COMMANDS) >= {"demo", "estimate", "merge", "privatize", "show", "simulate"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_and_argument_says_what_it_is_for(name: str) -> None:
    for option in COMMANDS[name].params:
        text = getattr(option, "help", None)
        assert text, f"{name} {option.name} lacks help"
        assert text[0].isupper(), f"{name} {option.name}: {text!r}"
        assert text.endswith((".", ")")), f"{name} {option.name}: {text!r}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_print_json(name: str) -> None:
    assert any("--json" in option.opts for option in COMMANDS[name].params)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example_and_fits_a_terminal(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for flag in ("--help", "-h"):
        assert main([name, flag]) == 0
        text = capsys.readouterr().out
        assert re.search(rf"^ +rumor {name} ", text, re.MULTILINE)
        assert all(len(line) <= 100 for line in text.splitlines())


@pytest.mark.parametrize("name", ["estimate", "simulate"])
def test_help_lists_the_methods_there_are(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([name, "--help"])
    text = "".join(capsys.readouterr().out.split())  # lines may break anywhere
    for kind in KINDS.values():
        assert f"{kind.name}:{','.join(kind.methods())}" in text
        for method, options in kind.options().items():
            typed = [o for o in options if o not in ("candidates", "on_progress")]
            assert not typed or f"{kind.name},{method}:{','.join(typed)}" in text


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_the_first_page_lists_the_commands(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    text = capsys.readouterr().out
    for name in COMMANDS:
        assert re.search(rf"^  {name}  +\S.*[^.]\.$", text, re.MULTILINE), f"{name} is cut short"


def test_help_loads_nothing_heavy() -> None:
    heavy = ["numpy", "numba", "scipy", "pyarrow", "altair", "cryptography"]
    code = (
        "import sys; from rumor.cli import main; main(['--help']); "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
