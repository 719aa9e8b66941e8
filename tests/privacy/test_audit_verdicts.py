"""The audit's verdicts: where they turn, and that small faults are not passed over.

Broken mechanisms lose 1.2, 1.02 and 1.000000001 times what they claim, or give a report that
one value cannot give; a sound one passes. Bounds are held to exact binomial sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np
import pytest

import rumor
from rumor.contract.collection import Collection
from rumor.core.exact import WORD
from rumor.core.randomness import Draws, Seeded
from rumor.core.reports import Reports
from rumor.mechanisms import BasicRappor, Mechanism
from rumor.mechanisms.poisoning import bound_poisoning
from rumor.mechanisms.rappor.two_stage import TwoStageNoise
from rumor.privacy.attack import DEVICES, _log_likelihood_ratio, attack
from rumor.privacy.audit import certificate
from rumor.privacy.audit import findings as audit
from rumor.privacy.audit import over_time as audit_time
from rumor.privacy.audit.certificate import certify
from rumor.privacy.audit.enumeration import EnumeratingDraws, TooManyBranchesError, distribution
from rumor.privacy.audit.findings import (
    Finding,
    audit_exact,
    audit_samples,
    distinguish,
    lower_bound,
)
from rumor.privacy.audit.over_time import audit_over_time
from rumor.privacy.integrity import _deviations, co_support, craft
from tests.laws import chance


class Understated(rumor.RandomizedResponse):
    """Claims an epsilon that its thresholds exceed by a factor."""

    factor = 1.0

    @property
    def epsilon(self) -> float:
        return super().epsilon / self.factor

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return []


def understated(factor: float, epsilon: float = 1.0) -> Understated:
    mechanism = Understated(domain=5, epsilon=epsilon)
    mechanism.factor = factor
    return mechanism


class Excludes(rumor.RandomizedResponse):
    """Value 0 is never reported as 1: whoever reports 1 does not hold 0. The model says so too."""

    def probability(self, report: bytes, value: object) -> Fraction:
        if self.code(value) == 0:
            other = (1 - self.exact_hit) / (self.domain - 2)
            return (self.exact_hit, Fraction(0), other, other, other)[report[0]]
        return super().probability(report, value)

    def draw(self, value: object, draws: Draws) -> bytes:
        if self.code(value):
            return super().draw(value, draws)
        kept = draws.coin(self.truth)
        return bytes([0 if kept else 2 + draws.below(self.domain - 2)])

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return []


# --- Exact ------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1.2, 1.02, 1.001, 1 + 1e-9])
def test_whoever_loses_more_than_they_claim_fails(factor: float) -> None:
    found = audit_exact(understated(factor))
    assert not found.passed
    assert "more than it claims" in found.detail
    assert found.found == pytest.approx(factor * found.claimed, rel=1e-12)


def test_whoever_loses_what_they_claim_passes() -> None:
    for factor in (1.0, 0.99):
        found = audit_exact(understated(factor))
        assert found.passed
        assert "walked branch by branch on 1 instances, this one among them" in found.detail
        assert found.found == pytest.approx(factor * found.claimed, rel=1e-12)


def test_a_report_that_one_value_cannot_give_fails() -> None:
    # Also right after its sound sibling of the same description: what is remembered of one
    # class says nothing of another.
    assert audit_exact(rumor.RandomizedResponse(domain=5, epsilon=1.0)).passed
    found = audit_exact(Excludes(domain=5, epsilon=1.0))
    assert not found.passed
    assert found.found == math.inf


def test_a_broken_sibling_fails_whatever_this_one_does() -> None:
    class Sibling(rumor.RandomizedResponse):
        @classmethod
        def examples(cls) -> Sequence[Self]:
            return [understated(1.02)]  # type: ignore[list-item]

    assert not audit_exact(Sibling(domain=4, epsilon=1.0)).passed


def test_what_cannot_be_walked_does_not_pass() -> None:
    class Large(rumor.RandomizedResponse):
        @classmethod
        def examples(cls) -> Sequence[Self]:
            return []

    found = audit_exact(Large(domain=2000, epsilon=1.0))
    assert not found.passed
    assert "no instance could be enumerated" in found.detail
    # With small siblings it does, by their word, and says that it was not among them.
    large = audit_exact(rumor.RandomizedResponse(domain=2000, epsilon=1.0))
    assert large.passed
    assert "this one among them" not in large.detail
    assert large.found == large.claimed


def test_branches_have_the_weights_of_their_coins() -> None:
    def draw(draws: Draws) -> bytes:
        if draws.coin(WORD // 4):
            return b"a"
        return bytes([draws.below(3)])

    quarter = Fraction(1, 4)
    assert distribution(draw) == {b"a": quarter, b"\0": quarter, b"\1": quarter, b"\2": quarter}
    with pytest.raises(TooManyBranchesError):
        distribution(draw, max_leaves=3)
    for wrong in (0, WORD):
        with pytest.raises(AssertionError, match="threshold lies in"):
            EnumeratingDraws([], b"").coin(wrong)
    assert EnumeratingDraws([], b"xy").public(2) == b"xy"
    with pytest.raises(AssertionError, match="drew 3 public bytes"):
        EnumeratingDraws([], b"xy").public(3)
    late = EnumeratingDraws([], b"xy")
    late.coin(1)
    with pytest.raises(AssertionError, match="must not depend"):
        late.public(2)


# --- Black box --------------------------------------------------------------------------------


def test_a_sampler_with_a_fifth_more_fails() -> None:
    """Half of 200,000 reports judge an event of chance 0.4: log bounds within 0.03 of 1."""
    claimed = rumor.RandomizedResponse(domain=5, epsilon=1.0)
    louder = rumor.RandomizedResponse(domain=5, epsilon=1.2)
    source = Seeded(3)

    def sampler(value: object, count: int) -> Reports:
        return louder.privatize(louder.audit.repeat(value, count), random=source)

    found = audit_samples(claimed, samples=200_000, sampler=sampler)
    assert not found.passed
    assert 1.1 < found.found < 1.2
    assert audit_samples(louder, samples=200_000, sampler=sampler).passed


@pytest.mark.parametrize("more", [False, True])
def test_a_verdict_turns_right_above_the_claim(more: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = rumor.RandomizedResponse(domain=3, epsilon=1.0)
    basic = rumor.Rappor.basic(labels=2, f=0.5, p=0.25, q=0.75)

    def at(claim: float) -> float:
        return math.nextafter(claim, math.inf) if more else claim

    monkeypatch.setattr(audit, "distinguish", lambda *_: (at(oracle.epsilon), "an event"))
    assert audit_samples(oracle, samples=10, random=Seeded(1)).passed != more
    monkeypatch.setattr(
        audit_time, "_best_bound", lambda *_: (at(basic.epsilon_after(2)), "an event")
    )
    assert audit_over_time(basic, 2, people=4, random=Seeded(1)).passed != more


def test_an_event_is_judged_on_reports_that_did_not_choose_it() -> None:
    """The choosing half tells the values apart for certain; the other half not at all."""
    oracle = rumor.RandomizedResponse(domain=4, epsilon=1.0)
    one, other = np.zeros((400, 1), dtype=np.uint8), np.zeros((400, 1), dtype=np.uint8)
    other[::2] = 3
    assert distinguish(oracle, one, other, 0, 3)[0] == 0.0
    one[1::2], other[1::2] = 0, 3
    bound, event = distinguish(oracle, one, other, 0, 3)
    assert bound > 3
    assert event


def test_what_no_model_foresees_is_found_in_single_bits() -> None:
    """A hash seed that tells the value: to the model, all seeds are alike."""
    oracle, source = rumor.LocalHashing(domain=10, epsilon=1.0), Seeded(4)

    def leaking(value: object, count: int) -> Reports:
        batch = oracle.privatize(oracle.audit.repeat(value, count), random=source)
        batch[:, 3] &= 0xFE if value == 0 else 0xFF
        return batch

    found = audit_samples(oracle, samples=4000, sampler=leaking)
    assert not found.passed
    assert "bit 24 of the report is" in found.detail


def test_invalid_reports_are_refused() -> None:
    oracle = rumor.RandomizedResponse(domain=3, epsilon=1.0)
    with pytest.raises(rumor.InputError, match="reports of 0 must be valid"):
        audit_samples(
            oracle, samples=10, sampler=lambda value, count: np.full((count, 1), 3, np.uint8)
        )


@pytest.mark.parametrize(
    ("hits", "trials"),
    [((0, 0), 30), ((30, 0), 30), ((30, 30), 30), ((21, 4), 30), ((2, 17), 25), ((150, 290), 300)],
)
def test_a_bound_is_the_best_of_four_with_an_eighth_of_the_error_each(
    hits: tuple[int, int], trials: int
) -> None:
    first, second = (np.arange(trials) < hit for hit in hits)
    tries = []
    for a, b in (hits, hits[::-1], *[tuple(trials - h for h in p) for p in (hits, hits[::-1])]):
        low = chance.lower_bound(a, trials, 0.01 / 8)
        high = chance.upper_bound(b, trials, 0.01 / 8)
        tries.append(math.log(low / high) if low else -math.inf)
    assert lower_bound(first, second) == pytest.approx(max(0.0, *tries))


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.25), (0.3, 0.1), (0.9, 0.6), (0.4, 0.4)])
def test_false_alarms_are_as_rare_as_the_confidence_says(p: float, q: float) -> None:
    """Summed over all pairs of counts of 24 trials each: no sampling."""
    trials, confidence = 24, 0.5  # so low that the bounds alarm now and then
    loss = max(math.log(p / q), abs(math.log((1 - q) / (1 - p))), abs(math.log(q / p)))

    def chances(rate: float) -> list[float]:
        return [math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k)
                for k in range(trials + 1)]  # fmt: skip

    events = [np.arange(trials) < k for k in range(trials + 1)]
    alarms = sum(
        a * b
        for first, a in zip(events, chances(p), strict=True)
        for second, b in zip(events, chances(q), strict=True)
        if lower_bound(first, second, confidence) > loss
    )
    assert 0 <= alarms <= 1 - confidence
    assert alarms > 0, "a bound that never alarms would show nothing"


# --- Which values -----------------------------------------------------------------------------


def test_values_far_apart_are_compared() -> None:
    oracle = rumor.UnaryEncoding(domain=9, epsilon=1.0)
    assert oracle.audit.pairs_to_compare() == [(0, 8)]
    assert oracle.audit.walked_values() == [0, 1, 4, 8]
    assert rumor.RandomizedResponse(domain=3, epsilon=1.0).audit.walked_values() == range(3)
    rappor = rumor.Rappor(bits=8, hashes=2, cohorts=3, f=0.5, p=0.25, q=0.75, key=b"key")
    ((word, other),) = rappor.audit.pairs_to_compare()
    common = [
        len(set(rappor.bloom.positions(str(word), c)) & set(rappor.bloom.positions(str(other), c)))
        for c in range(3)
    ]
    assert common == [0, 0, 0]
    capped = rumor.ItemSampling(keys=3, epsilon=1.0, cap=2)
    low, high, none = -1.0, 1.0, None
    assert set(capped.audit.extreme_people()) == {
        (none, none, none), (high, none, none), (low, none, none),
        (high, high, none), (low, low, none),
    }  # fmt: skip
    free = rumor.ItemSampling(keys=3, epsilon=1.0, cap=2, over_cap="sample")
    assert (high, high, high) in free.audit.extreme_people()


def test_evidence_of_piecewise_reports_is_the_models() -> None:
    mechanism = rumor.Piecewise(epsilon=2.0, steps=6)
    reports = mechanism.outputs()
    for first, second in ((-1.0, 1.0), (-1.0, 0.0), (0.0, -1.0)):
        fast = mechanism.log_likelihood_ratio(reports, first, second)
        assert fast == pytest.approx(
            Mechanism.log_likelihood_ratio(mechanism, reports, first, second), abs=1e-9
        )


# --- Over time --------------------------------------------------------------------------------


def test_transcripts_are_scored_by_both_stages() -> None:
    """The ratio R_n(c) of two_stage.py, in fractions."""
    noise, reports = TwoStageNoise.of(0.3, 0.2, 0.7), 3
    flip, p, q = (Fraction(t, WORD) for t in (noise.flip, noise.low, noise.high))
    for ones, found in enumerate(noise.log_ratios(reports).tolist()):
        set_ = q**ones * (1 - q) ** (reports - ones)
        clear = p**ones * (1 - p) ** (reports - ones)
        ratio = ((1 - flip) * set_ + flip * clear) / (flip * set_ + (1 - flip) * clear)
        assert found == pytest.approx(math.log(ratio), abs=1e-12)
    basic = BasicRappor(domain=3, f=0.3, p=0.2, q=0.7)
    seen = np.array([[[0b001], [0b101], [0b001]]], dtype=np.uint8)
    ratios = basic.noise.log_ratios(3)
    score = basic.transcript_log_ratio(seen, 0, 2)
    assert score.tolist() == pytest.approx([ratios[3] - ratios[1]])


def test_devices_are_judged_by_the_half_that_did_not_choose() -> None:
    scores = [np.zeros(400), np.zeros(400)]
    scores[0][::2] = 5.0
    lanes = [np.ones((400, 8), dtype=np.int64) for _ in range(2)]
    assert audit_time._best_bound(scores, lanes, 3)[0] == 0.0
    scores[0][:] = 5.0
    bound, event = audit_time._best_bound(scores, lanes, 3)
    assert bound > 3
    assert "log-likelihood ratio" in event
    # A bit that is always 1 under one value tells as much, where the score does not.
    lanes[0][:, 2] = 3
    bound, event = audit_time._best_bound([np.zeros(400), np.zeros(400)], lanes, 3)
    assert bound > 3
    assert event == "bit 2 is 1 in 3 of 3 reports"


# --- Certificates -----------------------------------------------------------------------------


def test_a_certificate_passes_when_everything_does(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [
        {"id": "a", "kind": "choice", "domain": 3, "epsilon": 1.0},
        {
            "id": "b", "kind": "choice", "domain": 2, "reports_per_person": 9,
            "mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0.25, "q": 0.75},
        },
    ]  # fmt: skip
    wish = {"name": "n", "series": "s", "contact": "c", "questions": questions}
    collection = rumor.Collection.resolve(wish)
    found = certify(collection, samples=600, seed=2)
    parts = [(id, finding.part) for id, finding in found.findings]
    assert parts == [
        ("a", "exact"), ("a", "black box"),
        ("b", "exact"), ("b", "black box"), ("b", "over 5 reports"),
    ]  # fmt: skip
    assert found.passed
    assert (found.digest, found.samples, found.seed) == (collection.digest, 600, 2)
    assert [f["question"] for f in found.to_dict()["findings"]] == ["a", "a", "b", "b", "b"]  # type: ignore[attr-defined]
    assert [id for id, _ in certify(collection, samples=600, seed=2, question="a").findings] == [
        "a",
        "a",
    ]
    for broken in range(5):
        findings = [
            (id, Finding(f.part, place != broken, f.claimed, f.found, f.detail))
            for place, (id, f) in enumerate(found.findings)
        ]
        failed = type(found)(**{**vars(found), "findings": tuple(findings)})
        assert not failed.passed
        assert "audit FAILED" in failed.table()
        assert failed.table().count("FAIL\n") == 1
        assert "FAILED</h1>" in failed.to_html()
        assert failed.to_dict()["passed"] is False


# --- Attackers and liars ----------------------------------------------------------------------


def test_attackers_weigh_bits_by_their_likelihood() -> None:
    noise, rng = TwoStageNoise.of(0.5, 0.25, 0.75), np.random.default_rng(1)
    own = np.array([True, False])
    kept = _log_likelihood_ratio(noise, "memoised", own, own, 7, rng)
    assert kept.tolist() == pytest.approx([math.log(3), -math.log(3)])
    p, q = float(noise.exact_p_star), float(noise.exact_q_star)
    said = {round(math.log(q / p), 9), round(math.log((1 - q) / (1 - p)), 9)}  # by a 1, by a 0
    many = np.resize(own, 100)
    fresh = _log_likelihood_ratio(
        noise, "fresh", many, ~many, 1, rng
    )  # what was settled does not matter
    assert set(np.round(fresh, 9).tolist()) == said
    assert fresh[many].mean() > fresh[~many].mean()
    # Many reports show the settled bits, which are then weighed like memoised ones.
    full = _log_likelihood_ratio(noise, "full", own, ~own, 2000, rng)
    assert full.tolist() == pytest.approx([-math.log(3), math.log(3)])
    one = _log_likelihood_ratio(noise, "full", many, many, 1, rng)
    assert set(np.round(one, 9).tolist()) == said
    record = attack(
        rumor.Rappor.full(key=b"k", bits=16, cohorts=2), words=4, people=3, reports=(2,)
    )
    assert [g.device for g in record.guesses] == list(DEVICES)


FAKED: list[Mechanism] = [
    rumor.RandomizedResponse(domain=6, epsilon=1.0),
    rumor.HadamardResponse(domain=6, epsilon=1.0),
    rumor.UnaryEncoding(domain=20, epsilon=1.0),
]


def test_fakes_add_what_the_bound_says_exactly() -> None:
    """Honest people none of whom holds the value, as expected of them, and the worst report."""
    people, fakes = 1000, 50
    for oracle in FAKED[::2]:
        assert isinstance(oracle, (rumor.RandomizedResponse, rumor.UnaryEncoding))
        seen = (people - fakes) * oracle.miss + fakes
        added = (seen / people - oracle.miss) / (oracle.hit - oracle.miss)
        assert oracle.poisoning.gain(people, fakes) == pytest.approx(added)
    hadamard = FAKED[1]
    assert isinstance(hadamard, rumor.HadamardResponse)
    best = max(hadamard.unbiased(hadamard.tally(row[None]), 1).max() for row in hadamard.outputs())
    assert hadamard.poisoning.gain(people, fakes) == pytest.approx(fakes / people * best)
    for mechanism in (rumor.KeyValueBlock(keys=5, epsilon=1.0), rumor.PrivKV(keys=5, epsilon=2.0)):
        rates, about = mechanism.rates, (people - fakes) * mechanism.share + fakes
        seen = ((people - fakes) * mechanism.share * rates.miss + fakes) / about
        assert mechanism.poisoning.gain(people, fakes) == pytest.approx(
            (seen - rates.miss) / rates.gain
        )
        assert mechanism.poisoning.gain(people, 0) == 0.0
        # A key that half hold at the low end; a few fakes say plus.
        few, share = 5, 0.5
        honest = (people - few) * mechanism.share
        held = (honest * (rates.miss + rates.gain * share) + few) / (honest + few)
        tilt = (few - honest * rates.sign_gain * share) / (honest + few)
        mean = (tilt / rates.sign_gain) / ((held - rates.miss) / rates.gain)
        assert mean < 1
        assert mechanism.fake_mean_gain(people, few, share) == pytest.approx(
            (mean + 1) / 2 * mechanism.grid.span
        )
        assert mechanism.fake_mean_gain(people, people, share) == mechanism.grid.span
    rappor = rumor.Rappor(bits=8, hashes=1, cohorts=1, f=0.5, p=0.2, q=0.6, key=b"k")
    assert rappor.poisoning.gain(people, fakes) == pytest.approx(
        0.05 / (rappor.q_star - rappor.p_star)
    )
    assert bound_poisoning(FAKED[0], 1001).clients == 11
    assert bound_poisoning(FAKED[0], 5).clients == 1


def test_joint_support_is_compared_with_honest_mixtures() -> None:
    """Any mixture of holders and others lies on one line, and deviates by nothing on average."""
    rng = np.random.default_rng(3)
    holders, others = (rng.binomial(10, share, 20_000).astype(np.float64) for share in (0.6, 0.3))
    mixed = np.concatenate([holders[:6000], others[:14_000]])
    assert abs(_deviations(mixed, holders, others)) < 3
    crafted = mixed.copy()
    crafted[:1000] = 10.0
    assert _deviations(crafted, holders, others) > 8
    slope = ((holders * (holders - 1)).mean() - (others * (others - 1)).mean()) / (
        holders.mean() - others.mean()
    )
    here, there, held = (k * (k - 1) - slope * k for k in (crafted, others, holders))
    reach = (crafted.mean() - others.mean()) / (holders.mean() - others.mean())
    noise = here.var() / 20_000 + there.var() / 20_000
    noise += reach**2 * (held.var() / 20_000 + there.var() / 20_000)
    expected = (here.mean() - there.mean()) / math.sqrt(noise)
    assert _deviations(crafted, holders, others) == pytest.approx(expected)


def test_the_alarm_sounds_above_four_deviations(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = rumor.UnaryEncoding(domain=20, epsilon=1.0)
    batch = oracle.privatize(np.arange(2000) % 20, random=Seeded(1))
    for found, alarm in ((4.0, False), (4.1, True), (-9.0, False)):
        monkeypatch.setattr("rumor.privacy.integrity._deviations", lambda *_, found=found: found)
        assert co_support(oracle, batch, random=Seeded(2)).alarm is alarm


def test_crafted_reports_support_their_targets() -> None:
    targets = np.array([2, 7, 11])
    unary = rumor.UnaryEncoding(domain=20, epsilon=1.0)
    fakes = craft(unary, targets, 300, random=Seeded(1))
    lanes = np.unpackbits(fakes, axis=1, count=20, bitorder="little")
    assert (lanes[:, targets] == 1).all()
    rest = np.delete(lanes, targets, axis=1).mean()
    assert rest == pytest.approx(unary.miss, abs=5 * math.sqrt(0.25 / (300 * 17)))
    subsets = rumor.SubsetSelection(domain=20, epsilon=1.0)
    want = np.zeros(20)
    want[targets] = 1.0
    supported = subsets.forward(craft(subsets, targets, 300, random=Seeded(1)), want)
    honest = subsets.forward(subsets.privatize(np.resize(targets, 300), random=Seeded(1)), want)
    # The best of 64 tries: all three targets fall into a set of 5 with chance 0.02 or more.
    assert supported.mean() > honest.mean() + 1


@pytest.mark.parametrize(
    ("reports", "samples", "times", "people"),
    [(1, 10**6, None, None), (2, 10**6, 2, 4_000), (5, 500_000, 5, 2_000), (6, 50_000, 5, 200),
     (365, 10, 5, 200)],
)  # fmt: skip
def test_a_certificate_asks_for_as_many_devices_as_samples_allow(
    reports: int, samples: int, times: int | None, people: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A two hundred and fiftieth of the samples, 200 to 4,000; at most five reports of each."""
    asked: list[tuple[str, object]] = []

    def exact(mechanism: Mechanism) -> Finding:
        asked.append(("exact", mechanism.labels))
        return Finding("exact", True, 1.0, 1.0, "")

    def sampled(mechanism: Mechanism, **given: object) -> Finding:
        sampler = given.pop("sampler")
        asked.append(("samples", (mechanism.labels, sampler is None, given)))
        return Finding("black box", True, 1.0, 0.5, "")

    def over_time(mechanism: Mechanism, times: int, **given: object) -> Finding:
        asked.append(("over time", (mechanism.labels, times, given)))
        return Finding("over", True, 1.0, 0.5, "")

    for name, stand in (
        ("audit_exact", exact), ("audit_samples", sampled), ("audit_over_time", over_time)
    ):  # fmt: skip
        monkeypatch.setattr(certificate, name, stand)
    question = {"id": "q", "kind": "choice", "labels": ["x", "y"], "reports_per_person": reports,
                "mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0.5, "q": 0.75}}  # fmt: skip
    head = {"name": "n", "series": "s", "contact": "c"}
    collection = Collection.resolve({**head, "questions": [question]})

    def told(done: int, of: int) -> None:
        raise AssertionError

    found = certify(collection, samples=samples, seed=3, on_progress=told)
    rest: dict[str, object] = {"random": Seeded(3), "on_progress": told}
    wanted: list[tuple[str, object]] = [
        ("exact", None),
        ("samples", (None, True, {"samples": samples, **rest})),
    ]
    if times is not None:
        wanted.append(("over time", (None, times, {"people": people, **rest})))
    assert repr(asked) == repr(wanted)
    assert (found.samples, found.seed, len(found.findings)) == (samples, 3, len(wanted))
    # A program knows values by their labels, and keeps no permanent answers.
    asked.clear()
    certify(collection, samples=samples, command=["true"])
    rest = {"random": None, "on_progress": None}
    assert repr(asked) == repr(
        [("exact", None), ("samples", (("x", "y"), False, {"samples": samples, **rest}))]
    )
