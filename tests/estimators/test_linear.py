"""Linear estimation: inversion of oracles and of explicit channels, and three ways to mend it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import rumor
from rumor.core.errors import InputError
from rumor.core.exact import log_up
from rumor.estimators.frequency.linear import (
    MENDING,
    channel_epsilon,
    clip_and_rescale,
    norm_sub,
    project,
)
from rumor.mechanisms import RandomizedResponse, UnaryEncoding

Vector = NDArray[np.float64]

small = st.lists(st.floats(-2, 2), min_size=1, max_size=6).map(np.array)
wild = st.lists(st.floats(-1e18, 1e18), min_size=1, max_size=6).map(np.array)


def nearest_by_brute_force(v: Vector) -> Vector:
    """The nearest point of the simplex: of every face, the nearest point of its plane."""
    best: Vector | None = None
    for size in range(1, v.size + 1):
        for face in itertools.combinations(range(v.size), size):
            point = np.zeros(v.size)
            index = list(face)
            point[index] = v[index] + (1 - v[index].sum()) / size
            closer = best is None or ((point - v) ** 2).sum() < ((best - v) ** 2).sum()
            if (point >= 0).all() and closer:
                best = point
    assert best is not None
    return best


@given(small)
def test_the_projection_is_the_nearest_point(v: Vector) -> None:
    np.testing.assert_allclose(project(v), nearest_by_brute_force(v), atol=1e-9)


@given(st.one_of(small, wild))
@example(np.array([1e17, 0.0]))
@example(np.array([-1e17, -1e17 - 16, 3.0]))
@example(np.array([1e300, -1e300]))
def test_norm_sub_and_projection_end_at_the_same_point(v: Vector) -> None:
    """Also where the entries dwarf 1: that is what a tiny epsilon gives."""
    ours, published = project(v), norm_sub(v)
    np.testing.assert_allclose(published, ours, atol=1e-9)
    for point in (ours, published):
        assert (point >= 0).all()
        assert point.sum() == pytest.approx(1)
    # The condition of optimality: no vertex lies further in the direction of v.
    slopes = (v - v.max()) - ours
    assert slopes.max() - ours @ slopes <= 1e-9 * max(1.0, float(np.abs(slopes).max()))


def test_frequencies_that_are_some_stay_as_they_are() -> None:
    f = np.array([0.5, 0.3, 0.2, 0.0])
    for method, mend in MENDING.items():
        np.testing.assert_allclose(mend(f), f, atol=1e-15, err_msg=method)


def test_clipping_is_the_papers_convention() -> None:
    mended = clip_and_rescale(np.array([0.6, 0.6, -0.2, 0.0]))
    np.testing.assert_allclose(mended, [0.5, 0.5, 0.0, 0.0])
    np.testing.assert_allclose(clip_and_rescale(np.array([-1.0, -2.0])), [0.5, 0.5])
    np.testing.assert_allclose(project(np.array([0.6, 0.6, -0.2, 0.0])), [0.5, 0.5, 0.0, 0.0])
    np.testing.assert_allclose(project(np.array([0.9, 0.3, 0.0])), [0.8, 0.2, 0.0])
    np.testing.assert_allclose(clip_and_rescale(np.array([0.9, 0.3, 0.0])), [0.75, 0.25, 0.0])


def test_a_hand_worked_inversion() -> None:
    """Truth 3/4, lie 1/4, 60 of 100 say yes: (0.6 - 0.25) / (0.75 - 0.25) = 0.7."""
    coin = RandomizedResponse.from_parameters({"domain": 2, "truth": str(3 << 62)})
    batch = [b"\1"] * 60 + [b"\0"] * 40
    result = rumor.estimate(coin, batch, method="inversion")
    np.testing.assert_allclose(result.frequency, [0.3, 0.7])
    # pi (1 - pi) / (n gain^2) = 0.6 * 0.4 / (100 * 0.25)
    np.testing.assert_allclose(result.stderr, [math.sqrt(0.0096)] * 2)
    assert result.epsilon == log_up(Fraction(3))
    assert (result.reports, result.method) == (100, "inversion")


def test_the_three_answers_stay_apart() -> None:
    """`frequency` is the method's; `unbiased` and `stderr` are the same for every method."""
    oracle = UnaryEncoding(domain=30, epsilon=0.5)
    reports = oracle.privatize(np.arange(300) % 3, random=rumor.Seeded(1))
    results = {method: rumor.estimate(oracle, reports, method=method) for method in MENDING}
    plain = results["inversion"]
    assert plain.frequency.tolist() == plain.unbiased.tolist()
    assert plain.frequency.min() < 0
    for method, result in results.items():
        assert result.unbiased.tolist() == plain.unbiased.tolist()
        assert result.stderr.tolist() == plain.stderr.tolist()
        assert result.method == method
        if method != "inversion":
            assert result.frequency.min() >= 0
            assert result.frequency.sum() == pytest.approx(1)
            np.testing.assert_allclose(result.frequency, MENDING[method](plain.unbiased))


def test_unknown_methods_are_listed() -> None:
    oracle = RandomizedResponse(domain=2, epsilon=1.0)
    for wrong in ("inverse", None, 3, ["clip"]):
        with pytest.raises(InputError, match="method must be one of auto, refined, bayes, em, inv"):
            rumor.estimate(oracle, [b"\0"], method=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"must end in \.toml or \.json; got 'x'"):
        rumor.estimate("x", [b"\0"])


# --- Explicit channels -----------------------------------------------------------------------


def random_channel(seed: int, inputs: int, outputs: int) -> Vector:
    return np.random.default_rng(seed).dirichlet(np.ones(outputs), inputs)


@pytest.mark.parametrize(("inputs", "outputs"), [(2, 2), (3, 3), (3, 5), (4, 9), (2, 40)])
@pytest.mark.parametrize("seed", range(5))
def test_an_explicit_channel_is_inverted(inputs: int, outputs: int, seed: int) -> None:
    """At the expected counts the estimate is the truth (matrix inversion)."""
    channel = random_channel(seed, inputs, outputs)
    truth = np.random.default_rng(seed + 100).dirichlet(np.ones(inputs))
    expected = 1e6 * truth @ channel
    result = rumor.estimate(channel, expected, method="inversion")
    np.testing.assert_allclose(result.unbiased, truth, atol=1e-9)
    if inputs == outputs:
        by_solving = np.linalg.solve(channel.T, expected) / 1e6
        np.testing.assert_allclose(result.unbiased, by_solving, atol=1e-9)
    # Unbiased: the mean over every single output, weighted by the channel, is the input.
    single = np.array(
        [rumor.estimate(channel, row, method="inversion").unbiased for row in np.eye(outputs)]
    )
    np.testing.assert_allclose(channel @ single, np.eye(inputs), atol=1e-9)
    # The standard error is the multinomial one, by the whole covariance matrix.
    shares = truth @ channel
    covariance = (np.diag(shares) - np.outer(shares, shares)) / 1e6
    np.testing.assert_allclose(
        result.stderr**2, np.diag(single.T @ covariance @ single), rtol=1e-6, atol=1e-18
    )


@pytest.mark.parametrize("oracle", [RandomizedResponse(domain=5, epsilon=1.0)])
def test_the_channel_of_an_oracle_gives_the_oracles_estimate(oracle: RandomizedResponse) -> None:
    reports = oracle.privatize(np.arange(500) % 3, random=rumor.Seeded(3))
    counts = oracle.tally(reports)
    ours = rumor.estimate(oracle, reports, method="inversion")
    theirs = rumor.estimate(oracle.channel().matrix(), counts, method="inversion")
    np.testing.assert_allclose(theirs.unbiased, ours.unbiased, atol=1e-12)
    assert theirs.epsilon == pytest.approx(oracle.epsilon, abs=1e-9)
    np.testing.assert_allclose(theirs.stderr**2, oracle.variance(ours.unbiased, 500), rtol=1e-9)
    low, high = theirs.interval(0.95)
    clipped = np.clip(ours.unbiased, 0, 1)
    assert ((low <= clipped) & (clipped <= high)).all()
    with pytest.raises(InputError, match='of the "population" only'):
        theirs.interval(of="people")


def test_unary_reports_as_an_explicit_channel() -> None:
    """More outputs (8) than inputs (3): least squares, unbiased though not the same numbers."""
    oracle = UnaryEncoding(domain=3, epsilon=2.0)
    channel = oracle.channel().matrix()
    truth = np.array([0.6, 0.3, 0.1])
    result = rumor.estimate(channel, 1000 * truth @ channel)
    np.testing.assert_allclose(result.frequency, truth, atol=1e-12)
    assert list(result.values) == [0, 1, 2]


def test_the_loss_of_a_channel() -> None:
    assert channel_epsilon(np.array([[0.75, 0.25], [0.25, 0.75]])) == pytest.approx(math.log(3))
    assert channel_epsilon(np.array([[0.5, 0.5], [0.5, 0.5]])) == 0
    uneven = np.array([[0.9, 0.1], [0.5, 0.5]])  # ratios of 1.8 and of 5: the worst counts
    assert channel_epsilon(uneven) == pytest.approx(math.log(5))
    assert channel_epsilon(np.array([[1.0, 0.0], [0.5, 0.5]])) == math.inf
    unused = np.array([[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]])
    assert channel_epsilon(unused) == pytest.approx(math.log(3)), "an output that never comes"


SQUARE = [[0.75, 0.25], [0.25, 0.75]]
WRONG: dict[str, tuple[object, object, str]] = {
    "one input": ([[0.5, 0.5]], [1, 1], r"two inputs \(rows\) and two outputs .* shape \(1, 2\)"),
    "a vector": ([0.5, 0.5], [1, 1], r"got shape \(2,\)"),
    "not numbers": ([["a", "b"], ["c", "d"]], [1, 1], "must hold numbers; got"),
    "ragged": ([[0.5, 0.5], [1.0]], [1, 1], "must hold numbers; got"),
    "nan": ([[math.nan, 1.0], [0.5, 0.5]], [1, 1], "a negative or missing one"),
    "negative": ([[1.5, -0.5], [0.5, 0.5]], [1, 1], "a negative or missing one"),
    "not a row": ([[0.5, 0.4], [0.5, 0.5]], [1, 1], "must sum to 1; got one off by 0.1"),
    "dependent": ([[0.5, 0.5], [0.5, 0.5]], [1, 1], "linearly independent; got rank 1 for 2"),
    "fewer outputs": (np.full((3, 2), 0.5), [1, 1], "linearly independent; got rank 1 for 3"),
    "too many counts": (SQUARE, [1, 2, 3], r"each of the 2 outputs; got shape \(3,\)"),
    "ragged counts": (SQUARE, [[1], [2, 3]], "each of the 2 outputs; got"),
    "counts as text": (SQUARE, ["a", "b"], r"each of the 2 outputs; got shape \(2,\) of dtype <U1"),
    "counts as booleans": (SQUARE, [True, False], "of dtype bool"),
    "no counts": (SQUARE, [0, 0], "0 or more and not all 0; got a sum of 0"),
    "a negative count": (SQUARE, [5, -1], "0 or more and not all 0; got a sum of 4"),
    "a missing count": (SQUARE, [5, math.nan], "0 or more and not all 0; got a sum of nan"),
}


@pytest.mark.parametrize(("matrix", "counts", "sentence"), WRONG.values(), ids=WRONG.keys())
def test_what_is_not_a_channel(matrix: object, counts: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        rumor.estimate(matrix, counts, method="projection")
