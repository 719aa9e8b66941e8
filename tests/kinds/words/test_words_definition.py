"""Words of RAPPOR and open words against dense matrices and their written rules.

The map of candidates is written out as a matrix of bits by words, and what the narrow loops find
is what least squares and a plain optimiser find on it.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import rumor
from rumor.core.types import Vector
from rumor.kinds import KINDS
from rumor.kinds.text.estimate import OPTIONS
from rumor.kinds.text.fit.auto import decode_auto
from rumor.kinds.text.fit.candidates import Candidates, candidate_map
from rumor.kinds.text.fit.lasso import BitShares, Lasso, bit_shares
from rumor.kinds.text.fit.left_out import LeaveOut, best_fit
from rumor.kinds.text.fit.refit import refit
from rumor.kinds.words.fit.found import (
    PrefixShares,
    discover,
    interval,
    look_for,
    ranking_shares,
    share_of,
)
from rumor.kinds.words.fit.prefixes import NullLaw, support, variance
from rumor.mechanisms.open_words.open_words import OpenWords
from rumor.mechanisms.summary import Summary
from tests.results.made import mechanism_of

WORDS = [f"w{i}" for i in range(9)]


@cache
def decoded() -> tuple[Any, Summary, Candidates, BitShares]:
    """A filter of 4 cohorts of 16 bits, and 900 people who hold three of the words."""
    rappor = rumor.Rappor(bits=16, hashes=2, cohorts=4, f=0.25, p=0.35, q=0.65, key=b"k")
    held = np.random.default_rng(1).choice(WORDS[:3], 900, p=[0.5, 0.3, 0.2])
    summary = Summary.empty(rappor).update(rappor.privatize(held, random=rumor.Seeded(2)))
    return rappor, summary, candidate_map(rappor.bloom, WORDS), bit_shares(summary)


def dense(words: Candidates) -> Vector:
    """Bits (all cohorts, one after the other) by words: 1 where the word sets the bit."""
    bloom = words.bloom
    found = np.zeros((bloom.cohorts * bloom.bits, len(words)))
    for row, bits in enumerate(words.rows.astype(int)):
        for cohort in range(bloom.cohorts):
            for bit in bits[cohort * bloom.hashes : (cohort + 1) * bloom.hashes]:
                if bit < bloom.bits:  # a bit that both hashes set counts once
                    found[cohort * bloom.bits + bit, row] = 1.0
    return found


def levels(words: Candidates) -> Vector:
    """A column for each cohort: 1 on its bits."""
    found = np.kron(np.eye(words.bloom.cohorts), np.ones((words.bloom.bits, 1)))
    return np.asarray(found, dtype=np.float64)


def test_shares_of_bits_are_those_of_their_cohort() -> None:
    rappor, summary, _, shares = decoded()
    sizes, counts = rappor.cohort_counts(summary.tally)
    p, q = rappor.p_star, rappor.q_star
    for cohort, bit in np.ndindex(4, 16):
        n, c = float(sizes[cohort]), float(counts[cohort, bit])
        assert shares.share[cohort, bit] == pytest.approx((c / n - p) / (q - p))
        rate = min(max((c + 1) / (n + 2), p), q)
        assert shares.weight[cohort, bit] == pytest.approx(n * (q - p) ** 2 / (rate * (1 - rate)))
        s = (rate - p) / (q - p)
        people = s * q * (1 - q) + (1 - s) * p * (1 - p)
        assert shares.people_weight[cohort, bit] == pytest.approx(n * (q - p) ** 2 / people)


def without_levels(words: Candidates, y: Vector, w: Vector) -> tuple[Vector, Vector]:
    """Words and shares, both less what the cohorts' own levels explain."""
    a = levels(words)
    x = dense(words)
    hat = a @ np.linalg.solve(a.T @ (w[:, None] * a), (w[:, None] * a).T)
    return x - hat @ x, y - hat @ y


@pytest.mark.parametrize("penalty", [3.0, 0.8])
def test_the_lasso_minimises_what_it_says(penalty: float) -> None:
    _, _, words, shares = decoded()
    y, w = shares.share.ravel(), shares.weight.ravel()
    x, y = without_levels(words, y, w)
    lasso = Lasso(words.rows, 2, shares.share, shares.weight, tolerance=1e-7)
    norms = (w[:, None] * x**2).sum(axis=0)
    np.testing.assert_allclose(lasso.norms, norms)
    np.testing.assert_allclose(lasso.scores, x.T @ (w * y), rtol=1e-7, atol=1e-6)
    lasso.approach(penalty)
    lasso.solve(penalty * lasso.lengths)

    def lost(b: Vector) -> tuple[float, Vector]:
        left = y - x @ b
        value = (w * left**2).sum() / 2 + penalty * np.sqrt(norms) @ b
        return float(value), penalty * np.sqrt(norms) - x.T @ (w * left)

    best = optimize.minimize(
        lost, np.zeros(9), jac=True, method="L-BFGS-B", bounds=[(0, None)] * 9,
        options={"ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    np.testing.assert_allclose(lasso.coefficients, best.x, atol=1e-5)
    left = y - x @ lasso.coefficients
    assert lasso.squares() == pytest.approx((w * left**2).sum(), rel=1e-6)
    assert lasso.support == int((lasso.coefficients > 0).sum())
    assert lasso.freedom == 64 - 4
    np.testing.assert_allclose(lasso.scores, x.T @ (w * left), atol=1e-4)


def test_the_best_fit_has_the_least_noise_of_its_path() -> None:
    _, _, words, shares = decoded()
    path = (4.0, 3.5, 3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.2)
    found = best_fit(Lasso(words.rows, 2, shares.share, shares.weight), path)
    noises = {}
    for penalty in path:
        lasso = Lasso(words.rows, 2, shares.share, shares.weight)
        lasso.approach(penalty)
        lasso.solve(penalty * lasso.lengths)
        left = 1 - min(lasso.support / lasso.freedom, 0.7)
        noises[penalty] = math.sqrt(lasso.squares() / lasso.freedom) / left
    assert found.tau == pytest.approx(min(noises.values()), rel=1e-3)
    assert noises[found.penalty] == pytest.approx(found.tau, rel=1e-3)
    lasso = found.lasso
    assert found.left == pytest.approx(1 - lasso.support / lasso.freedom)
    estimate, error = found.debiased()
    np.testing.assert_allclose(
        estimate, lasso.coefficients + lasso.scores / (lasso.norms * found.left)
    )
    np.testing.assert_allclose(error, found.tau / np.sqrt(lasso.norms))
    # Without a word of the fit, if all others kept their signs.
    active = np.flatnonzero(lasso.coefficients)
    w = shares.weight.ravel()
    x, _ = without_levels(words, shares.share.ravel(), w)
    own = x[:, active]
    inverse = np.linalg.inv(own.T @ (w[:, None] * own))
    b = lasso.coefficients[active]
    left_over = 1 / np.diag(inverse)
    longer = np.sqrt(
        1 + b * (b * left_over + 2 * found.penalty * lasso.lengths[active]) / lasso.squares()
    )
    quick = LeaveOut(found).quick_scores()
    np.testing.assert_allclose(
        quick[active], (lasso.scores[active] + b * left_over) / longer, rtol=1e-5
    )
    for place, word in enumerate(active.tolist()):
        moved = np.maximum(b - b[place] * inverse[:, place] / inverse[place, place], 0.0)
        moved[place] = 0.0
        np.testing.assert_allclose(LeaveOut(found).start(word), moved, atol=1e-8)


@pytest.mark.parametrize("with_levels", [True, False])
def test_the_refit_is_weighted_least_squares(with_levels: bool) -> None:
    _, _, words, shares = decoded()
    rows = np.arange(5)
    found = refit(words.rows[rows], 2, shares.share, shares.weight, levels=with_levels)
    y, w = shares.share.ravel(), shares.weight.ravel()
    x = dense(words)
    if with_levels:
        x, y = without_levels(words, y, w)
    x = x[:, rows]
    inverse = np.linalg.inv(x.T @ (w[:, None] * x))
    b = inverse @ x.T @ (w * y)
    np.testing.assert_allclose(found.unbiased, b, atol=1e-9)
    np.testing.assert_allclose(found.stderr, np.sqrt(np.diag(inverse)))
    assert found.total_stderr == pytest.approx(math.sqrt(inverse.sum()))
    assert found.squares == pytest.approx((w * (y - x @ b) ** 2).sum())
    kept = list(range(5))
    own = b
    while (own < 0).any():
        kept = [word for word, value in zip(kept, own, strict=True) if value >= 0]
        solved = np.linalg.solve((x[:, kept].T * w) @ x[:, kept], x[:, kept].T @ (w * y))
        own = np.asarray(solved, dtype=np.float64)
    wanted = np.zeros(5)
    wanted[kept] = own
    np.testing.assert_allclose(found.coefficients, wanted, atol=1e-9)
    np.testing.assert_allclose(found.residual.ravel(), y - x @ wanted, atol=1e-9)


def test_an_estimate_of_words_is_its_decode_and_the_sampling_of_people() -> None:
    rappor, summary, words, shares = decoded()
    found = rumor.estimate(rappor, summary, candidates=WORDS, level=0.2)
    path = [4.0, 3.5, 3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.2]
    made = decode_auto(words, shares, level=0.2, decoys=None, penalties=path, trim=4.5)
    restored = words.restore
    np.testing.assert_array_equal(found.detected, restored(made.detected))
    np.testing.assert_allclose(found.p_value, restored(made.p_value))
    unbiased, error = made.fit.debiased()
    unbiased[made.detected] = made.refit.unbiased
    error[made.detected] = math.sqrt(max(1.0, made.noise)) * made.refit.stderr
    np.testing.assert_allclose(found.unbiased, restored(unbiased))
    p, q = rappor.p_star, rappor.q_star
    least = math.sqrt(min(p * (1 - p), q * (1 - q)) / (900 * 2)) / (q - p)
    error = np.maximum(error, least)
    share = np.clip(unbiased, 0, 1)
    both = np.sqrt(error**2 + share * (1 - share) / 900)
    np.testing.assert_allclose(found.stderr, restored(both))
    frequency = np.zeros(9)
    frequency[made.detected] = made.refit.coefficients
    np.testing.assert_allclose(found.frequency, restored(frequency))
    rest = min(max(1 - frequency.sum(), 0.0), 1.0)
    other = max(math.sqrt(max(1.0, made.noise)) * made.refit.total_stderr, least)
    assert found.other == pytest.approx(rest)
    assert found.other_stderr == pytest.approx(math.sqrt(other**2 + rest * (1 - rest) / 900))
    assert found.level == 0.2
    assert "20%" in found.controls
    z = 1.3
    low, high = found.intervals.bounds(z, "population")
    np.testing.assert_allclose(low, found.unbiased - z * found.stderr)
    low, high = found.intervals.bounds(z, "people")
    np.testing.assert_allclose(high, found.unbiased + z * restored(error))
    assert set(OPTIONS) == {"auto", "lasso-ols", "em"}


# Open words


@cache
def opened() -> tuple[OpenWords, Summary]:
    mechanism = mechanism_of(KINDS["words"])
    assert isinstance(mechanism, OpenWords)
    held = np.random.default_rng(3).choice(["abc", "bcd", "zz"], 6000, p=[0.5, 0.3, 0.2])
    return mechanism, Summary.empty(mechanism).update(
        mechanism.privatize(held, random=rumor.Seeded(4))
    )


@pytest.mark.slow
def test_a_list_takes_half_of_the_level_and_the_search_the_other() -> None:
    mechanism, summary = opened()
    level = 0.2
    both = rumor.estimate(mechanism, summary, candidates=["zz", "q", "abc"], level=level)
    grown = discover(mechanism, summary.tally, level=level / 2)
    listed = [word for word in ("zz", "q", "abc") if word not in grown.words]
    assert list(both.values)[: len(grown.words)] == grown.words
    tested = look_for(mechanism, summary.tally, listed, level=level / 2) if listed else None
    rest = [] if tested is None else [w for w, f in zip(listed, tested.found, strict=True) if f]
    assert list(both.values)[len(grown.words) :] == rest
    assert (both.pool, both.looked_for) == (grown.pool + len(listed), len(listed))
    assert both.level == level
    alone = rumor.estimate(mechanism, summary, level=level)
    whole = discover(mechanism, summary.tally, level=level)
    assert list(alone.values) == whole.words
    np.testing.assert_allclose(alone.unbiased, whole.share)
    np.testing.assert_allclose(alone.stderr, whole.stderr)
    np.testing.assert_allclose(alone.p_value, whole.p_value)
    assert alone.other == pytest.approx(max(0.0, 1 - np.clip(whole.share, 0, 1).sum()))
    assert alone.other_stderr == pytest.approx(math.sqrt((whole.stderr**2).sum()))


def test_the_level_of_a_decode_reaches_the_rule_of_discoveries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Benjamini and Hochberg's rule runs at 0.8 of the level, or of half of it beside a list."""
    from rumor.kinds.text.fit import auto
    from rumor.kinds.words.fit import found

    asked: list[float] = []

    def rule(p_values: Vector, level: float) -> Any:
        asked.append(level)
        return p_values <= 0.01

    for module in (auto, found):
        monkeypatch.setattr(module, "benjamini_hochberg", rule)
    mechanism, summary = opened()
    rumor.estimate(mechanism, summary, level=0.2, beam=2)
    assert asked == pytest.approx([0.8 * 0.2])
    asked.clear()
    rumor.estimate(mechanism, summary, level=0.2, beam=2, candidates=["q", "qq"])
    assert asked == pytest.approx([0.8 * 0.1] * 2)
    asked.clear()
    rappor, known, _, _ = decoded()
    rumor.estimate(rappor, known, candidates=WORDS, level=0.2)
    assert asked == pytest.approx([0.8 * 0.2] * 2)


def test_listed_words_are_pooled_over_the_levels_where_they_end() -> None:
    mechanism, summary = opened()
    words = ["abc", "zz", "nobody"]
    found = look_for(mechanism, summary.tally, words, level=0.1, confidence=0.9)
    assert found.found[:2].all()
    assert not found.found[2]
    low, high = interval(found.share, found.stderr, 0.9, int(found.found.sum()), 3)
    np.testing.assert_allclose([found.low, found.high], [low, high])
    # Every level from the one at which a word has ended on counts in full, by its people.
    table, stems = mechanism.table(summary.tally), mechanism.stems
    chunks, ended = stems.pieces(words)
    fingerprints = stems.table(words, (chunks, ended))
    delta = mechanism.gain * mechanism.buckets / (mechanism.buckets - 1)
    first = [
        int((row >= 0).sum()) - 1 if e else stems.depth
        for row, e in zip(chunks, ended, strict=True)
    ]
    together = {
        level: support(table[level], stems, level, fingerprints[rows, level], delta)
        for level in range(mechanism.levels)
        for rows in [np.array([i for i in range(3) if first[i] <= level], dtype=np.intp)]
    }
    for word in range(3):
        seen = [
            (one, [i for i in range(3) if first[i] <= level].index(word))
            for level, one in together.items()
            if first[word] <= level
        ]
        people = sum(one.people for one, _ in seen)
        pooled = sum(math.sqrt(one.people) * one.deviates[at] for one, at in seen)
        assert found.p_value[word] == pytest.approx(stats.norm.sf(pooled / math.sqrt(people)))
        excess = sum(one.excess[at] for one, at in seen)
        noise = sum(one.deviation**2 for one, _ in seen)
        wanted = share_of(mechanism, float(excess), people, noise)
        assert (found.share[word], found.stderr[word]) == pytest.approx(wanted)
    assert found.share[0] == pytest.approx(0.5, abs=0.1)
    assert found.share[1] == pytest.approx(0.2, abs=0.1)


def test_shares_and_ends_of_open_words() -> None:
    mechanism, _ = opened()
    gain, chance = mechanism.gain, 1 / mechanism.buckets
    for excess in (-30.0, 100.0):
        share, error = share_of(mechanism, excess, 500, 40.0)
        assert share == pytest.approx(excess / (gain * 500))
        rate = chance + gain * min(max(share, 0.0), 1.0)
        more = 500 * max(0.0, rate * (1 - rate) - chance * (1 - chance))
        assert error == pytest.approx(math.sqrt(40.0 + more) / (gain * 500))
    assert share_of(mechanism, 3.0, 0, 1.0) == (0.0, 1.0)
    shares, errors = np.array([0.3, 0.02]), np.array([0.05, 0.04])
    low, high = interval(shares, errors, 0.9, 2, 8)
    np.testing.assert_allclose(low, np.maximum(shares - stats.norm.isf(0.05 * 2 / 8) * errors, 0.0))
    np.testing.assert_allclose(high, shares + stats.norm.isf(0.05) * errors)


def test_a_stem_of_nobody_varies_as_a_bucket_of_every_row() -> None:
    table = np.array([[5, 1, 0, 2], [3, 3, 9, 1], [0, 0, 7, 1]])
    wanted = sum(np.var(row) for row in table)
    assert variance(table) == pytest.approx(wanted)
    assert variance(table.astype(float)) == pytest.approx(wanted)
    law = NullLaw(table)
    assert law.mean == pytest.approx(sum(row.mean() for row in table))
    assert law.deviation == pytest.approx(math.sqrt(wanted))


def test_words_are_ranked_by_all_levels_that_agree() -> None:
    share, stderr = np.array([0.2, 0.1, 0.05]), np.array([0.02, 0.03, 0.01])
    stems = np.array([7, 7, 9], dtype=np.uint64)
    seen, error = np.array([0.31, 0.31, 0.06]), np.array([0.02, 0.02, 0.02])
    found = ranking_shares(share, stderr, [PrefixShares(np.arange(3), stems, seen, error)])
    for word, others in ((0, [1]), (1, [0]), (2, [])):
        rest = sum(share[i] for i in others)
        spread = error[word] ** 2 + sum(stderr[i] ** 2 for i in others)
        weights = 1 / stderr[word] ** 2, 1 / spread
        wanted = (weights[0] * share[word] + weights[1] * (seen[word] - rest)) / sum(weights)
        assert found[word] == pytest.approx(wanted)
    # A level whose residuals are too large for their noise is left out.
    far = ranking_shares(share, stderr, [PrefixShares(np.arange(3), stems, seen + 0.3, error)])
    np.testing.assert_allclose(far, share)
