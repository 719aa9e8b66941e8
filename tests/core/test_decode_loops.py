"""The loops of decoding: compiled and plain agree, and both do what they say."""

from __future__ import annotations

import itertools
from types import ModuleType

import numpy as np
import pytest

import rumor
from rumor.core import loops
from rumor.core.loops.compiled import decode as kernels_decode
from rumor.core.loops.descent import Descent
from rumor.core.loops.plain import decode as twins_decode
from rumor.kinds.text.fit.candidates import Candidates, candidate_map
from rumor.kinds.text.fit.decoys import newton_ratios
from rumor.kinds.text.fit.lasso import Lasso, padded
from rumor.mechanisms.rappor.bloom import BloomFilter
from rumor.mechanisms.rappor.simulation import simulate_counts

SHAPES = [(16, 1, 3), (8, 3, 4), (256, 2, 2), (4, 4, 1)]


def case(bits: int, hashes: int, cohorts: int) -> tuple[Candidates, np.ndarray, np.ndarray]:
    bloom = BloomFilter(bits, hashes, cohorts, b"loops")
    rng = np.random.default_rng(bits)
    weight = rng.uniform(0.5, 2.0, (cohorts, bits))
    weight[0, 1] = 0.0
    return candidate_map(bloom, [str(i) for i in range(20)]), rng.normal(size=weight.shape), weight


def dense(made: Candidates) -> np.ndarray:
    """The design matrix, (candidates, cohorts, bits)."""
    bloom = made.bloom
    out = np.zeros((len(made), bloom.cohorts, bloom.bits + 1))
    for j, row in enumerate(made.rows):
        for i, bit in enumerate(row.tolist()):
            out[j, i // bloom.hashes, bit] = 1.0
    return out[:, :, :-1]


@pytest.mark.parametrize("module", [kernels_decode, twins_decode])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_are_those_of_the_design_matrix(
    module: ModuleType, shape: tuple[int, int, int]
) -> None:
    made, table, weight = case(*shape)
    x, inverse = dense(made), 1.0 / weight.sum(axis=1)
    scores, norms, gram = np.empty(20), np.empty(20), np.zeros((20, 20))
    hashes = made.bloom.hashes
    module.column_scores(made.rows, hashes, padded(table), scores)
    module.column_norms(made.rows, hashes, padded(weight), inverse, norms)
    module.gram(made.rows, hashes, padded(weight), inverse, gram)
    in_cohort = (x * weight).sum(axis=2)
    expected = np.einsum("jcb,lcb,cb->jl", x, x, weight) - (in_cohort * inverse) @ in_cohort.T
    assert scores == pytest.approx((x * table).sum(axis=(1, 2)), abs=1e-12)
    assert norms == pytest.approx(np.diag(expected), abs=1e-12)
    assert gram == pytest.approx(np.tril(expected), abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_descents_agree(shape: tuple[int, int, int]) -> None:
    made, share, weight = case(*shape)
    results = []
    for module in (kernels_decode, twins_decode):
        lasso = Lasso(made.rows, made.bloom.hashes, share, weight)
        b = np.zeros(20)
        everything, penalties = np.arange(20), 0.3 * lasso.lengths
        fit = lasso.descent(everything, lasso.pull, lasso.level, penalties, b)
        module.descend(fit, 1e-9, 5_000)
        results.append((b, lasso.pull, lasso.level))
    for ours, theirs in zip(*results, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-7)


@pytest.mark.parametrize("shape", SHAPES)
def test_decoys_agree_word_for_word(shape: tuple[int, int, int]) -> None:
    made, table, _ = case(*shape)
    bloom = made.bloom
    both = [np.empty(500, dtype=np.float32) for _ in range(2)]
    for module, out in zip((kernels_decode, twins_decode), both, strict=True):
        module.decoy_scores(np.uint64(77), 5, bloom.hashes, bloom.bits, padded(table), out)
    assert both[0] == pytest.approx(both[1], abs=1e-5)
    later = np.empty(495, dtype=np.float32)
    kernels_decode.decoy_scores(np.uint64(77), 10, bloom.hashes, bloom.bits, padded(table), later)
    assert np.array_equal(later, both[0][5:])


@pytest.mark.parametrize("module", [kernels_decode, twins_decode])
@pytest.mark.parametrize("size", [8, 2048])
@pytest.mark.parametrize("reach", [1, 2, 3])
def test_terms_of_cohorts_multiply_to_the_mean_over_all_sets_of_bits(
    module: ModuleType, size: int, reach: int
) -> None:
    rng, bits = np.random.default_rng(size), 5
    places = rng.integers(0, size, (2, bits))
    chances = np.array([0.5, 0.3, 0.2])[:reach]
    waves = np.exp(-2j * np.pi * np.arange(size // 2 + 1)[:, None] / size * places[:, None])
    first = rng.normal(size=size // 2 + 1) + 1j * rng.normal(size=size // 2 + 1)
    expected = first.copy()
    for cohort in waves:
        expected *= sum(
            chance * np.mean([cohort[:, s].prod(axis=1) for s in map(list, sets)], axis=0)
            for d, chance in enumerate(chances, start=1)
            if (sets := list(itertools.combinations(range(bits), d)))
        )
    half = np.fft.rfft([np.bincount(row, minlength=size).astype(float) for row in places], axis=1)
    module.multiply_terms(half, chances, newton_ratios(bits, reach), first)
    assert first == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("module", [kernels_decode, twins_decode])
def test_factors_solve(module: ModuleType) -> None:
    rng = np.random.default_rng(5)
    root = rng.normal(size=(30, 12))
    matrix = root.T @ root
    lower = np.tril(matrix)
    assert module.factor(lower)
    right, out, diagonal = rng.normal(size=12), np.empty(12), np.empty(12)
    module.solve(lower, right, out)
    module.inverse_diagonal(lower, diagonal)
    assert matrix @ out == pytest.approx(right)
    assert diagonal == pytest.approx(np.diag(np.linalg.inv(matrix)))
    assert not module.factor(np.tril(np.ones((3, 3))))


@pytest.mark.parametrize("levels", [True, False])
def test_a_solution_satisfies_its_optimality_conditions(levels: bool) -> None:
    """x'(w r) is the penalty where a coefficient is positive and at most that elsewhere."""
    bloom = BloomFilter(32, 2, 6, b"optimal")
    made = candidate_map(bloom, [str(i) for i in range(300)])
    rng = np.random.default_rng(1)
    share, weight = rng.normal(size=(6, 32)), rng.uniform(0.5, 2.0, (6, 32))
    lasso = Lasso(made.rows, 2, share, weight, levels=levels)
    penalties = 0.8 * lasso.lengths
    lasso.approach(0.8)
    lasso.solve(penalties)
    x = dense(made)
    fitted = np.einsum("j,jcb->cb", lasso.coefficients, x)
    level = (weight * (share - fitted)).sum(axis=1) / weight.sum(axis=1) if levels else np.zeros(6)
    score = ((share - fitted - level[:, None]) * weight * x).sum(axis=(1, 2))
    positive = lasso.coefficients > 0
    assert 5 < positive.sum() < 150
    assert score[positive] == pytest.approx(penalties[positive], abs=0.02)
    assert (score[~positive] <= penalties[~positive] + 0.02).all()
    assert lasso.squares() == pytest.approx(
        (weight * (share - fitted - level[:, None]) ** 2).sum(), rel=1e-9
    )


def test_without_numba_the_same_words_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rappor = rumor.Rappor(bits=64, hashes=2, cohorts=4, f=0, p=0.3, q=0.7, key=b"plain")
    words = [f"word {i}" for i in range(40)]
    summary = simulate_counts(rappor, words[:3], [500, 300, 200], random=rumor.Seeded(1))
    compiled = rumor.estimate(rappor, summary, candidates=words)
    loops.decode_loops.cache_clear()
    monkeypatch.setattr(loops, "_has_numba", lambda: False)
    try:
        assert loops.decode_loops() is twins_decode
        plain = rumor.estimate(rappor, summary, candidates=words)
    finally:
        loops.decode_loops.cache_clear()
    assert list(plain.found()) == list(compiled.found()) == words[:3]
    assert plain.frequency == pytest.approx(compiled.frequency, abs=1e-6)
    assert plain.p_value == pytest.approx(compiled.p_value, rel=1e-3)


@pytest.mark.parametrize("module", [kernels_decode, twins_decode])
@pytest.mark.parametrize("shape", SHAPES)
def test_many_descents_are_the_single_ones(module: ModuleType, shape: tuple[int, int, int]) -> None:
    """Three fits, each without one candidate, side by side and one by one."""
    made, share, weight = case(*shape)
    hashes, barred = made.bloom.hashes, np.array([3, 0, 11])
    lasso = Lasso(made.rows, hashes, share, weight)
    start = (lasso.weight, lasso.inverse, lasso.norms, np.full(20, 0.1) * lasso.lengths)
    weights, inverse, norms, penalties = start
    pull = np.repeat(lasso.pull[:, :, None], 3, axis=2)
    level, together = np.repeat(lasso.level[:, None], 3, axis=1), np.zeros((20, 3))
    fits = Descent(made.rows, hashes, pull, weights, inverse, level, norms, penalties, together)
    module.descend_many(fits, barred, 1e-10, 10_000)
    for k, out in enumerate(barred.tolist()):
        alone, without = np.zeros(20), norms.copy()
        without[out] = 0.0
        own_pull, own_level = lasso.pull.copy(), lasso.level.copy()
        own = fits._replace(pull=own_pull, level=own_level, norms=without, coefficients=alone)
        module.descend(own, 1e-10, 10_000)
        assert alone.any()
        assert together[out, k] == 0.0
        # Words with equal bits may share differently; what they explain is the same.
        assert pull[:, :, k] == pytest.approx(own_pull, abs=1e-7)
        assert level[:, k] == pytest.approx(own_level, abs=1e-7)


@pytest.mark.parametrize("module", [kernels_decode, twins_decode])
@pytest.mark.parametrize("shape", SHAPES)
def test_those_that_exceed_most_are_found(module: ModuleType, shape: tuple[int, int, int]) -> None:
    """Against totals over the design matrix, sorted; among 400 candidates, more than a chunk."""
    bits, hashes, cohorts = shape
    made = candidate_map(BloomFilter(bits, hashes, cohorts, b"many"), [str(i) for i in range(400)])
    rng = np.random.default_rng(bits)
    tables = rng.normal(size=(cohorts, bits + 1, 3)).astype(np.float32)
    tables[:, -1] = 0.0
    bounds = rng.uniform(0.0, 2.0, 400).astype(np.float32)
    excess, who = np.empty((3, 5), dtype=np.float32), np.empty((3, 5), dtype=np.int64)
    module.exceeding(made.rows, hashes, tables, bounds, excess, who)
    x = dense(made)
    for k in range(3):
        above = (x * tables[:, :-1, k]).sum(axis=(1, 2)) - bounds
        expected = np.sort(above[above > 0])[::-1][:5]
        found = who[k][who[k] >= 0]
        assert np.sort(above[found])[::-1] == pytest.approx(expected, abs=1e-4)
        assert np.sort(excess[k])[::-1][: expected.size] == pytest.approx(expected, abs=1e-4)
        assert found.size == expected.size == np.unique(found).size
