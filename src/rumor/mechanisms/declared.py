"""Parameters by declaration: a mechanism names what fixes it, and contracts follow from that.

A contract first says what the values are (a domain, a grid, keys), then how the mechanism is
shaped for them, and last its thresholds, as decimal strings.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from rumor.core.canonical import Json
from rumor.core.exact import checked_threshold
from rumor.mechanisms.base import Mechanism, only_keys


class DeclaredParameters(Mechanism):
    """A mechanism whose thresholds, and sizes beside its values, are attributes."""

    GROUND: ClassVar[tuple[str, ...]]
    """What a contract says of the values: what `_reopen` takes."""
    SHAPE: ClassVar[tuple[str, ...]] = ()
    """Attributes that a contract says as they are: what `_shape` takes."""
    THRESHOLDS: ClassVar[tuple[str, ...]]
    """Attributes that are thresholds, integers over 2^64."""

    @abc.abstractmethod
    def _ground(self) -> dict[str, Json]:
        """The values, as a contract says them."""

    @abc.abstractmethod
    def _reopen(self, *ground: Any, **named: Any) -> None:
        """Take the values from a contract, checked."""

    def _shape(self, *shape: Any, **named: Any) -> None:
        """Take the shape, checked."""

    def _shaped(self) -> dict[str, Json]:
        """The shape, as a contract says it."""
        return {name: getattr(self, name) for name in self.SHAPE}

    @abc.abstractmethod
    def _accept(self) -> None:
        """Refuse thresholds from which nothing can be learned."""

    def parameters(self) -> dict[str, Json]:
        """Everything that fixes the mechanism, thresholds as decimal strings."""
        return {
            **self._ground(),
            **self._shaped(),
            **{name: str(getattr(self, name)) for name in self.THRESHOLDS},
        }

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        """The mechanism that `parameters()` describes; no probability is computed anew."""
        only_keys(cls.name, parameters, *cls.GROUND, *cls.SHAPE, *cls.THRESHOLDS)
        self = cls.__new__(cls)
        self._reopen(*(parameters[name] for name in cls.GROUND))
        self._shape(*(parameters[name] for name in cls.SHAPE))
        for name in cls.THRESHOLDS:
            setattr(self, name, checked_threshold(name, parameters[name]))
        self._accept()
        return self
