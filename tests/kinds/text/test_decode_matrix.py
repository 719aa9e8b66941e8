"""The literature's decode on a matrix of one's own: its optimum, its test, and the same as ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

import rumor
from rumor.core.errors import InputError
from rumor.kinds.text.fit.literature import CUT, PENALTY, decode_literature, positive_lasso
from rumor.papers import decoding


@pytest.mark.parametrize("seed", range(4))
def test_the_lasso_is_at_rest(seed: int) -> None:
    """The conditions of its optimum: no pull where it is above 0, none upwards where it is 0."""
    random = np.random.default_rng(seed)
    rows, columns = 60, 80 if seed == 3 else 25  # also more columns than rows
    matrix = random.integers(0, 2, (rows, columns)).astype(float)
    y = matrix[:, :5] @ np.array([30.0, 20, 10, 5, 2]) + random.normal(0, 3, rows)
    b = positive_lasso(matrix, y, 0.1)
    pull = matrix.T @ (y - matrix @ b) / rows - 0.1
    assert (b >= 0).all()
    assert np.abs(pull[b > 0]).max() < 1e-6
    assert pull[b == 0].max() < 1e-6


def test_the_decode_of_a_matrix_is_that_of_a_candidate_map() -> None:
    """Document 000's own design, 4 hashes: the decoder of RAPPOR's counts says the same."""
    random = np.random.default_rng(3)
    design = decoding.design_matrix("law", 4)
    counts = random.multinomial(2500, decoding.word_shares(0.7), size=8)
    y = decoding.response(design, counts, random, printed=False)
    found = rumor.decode(design, y)
    made, shares = decoding.candidates_of(design, 4), decoding.shares_of(y)
    ours = decode_literature(made, shares, level=0.05, penalty=PENALTY, cut=CUT)
    # They stop their Lasso at other tolerances: a word at the very cut may differ.
    assert abs(found.kept - ours.kept) <= 1
    both = (found.lasso > 0.01) & (made.restore(ours.frequency) != 0)
    assert both.sum() > 80
    assert (found.detected != made.restore(ours.detected)).sum() <= 2
    np.testing.assert_allclose(
        found.count[both] / 2500, made.restore(ours.frequency)[both], atol=2e-3
    )
    # Raw counts of reports, de-biased by equation 3.
    raw = y * 0.25 + 0.5 * 2500
    again = rumor.decode(design, raw, p=0.5, q=0.75, reports=2500)
    np.testing.assert_allclose(again.count, found.count, atol=1e-6)
    each = rumor.decode(design, raw, p=0.5, q=0.75, reports=[2500] * 8)
    assert (each.detected == found.detected).all()


def test_the_test_is_students() -> None:
    random = np.random.default_rng(5)
    matrix = random.integers(0, 2, (40, 3)).astype(float)
    y = matrix @ np.array([5.0, 1.0, 0.4]) + random.normal(0, 1, 40)
    found = rumor.decode(matrix, y, penalty=0, names=["a", "b", "c"])
    count, rss, _, _ = np.linalg.lstsq(matrix, y, rcond=None)
    np.testing.assert_allclose(found.count, count, rtol=1e-9)
    error = np.sqrt(rss[0] / 37 * np.diagonal(np.linalg.inv(matrix.T @ matrix)))
    np.testing.assert_allclose(found.stderr, error, rtol=1e-9)
    np.testing.assert_allclose(found.p_value, student.sf(count / error, 37), rtol=1e-9)
    assert found.found == [n for n, p in zip("abc", found.p_value, strict=True) if p < 0.05]
    assert found.to_dict()["words"][0]["name"] == "a"  # type: ignore[index]
    nothing = rumor.decode(matrix, -y)
    assert (nothing.kept, nothing.found) == (0, [])


WRONG: list[tuple[object, object, dict[str, Any], str]] = [
    ([1, 2], [1, 2], {}, "X must be a matrix of numbers"),
    ([["a"]], [1], {}, "X must be a matrix of numbers"),
    ([[1, 0], [0, 1], [1, 1]], [1, 2], {}, r"each of the 3 rows of X; got shape \(2,\)"),
    ([[1], [1]], [1, np.nan], {}, "y must be one number"),
    ([[1], [1]], [1, 2], {"names": ["a", "b"]}, "one for each of the 1 columns; got 2"),
    ([[1], [1]], [1, 2], {"penalty": -1}, "penalty must be a number of at least 0; got -1"),
    ([[1], [1]], [1, 2], {"level": 1}, "level must be a number above 0 and below 1; got 1"),
    ([[1], [1]], [1, 2], {"p": 0.5, "q": 0.5, "reports": 3}, "q must be above p; got 0.5 and 0.5"),
    ([[1], [1]], [1, 2], {"p": 0.5, "q": 0.7}, "reports must be how many there are"),
    ([[1], [1]], [1, 2], {"reports": 5}, "p must be a number from 0 to 1 with reports; got None"),
    ([[1, 0], [0, 1]], [9, 9], {}, "fewer columns than there are rows"),
]


@pytest.mark.parametrize(("matrix", "y", "options", "sentence"), WRONG)
def test_what_is_wrong_gets_one_sentence(
    matrix: object, y: object, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        rumor.decode(matrix, y, **options)
