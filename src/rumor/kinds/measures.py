"""What analysts compare, weigh and follow of a question: unbiased quantities, by name.

A kind's `compare.py` makes them of a summary. Shares of a choice, the mean of a number, mean,
quantiles and running shares of ordered answers: to everybody else they are rows alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rumor.core.errors import InputError
from rumor.core.types import Vector, checked_target
from rumor.estimators.compare.sample import Sample
from rumor.kinds.base import Kind
from rumor.mechanisms.kept import Kept
from rumor.mechanisms.summary import Summary

SHARE, MEAN, UP_TO, QUANTILE = "share", "mean", "up to", "quantile"


@dataclass(frozen=True)
class Measures:
    """Quantities of one group: what each is, of which value, and what the reports say."""

    values: Sequence[str] | Sequence[int]
    quantities: Sequence[str]
    sample: Sample
    notes: tuple[str, ...] = ()
    """What must be said wherever these quantities are shown."""

    def noting(self, kept: Kept | None) -> Measures:
        """Add that only kept keys or options are counted, where there is a cap."""
        return self if kept is None else replace(self, notes=(*self.notes, kept.counted))

    @classmethod
    def shares(cls, values: Sequence[str] | Sequence[int], sample: Sample) -> Measures:
        """A share for each value."""
        return cls(values, [SHARE] * len(values), sample)

    @classmethod
    def known(
        cls, parts: Mapping[str, tuple[Sequence[str] | Sequence[int], Vector, Vector]]
    ) -> Measures:
        """By quantity: values, estimates and their standard errors."""
        values = [value for names, _, _ in parts.values() for value in names]
        quantities = [name for name, (names, _, _) in parts.items() for _ in names]
        mean, stderr = (np.concatenate([part[i] for part in parts.values()]) for i in (1, 2))
        return cls(values, quantities, Sample.known(mean, stderr))  # type: ignore[arg-type]


def notes_of(found: Sequence[Measures]) -> list[str]:
    """Return what any of these groups has to say, each sentence once."""
    return list(dict.fromkeys(note for one in found for note in one.notes))


def measured(
    kind: Kind[Any],
    summaries: Sequence[Summary],
    of: str = "population",
    options: Mapping[str, Any] | None = None,
) -> list[Measures]:
    """What each summary says, checked to be of the same quantities."""
    target = checked_target(of)
    found = [kind.measures(one.mechanism, one, target, options or {}) for one in summaries]
    first = found[0]
    for other in found:
        same = list(other.values) == list(first.values)
        if not same or list(other.quantities) != list(first.quantities):
            raise InputError(
                "groups must answer the same question, with the same answers to choose from; "
                "got different ones"
            )
    return found
