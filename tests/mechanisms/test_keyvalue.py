"""Key-value mechanisms: exact privacy at known numbers, one law whatever form people come in."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumor
from rumor.core.pairs import StepTable, WideTable
from rumor.kinds.keyvalue.question import key_value
from rumor.mechanisms import KeyValueMechanism, from_description

Maker = Callable[..., KeyValueMechanism]


def sampling(**arguments: object) -> KeyValueMechanism:
    return rumor.ItemSampling(cap=2, over_cap="sample", **arguments)  # type: ignore[arg-type]


def pckv(**arguments: object) -> KeyValueMechanism:
    return rumor.PckvGrr(cap=2, over_cap="sample", **arguments)  # type: ignore[arg-type]


def exact_split(**arguments: object) -> KeyValueMechanism:
    return rumor.PrivKV(split="exact", **arguments)  # type: ignore[arg-type]


ALL: list[Maker] = [rumor.KeyValueBlock, rumor.PrivKV, exact_split, rumor.PrivKVM, sampling, pckv]


def names(maker: Maker) -> str:
    return maker.__name__


# --- Privacy --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nominal", "exact"),
    [
        (0.1, 0.0747),
        (0.5, 0.3672),
        (1.0, 0.7191),
        (2.0, 1.3799),
        (3.0, 1.9917),
        (4.0, 2.5662),
        (5.0, 3.1143),
    ],
)
def test_what_privkv_really_spends(nominal: float, exact: float) -> None:
    """eps/2 + ln(2 / (1 + e^(-eps/2))), by the exact channel (whose law the laws enumerate)."""
    mechanism = rumor.PrivKV(keys=50, epsilon=nominal)
    half = nominal / 2
    assert mechanism.epsilon == pytest.approx(half + math.log(2 / (1 + math.exp(-half))))
    assert mechanism.epsilon == pytest.approx(exact, abs=5e-5)
    assert mechanism.nominal_epsilon == pytest.approx(nominal)


def test_the_exact_split_spends_everything() -> None:
    e = math.e
    mechanism = rumor.PrivKV(keys=50, epsilon=1.0, split="exact")
    assert mechanism.epsilon == pytest.approx(1.0)
    assert mechanism.key_truth / 2**64 == pytest.approx((e + 1) / (e + 3))
    assert mechanism.value_truth / 2**64 == pytest.approx(e / (e + 1))
    nominal = rumor.PrivKV(keys=50, epsilon=1.0)
    for ours, theirs in zip(
        mechanism.variances(0.3, 0.2, 1e5), nominal.variances(0.3, 0.2, 1e5), strict=True
    ):
        assert float(ours) < float(theirs)


@settings(max_examples=60)
@given(st.floats(1e-6, 32.0), st.integers(2, 60), st.sampled_from(ALL))
def test_epsilon_is_a_ceiling(asked: float, keys: int, maker: Maker) -> None:
    mechanism = maker(keys=keys, epsilon=asked)
    assert 0 < mechanism.epsilon <= asked
    if not isinstance(mechanism, rumor.PrivKVM) and maker is not rumor.PrivKV:
        assert asked - mechanism.epsilon < 1e-4


def test_a_block_is_three_valued_response_for_each_key() -> None:
    """Per key e^eps' = (E + 3^(m-1) - 1) / 3^(m-1), whatever the block."""
    for block in (1, 2, 3):
        mechanism = rumor.KeyValueBlock(keys=50, epsilon=4.0, block=block)
        rates, e = mechanism.rates, math.exp(4.0)
        third = 3 ** (block - 1)
        total = e + 3**block - 1
        assert rates.miss == pytest.approx(2 * third / total)
        assert rates.gain == rates.sign_gain == pytest.approx((e - 1) / total)
        truth = rates.gain + rates.miss / 2
        assert truth / (rates.miss / 2) == pytest.approx((e + third - 1) / third)


def test_the_best_block_grows_with_epsilon() -> None:
    found = [rumor.KeyValueBlock(keys=50, epsilon=e).block for e in (0.1, 1.0, 2.0, 3.0, 4.0, 5.0)]
    assert found == [1, 1, 1, 2, 2, 3]
    assert rumor.KeyValueBlock(keys=1, epsilon=5.0).block == 1


def test_item_sampling_beats_pckv() -> None:
    """The same idea with Z = 2 d + E l instead of 2 d + (E + 1) l."""
    ours = rumor.ItemSampling(keys=50, epsilon=2.0, cap=10)
    theirs = rumor.PckvGrr(keys=50, epsilon=2.0, cap=10)
    e = math.exp(2.0)
    assert ours.rates.gain == pytest.approx((e - 1) / (100 + 10 * e))
    assert theirs.rates.gain == pytest.approx((e - 1) / (100 + 10 * (e + 1)))
    for a, b in zip(ours.variances(0.1, 0.5, 1), theirs.variances(0.1, 0.5, 1), strict=True):
        assert float(a) < float(b)


def test_key_value_chooses_by_the_variances() -> None:
    assert isinstance(key_value(50, 1.0), rumor.KeyValueBlock)
    assert isinstance(key_value(50, 1.0, cap=11), rumor.KeySet)
    assert isinstance(key_value(50, 1.0, cap=30), rumor.KeyValueBlock)
    assert isinstance(key_value(50, 2.0, cap=16), rumor.ItemSampling)
    assert isinstance(key_value(50, 0.5, cap=16), rumor.KeyValueBlock)


# --- One law, however people come -------------------------------------------------------------


@pytest.mark.parametrize("maker", ALL, ids=names)
def test_linear_estimates_are_unbiased_with_the_stated_variance(maker: Maker) -> None:
    """60 runs of 4,000 people: mean errors within 5 standard errors, by key and quantity.

    Variances of 60 runs of 4 keys, pooled: relative standard error sqrt(2/240) = 9 %.
    """
    mechanism = maker(keys=4, epsilon=2.0)
    random, source, people, runs = np.random.default_rng(5), rumor.Seeded(6), 4000, 60
    f, m = np.array([0.05, 0.3, 0.5, 0.9]), np.array([0.5, -1.0, 0.3, 0.0])
    if mechanism.name in ("item-sampling", "pckv-grr"):
        f = np.array([0.05, 0.3, 0.5, 0.0])  # at most the cap of two, by holding the others apart
    errors = []
    for _ in range(runs):
        draw = random.random((people, 4))
        if mechanism.name in ("item-sampling", "pckv-grr"):
            draw[:, 2] = draw[:, 1] + 0.3  # keys 1 and 2 never together
            draw[:, 2] = np.where((draw[:, 1] >= 0.3) & (draw[:, 1] < 0.8), 0.0, 1.0)
        table = np.where(draw < f, m, np.nan)
        result = rumor.estimate(
            mechanism, mechanism.privatize(table, random=source), method="inversion"
        )
        errors.append([result.unbiased - f, result.product - f * m])
    found = np.array(errors)
    expected = np.stack(mechanism.variances(f, m, people))
    scores = found.mean(axis=0) / np.sqrt(expected / runs)
    assert np.abs(scores).max() < 5
    ratio = (found**2).mean(axis=0) / expected
    assert abs(ratio.mean() - 1) < 5 * math.sqrt(2 / (runs * ratio.size))


@pytest.mark.parametrize("maker", ALL, ids=names)
def test_every_form_of_input_has_the_same_law(maker: Maker) -> None:
    """The same people as table, checked table, dicts and long columns: equal counts, nearly.

    Each pair of forms is compared by a chi-squared over the tally (p above 1e-6).
    """
    from scipy.stats import chi2_contingency

    mechanism = maker(keys=["a", "b", "c"], epsilon=3.0, low=0.0, high=4.0)
    people = [{"a": 1.0, "c": 4.0}, {}, {"b": 0.5}, {"a": 3.0, "b": 2.0}] * 2500
    nan = math.nan
    rows = [[1.0, nan, 4.0], [nan] * 3, [nan, 0.5, nan], [3.0, 2.0, nan]] * 2500
    table = np.array(rows)
    person = np.repeat(np.arange(10_000), 3)
    held = ~np.isnan(table.ravel())
    nobody = np.array([not any(held[i : i + 3]) for i in range(0, 30_000, 3)])
    keep = held | (np.repeat(nobody, 3) & (np.arange(30_000) % 3 == 0))
    labels = np.where(held, np.tile(["a", "b", "c"], 10_000), "")
    forms = [
        table,
        table.astype(np.float32),
        mechanism.checked(table),
        people,
        [tuple(None if math.isnan(v) else v for v in row) for row in rows],
        mechanism.long_pairs(person[keep], labels[keep], table.ravel()[keep]),
    ]
    tallies = [
        mechanism.tally(mechanism.privatize(form, random=rumor.Seeded(50 + i)))
        for i, form in enumerate(forms)
    ]
    for tally in tallies[1:]:
        both = np.stack([tallies[0], tally])
        assert chi2_contingency(both[:, both.sum(axis=0) > 0]).pvalue > 1e-6


def test_frames_of_the_usual_libraries() -> None:
    import pandas as pd  # type: ignore[import-untyped]
    import polars as pl
    import pyarrow as pa

    mechanism = rumor.KeyValueBlock(keys=["a", "b"], epsilon=1.0)
    wide = {"b": [0.5, None], "a": [None, -1.0]}
    long = {"person": ["x", "x", "y"], "key": ["a", "b", None], "value": [0.1, 0.2, None]}
    for frame in (pd.DataFrame, pl.DataFrame, pa.table):
        steps = mechanism.read(frame(wide)).at(0, np.array([[0, 1], [0, 1]]))
        assert (steps >= 0).tolist() == [[False, True], [True, False]]
        read = mechanism.read(frame(long))
        assert read.sizes().tolist() == [2, 0]


def test_values_lie_on_the_grid() -> None:
    mechanism = rumor.KeyValueBlock(keys=2, epsilon=1.0, low=0.0, high=1.0, steps=10)
    table = np.array([[0.0, 0.24], [0.26, 1.0], [np.nan, 0.55]])
    for pairs in (mechanism.read(table), mechanism.checked(table)):
        everything = np.broadcast_to(np.arange(2), (3, 2))
        assert pairs.at(0, everything).tolist() == [[0, 2], [3, 10], [-1, 6]]


def test_fine_grids_take_four_bytes_when_checked() -> None:
    table = np.array([[0.25, np.nan]])
    for steps, size in ((1 << 15, 2), (1 << 20, 4)):
        mechanism = rumor.KeyValueBlock(keys=2, epsilon=1.0, steps=steps)
        checked = mechanism.checked(table)
        assert isinstance(checked, StepTable)
        assert checked.cells.itemsize == size
        assert checked.at(0, np.array([[0, 1]])).tolist() == [[steps * 5 // 8, -1]]


def test_rejected_words_are_drawn_again() -> None:
    """Rows whose half words would bias the pick get whole ones: the few there are still vary."""
    mechanism = rumor.KeyValueBlock(keys=3, epsilon=1.0, steps=3)
    table = np.full((1, 3), 1.0)
    for pairs in (mechanism.read(table), mechanism.checked(table)):
        assert isinstance(pairs, (WideTable, StepTable))
        from rumor.core import pairs as module

        seen = set()
        for seed in range(40):
            keys, signs = np.array([9]), np.array([9])
            stream = rumor.Seeded(seed).stream()
            module._settle(pairs, stream, 0, np.array([0]), keys, signs)
            assert signs[0] == 1  # the top of the grid is always rounded up
            seen.add(int(keys[0]))
        assert seen == {0, 1, 2}


def test_labels_and_numbers_agree() -> None:
    plain = rumor.KeyValueBlock(keys=3, epsilon=1.0)
    named = plain.with_labels(["x", "y", "z"])
    assert named == plain
    one, two = {"z": 0.5}, {2: 0.5}
    assert named.report(one, random=rumor.Seeded(1)) == plain.report(two, random=rumor.Seeded(1))
    assert rumor.estimate(named, named.privatize([one])).values == ("x", "y", "z")


def test_reference_draws_are_pinned() -> None:
    """Other clients follow these words; a change here is a change of every report."""
    vectors = json.loads((Path(__file__).parents[1] / "vectors" / "numeric.json").read_text())[
        "vectors"
    ]
    assert len(vectors) == 84
    for vector in vectors:
        mechanism = from_description(vector["mechanism"])
        value = vector["value"]
        if isinstance(value, dict):
            value = {int(key): number for key, number in value.items()}
        source = rumor.Keyed(b"rumor test vector", *vector["context"])
        assert mechanism.report(value, random=source).hex() == vector["report"], vector["context"]
