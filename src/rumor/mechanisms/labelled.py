"""Values, or keys, that are known by their position or by a label of their own."""

from __future__ import annotations

import abc
import copy
import functools
from collections.abc import Sequence
from typing import ClassVar, Self

from rumor.core.checks import checked_size
from rumor.core.columns import checked_labels
from rumor.mechanisms.base import Mechanism


class LabelledMechanism(Mechanism):
    """A mechanism whose values (or keys) are numbered, and may be called by labels as well."""

    THINGS: ClassVar[str] = "values"
    """What is numbered, in words."""
    _BY_LABEL: ClassVar[tuple[str, ...]] = ("_positions",)
    """What is worked out from the labels, once, and anew for others."""

    @property
    @abc.abstractmethod
    def _numbered(self) -> int:
        """How many values (or keys) there are."""

    @functools.cached_property
    def _positions(self) -> dict[str, int] | None:
        return None if self.labels is None else {x: i for i, x in enumerate(self.labels)}

    def with_labels(self, labels: Sequence[str] | None) -> Self:
        """The same mechanism, its values called by these labels."""
        other = copy.copy(self)
        for name in self._BY_LABEL:
            other.__dict__.pop(name, None)
        if labels is not None:
            checked_size("the number of labels", len(labels), self._numbered, self._numbered)
            other.labels = checked_labels(labels)
        else:
            other.labels = None
        return other

    def unlabelled(self) -> Self:
        """The same mechanism for values (or keys) that are known by their position."""
        return self.with_labels(None)


class LabelledDomain(LabelledMechanism):
    """One whose values are numbered from 0 to its domain, which it leaves out."""

    domain: int

    @property
    def _numbered(self) -> int:
        return self.domain
