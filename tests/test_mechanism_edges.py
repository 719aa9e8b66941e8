"""Small facts of mechanisms that no law over examples can see: rounding, choices, refusals."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
import pytest

import rumor
from rumor.core.errors import InputError
from rumor.core.exact import WORD
from rumor.mechanisms import FrequencyOracle
from rumor.mechanisms.two_stage import TwoStageNoise

THIRD, SEVENTH = Fraction(1, 3), Fraction(1, 7)


def test_explicit_probabilities_are_rounded_towards_privacy() -> None:
    """Chances of telling the truth down, chances of lying up; a third is no threshold."""
    unary = rumor.UnaryEncoding(domain=3, p=THIRD, q=SEVENTH)
    assert unary.own == math.floor(THIRD * WORD) < THIRD * WORD
    assert unary.other == math.ceil(SEVENTH * WORD) > SEVENTH * WORD
    noise = TwoStageNoise.of(THIRD, SEVENTH, 1 - SEVENTH)
    assert noise.flip == math.ceil(THIRD / 2 * WORD) > THIRD / 2 * WORD
    assert noise.low == math.ceil(SEVENTH * WORD) > SEVENTH * WORD
    assert noise.high == math.floor((1 - SEVENTH) * WORD) < (1 - SEVENTH) * WORD
    assert noise.f == pytest.approx(1 / 3)


def test_a_ceiling_on_explicit_probabilities_is_kept() -> None:
    loss = math.log(0.75 * 0.5 / (0.5 * 0.25))  # p (1 - q) / (q (1 - p))
    rumor.UnaryEncoding(domain=3, p=0.75, q=0.5, epsilon=loss + 1e-9)
    with pytest.raises(InputError, match="must keep the loss within epsilon"):
        rumor.UnaryEncoding(domain=3, p=0.75, q=0.5, epsilon=loss - 1e-9)
    with pytest.raises(InputError, match="q must be below p"):
        rumor.UnaryEncoding(domain=3, p=0.5, q=0.5)
    basic = functools.partial(rumor.mechanisms.BasicRappor, domain=3, f=0.0, p=0.5, q=0.75)
    basic(epsilon=loss + 1e-9)
    with pytest.raises(InputError, match="must keep the loss within epsilon"):
        basic(epsilon=loss - 1e-9)


@pytest.mark.parametrize("variant", ["symmetric", "optimized"])
def test_variants_of_unary_encoding_spend_epsilon(variant: str) -> None:
    oracle = rumor.UnaryEncoding(domain=5, epsilon=1.5, variant=variant)  # type: ignore[arg-type]
    assert oracle.epsilon == pytest.approx(1.5, abs=1e-12)
    half = math.exp(0.75)
    expected = half / (1 + half) if variant == "symmetric" else 0.5
    assert oracle.p == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("p", "q"), [(0, 0.75), (0.25, 1), (0, 1)])
def test_noise_that_proves_a_bit_is_refused(p: float, q: float) -> None:
    """Without permanent noise a 1 proves the bit when p is 0, and a 0 its absence when q is 1."""
    with pytest.raises(InputError, match="a report must be noisy"):
        TwoStageNoise.of(0, p, q)
    assert TwoStageNoise.of(0.5, p, q).permanent


def test_dispersion_is_that_of_the_channel() -> None:
    """P(two values supported together) over P(one)^2, all values equally frequent."""
    for oracle in (*rumor.SubsetSelection.examples()[1:3], rumor.RandomizedResponse.examples()[1]):
        z = np.array([oracle.forward(oracle.outputs(), unit) for unit in np.eye(oracle.domain)])
        chances = oracle.channel().matrix().mean(axis=0)
        together, single = float(chances @ (z[0] * z[1])), float(chances @ z[0])
        assert together / single**2 == pytest.approx(oracle.dispersion, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_free_choices_have_the_least_variance(epsilon: float) -> None:
    """Sizes, buckets and blocks that nobody said: none of their neighbours has less noise."""
    domain = 40

    def noise(oracle: FrequencyOracle) -> float:
        return float(np.mean(oracle.variance(np.full(domain, 1 / domain), 1)))

    chosen = rumor.SubsetSelection(domain=domain, epsilon=epsilon)
    for size in range(1, domain):
        other = rumor.SubsetSelection(domain=domain, epsilon=epsilon, size=size)
        assert noise(chosen) <= noise(other) * (1 + 1e-12)
    hashing = rumor.LocalHashing(domain=domain, epsilon=epsilon)
    for buckets in range(2, 80):
        theirs = rumor.LocalHashing(domain=domain, epsilon=epsilon, buckets=buckets)
        assert hashing.variance(0.0, 1) <= theirs.variance(0.0, 1) * (1 + 1e-12)
    blocks = rumor.HadamardResponse(domain=domain, epsilon=epsilon)
    for count in (1, 2, 4, 8, 16, 32):
        many = rumor.HadamardResponse(domain=domain, epsilon=epsilon, blocks=count)
        assert noise(blocks) <= noise(many) * 1.1  # chosen as if all blocks were full


def test_bucket_edges_are_those_of_the_hash() -> None:
    """The first hash of each bucket and the one before it, by the scalar hash."""
    oracle = rumor.LocalHashing(domain=10, epsilon=1.0, buckets=7)
    starts, spans = oracle._edges
    for bucket, (start, span) in enumerate(zip(starts.tolist(), spans.tolist(), strict=True)):
        for hashed in (start, start + span):
            seed = bytes(4) + hashed.to_bytes(4, "little")  # a = 0: every value's hash is b
            assert oracle.bucket(seed, 3) == bucket
        report = np.frombuffer(seed + bytes([bucket]), dtype=np.uint8)[None, :]
        assert oracle.tally(report).tolist() == [1] * 10
    assert int(starts[-1]) + int(spans[-1]) == (1 << 32) - 1


def test_too_many_hashes_are_refused() -> None:
    oracle = rumor.LocalHashing(domain=1000, epsilon=1.0)
    oracle.admit(10**8)
    with pytest.raises(InputError, match="at most 1e11 hashes"):
        oracle.admit(10**8 + 1)


def test_who_holds_more_than_the_cap_is_refused() -> None:
    for kind in (rumor.ItemSampling, rumor.PckvGrr):
        mechanism = kind(keys=4, epsilon=1.0, cap=2)
        full = [{0: 0.5, 1: 0.5}]
        mechanism.privatize(full, random=rumor.Seeded(1))
        with pytest.raises(InputError, match="at most 2 keys"):
            mechanism.privatize([{0: 0.5, 1: 0.5, 2: 0.5}])


def test_mechanisms_are_equal_when_their_descriptions_are() -> None:
    one = rumor.Harmony(epsilon=1.0)
    assert one == rumor.Harmony(epsilon=1.0)
    assert one != rumor.Harmony(epsilon=1.1)
    assert one != rumor.Piecewise(epsilon=1.0)
