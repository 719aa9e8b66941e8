"""Help that teaches: nothing undocumented, an example for everything, answers at once."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
import typer
from typer.main import get_command

from rumor.cli import main
from rumor.cli.app import GROUPS, OLD_COMMANDS, app
from rumor.cli.options import grouped
from rumor.kinds import KINDS

# The functions behind the commands, as the parser is given them.
GIVEN = {one.__name__.rstrip("_"): grouped(one) for of in GROUPS.values() for one in of}
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


def test_the_commands_are_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    text = capsys.readouterr().out
    titles = ["Ask", "Collect", "Estimate", "Check", "Papers"]
    assert re.findall(r"^(\w+):$", text, re.MULTILINE) == ["Options", *titles]
    assert re.findall(r"^  ([a-z]+)  +\S", text.partition("\nAsk:\n")[2], re.MULTILINE) == [
        *COMMANDS
    ]
    starts = {line.index(line.split()[1]) for line in text.partition("Ask:")[2].splitlines()
              if re.match(r"  [a-z]+  ", line)}  # fmt: skip
    assert len(starts) == 1, "what commands do stands in one column, whatever the group"


def test_an_old_command_name_warns_and_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert OLD_COMMANDS
    assert not OLD_COMMANDS.keys() & COMMANDS.keys()
    for old, new in OLD_COMMANDS.items():
        assert main([new, "--help"]) == 0
        wanted, quiet = capsys.readouterr()
        assert main([old, "--help"]) == 0
        found, warning = capsys.readouterr()
        assert quiet == ""
        sentence = f"WARNING: `{old}` is now `{new}`; the old name works until version 2.\n"
        assert warning == sentence
        assert found == wanted.replace(f"Usage: rumor {new}", f"Usage: rumor {old}", 1)


# What parsers call the types of values: of no use to whoever reads help.
_TYPES = re.compile(
    r"\b(TEXT|INTEGER|FLOAT|BOOLEAN|PATH|FILENAME|RANGE)\b|<(str|int|float|list|path)|x>=|<=x"
)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_values_and_not_their_types(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main([name, "--help"])
    text = capsys.readouterr().out
    assert _TYPES.search(text) is None
    usage = text.splitlines()[0]
    assert not set("{}<>") & set(usage), usage
    for one in COMMANDS[name].params:
        if one.param_type_name == "option" and not one.is_flag:
            assert one.metavar, f"{name} {one.name}: its value has no name"


# Whole numbers that are no counts: a seed is any of them, and of any length.
_NO_COUNTS = {"seed"}


def test_counts_are_taken_as_people_write_them(capsys: pytest.CaptureFixture[str]) -> None:
    """Every option that takes a whole number takes 1e5 and 100_000, or says which it takes."""
    found = 0
    for name, command in COMMANDS.items():
        for one in command.params:
            hints = get_type_hints(GIVEN[name], include_extras=True)
            if one.name in _NO_COUNTS or int not in kinds_of(hints[one.name]):
                continue
            found += 1
            read = hints[one.name].__metadata__[0].parser
            assert read is not None, f"{name} --{one.name} takes no 1e5"
            assert read("12e3") == read("12_000") == read("12000.0") == read(12000) == 12000
            for bad in ("1.5", "x", "nan", "1e-3", "inf", "1e999999999", "", "1.000", "12.000"):
                with pytest.raises(typer.BadParameter, match="must be a whole number"):
                    read(bad)
    assert found > 25
    assert main(["demo", "--people", "1e1"]) == 2
    rule = "Invalid value for '--people': must be a whole number from 100 to 10,000,000; got '1e1'"
    assert rule in capsys.readouterr().err


def kinds_of(annotated: Any) -> set[Any]:
    """The types in an annotation: "int | None" has two."""
    kind = get_args(annotated)[0] if get_origin(annotated) is Annotated else annotated
    return set(get_args(kind) or (kind,))


def test_help_loads_nothing_heavy() -> None:
    heavy = ["numpy", "numba", "scipy", "pyarrow", "altair", "cryptography"]
    code = (
        "import sys; from rumor.cli import main; main(['--help']); "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
