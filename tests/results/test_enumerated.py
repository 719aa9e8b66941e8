"""Every outcome of a few people, weighed in exact fractions: what results claim is what they do.

No draw and no normal law: the reports of a handful of people can be listed, each list with its
probability under the mechanism's own channel. Expectations are exact then, and so is how often
intervals hold the truth, one by one, all at once, and those of the rows that came first.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.core.types import Vector
from rumor.estimators.multiple_testing import benjamini_hochberg, holm
from rumor.mechanisms import FrequencyOracle, Mechanism, UnaryEncoding
from rumor.mechanisms.registry import mechanisms_of_kind
from rumor.mechanisms.summary import Summary
from rumor.results.view import View

ROUNDING = 1e-9


def oracles(domain: int, epsilon: float) -> list[FrequencyOracle]:
    """Every registered oracle with few outputs, at this size."""
    found: list[FrequencyOracle] = []
    for kind in mechanisms_of_kind("choice"):
        if not issubclass(kind, FrequencyOracle) or not kind.FROM_EPSILON:
            continue
        if not kind.MIN_DOMAIN <= domain <= kind.MAX_DOMAIN:
            continue
        make: Any = kind
        oracle: FrequencyOracle = make(domain=domain, epsilon=epsilon)
        if list(oracle.publics()) == [b""] and oracle.alphabet <= 8:
            found.append(oracle)
    return found


@dataclass(frozen=True)
class Outcomes:
    """All sets of reports of so many people, and the result of each."""

    mechanism: Mechanism
    people: int
    found: tuple[tuple[tuple[int, ...], Any], ...]

    def law(self, shares: dict[object, Fraction]) -> list[float]:
        """The probability of each outcome where people are drawn with these shares of inputs."""
        outputs = [row.tobytes() for row in self.mechanism.outputs()]
        each = [
            sum((f * self.mechanism.probability(y, x) for x, f in shares.items()), Fraction(0))
            for y in outputs
        ]
        assert sum(each) == 1
        chances = []
        for reports, _ in self.found:
            ways = math.factorial(self.people)
            chance = Fraction(1)
            for output, often in Counter(reports).items():
                ways //= math.factorial(often)
                chance *= each[output] ** often
            chances.append(ways * chance)
        assert sum(chances) == 1
        return [float(chance) for chance in chances]


@functools.cache
def outcomes(mechanism: Mechanism, people: int, method: str = "inversion") -> Outcomes:
    rows = mechanism.outputs()
    found: list[tuple[tuple[int, ...], Any]] = []
    for reports in itertools.combinations_with_replacement(range(len(rows)), people):
        summary = Summary.empty(mechanism).update(rows[list(reports)])
        made: Any = rumor.estimate(mechanism, summary, method=method)
        found.append((reports, made))
    return Outcomes(mechanism, people, tuple(found))


def laws_of(inputs: list[object]) -> Iterator[dict[object, Fraction]]:
    """All alike, falling, and one that holds all."""
    size = len(inputs)
    yield {x: Fraction(1, size) for x in inputs}
    total = Fraction(2**size - 1)
    yield {x: 2 ** (size - 1 - i) / total for i, x in enumerate(inputs)}
    yield {x: Fraction(int(i == 0)) for i, x in enumerate(inputs)}


MOST_OUTCOMES = 20
# The others are listed where there is time.
OFTEN = ("randomized-response", "unary", "subset-selection")


def people_for(oracle: FrequencyOracle) -> int:
    """As many people, six at most, as have few enough outcomes."""
    numbers = (n for n in range(6, 0, -1) if math.comb(oracle.alphabet + n - 1, n) <= MOST_OUTCOMES)
    return next(numbers)


SMALL = [
    pytest.param(
        oracle,
        people_for(oracle),
        id=f"{oracle.name}-{oracle.domain}",
        marks=[pytest.mark.slow] * (oracle.name not in OFTEN),
    )
    for domain in (2, 3)
    for oracle in oracles(domain, 1.0)
]


@pytest.mark.parametrize(("oracle", "people"), SMALL)
def test_shares_are_unbiased_with_the_variance_that_is_told(
    oracle: FrequencyOracle, people: int
) -> None:
    every, members = outcomes(oracle, people), np.array([0, oracle.domain - 1])
    unbiased = np.array([made.unbiased for _, made in every.found])
    scores = [made.groups.score(members)[0] for _, made in every.found]
    group = np.array([float(score.excess[0] / score.gain) for score in scores])
    for shares in laws_of(list(oracle.inputs())):
        truth = np.array([float(f) for f in shares.values()])
        chances = every.law(shares)
        np.testing.assert_allclose(chances @ unbiased, truth, atol=1e-9)
        spread = chances @ (unbiased - truth) ** 2
        told = np.broadcast_to(oracle.variance(truth, people), truth.shape)
        np.testing.assert_allclose(spread, told, atol=1e-9)
        # So are shares of several values together.
        assert chances @ group == pytest.approx(truth[[0, -1]].sum())


@pytest.mark.parametrize(("oracle", "people"), SMALL)
def test_intervals_hold_as_often_as_they_say(oracle: FrequencyOracle, people: int) -> None:
    """Each value named in advance, all at once, and of the rows that came first."""
    every = outcomes(oracle, people)
    orders = [made.ranking(None) for _, made in every.found]
    for level in (0.8,):
        plain = [made.interval(level) for _, made in every.found]
        whole = [made.interval(level, simultaneous=True) for _, made in every.found]
        exact = [made.interval(level, exact=True) for _, made in every.found]
        view = View(level=level, order="estimate")
        shown = [made.bounds(o, view) for (_, made), o in zip(every.found, orders, strict=True)]
        allowed = level - (1 - level) / 10
        for shares in laws_of(list(oracle.inputs())):
            truth = np.array([float(f) for f in shares.values()])
            chances = np.array(every.law(shares))
            assert (chances @ held(plain, truth) >= allowed).all()
            assert (chances @ held(exact, truth) >= level - ROUNDING).all()
            assert chances @ held(whole, truth).all(axis=1) >= allowed
            inside = held(shown, [truth[order] for order in orders])
            for cut in range(1, truth.size + 1):
                assert chances @ inside[:, :cut].mean(axis=1) >= allowed


def held(ends: Any, truth: Any) -> Vector:
    """Which of the ends of each outcome (rows) hold the truth of each value."""
    low, high = np.array(ends).transpose(1, 0, 2)
    truth = np.asarray(truth)
    return np.asarray((low <= truth + ROUNDING) & (truth <= high + ROUNDING))


def test_intervals_of_these_people_hold_for_these_people() -> None:
    """Fixed people: a report of each, by its own row of the channel."""
    oracle, people = UnaryEncoding(domain=2, epsilon=1.0), 3
    every = outcomes(oracle, people)
    matrix, level = oracle.channel().probabilities, 0.8
    ends = [made.interval(level, of="people") for _, made in every.found]
    for holders in range(people + 1):
        truth = np.array([holders / people, 1 - holders / people])
        law: Counter[tuple[int, ...]] = Counter()
        for reports in itertools.product(range(len(matrix[0])), repeat=people):
            chance = Fraction(1)
            for person, output in enumerate(reports):
                chance *= matrix[0 if person < holders else 1][output]
            law[tuple(sorted(reports))] += chance  # type: ignore[assignment]
        chances = np.array([float(law[reports]) for reports, _ in every.found])
        assert chances.sum() == pytest.approx(1.0)
        assert (chances @ held(ends, truth) >= level - (1 - level) / 10).all()


# Other kinds


def test_means_of_numbers_are_unbiased_and_covered() -> None:
    mechanism, people = rumor.Harmony(low=0.0, high=4.0, epsilon=1.0), 6
    every = outcomes(mechanism, people)
    inputs = list(mechanism.inputs())
    for shares in laws_of([inputs[0], inputs[-1]]):
        truth = sum(float(f) * float(str(x)) for x, f in shares.items())
        chances = np.array(every.law(shares))
        unbiased = np.array([made.unbiased for _, made in every.found])
        assert chances @ unbiased == pytest.approx(truth)
        for level in (0.5, 0.9):
            low, high = np.array([made.interval(level) for _, made in every.found]).T
            inside = (low <= truth + ROUNDING) & (truth <= high + ROUNDING)
            assert chances @ inside >= level - (1 - level) / 10


def test_the_mean_and_the_running_shares_of_ordered_answers_are_unbiased() -> None:
    mechanism, people = rumor.Wave(labels=["a", "b", "c"], epsilon=1.5), 2
    every = outcomes(mechanism, people, "em")
    middles = mechanism.scale.middles
    for shares in laws_of(["a", "b", "c"]):
        truth = np.array([float(f) for f in shares.values()])
        chances = np.array(every.law(shares))
        means = np.array([made.unbiased for _, made in every.found])
        assert chances @ means == pytest.approx(truth @ middles)
        # A level of 0.9 holds the running shares, of two people as well.
        ends = []
        for _, made in every.found:
            columns = made.columns(0.9)
            ends.append((columns["cdf_low"], columns["cdf_high"]))
        assert (chances @ held(ends, np.cumsum(truth)) >= 0.89).all()


def test_cells_and_margins_of_a_table_are_unbiased() -> None:
    mechanism, people = rumor.Mixed(parts=[2, 2], epsilon=2.0), 2
    every = outcomes(mechanism, people, "linear")
    inputs = [(i, j) for i in range(2) for j in range(2)]
    for shares in laws_of(list(inputs)):
        table = np.array([float(f) for f in shares.values()])
        truth = np.concatenate(
            [table, table.reshape(2, 2).sum(axis=1), table.reshape(2, 2).sum(axis=0)]
        )
        chances = np.array(every.law(shares))
        unbiased = np.array([made.unbiased for _, made in every.found])
        np.testing.assert_allclose(chances @ unbiased, truth, atol=1e-9)
        ends = [made.interval(0.9) for _, made in every.found]
        assert (chances @ held(ends, truth) >= 0.89).all()


def test_shares_of_keys_are_unbiased_and_covered() -> None:
    mechanism, people = rumor.KeyValueBlock(keys=1, low=-1.0, high=1.0, epsilon=1.0), 5
    every = outcomes(mechanism, people)
    inputs = list(mechanism.inputs())
    rates = mechanism.rates
    for shares in laws_of(inputs):
        chances = np.array(every.law(shares))
        f, s = (
            np.array([getattr(made, name)[0] for _, made in every.found])
            for name in ("unbiased", "product")
        )
        # The truth by the two lines that a key's reports follow.
        outputs = [row.tobytes() for row in mechanism.outputs()]
        counted = [
            mechanism.counts(mechanism.tally(mechanism.outputs()[i : i + 1]), 1)
            for i in range(len(outputs))
        ]
        law = [
            float(sum(g * mechanism.probability(y, x) for x, g in shares.items())) for y in outputs
        ]
        seen = sum(p * float(c.plus[0] + c.minus[0]) for p, c in zip(law, counted, strict=True))
        tilt = sum(p * float(c.plus[0] - c.minus[0]) for p, c in zip(law, counted, strict=True))
        share, product = (seen - rates.miss) / rates.gain, tilt / rates.sign_gain
        assert chances @ f == pytest.approx(share)
        assert chances @ s == pytest.approx(product)
        for level in (0.5, 0.9):
            ends = [made.interval(level) for _, made in every.found]
            assert (chances @ held(ends, np.array([share])) >= level - ROUNDING).all()


# Groups that are compared, and many tests


def test_differences_are_unbiased_and_holm_divides_the_level() -> None:
    """Two groups of three people: every pair of outcomes, with equal and with other shares."""
    oracle, people = rumor.RandomizedResponse(domain=3, epsilon=2.0), 3
    every = outcomes(oracle, people)
    summaries = [
        Summary.empty(oracle).update(oracle.outputs()[list(reports)]) for reports, _ in every.found
    ]
    pairs = [rumor.compare(oracle, one, other) for one in summaries for other in summaries]
    difference = np.array([pair.difference for pair in pairs])
    low, high = np.array([pair.interval(0.9) for pair in pairs]).transpose(1, 0, 2)
    laws = list(laws_of([0, 1, 2]))
    for first, second in itertools.product(laws, laws):
        chances = np.outer(every.law(first), every.law(second)).ravel()
        truth = np.array([float(second[x] - first[x]) for x in (0, 1, 2)])
        np.testing.assert_allclose(chances @ difference, truth, atol=1e-9)
        inside = (low <= truth + ROUNDING) & (truth <= high + ROUNDING)
        assert (chances @ inside >= 0.89).all()
    # Some adjusted p-value is below a level where the least is below a third of it.
    for pair in pairs:
        assert pair.adjusted.min() == pytest.approx(min(1.0, 3 * pair.p_value.min()))


@pytest.mark.parametrize("level", [0.2, 0.4])
def test_false_alarms_of_many_tests_are_as_rare_as_promised(level: float) -> None:
    """Three independent tests with p-values of tenths, each equally likely: all 1,000."""
    steps = np.arange(1, 11) / 10
    grid = np.array(list(itertools.product(steps, repeat=3)))
    raised = np.array([holm(row) for row in grid])
    assert (raised.min(axis=1) <= level + 1e-12).mean() <= level
    found = np.array([benjamini_hochberg(row, level + 1e-12) for row in grid])
    assert found.any(axis=1).mean() <= level + 1e-9, "all are false: any discovery is"
    # One of the three is true, and its p-value 0: the part of false ones among those found.
    sure = grid.copy()
    sure[:, 0] = 0.0
    found = np.array([benjamini_hochberg(row, level + 1e-12) for row in sure])
    assert found[:, 0].all()
    wrong = found[:, 1:].sum(axis=1) / found.sum(axis=1)
    assert wrong.mean() <= 2 / 3 * level + 1e-9
    assert (
        holm_below := np.array([holm(row)[1:].min() for row in sure]) <= level + 1e-12
    ).mean() <= level
    assert holm_below.any()
