"""Several questions with one budget: the closed forms, against the literature's and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.core.types import Target
from rumor.kinds.choice.question import choose_oracle
from rumor.kinds.planning.strategies import StrategyComparison, plan_many
from rumor.mechanisms import RandomizedResponse

EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0)
# Variance of asking all over that of asking one, at a share of 1/D: by questions and answers.
RATIOS = {
    (2, 2): ("1.94", "1.78", "1.36", "1.02", "0.80", "0.60"),
    (2, 32): ("2.03", "2.12", "2.50", "3.20", "4.48", "3.07"),
    (5, 4): ("4.68", "5.45", "5.82", "4.70", "3.15", "1.46"),
    (5, 300): ("5.10", "5.41", "6.81", "9.78", "15.6", "48"),
    (10, 32): ("10.2", "10.8", "13.5", "19.1", "30.0", "28.7"),
}


def subset_variance(domain: int, epsilon: float, share: float) -> float:
    """Subset selection of the size that is best for rare answers, from its textbook formulas."""
    odds, best = math.exp(epsilon), (math.inf, math.inf)
    for size in range(1, domain):
        hit = size * odds / (size * odds + domain - size)
        miss = (hit * (size - 1) + (1 - hit) * size) / (domain - 1)
        support = miss + (hit - miss) * share
        rare, usual = (s * (1 - s) / (hit - miss) ** 2 for s in (miss, support))
        best = min(best, (rare, usual))
    return best[1]


def ratio(plan: StrategyComparison) -> float:
    """The variance of asking all, as a multiple of asking one."""
    one, everything = plan.ways[:2]
    return (everything.error / one.error) ** 2


@pytest.mark.parametrize("size", RATIOS, ids=str)
def test_the_formulas_give_the_published_table_to_its_digits(size: tuple[int, int]) -> None:
    questions, domain = size
    for epsilon, published in zip(EPSILONS, RATIOS[size], strict=True):
        split, one = (
            subset_variance(domain, e, 1 / domain) for e in (epsilon / questions, epsilon)
        )
        places = len(published.partition(".")[2])
        assert f"{split / (questions * one):.{places}f}" == published, epsilon


@pytest.mark.parametrize("size", RATIOS, ids=str)
def test_the_plan_gives_it_for_the_mechanisms_that_would_be_used(size: tuple[int, int]) -> None:
    # "auto" takes sizes that are a little better at usual shares, and shorter reports: within
    # 4 in a hundred of it.
    questions, domain = size
    for epsilon, published in zip(EPSILONS, RATIOS[size], strict=True):
        plan = plan_many(questions, domain=domain, users=10**6, epsilon=epsilon)
        assert ratio(plan) == pytest.approx(float(published), rel=0.04), epsilon


def test_dividing_people_wins_by_as_much_as_there_are_questions() -> None:
    # At a total of epsilon 1: 2.1 to 2.3 times for two questions, 5.3 for five, 10.6 for ten. (The
    # shortest report may have 3 per cent more noise than the least, and another one at another
    # epsilon: so the ratio is that much less sure than between ideal mechanisms.)
    for questions, low, high in ((2, 2.1, 2.3), (5, 5.3, 5.5), (10, 10.6, 11.4)):
        for domain in (32, 100, 300):
            plan = plan_many(questions, domain=domain, users=10**6, epsilon=1.0)
            assert low <= round(ratio(plan), 1) <= high, (questions, domain, ratio(plan))
            assert plan.best.name == "one at random"
            assert "ask = {questions = 1}" in plan.reason


def test_never_is_too_much_said() -> None:
    # Fewer people are a smaller sample: two yes/no questions are better split from epsilon 3.1.
    for epsilon, better in ((3.0, True), (3.2, False), (4.0, False)):
        plan = plan_many(2, domain=2, users=10**6, epsilon=epsilon)
        assert (ratio(plan) > 1) is better, epsilon
    assert ratio(plan_many(2, domain=2, users=10**6, epsilon=4.0)) == pytest.approx(0.80, abs=5e-3)


def test_small_questions_are_better_asked_jointly() -> None:
    # Ten yes/no questions, variance of one person: one 4.31, 3.05, 2.69; blocks 3.31, 1.68, 1.05.
    for epsilon, one, block, size in ((2, 4.31, 3.31, 2), (3, 3.05, 1.68, 3), (4, 2.69, 1.05, 4)):
        plan = plan_many(10, domain=2, users=10**6, epsilon=float(epsilon))
        assert plan.ways[0].error ** 2 * 10**6 == pytest.approx(one, abs=5e-3)
        assert plan.best.error**2 * 10**6 == pytest.approx(block, abs=5e-3)
        assert plan.best.together == size
        assert 'kind "joint"' in plan.reason
    # More than a hundred combinations are no block.
    assert len(plan_many(5, domain=11, users=10**6, epsilon=4.0).ways) == 2


@pytest.mark.parametrize("questions", [2, 5])
def test_estimates_match_the_formulas_within_five_in_a_hundred(questions: int) -> None:
    # 500 trials of every answer of every question: a variance is known to one in a hundred
    # (sqrt(2 / (500 * 2 * 8)) = 1.6 % at the least), three deviations below the five allowed.
    domain, people, epsilon, trials = 8, 50_000, 1.0, 500
    law = 1 / np.arange(1, domain + 1)
    law /= law.sum()
    rng = np.random.default_rng(23)
    plan = plan_many(questions, domain=domain, users=people, epsilon=epsilon)
    for way in plan.ways[:2]:
        oracle = choose_oracle(domain, way.epsilon, users=people)
        single = way.people < people
        asked = (
            rng.multinomial(people, [1 / questions] * questions, trials)
            if single
            else np.full((trials, questions), people)
        )
        held = rng.multinomial(asked[..., None], law)[:, :, 0, :] if single else None
        held = rng.multinomial(people, law, (trials, questions)) if held is None else held
        support = rng.binomial(held, oracle.hit) + rng.binomial(
            asked[..., None] - held, oracle.miss
        )
        # Each question knows its own number of people; nothing else changes.
        found = (support / asked[..., None] - oracle.miss) / (oracle.hit - oracle.miss)
        seen = float(((found - law) ** 2).mean())
        expected = float(oracle.variance(law, 1).mean()) / way.people
        assert seen == pytest.approx(expected, rel=0.05), way.name
    one, everything = plan.ways[:2]
    assert one.error < everything.error


# A yes or no on each of 30 days, by what a person's whole history may cost: the variance of a day's
# share of one half, times the people. Fresh noise every day, one day for each person, a permanent
# answer of one bit that never changes, and one of two values; these two with the sample.
DAYS = {
    1: ("900", "27.6", "4.2", "16.2"),
    2: ("225", "5.4", "1.2", "4.2"),
    4: ("56", "0.57", "0.43", "1.17"),
}


@pytest.mark.parametrize("whole", DAYS)
def test_one_day_of_thirty_against_its_rivals(whole: int) -> None:
    def coin(epsilon: float, of: Target) -> float:
        mechanism = RandomizedResponse(domain=2, epsilon=epsilon)
        return float(mechanism.variance(0.5, 1, of=of))

    found = (
        coin(whole / 30, "people"),
        30 * coin(whole, "people"),
        # A permanent answer of epsilon B leaves half of it to a report.
        coin(whole / 2, "population"),
        coin(whole / 4, "population"),
    )
    for published, value in zip(DAYS[whole], found, strict=True):
        places = len(published.partition(".")[2])
        assert f"{value:.{places}f}" == published


def test_other_kinds_are_compared_as_well() -> None:
    for kind, size in (("number", {}), ("ordered", {"domain": 10}), ("text", {"domain": 100})):
        plan = plan_many(4, kind=kind, users=10**5, epsilon=1.0, **size)
        assert [way.name for way in plan.ways] == ["one at random", "all of them"]
        assert plan.best.name == "one at random"
        assert ratio(plan) > 2.5


def test_a_collection_to_start_from() -> None:
    asked = Collection.from_toml(plan_many(5, domain=8, users=10**5, epsilon=1.0).to_toml())
    assert asked.ask is not None
    assert (asked.ask.questions, len(asked.questions)) == (1, 5)
    assert {question.epsilon for question in asked.questions} == {asked.questions[0].epsilon}
    split = Collection.from_toml(plan_many(2, domain=2, users=10**5, epsilon=4.0).to_toml())
    assert split.ask is None
    assert split.questions[0].epsilon == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize(
    ("questions", "given", "sentence"),
    [
        (1, {}, "questions must be an integer from 2 to 1,000; got 1"),
        (2, {"epsilon": None}, "takes people and epsilon, what one person may lose in all"),
        (2, {"error": 0.01}, "takes people and epsilon"),
        (2, {"reports": 9}, "for questions that are asked once; got reports or a lifetime"),
        (200, {"users": 100}, "people must be an integer from 200"),
    ],
)
def test_bad_wishes(questions: int, given: dict[str, object], sentence: str) -> None:
    usual: dict[str, object] = {"domain": 8, "users": 10**5, "epsilon": 1.0}
    with pytest.raises(InputError, match=sentence):
        plan_many(questions, **{**usual, **given})
