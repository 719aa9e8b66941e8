"""Kinds of questions: one folder for each kind, and one line of `KINDS` for its name.

Everything about a kind is in its folder. Code outside the folder asks the object that `KINDS`
holds, which is loaded at the first use.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rumor.kinds.base import Kind
    from rumor.mechanisms.base import Mechanism

# A new kind is a folder with a `KIND` in it, and its name here.
NAMES = ("choice", "ordered", "set", "text", "words", "number", "keyvalue", "joint")


class _Kinds(Mapping[str, "Kind[Any]"]):
    """The mapping from each kind's name to its object, loaded at the first use."""

    def __getitem__(self, name: str) -> Kind[Any]:
        if name not in NAMES:
            raise KeyError(name)
        kind: Kind[Any] = importlib.import_module(f"rumor.kinds.{name}").KIND
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


KINDS: Mapping[str, Kind[Any]] = _Kinds()


def kind_of(mechanism: Mechanism) -> Kind[Any]:
    """Return the kind of a `mechanism` that belongs to no question.

    A question knows its kind, which may extend another and have its mechanisms.
    """
    return KINDS[mechanism.kind]
