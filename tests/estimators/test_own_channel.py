"""Channels of one's own in any form: all say what the whole matrix says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import rumor
from rumor.core.errors import InputError
from rumor.core.types import Vector
from rumor.mechanisms import FrequencyOracle

INPUTS, OUTPUTS = 6, 400


def channel() -> Vector:
    matrix = np.random.default_rng(2).dirichlet(np.full(OUTPUTS, 0.1), size=INPUTS)
    matrix[matrix < 1e-6] = 0  # a sparse matrix has something to leave out
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def counts(reports: int = 150) -> Any:
    law = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    return np.random.default_rng(3).multinomial(reports, law @ channel())


def forms() -> dict[str, tuple[object, object]]:
    """The same channel and counts, written differently."""
    whole, often = channel(), counts()
    seen = np.flatnonzero(often)
    return {
        "seen columns": (whole[:, seen], often[seen]),
        "times a constant": (1e-200 * whole[:, seen], often[seen]),
        "all columns times a constant": (7.0 * whole, often),
        "lists": (whole[:, seen].tolist(), often[seen].tolist()),
        "sparse": (csr_array(whole), often),
        "sparse, seen columns": (csr_array(3 * whole[:, seen]), often[seen]),
        "a function of numbers": (lambda output: whole[:, output], often),
        "a function of names": (
            lambda output: 1e-9 * whole[:, int(output[1:])],
            {f"y{place}": int(often[place]) for place in range(OUTPUTS)},
        ),
    }


@pytest.mark.parametrize("form", forms())
@pytest.mark.parametrize("method", ["em", "bayes"])
def test_every_form_of_a_channel_gives_what_the_whole_matrix_gives(form: str, method: str) -> None:
    """Equations 11 and 12: unseen columns and a constant factor drop out."""
    assert (counts() == 0).sum() > OUTPUTS / 2
    options: dict[str, Any] = {"max_iterations": 60} if method == "em" else {"gap": 1e-9}
    expected = rumor.estimate(channel(), counts(), method=method, **options)
    given, data = forms()[form]
    found = rumor.estimate(given, data, method=method, **options)
    np.testing.assert_allclose(found.frequency, expected.frequency, atol=1e-7)
    assert found.reports == 150
    assert found.diagnostics["columns"] == (counts() > 0).sum()
    assert np.isnan(found.stderr).all()  # and says so, instead of inventing one
    assert not np.isnan(expected.stderr).any()


def test_one_step_is_equation_11() -> None:
    seen = counts() > 0
    columns, often = channel()[:, seen], counts()[seen]
    start = np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    by_hand = start * (columns @ (often / (start @ columns))) / often.sum()
    found = rumor.estimate(columns, often, method="em", start=start, max_iterations=1)
    np.testing.assert_allclose(found.frequency, by_hand, rtol=1e-12)
    # Any multiple of a start is the same start; an oracle takes one too.
    again = rumor.estimate(columns, often, method="em", start=5 * start, max_iterations=1)
    np.testing.assert_allclose(again.frequency, by_hand, rtol=1e-12)
    oracle = rumor.UnaryEncoding(domain=6, epsilon=2.0)
    reports = oracle.privatize([0, 1, 2, 0, 0, 3], random=rumor.Seeded(1))
    moved = rumor.estimate(oracle, reports, method="em", start=start, max_iterations=1)
    exact = np.array([[float(oracle.probability(bytes(r), x)) for x in range(6)] for r in reports])
    np.testing.assert_allclose(moved.frequency, (exact * start / (exact @ start)[:, None]).mean(0))


def test_eta_is_a_step_in_counts() -> None:
    """The paper's rule: people moved, so n times the step in frequencies."""
    given, data = forms()["seen columns"]
    reports = 150
    rule: dict[str, Any] = {"method": "em", "max_iterations": 10_000, "norm": "sum"}
    by_counts = rumor.estimate(given, data, eta=0.03, **rule)
    by_shares = rumor.estimate(given, data, tolerance=0.03 / reports, **rule)
    assert by_counts.diagnostics == by_shares.diagnostics
    assert by_counts.diagnostics["converged"]
    before: Any = {**rule, "max_iterations": by_counts.diagnostics["iterations"] - 1}  # type: ignore[operator]
    last = rumor.estimate(given, data, **before)
    step = reports * np.abs(by_counts.frequency - last.frequency).sum()
    assert step < 0.03
    earlier: Any = {**before, "max_iterations": before["max_iterations"] - 1}
    assert (
        reports * np.abs(last.frequency - rumor.estimate(given, data, **earlier).frequency).sum()
        > 0.03
    )


def test_a_wide_matrix_is_inverted_as_a_narrow_one_is() -> None:
    """400 outputs of 6 inputs go by products of rows; the decomposition says the same."""
    found = rumor.estimate(channel(), counts(), method="inversion")
    inverse = np.linalg.pinv(channel())
    shares = counts() / 150
    np.testing.assert_allclose(found.unbiased, shares @ inverse, rtol=1e-9, atol=1e-12)
    spread = np.sqrt((shares @ inverse**2 - (shares @ inverse) ** 2) / 150)
    np.testing.assert_allclose(found.stderr, spread, rtol=1e-9)
    same = np.repeat(channel()[:1], 3, axis=0)
    with pytest.raises(InputError, match="got rank 1 for 3 inputs"):
        rumor.estimate(same, counts(), method="inversion")


SEEN = [[0.5, 0.2], [0.1, 0.3]]
WRONG: dict[str, tuple[object, object, dict[str, Any], str]] = {
    "auto": (SEEN, [3, 4], {}, 'must sum to 1; got one off by 0.6 .* "em" and "bayes" the seen'),
    "inverted": (csr_array(SEEN), [3, 4], {"method": "clip"}, 'method "clip" needs the whole'),
    "a function inverted": (
        lambda y: [0.5, 0.1],
        [3, 4],
        {"method": "inversion"},
        "needs the whole channel as an array",
    ),
    "impossible": ([[0.5, 0.0], [0.1, 0.0]], [3, 4], {"method": "em"}, "every output seen"),
    "impossible, sparse": (
        csr_array([[0.5, 0.0], [0.1, 0.0]]),
        [3, 4],
        {"method": "em"},
        "every output seen",
    ),
    "negative, sparse": (csr_array([[-1.0, 1], [1, 1]]), [3, 4], {"method": "em"}, "a negative"),
    "one input, sparse": (csr_array([[1.0, 1]]), [3, 4], {"method": "em"}, "two inputs; got 1"),
    "uneven columns": (
        lambda y: [0.5] * (y + 1),
        [3, 4],
        {"method": "em"},
        r"one number for each input; got shapes \[\(1,\), \(2,\)\]",
    ),
    "a bad column": (lambda y: [0.5, np.nan], [3, 4], {"method": "em"}, "negative or missing"),
    "no outputs": (lambda y: [0.5, 0.5], {}, {"method": "em"}, "not all 0"),
    "start": (SEEN, [3, 4], {"method": "em", "start": [1, 0]}, "above 0 for each of the 2 inputs"),
    "start too long": (SEEN, [3, 4], {"method": "em", "start": [1, 1, 1]}, r"got shape \(3,\)"),
    "start of words": (SEEN, [3, 4], {"method": "em", "start": ["a", "b"]}, "or frequencies"),
    "observed": (SEEN, [3, 4], {"method": "em", "start": "observed"}, "got none for 2"),
    "eta": (SEEN, [3, 4], {"method": "em", "eta": 0}, "eta must be a number above 0; got 0"),
    "eta and tolerance": (
        SEEN,
        [3, 4],
        {"method": "em", "eta": 1, "tolerance": 1},
        "or by eta, in counts; got both",
    ),
}


@pytest.mark.parametrize(("given", "data", "options", "sentence"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_gets_one_sentence(
    given: object, data: object, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        rumor.estimate(given, data, **options)


def matrix_of(oracle: FrequencyOracle) -> Vector:
    """The channel of an oracle, written out."""
    return np.array(
        [
            [float(oracle.probability(bytes(y), x)) for y in oracle.outputs()]
            for x in oracle.inputs()
        ]
    )


@pytest.mark.parametrize(
    "oracle",
    [
        rumor.RandomizedResponse(domain=9, epsilon=1.0),
        rumor.SubsetSelection(domain=8, epsilon=1.0),
        rumor.UnaryEncoding(domain=6, epsilon=1.0),
        rumor.RandomizedResponse(domain=3, epsilon=1.0),
    ],
    ids=lambda oracle: f"{oracle.name} {oracle.domain}",
)
@pytest.mark.parametrize("people", [30, 3000])
def test_a_built_in_channel_written_out_has_the_same_default(
    oracle: FrequencyOracle, people: int
) -> None:
    """Its "auto" was the projection, with 1.3 times the error of the mechanism's own."""
    matrix, law = matrix_of(oracle), 0.7 ** np.arange(oracle.domain)
    seen = np.random.default_rng(people).multinomial(people, law / law.sum() @ matrix)
    own = rumor.estimate(matrix, seen)
    reports = np.repeat(oracle.outputs(), seen, axis=0)
    built_in = rumor.estimate(oracle, reports)
    # The inverse of unary encoding is another one, and the limits of values that stand alone too.
    np.testing.assert_allclose(own.frequency, built_in.frequency, atol=2e-3)
    assert own.method == built_in.method == "auto"
    assert own.diagnostics["estimator"] == built_in.diagnostics["estimator"]
    # Columns in another order, and one that tells nothing, change nothing.
    order = np.random.default_rng(1).permutation(seen.size)
    wider = np.column_stack([0.9 * matrix[:, order], np.full(oracle.domain, 0.1)])
    again = rumor.estimate(wider, np.append(seen[order], 0))
    assert again.diagnostics["estimator"] == own.diagnostics["estimator"]


def test_any_other_channel_gains_on_the_projection_too() -> None:
    """Rows drawn at random: a channel of no supports; its columns have many numbers."""
    rng = np.random.default_rng(8)
    matrix, squares = rng.dirichlet(np.full(40, 0.5), size=8), np.zeros((3, 2))
    laws = (np.full(8, 1 / 8), 0.6 ** np.arange(8), np.append(4.0, np.full(7, 1 / 7)))
    for place, law in enumerate(laws):
        truth = law / law.sum()
        for _ in range(25):
            seen = rng.multinomial(500, truth @ matrix)
            for column, method in enumerate(("auto", "projection")):
                found = rumor.estimate(matrix, seen, method=method)
                squares[place, column] += ((found.frequency - truth) ** 2).sum()
    ratios = squares[:, 0] / squares[:, 1]
    assert np.exp(np.log(ratios).mean()) < 0.65
    assert ratios.max() < 1.4
