"""What a person can lose, over reports, changes of mind, questions and collections."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from pathlib import Path

import pytest

import rumor
from rumor.collection import Collection
from rumor.exact import sum_up
from rumor.privacy.accounting import (
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
    assert mechanism.epsilon_in_all(1) > mechanism.epsilon
    assert collection_loss(rounds).epsilon == mechanism.epsilon_in_all(1)
    assert changing_loss(rounds.question(), 365).epsilon == mechanism.epsilon_in_all(1)


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
