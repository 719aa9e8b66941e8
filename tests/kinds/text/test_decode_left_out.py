"""Words tested without themselves: the fit without a word is that of all the others.

What this is worth on many truths is measured by benchmarks/honest_words.py; here are a few runs of
the worlds in which words that nobody holds were found before.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import rumor
from rumor.kinds.text.fit import left_out as decode_left_out
from rumor.kinds.text.fit.candidates import Candidates, candidate_map
from rumor.kinds.text.fit.decoys import Judge, decoy_law
from rumor.kinds.text.fit.lasso import Lasso, Table, bit_shares
from rumor.kinds.text.fit.left_out import LeaveOut, best_fit
from rumor.kinds.word_estimate import WordEstimate
from rumor.mechanisms.rappor.simulation import simulate_counts

PEOPLE = 1_000_000


def crowd(
    run: int, listed: int, share: float = 1.0, *, bits: int = 64, cohorts: int = 8
) -> tuple[rumor.Rappor, rumor.Summary, list[str], int]:
    """A filter that is crowded: a tenth of the words held by Zipf's law, the rest in the dark."""
    p = 1.0 / (1.0 + math.exp(2.0))
    key = f"left out {run}".encode()
    rappor = rumor.Rappor(bits=bits, hashes=1, cohorts=cohorts, f=0, p=p, q=0.5, key=key)
    words = [f"word {i}" for i in range(listed)]
    held = listed // 10 if share else 0
    shares = [share * zipf(held), (1 - share) * zipf(2_000)]
    names = [*words[:held], *(f"unlisted {i}" for i in range(2_000))]
    counts = np.random.default_rng(run).multinomial(PEOPLE, np.concatenate(shares))
    return rappor, simulate_counts(rappor, names, counts, random=rumor.Seeded(run)), words, held


def zipf(count: int) -> np.ndarray:
    shares = 1.0 / np.arange(1, count + 1)
    return np.asarray(shares / shares.sum()) if count else shares


class _Recorder(Judge):
    """Keeps what it was asked to judge."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, Table]] = []

    def left_out(self, score: float, pull: Table) -> float:
        self.asked.append((score, pull))
        return 0.5


def fitted(made: Candidates, summary: rumor.Summary) -> Lasso:
    shares = bit_shares(summary)
    return Lasso(made.rows, 1, shares.share, shares.weight, tolerance=1e-6)


@pytest.mark.parametrize("factored", [True, False])
def test_it_is_the_fit_of_all_the_others(factored: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores agree with those of a fit that never saw the word, to a hundredth of an error.

    Whom nobody misses by more than the slack need not step in: set to nothing here.
    """
    for name, value in (("_SLACK", 0.0), ("_MOST_ROUNDS", 50), ("_BEYOND", -1.0), ("_ABLE", -9e9)):
        monkeypatch.setattr(decode_left_out, name, value)
    if not factored:
        monkeypatch.setattr(decode_left_out, "_MOST_FACTORED", 0)
    rappor, summary, words, _ = crowd(1, 500, bits=32, cohorts=4)
    made = candidate_map(rappor.bloom, words)
    fit = best_fit(fitted(made, summary))
    taken = np.flatnonzero(fit.lasso.coefficients)
    order = np.argsort(-fit.lasso.coefficients[taken] * fit.lasso.lengths[taken])
    chosen = np.sort(taken[order[[0, 1, 5, taken.size // 2, taken.size - 1]]])
    leave = LeaveOut(fit)
    for word in chosen.tolist():
        judge = _Recorder()
        ((done, _),) = leave.p_values(np.array([word]), judge)
        assert done.tolist() == [word]
        score, pull = judge.asked[-1]
        rest = np.delete(np.arange(len(words)), word)
        never = Lasso(made.rows[rest], 1, *shares_of(summary), tolerance=1e-6)
        never.solve(fit.penalty * never.lengths)
        alone = never.residual_pull()[:, :-1]
        expected = alone[np.arange(4), made.rows[word]].sum()
        assert score == pytest.approx(expected, abs=0.01 * fit.lasso.lengths[word])
        assert pull == pytest.approx(alone, abs=0.02 * np.abs(alone).max())


def shares_of(summary: rumor.Summary) -> tuple[Table, Table]:
    shares = bit_shares(summary)
    return shares.share, shares.weight


def test_quick_scores_are_those_of_the_inverse() -> None:
    """Against numpy's inverse of the Gram matrix; words that the fit did not take keep theirs."""
    rappor, summary, words, _ = crowd(2, 300, bits=32, cohorts=4)
    made = candidate_map(rappor.bloom, words)
    fit = best_fit(fitted(made, summary))
    lasso, scores = fit.lasso, LeaveOut(fit).quick_scores()
    taken = np.flatnonzero(lasso.coefficients)
    x = np.zeros((taken.size, 4, 32))
    x[np.arange(taken.size)[:, None], np.arange(4), made.rows[taken]] = 1.0
    weight = lasso.weight[:, :-1]
    inside = (x * weight).sum(axis=2)
    gram = np.einsum("jcb,lcb,cb->jl", x, x, weight) - (inside * lasso.inverse) @ inside.T
    left, b = 1.0 / np.diag(np.linalg.inv(gram)), lasso.coefficients[taken]
    growth = b * (b * left + 2 * fit.penalty * lasso.lengths[taken]) / lasso.squares()
    expected = (lasso.scores[taken] + b * left) / np.sqrt(1 + growth)
    assert scores[taken] == pytest.approx(expected, rel=1e-6)
    others = np.setdiff1d(np.arange(len(words)), taken)
    assert np.array_equal(scores[others], lasso.scores[others])


def test_a_coarse_law_is_the_fine_one_and_never_below_it() -> None:
    rappor = crowd(3, 100)[0]
    pull = np.random.default_rng(3).normal(size=(8, 64))
    fine, coarse = (decoy_law(rappor.bloom, pull, steps=steps) for steps in (4096, 64))
    assert fine is not None
    assert coarse is not None
    scores = np.linspace(0.0, 15.0, 40)
    ours, theirs = coarse.p_values(scores), fine.p_values(scores)
    assert (ours >= theirs * (1 - 1e-9)).all()
    assert (ours <= 1.25 * theirs + 1e-12).all()


def found(result: WordEstimate, held: int) -> tuple[int, int]:
    return int(result.detected.sum()), int(result.detected[held:].sum())


@pytest.mark.slow
def test_a_crowded_filter_hardly_finds_words_of_nobody() -> None:
    """Twenty words to a bit: a third of the words found were false before.

    Of 12 runs the mean is not above 5 % by more than 2.33 of its standard errors (1 %).
    """
    rates = []
    for run in range(12):
        rappor, summary, words, held = crowd(run, 10_000)
        result = rumor.estimate(rappor, summary, candidates=words)
        every, false = found(result, held)
        assert every > 5
        rates.append(false / every)
        assert any("the fit is crowded" in alarm for alarm in result.alarms) == (
            result.diagnostics["fit_support"] > 252  # type: ignore[operator]
        )
    assert np.mean(rates) <= 0.05 + 2.33 * np.std(rates, ddof=1) / math.sqrt(12)


@pytest.mark.slow
def test_of_a_list_that_nobody_holds_hardly_anything_is_found() -> None:
    """Some word turned up in four of five runs before. At 5 %, 4 of 12 is one chance in 400."""
    runs = [crowd(run, 10_000, 0.0) for run in range(12)]
    results = [
        rumor.estimate(rappor, summary, candidates=words) for rappor, summary, words, _ in runs
    ]
    assert sum(bool(result.detected.any()) for result in results) < 4


def test_sampled_decoys_judge_alike() -> None:
    rappor, summary, words, held = crowd(4, 1_000, bits=128)
    exact = rumor.estimate(rappor, summary, candidates=words)
    sampled = rumor.estimate(rappor, summary, candidates=words, decoys=200_000)
    assert exact.detected[:5].all()
    assert sampled.detected[:5].all()
    assert abs(found(exact, held)[0] - found(sampled, held)[0]) <= 4


def test_a_filter_that_is_too_small_for_its_candidates_raises_an_alarm() -> None:
    sentence = "this filter is too small for 1,000 candidates: with 64 bits in 2 cohorts"
    rappor, summary, words, _ = crowd(5, 1_000, cohorts=2)
    result = rumor.estimate(rappor, summary, candidates=words)
    assert any(alarm.startswith(sentence) for alarm in result.alarms)
    few = rumor.estimate(rappor, summary, candidates=words[:100])
    assert not any("too small" in alarm for alarm in few.alarms)


@pytest.mark.parametrize("total", [1e-6, 1.0, 1e6])
def test_the_unit_of_precision_moves_no_estimate(total: float) -> None:
    """Weights that sum to `total`, and penalties in the same unit: estimates and errors stay."""
    rappor, summary, words, _ = crowd(1, 40)
    shares, rows = bit_shares(summary), candidate_map(rappor.bloom, words).rows
    told = []
    for by in (1.0, total / float(shares.weight.sum())):
        unit = math.sqrt(by)
        lasso = Lasso(rows, 1, shares.share, shares.weight * by, tolerance=1e-9 * unit)
        told.append(best_fit(lasso, [unit * each for each in decode_left_out.PENALTIES]).debiased())
    np.testing.assert_allclose(told[1][0], told[0][0], atol=1e-7)
    np.testing.assert_allclose(told[1][1], told[0][1], rtol=1e-4)
