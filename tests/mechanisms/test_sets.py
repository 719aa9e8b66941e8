"""Select and block, in fractions: what every set of every size loses, and what supports it."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import rumor
from rumor.core.errors import InputError
from rumor.core.exact import WORD
from rumor.core.randomness import Seeded
from rumor.mechanisms import SetBlock, SetMechanism, SetSelect
from rumor.mechanisms.sets import pair_weights
from rumor.mechanisms.summary import Summary
from tests.laws.laws import logarithm

SHAPES = [  # options, cap, size, least, epsilon: every cap and size is there
    (2, 1, 1, 1, 1.0),
    (3, 2, 1, 1, 0.5),
    (3, 3, 2, 2, 4.0),
    (4, 2, 3, 1, 2.0),
    (4, 3, 4, 2, 1.0),
    (5, 2, 2, 2, 1.0),
    (5, 5, 2, 1, 0.1),
    (5, 4, 5, 3, 3.0),
]
SELECTS = [
    SetSelect(domain=d, cap=m, size=k, least=t, epsilon=e, over_cap="sample")
    for d, m, k, t, e in SHAPES
]
BLOCKS = [SetBlock(domain=d, block=b, epsilon=e) for d, b, e in ((2, 1, 1.0), (4, 3, 2.0))]
EVERY = [pytest.param(m, id=f"{m.name}-{i}") for i, m in enumerate([*SELECTS, *BLOCKS])]


def shown(mechanism: SetMechanism, report: bytes) -> tuple[set[int], set[int]]:
    """The options that a report is about, and those that it supports."""
    items = mechanism.items(mechanism.tally(np.frombuffer(report, np.uint8)[None]), 1)
    trials = np.broadcast_to(items.trials, items.counts.shape)
    return set(np.flatnonzero(trials).tolist()), set(np.flatnonzero(items.counts).tolist())


@pytest.mark.parametrize("mechanism", EVERY)
def test_hit_and_miss_are_the_same_whatever_else_was_chosen(mechanism: SetMechanism) -> None:
    """For every set up to the cap, every option, and every pair of them: exactly."""
    reports = [row.tobytes() for row in mechanism.outputs()]
    said = [shown(mechanism, report) for report in reports]
    pairs = mechanism.exact_pairs
    for value in mechanism.inputs():
        held = set(mechanism.options(value))
        if len(held) > mechanism.cap:
            continue
        chances = [mechanism.probability(report, value) for report in reports]

        def given(*options: int, chances: list[Fraction] = chances) -> Fraction:
            wanted = set(options)
            about = sum(
                (c for c, s in zip(chances, said, strict=True) if wanted <= s[0]), Fraction(0)
            )
            both = sum(
                (c for c, s in zip(chances, said, strict=True) if wanted <= s[1]), Fraction(0)
            )
            return both / about

        for option in range(mechanism.domain):
            expected = mechanism.exact_hit if option in held else mechanism.exact_miss
            assert given(option) == expected, (value, option)
        for pair in itertools.combinations(range(mechanism.domain), 2):
            if pairs is not None:
                assert given(*pair) == pairs[len(held.intersection(pair))], (value, pair)


@pytest.mark.parametrize(
    "mechanism", SELECTS, ids=lambda m: f"{m.domain}-{m.cap}-{m.size}-{m.least}"
)
def test_the_loss_is_exact_over_all_sets_of_all_sizes(mechanism: SetSelect) -> None:
    """Those above the cap among them: the worst ratio is the claim, not above what was asked."""
    asked = dict(zip(SELECTS, SHAPES, strict=True))[mechanism][-1]
    worst = Fraction(1)
    for row in mechanism.outputs():
        chances = [mechanism.probability(row.tobytes(), value) for value in mechanism.inputs()]
        worst = max(worst, max(chances) / min(chances))
    loss = logarithm(worst)
    assert loss <= Decimal(mechanism.epsilon) <= Decimal(asked)
    assert Decimal(mechanism.epsilon) - loss < Decimal("1e-15")
    assert len(mechanism.inputs()) == 2**mechanism.domain


def test_of_too_many_options_each_is_supported_less_by_the_part_that_was_left_out() -> None:
    """Kept are m of s: P(supported) = miss + gain m / s, exactly."""
    mechanism = SetSelect(domain=5, cap=2, size=2, epsilon=2.0, over_cap="sample")
    reports = [row.tobytes() for row in mechanism.outputs()]
    gain = mechanism.exact_hit - mechanism.exact_miss
    for size in (3, 4, 5):
        value = tuple(range(size))
        found = sum(
            (mechanism.probability(r, value) for r in reports if 0 in shown(mechanism, r)[1]),
            Fraction(0),
        )
        assert found == mechanism.exact_miss + gain * Fraction(2, size)


def test_a_count_of_own_slots_too_rare_for_64_bits_loses_its_boost_and_nothing_else() -> None:
    """Sixty of a hundred own slots among sixty of 1,100: rarer than 2^-64 by far, and no harm."""
    mechanism = SetSelect(domain=1000, cap=100, size=60, epsilon=0.5)
    tried = {h for h, _ in mechanism._turns}
    assert max(tried) < 60
    assert sum(mechanism._chances.values()) == 1
    assert 0.5 - 1e-9 < mechanism.epsilon <= 0.5
    # The likeliest takes what rounding leaves: no chance over its sets is much above the others.
    boosts = [
        float(p * sum(mechanism._ways.values()) / mechanism._ways[h])
        for h, p in mechanism._chances.items()
    ]
    assert max(boosts) < 1 + 1e-12
    # Nor is a crowd hidden less: sets that show slots of both of two people count as before.
    rest, sets = 1100 - 200, math.comb(1100, 60)
    both = sum(
        math.comb(100, h) * math.comb(100, i) * math.comb(rest, 60 - h - i)
        for h in range(1, 60)
        for i in range(1, 60 - h + 1)
    )
    (part,) = mechanism.blanket().parts
    each = 1 - Fraction(mechanism.boost, WORD)
    (shown,) = {row.weight for row in part.pairs[0] if row.first == row.second > 1}
    assert float(shown / each) == pytest.approx(float(Fraction(both, sets)), rel=1e-6)
    assert shown / each <= Fraction(both, sets)


def test_one_option_and_its_own_slot_is_padded_randomised_response() -> None:
    """Size 1: one of D + m entries, those of the person's own e^epsilon times as likely."""
    domain, cap, power = 7, 3, math.exp(2.0)
    mechanism = SetSelect(domain=domain, cap=cap, size=1, epsilon=2.0)
    total = cap * power + domain
    assert mechanism.hit == pytest.approx(power / total, rel=1e-12)
    assert mechanism.miss == pytest.approx(1 / total, rel=1e-12)
    # A block of one option is randomised response on yes and no.
    block = SetBlock(domain=domain, block=1, epsilon=2.0)
    assert block.hit == pytest.approx(power / (power + 1), rel=1e-12)


def test_the_shares_of_pairs_are_unbiased_in_fractions() -> None:
    """What reports add on average is 1 for whoever chose both, and 0 for everybody else."""
    for mechanism in (
        SetSelect(domain=4, cap=3, size=3, least=2, epsilon=1.0, counted="pairs"),
        SetBlock(domain=4, block=3, epsilon=1.0, counted="pairs"),
    ):
        weights = pair_weights(mechanism.miss, mechanism.gain, mechanism.pair_rates)
        reports = [row.tobytes() for row in mechanism.outputs()]
        said = [shown(mechanism, report) for report in reports]
        for value in mechanism.inputs():
            chances = [float(mechanism.probability(report, value)) for report in reports]
            about = added = 0.0
            for chance, (asked, yes) in zip(chances, said, strict=True):
                if {0, 1} <= asked:
                    about += chance
                    added += chance * weights[len(yes & {0, 1})]
            both = {0, 1} <= set(mechanism.options(value))
            assert added / about == pytest.approx(float(both), abs=1e-12)


@pytest.mark.parametrize(
    "mechanism",
    [
        SetSelect(domain=20, cap=3, size=5, epsilon=2.0, counted="pairs"),
        SetSelect(domain=300, cap=3, size=2, epsilon=4.0),
        SetBlock(domain=20, block=2, epsilon=2.0, counted="pairs"),
    ],
    ids=lambda m: f"{m.name}-{m.domain}",
)
def test_counts_of_a_crowd_are_as_the_closed_form_says(mechanism: SetMechanism) -> None:
    """Unbiased within 5 standard errors of each of three shares, of 40,000 people."""
    people = 40_000
    crowd = [(0, 1)] * (people // 2) + [(1,)] * (people // 4) + [()] * (people // 4)
    tally = mechanism.tally(mechanism.privatize(crowd, random=Seeded(5)))
    found = mechanism.items(tally, people).unbiased
    for option, share in ((0, 0.5), (1, 0.75), (2, 0.0)):
        error = math.sqrt(float(mechanism.variance(share, people)))
        assert abs(found[option] - share) < 5 * error


def test_people_may_be_written_in_several_ways() -> None:
    mechanism = SetSelect(domain=["a", "b", "c"], cap=2, size=1, epsilon=1.0)
    table = np.array([[True, False, True], [False, False, False]])
    forms = [[["c", "a"], []], [("a", "c"), ()], [{"a", "c"}, set()], table]
    made = [mechanism.privatize(form, random=Seeded(1)).tobytes() for form in forms]
    assert len(set(made)) == 1


REFUSED = [
    ([["a", "d"]], "one of the domain's (a, b, c); got another text at index 0"),
    ([["a"], ["b", "b"]], "an answer must name each option once; got one twice at index 1"),
    ([["a"], ["a", "b", "c"]], "at most 2 options (the cap); got more at index 1"),
    ([["a"], "b"], "an answer must be a list of options; got a text at index 1"),
    ([["a"], None], "an answer must be a list of options; got nothing at index 1"),
    ("abc", "values must be a list of answers; got a text"),
    ([], "got an empty batch"),
    (np.zeros((2, 2), dtype=bool), "must have 3 columns of booleans; got 2 of dtype bool"),
    (np.array(5), "values must be a list of answers; got an array of shape ()"),
    (np.zeros((1, 2, 3)), "values must be a list of answers; got an array of shape (1, 2, 3)"),
    ([["a"], np.array("a")], "a list of options; got an array of shape () at index 1"),
    ([np.array([["a"]])], "a list of options; got an array of shape (1, 1) at index 0"),
    (
        np.ma.array(np.ones((1, 3), dtype=bool), mask=[[True, False, False]]),
        "values must not be missing; got 1 masked",
    ),
    (
        [["a"], np.ma.array(["a", "b"], mask=[True, False])],
        "options must not be missing; got some masked at index 1",
    ),
]


@pytest.mark.parametrize(("values", "sentence"), REFUSED)
def test_bad_answers_get_one_sentence(values: object, sentence: str) -> None:
    mechanism = SetSelect(domain=["a", "b", "c"], cap=2, size=1, epsilon=1.0)
    with pytest.raises(InputError, match=r"^[^\n]*$") as refused:
        mechanism.privatize(values)
    assert sentence in str(refused.value)


def test_a_device_keeps_some_of_too_many_and_says_so() -> None:
    mechanism = SetSelect(domain=["a", "b", "c"], cap=2, size=1, epsilon=1.0)
    assert mechanism.validate([mechanism.report(["a", "b", "c"])]).all
    (said,) = mechanism.notes(["a", "b", "c"])
    assert said == "more than 2 options were chosen, and 2 of them were kept at random"
    assert mechanism.notes(["a"]) == ()
    for answer, rule in ((["d"], "one of"), (["a", "a"], "each option once"), ("a", "a list")):
        with pytest.raises(InputError, match=rule):
            mechanism.report(answer)


def test_shapes_are_checked() -> None:
    for arguments, rule in (
        ({"cap": 4}, "cap must be an integer from 1 to 3"),
        ({"size": 4}, "size must be an integer from 1 to 3"),
        ({"least": 2, "size": 1}, "least must be an integer from 1 to 1"),
        ({"over_cap": "keep"}, "over_cap must be one of refuse, sample"),
        ({"counted": "pairs", "size": 1}, "pairs need a cap and a size of at least 2; got 2 and 1"),
    ):
        given = {"domain": 3, "cap": 2, "size": 2, "epsilon": 1.0, **arguments}
        with pytest.raises(InputError, match=rule):
            SetSelect(**given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pairs need a block of at least 2 options; got 1"):
        SetBlock(domain=3, block=1, epsilon=1.0, counted="pairs")


@pytest.mark.parametrize("mechanism", EVERY)
def test_a_summary_whose_counts_cannot_be_is_refused(mechanism: SetMechanism) -> None:
    """More options than reports show, and for blocks more chosen than asked."""
    tally = mechanism.tally(mechanism.privatize([()] * 9, random=Seeded(1)))
    assert mechanism.consistent(tally, 9)
    wrong = np.full_like(tally, 9)
    if isinstance(mechanism, SetSelect) and mechanism.size == mechanism.domain:
        wrong[:] = 0
        if mechanism._fewest == 0:
            return
    assert not mechanism.consistent(wrong, 9)
    damaged = Summary(mechanism, 9, wrong).to_bytes()
    with pytest.raises(InputError, match="counters that"):
        Summary.from_bytes(damaged)


def test_thresholds_are_rounded_towards_privacy() -> None:
    for mechanism in SELECTS:
        more = {**mechanism.describe(), "boost": str(mechanism.boost + 1)}
        above = SetSelect.from_parameters(more)
        asked = dict(zip(SELECTS, SHAPES, strict=True))[mechanism][-1]
        assert above.boost < WORD
        assert above.epsilon >= asked >= mechanism.epsilon


def test_estimates_take_reports_without_a_question() -> None:
    mechanism = SetBlock(domain=3, block=1, epsilon=1.0)
    assert rumor.estimate(mechanism, mechanism.privatize([(0,)] * 50)).reports == 50


def test_the_counters_of_a_pair_are_where_it_is_read() -> None:
    """A report about options 1 and 2 of four, both chosen: the fourth pair of all, in order."""
    block = SetBlock(domain=4, block=2, epsilon=1.0, counted="pairs")
    counts = block.pair_counts(block.tally(np.array([[1, 2, 3]], dtype=np.uint8)), 1)
    for found in (counts.both, counts.first, counts.second, counts.trials):
        assert found.tolist() == [0, 0, 0, 1, 0, 0]
    select = SetSelect(domain=4, cap=2, size=2, epsilon=1.0, counted="pairs")
    counts = select.pair_counts(select.tally(np.array([[0b0110]], dtype=np.uint8)), 1)
    assert counts.both.tolist() == [0, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("mechanism", EVERY)
def test_people_held_fixed_take_their_own_part_off_the_variance(mechanism: SetMechanism) -> None:
    """A report is 1 on average for whoever chose the option, else 0: f (1 - f) / n less."""
    shares = np.array([0.0, 0.1, 0.5, 1.0])
    population, people = (mechanism.variance(shares, 10, of) for of in ("population", "people"))
    np.testing.assert_allclose(population - people, shares * (1 - shares) / 10, atol=1e-9)
