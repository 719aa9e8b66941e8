"""Help texts: commands in groups, and arguments by their names instead of their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typer.core import TyperCommand, TyperGroup

from rumor.cli.common import warn
from rumor.core.typing import override


class PlainCommand(TyperCommand):
    """A command whose help shows no names of types."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for one in self.params:
            if one.param_type_name == "argument":
                # The parser would print the argument's type and braces beside its name.
                one.display_type_rich = _nothing  # type: ignore[attr-defined]
                one.get_usage_pieces = _usage(one)  # type: ignore[method-assign]


def _nothing(ctx: Any) -> str:
    return ""


def _usage(argument: Any) -> Any:
    """Return an argument for the usage line: "A" or "[B]", with three dots if it repeats."""
    name = (argument.metavar or argument.name.upper()).removesuffix("...")
    several = "..." if argument.nargs != 1 else ""
    piece = f"{name}{several}" if argument.required else f"[{name}]{several}"
    return lambda ctx: [piece]


class CommandGroups(TyperGroup):
    """A program whose help lists its commands in `groups`; each old name warns and still works."""

    groups: ClassVar[Mapping[str, Sequence[str]]] = {}
    old_names: ClassVar[Mapping[str, str]] = {}

    @override
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        new = self.old_names.get(cmd_name)
        if new is not None:
            warn(f"`{cmd_name}` is now `{new}`; the old name works until version 2.")
        return super().get_command(ctx, new or cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of each group as a list, all as wide as the widest."""
        wide = max(len(name) for names in self.groups.values() for name in names)
        for title, names in self.groups.items():
            with formatter.section(title):
                formatter.write_dl(
                    (name.ljust(wide), self.commands[name].get_short_help_str(formatter.width))
                    for name in names
                )
