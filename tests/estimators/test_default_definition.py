"""The default estimate of frequencies once more: dense, slow and from its description.

Likelihoods of all values on the whole grid, a root for each law's tilt, laws written as their
formulas say. What `rumor.estimators.frequency.empirical` finds with narrow blocks and Newton steps
must be what this finds, to many digits, on few values, on some and on many.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import optimize, stats

from rumor.core.randomness import Seeded
from rumor.core.types import Vector
from rumor.estimators.frequency import empirical, priors
from rumor.estimators.frequency.channels import channel_items
from rumor.estimators.frequency.diagnostics import detectable, deviation, evenness
from rumor.estimators.frequency.empirical import limit_translation
from rumor.estimators.frequency.linear import project
from rumor.estimators.frequency.posterior import CountTable
from rumor.estimators.frequency.priors import Grid, Noise, ladder, make_grid
from rumor.mechanisms import (
    HadamardResponse,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from rumor.mechanisms.registry import mechanisms_of_kind
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.support import ItemCounts

HIT, MISS = 0.5, 0.2


def items_of(domain: int, people: int = 400, dispersion: float = 1.0) -> ItemCounts:
    """Counts of a law that halves from value to value, with some noise."""
    shares = 0.5 ** np.arange(domain)
    support = MISS + (HIT - MISS) * shares / shares.sum()
    counts = np.random.default_rng(domain).binomial(people, support)
    return ItemCounts(counts, float(people), HIT, MISS, dispersion)


@dataclass(frozen=True)
class Dense:
    """Likelihoods of every value (rows) at every point of a grid, the largest of each row 1."""

    items: ItemCounts
    grid: Grid

    @functools.cached_property
    def likelihood(self) -> Vector:
        """Binomial; for oracles whose counts are tied, with the variance that remains."""
        size, a = self.items.counts.size, self.items.dispersion
        columns = (self.items.counts, self.items.trials, self.items.miss, self.items.gain)
        counts, trials, miss, gain = (np.broadcast_to(c, (size,))[:, None] for c in columns)
        share, support, more = counts / trials, miss + gain * self.grid.points[None], 1.0
        if self.items.most < 1:  # as many more trials as that share would have brought
            more = np.maximum((support - miss) / (self.items.most - miss), 1.0)
            support = np.minimum(support, self.items.most)
        logs = share * np.log(support) + np.log(more) - more
        logs = logs + (-support if a == 0 else (1 - a * share) * np.log(1 - a * support) / a)
        logs = trials * logs
        return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))

    def tilted(self, law: Vector, t: float) -> tuple[Vector, Vector, Vector]:
        """Means, variances and logarithms of the normalisers under a law times e^(t v)."""
        v = self.grid.points
        with np.errstate(divide="ignore"):
            logs = np.log(self.likelihood * law) + t * v
        top = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - top)
        total = weights.sum(axis=1)
        mean = weights @ v / total
        return mean, weights @ v**2 / total - mean**2, np.log(total) + top[:, 0]

    def conditioned(self, law: Vector) -> tuple[Vector, Vector, float]:
        """Means and variances given that all frequencies sum to one, and the log evidence."""

        def excess(t: float) -> float:
            return float(self.tilted(law, t)[0].sum() - 1)

        end = 1.0
        while excess(-end) > 0 or excess(end) < 0:
            end *= 2
        t = optimize.brentq(excess, -end, end, xtol=1e-12, rtol=1e-14)
        mean, variance, logs = self.tilted(law, t)
        v, size = self.grid.points, self.grid.domain
        before = size * (v**2 @ law - (v @ law) ** 2)
        return mean, variance, logs.sum() - t + (math.log(before) - math.log(variance.sum())) / 2

    @property
    def even(self) -> float:
        """The log evidence of all values being equally frequent."""
        at = int(np.flatnonzero(self.grid.points == 1 / self.grid.domain)[0])
        return float(np.log(self.likelihood[:, at]).sum())


def few_part(domain: int) -> float:
    """1 up to 12 values, 0 from 32 on, along the logarithm in between."""
    return float(np.interp(math.log(domain), [math.log(12), math.log(32)], [1.0, 0.0]))


def centred(law: Vector, points: Vector, domain: int) -> Vector:
    """A law tilted to mean 1/D; no cell has less than e^-700 of the largest."""
    logs = np.maximum(law - law.max(), -700.0)

    def tilted(t: float) -> Vector:
        raised = logs + t * domain * points
        found = np.exp(raised - raised.max())
        return np.asarray(found / found.sum())

    end = 1.0
    while tilted(-end) @ points * domain > 1 or tilted(end) @ points * domain < 1:
        end *= 2
    t = optimize.brentq(lambda t: tilted(t) @ points * domain - 1, -end, end, xtol=1e-13)
    return np.maximum(tilted(t), math.exp(-700.0))


def gamma_cells(edges: Vector, shape: float, rate: float) -> Vector:
    """Log-masses of cells: x^(shape - 1) e^(-rate x), whole in the cell that holds 0."""
    found = np.full(edges.size - 1, -np.inf)
    for cell, (low, high) in enumerate(itertools.pairwise(edges)):
        if low <= 0 < high:
            found[cell] = shape * math.log(high) - high * rate
            found[cell] += math.log1p(high * rate / (shape + 1))
        elif low > 0:
            x = (low + high) / 2
            found[cell] = (shape - 1) * math.log(x) - x * rate + math.log(shape * (high - low))
    return found


def rank_cells(grid: Grid, rank: Vector) -> Vector:
    """Log-numbers of ranks, from 1/2 to D + 1/2, whose frequencies lie in each cell."""
    inside = np.clip(rank, 0.5, grid.domain + 0.5)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(inside[:-1] - inside[1:]))


def all_laws(grid: Grid, noise: float) -> tuple[list[Vector], list[float]]:
    """Every law of the ladder, as its formula says, and its weight."""
    size, edges, few = grid.domain, grid.edges, few_part(grid.domain)
    ranks = np.arange(1.0, size + 1)
    laws, weights = [], []
    highest = size * max(16.0, 100.0 / (size * noise) ** 2)
    totals = [2.0**k for k in range(60) if 2.0**k <= highest]
    for total in totals if len(totals) <= 20 else totals[::2]:
        laws.append(gamma_cells(edges, total / size, total))
        weights.append((1 / (1 + total / size / 5.0)) ** few)
    with np.errstate(divide="ignore"):
        for s in (0.35, 0.5, 0.71, 1.0, 1.41, 2.0, 2.83):
            laws.append(rank_cells(grid, (edges * (ranks**-s).sum()) ** (-1 / s)))
        for t in (4.0**k for k in range(1, math.ceil(math.log(size, 4.0)) + 1)):
            laws.append(rank_cells(grid, -t * np.log(edges * np.exp(-ranks / t).sum())))
    weights += [0.3**few] * (len(laws) - len(weights))
    for total in (1 / 64, 1 / 16, 1 / 4):
        laws.append(gamma_cells(edges, total / size, total))
        weights.append(0.25 ** (1 - few))
    for b in (0.05, 0.1, 0.2, 0.4, 0.7):
        laws.append(gamma_cells((edges - b / size) / (1 - b), 1 / 4 / size, 1 / 4))
        weights.append(0.25)
    return [centred(law, grid.points, size) for law in laws], weights


@pytest.mark.parametrize("domain", [5, 12, 18, 40])
def test_the_laws_are_those_of_their_formulas(domain: int) -> None:
    items = items_of(domain)
    grid, noise = make_grid(items, items.unbiased), Noise(items).sd(1 / domain)
    laws, weights = all_laws(grid, noise)
    found, odds = ladder(grid, noise)
    assert found.shape[1] == len(laws) == odds.size
    np.testing.assert_allclose(odds, weights, rtol=1e-9)
    for number, law in enumerate(laws):
        np.testing.assert_allclose(np.exp(found[:, number]), law, rtol=1e-5, atol=1e-12)


def test_few_and_many_values_go_into_each_other() -> None:
    for domain in (2, 12, 13, 20, 31, 32, 500):
        assert priors.few_share(domain) == pytest.approx(few_part(domain))
        few = few_part(domain)
        assert priors.between(domain, 0.3, 2.0) == pytest.approx(0.3**few * 2.0 ** (1 - few))
        odds = 0.1**few * max(4.0, domain / 20.0) ** (1 - few)
        assert empirical._even_odds(domain) == pytest.approx(odds)


@pytest.mark.parametrize("dispersion", [1.0, 0.4, 0.0])
def test_posteriors_are_those_of_the_whole_grid(dispersion: float) -> None:
    """Free, and given their sum: means, variances and evidence of each law."""
    items = items_of(9, dispersion=dispersion)
    grid = make_grid(items, items.unbiased)
    table, dense = CountTable(items, grid), Dense(items, grid)
    laws = np.exp(ladder(grid, Noise(items).sd(1 / 9))[0])
    laws /= laws.sum(axis=0)
    some = laws[:, [2, 5, 9]]
    free, tied = table.independent_posterior(np.log(some)), table.condition(np.log(some))
    assert table.even_evidence() == pytest.approx(dense.even, rel=1e-9)
    for number, law in enumerate(some.T):
        mean, variance, logs = dense.tilted(law, 0.0)
        np.testing.assert_allclose(free.means[table.where, number], mean, rtol=1e-9)
        np.testing.assert_allclose(free.variances[table.where, number], variance, rtol=1e-7)
        assert free.evidence[number] == pytest.approx(logs.sum(), rel=1e-9)
        mean, variance, evidence = dense.conditioned(law)
        assert mean.sum() == pytest.approx(1.0)
        if np.isfinite(tied.evidence[number]):
            np.testing.assert_allclose(tied.means[table.where, number], mean, atol=1e-7)
            np.testing.assert_allclose(tied.variances[table.where, number], variance, rtol=1e-5)
            assert tied.evidence[number] == pytest.approx(evidence, abs=1e-6)
    assert np.isfinite(tied.evidence).any()
    # How many values a law expects at each point, and how many atoms it amounts to.
    law = some[:, 0]
    shares = dense.likelihood * law
    shares /= shares.sum(axis=1, keepdims=True)
    expected = shares.sum(axis=0)
    np.testing.assert_allclose(table.responsibilities(law), expected, rtol=1e-7, atol=1e-14)
    atoms = (shares**2 / np.maximum(expected, 1e-300)).sum()
    assert table.concentration(law, expected) == pytest.approx(atoms, rel=1e-7)


def fitted(dense: Dense, start: Vector) -> tuple[Vector, float]:
    """A law of mean 1/D by 100 steps of expectation-maximisation, three values of the start."""
    size = dense.grid.domain
    away = dense.grid.points - 1 / size
    law = (start + 1 / start.size) / 2
    shares = dense.likelihood
    expected = law
    for _ in range(100):
        shares = dense.likelihood * law
        shares = shares / shares.sum(axis=1, keepdims=True)
        expected = shares.sum(axis=0) + 3.0 * start
        total = size + 3.0

        def mean(m: float, expected: Vector = expected, total: float = total) -> float:
            return float(expected @ (away / (total + m * away)))

        ends = -total / away.max() * (1 - 1e-12), -total / away.min() * (1 - 1e-12)
        m = optimize.brentq(mean, *ends, xtol=1e-13, rtol=1e-15)
        law = expected / (total + m * away)
        law = law / law.sum()
    last = dense.likelihood * law
    last = last / last.sum(axis=1, keepdims=True)
    return law, float((last**2 / np.maximum(expected, 1e-300)).sum())


def shrunk_again(items: ItemCounts) -> tuple[Vector, float, float]:
    """The whole estimate: frequencies, log evidence against "all are equal", part of the fit."""
    grid = make_grid(items, items.unbiased)
    dense, size = Dense(items, grid), grid.domain
    laws, odds = all_laws(grid, Noise(items).sd(1 / size))
    found = [dense.conditioned(law / law.sum()) for law in laws]
    evidence = np.array([one[2] for one in found]) + np.log(np.array(odds) / sum(odds))
    few = few_part(size)
    even_odds = 0.1**few * max(4.0, size / 20.0) ** (1 - few)
    # One report that supports a value changes the odds by so much, and may by a factor e^0.6.
    expected = np.min(items.trials) * np.mean(items.miss)
    most = math.inf if items.most == 1 else items.most / (1 - items.most)
    steepest = min(float(np.max(items.gain / items.miss)), most)
    step = math.log1p(min(steepest, 5.0 / math.sqrt(expected)))
    trust = min(1.0, 0.6 / step)
    together = float(np.logaddexp.reduce(evidence))
    equal = 1 / (1 + math.exp(-trust * (dense.even + math.log(even_odds) - together)))
    weights = np.exp(evidence - together) * (1 - equal)
    means = weights @ np.array([one[0] for one in found]) + equal / size
    whole = np.logaddexp(together, dense.even + math.log(even_odds)) - math.log1p(even_odds)
    part = 0.0
    if few < 1:
        start = weights @ np.array(laws)
        start[grid.even] += equal
        law, atoms = fitted(dense, start / start.sum())
        own, _, free = dense.conditioned(law)
        penalty = max(math.log(size), 4.0 * atoms) + max(math.log(size / 100), 0.0)
        penalty += math.log1p(even_odds)
        part = (1 - few) / (1 + math.exp(-trust * (free - float(whole) - penalty)))
        means = part * own + (1 - part) * means
    means = np.maximum(means, 0.0)
    return limit_translation(items, means / means.sum()), float(whole - dense.even), part


@pytest.mark.parametrize(("domain", "people"), [(6, 50), (9, 4000), (18, 300), (40, 3000)])
def test_the_default_is_the_average_of_all_laws(domain: int, people: int) -> None:
    items = items_of(domain, people)
    frequency, evidence, part = shrunk_again(items)
    found = empirical.shrink(items)
    np.testing.assert_allclose(found.frequency, frequency, atol=1e-6)
    assert found.evidence == pytest.approx(evidence, abs=1e-5)
    assert found.fitted == pytest.approx(part, abs=1e-5)
    # Below ten values the projection keeps a part: a quarter up to seven.
    kept = min(0.25, 0.25 * max(10 - domain, 0) / 3)
    answer, told = empirical.default_frequency(items, items.unbiased)
    projected = project(items.unbiased)
    np.testing.assert_allclose(answer, kept * projected + (1 - kept) * frequency, atol=1e-6)
    assert told["estimator"] == "empirical Bayes"


def test_blocks_have_trials_and_noise_of_their_own() -> None:
    """A blocked oracle: each block's reports are the trials of its values."""
    oracle = HadamardResponse(domain=9, epsilon=3.0)
    held = np.random.default_rng(3).choice(
        9, 3000, p=[0.5, 0.2, 0.1, 0.05, 0.05, 0.04, 0.03, 0.02, 0.01]
    )
    summary = Summary.empty(oracle).update(oracle.privatize(held, random=Seeded(4)))
    items = oracle.item_channel(summary.tally, 3000)
    assert np.unique(items.trials).size > 1
    assert items.most < 1
    noise = Noise(items)
    assert (noise.trials, noise.gain) == (np.max(items.trials), np.min(items.gain))
    assert noise.miss == np.mean(items.miss)
    frequency, evidence, _ = shrunk_again(items)
    found = empirical.shrink(items)
    np.testing.assert_allclose(found.frequency, frequency, atol=1e-6)
    assert found.evidence == pytest.approx(evidence, abs=1e-5)


def test_few_reports_of_a_block_leave_it_to_the_projection() -> None:
    for fewest, part in ((20.0, 1.0), (30.0, 1.0), (math.sqrt(9000.0), 0.5), (300.0, 0.0)):
        trials = np.array([fewest, fewest, *[900.0] * 10])
        items = ItemCounts(trials * 0.4, trials, HIT, MISS, 1.0, most=0.5)
        assert empirical._projected_part(items) == pytest.approx(part)
        whole = ItemCounts(trials * 0.4, 900.0, HIT, MISS, 1.0, most=0.5)
        assert empirical._projected_part(whole) == 0.0


# The grid


def test_the_grid_is_as_fine_as_the_noise() -> None:
    """Around every count in steps of 0.3 standard errors, geometric steps of 1.12 elsewhere."""
    items = items_of(9, 5000)
    noise, grid = Noise(items), make_grid(items, items.unbiased)
    assert (grid.points[0], grid.points[-1]) == (0.0, 1.0)
    assert grid.points[grid.even] == 1 / 9
    middle = (grid.points[1:] + grid.points[:-1]) / 2
    np.testing.assert_allclose(grid.edges, [0.0, *middle, 1.0])
    for v in (0.0, 0.1, 0.7):
        support = MISS + (HIT - MISS) * v
        assert noise.sd(v) == pytest.approx(
            math.sqrt(support * (1 - support) / 5000) / (HIT - MISS)
        )
        step = 1e-6
        slope = (noise.stretched(v + step) - noise.stretched(v)) / step
        assert float(slope) == pytest.approx(1 / noise.sd(v), rel=1e-4)
        assert noise.unstretched(noise.stretched(v)) == pytest.approx(v, abs=1e-9)
    gaps, at = np.diff(grid.points), grid.points[:-1]
    assert (gaps[1:] <= 0.12 * at[1:] * 1.001).all(), "geometric at least"
    for seen in np.clip(items.unbiased, 0, 1):
        near = np.abs(middle - seen) < 6.5 * noise.sd(float(seen))
        spread = np.array([noise.sd(float(v)) for v in middle[near]])
        assert (gaps[near] <= 0.3 * spread * 1.05).all()


# What the counts can tell


def test_values_that_stand_alone_stay_near_their_count() -> None:
    items = items_of(9, 5000)
    unbiased = items.unbiased
    support = np.maximum((items.counts + 1) / 5002, MISS)
    error = np.sqrt(support * (1 - support) / 5000) / (HIT - MISS)
    moved = np.full(9, 1 / 9)
    found = limit_translation(items, moved)
    assert found.sum() == pytest.approx(1.0)
    first = int(np.argmax(unbiased))
    second = np.partition(unbiased, -2)[-2]
    place = int(np.flatnonzero(unbiased == second)[0])
    apart = (unbiased[first] - second) / math.hypot(error[first], error[place])
    assert apart > 6, "the first value stands alone"
    low = min(unbiased[first], project(unbiased)[first]) - 0.25 * error[first]
    assert found[first] == pytest.approx(low, rel=1e-3)
    free = project(unbiased)
    np.testing.assert_array_equal(limit_translation(items, free), free)
    # From six standard errors down to three the limit widens without bound.
    for apart, widened in ((7.0, 0.0), (4.5, 1.0), (3.75, 3.0)):
        trials = 1e6
        each = math.sqrt(0.25 / trials) / 0.5
        shares = np.array([0.5, 0.5 - apart * math.sqrt(2) * each, *[0.0] * 3])
        counts = trials * (0.25 + 0.5 * shares)
        one = ItemCounts(counts, trials, 0.75, 0.25, 1.0)
        own = np.sqrt(np.maximum((counts + 1) / (trials + 2), 0.25))
        own = own * np.sqrt(1 - own**2) / math.sqrt(trials) / 0.5
        gap = (one.unbiased[0] - one.unbiased[1]) / math.hypot(own[0], own[1])
        crowded = min(max((6 - gap) / 3, 0.0), 1.0)
        assert crowded / (1 - crowded) == pytest.approx(widened, abs=0.02)
        most = max(one.unbiased[0], project(one.unbiased)[0]) + own[0] * (
            0.25 + crowded / (1 - crowded)
        )
        raised = limit_translation(one, np.array([0.6, 0.39997, 1e-5, 1e-5, 1e-5]))
        assert raised[0] == pytest.approx(most, rel=1e-5)


def test_what_is_detectable_is_where_the_test_has_its_power() -> None:
    """A one-sided test at 5 %: an absent value passes so often, a detectable one in 90 %."""
    for kind in (RandomizedResponse, UnaryEncoding, SubsetSelection):
        oracle = kind(domain=20, epsilon=1.0)
        found = detectable(oracle, 20_000)
        assert found is not None
        limit = stats.norm.isf(0.05) * math.sqrt(oracle.variance(0.0, 20_000))
        power = stats.norm.sf(limit, found, math.sqrt(oracle.variance(found, 20_000)))
        assert power == pytest.approx(0.9)
        assert deviation(oracle, 0.1, 50) == pytest.approx(math.sqrt(oracle.variance(0.1, 50)))
        assert detectable(oracle, 3) is None


def test_the_test_of_evenness_by_its_two_parts() -> None:
    items = items_of(7, 900)
    support = MISS + (HIT - MISS) / 7
    z = (items.counts / 900 - support) / math.sqrt(support * (1 - support) / 900)
    z = z - z.mean()
    cube = ((z @ z) / 6) ** (1 / 3)
    common = stats.norm.sf((cube - (1 - 2 / 54)) / math.sqrt(2 / 54))
    assert common == pytest.approx(stats.chi2.sf(z @ z, 6), rel=0.05, abs=1e-6)
    single = 2 * stats.norm.sf(np.abs(z).max() * math.sqrt(7 / 6))
    largest = 1 - (1 - single) ** 7
    assert evenness(items) == pytest.approx(min(1.0, 2 * min(common, largest)), rel=1e-9)


def test_one_step_towards_the_people_is_bayes_rule() -> None:
    items, law = items_of(4, 300), np.array([0.5, 0.3, 0.15, 0.05])
    share = items.counts / 300
    support = MISS + (HIT - MISS) * law
    moved = law * (share * HIT / support + (1 - share) * (1 - HIT) / (1 - support))
    np.testing.assert_allclose(empirical.towards_people(items, law), moved / moved.sum())


# Channels of one's own


def test_a_channel_of_supports_has_the_counts_of_its_mechanism() -> None:
    for kind in mechanisms_of_kind("choice"):
        if kind not in (RandomizedResponse, SubsetSelection):
            continue  # of others some output supports all values, and so none
        oracle = kind(domain=6, epsilon=1.5)
        channel = oracle.channel().matrix()
        seen = np.random.default_rng(1).integers(1, 20, channel.shape[1]).astype(float)
        found = channel_items(channel, seen, np.zeros(6), np.ones(6))
        tally = sum(
            round(often) * oracle.tally(oracle.outputs()[i : i + 1]) for i, often in enumerate(seen)
        )
        wanted = oracle.item_channel(tally, round(seen.sum()))
        np.testing.assert_allclose(found.counts, wanted.counts)
        assert found.trials == pytest.approx(wanted.trials)
        assert found.hit == pytest.approx(wanted.hit)
        assert found.miss == pytest.approx(wanted.miss)
        assert found.dispersion == pytest.approx(wanted.dispersion, abs=1e-9)


def test_any_other_channel_has_counts_with_its_shares_and_errors() -> None:
    channel = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]])
    seen, unbiased = np.array([30.0, 50.0, 20.0]), np.array([0.3, 0.9, -0.2])
    stderr = np.array([0.2, 0.3, 0.001])
    found = channel_items(channel, seen, unbiased, stderr)
    np.testing.assert_allclose(found.unbiased, unbiased)
    # At least the spread of one report; what the sum took out of the errors is added again.
    error = np.maximum(stderr, 1 / 100) * math.sqrt(3 / 2)
    support = 0.5
    at_half = np.sqrt(support * (1 - support) / np.asarray(found.trials)) / float(found.gain)
    np.testing.assert_allclose(at_half, error)
    assert float(np.min(found.trials)) >= 100 * (1 - 1e-9)
    reach = float(found.gain) * (1 + 0.9)
    assert reach <= 0.4 * (1 + 1e-9)
