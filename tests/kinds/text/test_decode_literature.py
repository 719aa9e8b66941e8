"""The decode of the literature: its published table, and least squares as textbooks have it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import rumor
from rumor.kinds.text.fit.candidates import Candidates, candidate_map
from rumor.kinds.text.fit.lasso import bit_shares
from rumor.kinds.text.fit.literature import decode_literature
from rumor.mechanisms.rappor.simulation import simulate_counts

# Precision (sd) and recall (sd) of 16 runs, measured apart from this code.
SEIKE = {
    1: ((0.813, 0.085), (0.133, 0.025)),
    2: ((0.909, 0.050), (0.171, 0.030)),
    4: ((0.903, 0.058), (0.237, 0.029)),
    8: ((0.919, 0.049), (0.338, 0.041)),
    16: ((0.955, 0.022), (0.460, 0.037)),
    32: ((0.948, 0.028), (0.572, 0.035)),
}


def published(hashes: int, run: int) -> tuple[rumor.Rappor, rumor.Summary, Candidates]:
    """One run of Seike, "Evaluating the decoding of RAPPOR", 2025."""
    rappor = rumor.Rappor(
        bits=128, hashes=hashes, cohorts=8, f=0, p=0.5, q=0.75, key=b"seike %d" % run
    )
    words, shares = [f"{i:03d}" for i in range(1, 201)], np.arange(1, 101) ** -0.7
    rng = np.random.default_rng([run, hashes])
    counts = [rng.multinomial(2_500, shares / shares.sum()) for _ in range(8)]
    summary = simulate_counts(
        rappor, words[:100], np.stack(counts, axis=1), random=rumor.Seeded(run)
    )
    return rappor, summary, candidate_map(rappor.bloom, words)


@pytest.mark.slow
@pytest.mark.parametrize("hashes", SEIKE)
def test_the_published_table(hashes: int) -> None:
    """16 runs against 16: both means within two standard errors of their difference."""
    each = []
    for run in range(16):
        rappor, summary, made = published(hashes, run)
        found = rumor.estimate(rappor, summary, candidates=made, method="lasso-ols").detected
        true = int(found[:100].sum())
        each.append((true / int(found.sum()), true / 100))
    means, variances = np.mean(each, axis=0), np.var(each, axis=0, ddof=1)
    for mean, variance, (reference, spread) in zip(means, variances, SEIKE[hashes], strict=True):
        assert abs(mean - reference) < 2 * np.sqrt(variance / 16 + spread**2 / 16)


def test_least_squares_and_its_t_test_are_the_textbooks() -> None:
    rappor, summary, made = published(2, 0)
    found = decode_literature(made, bit_shares(summary), level=0.05, penalty=0.1, cut=0.001)
    sizes, counts = rappor.cohort_counts(summary.tally)
    y = ((counts - rappor.p_star * sizes[:, None]) / (rappor.q_star - rappor.p_star)).reshape(-1)
    x = np.zeros((200, 8, 129))
    x[np.arange(200)[:, None, None], np.arange(8)[:, None], made.rows.reshape(200, 8, 2)] = 1.0
    kept = np.flatnonzero(np.isfinite(found.stderr))
    assert kept.size == found.kept
    columns = x[kept, :, :128].reshape(kept.size, -1).T
    beta, squares, *_ = np.linalg.lstsq(columns, y, rcond=None)
    freedom = y.size - kept.size
    spread = np.sqrt(squares[0] / freedom * np.diag(np.linalg.inv(columns.T @ columns)))
    assert found.frequency[kept] == pytest.approx(beta / 2_500, rel=1e-6)
    assert found.stderr[kept] == pytest.approx(spread / 2_500, rel=1e-6)
    assert found.p_value[kept] == pytest.approx(stats.t.sf(beta / spread, freedom), rel=1e-5)
    assert np.array_equal(found.detected, found.p_value < 0.05)
