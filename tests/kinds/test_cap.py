"""The cap of sets and of keys with numbers: what is said and covered where people exceed it."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import rumor
from rumor.mechanisms.cap_sampling import Kept
from rumor.mechanisms.select import SetSelect
from rumor.results.kept import FullSlots

KEYS, CAP = 8, 4
Held = NDArray[np.bool_]
CAPPED: dict[str, Any] = {"epsilon": 3.0, "cap": CAP, "over_cap": "sample"}


def keyed(kind: type, keys: int = KEYS, **further: Any) -> Any:
    return kind(keys=keys, **{**CAPPED, **further})


def selected(options: int = KEYS, **further: Any) -> Any:
    return SetSelect(domain=options, **{**CAPPED, "size": 3, **further})


EVERY = [
    pytest.param(keyed(rumor.KeySet), id="key-set"),
    pytest.param(keyed(rumor.KeySet, keys=14, size=3), id="key-set of 3"),
    pytest.param(keyed(rumor.ItemSampling), id="item-sampling"),
    pytest.param(keyed(rumor.PckvGrr), id="pckv-grr"),
    pytest.param(selected(), id="select"),
    pytest.param(selected(counted="pairs"), id="select with pairs"),
]


def size_of(mechanism: Any) -> int:
    return int(mechanism.domain if mechanism.kind == "set" else mechanism.keys)


def reports(mechanism: Any, held: Held, values: Any, seed: int) -> Any:
    """Reports of people who hold these things, keys with these values."""
    if mechanism.kind == "set":
        answers: Any = [tuple(np.flatnonzero(row).tolist()) for row in held]
    else:
        answers = np.where(held, values, np.nan)
    return mechanism.privatize(answers, random=rumor.Seeded(seed))


@pytest.mark.parametrize("mechanism", EVERY)
def test_a_share_of_ninety_per_cent_lies_in_the_interval_above_the_cap(mechanism: Any) -> None:
    """Everything is held by nine in ten and four are kept: the interval knows what it misses."""
    rng = np.random.default_rng(1)
    held = rng.random((20_000, size_of(mechanism))) < 0.9
    found = rumor.estimate(mechanism, reports(mechanism, held, 0.3, 1))
    low, high = found.interval()
    assert (low <= 0.9).all()
    assert (high >= 0.9).all()
    assert abs(float(found.unbiased.mean()) - CAP / size_of(mechanism)) < 0.02
    if found.values == range(KEYS) and mechanism.kind == "set" and found.pairs is not None:
        ends = found.pairs.interval()
        assert (ends[0] <= 0.81).all()
        assert (ends[1] >= 0.81).all()


def people(rng: np.random.Generator, things: int, count: int) -> tuple[Held, NDArray[np.float64]]:
    """Draw who holds what, and numbers that go with how much is held, by one of four rules."""
    rule = rng.integers(4)
    if rule == 0:  # all or nothing, which is as far as the bounds go
        held = np.repeat(rng.random((count, 1)) < rng.uniform(0.02, 1), things, axis=1)
    elif rule == 1:  # independently
        held = rng.random((count, things)) < rng.uniform(0.05, 0.95, things)
    elif rule == 2:  # most hold little, some a lot
        often = rng.gamma(0.5, 1, (count, 1)) * rng.uniform(0.05, 1, things)
        held = rng.random((count, things)) < often
    else:  # nobody above the cap
        held = np.argsort(rng.random((count, things)), axis=1) < rng.integers(
            0, CAP + 1, (count, 1)
        )
    size = held.sum(axis=1)
    numbers = np.where(size > CAP, rng.choice([-1.0, 0.0, 1.0]), rng.choice([-1.0, 0.5, 1.0]))
    return held, np.broadcast_to(numbers[:, None], held.shape)


@pytest.mark.parametrize("mechanism", EVERY[1:])
def test_intervals_cover_true_shares_and_means_whoever_exceeds_the_cap(mechanism: Any) -> None:
    """By rule-drawn crowds: no significantly lower coverage than 95 in a hundred of anything."""
    rng = np.random.default_rng(20261118)
    rounds, count, things = 40, 1500, size_of(mechanism)
    hits = {"share": 0, "mean": 0}
    cases = {"share": 0, "mean": 0}
    for seed in range(rounds):
        held, values = people(rng, things, count)
        found = rumor.estimate(mechanism, reports(mechanism, held, values, seed))
        truth = held.mean(axis=0)
        # People differ from their population by this much, which intervals of the population allow.
        low, high = found.interval()
        hits["share"] += int(((low <= truth) & (truth <= high)).sum())
        cases["share"] += things
        if mechanism.kind == "keyvalue" and held.any(axis=0).all():
            mean = np.where(held, values, 0).sum(axis=0) / held.sum(axis=0)
            low, high = found.interval(quantity="mean")
            hits["mean"] += int(((low <= mean + 1e-9) & (mean - 1e-9 <= high)).sum())
            cases["mean"] += things
    for name, hit in hits.items():
        # Things of one crowd go together: half as many cases count.
        if cases[name]:
            assert binom.cdf(hit // 2, cases[name] // 2, 0.95) > 0.005, (name, hit, cases[name])


@pytest.mark.parametrize("together", [1, 2])
def test_no_crowd_exceeds_the_reach_of_its_kept_shares(together: int) -> None:
    """Of any law over all sets of things: true shares lie between kept ones and their reach."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        things = int(rng.integers(3, 8))
        cap = int(rng.integers(2, things))
        sets = np.array(list(itertools.product([0, 1], repeat=things)), dtype=bool)
        law = rng.dirichlet(np.full(len(sets), rng.choice([0.01, 0.1, 1.0])))
        if rng.random() < 0.2:
            law = np.zeros(len(sets))
            law[0], law[-1] = 0.4, 0.6  # all or nothing
        size = sets.sum(axis=1)
        kept = np.minimum(1.0, cap / np.maximum(size, 1))
        full = float(law @ np.minimum(size, cap)) / cap
        slots = FullSlots(Kept("keys", "held", cap, things, 1, True), full, 0.0)
        if together == 1:
            members, chance = sets, kept
        else:
            members = sets[:, [0]] & sets[:, 1:]
            pairs = cap * (cap - 1) / np.maximum(size * (size - 1), 1)
            chance = np.minimum(1.0, pairs)
        true, seen = law @ members, (law * chance) @ members
        reach = slots.reach(seen, np.zeros(seen.size), together)
        assert (true >= seen - 1e-12).all()
        assert (true <= reach + 1e-12).all()
        if law[0] == 0.4:
            assert reach == pytest.approx(true)


@pytest.mark.parametrize("mechanism", EVERY)
@pytest.mark.parametrize("over_cap", ["sample", "refuse"])
def test_every_result_says_what_a_cap_does(mechanism: Any, over_cap: str) -> None:
    """Sets and keys alike: in tables, JSON, charts, comparisons, weighted groups and trends."""
    arguments = {**mechanism.parameters(), "over_cap": over_cap}
    made = type(mechanism).from_parameters(arguments)
    held = np.arange(size_of(made))[None, :] < np.arange(60)[:, None] % CAP
    groups = {name: reports(made, held, 0.3, seed) for seed, name in enumerate("abc")}
    things, verb = ("options", "chose") if made.kind == "set" else ("keys", "held")
    rule = f"of whoever {verb} more than {CAP} {things}, {CAP} were kept at random: "
    counted = f"{rule}only those are counted"
    ends = {
        "sample": ", and intervals allow for the others",
        "refuse": f", and intervals are right where nobody {verb} more",
    }[over_cap]

    found = rumor.estimate(made, groups["a"])
    assert counted + ends in found.table().replace("\n", " ")
    assert found.to_dict()["notes"] == [counted + ends]
    assert found.to_dict()["cap"] == CAP
    assert counted + ends in json.dumps(found.plot().to_dict())
    days = {f"2026-03-0{day}": group for day, group in enumerate(groups.values(), 1)}
    several: list[Any] = [
        rumor.compare(made, groups),
        rumor.weigh(made, groups, {"a": 1, "b": 1, "c": 2}),
        rumor.combine({name: (made, group) for name, group in groups.items()}),
        rumor.trend(made, days),
    ]
    for result in several:
        assert list(result.notes).count(counted) == 1
        assert result.to_dict()["notes"].count(counted) == 1
        assert counted in result.table().replace("\n", " ")


def test_nothing_is_said_of_a_cap_that_nobody_can_exceed() -> None:
    """A cap of every key, or none at all."""
    for made in (keyed(rumor.KeySet, keys=4), rumor.KeyValueBlock(keys=4, epsilon=1.0)):
        found = rumor.estimate(made, reports(made, np.ones((9, 4), dtype=bool), 0.3, 1))
        assert found.to_dict()["notes"] == []
        assert found.to_dict()["cap"] == 4
        assert "kept at random" not in found.table()
