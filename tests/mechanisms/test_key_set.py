"""Key sets: the same loss for everybody, rates by enumeration, and estimates that they explain."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import rumor
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.kinds.keyvalue.question import key_value
from rumor.mechanisms.key_set import KeySet, best_size

SMALL = [
    KeySet(keys=d, cap=c, size=k, epsilon=e, steps=1, over_cap="sample")
    for d, c, k, e in ((3, 1, 2, 1.0), (3, 2, 2, 2.0), (2, 2, 2, 0.5), (4, 1, 3, 1.5))
]


def said(mechanism: KeySet, report: bytes) -> set[int]:
    return set(mechanism.items(np.frombuffer(report, np.uint8)[None])[0].tolist())


@pytest.mark.parametrize("mechanism", SMALL, ids=repr)
def test_as_many_sets_share_a_key_whatever_is_held(mechanism: KeySet) -> None:
    """By counting every set against own signed keys, dummies included."""
    outputs = [said(mechanism, row.tobytes()) for row in mechanism.outputs()]
    for value in mechanism.inputs():
        held = mechanism.held(value)
        if len(held) > mechanism.cap:
            continue
        own = {2 * key + (step == 0) for key, step in held}
        spare = range(mechanism.keys, mechanism.keys + mechanism.cap - len(held))
        own |= {2 * dummy for dummy in spare}
        assert len(own) == mechanism.cap
        sharing = sum(not own.isdisjoint(items) for items in outputs)
        assert (sharing, len(outputs) - sharing) == mechanism._sets


@pytest.mark.parametrize("mechanism", SMALL, ids=repr)
def test_rates_are_those_of_the_channel(mechanism: KeySet) -> None:
    """A key that is held with a plus, and one that is not, by everybody who keeps to the cap."""
    outputs = [row.tobytes() for row in mechanism.outputs()]
    rates, first = mechanism.rates, []
    for value in mechanism.inputs():
        assert isinstance(value, tuple)
        if sum(cell is not None for cell in value) > mechanism.cap:
            continue
        chances = [sum_of(mechanism, outputs, value, item) for item in (0, 1)]
        first.append(value[0])
        f = 0.0 if value[0] is None else 1.0
        s = 0.0 if value[0] is None else value[0]
        assert float(sum(chances)) == pytest.approx(rates.miss + rates.gain * f, rel=1e-12)
        assert float(chances[0] - chances[1]) == pytest.approx(rates.sign_gain * s, abs=1e-12)
    assert {None, -1.0, 1.0} == set(first)


def sum_of(
    mechanism: KeySet, outputs: list[bytes], value: tuple[object, ...], item: int
) -> Fraction:
    holding = (report for report in outputs if item in said(mechanism, report))
    return sum((mechanism.probability(report, value) for report in holding), Fraction())


def test_the_best_size_and_what_it_costs() -> None:
    """Sizes in bytes, and a share's variance under a fifth of item sampling's."""
    for cap, epsilon, size in ((29, 1.0, 18), (29, 3.0, 3), (19, 1.0, 27), (19, 3.0, 5)):
        assert best_size(1000, cap, math.exp(epsilon)) == size
        sets = KeySet(keys=1000, cap=cap, epsilon=epsilon)
        assert (sets.size, sets.width) == (size, 2 * size)
    arguments = {"keys": 1000, "cap": 29, "epsilon": 1.0}
    sets, one = KeySet(**arguments), rumor.ItemSampling(**arguments)  # type: ignore[arg-type]
    f = np.linspace(0.001, 0.1, 50)
    ours, theirs = (m.variances(f, 0.0, 1e6)[0].mean() for m in (sets, one))
    assert 5 * ours < theirs


def test_auto_takes_sets_where_few_of_many_keys_are_held() -> None:
    assert isinstance(key_value(1000, 1.0, cap=29), KeySet)
    assert isinstance(key_value(1000, 3.0, cap=10), KeySet)
    assert isinstance(key_value(50, 2.0, cap=16), rumor.ItemSampling)
    assert isinstance(key_value(1000, 1.0), rumor.KeyValueBlock)


def test_estimates_have_the_stated_variance() -> None:
    """8 crowds of 5,000 with 100 keys: squared errors over all keys, within 5 standard errors.

    Of 800 squares of numbers that are nearly normal, a mean has a relative error of 5 %.
    """
    mechanism = KeySet(keys=100, cap=4, epsilon=1.0, low=0.0, high=10.0)
    source, rng, people = Seeded(7), np.random.default_rng(7), 5_000
    share, products, truth = [], [], np.full(100, 0.04)
    for _ in range(8):
        # Everybody holds four keys that follow each other, at the high or at the low end.
        start = rng.integers(0, 25, people) * 4
        table = np.full((people, 100), np.nan)
        for place in range(4):
            table[np.arange(people), start + place] = 10.0 if place % 2 else 0.0
        found = rumor.estimate(
            mechanism, mechanism.privatize(table, random=source), method="inversion"
        )
        share.append(found.unbiased - truth)
        products.append(found.product - truth * np.resize([-1.0, 1.0], 100))
    expected = mechanism.variances(0.04, 1.0, people)
    for squares, variance in zip((share, products), expected, strict=True):
        ratio = float((np.array(squares) ** 2).mean() / variance)
        assert abs(ratio - 1) < 5 * math.sqrt(2 / 800)


def test_people_with_more_keys_than_the_cap_are_drawn_from() -> None:
    """Every two of three held keys are own equally often: by the model, and in bulk.

    60,000 people: each rate within 5 standard errors.
    """
    mechanism = KeySet(keys=3, cap=2, size=1, epsilon=3.0, steps=1, over_cap="sample")
    everything = (1.0, 1.0, 1.0)
    outputs = [row.tobytes() for row in mechanism.outputs()]
    chances = [float(sum_of(mechanism, outputs, everything, 2 * key)) for key in range(3)]
    assert chances[0] == chances[1] == chances[2]
    people = 60_000
    batch = mechanism.privatize(np.ones((people, 3)), random=Seeded(8))
    plus = mechanism.tally(batch)[::2] / people
    error = math.sqrt(chances[0] * (1 - chances[0]) / people)
    assert np.abs(plus - chances[0]).max() < 5 * error


def test_sets_are_checked() -> None:
    mechanism = KeySet(keys=300, cap=2, size=2, epsilon=1.0)

    def report(*items: int) -> bytes:
        return b"".join(item.to_bytes(2, "little") for item in items)

    good, wrong = [(0, 2), (1, 603), (600, 602)], [(2, 0), (0, 1), (0, 604), (4, 4)]
    assert mechanism.validate([report(*pair) for pair in good]).all
    for pair in wrong:
        assert not mechanism.validate([report(*pair)]).all, pair
    assert len(set(itertools.chain(good, wrong))) == len(good) + len(wrong)
    for size in (0, 129, 3.0):
        with pytest.raises(InputError, match="size must be an integer from 1 to 128"):
            KeySet(keys=300, cap=2, size=size, epsilon=1.0)  # type: ignore[arg-type]
    useless = {**mechanism.describe(), "truth": "1"}
    with pytest.raises(InputError, match="own keys likelier than others; got 1"):
        KeySet.from_parameters(useless)
