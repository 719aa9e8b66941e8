"""Answers that have a place: a position on a scale, a cell of a table."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Protocol

from rumor.core.types import Codes
from rumor.mechanisms.base import Mechanism


class Places(Protocol):
    """What knows the place of each answer."""

    def inputs(self) -> Sequence[object]:
        """Answers, one for each place or a spread of them."""
        ...

    def code(self, value: object) -> int:
        """The place of one person's answer."""
        ...

    def codes(self, values: object) -> Codes:
        """The places of many answers."""
        ...


class PlacedAnswers(Mechanism):
    """A mechanism to which answers of one place are the same, whatever they are called."""

    @property
    @abc.abstractmethod
    def _places(self) -> Places:
        """Where answers are."""

    def inputs(self) -> Sequence[object]:
        """Every answer, or a spread of them."""
        return self._places.inputs()

    def code(self, value: object) -> int:
        """The place of one person's answer."""
        return self._places.code(value)

    def encode(self, values: object) -> Codes:
        """The places of many answers."""
        return self._places.codes(values)

    def identity(self, value: object) -> str:
        """The place: what it is called does not matter."""
        return str(self.code(value))
