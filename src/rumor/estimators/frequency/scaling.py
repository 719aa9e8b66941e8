"""The likelihood of unary encodings as probabilities, by passes over the reports.

It serves methods that need iterations alone, and shows the paper's way of writing it:
probabilities, times a constant.

The generalised iterative Bayesian technique (CSS 2020) iterates on P(report | value) itself
(equation 11), which underflows in doubles on domains of some hundred values, and then on
those probabilities divided by what all of them have in common (equation 12), which reaches
some ten thousand. They are here so that these limits can be seen; the odds of support need
neither (see likelihood).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.estimators.data import Passes, total
from rumor.estimators.frequency.likelihood import Update
from rumor.mechanisms.bits import BitPerValue
from rumor.mechanisms.oracle import FrequencyOracle

Terms = Callable[[Reports, Vector], Vector]
"""A batch's contributions to the gradient at frequencies and, last, to the log-likelihood."""


class PassLikelihood:
    """A likelihood by passes over reports of any weights; its
    size does not depend on their number.
    """

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
        """Return the update at h from one pass."""
        found = total(self._reports, self._terms, h)
        return Update(found[:-1] / self.reports, float(found[-1]))

    def curvature(self, h: Vector) -> Vector:
        """Raise an error: methods with this likelihood only iterate."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Terms:
    """The terms that reports add to the gradient and, last, to the log-likelihood.

    As SupportLikelihood has it, with factors that do not cancel here: of two probabilities, of the
    report given a value that it supports and given one that it does not.
    """

    oracle: BitPerValue
    weights: Vector | None
    shared: tuple[int, int]

    def __call__(self, reports: Reports, h: Vector) -> Vector:
        oracle = self.oracle
        p, q = oracle.hit, oracle.miss
        # 0s that became 1s and that stayed 0s, given a supported value; one more of the former
        # and one less of the latter given another.
        ones = np.bitwise_count(reports).sum(axis=1, dtype=np.int64)
        flipped, kept = ones - 1 - self.shared[0], oracle.domain - ones - self.shared[1]
        with np.errstate(under="ignore", over="ignore"):
            common = np.power(q, flipped.astype(np.float64)) * np.power(1 - q, kept - 1.0)
            supported, other = common * (1 - q) * p, common * q * (1 - p)
        rise = supported - other
        d = other + rise * oracle.forward(reports, h)
        if not (d > 0).all():
            raise InputError(
                "probabilities of reports must stay above 4.9e-324, the smallest double; got 0 "
                f'on {oracle.domain:,} values: use likelihood="odds", which has no such limit'
            )
        often = np.ones(len(reports)) if self.weights is None else self.weights
        share = often / d
        gradient = float(share @ other) + oracle.adjoint(reports, share * rise)
        return np.append(gradient, often @ np.log(d))


def probability_likelihood(
    oracle: FrequencyOracle, reports: Reports | Passes, weights: Vector | None, *, scaled: bool
) -> PassLikelihood:
    """Return the likelihood of equation 11 of CSS 2020, or if `scaled` 12; unary encodings only."""
    if not isinstance(oracle, BitPerValue):
        raise InputError(
            f"likelihoods by probability are those of unary encodings; got {oracle.name!r}"
        )
    shared = (0, 0)
    if scaled:
        # The least over all reports is what they share.
        seen = np.flatnonzero(total(reports, _ones_counts, oracle.domain + 1))
        shared = (max(int(seen[0]) - 1, 0), max(oracle.domain - 1 - int(seen[-1]), 0))
    return PassLikelihood(_Terms(oracle, weights, shared), reports, oracle.domain, weights)


def _ones_counts(reports: Reports, size: int) -> Vector:
    """Return how many reports have each number of 1s."""
    ones = np.bitwise_count(reports).sum(axis=1, dtype=np.int64)
    return np.bincount(ones, minlength=size).astype(np.float64)


def smallest_probability(oracle: BitPerValue) -> float:
    """Return the least probability of any report, whose bits are all lies.

    It is the paper's limit for equation 11. In doubles it is 5e-324 for the symmetric variant at
    epsilon 1 with 764 values, and at epsilon 4 with 350; with one value more it is 0.
    """
    return float((1 - oracle.hit) * oracle.miss ** (oracle.domain - 1))


def smallest_scaled(oracle: BitPerValue, deviations: float = 6.0) -> float:
    """Return the paper's estimate of the least entry of equation 12's matrix.

    The numbers of lies differ between reports by at most `deviations` standard deviations: for the
    symmetric variant at epsilon 1 with 10,000 values and six deviations, the result is 1.17e-183.
    """
    q = oracle.miss
    spread = deviations * math.sqrt(oracle.domain * q * (1 - q))
    return float(q**spread * (1 - q) ** spread)
