"""Old public names that keep working through all of 1.x.

A renamed public name is listed where its new name is defined: `old_names` on a class, `old_name` in
a module's `__getattr__`, `old_keywords` on a function. Each use of an old name gives one
DeprecationWarning that names the new one.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])

MEMBERS: dict[type, dict[str, str]] = {}
"""Renamed members of each class: old name to new name."""

KEYWORDS: list[tuple[Callable[..., Any], dict[str, str]]] = []
"""Functions with renamed keywords: old keyword to new keyword."""


def old_name(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that `old` is now called `new`."""
    message = f"{old} is now {new}; the old name works until version 2"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel)


def old_names(**renamed: str) -> Callable[[Class], Class]:
    """Let instances of a class answer to old member names: `old="new"`.

    Static type checkers see the new names only.
    """

    def add(cls: Class) -> Class:
        MEMBERS[cls] = renamed
        inherited = getattr(cls, "__getattr__", None)
        if getattr(inherited, "finds_old_names", False):
            return cls  # a base's __getattr__ reads MEMBERS of this class, too

        def __getattr__(self: Any, name: str) -> Any:  # noqa: N807, a method of `cls`
            for base in type(self).__mro__:
                new = MEMBERS.get(base, {}).get(name)
                if new is not None:
                    old_name(f"{base.__name__}.{name}", new)
                    return getattr(self, new)
            if inherited is not None:
                return inherited(self, name)
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
            )

        __getattr__.finds_old_names = True  # type: ignore[attr-defined]
        cls.__getattr__ = __getattr__  # type: ignore[attr-defined]
        return cls

    return add


def old_keywords(**renamed: str) -> Callable[[Function], Function]:
    """Let a function take old keywords: `old="new"`."""

    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for old, new in renamed.items():
                if old in kwargs:
                    old_name(f"{function.__qualname__}({old}=)", f"{new}=")
                    if new in kwargs:
                        raise TypeError(f"{function.__qualname__} takes {new}= or {old}=, not both")
                    kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        KEYWORDS.append((call, renamed))
        return call  # type: ignore[return-value]

    return wrap
