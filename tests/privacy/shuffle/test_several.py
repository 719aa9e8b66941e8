"""Several reports of one person, in one batch and in many: certified figures against exact ones."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumor.contract.collection import Collection
from rumor.core.exact import exp
from rumor.mechanisms import RandomizedResponse
from rumor.mechanisms.blanket import worst_case_blanket
from rumor.privacy.shuffle.account import certified_epsilon, shuffle_account
from rumor.privacy.shuffle.curve import PrivacyCurve
from rumor.privacy.shuffle.losses import LossDistribution, composed_epsilon
from tests.privacy.shuffle.exact import (
    Law,
    batch_delta,
    batch_epsilon,
    binomial_pairing,
    pairings,
    several,
)
from tests.relay.tools import relayed

DELTA = 1e-8
# Table of the research behind this: epsilon at a total delta of 1e-8, for any mechanism; k reports
# of one person in each of B = 1, 12 and 52 batches of n reports. None is above 20.
PUBLISHED: dict[tuple[int, float], dict[int, tuple[float | None, ...]]] = {
    (10**3, 1.0): {
        1: (0.189, 0.693, 1.51),
        2: (0.390, 1.44, 3.16),
        5: (1.03, 3.85, 8.71),
        30: (7.09, None, None),
    },
    (10**3, 2.0): {1: (0.498, 1.81, 3.99), 2: (1.04, 3.82, 8.63), 5: (2.75, 10.7, None)},
    (10**3, 4.0): {1: (2.86, 6.92, 15.7), 2: (6.86, 15.7, None), 5: (18.9, None, None)},
    (10**4, 1.0): {
        1: (0.0565, 0.208, 0.447),
        2: (0.117, 0.429, 0.925),
        5: (0.305, 1.13, 2.45),
        30: (2.01, 7.83, 18.6),
    },
    (10**4, 2.0): {
        1: (0.147, 0.536, 1.16),
        2: (0.302, 1.11, 2.43),
        5: (0.789, 2.95, 6.60),
        30: (5.39, None, None),
    },
    (10**4, 4.0): {1: (0.515, 1.87, 4.12), 2: (1.07, 3.95, 8.93), 5: (2.85, 11.1, None)},
    (10**5, 1.0): {
        1: (0.0169, 0.0622, 0.134),
        2: (0.0350, 0.129, 0.277),
        5: (0.0913, 0.335, 0.722),
        30: (0.595, 2.22, 4.91),
    },
    (10**5, 2.0): {
        1: (0.0438, 0.161, 0.346),
        2: (0.0903, 0.332, 0.715),
        5: (0.236, 0.866, 1.89),
        30: (1.55, 5.95, 13.8),
    },
    (10**5, 4.0): {
        1: (0.151, 0.553, 1.20),
        2: (0.312, 1.15, 2.50),
        5: (0.814, 3.05, 6.82),
        30: (5.58, None, None),
    },
}


def laws(domain: int, epsilon: float) -> list[Law]:
    return RandomizedResponse(domain=domain, epsilon=epsilon).channel().matrix().tolist()  # type: ignore[no-any-return]


def curve(domain: int, epsilon: float, people: int, reports: int = 1) -> PrivacyCurve:
    mechanism = RandomizedResponse(domain=domain, epsilon=epsilon)
    one = PrivacyCurve.of_one_report(mechanism.blanket(), people, mechanism.epsilon, 1e-30)
    return one.compose_times(reports)


@pytest.mark.slow_cases("100000-*")
@pytest.mark.parametrize(("people", "epsilon"), PUBLISHED)
def test_the_published_table_comes_out(people: int, epsilon: float) -> None:
    """Each figure of the table to its third digit; ours may be less in its last one."""
    one = PrivacyCurve.of_one_report(worst_case_blanket(exp(epsilon)), people, epsilon, 1e-40)
    for reports, row in PUBLISHED[people, epsilon].items():
        own = one.compose_times(reports)
        for batches, figure in zip((1, 12, 52), row, strict=True):
            found = composed_epsilon([(own, batches)], DELTA)
            if figure is None:
                assert found > 20
                continue
            unit = 10.0 ** (math.floor(math.log10(figure)) - 2)
            assert figure - 1.6 * unit <= found <= figure + 0.6 * unit, (reports, batches)


@pytest.mark.parametrize(
    ("domain", "people", "epsilon", "reports"),
    [
        (2, 12, 1.0, 1),
        (2, 12, 1.0, 2),
        (2, 12, 1.0, 5),
        (2, 9, 0.5, 3),
        (2, 12, 4.0, 2),
        (3, 6, 1.0, 2),
        (3, 6, 2.0, 3),
    ],
)
def test_no_batch_that_can_be_written_out_is_above_the_curve(
    domain: int, people: int, epsilon: float, reports: int
) -> None:
    """All values of all others and every two lists of the person's own, at every factor."""
    own = curve(domain, epsilon, people, reports)
    distribution = LossDistribution.of_curve(own, 1e-12)
    tightest = math.inf
    tried = np.linspace(0.02, 0.98, 9) * reports * epsilon
    for factor, told in zip(np.exp(tried), map(distribution.delta_at, tried), strict=True):
        on_curve = float(np.interp(factor, own.factors, own.deltas))
        truth = max(
            batch_delta(pairing, factor)
            for pairing in pairings(laws(domain, epsilon), people, reports)
        )
        assert truth <= on_curve * (1 + 1e-9)
        assert on_curve <= told * (1 + 1e-9)
        if truth > 1e-9:
            tightest = min(tightest, told / truth)
    assert tightest < 1.6


@pytest.mark.parametrize(("reports", "exact"), [(1, 0.163), (2, 0.337), (5, 0.881), (30, 6.01)])
def test_a_thousand_people_with_two_values(reports: int, exact: float) -> None:
    """The exact epsilon of the worst of many datasets, below the certified one by 16 hundredths."""
    mechanism = RandomizedResponse(domain=2, epsilon=1.0)
    truth = float(mechanism.exact_hit)
    worst = max(
        batch_epsilon(binomial_pairing(truth, 999 + reports, reports, ones), DELTA)
        for ones in (0, 100, 500, 900, 999)
    )
    assert worst == pytest.approx(exact, rel=0.01)
    told = certified_epsilon(mechanism, 999 + reports, reports, 1, DELTA)
    assert worst <= told <= 1.2 * worst


@pytest.mark.slow_cases("3-6-*")
@pytest.mark.parametrize(
    ("domain", "people", "epsilon", "reports", "batches", "delta"),
    [
        (2, 10, 1.0, 1, 2, 1e-3),
        (2, 10, 1.0, 1, 5, 1e-4),
        (2, 8, 1.0, 2, 3, 1e-3),
        (2, 16, 2.0, 1, 3, 1e-3),
        (3, 6, 1.0, 1, 3, 1e-3),
        (3, 5, 2.0, 2, 2, 1e-2),
    ],
)
def test_several_batches_are_never_above(
    domain: int, people: int, epsilon: float, reports: int, batches: int, delta: float
) -> None:
    """The same batch again and again, for every batch that can be written out."""
    mechanism = RandomizedResponse(domain=domain, epsilon=epsilon)
    told = certified_epsilon(mechanism, people, reports, batches, delta)
    exact = (
        batch_epsilon(several(pairing, batches), delta)
        for pairing in pairings(laws(domain, epsilon), people, reports)
    )
    worst = max(exact)
    assert 0 < worst <= told <= 1.45 * worst


def test_reports_in_one_batch_cover_every_other_way_they_fall() -> None:
    mechanism = RandomizedResponse(domain=2, epsilon=1.0)
    whole = certified_epsilon(mechanism, 500, 6, 1, DELTA)
    for reports, batches in ((3, 2), (2, 3), (1, 6)):
        assert certified_epsilon(mechanism, 500, reports, batches, DELTA) <= whole
    assert certified_epsilon(mechanism, 500, 1, 1, DELTA) < whole


def test_batches_cost_less_together_than_added_up() -> None:
    one = certified_epsilon(RandomizedResponse(domain=2, epsilon=1.0), 10**4, 1, 1, DELTA)
    together = certified_epsilon(RandomizedResponse(domain=2, epsilon=1.0), 10**4, 1, 52, DELTA)
    assert float(f"{together:.3g}") == pytest.approx(0.447, abs=0.0011)
    assert 52 * one == pytest.approx(2.94, rel=0.01)


def test_reports_by_themselves_are_never_exceeded() -> None:
    mechanism = RandomizedResponse(domain=3, epsilon=2.0)
    for people, reports, batches in ((2, 1, 3), (3, 2, 1), (4, 3, 2)):
        told = certified_epsilon(mechanism, people, reports, batches, 1e-9)
        assert told <= math.nextafter(reports * batches * mechanism.epsilon, math.inf)


def test_curves_of_larger_batches_and_coarser_grids_stay_valid() -> None:
    own = curve(2, 1.0, 50)
    fine = LossDistribution.of_curve(own, 1e-12)
    coarse = fine._coarser()._coarser()
    assert coarse.step == 4 * fine.step
    for epsilon in (0.0, 0.1, 0.33, 0.7):
        assert coarse.delta_at(epsilon) >= fine.delta_at(epsilon) * (1 - 1e-12)
        assert fine.delta_at(epsilon) >= float(
            np.interp(math.exp(epsilon), own.factors, own.deltas)
        ) * (1 - 1e-12)
    # Masses are at least those of distributions, and hardly more.
    assert 1 <= fine.masses.sum() + fine.infinite < 1 + 1e-9
    cut = fine._cut(1e-3)
    assert len(cut.masses) <= len(fine.masses)
    assert cut.delta_at(0.2) >= fine.delta_at(0.2) * (1 - 1e-12)


@given(st.floats(0, 0.5), st.floats(0, 0.5))
def test_outcomes_without_a_bound_add_up_from_above(one: float, two: float) -> None:
    """Floats are added here; their sum is never below the exact one, and hardly above."""
    first, second = (LossDistribution(1.0, 0, np.ones(1), each) for each in (one, two))
    exact = Fraction(one) + Fraction(two)
    found = Fraction(first.plus(second, 1e-9).infinite)
    assert exact <= found <= exact * (1 + Fraction(1, 10**12))


@pytest.mark.slow_cases("1000-*", "4-2.0-*")
@pytest.mark.parametrize(
    ("domain", "epsilon", "people", "reports", "batches", "delta"),
    [
        (1000, 0.1, 10**5, 1, 12, 1e-8),
        (20, 0.01, 10**4, 1, 12, 1e-8),
        (2, 1e-6, 100, 2, 3, 1e-6),
        (2, 1.0, 1001, 1000, 1, 1e-8),
        (4, 2.0, 10**4, 365, 1, 1e-8),
        (2, 16.0, 100, 60, 2, 1e-100),
        (2, 1.0, 2, 1, 2, 0.5),
        (3, 8.0, 1000, 1, 10**5, 1e-8),
    ],
)
def test_extremes_are_certified_quickly(
    domain: int, epsilon: float, people: int, reports: int, batches: int, delta: float
) -> None:
    """Tiny epsilons once filled the memory, and large products overflowed."""
    mechanism = RandomizedResponse(domain=domain, epsilon=epsilon)
    told = certified_epsilon(mechanism, people, reports, batches, delta)
    one = certified_epsilon(mechanism, people, 1, 1, delta)
    # Where any two answers are that near, no epsilon is needed, and a search ends near 0.
    assert one <= told * (1 + 1e-9) or (told == 0 and one < 1e-9)
    assert told <= math.nextafter(reports * batches * mechanism.epsilon, math.inf)


def test_a_curve_of_either_lies_above_both() -> None:
    one, two = curve(2, 1.0, 60), curve(3, 2.0, 60)
    worse = one.upper_envelope(two)
    for factor in np.exp(np.linspace(0, 2, 40)):
        told = worse._delta_at(float(factor))
        assert told >= max(each._delta_at(float(factor)) for each in (one, two))


def test_a_mirrored_curve_speaks_of_the_complement() -> None:
    """P(A) <= E Q(A) + d for all A says of complements: P(A) <= Q(A) / E + 1 - 1/E + d/E."""
    own = curve(2, 1.0, 12, 2)
    mirrored = own.mirrored
    for first, second in pairings(laws(2, 1.0), 12, 2):
        outcomes = sorted(first, key=lambda counts: first[counts] / second[counts])
        p = np.cumsum([first[counts] for counts in outcomes])
        q = np.cumsum([second[counts] for counts in outcomes])
        bounds = np.outer(mirrored.factors, q) + mirrored.deltas[:, None]
        assert (p <= bounds.min(axis=0) + 1e-12).all()
        whole = 1 - p
        bounds = np.outer(mirrored.factors, 1 - q) + mirrored.deltas[:, None]
        assert (whole <= bounds.min(axis=0) + 1e-12).all()


def contract(reports: int, crowd: int, turn_hours: int | None, domain: int = 2) -> Collection:
    question = {
        "id": "one",
        "kind": "choice",
        "domain": domain,
        "epsilon": 1.0,
        "mechanism": "randomized-response",
        "reports_per_person": reports,
    }
    return relayed(crowd=crowd, questions=[question], turn_hours=turn_hours)


@pytest.mark.parametrize("domain", [2, 3])
@pytest.mark.parametrize("turn_hours", [None, 24])
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_every_figure_that_is_shown_is_at_least_the_exact_one(
    domain: int, turn_hours: int | None, reports: int
) -> None:
    """Contracts with and without turns: the account's row beside every batch written out."""
    crowd, delta = (7, 1e-2) if domain == 2 else (5, 1e-2)
    account = shuffle_account(
        [contract(reports, crowd, turn_hours, domain)], people=crowd, delta=delta
    )
    (row,) = account.rows
    assert (row.reports, row.batches) == ((reports, 1) if turn_hours is None else (1, reports))
    exact = max(
        batch_epsilon(several(pairing, row.batches), delta)
        for pairing in pairings(laws(domain, 1.0), crowd, row.reports)
    )
    assert row.epsilon is not None
    assert exact <= row.epsilon
    assert f"at least {crowd:,} honest reports, at most {row.reports:,} of them yours" in " ".join(
        account.sentences()
    )


def test_two_questions_together_are_never_above() -> None:
    """One batch of each question: every two batches that can be written out."""
    crowd, delta = 6, 1e-2
    both = relayed(
        crowd=crowd,
        questions=[
            {"id": f"of{domain}", "kind": "choice", "domain": domain, "epsilon": 1.0,
             "mechanism": "randomized-response"}
            for domain in (2, 3)
        ],
    )  # fmt: skip
    account = shuffle_account([both], people=crowd, delta=delta)
    assert account.together is not None
    batches = [
        [[(p, second[counts]) for counts, p in first.items()] for first, second in kept]
        for kept in (list(pairings(laws(domain, 1.0), crowd, 1)) for domain in (2, 3))
    ]
    exact = max(
        batch_epsilon([(a * p, b * q) for (a, b), (p, q) in itertools.product(*pair)], delta)
        for pair in itertools.product(*batches)
    )
    assert exact <= account.together <= 1.2 * exact


def test_five_reports_without_turns_are_counted_in_one_batch() -> None:
    (row,) = shuffle_account([contract(5, 1000, None)], people=1000, delta=DELTA).rows
    assert row.epsilon is not None
    assert 0.881 <= row.epsilon <= 1.03
    (row,) = shuffle_account([contract(5, 1000, 24)], people=1000, delta=DELTA).rows
    assert row.epsilon is not None
    assert row.epsilon < 0.5


def test_nothing_useful_is_said_instead_of_a_number() -> None:
    account = shuffle_account([contract(400, 1000, None)], people=1000, delta=DELTA)
    (row,) = account.rows
    assert row.epsilon is None
    assert row.refused is not None
    assert row.refused.startswith("Shuffling among 1,000 reports adds nothing useful for 'one'")
    assert "turn_hours" in row.refused
    (row,) = shuffle_account([contract(400, 1000, None)], people=300, delta=DELTA).rows
    assert row.epsilon is None
    assert row.refused is not None
    assert "one person may send 400 reports, and a batch may hold no more than 300" in row.refused


def test_turns_promise_nothing_for_permanent_answers() -> None:
    """The same permanent bits in two batches are known again, one report in each or not."""
    question = {
        "id": "one",
        "kind": "choice",
        "domain": 4,
        "mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0.5, "q": 0.75},
        "reports_per_person": 2,
    }
    turns = relayed(crowd=1000, turn_hours=24, questions=[question])
    (row,) = shuffle_account([turns], people=1000, delta=DELTA).rows
    assert (row.reports, row.batches, row.epsilon) == (1, 2, None)
    assert row.refused is not None
    assert "its answers are permanent and asked 2 times" in row.refused


def test_rounds_are_promised_nothing() -> None:
    """Each round is a contract of its own: one dataset over three had eight times the number."""
    question = {
        "id": "one",
        "kind": "keyvalue",
        "keys": ["a", "b"],
        "mechanism": {"name": "privkvm", "epsilon_1": 0.1, "epsilon_2": [0.1, 0.1, 0.9]},
        "epsilon": 1.5,
    }
    rounds = relayed(crowd=1000, questions=[question])
    (row,) = shuffle_account([rounds], people=1000, delta=DELTA).rows
    assert row.epsilon is None
    assert row.refused is not None
    assert "it is asked in 3 rounds" in row.refused


def test_sentences_name_their_question_and_the_dearest_report() -> None:
    """The bound without shuffling is that of all questions; that with it names its own."""
    base = {"kind": "choice", "domain": 2, "mechanism": "randomized-response"}
    many = {**base, "id": "many", "epsilon": 1.0, "reports_per_person": 5}
    once = {**base, "id": "once", "epsilon": 2.0}
    account = shuffle_account(
        [relayed(crowd=10**4, questions=[many, once])], people=10**4, delta=DELTA
    )
    local, own, *_ = account.sentences()
    assert "at most epsilon 2 from it" in local
    assert "all your answers to 'many', in one batch or spread over several," in own
    # What is asked at most costs so much alone; a number above that says nothing.
    asked = relayed(crowd=60, ask={"questions": 1}, turn_hours=24, questions=[
        {**once, "id": "b"},
        *({**base, "id": f"a{i}", "epsilon": 0.3, "reports_per_person": 3} for i in range(8)),
    ])  # fmt: skip
    assert shuffle_account([asked], people=60, delta=1e-4).together is None
    # Bounds and probabilities are shown rounded up.
    odd = relayed(crowd=1000, questions=[{**once, "epsilon": 1.23446}])
    shown = " ".join(shuffle_account([odd], people=1000, delta=1.2349e-8).sentences())
    assert "at most epsilon 1.235 from it" in shown
    assert "except with probability 1.235e-08" in shown


def test_accounts_are_kept_by_digest() -> None:
    first = shuffle_account([contract(2, 50, 1)], people=50, delta=1e-6)
    again = shuffle_account([contract(2, 50, 1)], people=50, delta=1e-6)
    assert again is first
    assert shuffle_account([contract(2, 50, None)], people=50, delta=1e-6) is not first


def test_factors_are_exact_numbers() -> None:
    """The last factor is not below e^epsilon: with it no delta is needed."""
    own = curve(2, 1.0, 12)
    assert Fraction(float(own.factors[-1])) >= exp(1.0)
    assert own.deltas[-1] == 0
