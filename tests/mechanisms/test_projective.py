"""Projective-geometry response: its geometry, its counting, and how much noise it has."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.kinds.choice.question import candidates, choose_oracle
from rumor.mechanisms.projective import projective
from rumor.mechanisms.projective.projective import (
    Projective,
    best_field,
    incidence,
    matrix,
    primes,
    swept,
)
from rumor.mechanisms.projective.space import Space, points_of
from tests.laws.laws import refused

SMALL = [Space(q, t) for q, t in ((2, 3), (2, 5), (3, 3), (3, 4), (3, 5), (5, 3), (7, 3), (11, 3))]


def by_hand(space: Space) -> list[tuple[int, ...]]:
    """All vectors whose last coordinate that is not 0 is 1, in the order of the reference."""
    vectors = itertools.product(range(space.field), repeat=space.dimensions)
    points = [v for v in vectors if next((x for x in reversed(v) if x), 0) == 1]

    def order(v: tuple[int, ...]) -> tuple[object, ...]:
        last = max(i for i, x in enumerate(v) if x)
        return -last, v[:last]

    return sorted(points, key=order)


@pytest.mark.parametrize("space", SMALL, ids=str)
def test_points_have_the_order_that_is_written_down(space: Space) -> None:
    points = by_hand(space)
    assert len(points) == space.points
    vectors, last = space.vectors(np.arange(space.points))
    coordinates = space.coordinates(vectors)
    assert [tuple(map(int, v)) for v in np.array(coordinates).T] == points
    assert last.tolist() == [max(i for i, x in enumerate(v) if x) for v in points]
    assert space.number(coordinates).tolist() == list(range(space.points))
    twice = [each * (space.field - 1) % space.field for each in coordinates]
    assert space.number(twice).tolist() == list(range(space.points)), "multiples are one point"


@pytest.mark.parametrize("space", SMALL, ids=str)
def test_every_two_hyperplanes_meet_in_as_many_points(space: Space) -> None:
    table = matrix(space)
    assert (table == table.T).all()
    common = table @ table
    assert (np.diag(common) == space.supporting).all()
    assert (common[~np.eye(space.points, dtype=bool)] == space.common).all()
    assert space.supporting + space.others == space.points


@pytest.mark.parametrize("space", SMALL, ids=str)
def test_counting_is_the_product_with_the_matrix(space: Space) -> None:
    """Whole numbers exactly, those that need 64 bits too; doubles to rounding."""
    draw = np.random.default_rng(1)
    points = np.array(by_hand(space))
    dense = (points @ points.T % space.field == 0).astype(np.int64)
    for most in (3, 1 << 40):
        weights = draw.integers(0, most, space.points)
        assert swept(space, weights).tolist() == (dense @ weights).tolist()
        assert incidence(space, weights).tolist() == (dense @ weights).tolist()
    doubles = draw.normal(size=space.points)
    np.testing.assert_allclose(swept(space, doubles), dense @ doubles, atol=1e-9)


def test_counting_at_large_points_one_by_one() -> None:
    """2,000 reports of 30,000 values: the supported ones of each, looked up by their products."""
    oracle = Projective(domain=30_000, epsilon=3.0)
    batch = oracle.privatize(np.arange(2_000) * 7, random=Seeded(1))
    tally = oracle.tally(batch)
    counts = oracle.support_counts(tally)
    points = np.repeat(np.arange(oracle.alphabet), tally)
    for code in (0, 1, 777, 29_999):
        assert counts[code] == oracle.supports(points, code).sum()
    again = oracle.support_counts(tally)
    assert again.tolist() == counts.tolist()
    first = int(oracle.supports(np.arange(1000), 777).argmax())
    tally[first] += 1
    changed = oracle.support_counts(tally)
    assert oracle.alphabet > 1 << 16, "counts of so many points are remembered"
    assert changed[777] - counts[777] == 1, "another tally is counted anew"


def test_many_reports_are_counted_in_64_bits() -> None:
    oracle = Projective(domain=10, epsilon=1.0, field=3)
    tally = np.zeros(oracle.alphabet, dtype=np.int64)
    tally[3] = 1 << 40
    assert oracle.support_counts(tally).max() == 1 << 40


def subset_noise(domain: int, epsilon: float) -> float:
    """The variance of subset selection with the best size, for a value that nobody holds."""
    e, found = math.exp(epsilon), []
    for k in {max(1, math.floor(domain / (e + 1))), math.ceil(domain / (e + 1))}:
        p = k * e / (k * e + domain - k)
        q = p * (k - 1) / (domain - 1) + (1 - p) * k / (domain - 1)
        found.append(q * (1 - q) / (p - q) ** 2)
    return min(found)


@pytest.mark.parametrize("domain", [10_000, 123_457, 1_000_000, 2_000_000])
def test_noise_is_within_three_percent_of_subset_selection(domain: int) -> None:
    for epsilon in (0.1, 0.35, 0.5, 1.0, 1.05, 2.0, 3.0, 4.0, 4.25, 5.0):
        oracle = Projective(domain=domain, epsilon=epsilon)
        assert float(oracle.variance(0.0, 1)) < 1.03 * subset_noise(domain, epsilon)
        assert oracle.width <= 3
    # The fields on both sides of the best one are a factor of two apart there.
    middle = Projective(domain=2_000_000, epsilon=4.45)
    assert float(middle.variance(0.0, 1)) < 1.033 * subset_noise(2_000_000, 4.45)


def test_auto_is_the_shortest_report_within_three_percent() -> None:
    for domain in (2, 10, 50, 300, 10_000, 1_000_000):
        for epsilon in (0.5, 1.0, 4.0):
            chosen = choose_oracle(domain, epsilon)
            fitting = [one for one in candidates(domain, epsilon) if one.width <= 256]
            least = min(float(one.variance(0.0, 1)) for one in fitting)
            near = [one for one in fitting if float(one.variance(0.0, 1)) <= 1.03 * least]
            assert chosen in near
            assert chosen.width == min(one.width for one in near)
    assert choose_oracle(1_000_000, 1.0, users=10**7).name == "projective"
    assert choose_oracle(1_500_000, 1.0, users=10**7).name == "projective"


def test_fields_are_checked() -> None:
    for field, sentence in (
        (4, "field must be a prime; got 4"),
        (1, "field must be an integer from 2 to"),
        (2.0, "field must be an integer"),
        (67, "at most 2^24 points for 2,000,000 values; got 67, which has 20,456,"),
    ):
        with pytest.raises(InputError, match=sentence.replace("^", r"\^")):
            Projective(domain=2_000_000, epsilon=1.0, field=field)  # type: ignore[arg-type]
    assert primes()[:5] == (2, 3, 5, 7, 11)
    assert points_of(max(primes()), 3) <= projective.MAX_POINTS
    described = Projective(domain=10, epsilon=1.0).describe()
    assert "prime" in refused(lambda: Projective.from_parameters({**described, "field": 9}))


def test_the_field_grows_with_epsilon() -> None:
    fields = [best_field(100_000, math.exp(epsilon)) for epsilon in (0.1, 1.0, 2.0, 3.0, 4.0)]
    assert fields == [2, 3, 7, 19, 47]


@pytest.mark.parametrize("domain", [50, 400])
def test_estimates_by_every_method_are_near_the_truth(domain: int) -> None:
    """50,000 people, half of whom hold value 3: within 5 standard errors of one half."""
    oracle, people = Projective(domain=domain, epsilon=2.0), 50_000
    values = np.where(np.arange(people) % 2, 3, np.arange(people) % domain)
    batch = oracle.privatize(values, random=Seeded(3))
    truth = np.bincount(values, minlength=domain) / people
    error = 5 * math.sqrt(float(oracle.variance(truth, people)[3]))
    for method in ("auto", "inversion", "projection", "bayes"):
        options: dict[str, Any] = {"gap": 1e-2} if method == "bayes" else {}
        found = rumor.estimate(oracle, batch, method=method, **options)
        assert abs(found.frequency[3] - truth[3]) < error
