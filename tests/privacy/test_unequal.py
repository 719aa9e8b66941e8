"""What is spent where questions, revisions and rounds differ: by a sum that is written anew here.

Losses of 2, 9 and 10, limits of 1, 2 and 10, in every order: what is sorted as text, taken from
the first, or counted once too often, is told from what is right.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest

from rumor.contract.collection import Collection, Question
from rumor.privacy.account import account
from rumor.privacy.loss import (
    asked_loss,
    changing_loss,
    collection_loss,
    collections_loss,
    lifetime_loss,
    lifetimes,
    permanent_loss,
    question_loss,
    series_ceiling,
)
from rumor.privacy.promise import collection_promise, question_promise

Limit = tuple[int, float]
"""How many reports, and what each costs."""
MEMO = {"name": "basic-rappor", "f": 0.5, "p": 0.5, "q": 0.75}


def collection(*asked: dict[str, Any], series: str = "s", **more: object) -> Collection:
    """Resolve a collection of questions, each by what differs from a plain one."""
    plain = {"kind": "choice", "domain": 4, "epsilon": 1.0, "mechanism": "randomized-response"}
    said = [{**plain, "id": f"q{place}", **one} for place, one in enumerate(asked)]
    questions = [{k: v for k, v in one.items() if v is not None} for one in said]
    head = {"name": "n", "series": series, "contact": "c", **more}
    return Collection.resolve({**head, "questions": questions})


def revision(limit: Limit, **more: Any) -> Collection:
    return collection({"reports_per_person": limit[0], "epsilon": limit[1]}, **more)


def dearest_reports(limits: tuple[Limit, ...]) -> float:
    """Return what one person spends at most: each report at the price of the dearest left.

    The n-th report of a person may be made under any revision that allows n of them.
    """
    most = max(limit for limit, _ in limits)
    return math.fsum(max(e for limit, e in limits if limit >= n) for n in range(1, most + 1))


LIMITS: list[Limit] = [(1, 10.0), (2, 9.0), (10, 2.0), (2, 2.0), (9, 1.0)]


@pytest.mark.parametrize("limits", list(itertools.permutations(LIMITS, 3)))
def test_revisions_with_other_limits_cost_the_dearest_of_each_report(
    limits: tuple[Limit, ...],
) -> None:
    revisions = [revision(limit) for limit in limits]
    expected = dearest_reports(limits)
    assert collections_loss(revisions).epsilon == pytest.approx(expected)
    assert lifetimes(revisions) == {("s", "q0"): pytest.approx(expected)}
    apart = [revision(limit, series=f"s{place}") for place, limit in enumerate(limits)]
    alone = math.fsum(count * price for count, price in limits)
    assert collections_loss(apart).epsilon == pytest.approx(alone)
    assert collections_loss(apart).of == "everything in 3 collections"
    assert collections_loss(revisions).of == "everything in 1 collections"


PRICES = (2.0, 10.0, 9.0)


@pytest.mark.parametrize("prices", list(itertools.permutations(PRICES)))
@pytest.mark.parametrize("count", [1, 2, 3])
def test_who_is_asked_some_questions_spends_the_dearest(
    prices: tuple[float, ...], count: int
) -> None:
    ask: dict[str, Any] = {} if count == 3 else {"ask": {"questions": count}}
    asked = collection(*({"epsilon": price} for price in prices), **ask)
    expected = [10.0, 19.0, 21.0][count - 1]
    assert collection_loss(asked).epsilon == pytest.approx(expected)
    assert account([asked]).together == pytest.approx(expected)
    assert series_ceiling(asked) == pytest.approx(expected)
    assert series_ceiling(asked) > collection_loss(asked).epsilon
    drawn = [q.id for q in asked.questions if q.epsilon < 9.5][:count]
    held = sum(q.epsilon for q in asked.questions if q.id in drawn)
    assert series_ceiling(asked, drawn) == pytest.approx(held)
    lower = replace(asked, series_epsilon=expected / 2)
    assert collection_loss(lower).epsilon == series_ceiling(lower) == expected / 2


def test_two_sets_of_questions_are_drawn_from_each_in_turn() -> None:
    """As many as each set lets a device draw; the same set twice lets it draw once."""
    losses = {("s", "a"): 10.0, ("s", "b"): 9.0, ("s", "c"): 2.0}
    first = collection({"id": "a"}, {"id": "b"}, ask={"questions": 1})
    second = collection({"id": "b"}, {"id": "c"}, ask={"questions": 1})
    both = collection({"id": "a"}, {"id": "b"})
    assert asked_loss([first], losses) == 10.0
    assert asked_loss([first, first], losses) == 10.0
    assert asked_loss([first, second], losses) == 19.0
    assert asked_loss([second, first], losses) == 19.0
    assert asked_loss([first, both], losses) == 19.0
    assert asked_loss([both, second], losses) == 21.0
    other = collection({"id": "a"}, series="t")
    assert asked_loss([first, other], {**losses, ("t", "a"): 5.0}) == 15.0


@pytest.mark.parametrize(
    ("days", "made", "unchanged"),
    [(1, 1, 2.0), (2, 2, 4.0), (3, 3, 6.0), (4, 3, 6.0), (365, 3, 6.0)],
)
def test_reports_are_made_daily_until_none_is_left(days: int, made: int, unchanged: float) -> None:
    asked = revision((3, 2.0))
    (row,) = account([asked], days=days).rows
    assert (row.made, row.allowed) == (made, 3)
    assert row.one == pytest.approx(2.0)
    assert row.unchanged == pytest.approx(unchanged)
    assert row.lifetime == pytest.approx(6.0)
    assert changing_loss(asked.question(), days).epsilon == row.unchanged


def kept(limit: int, **more: object) -> Question:
    asked = {"mechanism": MEMO, "epsilon": None, "reports_per_person": limit, **more}
    return collection(asked).question()


@pytest.mark.parametrize(("values", "parts"), [(1, [7]), (2, [4, 3]), (3, [3, 2, 2]), (7, [1] * 7)])
def test_reports_are_shared_out_evenly_over_answers(values: int, parts: list[int]) -> None:
    one = kept(7)
    expected = math.fsum(one.mechanism.epsilon_after(n) for n in parts)
    assert question_loss(one, values=values).epsilon == pytest.approx(expected)
    assert changing_loss(one, 7, values - 1).epsilon == pytest.approx(expected)
    assert changing_loss(one, 99, 99).epsilon == pytest.approx(7 * one.epsilon)
    assert permanent_loss(one).epsilon == one.mechanism.permanence.epsilon_permanent < math.inf
    assert question_loss(one, reports=2, values=2).epsilon == pytest.approx(
        2 * one.mechanism.epsilon_after(2)
    )


@pytest.mark.parametrize(("reports", "values", "said"), [
    (1, 1, "one report on 'q0'"),
    (2, 1, "2 reports on 'q0'"),
    (1, 2, "2 reports on 'q0' with 2 different answers"),
    (None, 1, "1,000 reports on 'q0'"),
])  # fmt: skip
def test_what_a_loss_is_of(reports: int | None, values: int, said: str) -> None:
    one = kept(1000)
    loss = question_loss(one, reports=reports, values=values)
    assert loss.of == said
    assert loss.in_words().startswith(f"After {said}, ")


@pytest.mark.parametrize(("changes", "said"), [
    (0, "3 reports on 'q0'"),
    (1, "3 reports on 'q0' with 1 change of answer"),
    (2, "3 reports on 'q0' with 2 changes of answer"),
])  # fmt: skip
def test_what_changes_are_called(changes: int, said: str) -> None:
    assert changing_loss(kept(3), 9, changes).of == said


@pytest.mark.parametrize(("limit", "period", "asked", "stands"), [
    (1, 1, "once", "Your first answer in every day stands"),
    (2, 2, "at most 2 times", "Your first answer in every 2 days stands"),
    (1000, 1000, "at most 1,000 times", "Your first answer in every 1,000 days stands"),
])  # fmt: skip
def test_a_promise_at_one_and_at_two(limit: int, period: int, asked: str, stands: str) -> None:
    one = kept(limit, memo="period", period_days=period)
    promise = question_promise(one)
    assert promise.asked() == asked
    assert promise.standing().startswith(stands)
    assert stands in promise.in_words()
    assert (promise.one, promise.unchanged, promise.most) == (
        one.epsilon,
        one.epsilon_total,
        lifetime_loss(one),
    )
    assert ("You are asked" in promise.in_words()) == (limit > 1)
    assert promise.to_dict() == {
        "asked": asked,
        "epsilon": one.epsilon,
        "epsilon_total": one.epsilon_total,
        "epsilon_most": lifetime_loss(one),
        "privacy": promise.in_words(),
    }


def test_what_is_joined_costs_both() -> None:
    asked = collection(*({"epsilon": price} for price in PRICES), linked=["q0", "q2"])
    said = collection_promise(asked).joined()
    assert said is not None
    assert "'q0' and 'q2' can be linked" in said
    assert "epsilon 11, which the budget includes" in said
    assert collection_promise(collection({}, {})).joined() is None


@pytest.mark.parametrize(("count", "which", "added", "whom"), [
    (None, "", "After all of it, ", "respondent"),
    (1, " (1 of 3 questions)", None, "respondent who is assigned the question"),
    (2, " (2 of 3 questions)", "After all of it, ", "respondent who is assigned the question"),
])  # fmt: skip
def test_what_a_collection_costs_in_words(
    count: int | None, which: str, added: str | None, whom: str
) -> None:
    ask: dict[str, Any] = {} if count is None else {"ask": {"questions": count}}
    promise = collection_promise(collection(*({"epsilon": price} for price in PRICES), **ask))
    assert promise.in_words() == f"at most epsilon {promise.most:,.6g} per respondent{which}"
    assert promise.whom() == whom
    told = promise.added_up()
    assert told is None if added is None else str(told).startswith(added)
    assert (promise.asked() is None) == (count is None)


@pytest.mark.parametrize(("days", "changes", "said"), [
    (1, 0, "After one report, all that 'q0' asks, "),
    (2, 0, "After 2 days of daily reports on 'q0', "),
    (3, 1, "After 3 days of daily reports on 'q0' and 1 change of your answer, "),
    (3, 2, "After 3 days of daily reports on 'q0' and 2 changes of your answer, "),
    (364, 0, "After 364 days of daily reports on 'q0', "),
    (365, 0, "After a year of daily reports on 'q0', "),
    (366, 0, "After 365 reports, all that 'q0' asks, "),
])  # fmt: skip
def test_the_sentence_of_some_days(days: int, changes: int, said: str) -> None:
    told = account([revision((1 if days == 1 else 365, 1.0))], days=days, changes=changes)
    asked = replace(told, days=2) if days == 1 else told
    assert asked.sentence(asked.rows[0]).startswith(said)


def test_an_account_says_its_columns_at_one_and_at_two() -> None:
    two = [collection({"reports_per_person": 1}, {"reports_per_person": 2, "epsilon": 2.0})]
    plain, once, twice = (account(two, days=9, changes=n) for n in (0, 1, 2))
    heads = [told.table().splitlines()[0].split("  ") for told in (plain, once, twice)]
    words = [[cell.strip() for cell in head if cell.strip()] for head in heads]
    assert words[0] == [
        "question",
        "asked",
        "one report",
        "9 days, daily",
        "any number",
        "most in all",
    ]
    assert words[1][4:5] == ["1 change"]
    assert words[2][4:5] == ["2 changes"]
    first, second = plain.table().splitlines()[1:3]
    assert ("once" in first, "2 times" in second) == (True, True)
    assert [first.split()[-2:], second.split()[-2:]] == [["-", "1"], ["limit", "4"]]
    assert set(plain.to_dict()) == {"days", "changes", "questions", "together", "most", "closing"}
    assert (plain.to_dict()["days"], plain.to_dict()["changes"]) == (9, 0)
    assert plain.together == pytest.approx(5.0)
    assert plain.total.epsilon == pytest.approx(5.0)
