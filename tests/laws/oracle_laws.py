"""What must hold for every frequency oracle, beside the laws of all mechanisms.

Support is read off the channel: a report supports the values to which it gives the larger
of its two probabilities. Everything an oracle computes by shortcuts (packed bits, Hadamard
transforms, hashes) is held to that explicit matrix, in exact arithmetic where it can be.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.core.reports import Reports
from rumor.core.types import Target, Vector
from rumor.estimators.frequency.linear import MENDING
from rumor.kinds.estimating import estimate
from rumor.mechanisms import FrequencyOracle
from rumor.mechanisms.summary import Summary
from tests.laws.chance import UNLIKELY, chi_squared
from tests.laws.laws import (
    forced,
    law_epsilon_is_exact,
    levels,
    refused,
    rows,
    some_inputs,
)

OracleLaw = Callable[[FrequencyOracle], None]
Matrix = NDArray[np.bool_]


def codes_of(oracle: FrequencyOracle) -> list[int]:
    """The columns of the explicit matrix: the values that the channel is written out for."""
    return [oracle.code(value) for value in rows(oracle)]


def rates_vary(oracle: FrequencyOracle) -> bool:
    """Whether values differ in how often their own people support them."""
    return any(np.ndim(rate) > 0 for rate in oracle.rates)


def is_public(oracle: FrequencyOracle) -> bool:
    """Whether reports begin with public randomness, over which facts hold only on average."""
    return list(oracle.publics()) != [b""]


def support(oracle: FrequencyOracle, public: bytes) -> Matrix:
    """The support matrix of all outputs (rows) and values (columns), from the channel."""
    outputs = oracle.outputs(public)
    _, index = levels(oracle, public)
    matrix: Matrix = index == index.max(axis=1, keepdims=True)
    # Where a report gives all values one probability it supports all or none: the channel
    # alone cannot say which, so the oracle must, and the law of hit and miss holds it to it.
    for y in np.flatnonzero(matrix.all(axis=1)):
        matrix[y] = _asked(oracle, outputs[y])
    return matrix


def _asked(oracle: FrequencyOracle, report: Reports) -> bool:
    """Whether a report supports the values of the matrix, which it must treat alike."""
    units = (np.eye(1, oracle.domain, code)[0] for code in codes_of(oracle))
    answers = {float(oracle.forward(report[None], unit)[0]) for unit in units}
    assert answers in ({0.0}, {1.0}), "values of equal likelihood are not supported alike"
    return answers == {1.0}


def law_reports_have_two_likelihoods(oracle: FrequencyOracle) -> None:
    """A report's probability takes at most two values over the domain, `odds` apart.

    Where reports differ in odds, they say all their likelihoods, and `odds` is the largest.
    """
    apart = False
    for public in oracle.publics():
        chances, index = levels(oracle, public)
        for column in np.unique(index, axis=0):
            high, low = int(column.max()), int(column.min())
            assert set(column.tolist()) <= {high, low}, "a report has a third likelihood"
            odds = chances[high] / chances[low]
            if rates_vary(oracle):
                assert odds <= oracle.exact_odds, "odds is not the largest ratio"
            else:
                assert odds in (1, oracle.exact_odds), "odds is not the ratio"
            apart |= odds == oracle.exact_odds
    assert apart, "no report has the odds"
    if rates_vary(oracle):
        ours = oracle.likelihood_rows(oracle.outputs())
        assert ours is not None
        np.testing.assert_allclose(ours, oracle.channel().matrix().T, rtol=1e-15)
    assert oracle.odds == float(oracle.exact_odds) > 1


def law_output_chances(oracle: FrequencyOracle) -> None:
    """The chances of outputs among people of any distribution are those of the channel."""
    if is_public(oracle) or oracle.domain > 50:
        return
    law = np.random.default_rng(209).dirichlet(np.ones(oracle.domain))
    np.testing.assert_allclose(
        oracle.output_chances(law), law @ oracle.channel().matrix(), rtol=1e-9
    )


def law_forward_and_adjoint(oracle: FrequencyOracle) -> None:
    """Zh, Z'w and the support counts are those of the explicit matrix, by both loops."""
    draw = np.random.default_rng(201)
    codes = codes_of(oracle)
    for public in oracle.publics():
        outputs, z = oracle.outputs(public), support(oracle, public)
        picks = draw.integers(0, len(outputs), 400 if oracle.domain <= 1000 else 40)
        batch, explicit = outputs[picks], z[picks].astype(np.float64)
        h, w = np.zeros(oracle.domain), draw.normal(size=picks.size)
        h[codes] = draw.normal(size=len(codes))
        full = draw.normal(size=oracle.domain)
        for path in ("plain", "compiled"):
            with forced(path):
                np.testing.assert_allclose(oracle.forward(batch, h), explicit @ h[codes], atol=1e-9)
                weights = oracle.adjoint(batch, w)
                np.testing.assert_allclose(weights[codes], w @ explicit, atol=1e-9)
                assert weights.shape == (oracle.domain,)
                # The two are each other's transpose on the whole domain.
                np.testing.assert_allclose(
                    weights @ full, w @ oracle.forward(batch, full), rtol=1e-9, atol=1e-7
                )
                counts = oracle.support_counts(oracle.tally(batch))
                assert counts[codes].tolist() == explicit.sum(axis=0).tolist()
                ones = oracle.adjoint(batch, np.ones(picks.size))
                np.testing.assert_allclose(ones, counts, atol=1e-9)


def law_hit_and_miss(oracle: FrequencyOracle) -> None:
    """P(x supported | x) and P(x supported | another) are those of the channel, exactly.

    Where `miss` differs from pair to pair it is their mean. Where it is an average over
    public randomness, samples have to do. Where both differ from value to value, `rates` has
    each of them, and these are their means.
    """
    assert oracle.hit == float(oracle.exact_hit)
    assert oracle.miss == float(oracle.exact_miss)
    if rates_vary(oracle):
        chances, z = oracle.channel().matrix(), support(oracle, b"")
        supported = chances @ z
        own, others = (np.asarray(rate) for rate in oracle.rates)
        np.testing.assert_allclose(own, np.diag(supported), rtol=1e-12)
        np.testing.assert_allclose(others, np.diag(supported[::-1]), rtol=1e-12)
        np.testing.assert_allclose([oracle.hit, oracle.miss], [own.mean(), others.mean()])
        assert oracle.domain == 2
        return
    assert oracle.exact_hit > oracle.exact_miss, "nothing could be learned"
    for public in oracle.publics():
        z = support(oracle, public)
        for x, row in enumerate(rows(oracle, public).values()):
            hit = sum((p for p, yes in zip(row.values(), z[:, x], strict=True) if yes), Fraction())
            assert hit == oracle.exact_hit, "hit is not the channel's"
    if is_public(oracle):
        _sampled_miss(oracle)
        return
    if oracle.domain > 50:
        return  # a sum of fractions for every pair of values would take long
    misses = [
        sum((p for p, yes in zip(row.values(), z[:, x], strict=True) if yes), Fraction())
        for held, row in enumerate(rows(oracle).values())
        for x in range(z.shape[1])
        if x != held
    ]
    if type(oracle).unbiased is FrequencyOracle.unbiased:
        assert set(misses) == {oracle.exact_miss}, "miss is not the channel's"
    else:
        assert sum(misses) / len(misses) == oracle.exact_miss, "miss is not the mean"


def _sampled_miss(oracle: FrequencyOracle) -> None:
    first, last = some_inputs(oracle, 2)
    people = 20_000 if oracle.domain <= 1000 else 2_000  # every one is hashed with every value
    batch = oracle.privatize([first] * people, random=Seeded(202))
    for value, chance in ((first, oracle.hit), (last, oracle.miss)):
        unit = np.eye(1, oracle.domain, oracle.code(value))[0]
        seen = round(float(oracle.forward(batch, unit).sum()))
        p = chi_squared([seen, people - seen], [chance, 1 - chance])
        assert p > UNLIKELY, f"support of {value!r} has another rate than {chance}: p = {p:.3g}"


def _single_estimates(oracle: FrequencyOracle, outputs: Reports) -> NDArray[np.float64]:
    """The unbiased estimate from each output alone."""
    return np.array([oracle.unbiased(oracle.tally(row[None]), 1) for row in outputs])


def law_unbiased(oracle: FrequencyOracle) -> None:
    """When everybody holds x, the estimate has mean 1 at x and 0 elsewhere, exactly.

    It is also the mean of the estimates of single reports, so this settles every n and
    every mixture of values.
    """
    draw = np.random.default_rng(203)
    outputs = oracle.outputs(oracle.publics()[0])
    single = _single_estimates(oracle, outputs)
    picks = draw.integers(0, len(outputs), 50)
    batch = oracle.unbiased(oracle.tally(outputs[picks]), picks.size)
    scale = float(np.abs(single).max())
    np.testing.assert_allclose(batch, single[picks].mean(axis=0), atol=1e-12 * scale, rtol=1e-9)
    if is_public(oracle):
        return  # law_hit_and_miss and the seeded runs of test_statistics.py stand in for it
    for value, row in rows(oracle).items():
        truth = np.eye(1, oracle.domain, oracle.code(value))[0]
        chances = np.array([float(p) for p in row.values()])
        np.testing.assert_allclose(chances @ single, truth, atol=1e-12 * scale)


def law_variance(oracle: FrequencyOracle) -> None:
    """`variance` is the channel's own, for sampled and for fixed people, at several truths."""
    if is_public(oracle) or oracle.domain > 50:
        return  # the matrix of squares would be too large, or is not one matrix
    draw = np.random.default_rng(204)
    single = _single_estimates(oracle, oracle.outputs())
    chances = oracle.channel().matrix()
    means, squares = chances @ single, chances @ single**2
    d = oracle.domain
    truths = [np.full(d, 1 / d), np.eye(d)[0], np.eye(d)[-1], *draw.dirichlet(np.ones(d), 3)]
    for f in truths:
        exact: dict[Target, Vector] = {
            "population": f @ squares - (f @ means) ** 2,
            "people": f @ (squares - means**2),
        }
        for of, variance in exact.items():
            for n in (1, 1000):
                ours = oracle.variance(f, n, of)
                np.testing.assert_allclose(ours, variance / n, rtol=1e-7, atol=1e-15)


def law_views_agree(oracle: FrequencyOracle) -> None:
    """The other forms in which estimators take reports and tallies say the same."""
    draw = np.random.default_rng(208)
    for public in oracle.publics():
        outputs, z = oracle.outputs(public), support(oracle, public)
        picks = draw.integers(0, len(outputs), 200)
        batch, codes = outputs[picks], codes_of(oracle)
        bitmaps, lists = oracle.bitmaps(batch), oracle.lists(batch)
        if bitmaps is not None:
            lanes = np.unpackbits(bitmaps, axis=1, count=oracle.domain, bitorder="little")
            assert (lanes[:, codes] == z[picks]).all()
            assert not np.unpackbits(bitmaps, axis=1, bitorder="little")[:, oracle.domain :].any()
        if lists is not None:
            for members, row in zip(lists.tolist(), z[picks], strict=True):
                assert len(set(members)) == len(members)
                assert [code in members for code in codes] == row.tolist()
        if oracle.tally_is_lossless:
            assert oracle.tally_size == oracle.alphabet
            assert oracle.tally(outputs).tolist() == [1] * oracle.alphabet
            assert (
                oracle.tally(batch).tolist()
                == np.bincount(picks, minlength=oracle.alphabet).tolist()
            )
        tally, n = oracle.tally(batch), len(batch)
        unbiased = oracle.unbiased(tally, n)
        scale = 1e-9 * float(np.abs(unbiased).max())
        by_item = oracle.item_channel(tally, n).unbiased
        np.testing.assert_allclose(by_item, unbiased, rtol=1e-9, atol=scale)
        score = oracle.score(tally, n)
        np.testing.assert_allclose(score.excess / score.gain, unbiased, rtol=1e-9, atol=scale)
        if type(oracle).score is FrequencyOracle.score:
            for of, (v0, v1, v2) in score.spread.items():
                for f in (0.0, 0.1, 1.0):
                    spread = v0 + v1 * f + v2 * f * f
                    exact = oracle.variance(np.full(oracle.domain, f), 1, of) * score.gain**2
                    np.testing.assert_allclose(spread, exact, rtol=1e-9)
        if not is_public(oracle) and len(outputs) <= 1000:
            most = _single_estimates(oracle, outputs).max()
            np.testing.assert_allclose(most, oracle.poisoning.gain(1, 1), rtol=1e-9)


def law_labels_and_integers_agree(oracle: FrequencyOracle) -> None:
    """Labels change what values are called and nothing else."""
    labels = [f"value {i}" for i in range(oracle.domain)]
    named = oracle.with_labels(labels)
    codes = codes_of(oracle) * 20
    ours = oracle.privatize(codes, random=Seeded(205))
    theirs = named.privatize([labels[code] for code in codes], random=Seeded(205))
    assert ours.tobytes() == theirs.tobytes()
    unnamed = named.without_labels().privatize(codes, random=Seeded(205))
    assert unnamed.tobytes() == ours.tobytes()
    # Where values have names, integers are names too, and never positions.
    last = oracle.domain - 1
    backwards = oracle.with_labels([str(last - i) for i in range(oracle.domain)])
    turned = backwards.privatize([last - code for code in codes], random=Seeded(205))
    assert turned.tobytes() == ours.tobytes()
    assert "labels" in refused(lambda: named.privatize(codes))
    assert oracle.report(codes[-1], random=Seeded(1)) == named.report(
        labels[codes[-1]], random=Seeded(1)
    )
    plain, called = estimate(oracle, ours), estimate(named, theirs)
    assert list(plain.values) == list(range(oracle.domain))
    assert list(called.values) == labels
    assert plain.frequency.tolist() == called.frequency.tolist()
    assert named.labels == tuple(labels)
    assert named == oracle, "labels are the contract's, not the mechanism's"
    assert named.with_labels(None).labels is None
    # A permanent answer is of a label: asked for before or after, other labels are another cell.
    assert (
        oracle.permanence.memo_digest
        != named.permanence.memo_digest
        != backwards.permanence.memo_digest
    )
    assert named.with_labels(oracle.labels).permanence.memo_digest == oracle.permanence.memo_digest
    assert "label" in refused(lambda: named.privatize(["value -1"]))
    assert "no labels" in refused(lambda: oracle.privatize(["value 0"]))
    refused(lambda: oracle.with_labels(labels[:-1]))
    for wrong in (-1, oracle.domain, 0.0, True, None):
        refused(functools.partial(named.report, wrong))


def law_relabelling_relabels(oracle: FrequencyOracle) -> None:
    """Calling the values by other names permutes the estimate and changes nothing in it."""
    draw = np.random.default_rng(206)
    order = draw.permutation(oracle.domain)
    batch = oracle.privatize(some_inputs(oracle, 5) * 40, random=Seeded(207))
    labels = [f"value {i}" for i in range(oracle.domain)]
    one = estimate(oracle.with_labels(labels), batch)
    two = estimate(oracle.with_labels([labels[i] for i in order]), batch)
    by_name = dict(zip(two.values, two.frequency.tolist(), strict=True))
    assert by_name == dict(zip([labels[i] for i in order], one.frequency.tolist(), strict=True))
    permuted = _permuted_summary(oracle, batch, order)
    if permuted is None:
        return  # no other summary of this mechanism means the permuted people
    for method in MENDING:
        before = estimate(oracle, batch, method=method)
        after = estimate(oracle, permuted, method=method)
        pairs = [
            (before.frequency, after.frequency),
            (before.unbiased, after.unbiased),
            (before.stderr, after.stderr),
        ]
        # Intervals come from the counts, whatever the method; thousands of them take their time.
        if oracle.domain <= 1000 or method == "inversion":
            pairs += zip(before.interval(0.9), after.interval(0.9), strict=True)
            pairs += zip(before.interval(of="people"), after.interval(of="people"), strict=True)
        for ours, theirs in pairs:
            np.testing.assert_allclose(theirs[order], ours, rtol=1e-9, atol=1e-12)


def _permuted_summary(
    oracle: FrequencyOracle, batch: Reports, order: NDArray[np.int64]
) -> Summary | None:
    """The summary of the same people when value x is called order[x], if there is such a one."""
    tally = oracle.tally(batch)
    if rates_vary(oracle):
        return None  # values have channels of their own, so other people gave these reports
    # Counters of outputs are those of values only where an output is a value.
    if oracle.tally_size == oracle.domain and not (oracle.tally_is_lossless and oracle.dispersion):
        moved = np.empty_like(tally)
        moved[order] = tally
        return Summary(oracle, len(batch), moved)
    if is_public(oracle) or oracle.domain > 50:
        return None
    outputs, z = oracle.outputs(), support(oracle, b"")
    by_support = {row.tobytes(): y for y, row in enumerate(z)}
    moved_z = np.empty_like(z)
    moved_z[:, order] = z
    if not all(row.tobytes() in by_support for row in moved_z):
        return None  # the supports are not closed under permutation (Hadamard's rows)
    target = {
        outputs[y].tobytes(): outputs[by_support[row.tobytes()]] for y, row in enumerate(moved_z)
    }
    return Summary.empty(oracle).update(np.array([target[row.tobytes()] for row in batch]))


def law_epsilon_is_a_ceiling(kind: type[FrequencyOracle]) -> None:
    """For any domain and epsilon asked for, the exact epsilon is just below: never above.

    Refusing is allowed only where 64-bit thresholds are too coarse to be both private and
    useful, which no real epsilon reaches.
    """
    sizes = st.one_of(
        st.integers(2, 40),
        st.integers(1, kind.MAX_DOMAIN.bit_length() - 1).map(lambda bits: 1 << bits),
        st.integers(2, kind.MAX_DOMAIN),
    )
    epsilons = st.one_of(
        st.floats(1e-6, 32.0), st.floats(-20.0, 3.4).map(np.exp).map(float), st.just(32.0)
    )

    @settings(max_examples=60)
    @given(sizes, epsilons)
    @example(2, 32.0)
    @example(kind.MAX_DOMAIN, 32.0)
    @example(kind.MAX_DOMAIN, 1e-3)
    @example(2, 5e-324)
    @example(3, 1e-18)
    @example(kind.MAX_DOMAIN, 1e-16)
    def check(size: int, asked: float) -> None:
        assume(asked <= 32.0)
        make: Callable[[], FrequencyOracle] = functools.partial(kind, domain=size, epsilon=asked)  # type: ignore[call-arg]
        try:
            oracle = make()
        except InputError:
            assert asked < 1e-8, f"refused a domain of {size} at epsilon {asked}"
            assert "epsilon" in refused(make), "the sentence must name what was given"
            return
        assert 0 < oracle.epsilon <= asked
        # Rounding a threshold costs at most 2**-64 over the smallest probability, e**-32.
        assert asked - oracle.epsilon <= min(1e-5, max(0.01 * asked, 1e-9))
        assert oracle.exact_hit > oracle.exact_miss

    check()

    @settings(max_examples=30)
    @given(st.integers(2, 6), st.floats(1e-6, 32.0))
    def exact_on_small_domains(size: int, asked: float) -> None:
        oracle = kind(domain=size, epsilon=asked)  # type: ignore[call-arg]
        law_epsilon_is_exact(oracle)

    if not is_public(kind.examples()[0]):
        exact_on_small_domains()


ORACLE_LAWS: tuple[OracleLaw, ...] = (
    law_reports_have_two_likelihoods,
    law_output_chances,
    law_forward_and_adjoint,
    law_hit_and_miss,
    law_unbiased,
    law_variance,
    law_views_agree,
    law_labels_and_integers_agree,
    law_relabelling_relabels,
)
