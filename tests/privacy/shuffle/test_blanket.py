"""The tables of every mechanism: what its own channel says, and never less."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from rumor.core import exact
from rumor.mechanisms import Mechanism
from rumor.mechanisms.blanket import (
    Blanket,
    BlanketRow,
    distributions_blanket,
    support_blanket,
    worst_case_blanket,
)
from rumor.mechanisms.hadamard import HadamardResponse
from rumor.mechanisms.rappor.rappor import Rappor
from rumor.mechanisms.registry import BY_NAME, ENTRIES
from rumor.mechanisms.select import SetSelect
from rumor.privacy.shuffle.crowd import crowd_delta
from rumor.privacy.shuffle.gains import Atoms, Gains, _convex_upper_bound
from tests.privacy.shuffle.exact import alone, shuffled

# Channels with so many probabilities are written out quickly.
MOST = 12_000
PARTS = (0.05, 0.4, 0.9)


def small(name: str) -> list[Mechanism]:
    """The instances whose channel is small."""
    return [m for m in BY_NAME[name].examples() if _cells(m) <= MOST]


def _cells(mechanism: Mechanism) -> int:
    return len(mechanism.inputs()) * mechanism.alphabet


def factor(mechanism: Mechanism, part: float) -> Fraction:
    return Fraction(math.exp(part * mechanism.epsilon))


@pytest.mark.parametrize("name", [entry.name for entry in ENTRIES])
def test_a_table_is_one_of_probabilities(name: str) -> None:
    for mechanism in BY_NAME[name].examples():
        ratio = exact.exp(mechanism.epsilon) * (1 + Fraction(1, 10**90))
        blanket = mechanism.blanket()
        assert sum(part.share for part in blanket.parts) == 1
        for part in blanket.parts:
            masses = {sum(row.weight for row in pair) for pair in part.pairs}
            assert len(masses) == 1
            for pair in part.pairs:
                assert sum(row.weight * row.first for row in pair) == 1
                assert sum(row.weight * row.second for row in pair) == 1
                assert all(row.weight > 0 and min(row.first, row.second) >= 1 for row in pair)
                if not (name == "rappor" and mechanism.bits < 2 * mechanism.hashes):  # type: ignore[attr-defined]
                    assert max(max(row.first / row.second, row.second) for row in pair) <= ratio
        assert 0 < blanket.gamma < 1


@pytest.mark.parametrize("name", [entry.name for entry in ENTRIES])
def test_one_report_is_what_its_channel_says(name: str) -> None:
    """The exact delta of the worst pair, to rounding: only words of crowded filters say less."""
    seen = 0
    for mechanism in small(name):
        tables = [mechanism.channel(public).matrix() for public in mechanism.publics()]
        for part in PARTS:
            tried = factor(mechanism, part)
            truth = max(alone(table, float(tried)) for table in tables)
            told = crowd_delta(mechanism.blanket(), 1, tried)
            assert told >= truth * (1 - 1e-12)
            if not (name == "rappor" and mechanism.bits < 2 * mechanism.hashes):  # type: ignore[attr-defined]
                assert told == pytest.approx(truth, rel=1e-9)
            seen += 1
    assert seen >= len(PARTS)


@pytest.mark.parametrize("name", [entry.name for entry in ENTRIES])
def test_a_few_people_are_never_hidden_less_than_told(name: str) -> None:
    """Every batch of three (of two where reports are many), of the mechanisms with a small channel.

    Values with the same law are tried once.
    """
    for mechanism in small(name):
        laws = sorted({tuple(row) for row in mechanism.channel().matrix().tolist()})
        if len(laws) > 8 or len(laws[0]) > 24 or len(laws) ** 3 * len(laws[0]) ** 2 > 70_000:
            continue
        for people in (2, 3) if len(laws[0]) <= 8 else (2,):
            for part in PARTS[1:]:
                tried = factor(mechanism, part)
                truth = shuffled(laws, people, float(tried))
                assert crowd_delta(mechanism.blanket(), people, tried) >= truth * (1 - 1e-12)


def test_an_unknown_mechanism_is_the_worst_of_its_epsilon() -> None:
    """What is said of any mechanism is never below what the known ones say, and no worse."""
    for entry in ENTRIES:
        for mechanism in entry.load().examples():
            if mechanism.epsilon > 8 or _long(mechanism):
                continue
            worst = Mechanism.blanket(mechanism)
            for part, people in ((0.3, 50), (0.7, 7)):
                tried = factor(mechanism, part)
                own = crowd_delta(mechanism.blanket(), people, tried)
                # What the lattice may cost of either.
                assert crowd_delta(worst, people, tried) >= own * (1 - 0.004)


def _long(mechanism: Mechanism) -> bool:
    """Where filters are too small for two words the table is above that of the mechanism."""
    return isinstance(mechanism, Rappor) and mechanism.bits < 2 * mechanism.hashes


def test_blocks_of_hadamard_have_nothing_in_common() -> None:
    """The average over pairs would say .368 and .737 where the truth is .409 and .922."""
    for domain, epsilon, blocks, average in ((10, 2.0, 4, 0.368), (5, 4.0, None, 0.737)):
        mechanism = HadamardResponse(domain=domain, epsilon=epsilon, blocks=blocks)
        odds, hit = mechanism.exact_odds, mechanism.exact_hit
        mean = support_blanket(hit, odds, (mechanism.exact_miss - hit / odds) / (odds - 1))
        tried = Fraction(math.exp(0.05 * epsilon))
        truth = alone(mechanism.channel().matrix(), float(tried))
        told = crowd_delta(mechanism.blanket(), 1, tried)
        assert crowd_delta(mean, 1, tried) < truth * 0.95
        assert told == pytest.approx(truth)
        assert average < truth
    one = HadamardResponse(domain=7, epsilon=1.0, blocks=1)
    assert one._least_miss == one.exact_miss


def test_sets_of_rare_slots_are_not_said_to_be_shared() -> None:
    """Slots too rare for 64 bits lose their boost: what both support is taken from below."""
    rare = SetSelect(domain=9000, epsilon=1.0, cap=12, size=12)
    assert len(rare._chances) < 12
    (part,) = rare.blanket().parts
    both = sum(row.weight for row in part.pairs[0] if row.first > 1 < row.second)
    each = (1 - Fraction(rare.boost, exact.WORD)) / rare._universe
    boosted = [h for h in rare._ways if rare._chances.get(h)]
    ways = {
        (h, i): math.comb(12, h) * math.comb(12, i) * math.comb(9000 - 12, 12 - h - i)
        for h in boosted
        for i in boosted
        if h + i <= 12
    }
    assert 0 < both <= each * sum(ways.values())


def test_laws_are_compared_both_ways() -> None:
    laws = [
        (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)),
        (Fraction(1, 4),) * 2 + (Fraction(1, 2),),
    ]
    (part,) = distributions_blanket(laws).parts
    assert len(part.pairs) == 2
    assert part.pairs[0][0] == BlanketRow(Fraction(1, 4), Fraction(2), Fraction(1))
    assert part.pairs[1][0] == BlanketRow(Fraction(1, 4), Fraction(1), Fraction(2))


def test_what_lies_above_two_laws_lies_above_both() -> None:
    generator = np.random.default_rng(5)
    for _ in range(40):
        one, two = (_some_law(generator) for _ in range(2))
        # The same mean and mass: the second is moved.
        off = sum(v * w for v, w in one.items()) - sum(v * w for v, w in two.items())
        two = {value + off: weight for value, weight in two.items()}
        above = _convex_upper_bound([one, two])
        assert sum(above.values()) == 1
        assert min(above.values()) >= 0
        for law in (one, two):
            for level in (*above, Fraction(1, 3), Fraction(-2, 7)):
                assert _beyond(above, level) >= _beyond(law, level)
        assert _beyond(above, Fraction(0)) == max(
            _beyond(one, Fraction(0)), _beyond(two, Fraction(0))
        )


def _some_law(generator: np.random.Generator) -> Atoms:
    values = generator.integers(-9, 9, 4).tolist()
    return {Fraction(v, 4) + Fraction(i, 100): Fraction(1, 4) for i, v in enumerate(values)}


def _beyond(law: Atoms, level: Fraction) -> Fraction:
    return sum((w * max(v - level, Fraction(0)) for v, w in law.items()), Fraction(0))


def test_gains_of_randomised_response() -> None:
    gains = Gains.at(worst_case_blanket(Fraction(3)), Fraction(2))
    assert gains.atoms == {Fraction(1): Fraction(1, 4), Fraction(-5): Fraction(1, 4)}
    assert gains.zero_mass == Fraction(1, 2)
    assert gains.local_delta == Fraction(1, 4)
    nobody = BlanketRow(Fraction(0), Fraction(1), Fraction(1))
    assert Blanket.from_pairs([nobody]).parts[0].pairs == ((),)
