"""Shares without a sum: what the default makes of counts that are known to the last one."""

from __future__ import annotations

import numpy as np
import pytest

from rumor.estimators.frequency.priors import make_grid
from rumor.kinds.set.fit import (
    FEWEST,
    beta_laws,
    clipped,
    pareto_laws,
    posterior_shares,
    with_trials,
)
from rumor.mechanisms.support import ItemCounts

HIT, MISS = 0.6, 0.2


def counted(shares: np.ndarray, trials: int, seed: int | None = None) -> ItemCounts:
    """Expected counts of these shares, or some that were drawn."""
    chance = MISS + (HIT - MISS) * shares
    counts = np.rint(trials * chance)
    if seed is not None:
        counts = np.random.default_rng(seed).binomial(trials, chance)
    return ItemCounts(counts.astype(np.int64), float(trials), HIT, MISS, 1.0)


def test_laws_are_laws() -> None:
    """Each sums to one and leaves something everywhere."""
    items = counted(np.linspace(0, 0.5, 60), 5000)
    grid = make_grid(items, items.unbiased)
    for laws in (beta_laws(grid, items), pareto_laws(grid, items)):
        np.testing.assert_allclose(np.exp(laws).sum(axis=0), 1.0, rtol=1e-9)
        assert np.isfinite(laws).all()
    assert beta_laws(grid, items).shape[1] == 5 * 26
    assert pareto_laws(grid, items).shape[1] == 60


def test_few_options_are_clipped() -> None:
    items = counted(np.array([-0.1, 0.2, 1.2]), 1000)
    found, told = posterior_shares(items)
    np.testing.assert_allclose(found, [0, 0.2, 1], atol=1e-12)
    assert told == {"estimator": "clipping"}
    assert FEWEST == 8


def test_shares_need_no_sum() -> None:
    """With very many reports the truth comes out, whatever it adds up to."""
    for shares in (np.full(10, 0.9), np.linspace(0.0, 1.0, 12), np.r_[0.95, np.zeros(59)]):
        found, _ = posterior_shares(counted(shares, 10**8))
        np.testing.assert_allclose(found, shares, atol=5e-4)


@pytest.mark.parametrize("options", [20, 200])
def test_equal_shares_are_drawn_together(options: int) -> None:
    """All options alike: the error falls far below that of each on its own."""
    shares = np.full(options, 0.1)
    items = counted(shares, 2000, seed=1)
    found, alone = (one - shares for one in (posterior_shares(items)[0], clipped(items)))
    assert (found**2).mean() < 0.2 * (alone**2).mean()


@pytest.mark.parametrize("options", [20, 200])
def test_an_outlier_is_not_drawn_in(options: int) -> None:
    """One option at 0.9 among rare ones keeps its share, within half a standard error."""
    shares = np.r_[0.9, np.full(options - 1, 0.02)]
    items = counted(shares, 20_000)
    found, _ = posterior_shares(items)
    error = np.sqrt(0.56 * 0.44 / 20_000) / (HIT - MISS)
    assert abs(found[0] - 0.9) < error / 2


def test_options_are_treated_alike() -> None:
    """Another order of the counts is the same order of the answers."""
    items = counted(np.random.default_rng(2).beta(0.3, 3, size=80), 3000, seed=3)
    order = np.random.default_rng(4).permutation(80)
    mixed = ItemCounts(items.counts[order], items.trials, HIT, MISS, 1.0)
    np.testing.assert_allclose(
        posterior_shares(mixed)[0], posterior_shares(items)[0][order], rtol=1e-6, atol=1e-9
    )


def test_an_option_without_trials_is_as_frequent_as_others() -> None:
    """Nothing was said of it: the law of the others is all there is."""
    counts, trials = np.full(12, 300), np.full(12, 1000.0)
    counts[3], trials[3] = 0, 0.0
    items = with_trials(ItemCounts(counts, trials, HIT, MISS, 1.0))
    found, _ = posterior_shares(items)
    assert found[3] == pytest.approx(0.25, abs=0.03)  # one option in twelve may be anywhere
    np.testing.assert_allclose(np.delete(found, 3), 0.25, atol=0.02)
