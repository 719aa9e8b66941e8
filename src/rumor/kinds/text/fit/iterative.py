"""The iterative Bayesian update on Bloom filters: frequencies of candidates from whole reports.

CSS 2020, equations 9 to 12, with a report of RAPPOR as the output: given a word, every bit of its
filter is 1 with probability q* and every other bit with p*. A report's probability is thus a
factor of the report alone, which cancels, times one of two ratios for each bit of the word: q*/p*
where the report has the bit, (1 - q*) / (1 - p*) where not. Every person is assumed to have a
candidate: the share of words outside the dictionary is divided among the candidates, and nothing
is tested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.estimators.data import Passes
from rumor.estimators.frequency.likelihood import Likelihood, MatrixLikelihood
from rumor.estimators.frequency.scaling import PassLikelihood
from rumor.kinds.text.fit.candidates import Candidates
from rumor.mechanisms.rappor.rappor import Rappor

# The largest matrix of reports by words that is stored between updates, in entries (80 MB).
_KEPT = 10_000_000
# The number of reports handled at a time where the matrix is not stored.
_CHUNK = 1 << 12


def bloom_likelihood(
    rappor: Rappor, candidates: Candidates, reports: Reports | Passes
) -> Likelihood:
    """Return the likelihood of the candidates' frequencies, given all `reports`."""
    batch = _Batch(rappor, candidates.rows)
    if not isinstance(reports, Passes) and len(reports) * len(candidates) <= _KEPT:
        return MatrixLikelihood(batch.ratios(reports), np.ones(len(reports)))
    return PassLikelihood(batch, reports, len(candidates))


@dataclass(frozen=True)
class _Batch:
    """The likelihood of every word for a batch of reports."""

    rappor: Rappor
    rows: NDArray[np.unsignedinteger]

    def ratios(self, reports: Reports) -> Vector:
        """Return P(report | word), each report divided by its largest value over the words."""
        rappor, (p, q) = self.rappor, (self.rappor.p_star, self.rappor.q_star)
        up, down = math.log(q / p), math.log((1 - q) / (1 - p))
        cohorts, bits = rappor.cohorts_and_bits(reports)
        out = np.empty((len(reports), len(self.rows)))
        for cohort in np.unique(cohorts).tolist():
            own = np.flatnonzero(cohorts == cohort)
            places = self.rows[:, cohort * rappor.hashes : (cohort + 1) * rappor.hashes]
            # A bit that two hashes share is marked by the index after the last bit.
            filters = np.zeros((len(self.rows), rappor.bits + 1), dtype=np.float32)
            np.put_along_axis(filters, places.astype(np.int64), 1, axis=1)
            filters = filters[:, : rappor.bits]
            hits = bits[own].astype(np.float32) @ filters.T
            out[own] = hits * (up - down) + filters.sum(axis=1) * down
        out -= out.max(axis=1, keepdims=True)
        return np.asarray(np.exp(out, out=out))

    def __call__(self, reports: Reports, state: Vector) -> Vector:
        """Return the sums over a batch: of the gradient, and of the log-likelihoods."""
        found = np.zeros(state.size + 1)
        for start in range(0, len(reports), _CHUNK):
            ratios = self.ratios(reports[start : start + _CHUNK])
            d = ratios @ state
            found[:-1] += (1 / d) @ ratios
            found[-1] += np.log(d).sum()
        return found
