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
from rumor.papers.frequency import published_tables
from rumor.papers.keyvalue import data_set, draw_counts
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
    assert ((low <= [-0.8, 0.5, 0.2]) & (high >= [-0.8, 0.5, 0.2])).all()
    assert (high - low < [1.2, 0.2, 0.1]).all()


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


def drawn(
    mechanism: rumor.PrivKVM, f: np.ndarray, m: np.ndarray, count: int, random: np.random.Generator
) -> Summary:
    """Counts of one round, drawn without people, as PrivKVM's channel has them."""
    counts = draw_counts(mechanism, f, m, count, random)
    table = np.stack(
        [counts.trials - counts.plus - counts.minus, counts.plus, counts.minus], axis=1
    )
    return Summary(mechanism, count, table.reshape(-1))


def all_rounds(
    first: rumor.PrivKVM, f: np.ndarray, m: np.ndarray, count: int, random: np.random.Generator
) -> list[Summary]:
    """Counts of all rounds, each with the means of the one before."""
    found = [drawn(first, f, m, count, random)]
    while (last := found[-1].mechanism).round < last.rounds:
        assert isinstance(last, rumor.PrivKVM)
        means = rumor.estimate(last, found[-1], method="calibration").mean
        found.append(drawn(last.next(means), f, m, count, random))
    return found


@pytest.mark.parametrize(
    ("count", "epsilon", "rounds"),
    [(100, 4.0, 2), (600, 2.0, 3), (4_000, 6.0, 3), (50_000, 1.0, 2)],
)
def test_intervals_of_means_hold_the_truth_after_all_rounds(
    count: int, epsilon: float, rounds: int
) -> None:
    """From a few reports of a rare key to many of a common one: 95 % of them or more."""
    f = np.array([0.02, 0.1, 0.3, 0.7, 1.0])
    m = np.array([0.9, -1.0, 0.5, -0.2, 1.0])
    mechanism = rumor.PrivKVM(keys=5, epsilon=epsilon, rounds=rounds)
    random, runs, held = np.random.default_rng([17, count]), 250, np.zeros(5)
    for _ in range(runs):
        summaries = all_rounds(mechanism, f, m, count, random)
        result = rumor.estimate(mechanism, summaries, method="calibration")
        low, high = result.interval(0.95, quantity="mean")
        held += (low <= m) & (m <= high)
    # Three standard errors of 250 runs below 95 %.
    assert (held / runs >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)).all(), held / runs


def test_intervals_of_means_are_no_longer_than_they_need_to_be() -> None:
    """With many reports: the error of (y - a) / f by its first-order variance."""
    f, m = np.array([0.4, 0.8]), np.array([0.5, -0.3])
    mechanism = rumor.PrivKVM(keys=2, epsilon=6.0, rounds=2)
    count, random = 400_000, np.random.default_rng(4)
    summaries = all_rounds(mechanism, f, m, count, random)
    low, high = rumor.estimate(mechanism, summaries).interval(0.95, quantity="mean")
    last = summaries[1].mechanism
    assert isinstance(last, rumor.PrivKVM)
    made_up = np.array(last.fakes) / last.grid.steps - 1
    gain = 2 * last.value_truth / 2**64 - 1
    signs = gain * (f * m + (1 - f) * made_up)
    first = mechanism.key_truth / 2**64
    seen = 1 - first + (2 * first - 1) * f
    of_signs = (1 - signs**2) / (count / 4 * gain**2)
    of_shares = seen * (1 - seen) / (count / 2 * (2 * first - 1) ** 2)
    error = np.sqrt(of_signs + (m - made_up) ** 2 * of_shares) / f
    assert (high - low) / (2 * 1.96 * error) == pytest.approx(np.ones(2), abs=0.03)


@pytest.mark.parametrize(("data", "place"), [("gaussian", 4), ("linear", 6)])
def test_three_rounds_have_the_published_error_of_shares(data: str, place: int) -> None:
    """Cells of Tables 2 and 4 at epsilon 3 and 5, of 100,000 people: within trial error."""
    table = published_tables("privkv-em")
    published = table["by_epsilon"][data]["PrivKVM3"][place]
    f, m = data_set(data)
    mechanism = rumor.PrivKVM(keys=f.size, epsilon=table["epsilons"][place], rounds=3)
    random, errors = np.random.default_rng([5, place]), []
    for _ in range(30):
        result = rumor.estimate(
            mechanism, all_rounds(mechanism, f, m, 100_000, random), method="calibration"
        )
        errors.append(1e4 * float(np.mean((result.frequency - f) ** 2)))
    spread = float(np.std(errors, ddof=1))
    error = spread * math.sqrt(1 / 30 + 1 / table["trials"])
    assert abs(np.mean(errors) - published) < 3 * error
