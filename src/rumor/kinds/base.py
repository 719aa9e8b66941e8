"""What a kind of question is: it reads a wish and says which mechanism it stands for."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import ClassVar

from rumor.core.canonical import Json
from rumor.core.errors import InputError, shown
from rumor.mechanisms import Mechanism


class Kind(abc.ABC):
    """One kind of question."""

    name: ClassVar[str]
    keys: ClassVar[tuple[str, ...]]
    """What a question of this kind may say beside what every question says."""
    names: ClassVar[tuple[str, ...]]
    """What its contract carries beside the mechanism."""

    @abc.abstractmethod
    def resolve(self, wish: Mapping[str, object], users: int | None) -> Mechanism:
        """The mechanism that a question of this kind asks for."""

    @abc.abstractmethod
    def named(self, mechanism: Mechanism) -> dict[str, Json]:
        """The names that the contract carries."""

    @abc.abstractmethod
    def restore(self, mechanism: Mechanism, contract: Mapping[str, object]) -> Mechanism:
        """The mechanism of a contract, with its names."""

    def columns(self, id: str, mechanism: Mechanism) -> Sequence[str]:
        """The columns of a table that hold answers to the question with this id."""
        return [id]

    @abc.abstractmethod
    def typed(self, mechanism: Mechanism, text: str) -> object:
        """An answer as a person types it, as the mechanism takes it; else an AnswerError."""

    @abc.abstractmethod
    def hint(self, mechanism: Mechanism) -> str:
        """What a person may type."""


def some(names: Sequence[str], most: int = 12) -> str:
    """A list as a hint shows it, the first few of a long one."""
    rest = f", ... ({len(names):,} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def mechanism_wish(wish: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """The mechanism that a question names ("auto" unless said), and its options."""
    choice = wish.get("mechanism", "auto")
    table = {"name": choice} if isinstance(choice, str) else choice
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise InputError(f"a mechanism must be a name or a table with a name; got {shown(choice)}")
    return table["name"], {key: value for key, value in table.items() if key != "name"}
