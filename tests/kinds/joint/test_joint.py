"""Tables of several answers: exact covariances, the average of models, tests and intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from rumor.core.randomness import Seeded
from rumor.core.types import Vector
from rumor.estimators.frequency.linear import project
from rumor.kinds.joint.fit.association import (
    beyond_margins,
    cramers_v,
    fieller,
    independence_test,
    odds_ratio,
    ratio_to_independence,
)
from rumor.kinds.joint.fit.bayes import (
    averaged,
    averaged_table,
    consistent_tables,
    margin_sums,
    margins,
    nearest_table,
    table_posterior,
    weight_of_model,
)
from rumor.kinds.joint.fit.linear import (
    Moments,
    ObservedTable,
    TableCoordinates,
    contrasts,
    linear,
    observed_tables,
)
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.subset_selection import SubsetSelection

SIZES = (3, 4)
DEPENDENT = np.random.default_rng(3).dirichlet(np.ones(12))
INDEPENDENT: Vector = np.kron(np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.2, 0.3, 0.4])).astype(
    np.float64
)


def expected(mixed: Mixed, truth: Vector, people: float) -> list[ObservedTable]:
    """What each component would see of a table without chance."""
    whole, found = truth.reshape(mixed.parts.sizes), []
    for one in mixed.components:
        others = tuple(set(range(mixed.parts.count)) - set(one.asks))
        table = whole.sum(axis=others).ravel()
        noise = one.oracle.covariance(table, 1) / (people * float(one.share))
        found.append(ObservedTable(one.asks, Moments(table, noise)))
    return found


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_covariance_is_that_of_the_channel(size: int) -> None:
    """Written out: every report, its probability, and what it adds to the unbiased estimate."""
    oracle = SubsetSelection(domain=6, epsilon=1.0, size=size)
    truth = np.array([0.3, 0.25, 0.2, 0.15, 0.1, 0.0])
    channel = oracle.channel()
    added = np.array([oracle.unbiased(oracle.tally(row[None]), 1) for row in channel.outputs])
    chances = truth @ channel.matrix()
    mean = chances @ added
    np.testing.assert_allclose(mean, truth, atol=1e-12)
    covariance = (added * chances[:, None]).T @ added - np.outer(mean, mean)
    np.testing.assert_allclose(oracle.covariance(truth, 1), covariance, atol=1e-10)


def test_coordinates_and_tables_are_the_same_thing() -> None:
    coordinates = TableCoordinates((3, 2, 4))
    whole = np.random.default_rng(1).dirichlet(np.ones(24)).reshape(3, 2, 4)
    places, maps = coordinates.seen_by((0, 1, 2))
    theta = np.empty(coordinates.count)
    theta[places] = maps @ whole.ravel()
    for pair, other in (((0, 1), 2), ((0, 2), 1), ((1, 2), 0)):
        own, back, added = coordinates.table(pair)
        np.testing.assert_allclose(added + back @ theta[own], whole.sum(axis=other).ravel())
    for part, others in ((0, (1, 2)), (2, (0, 1))):
        own, back, added = coordinates.margin(part)
        np.testing.assert_allclose(added + back @ theta[own], whole.sum(axis=others))
    np.testing.assert_allclose(contrasts(5).T @ contrasts(5), np.eye(4), atol=1e-12)
    np.testing.assert_allclose(contrasts(5).sum(axis=0), 0, atol=1e-12)


def test_margins_that_were_asked_alone_mend_the_table() -> None:
    """By least squares, written out the other way: all that was seen in one system."""
    mixed = Mixed(parts=SIZES, epsilon=1.0, pair=0.6)
    seen = expected(mixed, DEPENDENT, 10_000)
    rng = np.random.default_rng(5)
    seen = [
        ObservedTable(
            one.asks, Moments(rng.multivariate_normal(one.table.mean, one.table.covariance), c)
        )
        for one in seen
        for c in [one.table.covariance]
    ]
    found = linear(SIZES, seen).pair((0, 1))
    sums = {(0, 1): np.eye(12), (0,): margin_sums(SIZES)[:3], (1,): margin_sums(SIZES)[3:]}
    basis = contrasts(12)
    inverse, weighted = np.zeros((11, 11)), np.zeros(11)
    for one in seen:
        free = contrasts(one.table.mean.size)
        design = free.T @ sums[one.asks] @ basis
        weight = np.linalg.inv(free.T @ one.table.covariance @ free)
        away = free.T @ (one.table.mean - sums[one.asks] @ np.full(12, 1 / 12))
        inverse += design.T @ weight @ design
        weighted += design.T @ weight @ away
    wanted = 1 / 12 + basis @ np.linalg.solve(inverse, weighted)
    np.testing.assert_allclose(found.mean, wanted, atol=1e-10)
    np.testing.assert_allclose(
        found.covariance, basis @ np.linalg.inv(inverse) @ basis.T, atol=1e-12
    )
    alone = next(one for one in seen if one.asks == (0, 1)).table
    assert (found.deviation < alone.deviation).all()
    assert found.mean.sum() == pytest.approx(1)


def test_a_table_that_nobody_was_asked_for_is_not_known() -> None:
    seen = expected(Mixed(parts=SIZES, epsilon=1.0, pair=0.5), DEPENDENT, 100.0)
    found = linear(SIZES, [one for one in seen if len(one.asks) == 1])
    np.testing.assert_allclose(found.margin(0).mean, margins(DEPENDENT, SIZES)[0])
    assert found.pair((0, 1)).deviation.min() > 0.3


def test_independence_is_found_where_it_is_and_nowhere_else() -> None:
    mixed = Mixed(parts=SIZES, epsilon=2.0)
    together = linear(SIZES, expected(mixed, DEPENDENT, 50_000)).pair((0, 1))
    apart = linear(SIZES, expected(mixed, INDEPENDENT, 50_000)).pair((0, 1))
    assert table_posterior(together, SIZES).independence < 1e-6
    model = table_posterior(apart, SIZES)
    assert model.independence > 0.9
    # With no noise to shrink away from, both are where they are.
    np.testing.assert_allclose(model.mean, INDEPENDENT, atol=1e-9)
    np.testing.assert_allclose(table_posterior(together, SIZES).mean, DEPENDENT, atol=2e-3)
    assert np.trace(model.covariance) < 0.6 * np.trace(apart.covariance)


def test_one_model_is_that_of_a_dirichlet_law() -> None:
    """The prior's interaction is Dirichlet's covariance, conditioned on its margins."""
    rows, columns = margins(INDEPENDENT, SIZES)
    kappa = 7.0
    whole = (np.diag(INDEPENDENT) - np.outer(INDEPENDENT, INDEPENDENT)) / (kappa + 1)
    sums = margin_sums(SIZES)
    known = whole @ sums.T @ np.linalg.pinv(sums @ whole @ sums.T) @ sums @ whole
    closed = np.kron(
        np.diag(rows) - np.outer(rows, rows), np.diag(columns) - np.outer(columns, columns)
    )
    np.testing.assert_allclose(whole - known, closed / (kappa + 1), atol=1e-12)


def test_the_nearest_table_is_nearest_in_its_metric() -> None:
    rng = np.random.default_rng(2)
    noise = SubsetSelection(domain=12, epsilon=1.0).covariance(DEPENDENT, 1) / 500
    known = Moments(rng.multivariate_normal(DEPENDENT, noise), noise)
    assert known.mean.min() < 0
    found = nearest_table(known)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    basis = contrasts(12)
    precise = np.linalg.inv(basis.T @ noise @ basis)

    def distance(table: Vector) -> float:
        away = basis.T @ (table - known.mean)
        return float(away @ precise @ away)

    best = distance(found)
    for _ in range(300):
        other = project(found + 0.02 * rng.standard_normal(12))
        assert distance(other) >= best - 1e-6
    already = Moments(DEPENDENT, noise)
    np.testing.assert_allclose(nearest_table(already), DEPENDENT, atol=1e-6)


def test_tables_of_several_pairs_have_the_same_margins() -> None:
    mixed = Mixed(parts=(3, 3, 3), epsilon=1.0)
    people = np.random.default_rng(4).choice(
        27, size=3_000, p=np.random.default_rng(5).dirichlet(np.ones(27))
    )
    counted = mixed.counted(mixed.tally(mixed.privatize(people, random=Seeded(6))))
    found = linear((3, 3, 3), observed_tables(counted))
    known = {
        pair: averaged(found.pair(pair), table_posterior(found.pair(pair), (3, 3)))
        for pair in found.coordinates.pairs
    }
    tables, agreed = consistent_tables(known, (3, 3, 3))
    for pair, table in tables.items():
        assert table.min() >= 0
        for part, margin in zip(pair, margins(table, (3, 3)), strict=True):
            np.testing.assert_allclose(margin, agreed[part], atol=1e-6)


def test_the_drawn_table_weighs_where_it_has_less_risk() -> None:
    """Nearly all of it where answers are independent; little where most cells are empty."""
    sizes, rng, mixed = (8, 8), np.random.default_rng(7), Mixed(parts=(8, 8), epsilon=1.0)
    diagonal = np.diag(np.full(8, 1 / 8)).ravel()
    even = np.full(64, 1 / 64)
    weights = {}
    for name, truth in (("diagonal", diagonal), ("even", even)):
        people = rng.choice(64, size=30_000, p=truth)
        counted = mixed.counted(mixed.tally(mixed.privatize(people, random=Seeded(8))))
        plain = linear(sizes, observed_tables(counted)).pair((0, 1))
        drawn = table_posterior(plain, sizes)
        weights[name] = weight_of_model(plain, drawn)
        ways: dict[str, list[tuple[float, Moments]]] = {
            "both": averaged(plain, drawn),
            "plain": [(1.0, plain)],
            "drawn": [(1.0, drawn)],
        }
        errors = {
            way: float(((averaged_table(known) - truth) ** 2).sum()) for way, known in ways.items()
        }
        best = min(errors["plain"], errors["drawn"])
        assert errors["both"] <= 1.1 * best, name
    assert weights["even"] > 0.99
    assert weights["diagonal"] < 0.2


def test_what_cells_have_beyond_their_margins_varies_as_its_derivative_says() -> None:
    noise = SubsetSelection(domain=12, epsilon=2.0).covariance(DEPENDENT, 1) / 1e7
    rng = np.random.default_rng(9)
    drawn = rng.multivariate_normal(DEPENDENT, noise, size=4_000)
    seen = [beyond_margins(Moments(one, noise), SIZES).mean for one in drawn]
    exact = beyond_margins(Moments(DEPENDENT, noise), SIZES).covariance
    # 4,000 draws: a variance is known to 2.2 %, five of these are 11 %.
    np.testing.assert_allclose(np.var(seen, axis=0), np.diag(exact), rtol=0.11)


def trials(sizes: tuple[int, int], truth: Vector, count: int, seed: int) -> list[Moments]:
    mixed, rng, source = Mixed(parts=sizes, epsilon=1.0), np.random.default_rng(seed), Seeded(seed)
    found = []
    for _ in range(count):
        people = rng.choice(truth.size, size=20_000, p=truth)
        counted = mixed.counted(mixed.tally(mixed.privatize(people, random=source)))
        found.append(linear(sizes, observed_tables(counted)).pair((0, 1)))
    return found


@pytest.mark.slow
def test_the_test_keeps_its_size_and_intervals_hold_the_truth() -> None:
    """Of 300 trials a level of 5 % is kept within five standard deviations, 6.3 points."""
    truth: Vector = np.array([0.12, 0.28, 0.18, 0.42])
    found = trials((2, 2), truth, 300, 11)
    p_values = [independence_test(one, (2, 2)).p_value for one in found]
    assert abs(np.mean(np.array(p_values) < 0.05) - 0.05) < 0.063
    held = [cramers_v(one, (2, 2), project(one.mean), 0.95).low == 0 for one in found]
    assert np.mean(held) > 0.975 - 0.045
    truth = np.array([0.3, 0.2, 0.15, 0.35])
    found = trials((2, 2), truth, 300, 12)
    rows, columns = margins(truth, (2, 2))
    product = np.kron(rows, columns)
    strength = math.sqrt(float(((truth - product) ** 2 / product).sum()))
    z = 1.959964
    covered = {"V": 0, "odds": 0, "ratio": 0}
    for one in found:
        v = cramers_v(one, (2, 2), project(one.mean), 0.95)
        covered["V"] += v.low <= strength <= v.high
        low, high = odds_ratio(one, (2, 2), (0, 1, 0, 1), z)
        covered["odds"] += low <= 3.5 <= high
        low, high = ratio_to_independence(one, (2, 2), 1, z)
        covered["ratio"] += low <= truth[1] / product[1] <= high
    for what, count in covered.items():
        assert abs(count / 300 - 0.95) < 0.063, what
    assert max(independence_test(one, (2, 2)).p_value for one in found) < 0.05


def test_fieller_allows_for_what_may_be_zero() -> None:
    # A plain ratio, 4 over 2, both known to a hundredth.
    low, high = fieller(4.0, 2.0, (1e-4, 1e-4, 0.0), 2.0)
    assert low == pytest.approx(1.978, abs=1e-3)
    assert high == pytest.approx(2.023, abs=1e-3)
    # The lower one may be zero: no number is too large, but small ones are.
    low, high = fieller(4.0, 0.1, (1e-2, 1e-2, 0.0), 2.0)
    assert high == math.inf
    assert 4.0 - 0.21 * low == pytest.approx(0.0, abs=4.0)
    assert 10 < low < 40
    # Both may be zero: nothing is known.
    assert fieller(0.1, 0.1, (1.0, 1.0, 0.0), 2.0) == (0.0, math.inf)
    # Where the upper one may be zero, so may the ratio.
    assert fieller(0.01, 2.0, (1e-2, 1e-4, 0.0), 2.0)[0] == 0.0


def test_strength_ends_at_one() -> None:
    noise = SubsetSelection(domain=4, epsilon=1.0).covariance(np.array([0.5, 0, 0, 0.5]), 1)
    known = Moments(np.array([0.5, 0.0, 0.0, 0.5]), noise / 500)
    found = cramers_v(known, (2, 2), known.mean, 0.95)
    assert found.high == 1.0
    assert 0.3 < found.low < found.value <= 1.0


def test_a_row_that_nobody_is_in_does_not_drown_the_strength() -> None:
    """Two answers that agree, and a third label of the first that nobody chose."""
    truth = np.array([0.45, 0.05, 0.05, 0.45, 0.0, 0.0])
    noise = SubsetSelection(domain=6, epsilon=1.0).covariance(truth, 1) / 20_000
    shares = np.array([0.45, 0.05, 0.05, 0.449, 0.001, 0.0])
    found = cramers_v(Moments(truth, noise), (3, 2), shares, 0.95)
    assert found.value == pytest.approx(0.8, abs=0.02)
    assert 0.7 < found.low < 0.8 < found.high < 0.9


def table_of(rng: np.random.Generator, rule: str, sizes: tuple[int, int]) -> Vector:
    """Draw a true table by a rule."""
    if rule in ("any", "sparse"):
        weight = 0.15 if rule == "sparse" else rng.uniform(0.5, 3)
        return np.asarray(rng.dirichlet(np.full(math.prod(sizes), weight)))
    apart = np.outer(*(rng.dirichlet(np.full(size, 3.0)) for size in sizes))
    together = np.zeros(sizes)
    for place, share in enumerate(rng.dirichlet(np.full(max(sizes), 3.0))):
        together[place % sizes[0], place % sizes[1]] += share
    weight = {"independent": 0.0, "perfect": 1.0, "mild": rng.uniform(0.02, 0.3)}[rule]
    return np.asarray((weight * together + (1 - weight) * apart).ravel())


def strength_of(truth: Vector, sizes: tuple[int, int]) -> float:
    product = np.kron(*margins(truth, sizes))
    chosen = product > 0
    squares = (truth - product)[chosen] ** 2 / product[chosen]
    return math.sqrt(float(squares.sum()) / (min(sizes) - 1))


def strengths(rule: str, rounds: int, seed: int) -> tuple[int, list[float]]:
    """How often intervals hold V, and their widths: of any size, epsilon and number of people."""
    rng, source = np.random.default_rng(seed), Seeded(seed)
    held, widths = 0, []
    for _ in range(rounds):
        sizes = (int(rng.integers(2, 6)), int(rng.integers(2, 6)))
        truth = table_of(rng, rule, sizes)
        mixed = Mixed(parts=sizes, epsilon=math.exp(rng.uniform(math.log(0.5), math.log(6))))
        people = round(math.exp(rng.uniform(math.log(50), math.log(20_000))))
        cells = rng.choice(truth.size, size=people, p=truth)
        counted = mixed.counted(mixed.tally(mixed.privatize(cells, random=source)))
        one = linear(sizes, observed_tables(counted)).pair((0, 1))
        found = cramers_v(one, sizes, nearest_table(table_posterior(one, sizes)), 0.95)
        true = strength_of(truth, sizes)
        held += found.low - 1e-9 <= true <= found.high + 1e-9
        widths.append(found.high - found.low)
    return held, widths


@pytest.mark.parametrize(
    "rule",
    ["sparse", "perfect", *(pytest.param(r, marks=pytest.mark.slow) for r in ("any", "mild"))],
)
def test_the_strength_is_covered_whatever_the_table_is(rule: str) -> None:
    """Of 400 tables drawn by a rule: not significantly below 95 in a hundred, and not idle."""
    held, widths = strengths(rule, 400, 20261118)
    assert binom.cdf(held, 400, 0.95) > 0.01
    assert min(widths) > 0
    assert np.mean(widths) < 0.75


@pytest.mark.slow
def test_strength_is_covered_where_answers_are_independent() -> None:
    """The lower end is 0 in all but one tail."""
    held, widths = strengths("independent", 400, 20261118)
    assert binom.cdf(held, 400, 0.975) > 0.01
    assert min(widths) > 0


def test_a_rare_row_with_a_column_of_its_own_leaves_the_strength_open() -> None:
    """One in 500 is in the second row, always in the second column: V is 1, reports are silent."""
    truth = np.array([0.998, 0.0, 0.0, 0.002])
    noise = SubsetSelection(domain=4, epsilon=1.0).covariance(truth, 1) / 2_000
    found = cramers_v(Moments(truth, noise), (2, 2), truth, 0.95)
    assert (found.low, found.high) == (0.0, 1.0)
    assert cramers_v(Moments(truth, noise / 1e6), (2, 2), truth, 0.95).low > 0.9


def test_a_rare_row_with_known_columns_adds_what_it_may() -> None:
    """Its share over that of the smallest column: little where hardly anybody is in it."""
    truth = np.array([0.49975, 0.49975, 0.0005, 0.0])
    noise = SubsetSelection(domain=4, epsilon=4.0).covariance(truth, 1) / 100_000
    assert 2 * math.sqrt(noise[2:, 2:].sum()) > 0.0005
    found = cramers_v(Moments(truth, noise), (2, 2), truth, 0.95)
    assert found.low <= strength_of(truth, (2, 2)) <= found.high < 0.1


def test_a_strength_is_a_number_whatever_the_reports_are() -> None:
    """Few people, much noise: margins that are nothing beside their noise leave all open."""
    rng, noise = np.random.default_rng(9), 0.25 * np.eye(6)
    for _ in range(200):
        table = Moments(rng.normal(1 / 6, 0.5, 6), noise)
        shares = project(table.mean)
        found = cramers_v(table, (3, 2), shares, 0.95)
        assert 0 <= found.low <= found.value <= found.high <= 1
    one_cell = np.array([1.0, 0, 0, 0])
    open_ended = cramers_v(Moments(one_cell, 4 * np.eye(4)), (2, 2), one_cell, 0.95)
    assert (open_ended.low, open_ended.high) == (0.0, 1.0)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("noise", [1e-14, 1e-10, 1e-7, 1e-3, 1.0])
def test_a_table_with_empty_rows_has_an_answer_however_little_noise_there_is(
    noise: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = np.zeros(6), rng.dirichlet(np.ones(6))
    rows[rng.choice(6, 2, replace=False)] = rng.dirichlet(np.ones(2))
    spread = rng.normal(size=(36, 36))
    covariance = noise * spread @ spread.T / 36
    mean = np.kron(rows, columns) + rng.multivariate_normal(np.zeros(36), covariance)
    plain = Moments(mean, covariance)
    drawn = table_posterior(plain, (6, 6))
    values = np.linalg.eigvalsh(drawn.covariance)
    assert values.min() >= -1e-12 * values.max()
    table = averaged_table(averaged(plain, drawn))
    assert table.min() >= 0
    assert table.sum() == pytest.approx(1)
