"""Values of a mechanism that an audit compares, and how they are handed over.

An audit (rumor.privacy.audit) plays the distinguishing game between values: it walks the draws of
a few of them branch by branch, and draws many reports of two of them, by this package or by a
program that is given a value as a word of its command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from rumor.mechanisms.base import Mechanism

M = TypeVar("M", bound="Mechanism")

# The most values whose draws are walked branch by branch; of more, only four are walked.
_VALUES_WALKED = 4


class Audit(Generic[M]):
    """The values of a mechanism, as an audit sees them (`Mechanism.audit`)."""

    def __init__(self, mechanism: M) -> None:
        self.mechanism = mechanism

    def pairs_to_compare(self) -> Sequence[tuple[object, object]]:
        """Return pairs of values, one of which can be told apart as well as any pair.

        If all values are treated alike, these are the first and the last value.
        """
        values = self.mechanism.inputs()
        return [(values[0], values[-1])]

    def walked_values(self) -> Sequence[object]:
        """Return the values whose draws are walked: all if they are
        few, else both ends and the middle.
        """
        values = self.mechanism.inputs()
        if len(values) <= _VALUES_WALKED:
            return values
        return [values[0], values[1], values[len(values) // 2], values[-1]]

    def repeat(self, value: object, count: int) -> object:
        """Return a batch of `count` people who all hold `value`, in
        the form that is read fastest.
        """
        if self.mechanism.oracle is not None:
            return np.full(count, self.mechanism.oracle.code(value))
        return np.full(count, value) if isinstance(value, (int, float)) else [value] * count

    def as_argument(self, value: object) -> str:
        """Return `value` as a command's argument."""
        labels = self.mechanism.labels
        return str(value) if labels is None else self.place_as_argument(labels.index(str(value)))

    def place_as_argument(self, place: int) -> str:
        """Return the number of a place, or its label where that number is another's label."""
        number, labels = str(place), self.mechanism.labels
        return number if labels is None or number not in labels else labels[place]
