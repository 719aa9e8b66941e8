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
from rumor.mechanisms.rappor.two_stage import TwoStageNoise
from rumor.privacy.integrity import bit_counts
from rumor.privacy.rounds import checked_rounds

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
    oracle.check_report_count(10**8)
    with pytest.raises(InputError, match="at most 1e11 hashes"):
        oracle.check_report_count(10**8 + 1)


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


def test_what_a_mechanism_does_not_have_is_refused() -> None:
    """By a sentence, whoever asks: no permanent answer, no rounds, no parent, no bits."""
    fresh = rumor.RandomizedResponse(domain=3, epsilon=1.0)
    key = rumor.Keyed(bytes(32), "edges")
    with pytest.raises(InputError, match="only mechanisms with permanent noise settle answers"):
        fresh.permanence.draw_permanent(1, person=key, noise=key)
    with pytest.raises(InputError, match="only mechanisms with permanent noise settle answers"):
        fresh.permanence.report_permanent(b"\1")
    once = rumor.PrivKV(keys=1, epsilon=1.0)
    with pytest.raises(InputError, match="only PrivKVM has rounds; got 'privkv'"):
        once.next([0.0])
    with pytest.raises(InputError, match="only a round of PrivKVM has a parent; got"):
        once.with_parent("0" * 64)
    assert once.with_parent(None) is once
    assert (fresh.rounds, fresh.round, once.parent) == (1, 1, None)
    with pytest.raises(InputError, match="reports that are bits; got those of 'randomized-resp"):
        bit_counts(fresh, fresh.privatize([1] * 1000, random=rumor.Seeded(1)))


def test_rounds_are_asked_of_mechanisms_that_have_them() -> None:
    wish = {"id": "a", "kind": "choice", "domain": 3, "epsilon": 1.0}
    one = rumor.Collection.resolve(
        {"name": "n", "series": "s", "contact": "c", "questions": [wish]}
    )
    name = one.question().mechanism.name
    with pytest.raises(InputError, match=f"in order from 1; got '{name}' in place 1"):
        checked_rounds([one])


def test_which_reports_support_values_and_which_are_bits() -> None:
    unary = rumor.UnaryEncoding(domain=9, epsilon=1.0)
    rappor = rumor.Rappor(bits=16, hashes=2, cohorts=300, f=0.5, p=0.25, q=0.75, key=b"key")
    mean = rumor.Harmony(epsilon=1.0)
    assert unary.oracle is unary
    assert rappor.oracle is None
    assert mean.oracle is None
    assert unary.bit_shape() == (9, 1, unary.miss, unary.hit, 0)
    assert rappor.bit_shape() == (16, 2, rappor.p_star, rappor.q_star, 2)
    assert mean.bit_shape() is None
    assert rumor.SubsetSelection(domain=9, epsilon=1.0).bit_shape() is None


def test_harmonys_mean_is_a_share_on_a_line() -> None:
    """The two ends of the line are the estimates of reports that are all 0 and all 1."""
    harmony = rumor.Harmony(low=10.0, high=20.0, epsilon=1.0)
    share = harmony.binomial(np.array([30]), 40)
    assert share.share == 0.75
    zero, one = harmony.estimates(harmony.outputs())
    assert (share.zero, share.one) == pytest.approx((zero, one))
    on_the_line = share.zero + (share.one - share.zero) * share.share
    assert on_the_line == pytest.approx(harmony.moments(np.array([30]), 40)[0])
    assert rumor.Piecewise(epsilon=1.0).binomial(np.array([30]), 40) is None
