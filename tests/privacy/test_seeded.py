"""What a seed gives stays: audits, attacks and tests of batches, to nine digits.

Other tests ask whether figures lie where theory has them, with room for chance. A changed step
lies there too, most often; with the randomness given, it moves the figure.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import rumor
from rumor.mechanisms import REGISTRY, FrequencyOracle, Mechanism
from rumor.privacy.attack import attack
from rumor.privacy.audit import findings, over_time
from rumor.privacy.audit.over_time import audit_over_time
from rumor.privacy.integrity import bit_counts, co_support, craft

RAPPOR = rumor.Rappor(bits=16, hashes=2, cohorts=20, f=0.5, p=0.25, q=0.75, key=b"k")
ORACLES: dict[str, tuple[FrequencyOracle, tuple[float, float, float], int]] = {
    "unary": (
        rumor.UnaryEncoding(domain=13, epsilon=1.0),
        (1.67912220057, 1.76777679674, -0.364606811022),
        25_614,
    ),
    "subset-selection": (
        rumor.SubsetSelection(domain=13, epsilon=1.0),
        (1.72812867789, -2.37090203098, -0.579060440775),
        21_996,
    ),
    "hadamard": (
        rumor.HadamardResponse(domain=13, epsilon=1.0),
        (1.62006725126, -0.419411023861, 0.342939374507),
        399,
    ),
    "local-hashing": (
        rumor.LocalHashing(domain=13, epsilon=1.0),
        (1.92462253852, 2.51090292362, -1.23668931638),
        135_486,
    ),
}


@pytest.mark.parametrize("name", ORACLES)
def test_a_batch_with_fakes_has_the_same_figures(name: str) -> None:
    oracle, expected, bytes_of_fakes = ORACLES[name]
    honest = oracle.privatize([i * i % 13 for i in range(1_800)], random=rumor.Seeded(3))
    fakes = craft(oracle, np.array([2, 5, 7]), 130, random=rumor.Seeded(4))
    assert (len(fakes), int(fakes.astype(int).sum())) == (130, bytes_of_fakes)
    mixed = np.concatenate([honest, fakes])
    found = [
        co_support(oracle, mixed),
        co_support(oracle, mixed, random=rumor.Seeded(5)),
        co_support(oracle, honest, watched=3),
    ]
    assert [one.deviations for one in found] == pytest.approx(expected, rel=1e-9)
    shuffled = np.random.default_rng(1).permutation(mixed)
    assert co_support(oracle, shuffled).deviations == found[0].deviations
    if name == "unary":
        counted = bit_counts(oracle, mixed)
        assert counted.deviations == pytest.approx(1.7381962242903406, rel=1e-9)
        assert counted.explanation == (
            "3 of 1,930 reports have at least 10 of 13 bits set, where honest people send at most "
            "0.8 on average, which chance explains."
        )


def test_an_attack_has_the_same_successes() -> None:
    told: list[tuple[int, int]] = []
    found = attack(
        RAPPOR,
        words=7,
        people=40,
        reports=[1, 6],
        seed=2,
        on_progress=lambda done, of: told.append((done, of)),
    )
    assert told == [(done, 40) for done in range(1, 41)]
    once, settled = 2.043302495063963, 4.394449154672439
    rows = {(g.device, g.reports): (g.success, g.bound, g.epsilon) for g in found.guesses}
    expected = {
        ("fresh", 1): (0.35, 0.5625562556255626, once),
        ("fresh", 6): (0.55, 0.9999715705202283, 6 * once),
        ("memoised", 1): (0.45, 0.9310344827586208, settled),
        ("memoised", 6): (0.475, 0.9310344827586208, settled),
        ("full", 1): (0.375, 0.5625562556255626, once),
        ("full", 6): (0.3, 0.9300912012151883, 4.379850598322242),
    }
    assert list(rows) == list(expected)
    for key, row in expected.items():
        assert rows[key] == pytest.approx(row, rel=1e-9)


MODEL = "The report is as much likelier under the first value as the model allows."
AUDITS: dict[str, tuple[Mechanism, float, str]] = {
    "randomized-response": (
        rumor.RandomizedResponse(domain=3, epsilon=1.0),
        0.7439487557680451,
        "6,000 reports of 0 and 2; best event: bit 1 of the report is 1",
    ),
    "unary": (
        rumor.UnaryEncoding(domain=5, epsilon=1.0),
        0.7748150411084248,
        f"6,000 reports of 0 and 4; best event: {MODEL}",
    ),
    "rappor": (
        RAPPOR,
        1.1079876069134749,
        f"6,000 reports of 'word 0' and 'word 4'; best event: {MODEL}",
    ),
    "subset-selection": (
        rumor.SubsetSelection(domain=6, epsilon=2.0),
        1.7393544110479522,
        f"6,000 reports of 0 and 5; best event: {MODEL}",
    ),
}


def told_to() -> tuple[list[tuple[int, int]], Callable[[int, int], None]]:
    """Return a list, and a progress function that notes there what it is told."""
    told: list[tuple[int, int]] = []
    return told, lambda done, of: told.append((done, of))


@pytest.mark.parametrize("name", AUDITS)
def test_an_audit_finds_the_same_loss(name: str) -> None:
    mechanism, bound, detail = AUDITS[name]
    told, on_progress = told_to()
    found = findings.audit_samples(
        mechanism, samples=3_000, random=rumor.Seeded(6), on_progress=on_progress
    )
    assert (found.part, found.passed, found.claimed) == ("black box", True, mechanism.epsilon)
    assert found.found == pytest.approx(bound, rel=1e-9)
    assert found.detail == detail
    assert told == [(0, 6_000), (3_000, 6_000)]


def test_an_audit_asks_a_sampler_for_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = rumor.RandomizedResponse(domain=2, epsilon=1.0)
    asked: list[tuple[object, int]] = []

    def sampler(value: object, count: int) -> np.ndarray:
        asked.append((value, count))
        return mechanism.privatize([value] * count, random=rumor.Seeded(len(asked)))

    monkeypatch.setattr(findings, "_BATCH", 400)
    told, on_progress = told_to()
    findings.audit_samples(mechanism, samples=1_000, sampler=sampler, on_progress=on_progress)
    assert asked == [(value, count) for value in (0, 1) for count in (400, 400, 200)]
    assert told == [(done, 2_000) for done in (0, 400, 800, 1_000, 1_400, 1_800)]


def test_an_audit_over_time_finds_the_same_loss() -> None:
    told, on_progress = told_to()
    found = audit_over_time(RAPPOR, 3, people=150, random=rumor.Seeded(7), on_progress=on_progress)
    assert (found.part, found.passed) == ("over 3 reports", True)
    assert found.claimed == RAPPOR.epsilon_after(3)
    assert found.found == pytest.approx(0.9494177392719894, rel=1e-9)
    assert found.detail == (
        "300 devices of 'word 0' and 'word 4'; best event: the log-likelihood ratio is at least "
        "-1.02"
    )
    assert told == [(done, 300) for done in (0, 64, 128, 150, 214, 278)]


def test_a_pilot_chooses_the_values_of_an_audit() -> None:
    """Of three values two are sampled alike here, so the first pair tells nothing."""
    mechanism = next(kind for kind in REGISTRY if kind.name == "block").examples()[0]
    pairs = mechanism.audit.pairs_to_compare()
    one, other, last = (), (0,), (0, 1)
    assert pairs == [(one, other), (one, last), (other, last)]
    asked: list[tuple[object, int]] = []

    def sampler(value: object, count: int) -> np.ndarray:
        asked.append((value, count))
        shown = mechanism.audit.repeat(last if value == last else one, count)
        return mechanism.privatize(shown, random=rumor.Seeded(1))

    assert findings._far_apart(mechanism, sampler) == (one, last)
    assert asked == [(value, 16_384) for value in (one, other, last)]


def test_transcripts_are_chosen_on_one_half_and_judged_on_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cuts are the quantiles and the twenty scores at either end of the even half of both."""
    generator = np.random.default_rng(5)
    one, other = generator.normal(0.3, 1, 150), generator.normal(0, 1, 150)
    lanes = [generator.integers(0, 4, (150, 3)) for _ in range(2)]
    asked: list[tuple[list[bool], list[bool]]] = []

    def recorded(first: np.ndarray, second: np.ndarray) -> float:
        asked.append((first.tolist(), second.tolist()))
        return findings.lower_bound(first, second)

    monkeypatch.setattr(over_time, "lower_bound", recorded)
    found, _ = over_time._best_bound([one, other], lanes, 3)
    even = sorted([*one[::2], *other[::2]])
    assert len(even) == 150
    ranks = np.linspace(0, 149, 41)
    low = np.floor(ranks).astype(int)
    scores = np.array([*even, even[-1]])
    quantiles = scores[low] + (ranks - low) * (scores[low + 1] - scores[low])
    cuts = sorted({*even[:20], *even[-20:], *quantiles.tolist()})
    tried = [(one[::2] >= cut, other[::2] >= cut) for cut in cuts]
    bits = [
        tuple(lane[::2, bit] == count for lane in lanes) for bit in range(3) for count in (0, 3)
    ]
    best = max(tried, key=lambda pair: findings.lower_bound(*pair))
    told = [(first.tolist(), second.tolist()) for first, second in (*tried, best, *bits)]
    assert asked[:-1] == told
    odd = [(one[1::2] >= cut, other[1::2] >= cut) for cut in cuts]
    odd += [
        tuple(lane[1::2, bit] == count for lane in lanes) for bit in range(3) for count in (0, 3)
    ]
    bounds = [findings.lower_bound(*pair) for pair in (*tried, *bits)]
    judged = odd[int(np.argmax(bounds))]
    assert asked[-1] == tuple(half.tolist() for half in judged)
    assert found == findings.lower_bound(*judged)


def test_an_event_is_chosen_on_one_half_and_judged_on_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = np.random.default_rng(6)
    one, other = (generator.integers(0, 256, (400, 2), dtype=np.uint8) for _ in range(2))
    one[::2, 0] |= 1  # told apart by the first bit of the even half alone
    seen: list[tuple[object, ...]] = []
    known = findings.Event("known", lambda reports: reports[:, 1] >= 128)
    bit = findings.Event("bit", lambda reports: reports[:, 0] & 1 == 1)

    def of_model(*given: object) -> list[findings.Event]:
        seen.append(given)
        return [known]

    def of_bytes(*given: object) -> list[findings.Event]:
        seen.append(given)
        return [bit]

    monkeypatch.setattr(findings, "_model_events", of_model)
    monkeypatch.setattr(findings, "_byte_events", of_bytes)
    mechanism = rumor.RandomizedResponse(domain=2, epsilon=1.0)
    bound, name = findings.distinguish(mechanism, one, other, 0, 1)
    (named, *values, left, right), (first, second) = seen
    assert (named, values) == (mechanism, [0, 1])
    for half, whole in ((left, one), (right, other), (first, one), (second, other)):
        assert np.array_equal(half, whole[::2])  # type: ignore[arg-type]
    assert name == "bit"
    assert bound == findings.lower_bound(one[1::2, 0] & 1 == 1, other[1::2, 0] & 1 == 1)


def test_events_of_bits_are_those_that_differ_most() -> None:
    """Sixteen bits in each direction that are 1, and sixteen that are 0, the furthest first."""
    generator = np.random.default_rng(8)
    chances = generator.random((2, 40))
    one, other = (
        np.packbits(generator.random((500, 40)) < row, axis=1, bitorder="little") for row in chances
    )
    ours, theirs = (
        np.unpackbits(reports, axis=1, bitorder="little").mean(axis=0) for reports in (one, other)
    )
    events = findings._byte_events(one, other)
    wanted = [
        (bit, want)
        for gain in (ours - theirs, theirs - ours)
        for want in (1, 0)
        for bit in np.argsort(-gain if want else gain)[:16].tolist()
    ]
    assert [event.name for event in events] == [
        f"bit {bit} of the report is {want}" for bit, want in wanted
    ]
    for event, (bit, want) in zip(events, wanted, strict=True):
        assert (event.falls(one) == (one[:, bit // 8] >> bit % 8 & 1 == want)).all()
    assert len(findings._byte_events(one, other, most=8)) == 8
    # Of very many reports the first 2^15 are counted.
    many = np.zeros((1 << 16, 1), dtype=np.uint8)
    many[1 << 15 :] = 1
    assert findings._bit_means(many).tolist() == [0.0] * 8
    many[(1 << 15) - 1] = 1
    assert findings._bit_means(many)[0] == 2.0**-15
