"""Iterative Bayes: the update of the paper, its limits, and the optimum that it approaches."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import rumor
from rumor.core.errors import InputError
from rumor.estimators.frequency.likelihood import MatrixLikelihood, oracle_likelihood
from rumor.estimators.frequency.linear import project
from rumor.estimators.frequency.scaling import smallest_probability, smallest_scaled
from rumor.estimators.frequency.solver import _plain, maximize, project_scaled, single_support
from rumor.mechanisms import FrequencyOracle, RandomizedResponse, SubsetSelection, UnaryEncoding
from rumor.mechanisms.summary import Summary

Vector = NDArray[np.float64]

ZIPF = 1 / np.arange(1, 41) / (1 / np.arange(1, 41)).sum()


def reports_of(oracle: FrequencyOracle, people: int, seed: int = 1) -> NDArray[np.uint8]:
    law = 1.0 / np.arange(1, oracle.domain + 1)
    values = np.random.default_rng(seed).choice(oracle.domain, people, p=law / law.sum())
    return oracle.privatize(values, random=rumor.Seeded(seed))


def dense_likelihood(oracle: FrequencyOracle, reports: NDArray[np.uint8]) -> Vector:
    """P(report | value) for every report and value, by the exact channel."""
    rows = [row.tobytes() for row in reports]
    return np.array(
        [[float(oracle.probability(row, x)) for x in range(oracle.domain)] for row in rows]
    )


ORACLES = [
    RandomizedResponse(domain=5, epsilon=1.0),
    UnaryEncoding(domain=6, epsilon=2.0),
    UnaryEncoding(domain=19, epsilon=2.0, variant="symmetric"),
    UnaryEncoding(domain=60, epsilon=5.0),
    SubsetSelection(domain=30, epsilon=1.0),
    SubsetSelection(domain=300, epsilon=4.0),
    rumor.HadamardResponse(domain=20, epsilon=3.0),
    rumor.LocalHashing(domain=9, epsilon=1.0),
]


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda o: f"{o.name}-{o.domain}")
def test_one_update_is_bayes_rule_on_the_exact_channel(oracle: FrequencyOracle) -> None:
    """Equation 9: every way to sum over reports gives what the channel written out gives."""
    reports = reports_of(oracle, 150)
    channel = dense_likelihood(oracle, reports)
    h = np.random.default_rng(2).dirichlet(np.ones(oracle.domain))
    posterior = channel * h / (channel @ h)[:, None]
    result = rumor.estimate(oracle, reports, method="em", max_iterations=1)
    start = np.full(oracle.domain, 1 / oracle.domain)
    first = (channel * start / (channel @ start)[:, None]).mean(axis=0)
    np.testing.assert_allclose(result.frequency, first, rtol=1e-9)
    update = oracle_likelihood(oracle, reports, None).update(h)
    np.testing.assert_allclose(h * update.gradient, posterior.mean(axis=0), rtol=1e-9)
    # The curvature: the variance of L / Lh with weights 1 / (Lh)^2.
    w = 1 / (channel @ h) ** 2
    scale = (channel.max(axis=1) / oracle.odds)[:, None]
    if (channel.max(axis=1) > channel.min(axis=1)).all():
        plain = channel / scale
        w = 1 / (plain @ h) ** 2
        mean = w @ plain / w.sum()
        expected = w @ (plain - mean) ** 2 / len(reports)
        found = oracle_likelihood(oracle, reports, None).curvature(h)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda o: f"{o.name}-{o.domain}")
def test_the_optimum_is_certified_and_above_whatever_em_reaches(oracle: FrequencyOracle) -> None:
    reports = reports_of(oracle, 2000)
    best = rumor.estimate(oracle, reports, method="bayes", gap=1e-8)
    told = best.diagnostics
    assert told["converged"] is True
    assert float(told["gap"]) <= 1e-8  # type: ignore[arg-type]
    assert best.frequency.min() >= 0
    assert best.frequency.sum() == pytest.approx(1, abs=1e-12)
    plain = rumor.estimate(oracle, reports, method="em", max_iterations=300)
    gained = float(told["log_likelihood"]) - float(plain.diagnostics["log_likelihood"])  # type: ignore[arg-type]
    # The certificate bounds what is left to gain, in both directions.
    assert -1e-8 * 2000 - 1e-6 <= gained <= float(plain.diagnostics["gap"]) * 2000 + 1e-6  # type: ignore[arg-type]


def test_the_optimum_takes_few_updates_where_plain_ones_take_thousands() -> None:
    oracle = UnaryEncoding(domain=200, epsilon=2.0, variant="symmetric")
    reports = reports_of(oracle, 10_000)
    told = rumor.estimate(oracle, reports, method="bayes").diagnostics
    assert told["converged"] is True
    assert int(told["updates"]) <= 40  # type: ignore[call-overload]
    plain = rumor.estimate(oracle, reports, method="em", max_iterations=400).diagnostics
    assert plain["converged"] is False
    assert float(plain["gap"]) > 1e-4  # type: ignore[arg-type]


def test_em_climbs_and_its_stopping_rules_hold() -> None:
    oracle = UnaryEncoding(domain=20, epsilon=1.0)
    reports = reports_of(oracle, 3000)
    heights = [
        float(
            rumor.estimate(oracle, reports, method="em", max_iterations=n).diagnostics[
                "log_likelihood"
            ]  # type: ignore[arg-type]
        )
        for n in (1, 2, 5, 20, 100)
    ]
    assert (np.diff(heights) > 0).all()

    def run(**options: Any) -> dict[str, Any]:
        return dict(rumor.estimate(oracle, reports, method="em", **options).diagnostics)

    by_gap = run(gap=1e-3, max_iterations=5000)
    assert by_gap["converged"]
    assert by_gap["gap"] <= 1e-3
    strict = run(tolerance=1e-6, norm="sum", max_iterations=5000)
    loose = run(tolerance=1e-6, norm="largest", max_iterations=5000)
    assert loose["iterations"] < strict["iterations"]
    assert run(max_iterations=7)["iterations"] == 7


def test_randomised_response_from_the_observed_histogram() -> None:
    """The update of equation 5, by hand, on three values."""
    oracle = RandomizedResponse(domain=3, epsilon=1.0)
    counts = np.array([600, 300, 100])
    p, q = oracle.hit, oracle.miss
    channel = np.where(np.eye(3, dtype=bool), p, q)
    h = counts / 1000
    for _ in range(4):
        h = h * (channel @ (counts / 1000 / (h @ channel)))
    summary = Summary(oracle, 1000, counts)
    result = rumor.estimate(oracle, summary, method="em", start="observed", max_iterations=4)
    np.testing.assert_allclose(result.frequency, h, rtol=1e-12)
    # And for the same channel written out.
    again = rumor.estimate(channel, counts, method="em", start="observed", max_iterations=4)
    np.testing.assert_allclose(again.frequency, h, rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_closed_form_for_single_supports_is_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    oracle = RandomizedResponse(domain=int(rng.integers(2, 40)), epsilon=float(rng.uniform(0.2, 4)))
    counts = rng.multinomial(500, rng.dirichlet(np.full(oracle.domain, 0.3)))
    exact = single_support(counts.astype(np.float64), oracle.hit, oracle.miss)
    channel = np.where(np.eye(oracle.domain, dtype=bool), oracle.hit, oracle.miss)
    likelihood = MatrixLikelihood(channel.T, counts.astype(np.float64))
    assert likelihood.update(exact).gap < 1e-9
    summary = Summary(oracle, 500, counts.astype(np.int64))
    result = rumor.estimate(oracle, summary, method="bayes")
    np.testing.assert_allclose(result.frequency, exact, atol=1e-15)
    assert result.diagnostics["updates"] == 1
    # "em" to a gap needs no iteration either; with a start or a rule of its own it iterates.
    at_once = rumor.estimate(oracle, summary, method="em")
    assert (at_once.frequency == result.frequency).all()
    assert (at_once.diagnostics["iterations"], at_once.diagnostics["converged"]) == (0, True)
    slow = rumor.estimate(oracle, summary, method="em", max_iterations=200_000, tolerance=1e-13)
    assert cast("int", slow.diagnostics["iterations"]) > 0
    np.testing.assert_allclose(slow.frequency, exact, atol=1e-5)


def test_a_channel_with_more_outputs_than_inputs() -> None:
    """Generalised: input and output alphabets differ. Noise-free counts give the truth back."""
    rng = np.random.default_rng(3)
    channel = rng.dirichlet(np.ones(7), size=4)
    truth = np.array([0.5, 0.3, 0.15, 0.05])
    counts = 1e6 * truth @ channel
    for method in ("em", "bayes"):
        options: dict[str, Any] = {"max_iterations": 100_000} if method == "em" else {}
        result = rumor.estimate(channel, counts, method=method, gap=1e-10, **options)
        np.testing.assert_allclose(result.frequency, truth, atol=2e-4)
        assert result.diagnostics["converged"] is True
    with pytest.raises(InputError, match='start "observed" needs as many outputs as inputs; got 7'):
        rumor.estimate(channel, counts, method="em", start="observed")


def test_a_channel_with_fewer_outputs_than_inputs_has_an_optimum_too() -> None:
    """It cannot be inverted; "auto" then is "bayes", and errors are unknown."""
    channel = np.array([[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]])
    result = rumor.estimate(channel, [70, 30])
    assert result.method == "bayes"
    seen = result.frequency @ channel
    np.testing.assert_allclose(seen, [0.7, 0.3], atol=1e-5)
    assert np.isnan(result.stderr).all()


def test_an_impossible_output_is_refused() -> None:
    channel = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    with pytest.raises(InputError, match="able to give every output seen"):
        rumor.estimate(channel, [1, 1, 1], method="em")


def test_no_underflow_on_a_hundred_thousand_values() -> None:
    oracle = UnaryEncoding(domain=100_000, epsilon=1.0, variant="symmetric")
    values = np.zeros(64, dtype=np.int64)
    reports = oracle.privatize(values, random=rumor.Seeded(5))
    result = rumor.estimate(oracle, reports, method="em", max_iterations=30)
    assert np.isfinite(result.frequency).all()
    assert result.frequency.sum() == pytest.approx(1)
    # All 64 people hold the first value: it must have gained on nearly all others.
    assert result.frequency[0] > np.quantile(result.frequency, 0.99)
    with pytest.raises(InputError, match=r'must stay above 4.9e-324.*use likelihood="odds"'):
        rumor.estimate(oracle, reports, method="em", likelihood="probability")


def symmetric(domain: int, epsilon: float) -> UnaryEncoding:
    return UnaryEncoding(domain=domain, epsilon=epsilon, variant="symmetric")


def test_the_papers_limits_of_probabilities_in_doubles() -> None:
    """Section 3.3: 5e-324 at 764 values (epsilon 1) and 350 (epsilon 4); then 0."""
    for domain, epsilon in ((764, 1.0), (350, 4.0)):
        assert 0 < smallest_probability(symmetric(domain, epsilon)) < 1e-323
        assert smallest_probability(symmetric(domain + 1, epsilon)) == 0
    # Section 3.4: equation 12 with 10,000 values and a million reports.
    assert smallest_scaled(symmetric(10_000, 1.0)) == pytest.approx(1.17e-183, rel=0.005)


def test_equations_11_and_12_agree_with_the_odds_while_they_can() -> None:
    oracle = symmetric(40, 2.0)
    reports = reports_of(oracle, 300)

    def run(likelihood: str) -> rumor.Estimate:
        return rumor.estimate(
            oracle, reports, method="em", likelihood=likelihood, max_iterations=50
        )

    odds = run("odds")
    for likelihood in ("probability", "scaled"):
        np.testing.assert_allclose(run(likelihood).frequency, odds.frequency, rtol=1e-9)


def test_equation_12_reaches_further_than_equation_11() -> None:
    oracle = symmetric(2_000, 1.0)
    reports = reports_of(oracle, 40)
    with pytest.raises(InputError, match="got 0 on 2,000 values"):
        rumor.estimate(oracle, reports, method="em", likelihood="probability")
    scaled = rumor.estimate(oracle, reports, method="em", likelihood="scaled", max_iterations=20)
    odds = rumor.estimate(oracle, reports, method="em", max_iterations=20)
    np.testing.assert_allclose(scaled.frequency, odds.frequency, rtol=1e-9)


def test_the_update_of_each_bit_on_its_own() -> None:
    """Section 2.3.2: two states for each bit; it ends at the clipped inversion, rescaled."""
    oracle = symmetric(30, 2.0)
    summary = Summary.empty(oracle).update(reports_of(oracle, 5000))
    result = rumor.estimate(oracle, summary, method="em", per_bit=True, max_iterations=100_000)
    clipped = np.clip(result.unbiased, 0, 1)
    np.testing.assert_allclose(result.frequency, clipped / clipped.sum(), atol=1e-5)
    assert result.diagnostics["converged"] is True


def test_projection_in_a_metric() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        target, metric = rng.normal(size=6), rng.uniform(0.1, 10, 6)
        point = project_scaled(target, metric)
        # Optimal: the gradient metric (point - target) is equal where positive, larger at 0.
        slope = metric * (point - target)
        level = slope[point > 1e-12].min()
        assert point.sum() == pytest.approx(1)
        np.testing.assert_allclose(slope[point > 1e-12], level, atol=1e-9)
        assert (slope[point <= 1e-12] >= level - 1e-9).all()
        np.testing.assert_allclose(project_scaled(target, np.ones(6)), project(target), atol=1e-12)


def test_the_solver_says_when_it_was_stopped_early() -> None:
    oracle = UnaryEncoding(domain=50, epsilon=0.5)
    reports = reports_of(oracle, 500)
    result = rumor.estimate(oracle, reports, method="bayes", max_updates=3)
    assert result.diagnostics["converged"] is False
    assert "stopped before it converged, at a gap of" in str(result)
    start = np.full(50, 1 / 50)
    found = maximize(oracle_likelihood(oracle, reports, None), start, gap=1e-9)
    assert found.gap <= 1e-9


def test_a_summary_is_enough_exactly_where_it_counts_whole_reports() -> None:
    small = UnaryEncoding(domain=6, epsilon=2.0)
    reports = reports_of(small, 800)
    summary = Summary.empty(small).update(reports)
    for method in ("em", "bayes"):
        from_reports = rumor.estimate(small, reports, method=method)
        from_summary = rumor.estimate(small, summary, method=method)
        np.testing.assert_allclose(from_summary.frequency, from_reports.frequency, atol=1e-12)
    large = UnaryEncoding(domain=60, epsilon=2.0)
    summary = Summary.empty(large).update(reports_of(large, 50))
    for method in ("em", "bayes"):
        with pytest.raises(InputError, match=f'method "{method}" needs the reports, since summ'):
            rumor.estimate(large, summary, method=method)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    (
        "em",
        {"start": "middle"},
        'start must be "uniform", "observed" or frequencies; got \'middle\'',
    ),
    ("em", {"norm": "l7"}, "norm must be one of sum, euclidean, largest; got 'l7'"),
    ("em", {"max_iterations": 0}, "max_iterations must be an integer from 1 to"),
    ("em", {"tolerance": -1.0}, "tolerance must be a number above 0; got -1.0"),
    ("em", {"likelihood": "log"}, "likelihood must be one of odds, probability, scaled; got"),
    ("em", {"per_bit": True, "start": "x"}, 'start must be "uniform" or "observed"'),
    ("em", {"iterations": 3}, r"has the keys start, .* got 'iterations' \(did you mean 'max_iter"),
    ("bayes", {"gap": 0}, "gap must be a number above 0; got 0"),
    ("bayes", {"start": "uniform"}, 'method "bayes" has the keys gap, max_updates; got'),
    ("inversion", {"gap": 1e-3}, 'method "inversion" has no further keys; got'),
    ("auto", {"target": "sample"}, '"population" or "people"; got \'sample\''),
]


@pytest.mark.parametrize(("method", "options", "sentence"), WRONG)
def test_options_are_refused_in_one_sentence(
    method: str, options: dict[str, Any], sentence: str
) -> None:
    oracle = UnaryEncoding(domain=20, epsilon=1.0)
    with pytest.raises(InputError, match=sentence):
        rumor.estimate(oracle, reports_of(oracle, 30), method=method, **options)


def test_probabilities_are_of_unary_encodings() -> None:
    oracle = SubsetSelection(domain=20, epsilon=1.0)
    with pytest.raises(InputError, match="those of unary encodings; got 'subset-selection'"):
        rumor.estimate(oracle, reports_of(oracle, 30), method="em", likelihood="scaled")


def test_threads_do_not_change_the_result() -> None:
    oracle = UnaryEncoding(domain=24, epsilon=1.0)
    reports = reports_of(oracle, 70_000)
    h = ZIPF[:24] / ZIPF[:24].sum()
    one, two = (oracle_likelihood(oracle, reports, None, threads=n).update(h) for n in (1, 2))
    np.testing.assert_array_equal(one.gradient, two.gradient)
    assert one.log_likelihood == two.log_likelihood
    assert math.isfinite(one.gap)


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_one_report_has_an_optimum(people: int, seed: int) -> None:
    """Equal reports have no curvature: the likelihood grows up to a corner of the simplex."""
    oracle = SubsetSelection(domain=6, epsilon=0.5)
    report = oracle.privatize([0], random=rumor.Seeded(seed))
    found = rumor.estimate(oracle, np.repeat(report, people, axis=0), method="bayes")
    supported = oracle.support_counts(Summary.empty(oracle).update(report).tally) > 0
    np.testing.assert_allclose(found.frequency, supported / supported.sum(), atol=1e-6)


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda o: f"{o.name}-{o.domain}")
def test_the_update_after_too_long_a_step_is_bayes_rule(oracle: FrequencyOracle) -> None:
    """It never lowers the likelihood, from wherever it begins."""
    likelihood = MatrixLikelihood(dense_likelihood(oracle, reports_of(oracle, 60)), np.ones(60))
    rng = np.random.default_rng(1)
    for _ in range(5):
        here = rng.dirichlet(np.ones(oracle.domain))
        now = likelihood.update(here)
        after = _plain(here, now)
        assert after.sum() == pytest.approx(1)
        assert likelihood.update(after).log_likelihood >= now.log_likelihood - 1e-9
        np.testing.assert_allclose(after, here * now.gradient, rtol=1e-9)  # shares already
