"""Epsilon in words, next to the edges at which the words change."""

from __future__ import annotations

import math

import pytest

from rumor.mechanisms import REGISTRY, Mechanism
from rumor.mechanisms.poisoning import PoisoningBound, PoisoningTarget, bound_poisoning, fake_count
from rumor.privacy.promise import QuestionPromise
from rumor.privacy.sentences import (
    LARGE,
    caution,
    consequence,
    in_words,
    odds_factor,
    posterior_bound,
)


def test_odds_and_beliefs() -> None:
    assert odds_factor(math.log(3)) == pytest.approx(3)
    assert [posterior_bound(p, math.log(3)) for p in (0.5, 0.25, 0)] == pytest.approx(
        [0.75, 0.5, 0]
    )
    assert in_words(math.log(3)) == (
        "Someone who sees your report can change their odds about your answer by at most a factor "
        "of 3 (epsilon 1.099): a guess that was right half of the time becomes right at most 75% "
        "of the time."
    )


_KNOWS = "someone who knows everything else about you can multiply their odds by at most "


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [
        (math.log(3), "3 (epsilon 1.099): an even guess becomes right at most 75% of the time."),
        (math.log(999), "999 (epsilon 6.907): an even guess becomes right at most 99.9% of the"),
        (math.log(1001), "1,001 (epsilon 6.909): an even guess becomes right at most 99.9% of"),
        (math.log(999_999), "999,999 (epsilon 13.82): an even guess becomes a certainty."),
        (math.log(1e6), "10^6 (epsilon 13.82): an even guess becomes a certainty."),
        (1000.0, "10^434 (epsilon 1,000): an even guess becomes a certainty."),
    ],
)
def test_what_a_loss_means(epsilon: float, said: str) -> None:
    assert consequence(epsilon).startswith(_KNOWS + said)
    assert consequence(math.inf) == "there is no limit to what can be learned about you."


def test_a_large_epsilon_is_warned_of_above_99_in_100() -> None:
    assert pytest.approx(math.log(99)) == LARGE
    assert caution(LARGE) is None
    assert str(caution(math.nextafter(LARGE, 9))).startswith(
        "epsilon 4.595 is large: with it a rep"
    )
    assert "right 99% of the time" in str(caution(4.6, "a table"))
    assert "with it a table shows nearly" in str(caution(4.6, "a table"))
    assert "right 99.99% of the time" in str(caution(9.5))
    assert "practically always right" in str(caution(10.0))
    assert "practically always right" in str(caution(5_000.0))


@pytest.mark.parametrize(
    ("reports", "fakes"), [(1, 1), (99, 1), (100, 1), (101, 2), (10**6, 10**4)]
)
def test_one_in_a_hundred_may_be_fake_and_one_at_least(reports: int, fakes: int) -> None:
    assert fake_count(reports) == fakes


@pytest.mark.parametrize(
    ("clients", "raised", "shown", "said"),
    [
        (
            1,
            PoisoningTarget("a value"),
            None,
            "poisoning bound: one fake report can raise the interval of a value by at most ",
        ),
        (
            2,
            PoisoningTarget("a value"),
            None,
            "poisoning bound: 2 fake reports can raise the interval of a value by at most ",
        ),
        (
            1_000,
            PoisoningTarget("the mean", share=False),
            None,
            "poisoning bound: 1,000 fake reports can raise the mean by at most ",
        ),
    ],
)
def test_what_fakes_could_do(
    clients: int, raised: PoisoningTarget, shown: float | None, said: str
) -> None:
    bound = PoisoningBound(clients, 0.25, 0.5, raised, shown)
    assert bound.sentence().startswith(said)
    assert bound.sentence().endswith(f" or lower it by at most {'50%' if raised.share else '0.5'}")
    assert (
        PoisoningBound(clients, 0.25, 0.5, PoisoningTarget("x", bounded=False))
        .sentence()
        .endswith(" by about 50%")
    )
    assert "and move the share shown by" not in bound.sentence()
    assert "and move the share shown by" in bound.with_share_shift(0.125).sentence()
    told = bound.to_dict()
    assert (told["clients"], told["adds"], told["takes"]) == (clients, 0.25, 0.5)
    assert (told["shown"], told["to"], told["sentence"]) == (None, raised.what, bound.sentence())
    assert len(told) == 6


@pytest.mark.parametrize("kind", REGISTRY, ids=lambda kind: kind.name)
def test_what_fakes_add_and_what_they_take_are_not_exchanged(kind: type[Mechanism]) -> None:
    for mechanism in kind.examples()[:1]:
        bound = PoisoningBound.for_clients(mechanism, 1000, 30)
        moved = mechanism.poisoning.gain(1000, 30), mechanism.poisoning.loss(1000, 30)
        assert (bound.clients, bound.gain, bound.loss) == (30, *moved)
        assert bound.target == mechanism.poisoning.target
        tried = PoisoningBound.for_trials(mechanism, 1000, 40)
        each = mechanism.poisoning.gain(1, 1), mechanism.poisoning.loss(1, 1)
        assert (tried.clients, tried.gain, tried.loss) == (10, each[0] / 4, each[1] / 4)
        assert bound_poisoning(mechanism, 3000, 0.01) == PoisoningBound.for_clients(
            mechanism, 3000, 30
        )


LARGE_NUMBERS: dict[str, tuple[tuple[int, int, int | None, float, float], str | None]] = {
    # reports, rounds, days of a period, unchanged, most
    "once": ((1, 1, None, 50.0, 50.0), None),
    "little": ((9, 1, None, LARGE, LARGE), None),
    "no end": ((9, 1, None, 9.0, math.inf), None),
    "as many rounds as reports": (
        (3, 3, None, 50.0, 50.0),
        "epsilon 50: only a smaller epsilon of a report bounds it",
    ),
    "fewer reports": (
        (10, 1, None, 20.0, 20.0),
        "epsilon 20: reports_per_person = 2 keeps it at epsilon 4",
    ),
    "an answer that may stay": (
        (10, 1, None, 19.0, 20.0),
        'epsilon 20: reports_per_person = 2 keeps it at epsilon 4; memo = "period" hides when '
        "an answer changes",
    ),
    "an answer of a period": (
        (10, 1, 7, 19.0, 23.0),
        "epsilon 23: reports_per_person = 1 keeps it at epsilon 2.3",
    ),
}


@pytest.mark.parametrize("name", LARGE_NUMBERS)
def test_a_large_total_says_what_bounds_it(name: str) -> None:
    (reports, rounds, days, unchanged, most), expected = LARGE_NUMBERS[name]
    promise = QuestionPromise("q", reports, rounds, days, 2.0, unchanged, most)
    start = "with another answer every time all reports cost "
    assert promise.advice() == (None if expected is None else start + expected)
