"""The commands, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, ClassVar

import typer

from rumor import __version__
from rumor.cli.account import account
from rumor.cli.advance import advance
from rumor.cli.answer import answer
from rumor.cli.attack import attack
from rumor.cli.audit import audit
from rumor.cli.collections import collections
from rumor.cli.combine import combine
from rumor.cli.compare import compare
from rumor.cli.demo import demo
from rumor.cli.estimate import estimate
from rumor.cli.export import export, import_
from rumor.cli.help_text import CommandGroups
from rumor.cli.init import init
from rumor.cli.invite import invite
from rumor.cli.issue import issue
from rumor.cli.merge import merge
from rumor.cli.methods import MethodsInHelp
from rumor.cli.modules import modules
from rumor.cli.options import grouped
from rumor.cli.papers import papers
from rumor.cli.plan import plan
from rumor.cli.poisoning import poisoning
from rumor.cli.privatize import privatize
from rumor.cli.regress import regress
from rumor.cli.relay import key, relay
from rumor.cli.repair import repair
from rumor.cli.serve import serve, token
from rumor.cli.show import show
from rumor.cli.simulate import simulate
from rumor.cli.statement import statement
from rumor.cli.trend import trend
from rumor.cli.vectors import vectors
from rumor.cli.withdraw import withdraw

# In the order in which the help lists them.
GROUPS: Mapping[str, Sequence[Callable[..., None]]] = {
    "Ask": (demo, init, show, statement, plan, simulate),
    "Collect": (
        privatize,
        serve,
        answer,
        withdraw,
        relay,
        token,
        key,
        modules,
        invite,
        issue,
        export,
        import_,
        collections,
        repair,
    ),
    "Estimate": (estimate, compare, regress, combine, trend, merge, advance),
    "Check": (audit, account, attack, poisoning, vectors),
    "Papers": (papers,),
}


# Old names of commands, which work until version 2.
OLD_COMMANDS: Mapping[str, str] = {"liars": "poisoning"}


def _name(command: Callable[..., None]) -> str:
    return command.__name__.rstrip("_")


class _Commands(CommandGroups):
    groups: ClassVar = {title: [_name(one) for one in of] for title, of in GROUPS.items()}
    old_names: ClassVar = OLD_COMMANDS


app = typer.Typer(
    name="rumor",
    cls=_Commands,
    add_completion=False,
    rich_markup_mode=None,
    # A traceback with the values of variables would show answers.
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        print(f"rumor {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _rumor(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Collect and analyse answers under local differential privacy, from device to estimate.

    \b
    Demo:       rumor demo
    Simulate:   rumor simulate examples/browser.toml examples/homepages.csv
    Use:        rumor privatize examples/browser.toml answers.csv -o reports.parquet
                rumor estimate examples/browser.toml reports.parquet
    """
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


for commands in GROUPS.values():
    for command in commands:
        app.command(_name(command), cls=MethodsInHelp)(grouped(command))
