"""The option that says how to estimate, and the help that lists the ways there are."""

from __future__ import annotations

from typing import Annotated, Any

from typer.core import TyperCommand

from rumor.cli.options import option

Method = Annotated[str, option("--method -m NAME", "How to estimate: {methods}.")]


class MethodsInHelp(TyperCommand):
    """A command whose help lists the methods there are; they are looked up only for that."""

    def get_help(self, ctx: Any) -> str:
        """The help text, with `{methods}` filled in where the command has a method."""
        for one in self.params:
            if one.name == "method":
                from rumor.kinds.choice.estimate import METHODS

                help_text = getattr(one, "help", "")
                one.help = help_text.replace("{methods}", ", ".join(METHODS))  # type: ignore[attr-defined]
        return super().get_help(ctx)
