"""The mixture of pairs and margins: who is asked what, and contracts that are refused."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rumor.core.errors import InputError
from rumor.core.exact import WORD
from rumor.core.randomness import Keyed, Seeded
from rumor.mechanisms import from_description
from rumor.mechanisms.mixed.design import _pairs_error, _whole_error, design_shares, sum_variance
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.mixed.parts import Parts
from rumor.mechanisms.subset_selection import SubsetSelection


def shares(mixed: Mixed) -> dict[tuple[int, ...], float]:
    return {one.asks: float(one.share) for one in mixed.components}


# The share of the pair, to two digits, by sizes and epsilon: margins within 1.3 times.
PAIRS = {
    (5, 5): {0.5: 0.61, 1.0: 0.62, 2.0: 0.64, 4.0: 1.0},
    (10, 8): {0.5: 0.51, 1.0: 0.51, 2.0: 0.51, 4.0: 0.73},
    (2, 2): {0.5: 1.0, 1.0: 1.0, 2.0: 1.0, 4.0: 1.0},
}


@pytest.mark.parametrize("sizes", PAIRS, ids=str)
def test_as_many_are_asked_for_a_margin_as_keep_it_sharp(sizes: tuple[int, int]) -> None:
    for epsilon, pair in PAIRS[sizes].items():
        found = Mixed(parts=sizes, epsilon=epsilon)
        assert round(shares(found)[0, 1], 2) == pair
        assert sum(one.share for one in found.components) == 1
        # What all reports together tell of a margin, beside what half of the people would.
        for part in (0, 1):
            alone = SubsetSelection(domain=sizes[part], epsilon=epsilon)
            told = 0.0
            for one in found.components:
                if part in one.asks:
                    cells = one.oracle.domain // sizes[part]
                    told += float(one.share / sum_variance(one.oracle, cells))
            ratio = math.sqrt(0.5 / float(sum_variance(alone, 1)) / told)
            assert ratio <= 1.3 + 1e-9
            if len(found.components) == 3:
                assert ratio == pytest.approx(1.3, abs=1e-9)


def test_a_margin_that_is_poorer_than_the_other_is_mended_alone() -> None:
    assert set(shares(Mixed(parts=(2, 5), epsilon=1.0))) == {(0, 1), (0,)}
    assert set(shares(Mixed(parts=(5, 2), epsilon=1.0))) == {(0, 1), (1,)}


# The errors of a cell of a two-way table with one report, all asked at once and by pairs.
ERRORS = {
    ((2, 2, 2), 1.0): (2.20, 2.50),
    ((3, 3, 3), 1.0): (3.08, 2.98),
    ((3, 3, 3, 3), 1.0): (5.39, 4.21),
    ((3, 3, 3, 3), 4.0): (0.79, 0.90),
    ((2, 2, 2), 4.0): (0.50, 0.81),
}


@pytest.mark.parametrize(("sizes", "epsilon"), ERRORS, ids=str)
def test_three_and_four_are_asked_by_pairs_unless_all_at_once_is_better(
    sizes: tuple[int, ...], epsilon: float
) -> None:
    parts, expected = Parts.of(sizes), ERRORS[sizes, epsilon]
    whole, pairs = (math.sqrt(f(parts, epsilon)) for f in (_whole_error, _pairs_error))
    # As published: the last of two digits may be rounded either way.
    assert whole == pytest.approx(expected[0], abs=0.006)
    assert pairs == pytest.approx(expected[1], abs=0.006)
    found = design_shares(parts, epsilon)
    if whole <= pairs:
        assert found == [(tuple(range(len(sizes))), Fraction(1))]
    else:
        every = list(itertools.combinations(range(len(sizes)), 2))
        assert found == [(pair, Fraction(1, len(every))) for pair in every]


def test_more_cells_than_a_table_may_have_are_asked_by_pairs() -> None:
    found = Mixed(parts=(5, 5, 5), epsilon=8.0)
    assert all(len(one.asks) == 2 for one in found.components)


def test_the_share_of_the_pair_may_be_said() -> None:
    found = shares(Mixed(parts=(5, 5), epsilon=1.0, pair=0.5))
    assert found == {(0, 1): 0.5, (0,): pytest.approx(0.25), (1,): pytest.approx(0.25)}
    assert shares(Mixed(parts=(5, 5), epsilon=1.0, pair=1)) == {(0, 1): 1.0}
    for wrong in (0, 1.5, True, "all"):
        with pytest.raises(InputError, match="pair must be a share above 0 and at most 1"):
            Mixed(parts=(5, 5), epsilon=1.0, pair=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pair is a share of two parts; got 3 parts"):
        Mixed(parts=(3, 3, 3), epsilon=1.0, pair=0.5)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 2.7, 9.0])
@pytest.mark.parametrize("sizes", [(2, 3), (10, 10), (4, 3, 5)], ids=str)
def test_no_component_costs_more_than_was_asked(sizes: tuple[int, ...], epsilon: float) -> None:
    found = Mixed(parts=sizes, epsilon=epsilon)
    assert found.epsilon <= epsilon
    assert found.epsilon == max(one.oracle.epsilon for one in found.components)
    assert found.epsilon > 0.999 * epsilon


def test_components_come_as_often_as_they_should() -> None:
    """Binomial counts within five standard deviations: 1 in 10^6 by chance, and seeds are fixed."""
    found, people = Mixed(parts=(5, 5), epsilon=1.0), 200_000
    for source in (Seeded(4), Keyed(bytes(32), "components")):
        counts = found.counted(found.tally(found.privatize(np.zeros(people, int), random=source)))
        for one in counts:
            share = float(one.component.share)
            deviation = math.sqrt(people * share * (1 - share))
            assert abs(one.reports - people * share) < 5 * deviation


def test_noise_does_not_follow_from_who_was_asked_what() -> None:
    """The words that choose a component must not be those that choose its report.

    A keyed source's streams all begin alike, so one person at a time would show it: of 800, those
    asked for the pair report it truly as often as its threshold says, within five deviations.
    """
    found, hits, asked = Mixed(parts=(2, 2), epsilon=1.0, pair=0.5), 0, 0
    oracle = found.components[0].oracle
    for person in range(800):
        report = found.privatize(np.zeros(1, int), random=Keyed(bytes(32), "one", person))
        if report[0, 0] == 0:
            asked += 1
            hits += int(oracle.tally(report[:, 1:].copy())[0])
    deviation = math.sqrt(asked * oracle.hit * (1 - oracle.hit))
    assert abs(hits - asked * oracle.hit) < 5 * deviation


def described(**changed: Any) -> dict[str, Any]:
    plain: dict[str, Any] = Mixed(parts=(3, 3), epsilon=1.0).describe()
    return {**plain, **changed}


def component(place: int, **changed: Any) -> dict[str, Any]:
    plain = described()
    plain["components"] = [dict(one) for one in plain["components"]]
    plain["components"][place] |= changed
    return plain


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (described(sizes=[20, 20]), "at most 100 cells"),
        (described(sizes=[{"id": "a", "labels": ["x", "y"]}] * 2), "ids of parts"),
        (described(components=[]), "components must be a list of some"),
        (component(0, asks=[1, 0]), "in their order; got [1, 0]"),
        (component(0, asks=[0, True]), "got [0, True]"),
        (component(0, asks=[0, 5]), "got [0, 5]"),
        (component(1, asks=[0, 1]), "must differ"),
        (component(0, asks=[0]), "size"),
        (component(0, chance=None), "the chance must be a decimal string"),
        (component(2, chance="5"), "the chance of the last component is null; got '5'"),
        (component(0, chance=str(WORD)), "the chance must be a decimal string"),
        (component(0, inclusion="1"), "more often when it is true"),
        (component(0, further=1), "a component must have exactly the keys"),
    ],
)
def test_contracts_that_cannot_be_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as problem:
        from_description(given)
    assert said in str(problem.value)


def test_any_two_parts_are_asked_together() -> None:
    plain = Mixed(parts=(3, 3, 3), epsilon=1.0).describe()
    components: Any = plain["components"]
    less = [*components[:1], {**components[1], "chance": None}]
    with pytest.raises(InputError, match="ask for any two parts together"):
        from_description({**plain, "components": less})


def test_names_must_be_as_many_as_there_are_values() -> None:
    found = Mixed(parts=(2, 2), epsilon=1.0)
    named = Parts.of([{"id": "a", "labels": ["x", "y"]}, {"id": "b", "labels": ["u", "v", "w"]}])
    with pytest.raises(InputError, match=r"the parts must have \[2, 2\] labels; got \[2, 3\]"):
        found.named(named)
    own = Mixed(parts=named, epsilon=1.0)
    assert own.audit.as_argument(("y", "w")) == "a=y, b=w"
    assert own.permanence.memo_digest != own.without_labels().permanence.memo_digest
    assert own == own.without_labels(), "what answers are called is no part of the mechanism"


def test_a_summary_whose_counters_cannot_be_is_refused() -> None:
    found = Mixed(parts=(3, 3), epsilon=1.0)
    tally = found.tally(found.privatize(np.arange(9).repeat(50), random=Seeded(1)))
    assert found.consistent(tally, 450)
    assert not found.consistent(tally, 449)
    moved = tally.copy()
    moved[[0, 10]] += [1, -1]  # a report of the pair less, one of the first margin more
    assert not found.consistent(moved, 450)
