"""A likelihood by passes over the reports, for methods that need iterations alone."""

from __future__ import annotations

from collections.abc import Callable

from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.estimators.frequency.likelihood import Update
from rumor.estimators.passes import Passes, total

Terms = Callable[[Reports, Vector], Vector]
"""What a batch adds to the gradient at frequencies and, last, to the log-likelihood."""


class PassLikelihood:
    """Nothing of the reports' number is kept; they may be of unequal weights."""

    def __init__(
        self, terms: Terms, reports: Reports | Passes, values: int, weights: Vector | None = None
    ) -> None:
        self._terms, self._reports, self.values = terms, reports, values
        if weights is not None:
            self.reports = float(weights.sum())
            self.independent = self.reports**2 / float(weights @ weights)
        else:
            count = reports.count if isinstance(reports, Passes) else len(reports)
            self.reports = self.independent = float(count)

    def update(self, h: Vector) -> Update:
        """One pass."""
        found = total(self._reports, self._terms, h)
        return Update(found[:-1] / self.reports, float(found[-1]))

    def curvature(self, h: Vector) -> Vector:
        """Not needed: iterations are all there is."""
        raise NotImplementedError
