"""Intervals of words found where most words that people hold are not on the list."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

import rumor
from rumor.core.types import Vector
from rumor.kinds.word_estimate import WordEstimate
from rumor.mechanisms.rappor.simulation import simulate_counts
from rumor.results.intervals import FoundIntervals, Tails, stderr_of_test

NOBODY = 400


def crowd(seed: int, unlisted: float = 0.9) -> tuple[WordEstimate, Vector]:
    """Decode a crowd drawn by a rule, and give the true shares of the candidates."""
    rng = np.random.default_rng(seed)
    held, hashes = int(rng.choice([50, 200, 1000])), int(rng.choice([1, 2]))
    rappor = rumor.Rappor(
        bits=int(rng.choice([32, 64])),
        hashes=hashes,
        cohorts=int(rng.choice([8, 16, 32])),
        f=0,
        p=1 / (1 + math.exp(float(rng.choice([1.0, 2.0, 4.0])) / hashes)),
        q=0.5,
        key=f"unlisted {seed}".encode(),
    )
    rank = np.arange(1.0, held + 1)
    shares = rank ** -float(rng.choice([0.7, 1.0, 1.3]))
    shares /= shares.sum()
    listed = rng.random(held) >= unlisted
    words = [f"word {i}" for i in range(held)]
    counts = rng.multinomial(int(rng.choice([20_000, 100_000, 1_000_000])), shares)
    summary = simulate_counts(rappor, words, counts, random=rumor.Seeded(seed))
    candidates = [word for word, there in zip(words, listed, strict=True) if there]
    candidates += [f"nobody {i}" for i in range(NOBODY)]
    found = rumor.estimate(rappor, summary, candidates=candidates)
    return found, np.concatenate([shares[listed], np.zeros(NOBODY)])


def test_an_interval_of_a_word_found_excludes_zero_only_where_its_test_does() -> None:
    """Whatever made the counts: the noise of heavy words on no list is not normal in its tail."""
    seen = 0
    for seed in range(24):
        found, _ = crowd(seed)
        rows = found.ranking(None)
        if not rows:
            continue
        low, _ = found.bounds(rows, rumor.View(order="estimate"))
        tail = 0.025 * max(0.5 * (len(rows) - 1), 0.25) / len(found.values)
        p_value = found.p_value[rows]
        assert (p_value[low > 0] <= tail * (1 + 1e-6)).all()
        seen += int((p_value > tail).sum())
    assert seen > 1  # words found whose interval must reach 0


@pytest.mark.slow
def test_words_found_hold_their_share_where_nine_in_ten_are_unlisted() -> None:
    """Words found in 500 crowds, pooled: not significantly below 95 in a hundred."""
    held = cases = 0
    for seed in range(500):
        found, truth = crowd(1_000 + seed)
        rows = found.ranking(None)
        if rows:
            low, high = found.bounds(rows, rumor.View(order="estimate"))
            held += int(((low <= truth[rows]) & (truth[rows] <= high)).sum())
            cases += len(rows)
    assert cases > 300
    assert binom.cdf(held, cases, 0.95) > 0.01


def test_a_tested_value_is_wider_below_and_never_narrower() -> None:
    """A p-value of .001 is 3.09 standard errors; the least one of all says nothing."""
    center, stderr = np.array([0.3, 0.3, 0.3, -0.1]), np.full(4, 0.05)
    p_value = np.array([1e-3, 1e-12, 1e-9, 0.9])
    tested = stderr_of_test(center, p_value, 1e-12)
    assert tested == pytest.approx([0.3 / 3.0902, 0.0, 0.3 / 5.9978, 0.0], rel=1e-4)
    rows = np.arange(4)
    ends = FoundIntervals(center, stderr, tested=tested)
    low, high = ends.tails(rows, Tails.alike(1e-3, 0.025, 4), "population")
    assert low == pytest.approx(
        [0.0, 0.3 - 3.0902 * 0.05, 0.3 - 3.0902 * 0.05002, -0.1 - 0.15451], abs=1e-4
    )
    assert high == pytest.approx(center + 1.959964 * 0.05)
    assert ends.bounds(1.96, "population")[0] == pytest.approx(center - 1.96 * 0.05)
