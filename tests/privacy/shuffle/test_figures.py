"""Certified figures stay, to nine digits, and every margin for rounding is as large as it says.

Other tests hold figures between exact ones and a bound; a search that ends elsewhere, a coarser
grid or a margin that is too small lies between them too. Certificates print these figures, so a
change is one that people see. Margins are seen where the unit of rounding is made large.
"""

from __future__ import annotations

import functools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from rumor.mechanisms import Mechanism, RandomizedResponse, SubsetSelection, UnaryEncoding
from rumor.privacy.shuffle import curve as curves
from rumor.privacy.shuffle import losses, transform
from rumor.privacy.shuffle.account import certified_epsilon, shuffle_account
from rumor.privacy.shuffle.crowd import _factor, _round_up_decimal, crowd_delta
from rumor.privacy.shuffle.curve import PrivacyCurve
from rumor.privacy.shuffle.gains import Gains
from rumor.privacy.shuffle.lattice import Lattice, Tilt, _parts, chosen_step
from rumor.privacy.shuffle.losses import LossDistribution
from tests.relay.tools import relayed

response = functools.partial(RandomizedResponse)
FIGURES: list[tuple[Mechanism, int, int, int, float, float]] = [
    (response(domain=2, epsilon=1.0), 1_000, 1, 1, 1e-8, 0.188601775738865),
    (response(domain=7, epsilon=4.0), 10_000, 1, 1, 1e-8, 0.4894312969846177),
    (response(domain=3, epsilon=0.2), 50, 1, 1, 1e-3, 0.03356768784008992),
    (response(domain=3, epsilon=2.0), 1_000_000, 1, 1, 1e-20, 0.02468282302107399),
    (response(domain=4, epsilon=8.0), 300, 1, 1, 1e-2, 7.986575936657232),
    (response(domain=2, epsilon=1.0), 5, 1, 1, 0.2, 0.06878402683012072),
    (response(domain=2, epsilon=1.0), 2, 1, 1, 1e-3, 0.9981598558390689),
    (response(domain=2, epsilon=1.0), 2, 1, 1, 3e-4, 1.0),
    (response(domain=2, epsilon=1.0), 4, 1, 1, 1e-2, 0.9643884865645593),
    (response(domain=4, epsilon=2.0), 2_000, 1, 1, 0.5, 1.038388992846156e-12),
    (response(domain=5, epsilon=30.0), 1_000, 1, 1, 1e-6, 29.999999861221617),
    (SubsetSelection(domain=50, epsilon=1.0), 3_000, 1, 1, 1e-6, 0.057135825521824446),
    (UnaryEncoding(domain=9, epsilon=2.0), 3_000, 1, 1, 1e-6, 0.1501740060989027),
    (response(domain=2, epsilon=1.0), 1_000, 2, 1, 1e-8, 0.38970875932040056),
    (response(domain=2, epsilon=1.0), 1_000, 5, 1, 1e-8, 1.020195008624703),
    (response(domain=3, epsilon=2.0), 300, 1, 2, 1e-5, 0.9057713007738233),
    (response(domain=3, epsilon=2.0), 300, 1, 13, 1e-5, 2.5287842951478567),
    (response(domain=3, epsilon=2.0), 300, 3, 7, 1e-5, 6.3038667225960365),
    (response(domain=2, epsilon=0.1), 60, 3, 3, 1e-4, 0.1805536078776546),
    (response(domain=2, epsilon=12.0), 60, 2, 2, 1e-30, 47.99999999999998),
]


@pytest.mark.parametrize(("mechanism", "people", "reports", "batches", "delta", "told"), FIGURES)
def test_a_certified_figure_stays(
    mechanism: Mechanism, people: int, reports: int, batches: int, delta: float, told: float
) -> None:
    found = certified_epsilon(mechanism, people, reports, batches, delta)
    assert found == pytest.approx(told, rel=1e-9)


@pytest.mark.parametrize(
    ("more", "together"),
    [
        ({}, 0.7080198427404547),
        ({"ask": {"questions": 2}}, 0.7391131572400956),
        ({"turn_hours": 24}, 0.556077020491116),
        ({"turn_hours": 24, "ask": {"questions": 2}}, 1.0042658513927658),
    ],
)
def test_the_figure_of_unequal_questions_stays(more: dict[str, object], together: float) -> None:
    questions = [
        {"id": id, "kind": "choice", "domain": domain, "epsilon": epsilon,
         "mechanism": "randomized-response", "reports_per_person": reports}
        for id, epsilon, domain, reports in (("a", 1.0, 2, 2), ("b", 1.5, 3, 1), ("c", 0.5, 4, 3))
    ]  # fmt: skip
    told = shuffle_account(
        [relayed(crowd=400, questions=questions, **more)],  # type: ignore[arg-type]
        people=400,
        delta=1e-6,
    )
    assert told.together == pytest.approx(together, rel=1e-9)


# --- Margins, with a large unit of rounding ---------------------------------------------------

U = 2.0**-12


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make rounding coarse, so that each margin for it is seen."""
    for module in (losses, curves, transform):
        monkeypatch.setattr(module, "_UNIT", U)
    return monkeypatch


@pytest.mark.usefixtures("coarse")
def test_a_split_has_its_margins() -> None:
    found = LossDistribution._split(np.array([0.3, 1.7]), np.array([0.5, 0.25]), 0.5, 0.01)
    ups = [math.expm1(-0.3) / math.expm1(-0.5), math.expm1(-0.2) / math.expm1(-0.5)]
    pads = [4 * U * 8, 4 * U * (3 + 8)]
    expected = np.zeros(5)
    for at, mass, up, pad in zip((0, 3), (0.5, 0.25), ups, pads, strict=True):
        expected[at] = mass * (1 - up + pad)
        expected[at + 1] = mass * (up + pad)
    assert (found.step, found.first, found.infinite) == (0.5, 0, 0.01)
    assert found.masses == pytest.approx(expected * (1 + 10 * U), rel=1e-12)
    # Below 0 the place counts by its size.
    below = LossDistribution._split(np.array([-1.2]), np.array([0.5]), 0.5, 0.0)
    up = math.expm1(-0.3) / math.expm1(-0.5)
    pad = 4 * U * (3 + 8)
    assert below.first == -3
    assert below.masses == pytest.approx(
        np.array([1 - up + pad, up + pad]) * 0.5 * (1 + 9 * U), rel=1e-12
    )


@pytest.mark.usefixtures("coarse")
def test_sums_of_losses_have_their_margins() -> None:
    one = LossDistribution(0.5, -1, np.array([0.1, 0.2, 0.3]), 0.01)
    two = LossDistribution(0.5, 3, np.array([0.2, 0.4]), 0.03)
    for found in (one.plus(two, 1e-6), two.plus(one, 1e-6)):
        masses = np.convolve(one.masses, two.masses) * (1 + 2 * (2 + 4) * U)
        masses[0] *= 1 + (4 + 4) * U
        assert (found.step, found.first) == (0.5, 2)
        assert found.masses == pytest.approx(masses, rel=1e-12)
        assert found.infinite == pytest.approx(0.04 * (1 + 4 * U) * (1 + 8 * U), rel=1e-12)
    # The finer grid is made coarser: odd multiples go up and down, with their mean kept.
    wider = LossDistribution(1.0, 0, np.array([1.0]), 0.0).plus(one, 1e-6)
    up = 1 / (1 + math.exp(-0.5))
    halves = np.array([0.1 * (1 - up + 4 * U), 0.2 + 0.1 * (up + 4 * U) + 0.3 * (1 - up + 4 * U),
                       0.3 * (up + 4 * U)]) * (1 + 4 * U) * (1 + 2 * (1 + 4) * U)  # fmt: skip
    halves[0] *= 1 + (3 + 4) * U
    assert (wider.step, wider.first) == (1.0, -1)
    assert wider.masses == pytest.approx(halves, rel=1e-12)


@pytest.mark.usefixtures("coarse")
def test_deltas_of_losses_have_their_margins() -> None:
    told = LossDistribution(0.5, -1, np.array([0.1, 0.2, 0.3]), 0.01)
    beyond = 0.3 * -math.expm1(0.2 - 0.5) + 0.01
    assert told.delta_at(0.2) == pytest.approx(beyond * (1 + 19 * U), rel=1e-12)
    assert told.delta_at(0.6) == pytest.approx(0.01 * (1 + 19 * U), rel=1e-12)
    # No epsilon is told where what has no bound may use up delta.
    least = 0.01 * (1 + 32 * U)
    assert told.epsilon_at(least) == math.inf
    assert told.epsilon_at(math.nextafter(least, 1)) < 1.0
    # Faint ends are moved: the lower one up, the upper one to infinity.
    masses = np.array([4e-16, 5e-16, 0.2, 0.3, 4e-16, 5e-16])
    cut = LossDistribution(0.5, -1, masses, 0.01)._cut(1e-6)
    assert (cut.first, len(cut.masses)) == (1, 2)
    assert cut.masses == pytest.approx([0.2 * (1 + 10 * U), 0.3], rel=1e-12)
    assert cut.infinite == pytest.approx(0.01 * (1 + 10 * U), rel=1e-12)


@pytest.mark.usefixtures("coarse")
def test_products_of_curves_have_their_margins() -> None:
    one = PrivacyCurve(np.array([1.0, 2.0]), np.array([0.25, 0.0]))
    two = PrivacyCurve(np.array([1.0, 3.0]), np.array([0.5, 0.0]))
    found = one.compose(two)
    assert found.factors[0] == 1.0
    assert found.deltas[0] == pytest.approx(0.75 * (1 + 4 * U), rel=1e-12)
    assert found.factors[-1] == pytest.approx(6 * (1 + 4 * U), rel=1e-12)
    assert found.deltas[-1] == 0.0
    # Between them: 3 a, then + 1/4 in the second one.
    place = int(np.argmin(abs(found.factors - 3)))
    assert found.factors[place] == pytest.approx(3 * (1 + 4 * U), rel=1e-12)
    assert found.deltas[place] == pytest.approx(0.25 * (1 + 8 * U), rel=1e-12)


def test_a_transform_has_the_margins_of_its_proof(coarse: pytest.MonkeyPatch) -> None:
    """Those of the module's docstring, over every frequency of the whole spectrum."""
    unit = 2.0**-24
    shares = {-3: Decimal("0.3"), -1: Decimal("0.2"), 0: Decimal("0.1"), 4: Decimal("0.4")}
    people, size, reach, slope = 5, 64, 20, 0.1
    coarse.setattr(transform, "_UNIT", 0.0)
    bare = transform._weighted_sum(shares, people, size, reach, slope)
    coarse.setattr(transform, "_UNIT", unit)
    found = transform._weighted_sum(shares, people, size, reach, slope)
    masses = np.zeros(size)
    for at, share in shares.items():
        masses[at] = float(share)  # places below 0 count from the end
    spectrum = np.fft.fft(masses)
    unsure = (12 * 6 + 16) * unit
    power_off = people * unsure * ((np.abs(spectrum) + unsure) ** (people - 1)).sum() / size
    sums = np.fft.ifft(spectrum**people).real
    steps = np.arange(1, reach + 1)
    weights = steps * np.exp(-slope * steps)
    back = 12 * 6 * unit * np.linalg.norm(sums) * np.linalg.norm(weights)
    assert bare == pytest.approx(float((sums[1 : reach + 1] * weights).sum()), rel=1e-12)
    assert found - bare == pytest.approx(1.01 * (power_off * weights.sum() + back), rel=1e-6)


def test_a_transform_holds_what_weighs_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight deviations below 0, and above it all values but those with e^-45 of the weight."""
    gains = Gains.at(response(domain=3, epsilon=1.0).blanket(), Fraction(5, 4))
    people, tilt = 4_000, Tilt.of(gains)
    lattice = Lattice.of(gains, chosen_step(gains, tilt, people, 1e-3, 0.002))
    asked: list[tuple[int, int, float]] = []
    weighted_sum = transform._weighted_sum

    def recorded(
        shares: dict[int, Decimal], people: int, size: int, reach: int, slope: float
    ) -> float:
        asked.append((size, reach, slope))
        return weighted_sum(shares, people, size, reach, slope)

    monkeypatch.setattr(transform, "_weighted_sum", recorded)
    told = transform.mean_above(lattice, tilt, people)
    ((size, reach, slope),) = asked
    step = float(lattice.step)
    weights = {at: float(m) * math.exp(tilt.rate * step * at) for at, m in lattice.masses.items()}
    total = sum(weights.values())
    spread = math.sqrt(people * sum(w * at * at for at, w in weights.items()) / total)
    assert slope == pytest.approx(tilt.rate * step, rel=1e-12)
    # x with slope x + x^2 / (2 spread^2) = 45
    far = (-slope + math.sqrt(slope**2 + 90 / spread**2)) * spread**2
    assert reach == math.ceil(far) + max(lattice.masses)
    assert size == transform._fast_size(reach + math.ceil(8 * spread) + 1)
    # What is beyond is added, and all of it is rounded up by 1e-12.
    monkeypatch.setattr(transform, "_ROUNDED", Decimal(1))
    plain = transform.mean_above(lattice, tilt, people)
    assert told / plain - 1 == pytest.approx(Decimal("1e-12"), rel=Decimal("1e-6"))


def test_a_transform_is_of_a_quick_size() -> None:
    sizes = sorted(part << power for part in (3, 4, 5) for power in range(1, 12))
    sizes = [size for size in sizes if size >= 10]
    for places in range(1, 3_000):
        assert transform._fast_size(places) == next(size for size in sizes if size >= places)


def test_what_lies_beyond_is_the_better_of_two_bounds() -> None:
    """E[S; S >= s] <= s E[e^(t'(S - s))], at half the tilt that centres on s and at all of it."""
    lattice = Lattice(Fraction(1, 8), {-4: Fraction(1, 4), 3: Fraction(1, 8), 0: Fraction(5, 8)})
    people, rate, squares = 6, Decimal("0.4"), 3.5
    for start in (Decimal("0.4"), Decimal(1), Decimal("2.25")):
        variance = people * squares / 64
        tilts = [max(0.4 + part * float(start) / variance, 1 / float(start)) for part in (0.5, 1)]
        bounds = [
            float(start)
            * math.exp(-t * float(start))
            * sum(float(m) * math.exp(t * at / 8) for at, m in lattice.masses.items()) ** people
            for t in tilts
        ]
        found = transform._tail_sum(lattice, rate, squares, people, start)
        assert float(found) == pytest.approx(min(bounds), rel=1e-12)


# --- The smallest steps up --------------------------------------------------------------------


def test_a_part_that_goes_up_is_rounded_up_to_two_to_the_minus_forty() -> None:
    gains = Gains({Fraction(1, 3): Fraction(1, 2), Fraction(-4, 3): Fraction(1, 4)})
    lattice = Lattice.of(gains, Fraction(1))
    third, two_thirds = (Fraction(math.ceil(Fraction(n, 3) * 2**40), 2**40) for n in (1, 2))
    assert lattice.masses == {
        0: Fraction(1, 4) + (1 - third) / 2,
        1: third / 2,
        -2: (1 - two_thirds) / 4,
        -1: two_thirds / 4,
    }


def test_numbers_are_rounded_up_by_one_step_at_most() -> None:
    for text in ("0.1", "1e-30", "0.25", "0.3333333333333333333333333"):
        found = _round_up_decimal(Decimal(text))
        assert Decimal(math.nextafter(found, 0)) < Decimal(text) <= Decimal(found)
    for epsilon in (0.0, 0.1, 1.0, 20.0):
        assert abs(_factor(epsilon) / Fraction(math.exp(epsilon)) - 1) < Fraction(1, 2**51)
        assert (_factor(epsilon) * 2**60).denominator == 1
        nearest = curves._exp_up(epsilon)
        assert nearest == math.nextafter(float(np.exp(epsilon)), math.inf)
    ratio = Fraction(7, 3)
    nearest = math.log(7 / 3)
    assert losses._log_up(ratio) == nearest + 2 * math.ulp(nearest)


def test_one_person_and_hopeless_gains_are_a_report_alone() -> None:
    """The batch of one, a delta of nearly nothing, and gains beyond what doubles carry."""
    blanket = response(domain=2, epsilon=1.0).blanket()
    factor = Fraction(2)
    alone = Gains.at(blanket, factor).local_delta
    assert Fraction(math.nextafter(crowd_delta(blanket, 1, factor), 0)) < alone
    assert Fraction(crowd_delta(blanket, 1, factor)) >= alone
    assert crowd_delta(blanket, 2, factor) < float(alone)
    assert crowd_delta(blanket, 2, Fraction(3)) == 0


def test_a_value_is_divided_into_some_sixty_four_numbers_of_steps() -> None:
    """From those that make a step no larger than wanted to those that make it half of that."""
    for least, parts in (
        (0.5, range(1, 2)),
        (1.0, range(1, 2)),
        (2.5, range(3, 6)),
        (64.0, range(64, 128)),
        (64.5, range(65, 130, 2)),
        (1_000.0, range(1_000, 2_000, 16)),
    ):
        assert _parts(least) == parts
