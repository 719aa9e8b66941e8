"""What a command calls, and with what: collaborators that note their calls, by parameter."""

from __future__ import annotations

import contextlib
import datetime
import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from rumor import __version__
from rumor.collector.store.base import Store
from rumor.contract.collection import Collection, Question
from rumor.core.answer_table import AnswerTable
from rumor.core.blind_rsa import PublicKey, SecretKey
from rumor.core.randomness import Seeded
from rumor.mechanisms import Mechanism
from rumor.papers.model import Cell, Paper
from rumor.privacy.statement.statement import Statement

Notes = dict[str, str]
"""What was called and said: "function.parameter", and the value in words."""


def described(value: Any) -> str:
    """Return `value` in words that are the same at every run."""
    if isinstance(value, str):
        return repr(steady(value))
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, (Stand, Spy)):
        return f"<{value.name_of_stand}>"
    for kind, words in _WORDS.items():
        if isinstance(value, kind):
            return words(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{described(key)}: {described(one)}" for key, one in value.items())
        return f"{{{inner}}}"
    if isinstance(value, (list, tuple)) and len(value) > _MANY:
        return f"<{len(value)}, the first {described(value[0])}>"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(described, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if is_dataclass(value) and not isinstance(value, type):
        held = {one.name: described(getattr(value, one.name)) for one in fields(value)}
        usual = {one.name: described(one.default) for one in fields(value)}
        shown = (f"{key}={one}" for key, one in held.items() if one != usual[key])
        return f"{type(value).__name__}({', '.join(shown)})"
    if callable(value):
        return _described_function(value)
    return f"<{type(value).__name__}>"


def outline(value: Any) -> Any:
    """Return the members of a JSON document: of a list its first item, of a long text its start."""
    if isinstance(value, dict):
        return {key: outline(one) for key, one in value.items()}
    if isinstance(value, list):
        return [outline(one) for one in value[:1]]
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return steady(value)[:40] if isinstance(value, str) else value


def steady(text: str) -> str:
    """Return the beginning of a `text`, without digests, the version, and what is drawn anew."""
    text = text.replace(f"Rumor {__version__}", "Rumor (version)")
    return _DIGESTS.sub("(hex)", _INVITATIONS.sub("invitation-(code)", text))[:_LONGEST]


_LONGEST = 160  # characters of a text
_MANY = 12  # more than so many things are counted
_INVITATIONS = re.compile(r"invitation-[\w-]+")
_DIGESTS = re.compile(r"\b[0-9a-f]{16,}\b")
_WORDS: dict[type, Callable[[Any], str]] = {
    datetime.date: lambda value: f"<{value.isoformat()}>",
    SecretKey: lambda value: "<secret key>",
    PublicKey: lambda value: "<public key>",
    Statement: lambda value: f"<{value.title!r} in {[one.language for one in value.consents]}>",
    bytes: lambda value: repr(value) if value.endswith(b"()") else "<bytes>",
    Path: lambda value: f"Path({str(value)!r})",
    np.ndarray: lambda value: f"<array {value.shape}>",
    Collection: lambda value: f"<collection {value.name!r}>",
    Question: lambda value: f"<question {value.id!r}>",
    Mechanism: lambda value: f"<mechanism {value.name!r}>",
    Cell: lambda value: f"<cell {value.id!r}>",
    Paper: lambda value: f"<paper {value.name!r}>",
    Seeded: lambda value: f"Seeded({value._number})",
    AnswerTable: lambda value: (
        f"Table({str(value.path)!r}, mark={value.mark!r}, missing={value.missing_rule.rule!r})"
    ),
}


def _described_function(value: Callable[..., Any]) -> str:
    if isinstance(value, functools.partial):
        return f"partial({value.func.__name__}, {', '.join(map(described, value.args))})"
    if not inspect.signature(value).parameters:
        return f"() -> {described(value())}"
    return "<function>"


class Notebook:
    """The calls of one run, each under the name of what was called."""

    def __init__(self) -> None:
        self.notes: Notes = {}
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        """The calls in their order, with what they were given."""
        self._calls: dict[str, int] = {}

    def call(self, name: str, given: Mapping[str, Any]) -> None:
        """Note one call; a second one of the same name is "name 2"."""
        self.calls.append((name, given))
        number = self._calls[name] = self._calls.get(name, 0) + 1
        place = name if number == 1 else f"{name} {number}"
        self.notes[place] = "called"
        for parameter, value in given.items():
            self.notes[f"{place}.{parameter}"] = described(value)


class Stand:
    """Stands for what a collaborator returns: calls of its methods are noted, and say who spoke."""

    def __init__(self, name: str, book: Notebook, known: Mapping[str, Any]) -> None:
        self.name_of_stand, self._book, self._known = name, book, known

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._known and not callable(self._known[name]):
            return self._known[name]

        def method(*arguments: Any, **named: Any) -> Any:
            said = dict(enumerate(arguments)) | named
            place = f"{self.name_of_stand}.{name}"
            self._book.call(place, {str(key): value for key, value in said.items()})
            if name in self._known:
                return self._known[name](*arguments, **named)
            return {"said by": place} if name == "to_dict" else f"{place}()"

        return method

    def __enter__(self) -> Stand:
        return self

    def __exit__(self, *problem: object) -> None:
        pass


class Spy:
    """A real object whose method calls are noted."""

    def __init__(self, real: Any, name: str, book: Notebook) -> None:
        self.name_of_stand, self._real, self._book = name, real, book

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if not callable(found):
            return found

        def method(*arguments: Any, **named: Any) -> Any:
            given = bound(found, arguments, named)
            self._book.call(f"{self.name_of_stand}.{name}", given)
            return found(*arguments, **named)

        return method


def bound(
    function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call by the names of their parameters, defaults among them."""
    given = inspect.signature(function).bind(*arguments, **named)
    given.apply_defaults()
    flat: dict[str, Any] = {}
    for name, value in given.arguments.items():
        kind = inspect.signature(function).parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            flat |= value
        elif name != "self":
            flat[name] = value
    return flat


@functools.cache
def _load_all() -> None:
    """Load every module: one that is first loaded beside a stand would keep it for ever."""
    for found in pkgutil.walk_packages(rumor.__path__, "rumor."):
        if not found.name.endswith("__main__"):
            with contextlib.suppress(ModuleNotFoundError):  # of an extra that is not installed
                importlib.import_module(found.name)


class Collaborators:
    """Puts stands and spies in the place of what commands call, until the test ends."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        _load_all()
        self.book, self._patch = Notebook(), patch

    def stand(self, target: str, returns: Any = None, /, **known: Any) -> None:
        """Replace "module:name" by a function that notes its call; it returns a stand.

        Or, where `returns` is given, that; or what it returns, where it is a function.
        """
        owner, name, original = _found(target)
        title = _title(target)

        def called(*arguments: Any, **named: Any) -> Any:
            self.book.call(title, bound(original, arguments, named))
            if returns is None:
                return Stand(title, self.book, known)
            return returns(*arguments, **named) if callable(returns) else returns

        self._patch.setattr(owner, name, called)

    def spy(self, target: str) -> None:
        """Note the calls of "module:name", which does what it does."""
        owner, name, original = _found(target)
        title = _title(target)

        def called(*arguments: Any, **named: Any) -> Any:
            self.book.call(title, bound(original, arguments, named))
            return original(*arguments, **named)

        self._patch.setattr(owner, name, called)

    def spy_stores(self) -> None:
        """Note how stores are opened, and what is asked of them."""
        base = importlib.import_module("rumor.collector.store.base")
        opened, filled = base.open_store, base.filled_store

        def open_store(url: str, *, check: bool = True) -> Any:
            self.book.call("open_store", {"url": url, "check": check})
            return Spy(opened(url, check=check), "store", self.book)

        @contextmanager
        def filled_store(url: str) -> Iterator[Any]:
            self.book.call("filled_store", {"url": url})
            held: AbstractContextManager[Store] = filled(url)
            with held as store:  # opened by the function above
                yield store

        self._patch.setattr(base, "open_store", open_store)
        self._patch.setattr(base, "filled_store", filled_store)


def _found(target: str) -> tuple[Any, str, Any]:
    module, _, path = target.partition(":")
    *outer, name = path.split(".")
    owner = functools.reduce(getattr, outer, importlib.import_module(module))
    return owner, name, getattr(owner, name)


def _title(target: str) -> str:
    """Return the name of a collaborator: that of its module too where it is a common one."""
    module, _, path = target.partition(":")
    common = ("run", "attack", "account", "write", "page", "pdf", "merge")
    return f"{module.rpartition('.')[2]}.{path}" if path in common else path
