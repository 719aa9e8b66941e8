"""What plans, questions, methods and simulations refuse, with the exact sentence."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import rumor
from rumor.cli import main
from rumor.core.errors import InputError
from rumor.estimators.frequency.bayes import start_at
from rumor.kinds import KINDS
from rumor.kinds.choice import regress
from rumor.kinds.choice.question import choose_oracle
from rumor.kinds.estimating import estimate
from rumor.kinds.interviews import parse_integer, parse_parts
from rumor.kinds.ordered.fit.curve import crossing, crossing_last
from rumor.kinds.planning.plan import _over_time, make_plan
from rumor.kinds.planning.planned import permanent_noise
from rumor.kinds.planning.strategies import plan_many
from rumor.mechanisms.summary import Summary

HEAD = 'name = "A"\nseries = "a"\ncontact = "nobody"\n'
PLAN: dict[str, Any] = {"domain": 10, "users": 10_000}
CHOICE: dict[str, Any] = {**PLAN, "epsilon": 1.0}
NUMBER: dict[str, Any] = {"kind": "number", "users": 10_000, "epsilon": 1.0}
RULE = "a plan takes an error, a frequency to detect or a difference; got "
DEVIATION = "a standard deviation must be a number above 0 and at most half the range, "
QUESTIONS: dict[str, dict[str, Any]] = {
    "age": {"kind": "number", "low": 0, "high": 10},
    "pets": {"kind": "set", "labels": ["cat", "dog"]},
    "apps": {"kind": "keyvalue", "keys": ["m", "n"], "low": 0, "high": 1},
    "both": {"kind": "joint", "parts": [{"id": id, "labels": ["x", "y"]} for id in "ab"]},
    "said": {"kind": "words"},
    "scale": {"kind": "ordered", "labels": ["x", "y", "z"]},
}
COIN = rumor.RandomizedResponse(domain=2, epsilon=1.0)
WIDE = rumor.UnaryEncoding(domain=40, epsilon=1.0)


def question(id: str, **more: Any) -> rumor.Collection:
    """Resolve a collection of one question; a member of None is left out."""
    said = {"id": id, "epsilon": 1.0, **QUESTIONS[id], **more}
    asked = {key: value for key, value in said.items() if value is not None}
    head = {"name": "A", "series": "a", "contact": "nobody"}
    return rumor.Collection.resolve({**head, "questions": [asked]})


def planned(**more: Any) -> object:
    """Plan a choice of few answers that is told from another one."""
    return make_plan(**CHOICE, **more)


def likelihoods(reports: int) -> object:
    """Return the likelihoods of so many reports of many values, as a regression needs them."""
    drawn = WIDE.privatize(np.arange(reports) % 40, random=rumor.Seeded(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regress, "_MAX_CELLS", 200)
        return KINDS["choice"].report_likelihoods(WIDE, drawn)


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: make_plan(**PLAN, error=0.01, detect=0.01), f"{RULE}error and detect"),
    (lambda: make_plan(**PLAN, error=0.01, difference=0.01), f"{RULE}error and difference"),
    *(
        (
            functools.partial(planned, difference=0.01, **{name: value}),
            f"{name} must be a number above 0 and below 1; got {value}",
        )
        for name, value in itertools.product(("share", "power"), (0.0, 1.0, -0.1, 1.5))
    ),
    (
        lambda: make_plan(domain=10, epsilon=1.0, error=1e-12),
        "the number of people must be at most 1,000,000,000,000; 1e-12 needs more",
    ),
    (
        lambda: make_plan(users=10, epsilon=0.1, error=0.001),
        "a domain must have at least 2 values; 0.001 needs fewer, with 10 people at epsilon 0.1",
    ),
    (
        lambda: make_plan(**CHOICE, deviation=0.5, difference=0.1),
        "a standard deviation is for numbers and ordered answers; got 0.5 for shares",
    ),
    (lambda: make_plan(**NUMBER, deviation=0.51, difference=0.1), f"{DEVIATION}0.5; got 0.51"),
    (lambda: make_plan(**NUMBER, deviation=0, difference=0.1), f"{DEVIATION}0.5; got 0"),
    (
        lambda: make_plan(**NUMBER, low=-2.0, high=8.0, deviation=5.1, difference=0.1),
        f"{DEVIATION}5; got 5.1",
    ),
    (
        lambda: make_plan(**{**CHOICE, "epsilon": 2.0}, lifetime=1.0),
        "the lifetime must be at least the epsilon of one report, 2; got 1",
    ),
    (
        lambda: permanent_noise(1.0, 0.99),
        "the lifetime must be at least the epsilon of one report, 1; got 0.99",
    ),
    (lambda: question("pets", epsilon=None), "question 'pets': a set needs an epsilon; got none"),
    (
        lambda: question("said", epsilon=None),
        "question 'said': open words need an epsilon; got none",
    ),
    (
        lambda: question("scale", epsilon=None),
        "question 'scale': mechanism 'auto' needs an epsilon; got none",
    ),
    (
        lambda: question("apps", keys=None),
        "question 'apps': a keyvalue question must have keys (a list or a number); got none",
    ),
    (
        lambda: choose_oracle(1 << 20, 1.0, max_report_bytes=1),
        "no mechanism takes this domain with reports of at most 1 bytes",
    ),
    (
        lambda: rumor.estimate(
            COIN, np.zeros((2, 1), np.uint8), method="em", per_bit=True, likelihood="scaled"
        ),
        "per_bit goes with likelihood \"odds\"; got 'scaled'",
    ),
    (
        lambda: estimate("warner", [0, 1]),
        "estimate needs a mechanism or a channel matrix; got 'warner'",
    ),
    (
        lambda: rumor.estimate(np.eye(2), [3, 4], method="em", per_bit=True),
        "per_bit is an option for oracles; got it with a channel matrix",
    ),
    (
        lambda: rumor.estimate(lambda output: np.array([0.5]), [3, 4], method="em"),
        "a channel must have at least two inputs; got 1",
    ),
    (
        lambda: rumor.estimate(scipy.sparse.coo_array(np.ones(3)), [3, 4, 5]),
        "a channel matrix must have two dimensions; got shape (3,)",
    ),
    (
        lambda: KINDS["choice"].estimate_rounds([Summary.empty(COIN)], "auto"),
        "only PrivKVM has rounds; got 'randomized-response'",
    ),
    (
        lambda: KINDS["choice"].estimate_round(COIN, Summary.empty(COIN)),
        "only PrivKVM has rounds; got 'randomized-response'",
    ),
    (
        lambda: KINDS["number"].check_linked({}),
        "a question of kind 'number' is no table of linked questions",
    ),
    (
        lambda: KINDS["number"].estimate_linked({}),
        "a question of kind 'number' is no table of linked questions",
    ),
    (lambda: parse_integer("2.5"), "type a whole number; got '2.5'"),
    (
        lambda: parse_parts("smokes: yes, no; drinks"),
        "type each part as NAME: ANSWER, ANSWER with semicolons between the parts; got "
        "'smokes: yes, no; drinks'",
    ),
    (
        lambda: likelihoods(6),
        "a regression takes at most 200 reports times values; got 6 reports of 40 values",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("give", "sentence"), [pytest.param(*one, id=f"{n}") for n, one in enumerate(REFUSED)]
)
def test_it_is_refused_in_one_sentence(give: Callable[[], object], sentence: str) -> None:
    with pytest.raises(InputError) as found:
        give()
    assert str(found.value) == sentence


def test_what_is_at_the_edge_is_taken() -> None:
    assert make_plan(**NUMBER, low=-2.0, high=8.0, deviation=5.0, difference=0.1).users == 10_000
    assert permanent_noise(1.0, 1.0).f > 0
    assert parse_integer(" 2.0 ") == 2
    assert parse_parts("smokes: yes, no; drinks: much,some") == [
        {"id": "smokes", "labels": ["yes", "no"]},
        {"id": "drinks", "labels": ["much", "some"]},
    ]
    likelihoods(5)


ROWS: list[tuple[str, str, str | pa.Table, str]] = [
    ("age", "age.csv", "age\n", "a table must hold at least one person; got none"),
    ("age", "age.csv", "value,count\n1,0\n", "a table must hold at least one person; got none"),
    (
        "age",
        "age.csv",
        "value,count\n1,-1\n2,5\n",
        "counts must be numbers of 0 or more; got one that is not",
    ),
    ("pets", "pets.csv", "pets\n", "a table must hold at least one answer; got none"),
    ("apps", "apps.csv", "person,key,value\n", "a table must hold at least one person; got none"),
    ("said", "said.csv", "value,count\nabc,0\n", "a table must hold at least one answer; got none"),
    ("both", "both.csv", "a,b,count\nx,x,0\n", "a table must hold at least one answer; got none"),
    (
        "apps",
        "apps.parquet",
        pa.table({"m": ["a", "b"], "n": [0.5, 1.0]}),
        "values must be numbers; got something else",
    ),
    (
        "apps",
        "apps.parquet",
        pa.table({"m": [[0.5], [1.0]], "n": [0.5, 1.0]}),
        "values must be numbers; got something else",
    ),
]


@pytest.mark.parametrize(("id", "name", "rows", "sentence"), ROWS)
def test_tables_of_a_simulation_are_refused_in_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    id: str,
    name: str,
    rows: str | pa.Table,
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    question(id).save("c.json")
    if isinstance(rows, str):
        Path(name).write_text(rows)
    else:
        pq.write_table(rows, name)
    assert main(["simulate", "c.json", name]) == 2
    assert capsys.readouterr().err == f"rumor: {name}: {sentence}\n"


def test_sets_are_in_lists_or_in_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    question("pets").save("c.json")
    pq.write_table(pa.table({"pets": [1, 2]}), "pets.parquet")
    assert main(["simulate", "c.json", "pets.parquet"]) == 2
    assert capsys.readouterr().err == (
        "rumor: pets.parquet, column 'pets': a column of sets must hold lists or texts; got int64\n"
    )


@pytest.mark.parametrize(
    ("permanent", "epsilon", "reports", "lifetime", "found"),
    [
        (False, 1.0, None, None, (1.0, 1, "")),
        (False, None, 7, None, (None, 7, "")),
        (False, None, 4, 2.0, (0.5, 4, ", epsilon as the lifetime allows")),
        (True, None, 4, 2.0, (1.0, 4, ", epsilon as the lifetime allows")),
        (True, None, 1, 2.0, (2.0, 1, ", epsilon as the lifetime allows")),
        (False, 0.5, None, 2.0, (0.5, 4, ", fresh reports as the lifetime allows")),
        (False, 0.5, 4, 2.0, (0.5, 4, "")),
        (True, 0.5, 400, 2.0, (0.5, 400, "")),
    ],
)
def test_a_lifetime_is_shared_out(
    permanent: bool,
    epsilon: float | None,
    reports: int | None,
    lifetime: float | None,
    found: tuple[float | None, int, str],
) -> None:
    assert _over_time(permanent, epsilon, reports, lifetime) == found
    if None not in (epsilon, reports, lifetime) and not permanent:
        with pytest.raises(InputError) as refused:
            _over_time(permanent, epsilon, 5, lifetime)
        assert str(refused.value) == (
            "5 reports at epsilon 0.5 must cost at most the lifetime of 2; got 2.5"
        )


def test_a_large_epsilon_is_best_spent_on_every_question() -> None:
    plan = plan_many(2, domain=2, users=10_000, epsilon=6.0)
    one, everything = plan.ways[:2]
    assert everything.error < one.error
    if plan.best is everything:
        others = [way for way in plan.ways if way is not everything]
        ratios = [f"{plan.ratio(way):.3g} times as large with {way.name}" for way in others]
        assert plan.reason == (
            f"{everything.name}. For the same loss, the variance of each estimate is "
            f"{' and '.join(ratios)}. Fewer respondents per question would cost more than the "
            f"smaller epsilon."
        )
    else:
        assert 'kind "joint"' in plan.reason


def test_a_broken_line_is_crossed_within_its_ends() -> None:
    edges = np.array([0.1, 0.1, 0.4, 0.4, 0.9])
    for share, first, last in (
        (0.05, 0.0, 0.0),
        (0.1, 0.0, 1.0),
        (0.25, 1.5, 1.5),
        (0.4, 2.0, 3.0),
        (0.65, 3.5, 3.5),
        (0.9, 4.0, 4.0),
        (0.95, 4.0, 4.0),
    ):
        assert crossing(edges, share) == pytest.approx(first)
        assert crossing_last(edges, share) == pytest.approx(last)


def test_nothing_observed_starts_evenly() -> None:
    assert start_at("observed", np.zeros(4), 4).tolist() == [0.25] * 4
    assert start_at("observed", np.array([3.0, 0.0, 1.0]), 3).tolist() == [0.75, 0.0, 0.25]
