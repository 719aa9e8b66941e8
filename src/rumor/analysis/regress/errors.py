"""Errors, intervals and tests of coefficients: by profile, or by a sandwich."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.special import fdtrc

from rumor.analysis.regress.fit import FittedModel
from rumor.analysis.regress.result import TermTest
from rumor.core.types import Vector
from rumor.estimators.groups import chi_squared_tail, two_sided_p_value
from rumor.estimators.survey import student_p_value, student_quantile
from rumor.results.intervals import Bounds


class Errors(Protocol):
    """Errors of coefficients: matrices have a row for each term and a column for each value."""

    covariance: Vector
    stderr: Vector
    roots: Vector
    p_value: Vector

    def profile(self, z: float) -> Bounds:
        """Return both ends of the interval of each coefficient, at the normal quantile `z`."""
        ...

    def test(self, name: str, places: Sequence[int]) -> TermTest:
        """Return the test of the term `name`, whose columns are at `places`."""
        ...


class Profiles:
    """Errors that the likelihood gives, of people who count alike."""

    def __init__(self, full: FittedModel) -> None:
        self._full = full
        self.covariance, self.stderr = full.covariance, full.stderr
        self.roots = full.signed_roots()
        self.p_value = two_sided_p_value(self.roots.reshape(-1)).reshape(self.roots.shape)

    def profile(self, z: float) -> Bounds:
        """Return both ends of the interval of each coefficient, at the normal quantile `z`."""
        return self._full.profile(z)

    def test(self, name: str, places: Sequence[int]) -> TermTest:
        """Test the columns at `places` by what the model loses without them."""
        statistic = self._full.loss_without(places)
        freedom = len(places) * self._full.coefficients.shape[1]
        return TermTest(name, statistic, freedom, chi_squared_tail(statistic, freedom))


class Sandwich:
    """Errors of a covariance that is estimated (Binder, International Statistical Review 51)."""

    def __init__(self, coefficients: Vector, covariance: Vector, freedom: float) -> None:
        self._coefficients, self._freedom = coefficients, freedom
        self.covariance = covariance
        self.stderr = np.sqrt(np.diag(covariance)).reshape(coefficients.T.shape).T
        self.roots = coefficients / self.stderr
        normal = two_sided_p_value(self.roots.reshape(-1)).reshape(self.roots.shape)
        self.p_value = student_p_value(normal, freedom)

    def profile(self, z: float) -> Bounds:
        """Return both ends of the interval of each coefficient, by Student's distribution."""
        reach = student_quantile(z, self._freedom) * self.stderr
        return self._coefficients - reach, self._coefficients + reach

    def test(self, name: str, places: Sequence[int]) -> TermTest:
        """Test the columns at `places` by Wald's statistic and its F distribution."""
        some = np.zeros(self._coefficients.shape, dtype=np.bool_)
        some[list(places)] = True
        rows = np.flatnonzero(some.T.reshape(-1))
        away = self._coefficients.T.reshape(-1)[rows]
        statistic = float(
            away @ np.linalg.pinv(self.covariance[np.ix_(rows, rows)], hermitian=True) @ away
        )
        tail = float(fdtrc(rows.size, self._freedom, statistic / rows.size))
        return TermTest(name, statistic, rows.size, tail)
