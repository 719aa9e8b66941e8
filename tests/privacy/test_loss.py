"""What a person can lose, over reports, changes of mind, questions and collections."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumor
from rumor.contract.collection import Collection, Question
from rumor.core.exact import WORD, sum_up
from rumor.mechanisms import REGISTRY, Mechanism, Rappor
from rumor.privacy.loss import (
    Loss,
    changing_loss,
    collection_loss,
    collections_loss,
    permanent_loss,
    question_loss,
)

TOML = """
name = "{name}"
series = "{series}"
contact = "nobody"
[[questions]]
id = "fresh"
kind = "choice"
domain = 4
epsilon = {epsilon}
reports_per_person = 3
[[questions]]
id = "kept"
kind = "choice"
domain = 4
mechanism = {{ name = "basic-rappor", f = 0.5, p = 0.5, q = 0.75 }}
reports_per_person = 365
"""


def collection(name: str = "name", series: str = "series", epsilon: float = 1.0) -> Collection:
    return Collection.from_toml(TOML.format(name=name, series=series, epsilon=epsilon))


def test_fresh_reports_add_up_and_kept_ones_level_off() -> None:
    fresh, kept = collection().questions
    assert question_loss(fresh).epsilon == 3.0
    assert question_loss(fresh, reports=1).epsilon == 1.0
    year = question_loss(kept)
    assert year.epsilon == kept.mechanism.epsilon_after(365)
    assert year.epsilon <= permanent_loss(kept).epsilon
    assert permanent_loss(kept).epsilon == pytest.approx(2 * math.log(3))
    assert permanent_loss(fresh).epsilon == math.inf


def test_changes_of_value_cost_anew() -> None:
    _, kept = collection().questions
    mechanism = kept.mechanism
    twice = question_loss(kept, values=2)
    assert twice.epsilon == pytest.approx(
        mechanism.epsilon_after(183) + mechanism.epsilon_after(182)
    )
    assert question_loss(kept, reports=5, values=2).epsilon == 2 * mechanism.epsilon_after(5)
    with pytest.raises(rumor.InputError, match=r"at most 3 reports .* got 4"):
        question_loss(collection().questions[0], values=4)


def test_an_even_split_is_the_worst() -> None:
    _, kept = collection().questions
    after = kept.mechanism.epsilon_after
    even = question_loss(kept, values=2).epsilon
    assert all(after(n) + after(365 - n) <= even * (1 + 1e-12) for n in range(1, 365))


def test_questions_and_collections_add_up_and_revisions_do_not() -> None:
    one, dearer = collection(), collection(name="revision", epsilon=2.0)
    other = collection(series="other")
    whole = collection_loss(one).epsilon
    kept = one.questions[1].mechanism
    assert whole == pytest.approx(3.0 + 365 * kept.epsilon)
    assert collections_loss([one, other]).epsilon == pytest.approx(2 * whole)
    assert collections_loss([one, dearer]).epsilon == pytest.approx(whole + 3.0)


def asked(limit: int, epsilon: float, **mechanism: object) -> rumor.Collection:
    question = {"id": "q", "kind": "choice", "domain": 4, "epsilon": epsilon, **mechanism}
    wish = {"name": "n", "series": "s", "contact": "c"}
    return rumor.Collection.resolve(
        {**wish, "questions": [{**question, "reports_per_person": limit}]}
    )


def test_revisions_cost_what_a_device_would_spend(tmp_path: Path) -> None:
    """One report at epsilon 4, then four more at epsilon 1: the device allows exactly that."""
    first, then = asked(1, 4.0), asked(5, 1.0)
    second = dataclasses.replace(then, revision=2, previous=first.digest)
    with rumor.Respondent(tmp_path, consent=lambda change: True) as device:
        device.prepare(first, {"q": 0})
        for value in range(4):
            device.prepare(second, {"q": value})
        with pytest.raises(rumor.InputError, match="at most 5 reports"):
            device.prepare(second, {"q": 0})
        spent = device.spent
    assert collections_loss([first, second]).epsilon == pytest.approx(spent) == 8.0
    # The dearer one may also come last, and then only where it allows more than were made.
    assert collections_loss([asked(5, 1.0), asked(2, 3.0)]).epsilon == pytest.approx(9.0)


def test_all_rounds_count() -> None:
    question = {"id": "q", "kind": "keyvalue", "keys": ["a", "b"], "epsilon": 2.0}
    question["mechanism"] = {"name": "privkvm", "rounds": 3}
    wish = {"name": "n", "series": "s", "contact": "c", "questions": [question]}
    rounds = rumor.Collection.resolve(wish)
    mechanism = rounds.question().mechanism
    assert isinstance(mechanism, rumor.PrivKVM)
    assert mechanism.epsilon_all_rounds(1) > mechanism.epsilon
    assert collection_loss(rounds).epsilon == mechanism.epsilon_all_rounds(1)
    assert changing_loss(rounds.question(), 365).epsilon == mechanism.epsilon_all_rounds(1)


def test_a_huge_loss_can_be_said() -> None:
    assert "10^347" in Loss("everything", 800.0).in_words()


def test_sums_are_rounded_up() -> None:
    parts = [0.1] * 10
    assert sum_up(parts) >= sum((Fraction(part) for part in parts), Fraction(0))
    assert sum_up([1.0, math.inf]) == math.inf


def test_in_words() -> None:
    fresh, kept = collection().questions
    sentence = question_loss(fresh, reports=1).in_words()
    assert "one report on 'fresh'" in sentence
    assert "at most 2.72 (epsilon 1)" in sentence
    assert "no limit" in permanent_loss(fresh).in_words()
    assert "365 reports on 'kept'" in question_loss(kept).in_words()


# --- Losses of several reports, against arithmetic of their own --------------------------------


def _ratio(noises: list[tuple[Fraction, Fraction]], flip: Fraction, said: int) -> Fraction:
    """R of the literature for one bit, every report the same, in fractions."""
    on = off = Fraction(1)
    for p, q in noises:
        on *= q if said else 1 - q
        off *= p if said else 1 - p
    return ((1 - flip) * on + flip * off) / (flip * on + (1 - flip) * off)


def _ln(ratio: Fraction) -> Decimal:
    with localcontext(Context(prec=200)):
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def _exact_noise(mechanism: Rappor) -> tuple[Fraction, Fraction]:
    return Fraction(mechanism.noise.low, WORD), Fraction(mechanism.noise.high, WORD)


@pytest.mark.parametrize("bits", [2, 8])
@pytest.mark.parametrize("counts", [(1, 0), (2, 0), (5, 0), (1, 1), (3, 4), (40, 7)])
def test_reports_of_one_answer_cost_what_brute_force_says(
    bits: int, counts: tuple[int, int]
) -> None:
    # Two bits cannot hold two filters of two bits each that have nothing in common: then the
    # bits go where they tell more: to ones of the first noise, to zeros of the second.
    one = Rappor(bits=bits, hashes=2, cohorts=1, f=0.5, p=0.1, q=0.6, key=b"k")
    two = Rappor(bits=bits, hashes=2, cohorts=1, f=0.5, p=0.4, q=0.9, key=b"k")
    made = [pair for pair in zip((one, two), counts, strict=True) if pair[1]]
    noises = [_exact_noise(m) for m, n in made for _ in range(n)]
    flip = Fraction(one.noise.flip, WORD)
    ones, zeros = _ln(_ratio(noises, flip, 1)), -_ln(_ratio(noises, flip, 0))
    apart = [(2, 2)] if bits == 8 else [(2, 0), (0, 2)]
    exact = max(a * ones + b * zeros for a, b in apart)
    found = one.permanence.epsilon_composed(made)
    assert Decimal(found) >= exact
    assert Decimal(math.nextafter(found, 0)) < exact * (1 + Decimal("1e-30"))


@pytest.mark.parametrize("mechanism", REGISTRY, ids=lambda mechanism: mechanism.name)
def test_fresh_reports_cost_no_less_than_their_number(mechanism: type[Mechanism]) -> None:
    for example in mechanism.examples():
        for reports in (1, 2, 3, 7, 10, 365):
            found = Fraction(example.epsilon_after(reports))
            if example.permanence.is_memoised:
                assert found <= Fraction(example.permanence.epsilon_permanent)
                assert found >= Fraction(example.epsilon)
            elif example.name not in ("rappor", "basic-rappor"):  # without f: asked once
                assert found >= reports * Fraction(example.epsilon)
                below = math.nextafter(float(found), 0)
                assert Fraction(below) < reports * Fraction(example.epsilon)


@given(st.lists(st.floats(1e-20, 700), min_size=1, max_size=40))
def test_a_sum_is_the_smallest_double_that_is_not_below(losses: list[float]) -> None:
    exact = sum(map(Fraction, losses), Fraction(0))
    found = sum_up(losses)
    assert Fraction(found) >= exact
    assert Fraction(math.nextafter(found, 0)) < exact


# --- The worst allocation, against trying them all ------------------------------------------------


def _splits(reports: int, answers: int) -> Iterator[tuple[int, ...]]:
    if answers == 1:
        yield (reports,)
        return
    for first in range(1, reports - answers + 2):
        for rest in _splits(reports - first, answers - 1):
            yield (first, *rest)


@pytest.mark.parametrize("answers", [1, 2, 3, 4, 7])
def test_shared_out_reports_cost_the_worst_of_all_ways(answers: int) -> None:
    (_, question) = collection().questions
    mechanism = question.mechanism
    assert mechanism.permanence.is_memoised
    worst = max(sum_up(mechanism.epsilon_after(n) for n in split) for split in _splits(7, answers))
    assert changing_loss(question, 7, answers - 1).epsilon == pytest.approx(worst, rel=1e-12)
    assert changing_loss(question, 7, answers - 1).epsilon >= worst * (1 - 1e-15)


@pytest.mark.parametrize(
    ("days", "period", "touched"),
    [(1, 7, 1), (7, 7, 2), (8, 7, 2), (9, 7, 3), (15, 7, 3), (16, 7, 4), (5, 1, 5)],
)
def test_days_touch_as_many_periods_as_they_can(days: int, period: int, touched: int) -> None:
    (_, question) = collection().questions
    weekly = dataclasses.replace(question, memo="period", period_days=period)
    most = max(len({(start + day) // period for day in range(days)}) for start in range(period))
    assert most == touched
    each, more = divmod(days, touched)
    shares = [each + (place < more) for place in range(touched)]
    expected = sum_up(question.mechanism.epsilon_after(n) for n in shares)
    for changes in (0, 3):  # whether the answer changes does not matter
        found = changing_loss(weekly, days, changes).epsilon
        assert found == pytest.approx(expected, rel=1e-12)


def test_the_rounds_before_count_where_they_are_known() -> None:
    first = rumor.PrivKVM(keys=["a"], epsilon=2.0, rounds=3)
    second = first.next([0.5], parent="0" * 64)
    contracts = [
        rumor.Collection("n", "s", "c", (Question("q", "keyvalue", "", m, 2, None),))
        for m in (first, second)
    ]
    later = second.epsilon
    assert collections_loss(contracts[1:]).epsilon == pytest.approx(2 * 2 * later)
    assert collections_loss(contracts).epsilon == pytest.approx(2 * (first.epsilon + 2 * later))
    # A second round that is dearer than the first one said it would be.
    dear = rumor.PrivKVM(keys=["a"], epsilon=8.0, rounds=3).next([0.5], parent="0" * 64)
    question = dataclasses.replace(contracts[1].questions[0], mechanism=dear)
    dearer = dataclasses.replace(contracts[1], questions=(question,))
    expected = 2 * (first.epsilon + 2 * dear.epsilon)
    assert collections_loss([contracts[0], dearer]).epsilon == pytest.approx(expected)


def test_any_number_of_reports_of_one_answer_cost_what_its_permanent_noise_says() -> None:
    (_, question) = collection().questions
    assert (
        permanent_loss(question).of == "any number of reports on 'kept' with one unchanged answer"
    )
    weekly = dataclasses.replace(question, memo="period", period_days=7)
    assert permanent_loss(weekly).of == "any number of reports on 'kept' in one period"
    # Bits that say another value differ in two places, each by 3/4 against 1/4.
    assert permanent_loss(weekly).epsilon == pytest.approx(2 * math.log(3), rel=1e-12)
    assert permanent_loss(weekly).epsilon == permanent_loss(question).epsilon
