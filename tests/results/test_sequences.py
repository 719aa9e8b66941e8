"""Intervals for any look hold at all looks together, and are as wide as their formulas say."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import rumor
from rumor.core.binomial import distinct_columns
from rumor.core.errors import InputError
from rumor.core.exact import PLANNED
from rumor.core.mixture import PLANNED_RATIO
from rumor.core.types import Vector
from rumor.kinds import KINDS, NAMES
from rumor.kinds.number.estimate import ShareIntervals
from rumor.kinds.ordered.point_estimate import PointEstimate
from rumor.results.counts import bounded_ends
from rumor.results.intervals import EqualTails, Tails
from rumor.results.rows import Tabular
from rumor.results.sequences import ONE_LOOK, AnyLook, _last_above, mixture_evidence
from rumor.results.view import View
from tests.results import made

ALPHA = 0.05
MOST = 90  # the reports up to which every count is walked


def ends(look: AnyLook, counts: Vector, trials: Vector, tail: float) -> tuple[Vector, Vector]:
    tails = np.full(counts.size, tail)
    return look.success_ends(counts, trials, tails, tails)


# --- Counts: the beta-binomial mixture -------------------------------------------------------


@pytest.mark.parametrize("planned", [5, 40])
def test_a_true_chance_is_ever_missed_as_seldom_as_said_summed_over_all_histories(
    planned: int,
) -> None:
    """No draws: the probability of each count that has not missed yet, look after look."""
    chances = np.array([0.003, 0.02, 0.1, 0.3, 0.5, 0.9])
    alive = np.ones((chances.size, 1))
    missed = {"below": np.zeros(chances.size), "above": np.zeros(chances.size)}
    for n in range(1, MOST + 1):
        grown = np.zeros((chances.size, n + 1))
        grown[:, :-1] += alive * (1 - chances)[:, None]
        grown[:, 1:] += alive * chances[:, None]
        counts = np.arange(n + 1, dtype=np.float64)
        low, high = ends(AnyLook(n, planned), counts, np.full(n + 1, float(n)), ALPHA / 2)
        for side, out in (
            ("below", low > chances[:, None]),
            ("above", high < chances[:, None]),
        ):
            missed[side] += (grown * out).sum(axis=1)
            grown = np.where(out, 0.0, grown)
        alive = grown
    for side, probability in missed.items():
        assert (probability <= ALPHA / 2).all(), side
    assert max(each.max() for each in missed.values()) > ALPHA / 20, "it bites somewhere"


@pytest.mark.parametrize(("n", "seen", "chance"), [(1, 1, 0.2), (20, 7, 0.1), (300, 9, 0.025)])
def test_the_evidence_is_the_mean_likelihood_ratio_of_larger_chances(
    n: int, seen: int, chance: float
) -> None:
    weight = 30.0
    prior = stats.beta(weight * chance, weight * (1 - chance))

    def weighed(q: float) -> float:
        ratio = seen * math.log(q / chance) + (n - seen) * math.log((1 - q) / (1 - chance))
        return float(prior.pdf(q)) * math.exp(ratio)

    mean = integrate.quad(weighed, chance, 1, limit=400)[0] / prior.sf(chance)
    column = np.ones(1)
    found = mixture_evidence(seen * column, n * column, weight * column, chance * column)
    assert found[0] == pytest.approx(math.log(mean), abs=1e-6)


def test_chances_further_below_are_refuted_more_strongly() -> None:
    """So the chances that are not refuted are an interval, and halving finds its end."""
    for n, weight in itertools.product((1, 7, 60, 2000), (0.2, 5.0, 1200.0)):
        for seen in np.unique(np.rint(np.linspace(1, n, 9))):
            below = np.linspace(1e-5, seen / n, 300)[:-1]
            column = np.ones(below.size)
            found = mixture_evidence(seen * column, n * column, weight * column, below)
            assert (np.diff(found) < 1e-9).all()


@pytest.mark.parametrize("tail", [0.4, 0.025, 1e-4, 1e-12, 1e-290])
def test_an_end_is_where_the_evidence_reaches_its_limit(tail: float) -> None:
    """Whatever the counts: of one report or of a million, seen never, always or half the time."""
    for n, planned in itertools.product((1, 3, 50, 4_000, 1_000_000), (7, 10_000)):
        seen = np.unique(np.rint(n * np.array([0, 1e-4, 0.01, 0.3, 0.5, 0.99, 1.0])))
        whole = np.full(seen.size, float(n))
        low = ends(AnyLook(n, planned), seen, whole, tail)[0]
        weight = np.full(seen.size, planned / PLANNED_RATIO)
        assert (low[seen == 0] == 0).all()
        assert (low <= seen / n).all()
        some = low > 1e-200  # nothing is refuted where a single report is too little for the tail
        above = low * (1 + 1e-7) + 1e-13 * seen / n
        for chance, side in ((low, 1), (above, -1)):
            evidence = mixture_evidence(seen, whole, weight, np.maximum(chance, 1e-300))
            assert (side * (evidence + math.log(tail))[some] >= -1e-6).all()
        assert some.sum() >= (tail > 1e-200) * (n > 3) * 3


def test_equal_cases_are_computed_once() -> None:
    columns = np.array([[3.0, 1, 3, 2, 3], [5, 5, 5, 5, 5], [0.5, 0.1, 0.5, 0.1, 0.2]])
    distinct, place = distinct_columns(columns)
    assert distinct.shape == (3, 4)
    np.testing.assert_array_equal(distinct[:, place], columns)
    alike, place = distinct_columns(np.ones((2, 3)))
    np.testing.assert_array_equal(alike, [[1], [1]])
    np.testing.assert_array_equal(place, [0, 0, 0])
    assert distinct_columns(np.ones((2, 0)))[0].shape == (2, 0)


@pytest.mark.parametrize(
    ("times", "ratio"), [(0.1, 1.95), (0.3, 1.63), (1, 1.55), (3, 1.58), (10, 1.66), (100, 1.82)]
)
def test_widths_are_those_of_the_mixture_at_every_number_of_reports(
    times: float, ratio: float
) -> None:
    n = round(times * PLANNED)
    assert AnyLook(n).quantile(ALPHA / 2) / ONE_LOOK.quantile(ALPHA / 2) == pytest.approx(
        ratio, abs=0.006
    )
    low, high = ends(AnyLook(n), np.array([0.3 * n]), np.array([float(n)]), ALPHA / 2)
    fixed = 2 * ONE_LOOK.quantile(ALPHA / 2) * math.sqrt(0.21 / n)
    assert (high - low)[0] / fixed == pytest.approx(ratio, abs=0.012)


def test_ends_are_mirrored_and_hold_what_was_seen() -> None:
    counts, trials = np.array([0.0, 0.0, 3.0, 50.0]), np.array([1.0, 40.0, 40.0, 50.0])
    low, high = ends(AnyLook(50, 60), counts, trials, 0.01)
    mirrored = ends(AnyLook(50, 60), trials - counts, trials, 0.01)
    np.testing.assert_allclose(low, 1 - mirrored[1], atol=1e-12)
    np.testing.assert_allclose(high, 1 - mirrored[0], atol=1e-12)
    assert (low <= counts / trials).all()
    assert (counts / trials <= high).all()
    assert low[0] == 0
    assert high[3] == 1
    # With less evidence there is less to say: nothing at all at first.
    assert high[0] > 0.99 > high[1]


def test_numbers_between_two_bounds_are_taken_as_coins() -> None:
    """Each factor has a mean of at most 1 for any numbers within the bounds with this mean."""
    chance, numbers = 0.4, np.array([0.0, 0.25, 0.5, 1.0])
    weights = np.array([0.3, 0.2, 0.24, 0.23])
    weights = weights / weights.sum()
    mean = float(weights @ numbers)
    for q in np.linspace(0.01, 0.99, 50):
        factor = (q / mean) ** numbers * ((1 - q) / (1 - mean)) ** (1 - numbers)
        assert weights @ factor <= 1 + 1e-12
    tails = Tails.alike(0.025, 0.025, 1, AnyLook(200, 200))
    one = np.array([chance]), np.array([200.0])
    low, high = bounded_ends(one[0] * 10 - 5, one[1], (np.array([-5.0]), np.array([5.0])), tails)
    coins = ends(AnyLook(200, 200), np.array([80.0]), one[1], 0.025)
    np.testing.assert_allclose([low, high], [10 * end - 5 for end in coins])


def test_a_part_of_the_reports_is_planned_for_as_that_part() -> None:
    """A question about a quarter of the reports is tuned to a quarter of the planned ones."""
    whole = ends(AnyLook(1000, 8000), np.array([70.0]), np.array([250.0]), 0.025)
    part = ends(AnyLook(250, 2000), np.array([70.0]), np.array([250.0]), 0.025)
    np.testing.assert_allclose(whole, part)


# --- Estimates: the normal mixture -----------------------------------------------------------


def test_a_normal_estimate_is_ever_missed_as_seldom_as_said() -> None:
    histories, planned = 4000, 1000
    looks = np.unique(np.rint(np.geomspace(10, 100 * planned, 200)).astype(int))
    steps = np.diff(looks, prepend=0)
    rng = np.random.default_rng(11)
    walks = np.cumsum(rng.normal(size=(histories, looks.size)) * np.sqrt(steps), axis=1)
    away = np.abs(walks) / np.sqrt(looks)
    reach = np.array([AnyLook(int(n), planned).quantile(ALPHA / 2) for n in looks])
    any_look = float((away > reach).any(axis=1).mean())
    one_look = float((away > ONE_LOOK.quantile(ALPHA / 2)).any(axis=1).mean())
    assert any_look <= stats.binom.ppf(0.999, histories, ALPHA) / histories
    assert any_look > 0.02
    assert one_look > 0.4, "what goes wrong otherwise"


def test_the_quantile_is_the_root_of_its_formula() -> None:
    look, tail = AnyLook(5000), 0.01
    known = 8.2 * 0.5
    z = look.quantile(tail)
    two_sided = math.exp(z * z * known / (2 * (known + 1))) / math.sqrt(known + 1)
    assert two_sided == pytest.approx(1 / (2 * tail))
    assert look.quantiles(np.array([tail, 0.02]))[0] == z
    assert AnyLook(1, 10**9).quantile(tail) == 37, "a bound where the normal tail is no number"


# --- Views and estimates ---------------------------------------------------------------------


def test_a_view_is_for_one_look_unless_asked() -> None:
    assert View().look(7) == ONE_LOOK
    assert View(looks="any").look(7) == AnyLook(7, PLANNED)
    assert View(looks="any", users=300).look(7) == AnyLook(7, 300)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"looks": "all"}, "looks must be one of one, any; got 'all'"),
        ({"looks": "any", "of": "people"}, 'intervals for any look are of the "population" only'),
        ({"users": 0}, "users must be a whole number from 1 on; got 0"),
        ({"users": 1.5}, "users must be a whole number from 1 on; got 1.5"),
        ({"users": True}, "users must be a whole number from 1 on; got True"),
    ],
)
def test_a_view_refuses_what_no_interval_has(options: dict[str, object], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        View(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", list(made.RESULTS))
def test_every_result_says_for_which_looks_it_is_valid(name: str) -> None:
    """Or refuses any look in one sentence: none gives the intervals of one look instead."""
    found = made.RESULTS[name]()
    assert found.to_dict()["looks"] == "one"
    if not found.ANY_LOOK:
        for show in (found.to_dict, found.table, found.to_csv, found.plot, found.explain):
            with pytest.raises(InputError, match=r'looks must be "one" here: .*; got "any"$'):
                show(looks="any")
        return
    assert "valid for one look" in found.table().replace("\n", " ")
    assert "valid at any look" in found.table(looks="any").replace("\n", " ")
    said = found.to_dict(looks="any", users=made.PEOPLE)
    assert said["looks"] == "any"
    wider = (found.columns(looks=looks, users=made.PEOPLE) for looks in ("one", "any"))
    one, other = (_lengths(columns) for columns in wider)
    assert one.keys() >= other.keys(), "an interval that has no end at one look has none at any"
    assert all(length >= one[place] - 1e-9 for place, length in other.items())
    assert sum(other.values()) > 1.05 * sum(one[place] for place in other)


def _lengths(columns: dict[str, list[object]]) -> dict[tuple[str, int], float]:
    """The length of each interval that has both ends."""
    pairs = [(name, name.replace("low", "high")) for name in columns if name.endswith("low")]
    return {
        (low, row): float(b) - float(a)  # type: ignore[arg-type]
        for low, high in pairs
        for row, (a, b) in enumerate(zip(columns[low], columns[high], strict=True))
        if a is not None and b is not None
    }


def test_a_named_value_of_a_choice_has_the_counts_own_sequence() -> None:
    oracle = rumor.RandomizedResponse(domain=5, epsilon=1.5)
    reports = oracle.privatize([0, 0, 0, 1, 2] * 200, random=rumor.Seeded(3))
    found = rumor.estimate(oracle, reports, method="inversion")
    low, high = found.interval(looks="any", users=1000)
    counts = oracle.support_counts(oracle.tally(reports)).astype(np.float64)
    seen = ends(AnyLook(1000, 1000), counts, np.full(5, 1000.0), 0.025)
    mapped = [(end - oracle.miss) / oracle.gain for end in seen]
    inside = (mapped[0] > 0.01) & (mapped[1] < 1)
    np.testing.assert_allclose(low[inside], mapped[0][inside])
    np.testing.assert_allclose(high[inside], mapped[1][inside])
    exact = found.interval(looks="any", users=1000, exact=True)
    np.testing.assert_allclose(exact, (low, high))


def test_several_values_together_have_a_sequence_of_their_own() -> None:
    oracle = rumor.SubsetSelection(domain=40, epsilon=1.0)
    people = np.repeat(np.arange(40), 500)
    found = rumor.estimate(oracle, oracle.privatize(people, random=rumor.Seeded(2)))
    one, many = found.share([1, 2, 3]), found.share([1, 2, 3], looks="any", users=20_000)
    assert (many.looks, one.looks) == ("any", "one")
    assert many.unbiased == one.unbiased
    longer = (many.high - many.low) / (one.high - one.low)
    assert longer == pytest.approx(AnyLook(20_000, 20_000).quantile(0.025) / 1.96, rel=0.03)


def test_rows_that_are_shown_are_wider_than_named_ones_at_any_look_too() -> None:
    found = made.RESULTS["choice-estimated"]()
    assert isinstance(found, rumor.Estimate)
    rows = found.ranking()
    shown = found.bounds(rows, View(order="estimate", looks="any", users=400))
    named = found.interval(looks="any", users=400)
    assert (shown[0] <= named[0][rows] + 1e-12).all()
    assert (shown[1] >= named[1][rows] - 1e-12).all()
    assert found.smallest_shown(View(looks="any")) is None or (
        (found.smallest_shown(View(looks="any")) or 1) > (found.smallest_shown(View()) or 1)
    )


def test_equal_tails_share_their_chance_among_items() -> None:
    assert EqualTails.of(0.95).z == pytest.approx(1.959964)
    assert EqualTails.of(0.95, 10, AnyLook(100, 100)).z > EqualTails.of(0.95, 10).z


def test_kinds_that_refuse_any_look_are_known() -> None:
    """A kind that is added says which it is."""
    refusing = {name for name in NAMES if not _of(name).ANY_LOOK}
    assert refusing == {"text", "words"}
    assert set(NAMES) == set(KINDS)


def _of(name: str) -> Tabular:
    return made.estimated(name)


# --- Other kinds -----------------------------------------------------------------------------


def test_ordered_answers_have_sequences_of_means_shares_and_quantiles() -> None:
    wave = rumor.Wave(low=0, high=10, bins=32, epsilon=2.0)
    people = np.random.default_rng(1).beta(2, 3, size=2_000) * 10
    found = rumor.estimate(wave, wave.privatize(people, random=rumor.Seeded(4)))
    asked: list[Callable[..., PointEstimate]] = [
        found.mean_interval,
        partial(found.cdf, 4.0),
        partial(found.share, 2.0, 4.0),
        partial(found.quantile, 0.5),
    ]
    for ask in asked:
        one, many = ask(), ask(looks="any", users=2_000)
        assert many.low <= one.low <= one.high <= many.high
        if ask is not asked[-1]:  # a quantile lies between positions
            assert 1.2 < (many.high - many.low) / (one.high - one.low) < 2
        with pytest.raises(InputError, match="looks must be one of one, any; got 'each'"):
            ask(looks="each")
    mean = found.mean_interval(looks="any", users=2_000)
    assert mean.high - found.unbiased == pytest.approx(
        AnyLook(2_000, 2_000).quantile(0.025) * found.stderr
    )
    with pytest.raises(InputError, match="assume a smooth distribution are valid for one look"):
        found.cdf(4.0, assume="smooth", looks="any")
    assert found.to_dict(looks="any")["quantiles_if_smooth"] == []
    assert "if spread smoothly" not in found.table(looks="any")
    together = found.together(["2..4"], View(looks="any"))
    assert together.looks == "any"


def test_a_mean_of_coins_has_the_counts_own_sequence_while_there_are_few() -> None:
    coin = rumor.mechanism("harmony", low=-1, high=1, epsilon=1.0)
    found = rumor.estimate(coin, coin.privatize([0.5] * 60, random=rumor.Seeded(1)))
    low, high = found.interval(looks="any", users=60)
    made_of = found.intervals
    assert isinstance(made_of, ShareIntervals)
    own = ends(AnyLook(60, 60), np.array([60 * made_of.share]), np.array([60.0]), 0.025)
    means = [made_of.zero + (made_of.one - made_of.zero) * x for x in own]
    assert low <= max(min(float(x[0]) for x in means), -1) + 1e-12
    assert high >= min(max(float(x[0]) for x in means), 1) - 1e-12
    at_one = found.interval()
    assert low <= at_one[0] <= at_one[1] <= high


def test_keys_have_sequences_of_shares_and_means() -> None:
    found = made.estimated("keyvalue")
    for quantity in ("frequency", "mean"):
        one = found.interval(quantity=quantity)  # type: ignore[attr-defined]
        many = found.interval(quantity=quantity, looks="any", users=400)  # type: ignore[attr-defined]
        assert (many[0] <= one[0] + 1e-9).all()
        assert (many[1] >= one[1] - 1e-9).all()


def test_joint_answers_say_what_is_valid_for_one_look_alone() -> None:
    found = made.estimated("joint")
    assert found.to_dict(looks="any")["tables"][0]["looks"] == "one"  # type: ignore[index]
    said = "the test and the measures of association are valid for one look"
    assert said in found.table(looks="any")
    assert said not in found.table()


@pytest.mark.parametrize(
    ("falling", "most"),
    [
        (lambda c, root: root - c, 4),
        (lambda c, root: np.sqrt(root) - np.sqrt(c), 6),
        (lambda c, root: np.exp(-60 * c) - np.exp(-60 * root), 13),
        (lambda c, root: np.log(root / c), 36),
        (lambda c, root: (root - c) ** 3, 52),
        (lambda c, root: np.where(c < root, 1.0, -1.0), 47),
    ],
)
def test_a_search_for_an_end_takes_few_steps(falling: Any, most: int) -> None:
    """A wrong step is made up for by halvings, of which a smooth function needs none."""
    steps = []
    for root in (1e-9, 1e-4, 0.02, 0.3, 0.77):
        called: list[Any] = []

        def counted(c: Any, root: float = root, called: list[Any] = called) -> Any:
            called.append(c)
            return falling(c, root)

        high = np.array([0.9])
        found = _last_above(counted, high, falling(high, root))
        assert found == pytest.approx([root], rel=1e-12, abs=2e-14)
        assert (falling(found, root) >= 0).all()
        steps.append(len(called))
    assert max(steps) <= most + 1, steps
    if most == 36:  # the nearer to the end, the fewer
        assert all(have <= may + 1 for have, may in zip(steps, (36, 21, 13, 9, 8), strict=True))


def test_a_search_finds_each_of_many_ends_and_none_where_there_is_none() -> None:
    roots = np.array([0.02, 0.5, -1.0, 1e-300])
    high = np.array([0.9, 0.6, 0.3, 0.3])
    found = _last_above(lambda c: roots - c, high, roots - high)
    assert found == pytest.approx([0.02, 0.5, 0.0, 0.0], rel=1e-12)
    assert (found[2:] == 0).all()
