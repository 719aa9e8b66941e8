"""Means of one number: exactly unbiased, with the variance that the closed form states."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumor
from rumor.core.errors import InputError
from rumor.mechanisms.mean import MeanMechanism, choose_mean

KINDS = (rumor.Harmony, rumor.Piecewise, rumor.Window)
SMALL = [
    kind(low=low, high=high, epsilon=epsilon, steps=steps)
    for kind in KINDS
    for low, high, epsilon, steps in ((-1.0, 1.0, 1.0, 4), (0.0, 24.0, 3.0, 9), (5.0, 6.0, 0.2, 3))
]


def one_report(mechanism: MeanMechanism) -> list[float]:
    """The unbiased estimate from each possible report on its own."""
    batch = mechanism.outputs()
    return [mechanism.moments(mechanism.tally(batch[i : i + 1]), 1)[0] for i in range(len(batch))]


@pytest.mark.parametrize("mechanism", SMALL, ids=repr)
def test_unbiased_and_variance_by_enumeration(mechanism: MeanMechanism) -> None:
    """Over the exact channel: the mean is the value, the variance the closed form."""
    estimates = one_report(mechanism)
    for value, row in zip(mechanism.inputs(), mechanism.channel().probabilities, strict=True):
        assert isinstance(value, float)
        chances = [float(p) for p in row]
        mean = math.fsum(p * e for p, e in zip(chances, estimates, strict=True))
        spread = math.fsum(p * (e - mean) ** 2 for p, e in zip(chances, estimates, strict=True))
        assert mean == pytest.approx(value, abs=1e-9 * mechanism.grid.span)
        assert spread == pytest.approx(float(mechanism.variance(value)), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_sampling_agrees_with_the_closed_form(kind: type[MeanMechanism], epsilon: float) -> None:
    """400 runs of 500 people: mean within 5 standard errors, variance within 5 of its own.

    The relative standard error of a variance of 400 normal numbers is sqrt(2/399) = 7 %.
    """
    mechanism = kind(low=-2.0, high=6.0, epsilon=epsilon)
    people, runs, value, source = 500, 400, 3.5, rumor.Seeded(11)
    batch = mechanism.privatize(np.full(people * runs, value), random=source)
    found = [
        mechanism.moments(mechanism.tally(batch[i * people : (i + 1) * people]), people)[0]
        for i in range(runs)
    ]
    expected = float(mechanism.variance(value, people))
    assert abs(np.mean(found) - value) < 5 * math.sqrt(expected / runs)
    assert abs(np.var(found, ddof=1) / expected - 1) < 5 * math.sqrt(2 / (runs - 1))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_published_variances(epsilon: float) -> None:
    """On [-1, 1]: Harmony's scale squared less v squared; Wang et al.'s formula (2019)."""
    half, e = math.exp(epsilon / 2), math.exp(epsilon)
    harmony, piecewise = rumor.Harmony(epsilon=epsilon), rumor.Piecewise(epsilon=epsilon)
    for v in (-1.0, 0.0, 0.6):
        scale = ((e + 1) / (e - 1)) ** 2
        assert float(harmony.variance(v)) == pytest.approx(scale - v * v, rel=1e-9)
        paper = v * v / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
        assert float(piecewise.variance(v)) == pytest.approx(paper, rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover(kind: type[MeanMechanism]) -> None:
    """300 runs at 95 %: coverage within 4.5 standard errors (1.26 % each) of the level."""
    mechanism = kind(low=0.0, high=10.0, epsilon=1.0)
    random, source, runs, hits = np.random.default_rng(1), rumor.Seeded(2), 300, 0
    for _ in range(runs):
        values = random.beta(2.0, 5.0, 400) * 10
        low, high = rumor.estimate(mechanism, mechanism.privatize(values, random=source)).interval()
        hits += low <= 10 * 2 / 7 <= high
    assert abs(hits / runs - 0.95) < 4.5 * math.sqrt(0.95 * 0.05 / runs)


@settings(max_examples=60)
@given(st.floats(1e-6, 32.0), st.sampled_from(KINDS), st.sampled_from([1, 7, 1 << 20]))
def test_epsilon_is_a_ceiling(asked: float, kind: type[MeanMechanism], steps: int) -> None:
    mechanism = kind(epsilon=asked, steps=steps)
    assert 0 < mechanism.epsilon <= asked
    assert asked - mechanism.epsilon < 1e-4


def test_auto_has_less_noise() -> None:
    """The piecewise mechanism's worst case is below Harmony's from epsilon 1.29 on (Wang et al.
    2019), and that of the window below both."""
    for epsilon, first, second in ((1.25, *KINDS[:2]), (1.33, rumor.Piecewise, rumor.Harmony)):
        worst = [kind(epsilon=epsilon).worst_variance for kind in (first, second)]
        assert worst[0] < worst[1]
        assert choose_mean(epsilon=epsilon).worst_variance < worst[0]


def test_harmony_has_the_scale_that_the_printed_mean_lacks() -> None:
    mechanism = rumor.Harmony(epsilon=1.0)
    reports = np.array([[1]] * 6 + [[0]] * 4, dtype=np.uint8)
    e = math.e
    assert rumor.estimate(mechanism, reports, method="inversion").mean == pytest.approx(
        0.2 * (e + 1) / (e - 1)
    )


def test_sums_of_large_outputs_are_exact() -> None:
    """The counters of binary digits give back sums of outputs and squares to the last unit."""
    mechanism = rumor.Piecewise(epsilon=0.1)
    outputs = np.array([0, 1, mechanism.alphabet - 1, 12345], dtype=np.int64)
    batch = outputs.astype("<u4").view(np.uint8).reshape(-1, 4)[:, : mechanism.width]
    counts = [int(c) for c in mechanism.tally(np.ascontiguousarray(batch))]
    digits = (mechanism.alphabet - 1).bit_length()
    assert sum(c << i for i, c in enumerate(counts[:digits])) == int(outputs.sum())
    assert sum(c << i for i, c in enumerate(counts[digits:])) == int((outputs**2).sum())


def test_answers_stay_in_the_range() -> None:
    mechanism = rumor.Harmony(low=0.0, high=1.0, epsilon=0.1)
    ones = np.ones((20, 1), dtype=np.uint8)
    clipped = rumor.estimate(mechanism, ones)
    assert clipped.mean == 1.0 < clipped.unbiased
    assert rumor.estimate(mechanism, ones, method="inversion").mean == clipped.unbiased
    low, high = clipped.interval()
    assert 0 <= low <= high == 1.0


def test_clipping_or_refusing() -> None:
    values = np.array([-5.0, 0.5, 99.0])
    with pytest.raises(
        InputError, match=r"values must lie in 0 to 1 .*; got one outside at index 0$"
    ):
        rumor.Harmony(low=0, high=1, epsilon=1).privatize(values)
    clip = rumor.Harmony(low=0, high=1, epsilon=1, outside="clip")
    assert clip.encode(values).tolist() == [0, 1 << 19, 1 << 20]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([0.5, math.nan], "values must be numbers; got 1 missing"),
        (["a"], "values must be numbers; got a text at index 0$"),
        ([True], "values must be numbers; got a boolean at index 0$"),
        ([], "empty"),
        (np.zeros((2, 2)), "one column"),
        ([math.inf], "values must lie in"),
    ],
)
def test_bad_values(values: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        rumor.Piecewise(epsilon=1.0).privatize(values)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"low": 1.0, "high": 1.0}, "low must be below high; got 1.0 and 1.0"),
        ({"low": math.nan}, "low must be a finite number; got nan"),
        ({"high": "x"}, "high must be a finite number; got 'x'"),
        ({"outside": "wrap"}, "outside must be one of refuse, clip; got 'wrap'"),
        ({"steps": 0}, "steps must be an integer from 1"),
        ({"epsilon": 0}, "epsilon must be a number above 0"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], sentence: str) -> None:
    for kind in KINDS:
        with pytest.raises(InputError, match=sentence):
            kind(**{"epsilon": 1.0, **arguments})  # type: ignore[arg-type]


def test_methods_are_listed() -> None:
    mechanism = rumor.Harmony(epsilon=1.0)
    with pytest.raises(InputError, match="method must be one of auto, inversion, clip for harmony"):
        rumor.estimate(mechanism, mechanism.privatize([0.0]), method="em")


def test_presentation() -> None:
    mechanism = rumor.Harmony(low=0.0, high=10.0, epsilon=1.0)
    result = rumor.estimate(
        mechanism, mechanism.privatize(np.full(9000, 4.0), random=rumor.Seeded(1))
    )
    assert "range" in str(result)
    assert "9,000 reports" in str(result)
    assert result.to_arrow().num_rows == 1
    assert result.to_csv().splitlines()[0] == "value,mean,low,high,unbiased,stderr"
    rows = result.to_dict()["estimates"]
    assert isinstance(rows, list)
    assert rows[0]["mean"] == result.mean
    assert "4" in str(result.plot().to_dict())


def test_threshold_of_a_step_is_exact() -> None:
    """The bulk arithmetic in 64 bits is that of the model, at every kind of step."""
    mechanism = rumor.Harmony(epsilon=0.7, steps=999_983)
    assert mechanism.threshold(0) == mechanism.lie
    assert mechanism.threshold(999_983) == mechanism.truth
    gain = Fraction(mechanism.truth - mechanism.lie)
    assert mechanism.threshold(333_333) == mechanism.lie + math.floor(gain * 333_333 / 999_983)
