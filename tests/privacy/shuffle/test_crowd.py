"""What a crowd hides: never more than there is, and hardly less."""

from __future__ import annotations

import math
from decimal import Decimal, Overflow
from fractions import Fraction

import numpy as np
import pytest

import rumor
from rumor.mechanisms import Mechanism, RandomizedResponse, SubsetSelection
from rumor.mechanisms.blanket import worst_case_blanket
from rumor.mechanisms.rappor.rappor import Rappor
from rumor.privacy.shuffle.crowd import _certify, _root, crowd_delta, crowd_epsilon
from rumor.privacy.shuffle.gains import Gains
from rumor.privacy.shuffle.lattice import Lattice, Tilt, chosen_step
from rumor.privacy.shuffle.transform import _tail_sum, _weighted_sum, mean_above
from tests.privacy.shuffle.exact import blanket_sum, response_below, shuffled


def response(domain: int, epsilon: float) -> RandomizedResponse:
    return RandomizedResponse(domain=domain, epsilon=epsilon)


@pytest.mark.parametrize(
    ("domain", "people", "epsilon", "factors"),
    [
        (2, 12, 1.0, (1.1, 1.5, 2.2)),
        (3, 12, 1.0, (1.05, 1.4, 2.2)),
        (3, 12, 2.0, (1.2, 2.0, 5.0)),
        (4, 8, 2.0, (1.2, 2.0, 5.0)),
        (3, 6, 4.0, (1.5, 6.0, 30.0)),
    ],
)
def test_every_batch_that_can_be_written_out_is_below(
    domain: int, people: int, epsilon: float, factors: tuple[float, ...]
) -> None:
    """All answers of all others."""
    mechanism = response(domain, epsilon)
    laws = mechanism.channel().matrix().tolist()
    for factor in factors:
        truth = shuffled(laws, people, factor)
        told = crowd_delta(mechanism.blanket(), people, Fraction(factor))
        assert told >= truth * (1 - 1e-12)
        # The blanket itself is so near, and the lattice adds a little.
        assert told <= truth * (1.3 if domain == 2 or factor > 2 else 1.05)


@pytest.mark.parametrize(
    ("domain", "epsilon", "people", "factor"),
    [
        (2, 1.0, 1000, 1.15),
        (2, 1.0, 300, 1.9),
        (2, 4.0, 400, 9.0),
        (7, 2.0, 120, 1.6),
        (5, 1.0, 90, 2.5),
    ],
)
def test_the_transform_is_the_sum(domain: int, epsilon: float, people: int, factor: float) -> None:
    """Positive terms without any transform; from 1e-2 to below 1e-20."""
    mechanism = response(domain, epsilon)
    tried = Fraction(factor)
    gains = Gains.at(mechanism.blanket(), tried)
    atoms = sorted(((float(v), float(w)) for v, w in gains.atoms.items()), reverse=True)
    truth = blanket_sum(atoms, people)
    told = crowd_delta(mechanism.blanket(), people, tried)
    assert truth * (1 - 1e-9) <= told <= truth * 1.005


def test_the_transform_reaches_tiny_deltas() -> None:
    mechanism = response(2, 1.0)
    tried = Fraction(8, 5)
    gains = Gains.at(mechanism.blanket(), tried)
    atoms = sorted(((float(v), float(w)) for v, w in gains.atoms.items()), reverse=True)
    truth = blanket_sum(atoms, 900)
    assert 1e-40 < truth < 1e-20
    assert truth <= crowd_delta(mechanism.blanket(), 900, tried) <= truth * 1.01
    tiny = crowd_epsilon(mechanism, 10**6, 1e-20)
    assert crowd_epsilon(mechanism, 10**6, 1e-8) < tiny < 0.02
    assert crowd_delta(mechanism.blanket(), 10**6, Fraction(math.exp(tiny))) <= 1e-20 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("people", "epsilon", "told"), [(10**4, 4.0, 0.349), (10**5, 1.0, 0.0117), (10**6, 4.0, 0.0314)]
)
def test_subsets_of_a_thousand(people: int, epsilon: float, told: float) -> None:
    found = crowd_epsilon(SubsetSelection(domain=1000, epsilon=epsilon), people, 1e-8)
    assert float(f"{found:.3g}") == told


@pytest.mark.parametrize(
    ("domain", "epsilon", "people"),
    [(7, 4.0, 10**4), (1000, 4.0, 10**5), (7, 1.0, 10**5), (1000, 1.0, 10**6), (7, 4.0, 10**6)],
)
def test_randomised_response_is_within_a_hundredth(
    domain: int, epsilon: float, people: int
) -> None:
    """One dataset has delta above 1e-8 at 99 hundredths of the epsilon that is told, and below."""
    mechanism = response(domain, epsilon)
    told = crowd_epsilon(mechanism, people, 1e-8)
    truth, lie = float(mechanism.exact_hit), float(mechanism.exact_miss)
    assert response_below(truth, lie, people, math.exp(0.99 * told)) > 1e-8
    assert response_below(truth, lie, people, math.exp(told)) <= 1e-8


def test_crowds_only_help() -> None:
    mechanism = response(4, 2.0)
    losses = [crowd_epsilon(mechanism, people, 1e-6) for people in (1, 2, 20, 200, 2000)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] <= mechanism.epsilon
    assert losses[-1] < 0.3
    assert crowd_epsilon(mechanism, 2000, 1e-9) > losses[-1]
    # Where delta allows it, nothing is left.
    assert crowd_epsilon(mechanism, 2000, 0.5) < 1e-6


def test_small_crowds_of_seven_values() -> None:
    found = [crowd_epsilon(response(7, 1.0), people, 1e-6) for people in (20, 100, 1000)]
    assert found == pytest.approx([0.68, 0.32, 0.094], abs=0.006)


def test_what_is_told_is_proved() -> None:
    mechanism = Rappor.full(key=b"x")
    told = crowd_epsilon(mechanism, 5000, 1e-7)
    assert crowd_delta(mechanism.blanket(), 5000, Fraction(math.exp(told))) <= 1e-7 * (1 + 1e-6)
    assert told < mechanism.epsilon / 4


def test_the_search_takes_nothing_that_is_not_proved() -> None:
    """Whatever it begins with, on a curve with steps as a lattice makes them."""
    for start in (0.2, 0.4999, 0.5001, 0.6, 2.5):
        for ripple in (0.0, 3e-4, 0.05):

            def height(epsilon: float, ripple: float = ripple) -> float:
                return 40 * (0.25 - epsilon**2) + ripple * math.sin(1e5 * epsilon)

            found = _certify(height, start, -20.0, 3.0)
            assert height(found) <= 0 or found == 3.0
            assert 0.5 - ripple / 20 <= found <= 0.5 + 0.01 + ripple


def test_a_search_gives_up_at_a_billionth_and_at_a_thousandth_below_the_report_alone() -> None:
    """A crowd beyond measure hides all, and one that hides nothing costs few tries."""
    tried: list[float] = []

    def height(epsilon: float, side: int) -> float:
        tried.append(epsilon)
        return float(side)

    for local in (0.01, 3.0):
        tried.clear()
        found = _root(lambda epsilon: height(epsilon, -1), local / 2, local)
        assert found == min(tried)
        assert 1e-9 * local <= found < 1.2e-9 * local
        tried.clear()
        assert _root(lambda epsilon: height(epsilon, 1), local / 2, local) == local
        # Near the end each step halves the rest: the last that is tried leaves .001 to .002 of it.
        assert 0.998 * local < max(tried) <= 0.999 * local


def test_a_report_alone_tells_what_it_always_does() -> None:
    """Without a crowd the exact delta of one report counts, of which 1e-9 hides next to nothing."""
    mechanism = response(5, 1.0)
    alone = crowd_epsilon(mechanism, 1, 1e-9)
    assert 1 - 1e-6 < alone <= mechanism.epsilon
    assert crowd_epsilon(mechanism, 1, 1e-20) == mechanism.epsilon


def test_lattices_are_above_what_they_stand_for() -> None:
    """In increasing convex order: beyond any level there is at least as much."""
    generator = np.random.default_rng(11)
    for _ in range(20):
        values = generator.integers(-400, 400, 5)
        atoms = {Fraction(int(v), 97): Fraction(1, 7) for v in values}
        gains = Gains(atoms)
        step = Fraction(int(generator.integers(3, 50)), 31)
        lattice = Lattice.of(gains, step)
        assert sum(lattice.masses.values()) == 1
        assert min(lattice.masses.values()) >= 0
        whole = {**atoms, Fraction(0): atoms.get(Fraction(0), Fraction(0)) + gains.zero_mass}
        moved = {step * at: mass for at, mass in lattice.masses.items()}
        for level in (*whole, *moved):
            assert _past(moved, level) >= _past(whole, level)
        assert _mean(moved) - _mean(whole) <= step * Fraction(1, 1 << 40)


def _past(law: dict[Fraction, Fraction], level: Fraction) -> Fraction:
    return sum((w * max(v - level, Fraction(0)) for v, w in law.items()), Fraction(0))


def _mean(law: dict[Fraction, Fraction]) -> Fraction:
    return sum((v * w for v, w in law.items()), Fraction(0))


def test_errors_of_the_transform_are_added() -> None:
    """Against sums in fractions: never below, in 150 cases, by however little.

    Above by what sums below 0 add that the transform cannot tell from others.
    """
    generator = np.random.default_rng(3)
    for _ in range(150):
        lattice = _some_lattice(generator)
        people = int(generator.integers(2, 9))
        tilt = Tilt.of(_as_gains(lattice))
        truth = sum(value * mass for value, mass in _sums(lattice, people).items() if value > 0)
        told = Fraction(mean_above(lattice, tilt, people)) * people
        assert truth <= told <= truth * (1 + Fraction(1, 1000))
        # Without a tilt: what the transform itself gives, in doubles that are exact to begin with.
        shares = {at: decimal(mass) for at, mass in lattice.masses.items()}
        most = people * max(lattice.masses)
        plain = _weighted_sum(shares, people, 1 << 9, most, 0.0)
        assert truth / lattice.step <= Fraction(plain)


def decimal(mass: Fraction) -> Decimal:
    return Decimal(mass.numerator) / Decimal(mass.denominator)


def _some_lattice(generator: np.random.Generator) -> Lattice:
    parts = generator.integers(1, 200, 4).tolist()
    total = 1 << (sum(parts).bit_length())
    places = [-int(generator.integers(3, 9)), -1, int(generator.integers(1, 4))]
    masses = {at: Fraction(part, total) for at, part in zip(places, parts, strict=False)}
    masses[0] = 1 - sum(masses.values(), Fraction(0))
    return Lattice(Fraction(1, 8), masses)


def _as_gains(lattice: Lattice) -> Gains:
    return Gains({lattice.step * at: mass for at, mass in lattice.masses.items() if at})


def _sums(lattice: Lattice, people: int) -> dict[Fraction, Fraction]:
    law = {Fraction(0): Fraction(1)}
    for _ in range(people):
        more: dict[Fraction, Fraction] = {}
        for value, chance in law.items():
            for at, mass in lattice.masses.items():
                key = value + lattice.step * at
                more[key] = more.get(key, Fraction(0)) + chance * mass
        law = more
    return law


def test_what_lies_beyond_a_transform_is_counted() -> None:
    generator = np.random.default_rng(8)
    for _ in range(20):
        lattice, people = _some_lattice(generator), 6
        rate = Decimal(Tilt.of(_as_gains(lattice)).rate)
        start = Fraction(max(lattice.masses) * 3, 8)
        truth = sum(v * mass for v, mass in _sums(lattice, people).items() if v >= start)
        told = _tail_sum(lattice, rate, 4.0, people, Decimal(float(start)))
        assert Fraction(told) >= truth * (1 - Fraction(1, 10**20))


def test_a_step_puts_a_value_onto_the_lattice() -> None:
    gains = Gains.at(worst_case_blanket(Fraction(5)), Fraction(3, 2))
    tilt = Tilt.of(gains)
    assert (tilt.masses * tilt.values).sum() == pytest.approx(0, abs=1e-9)
    step = chosen_step(gains, tilt, 1000, 1e-3, 0.002)
    assert any((value / step).denominator == 1 for value in gains.atoms)


@pytest.mark.parametrize(
    ("people", "delta", "sentence"),
    [
        (0, 1e-6, "crowd must be an integer from 1 to 1,000,000,000; got 0"),
        (2.5, 1e-6, "crowd must be an integer from 1 to 1,000,000,000; got 2.5"),
        (10, 0.0, "delta must be a number from 1e-100 to below 1; got 0.0"),
        (10, 1.0, "delta must be a number from 1e-100 to below 1; got 1.0"),
        (10, "small", "delta must be a number from 1e-100 to below 1; got 'small'"),
        (10, math.nan, "delta must be a number from 1e-100 to below 1; got nan"),
    ],
)
def test_bad_crowds_get_a_sentence(people: object, delta: object, sentence: str) -> None:
    with pytest.raises(rumor.InputError) as refused:
        crowd_epsilon(response(2, 1.0), people, delta)  # type: ignore[arg-type]
    assert str(refused.value) == sentence


def test_a_mechanism_with_nothing_to_say_of_itself_is_certified_too() -> None:
    mechanism = SubsetSelection(domain=50, epsilon=1.0)
    worst = Mechanism.blanket(mechanism)
    assert crowd_delta(worst, 10**4, Fraction(101, 100)) > crowd_delta(
        mechanism.blanket(), 10**4, Fraction(101, 100)
    )


def test_a_sum_that_cannot_be_bounded_is_the_loss_of_a_report_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blanket, factor = SubsetSelection(domain=3, epsilon=1.0).blanket(), Fraction(11, 10)
    alone = Gains.at(blanket, factor).local_delta
    assert crowd_delta(blanket, 50, factor) < 0.5 * alone

    def too_steep(*_: object) -> Decimal:
        raise Overflow

    monkeypatch.setattr("rumor.privacy.shuffle.crowd.mean_above", too_steep)
    found = crowd_delta(blanket, 50, factor)
    assert alone <= found <= alone * (1 + 1e-15)
