"""Tests for crafted reports: how many bits are set, and which values are supported together.

A report that could have come from anybody can be made by anybody. A fake client can always shift
the estimate of a value by more than an honest one, and the more so the smaller epsilon is. Two
things help. The bound (poisoning.py) says how much m fake clients can add. The co-support test sees
crafted batches where reports support several values at once (unary encoding, subset selection,
local hashing, Hadamard response): a fake report that pushes several values supports them together
more often than chance allows. A report of a single value cannot be told from an honest one.

Cao, Jia and Gong, "Data Poisoning Attacks to Local Differential Privacy Protocols", 2021.

An honest report of k bits, at most h of them the person's own, has no fewer ones than k coins
of p* and no more than k - h coins of p* and h of q*, in distribution. So the share of reports
in either tail is bounded whatever people hold, and more reports there than chance allows are
not honest. Fake reports with as many bits as honest ones escape this test.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.canonical import canonical_json
from rumor.core.errors import InputError
from rumor.core.randomness import Keyed, Keystreams, RandomSource, Stream, System
from rumor.core.reports import Reports, as_reports
from rumor.core.types import Vector
from rumor.estimators.frequency.linear import project
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.oracle import FrequencyOracle

# Honest batches pass this many standard deviations once in some thirty thousand.
ALARM = 4.0
SINGLE = (
    "A report of this mechanism supports a single value, so a crafted one cannot be told from an "
    "honest one; only the bound on fake clients applies."
)
UNTESTED = (
    "There is no test for crafted reports of this kind of question; only the bound on fake clients "
    "applies."
)
_WATCHED = 10
FEWEST = 1000


def craft(
    oracle: FrequencyOracle,
    targets: NDArray[np.int64],
    fakes: int,
    *,
    random: RandomSource | None = None,
) -> Reports:
    """Return fake reports that support as many `targets` as a valid report can (maximal gain).

    For each fake, honest randomness is tried and the try that supports most targets is kept; a bit
    for each value needs no trying.
    """
    source, oracle = System() if random is None else random, oracle.without_labels()
    bits = oracle.bitmaps(oracle.privatize(np.zeros(1, dtype=np.int64), random=source))
    if bits is not None and oracle.bit_shape() is not None:
        return _crafted_bits(oracle, targets, fakes, source)
    tries = 64
    want = np.zeros(oracle.domain)
    want[targets] = 1.0
    chosen = []
    for start in range(0, fakes, 4096):
        size = min(4096, fakes - start)
        held = np.repeat(np.resize(targets, size), tries)
        pool = oracle.privatize(held, random=source)
        support = oracle.forward(pool, want).reshape(size, tries)
        best = support.argmax(axis=1)
        chosen.append(pool.reshape(size, tries, -1)[np.arange(size), best])
    return np.concatenate(chosen)


def _crafted_bits(
    oracle: FrequencyOracle, targets: NDArray[np.int64], fakes: int, source: RandomSource
) -> Reports:
    """Return reports with all targets set, and as many other bits as an honest report has."""
    honest = oracle.privatize(np.resize(targets, fakes), random=source)
    lanes = np.unpackbits(honest, axis=1, count=oracle.domain, bitorder="little")
    lanes[:, targets] = 1
    packed = np.packbits(lanes, axis=1, bitorder="little")
    return np.ascontiguousarray(packed[:, : oracle.width])


@dataclass(frozen=True)
class Integrity:
    """The result of a test for crafted reports on a batch."""

    testable: bool
    deviations: float
    """The distance of the test's statistic above chance, in standard deviations."""
    alarm: bool
    explanation: str


def co_support(
    oracle: FrequencyOracle,
    reports: object,
    *,
    watched: int = _WATCHED,
    random: RandomSource | None = None,
) -> Integrity:
    """Test whether reports support the most frequent values together more often than by chance.

    One half of the batch chooses the values to watch, the other half is tested, so honest
    noise cannot choose against itself. Each report supports K of the watched values. How
    E[K (K-1)] follows from E[K] among honest people is found by simulating people who hold
    watched values and people who hold others: in any mixture of the two, J - b K with
    J = K (K-1) has the same mean, whatever the shares are.

    Unless `random` is given, all chance follows from the reports themselves, in whatever order
    they come: the same reports give the same figure, and an alarm cannot be asked away.
    """
    batch = as_reports(reports, oracle.width)
    oracle.validate(batch).require()
    if len(batch) < FEWEST:
        raise InputError(
            f"the co-support test needs at least {FEWEST:,} reports; got {len(batch):,}"
        )
    if oracle.dispersion == 0:
        return Integrity(False, 0.0, False, SINGLE)
    source, batch = (_derived_randomness(oracle, batch)) if random is None else (random, batch)
    choosing, tested = batch[::2], batch[1::2]
    estimate = project(oracle.unbiased(oracle.tally(choosing), len(choosing)))
    # With few values only half are watched: the others must show what honest people send.
    most = min(watched, max(2, oracle.domain // 2), oracle.domain - 1)
    top = np.argsort(-estimate, kind="stable")[:most]
    indicator = np.zeros(oracle.domain)
    indicator[top] = 1.0
    holders = _simulate_honest(oracle, estimate, indicator, len(tested), source)
    others = _simulate_honest(oracle, estimate, 1 - indicator, len(tested), source)
    samples = [_watched_support(oracle, rows, indicator) for rows in (tested, holders, others)]
    deviations = _deviations(*samples)
    alarm = deviations > ALARM
    words = (
        f"Reports support the {top.size} most frequent values together {abs(deviations):.1f} "
        f"standard deviations {'more' if deviations >= 0 else 'less'} than honest reports do"
    )
    verdict = "; crafted reports are likely." if alarm else ", which chance explains."
    return Integrity(True, deviations, alarm, words + verdict)


def _derived_randomness(oracle: FrequencyOracle, batch: Reports) -> tuple[RandomSource, Reports]:
    """Return randomness and an order that both follow from the batch alone.

    Whoever crafts reports cannot choose it without knowing everybody else's.
    """
    rows = np.ascontiguousarray(batch).view(f"V{oracle.width}").reshape(-1)
    ordered = np.frombuffer(b"".join(sorted(map(bytes, rows.tolist()))), np.uint8)
    secret = hashlib.sha256(ordered.tobytes()).digest()
    about = canonical_json(oracle.describe())
    words = Keyed(secret, "rumor integrity order", about).stream().words(len(batch))
    order = np.argsort(words, kind="stable")
    return _Streams(Keyed(secret, "rumor integrity", about)), ordered.reshape(batch.shape)[order]


class _Streams(Keystreams):
    """A key's independent streams, one for each call."""

    def __init__(self, key: Keyed) -> None:
        self._key, self._calls = key, itertools.count()

    def stream(self) -> Stream:
        """Return the next stream."""
        return self._key.extend(next(self._calls)).stream()


def _simulate_honest(
    oracle: FrequencyOracle, estimate: Vector, among: Vector, people: int, source: RandomSource
) -> Reports:
    """Return honest reports of people with values `among` some, in the estimate's proportions."""
    weights = estimate * among
    weights = weights if weights.sum() > 0 else among
    shares = weights / weights.sum()
    # The nearest whole numbers of people: the proportions need no noise of their own.
    edges = np.floor(np.cumsum(shares) * people + 0.5).astype(np.int64)
    values = np.repeat(np.arange(oracle.domain), np.diff(edges, prepend=0))
    return oracle.without_labels().privatize(values[:people], random=source)


def _watched_support(oracle: FrequencyOracle, reports: Reports, indicator: Vector) -> Vector:
    """Return how many watched values each report supports."""
    return np.asarray(np.rint(oracle.forward(reports, indicator)), dtype=np.float64)


def _deviations(tested: Vector, holders: Vector, others: Vector) -> float:
    """Return how far J - b K of the tested reports lies above honest ones, over its own noise."""
    gap = holders.mean() - others.mean()
    slope = ((holders * (holders - 1)).mean() - (others * (others - 1)).mean()) / gap

    def residual(k: Vector) -> Vector:
        return np.asarray(k * (k - 1) - slope * k)

    here, there = residual(tested), residual(others)
    noise = here.var() / here.size + there.var() / there.size
    # The slope is uncertain too; it matters as far as the tested reports differ from the others.
    reach = (tested.mean() - others.mean()) / gap
    held = residual(holders)
    noise += reach**2 * (held.var() / held.size + there.var() / there.size)
    return float((here.mean() - there.mean()) / math.sqrt(noise)) if noise > 0 else 0.0


# Honest reports lie beyond either end at most this often.
_TAIL = 1e-3
_ONES = np.array([byte.bit_count() for byte in range(256)], dtype=np.int64)


def bit_counts(mechanism: Mechanism, reports: object) -> Integrity:
    """Test whether more reports have very few or very many bits set than honest ones can."""
    from statistics import NormalDist

    from scipy.special import bdtrc

    shape = mechanism.bit_shape()
    if shape is None:
        raise InputError(f"bit counts need reports that are bits; got those of {mechanism.name!r}")
    batch = as_reports(reports, mechanism.width)
    mechanism.validate(batch).require()
    if len(batch) < FEWEST:
        raise InputError(f"bit counts need at least {FEWEST:,} reports; got {len(batch):,}")
    bits, own, zero, one, head = shape
    ones = _ones(batch[:, head:])
    low, few = _lower_end(bits, zero)
    high, many = _upper_end(bits, own, zero, one)
    worst, said = 0.0, ""
    for beyond, chance, words in (
        (int((ones <= low).sum()), few, f"at most {low}"),
        (int((ones >= high).sum()), many, f"at least {high}"),
    ):
        rare = max(float(bdtrc(beyond - 1, len(batch), chance)) if beyond else 1.0, 1e-300)
        deviations = -NormalDist().inv_cdf(rare) if rare < 0.5 else 0.0
        if deviations > worst or not said:
            worst = deviations
            said = (
                f"{beyond:,} of {len(batch):,} reports have {words} of {bits:,} bits set, where "
                f"honest people send at most {chance * len(batch):,.1f} on average"
            )
    alarm = worst > ALARM
    verdict = "; crafted reports are likely." if alarm else ", which chance explains."
    return Integrity(True, worst, alarm, said + verdict)


def _ones(bits: Reports) -> NDArray[np.int64]:
    return np.asarray(_ONES[bits].sum(axis=1))


def _lower_end(bits: int, zero: float) -> tuple[int, float]:
    """Return the largest count with a lower tail of at most `_TAIL`, and its tail; -1 if none."""
    from scipy.special import bdtr

    chances = bdtr(np.arange(bits + 1), bits, zero)
    low = int(np.searchsorted(chances, _TAIL, side="right")) - 1
    return low, float(chances[low]) if low >= 0 else 0.0


def _upper_end(bits: int, own: int, zero: float, one: float) -> tuple[int, float]:
    """Return the smallest count with an upper tail of at most `_TAIL`, and its tail."""
    from scipy.special import bdtr, bdtrc

    counts = np.arange(bits + 2)
    total = np.zeros(counts.size)
    below = 0.0
    for held in range(own + 1):
        upto = float(bdtr(held, own, one))
        rest = counts - held - 1
        reached = np.where(rest < 0, 1.0, bdtrc(np.clip(rest, 0, bits - own), bits - own, zero))
        total += (upto - below) * np.where(rest >= bits - own, 0.0, reached)
        below = upto
    high = int(np.argmax(total <= _TAIL))
    return high, float(total[high])
