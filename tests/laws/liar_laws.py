"""What must hold of the bound on fake clients, for every mechanism.

Honest people none of whom holds what is raised, and a tenth of the crowd who all send the one
report that raises it most: what they add is what the bound says, up to the noise of the honest.
Which report that is, is found by trying every one, and none adds more than its share of the bound.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import rumor
from rumor.core.randomness import Seeded
from rumor.core.reports import Reports
from rumor.mechanisms import (
    FrequencyOracle,
    KeyValueMechanism,
    MeanMechanism,
    Mechanism,
    Rappor,
    SetMechanism,
    Wave,
)
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.open_words.open_words import OpenWords
from rumor.mechanisms.poisoning import bound_poisoning
from tests.laws.laws import refused

PEOPLE, FAKES = 20_000, 2_000
# Fixed seeds, some sixty examples: one in thirty thousand runs would pass this by chance.
DEVIATIONS = 5.0


@dataclass(frozen=True)
class Attack:
    """A crowd, those who lie in it, and what is raised."""

    holds: object
    """What every honest person holds."""
    raised: Callable[[Reports], float]
    """How far the linear estimate of a batch lies above what the honest alone are expected at."""
    noise: float
    """The standard deviation of that, of the whole crowd."""


def law_fakes_add_what_the_bound_says(mechanism: Mechanism) -> None:
    """The best report, sent by every fake, adds the bound; no report adds more."""
    if mechanism.round > 1:
        # No share is learned from a later round, and none can be raised there.
        assert "from round 1" in refused(lambda: mechanism.poisoning.gain(PEOPLE, FAKES))
        return
    bound = mechanism.poisoning.gain(PEOPLE, FAKES)
    assert bound > 0
    assert mechanism.poisoning.gain(PEOPLE, 0) == 0
    assert mechanism.poisoning.gain(PEOPLE, FAKES // 2) < bound, "fewer fakes add less"
    refused(lambda: mechanism.poisoning.gain(PEOPLE, PEOPLE + 1))
    told = bound_poisoning(mechanism, PEOPLE)
    assert (told.clients, told.gain) == (
        PEOPLE // 100,
        mechanism.poisoning.gain(PEOPLE, PEOPLE // 100),
    )
    assert told.target.what in told.sentence()
    if isinstance(mechanism, Rappor):
        _words(mechanism, bound)
        return
    attack = _attack(mechanism)
    outputs = np.vstack([mechanism.outputs(public) for public in mechanism.publics()])
    alone = [attack.raised(row[None]) for row in outputs]
    assert max(alone) == pytest.approx(mechanism.poisoning.gain(1, 1), rel=1e-9), "of one report"
    best = outputs[int(np.argmax(alone))]
    honest = mechanism.privatize(
        mechanism.audit.repeat(attack.holds, PEOPLE - FAKES), random=Seeded(120)
    )
    added = attack.raised(np.concatenate([honest, np.tile(best, (FAKES, 1))]))
    assert abs(added - bound) < DEVIATIONS * attack.noise, f"added {added:.4g}, not {bound:.4g}"


def law_fakes_take_what_the_bound_says(mechanism: Mechanism) -> None:
    """From everybody who holds a value, or the high end, to the report that lowers it most."""
    if mechanism.round > 1:
        assert "from round 1" in refused(lambda: mechanism.poisoning.loss(PEOPLE, FAKES))
        return
    loss = mechanism.poisoning.loss(PEOPLE, FAKES)
    assert mechanism.poisoning.loss(PEOPLE, 0) == 0
    assert 0 < mechanism.poisoning.loss(PEOPLE, FAKES // 2) < loss, "fewer fakes take less"
    refused(lambda: mechanism.poisoning.loss(PEOPLE, PEOPLE + 1))
    told = bound_poisoning(mechanism, PEOPLE)
    assert told.loss == mechanism.poisoning.loss(PEOPLE, PEOPLE // 100)
    assert told.to_dict()["takes"] == told.loss
    assert told.target.format_change(told.loss) in told.sentence()
    one, gain = mechanism.poisoning.loss(1, 1), mechanism.poisoning.gain(1, 1)
    # As many fakes among as many are that part of the reports, whichever way they push.
    assert loss / one == pytest.approx(mechanism.poisoning.gain(PEOPLE, FAKES) / gain)
    if isinstance(mechanism, Rappor):
        return
    if isinstance(mechanism, Wave):
        assert one == pytest.approx(gain), "both ends of the range are alike"
        return
    attack = _attack(mechanism)
    outputs = np.vstack([mechanism.outputs(public) for public in mechanism.publics()])
    alone = [attack.raised(row[None]) for row in outputs]
    whole = mechanism.grid.span if isinstance(mechanism, MeanMechanism) else 1.0
    least = min(value for value in alone if math.isfinite(value))
    if isinstance(mechanism, FrequencyOracle) and np.ndim(mechanism.rates[1]):
        # A share of one of two values is lowered by what raises the other.
        least = min(least, whole - max(alone))
    assert one == pytest.approx(whole - least, rel=1e-9), "of one report"


def _attack(mechanism: Mechanism) -> Attack:
    """On the last value, the mean, or the first key."""
    if isinstance(mechanism, FrequencyOracle):
        return _on_a_value(mechanism)
    if isinstance(mechanism, MeanMechanism):
        return _on_the_mean(mechanism)
    if isinstance(mechanism, Wave):
        return _on_the_mean_position(mechanism)
    if isinstance(mechanism, OpenWords):
        return _on_an_open_word(mechanism)
    if isinstance(mechanism, Mixed):
        return _on_a_cell(mechanism)
    if isinstance(mechanism, SetMechanism):
        return _on_an_option(mechanism)
    assert isinstance(mechanism, KeyValueMechanism)
    return _on_a_key(mechanism)


def _on_an_option(mechanism: SetMechanism) -> Attack:
    """Among people who chose nothing. How many of them speak of the option is chance, too."""

    def raised(batch: Reports) -> float:
        items = mechanism.items(mechanism.tally(batch), len(batch))
        trials = np.broadcast_to(items.trials, items.counts.shape)[0]
        if not trials:
            return -math.inf
        return float((items.counts[0] / trials - mechanism.miss) / mechanism.gain)

    return Attack((), raised, _about_one(mechanism.share, mechanism.miss) / mechanism.gain)


def _about_one(share: float, miss: float) -> float:
    """The noise of what is said of one thing, of which only a share of the honest speaks."""
    honest = PEOPLE - FAKES
    about = honest * share + FAKES
    said = honest * share * miss * (1 - miss) / about**2
    chosen = honest * share * (1 - share) * (FAKES * (1 - miss) / about**2) ** 2
    return math.sqrt(said + chosen)


def _on_a_value(oracle: FrequencyOracle) -> Attack:
    # The value that others support least often gains most by a report; of like values, the last.
    of = int(np.argmin(np.broadcast_to(oracle.rates[1], oracle.domain)[::-1]))
    raises = oracle.domain - 1 - of
    holds = 0 if raises else oracle.domain - 1
    everybody = np.eye(1, oracle.domain, holds)[0]
    noise = math.sqrt(oracle.variance(everybody, PEOPLE - FAKES, "people")[raises])

    def raised(batch: Reports) -> float:
        return float(oracle.unbiased(oracle.tally(batch), len(batch))[raises])

    return Attack(oracle.inputs()[holds], raised, noise * (PEOPLE - FAKES) / PEOPLE)


def _on_the_mean(mechanism: MeanMechanism) -> Attack:
    low = mechanism.grid.low
    noise = math.sqrt(mechanism.variance(low, PEOPLE - FAKES))

    def raised(batch: Reports) -> float:
        return mechanism.moments(mechanism.tally(batch), len(batch))[0] - low

    return Attack(low, raised, noise * (PEOPLE - FAKES) / PEOPLE)


def _on_the_mean_position(wave: Wave) -> Attack:
    """Among people who all hold the first one; the variance is that of the channel, written out."""
    first = wave.inputs()[0]
    outputs = np.arange(wave.alphabet)
    law = np.array([float(wave.probability(row.tobytes(), first)) for row in wave.outputs()])
    variance = law @ outputs**2 - (law @ outputs) ** 2
    noise = math.sqrt(variance / (PEOPLE - FAKES)) / float(wave.line[1]) * wave.scale.unit

    def raised(batch: Reports) -> float:
        return wave.scale.unit * wave.mean_position(wave.tally(batch), len(batch))[0]

    return Attack(first, raised, noise * (PEOPLE - FAKES) / PEOPLE)


def _on_a_key(mechanism: KeyValueMechanism) -> Attack:
    """Among people who hold nothing. How many of them speak of the key is chance, too."""
    rates = mechanism.rates

    def raised(batch: Reports) -> float:
        counts = mechanism.counts(mechanism.tally(batch), len(batch))
        if not counts.trials[0]:
            return -math.inf
        seen = (counts.plus[0] + counts.minus[0]) / counts.trials[0]
        return float((seen - rates.miss) / rates.gain)

    nothing = (None,) * mechanism.keys
    return Attack(nothing, raised, _about_one(mechanism.share, rates.miss) / rates.gain)


def _on_an_open_word(mechanism: OpenWords) -> Attack:
    """A word of which whole words alone are counted, against others who fall into its bucket by
    chance: it is compared with what the honest, who all hold one word, are expected at."""
    held, word = "word 1", "word 2"
    last, hit, buckets = mechanism.levels - 1, mechanism.hit, mechanism.buckets
    part = mechanism.weights[-1] / sum(mechanism.weights)
    shared = [
        mechanism.bucket(held, last, cohort) == mechanism.bucket(word, last, cohort)
        for cohort in range(mechanism.cohorts)
    ]
    # What an honest report adds to the word's support beyond chance, by whether the two collide.
    by_chance = [hit if same else (1 - hit) / (buckets - 1) for same in shared]
    honest = PEOPLE - FAKES
    spread = sum(rate * (1 - rate) for rate in by_chance) / mechanism.cohorts
    spread += float(np.var(by_chance))
    about = honest * part + FAKES
    lost = FAKES * (1 - 1 / buckets) / about  # of the fakes' part, by another number of honest
    noise = math.sqrt(honest * part * (spread + (1 - part) * lost**2)) / (about * mechanism.gain)

    def raised(batch: Reports) -> float:
        table = mechanism.table(mechanism.tally(batch))[last]
        if not table.sum():
            return -math.inf
        supports = sum(
            int(table[cohort, mechanism.bucket(word, last, cohort)])
            for cohort in range(mechanism.cohorts)
        )
        excess = supports - table.sum() / buckets
        if len(batch) > 1:
            excess -= honest * part * (sum(by_chance) / mechanism.cohorts - 1 / buckets)
        return float(excess / (table.sum() * mechanism.gain))

    return Attack(held, raised, noise)


def _on_a_cell(mixed: Mixed) -> Attack:
    """The last cell of the table that fewest are asked for, among people who hold the first.

    How many of them are asked for it is chance, too.
    """
    tables = [i for i, one in enumerate(mixed.components) if len(one.asks) > 1]

    def reach(index: int) -> float:
        one = mixed.components[index]
        return one.oracle.poisoning.gain(1, 1) / (9 * float(one.share) + 1)

    attacked = max(tables, key=reach)
    one, honest = mixed.components[attacked], PEOPLE - FAKES
    part, oracle = float(one.share), one.oracle
    about = honest * part + FAKES
    said = honest * part * oracle.miss * (1 - oracle.miss) / about**2
    chosen = honest * part * (1 - part) * (FAKES * (1 - oracle.miss) / about**2) ** 2

    def raised(batch: Reports) -> float:
        counted = mixed.counted(mixed.tally(batch))[attacked]
        if not counted.reports:
            return -math.inf
        return float(oracle.unbiased(counted.tally, counted.reports)[-1])

    return Attack(mixed.inputs()[0], raised, math.sqrt(said + chosen) / (oracle.hit - oracle.miss))


def _words(rappor: Rappor, bound: float) -> None:
    """A word's own bits and no others, in every cohort: the sentence says "by about"."""
    assert "by about" in bound_poisoning(rappor, PEOPLE).sentence()
    ((held, word),) = rappor.audit.pairs_to_compare()
    honest = rappor.privatize([str(held)] * (PEOPLE - FAKES), random=Seeded(120))
    filters = [rappor.bloom.filter(str(word), cohort) for cohort in range(rappor.cohorts)]
    outputs = {row.tobytes() for row in rappor.outputs()}
    head = rappor.width - len(filters[0])
    crafted = [cohort.to_bytes(head, "little") + bits for cohort, bits in enumerate(filters)]
    assert outputs.issuperset(crafted)
    fakes = np.frombuffer(b"".join(crafted), dtype=np.uint8).reshape(-1, rappor.width)
    batch = np.concatenate([honest, np.resize(fakes, (FAKES, rappor.width))])
    found = rumor.estimate(rappor, batch, candidates=[str(held), str(word)])
    assert abs(found.unbiased[1] - bound) < DEVIATIONS * found.stderr[1]


def law_furthest_estimate_is_that_of_a_report(mechanism: MeanMechanism) -> None:
    """The largest among those of all outputs, each looked at on its own."""
    one = functools.partial(mechanism.moments, reports=1)
    alone = [one(mechanism.tally(row[None]))[0] for row in mechanism.outputs()]
    assert mechanism.furthest_estimate == max(alone)
    np.testing.assert_allclose(mechanism.estimates(mechanism.outputs()), alone, rtol=1e-9)
    assert max(alone) > mechanism.grid.high, "noise is added, so some report lies beyond the range"
