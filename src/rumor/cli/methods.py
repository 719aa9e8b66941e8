"""The options that say how to estimate, and the help that lists the ways there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from rumor.cli.help_text import PlainCommand
from rumor.cli.options import option
from rumor.core.errors import InputError, format_value

Method = Annotated[str, option("--method -m NAME", "The method of estimation. {methods}.")]
MethodOptions = Annotated[
    list[str] | None,
    option(
        "--option NAME=VALUE",
        "An option of the method; repeatable. {options}.",
    ),
]
# Options of methods that have an option of their own, or that only Python can set.
_NOT_TYPED = {"candidates": "by --candidates", "on_progress": "in Python alone"}


def read_options(given: Sequence[str] | None, assume: str | None = None) -> dict[str, Any]:
    """Return options as a method takes them, that of --assume among them.

    Numbers, true, false and lists are written in JSON, all else is text.
    """
    found: dict[str, Any] = {}
    for one in given or ():
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise InputError(f"--option must be NAME=VALUE; got {format_value(one)}")
        if name in _NOT_TYPED:
            raise InputError(
                f"{name} is given {_NOT_TYPED[name]}; got --option {format_value(one)}"
            )
        if name in found:
            raise InputError(f"--option {name} must be given once; got it twice")
        found[name] = _read(value)
    if assume is not None:
        if "assume" in found:
            raise InputError("--assume is the option assume; got both")
        found["assume"] = assume
    return found


def _read(text: str) -> object:
    import json

    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return float(text)  # "inf", which JSON spells otherwise
    except ValueError:
        return text


class MethodsInHelp(PlainCommand):
    """A command whose help lists all methods, loaded only for the help."""

    def get_help(self, ctx: Any) -> str:
        """Return the help text, with `{methods}` and `{options}` filled in."""
        for one in self.params:
            if one.name in ("method", "option"):
                text = getattr(one, "help", "")
                text = text.replace("{methods}", _methods()).replace("{options}", _options())
                one.help = text  # type: ignore[attr-defined]
        return super().get_help(ctx)


def _methods() -> str:
    """Return every method of every kind, and the names of the literature that are accepted."""
    from rumor.kinds import KINDS
    from rumor.kinds.method_aliases import ALIASES

    meant: dict[str, list[str]] = {}
    for aliases in ALIASES.values():
        for alias, method in aliases.items():
            meant.setdefault(method, []).append(alias)
    own = "; ".join(f"{name}: {', '.join(kind.methods())}" for name, kind in KINDS.items())
    also = (f"{' or '.join(dict.fromkeys(names))} for {ours}" for ours, names in meant.items())
    return f"{own}. Also accepted: {'; '.join(also)}"


def _options() -> str:
    """Return every option of every method of every kind."""
    from rumor.kinds import KINDS

    said = []
    for name, kind in KINDS.items():
        for method, options in kind.options().items():
            typed = [each for each in options if each not in _NOT_TYPED]
            if typed:
                said.append(f"{name}, {method}: {', '.join(typed)}")
    return "; ".join(said)
