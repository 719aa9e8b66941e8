"""How help reads: commands in groups, arguments by their names and not by their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typer.core import TyperCommand, TyperGroup


class PlainCommand(TyperCommand):
    """A command whose help has no names of types, which tell people nothing."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for one in self.params:
            if one.param_type_name == "argument":
                # What the parser would print beside a name: its type, and braces about it.
                one.display_type_rich = _nothing  # type: ignore[attr-defined]
                one.get_usage_pieces = _usage(one)  # type: ignore[method-assign]


def _nothing(ctx: Any) -> str:
    return ""


def _usage(argument: Any) -> Any:
    """An argument in the usage line: "A [B]", and three dots where there may be several."""
    name = (argument.metavar or argument.name.upper()).removesuffix("...")
    several = "..." if argument.nargs != 1 else ""
    piece = f"{name}{several}" if argument.required else f"[{name}]{several}"
    return lambda ctx: [piece]


class CommandGroups(TyperGroup):
    """The commands under what they are for, in this order."""

    groups: ClassVar[Mapping[str, Sequence[str]]] = {}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A list of commands for each group, all as wide as the widest."""
        wide = max(len(name) for names in self.groups.values() for name in names)
        for title, names in self.groups.items():
            with formatter.section(title):
                formatter.write_dl(
                    (name.ljust(wide), self.commands[name].get_short_help_str(formatter.width))
                    for name in names
                )
