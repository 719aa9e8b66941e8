"""Two choices that were asked apart and are linked: joined, with a warning."""

from __future__ import annotations

import numpy as np
import pytest

import rumor
from rumor.core.errors import InputError
from rumor.kinds.joint.fit.linear import linked_table
from rumor.kinds.joint.linked import estimate_linked


def test_the_table_is_unbiased_and_varies_as_is_said() -> None:
    """Written out: every pair of outputs with its probability."""
    first, second = (rumor.RandomizedResponse(domain=d, epsilon=1.0) for d in (2, 3))
    truth = np.array([0.3, 0.1, 0.05, 0.05, 0.2, 0.3])
    channel = np.kron(first.channel().matrix(), second.channel().matrix())
    outputs = truth @ channel
    people = 10**9
    counts = np.rint(outputs * people).astype(np.int64).reshape(2, 3)
    found = linked_table(counts, ((first.hit, first.miss), (second.hit, second.miss)))
    np.testing.assert_allclose(found.mean, truth, atol=1e-6)
    inverse = np.linalg.inv(channel).T
    noise = inverse @ (np.diag(outputs) - np.outer(outputs, outputs)) @ inverse.T / people
    np.testing.assert_allclose(found.covariance, noise, rtol=1e-4, atol=1e-14)


def cells_covered(sizes: tuple[int, int], epsilon: float, people: int, runs: int) -> float:
    """Return how often 95 % intervals hold cells and margins, where most cells have 1 %."""
    rng = np.random.default_rng(60)
    table = np.full(sizes, 0.01)
    table[0, 0] = 0.5
    table[-1, -1] += 1 - table.sum()
    truth = np.concatenate([table.ravel(), table.sum(axis=1), table.sum(axis=0)])
    mechanisms = [rumor.RandomizedResponse(domain=size, epsilon=epsilon) for size in sizes]
    held = []
    for run in range(runs):
        both = np.unravel_index(rng.choice(table.size, people, p=table.ravel()), sizes)
        asked = {
            str(part): (one, one.privatize(own, random=rumor.Seeded(2 * run + part)))
            for part, (one, own) in enumerate(zip(mechanisms, both, strict=True))
        }
        low, high = estimate_linked(asked).interval(0.95)
        held.append((low - 1e-12 <= truth) & (truth <= high + 1e-12))
    return float(np.mean(held))


@pytest.mark.parametrize("people", [5, 20, 60])
def test_intervals_hold_rare_cells_of_few_people(people: int) -> None:
    """With 60 people and epsilon 6, normal intervals held 59 of 100 cells."""
    assert cells_covered((3, 4), 6.0, people, 60) >= 0.95


def test_intervals_of_many_people_are_normal() -> None:
    mechanism = rumor.RandomizedResponse(domain=2, epsilon=1.0)
    answers = np.random.default_rng(3).integers(0, 2, (2, 40_000))
    asked = {
        str(part): (mechanism, mechanism.privatize(own, random=rumor.Seeded(part)))
        for part, own in enumerate(answers)
    }
    found = estimate_linked(asked)
    low, high = found.interval(0.95)
    np.testing.assert_allclose(high - low, 2 * 1.959964 * found.stderr, rtol=1e-5)


def test_linked_reports_are_joined_with_a_warning() -> None:
    """Cells within five standard errors of the truth; a seed that is fixed."""
    first = rumor.RandomizedResponse(domain=["yes", "no"], epsilon=1.0)
    second = rumor.RandomizedResponse(domain=["never", "some", "much"], epsilon=1.5)
    truth = np.array([0.03, 0.10, 0.12, 0.27, 0.33, 0.15])
    people = np.random.default_rng(1).choice(6, size=50_000, p=truth)
    reports = (
        first.without_labels().privatize(people // 3, random=rumor.Seeded(1)),
        second.without_labels().privatize(people % 3, random=rumor.Seeded(2)),
    )
    asked = {"smokes": (first, reports[0]), "drinks": (second, reports[1])}
    found = estimate_linked(asked)
    table = found.pair("smokes", "drinks")
    assert (np.abs(table.linear.mean - truth) < 5 * table.linear.deviation).all()
    assert table.test.p_value < 0.01
    assert found.epsilon == pytest.approx(2.5)
    assert "note: the two answers were randomised apart" in found.table()
    # Asked for together at the same cost, the same people are known far better.
    pair = rumor.Mixed(parts=(2, 3), epsilon=2.5)
    together = rumor.estimate(pair, pair.privatize(people, random=rumor.Seeded(3)))
    assert together.pair().linear.deviation.max() < 0.6 * table.linear.deviation.max()


def test_reports_that_cannot_be_joined_are_refused() -> None:
    coin = rumor.RandomizedResponse(domain=3, epsilon=1.0)
    reports = coin.privatize([0, 1, 2], random=rumor.Seeded(1))
    with pytest.raises(InputError, match="the same people, at least one; got 3 and 2"):
        estimate_linked({"a": (coin, reports), "b": (coin, reports[:2])})
    with pytest.raises(InputError, match="of two questions; got 1"):
        estimate_linked({"a": (coin, reports)})
    unary = rumor.UnaryEncoding(domain=3, epsilon=1.0)
    bits = unary.privatize([0, 1, 2], random=rumor.Seeded(1))
    with pytest.raises(InputError, match="of randomised response; got 'unary' for 'b'"):
        estimate_linked({"a": (coin, reports), "b": (unary, bits)})
