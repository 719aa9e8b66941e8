"""Reports that estimators go through again and again, wherever they are.

An estimator never asks for the reports themselves, only for sums over them: a function of a
batch and of a state (the estimate so far, say) whose results add up. In memory there is one
batch; an engine has many, on threads or on other machines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

from rumor.core.reports import Reports
from rumor.core.types import Vector

S = TypeVar("S")


@runtime_checkable
class Passes(Protocol):
    """Reports of one mechanism, to be summed over as often as needed."""

    @property
    def count(self) -> int:
        """How many reports there are."""
        ...

    def total(self, function: Callable[[Reports, S], Vector], state: S) -> Vector:
        """The sum of `function(batch, state)` over all batches, at least one of them.

        The function must be one that can be sent elsewhere: of a module, or an instance of a
        class of a module.
        """
        ...


def total(reports: Reports | Passes, function: Callable[[Reports, S], Vector], state: S) -> Vector:
    """One pass: over an array at once, over anything else batch by batch."""
    if isinstance(reports, Passes):
        return reports.total(function, state)
    return function(reports, state)
