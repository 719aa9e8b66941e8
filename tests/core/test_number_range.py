"""Ranges over the whole of double precision: what is accepted can be enumerated, anywhere.

A range that rounds to nothing, or whose scale overflows, once turned a number into NaN and a
noisy bit into the truth. So a range is refused, or every double has a step: ascending, from
0 to the last, the same one at a time, in bulk and in JavaScript.
"""

from __future__ import annotations

import functools
import itertools
import math
import struct
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumor
from rumor.core.errors import InputError
from rumor.core.exact import log_up
from rumor.core.number_range import NumberGrid
from rumor.mechanisms import Mechanism, from_description
from rumor.privacy.audit.enumeration import distribution
from tests.javascript import node
from tests.laws.laws import forced

LARGEST = math.nextafter(math.inf, 0)
# Where doubles end, thin out or change their ways, and the ends of what is accepted.
EDGES = [
    0.0, 5e-324, 2.2250738585072014e-308, 1e-305, 1e-160, 1e-101, 1e-100, 2.0**-53, 0.1, 1.0,
    math.nextafter(1.0, 2.0), 2.0**53, 1e16, 1e100, math.nextafter(1e100, math.inf), 1e154, 1e300,
    LARGEST, math.inf,
]  # fmt: skip
DOUBLES = st.one_of(
    st.floats(allow_nan=True),
    st.sampled_from(EDGES),
    st.sampled_from(EDGES).map(lambda edge: -edge),
)
NUMBERS = DOUBLES.filter(lambda number: not math.isnan(number))
STEPS = st.sampled_from([1, 2, 3, 7, 1000, 1 << 15, (1 << 20) - 1, 1 << 20])


@st.composite
def ranges(draw: st.DrawFn) -> tuple[float, float]:
    """Any two doubles, and pairs that go together: opposite, or next to each other."""
    low = draw(DOUBLES)
    shape = draw(st.sampled_from(["any", "opposite", "next", "above"]))
    if shape == "any":
        return low, draw(DOUBLES)
    if shape == "opposite":
        return -abs(low), abs(low)
    if shape == "next":
        return low, math.nextafter(low, math.inf)
    return low, low + abs(draw(DOUBLES))


def around(low: float, high: float) -> list[float]:
    """The ends, what lies next to them on both sides, and the middle."""
    ends = [f(end, to) for end in (low, high) for to in (-math.inf, math.inf)
            for f in (math.nextafter, lambda end, _: end)]  # fmt: skip
    return [*ends, low + (high - low) / 2, -math.inf, math.inf, 0.0, -0.0]


def accepted(low: float, high: float, step_count: int) -> NumberGrid | None:
    """The grid, or None where the range is refused in one sentence."""
    try:
        return NumberGrid.create(low, high, step_count, "clip")
    except InputError:
        return None


def test_which_ranges_are_accepted() -> None:
    """Both ends within 1e100 of zero, the higher at least 1e-100 above the lower."""
    good = [
        (0, 1e-100),
        (-1e100, 1e100),
        (1, math.nextafter(1.0, 2)),
        (-5e-324, 1.0),
        (1e99, 1e100),
    ]
    bad: list[tuple[object, object]] = [
        (0.0, 1e-305), (0.0, 5e-324), (-5e-324, 5e-324), (0.0, math.nextafter(1e-100, 0)),
        (1.0, 1.0), (1.0, 0.0), (0.0, math.nextafter(1e100, math.inf)), (-LARGEST, LARGEST),
        (math.nan, 1.0),
        (0.0, math.inf), (-math.inf, 0.0), (0, 10**9999), (True, 2.0), ("0", 1.0), (None, 1.0),
    ]  # fmt: skip
    for low, high in good:
        assert accepted(low, high, 1 << 20) is not None
    for wrong, end in bad:
        with pytest.raises(InputError):
            NumberGrid.create(wrong, end, 1 << 20, "clip")


@settings(max_examples=400)
@given(ranges(), STEPS, st.lists(NUMBERS, max_size=6))
def test_every_number_has_a_step(
    ends: tuple[float, float], step_count: int, more: list[float]
) -> None:
    """An integer from 0 to the last, ascending, and the nearest one up to rounding."""
    grid = accepted(*ends, step_count)
    if grid is None:
        return
    values = sorted([*around(*ends), *more])
    found = [grid.step(value) for value in values]
    assert all(type(step) is int and 0 <= step <= step_count for step in found)
    assert found == sorted(found)
    assert (grid.step(grid.low), grid.step(grid.high)) == (0, step_count)
    for value, step in zip(values, found, strict=True):
        inside = Fraction(min(max(value, grid.low), grid.high))
        exact = (inside - Fraction(grid.low)) / (Fraction(grid.high) - Fraction(grid.low))
        assert abs(step - exact * step_count) <= Fraction(1, 2) + Fraction(step_count, 1 << 50)
    # In bulk: a column, a table of pairs, and its compiled and its plain loop.
    column = np.array(values)
    assert grid.codes(column).tolist() == found
    pairs = rumor.KeyValueBlock(
        keys=1, epsilon=1.0, low=ends[0], high=ends[1], outside="clip", steps=step_count
    )
    keys = np.zeros((len(values), 1), dtype=np.int64)
    for path in ("plain", "compiled"):
        with forced(path):
            assert pairs.read(column[:, None]).at(0, keys)[:, 0].tolist() == found
    assert [pairs.layout.person({0: value})[0] for value in values] == found


@pytest.mark.parametrize("dtype", [np.float32, np.longdouble, np.int64, np.uint64])
def test_other_widths_of_numbers(dtype: Any) -> None:
    """Ends that a narrow type cannot hold, values that a double cannot: no warning, no NaN."""
    kind = np.dtype(dtype)
    largest = np.iinfo(kind).max if kind.kind in "iu" else np.finfo(kind).max
    smallest = np.iinfo(kind).min if kind.kind in "iu" else np.finfo(kind).min
    values = np.array([smallest, 0, 1, largest], dtype=kind)
    for low, high in ((-1e100, 1e100), (0.0, 1e-60), (-1.0, 1.0)):
        grid = NumberGrid.create(low, high, 1000, "clip")
        expected = [grid.step(value) for value in values]
        clip = rumor.Harmony(low=low, high=high, epsilon=1.0, steps=1000, outside="clip")
        assert clip.encode(values).tolist() == expected
        pairs = rumor.KeyValueBlock(
            keys=1, epsilon=1.0, low=low, high=high, steps=1000, outside="clip"
        )
        keys = np.zeros((4, 1), dtype=np.int64)
        assert pairs.read(values[:, None]).at(0, keys)[:, 0].tolist() == expected
    wide = rumor.KeyValueBlock(keys=1, epsilon=1.0, low=-1e100, high=1e100)
    if kind == np.float32:
        wide.privatize(values[:, None])  # no float32 lies outside


def small(ends: tuple[float, float], step_count: int) -> list[Mechanism]:
    """Every family of mechanisms for numbers, on one range and one key."""
    common: dict[str, Any] = {"low": ends[0], "high": ends[1], "outside": "clip"}
    common |= {"steps": step_count, "epsilon": 0.1}
    return [
        rumor.Harmony(**common),
        rumor.Piecewise(**common),
        rumor.KeyValueBlock(keys=1, **common),
        rumor.PrivKV(keys=1, **common),
        rumor.PrivKVM(keys=1, rounds=2, **common),
        rumor.ItemSampling(keys=1, cap=1, **common),
        rumor.PckvGrr(keys=1, cap=1, **common),
    ]


@settings(max_examples=40)
@given(ranges(), st.integers(1, 3), st.lists(NUMBERS, max_size=2))
def test_the_loss_is_at_most_epsilon(
    ends: tuple[float, float], step_count: int, more: list[float]
) -> None:
    """The reference draw, enumerated for these very numbers: no pair is told apart by more."""
    if accepted(*ends, step_count) is None:
        return
    by_step = {
        NumberGrid.create(*ends, step_count, "clip").step(v): v for v in [*around(*ends), *more]
    }
    for mechanism in small(ends, step_count):
        pairs = not isinstance(mechanism, rumor.Harmony | rumor.Piecewise)
        answers: Sequence[object] = list(by_step.values())
        answers = [{}, *({0: value} for value in answers)] if pairs else answers
        laws = [distribution(functools.partial(mechanism.draw, answer)) for answer in answers]
        for answer, law in zip(answers, laws, strict=True):
            assert sum(law.values()) == 1
            assert all(chance == mechanism.probability(r, answer) for r, chance in law.items())
        for one, other in itertools.permutations(laws, 2):
            assert set(one) == set(other)
            assert max(log_up(one[r] / other[r]) for r in one) <= mechanism.epsilon <= 0.1


def hexadecimal(number: float) -> str:
    return struct.pack(">d", number).hex()


def described(mechanism: Mechanism, ends: Sequence[object]) -> dict[str, object]:
    """What a contract says of a mechanism, with another range."""
    coded = [hexadecimal(end) if isinstance(end, float) else end for end in ends]
    return {**mechanism.describe(), "range": coded}


@settings(max_examples=6)
@given(
    st.lists(st.tuples(ranges(), STEPS, st.lists(NUMBERS, max_size=6)), min_size=30, max_size=60)
)
def test_javascript_agrees(cases: list[tuple[tuple[float, float], int, list[float]]]) -> None:
    """Which ranges are accepted, and where every number stands on them, for each family."""
    asked, expected = [], []
    for index, (ends, step_count, more) in enumerate(cases):
        model = small((-1.0, 1.0), step_count)[index % 7]
        values = [*around(*ends), *more] if all(map(math.isfinite, ends)) else more
        values = [value for value in values if not math.isnan(value)]
        asked.append(
            {"mechanism": described(model, ends), "values": [hexadecimal(v) for v in values]}
        )
        grid = accepted(*ends, step_count)
        try:
            from_description({**model.describe(), "range": list(ends)})
            assert grid is not None
        except InputError:
            assert grid is None
        expected.append(None if grid is None else [grid.step(value) for value in values])
    found = node("grid.mjs", given=asked)
    assert [None if isinstance(each, str) else each["steps"] for each in found] == expected


THRESHOLDS = [str((1 << 63) + i) for i in (-1, 0, 1)] + [str((1 << 64) - 1), str(1 << 64)]
ODD: list[object] = ["0", "1", "2", "01", "-1", "1.5", " 1", "", None, 5, *THRESHOLDS]
SIZES: list[object] = [-1, 0, 1, 2, 3, 5, 6, 1 << 20, (1 << 20) + 1, 1.5, "1", None, 10**30]


def changed_contracts() -> Iterator[dict[str, Any]]:
    """What contracts say of each family, with one number replaced by each odd one."""
    for model in small((0.0, 1.0), 2):
        plain: dict[str, Any] = model.describe()
        for key in sorted(set(plain) - {"name", "range", "outside"}):
            odd = ODD if isinstance(plain[key], str) and key != "over_cap" else SIZES
            for each in odd:
                yield {**plain, key: [each] if isinstance(plain[key], list) else each}


def test_contracts_with_other_thresholds_agree() -> None:
    """A contract with a number changed is refused in both languages, or means the same in both.

    Where it is accepted, the reference draw keeps the epsilon that the thresholds give.
    """
    asked, expected = list(changed_contracts()), []
    for changed in asked:
        try:
            mechanism = from_description(changed)
        except InputError:
            expected.append(math.nan)
            continue
        expected.append(mechanism.epsilon)
        if changed["steps"] < 4 and changed.get("keys", 1) == 1:
            laws = [distribution(functools.partial(mechanism.draw, a)) for a in mechanism.inputs()]
            for one, other in itertools.permutations(laws, 2):
                assert set(one) == set(other)
                assert max(log_up(one[r] / other[r]) for r in one) <= mechanism.epsilon
    cases = [{"mechanism": changed, "values": []} for changed in asked]
    found = [each if isinstance(each, dict) else {} for each in node("grid.mjs", given=cases)]
    epsilons = [each.get("epsilon", math.nan) for each in found]
    assert sum(map(math.isfinite, expected)) > 90
    assert epsilons == pytest.approx(expected, rel=1e-9, nan_ok=True)
