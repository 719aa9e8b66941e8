"""Rounds of PrivKVM: budgets, the chain of contracts, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import rumor
from rumor.core.errors import InputError
from rumor.kinds.keyvalue.simulate import simulate_rounds
from rumor.mechanisms.summary import Summary
from rumor.privacy.rounds import checked_rounds

QUESTION = {
    "id": "apps",
    "kind": "keyvalue",
    "keys": ["a", "b", "c"],
    "epsilon": 2.0,
    "mechanism": {"name": "privkvm", "rounds": 3},
}
FIRST = rumor.PrivKVM(keys=3, epsilon=2.0, rounds=3)


def people(count: int) -> np.ndarray:
    random = np.random.default_rng(1)
    held = random.random((count, 3)) < [0.1, 0.5, 0.9]
    return np.where(held, [-0.8, 0.5, 0.2], np.nan)


def collection() -> rumor.Collection:
    return rumor.Collection.resolve(_wish())


def test_the_budget_is_the_papers() -> None:
    """All of epsilon_1 in round 1, epsilon_2 / c in each; round 1 is PrivKV with these."""
    odds = [t / (2**64 - t) for t in (FIRST.key_truth, FIRST.value_truth)]
    assert odds == pytest.approx([math.exp(1.0), math.exp(1 / 3)])
    assert FIRST.epsilon == pytest.approx(1 + math.log(2 / (1 + math.exp(-1 / 3))))
    second = FIRST.next([0.0, 0.1, -0.4])
    assert second.key_truth == 2**63
    assert second.epsilon == pytest.approx(1 / 3)
    assert FIRST.epsilon_all_rounds(1) == pytest.approx(FIRST.epsilon + 2 / 3)
    assert FIRST.epsilon_all_rounds(1) <= 2.0
    assert FIRST.nominal_epsilon + 2 * second.nominal_epsilon == pytest.approx(2.0)


def test_published_means_become_the_made_up_values() -> None:
    second = FIRST.next([-1.0, 0.5, math.nan])
    steps = second.grid.steps
    assert second.fakes == (0, steps * 3 // 2, steps)
    assert second.next([5.0, -5.0, 0.0]).fakes == (2 * steps, 0, steps)


def test_rounds_pull_the_mean_of_rare_keys_away_from_zero() -> None:
    """Round 1 shrinks a rare key's mean to m f p1 / (f p1 + (1 - f) q1); later rounds undo it."""
    mechanism = rumor.PrivKVM(keys=3, epsilon=8.0, rounds=3)
    result, summaries = simulate_rounds(mechanism, people(300_000), random=rumor.Seeded(3))
    first = rumor.estimate(mechanism, summaries[0], method="calibration")
    assert abs(result.mean[0] + 0.8) < abs(first.mean[0] + 0.8)
    assert result.frequency == pytest.approx([0.1, 0.5, 0.9], abs=0.02)
    assert result.frequency == pytest.approx(first.frequency)
    last = summaries[2].mechanism
    assert isinstance(last, rumor.PrivKVM)
    again = rumor.estimate(last, summaries, method="calibration")
    assert again.mean == pytest.approx(result.mean)
    low, high = result.interval(quantity="mean")
    assert (low == -1).all()
    assert (high == 1).all()


def test_a_round_is_a_collection_that_names_its_parent() -> None:
    first = collection()
    mechanism = first.question().mechanism
    assert isinstance(mechanism, rumor.PrivKVM)
    found = rumor.estimate(mechanism, mechanism.privatize(people(5000), random=rumor.Seeded(1)))
    second = rumor.next_round(first, found)
    contract = json.loads(second.canonical())["questions"][0]
    assert contract["parent"] == first.digest
    assert contract["mechanism"]["round"] == 2
    assert contract["labels"] == ["a", "b", "c"]
    assert rumor.Collection.from_json(second.canonical()) == second
    third = rumor.next_round(second, found)
    assert [m.round for m in checked_rounds([first, second, third])] == [1, 2, 3]
    with pytest.raises(InputError, match="ends with round 3; got a request for round 4"):
        rumor.next_round(third, found)
    for order in ([second, first], [first, third], [first, second, second], [second]):
        with pytest.raises(InputError, match="once each, in order from 1"):
            checked_rounds(order)
    other = rumor.next_round(
        rumor.Collection.resolve({**_wish(), "contact": "someone else"}), found
    )
    with pytest.raises(InputError, match="must name the contract of round 1 as its parent"):
        checked_rounds([first, other])


def _wish() -> dict[str, object]:
    return {"name": "Apps", "series": "apps", "contact": "us", "questions": [QUESTION]}


def test_contracts_of_rounds_are_checked() -> None:
    first = collection()
    second = rumor.next_round(first, _zero_estimate(first))
    contract = json.loads(second.canonical())
    contract["questions"][0]["parent"] = None
    with pytest.raises(InputError, match="must name its parent unless it is the first"):
        rumor.Collection.from_contract(contract)
    contract["questions"][0]["parent"] = "abc"
    with pytest.raises(InputError, match="a digest of 64 hexadecimal digits"):
        rumor.Collection.from_contract(contract)
    contract = json.loads(first.canonical())
    contract["questions"][0]["parent"] = first.digest
    with pytest.raises(InputError, match="must name its parent unless it is the first"):
        rumor.Collection.from_contract(contract)


def _zero_estimate(first: rumor.Collection) -> rumor.KeyValueEstimate:
    mechanism = first.question().mechanism
    assert isinstance(mechanism, rumor.PrivKVM)
    return rumor.estimate(mechanism, mechanism.privatize(people(100), random=rumor.Seeded(1)))


def test_summaries_out_of_order_are_refused() -> None:
    second = FIRST.next([0.0, 0.0, 0.0])
    one, two = (
        Summary.empty(m).update(m.privatize(people(500), random=rumor.Seeded(5)))
        for m in (FIRST, second)
    )
    for order in ([two, one], [one, one], [two]):
        with pytest.raises(InputError, match="once each, in order from 1; got rounds"):
            rumor.estimate(FIRST, order)
    assert "none" in str(rumor.estimate(second, two))
    with pytest.raises(InputError, match='is estimated by "calibration"'):
        rumor.estimate(second, two, method="mle")
    with pytest.raises(InputError, match="starts with round 1"):
        simulate_rounds(second, people(10))
    with pytest.raises(InputError, match="one number for each of the 3 keys"):
        FIRST.next([0.0])
    with pytest.raises(InputError, match="only PrivKVM has rounds"):
        rumor.next_round(
            rumor.Collection.load("examples/app-usage.toml"), _zero_estimate(collection())
        )


def test_frequencies_of_later_rounds_are_not_made_up() -> None:
    second = FIRST.next([0.0, 0.0, 0.0])
    result = rumor.estimate(second, second.privatize(people(500), random=rumor.Seeded(5)))
    assert np.isnan(result.frequency).all()
    assert not result.frequency_known.any()
    with pytest.raises(InputError, match="learned from round 1"):
        _ = second.rates
    assert second.epsilon_all_rounds(1) == pytest.approx(2 * second.epsilon)
