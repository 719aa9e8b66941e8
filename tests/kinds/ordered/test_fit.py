"""The distribution of ordered answers: what it promises for all counts, and what it reaches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumor.core.errors import InputError
from rumor.core.types import Vector
from rumor.kinds.ordered.fit import atoms, search, steps
from rumor.kinds.ordered.fit.average import OrderedFit, checked_spacings, fit_ordered
from rumor.kinds.ordered.fit.em import linear_mean
from rumor.kinds.ordered.fit.likelihood import BandCounts, ShapeFit, fit
from rumor.kinds.ordered.fit.shapes import ATOM_VARIANCE, Marks, Shape, Step, families
from rumor.kinds.ordered.fit.staircase import staircase
from rumor.mechanisms.wave.band import Band

Z = 1.959964


def wave(domain: int, epsilon: float, window: int | None = None) -> Band:
    width = window or max(1, round(domain / 2 * math.exp(-epsilon / 2)))
    outside = 1 / (width * math.exp(epsilon) + domain - 1)
    return Band(domain, width, math.exp(epsilon) * outside, outside)


def bell(domain: int, middle: float, width: float) -> Vector:
    place = (np.arange(domain) + 0.5) / domain
    law = np.exp(-(((place - middle) / width) ** 2) / 2)
    return np.asarray(law / law.sum())


def two_bells(domain: int) -> Vector:
    return 0.6 * bell(domain, 0.3, 0.07) + 0.4 * bell(domain, 0.7, 0.1)


def spike(domain: int) -> Vector:
    law = np.full(domain, 0.7 / domain)
    law[domain * 3 // 8] += 0.3
    return law


def heaped(domain: int, every: int, part: float) -> Vector:
    law = bell(domain, 0.45, 0.2)
    found = (1 - part) * law
    for value, share in enumerate(law.tolist()):
        found[min(round(value / every) * every, (domain - 1) // every * every)] += part * share
    return found


def distance(found: Vector, law: Vector) -> float:
    return float(np.abs(np.cumsum(found - law)).mean())


def fitted(band: Band, law: Vector, people: int, seed: int) -> OrderedFit:
    counts = np.random.default_rng(seed).multinomial(people, band.forward(law))
    return fit_ordered(band, counts)


@settings(max_examples=8, deadline=None)
@given(
    st.integers(2, 24),
    st.integers(1, 12),
    st.sampled_from([0.3, 1.0, 4.0]),
    st.lists(st.integers(0, 300), min_size=40, max_size=40),
)
def test_any_counts_give_a_distribution(
    domain: int, window: int, epsilon: float, counts: list[int]
) -> None:
    band = wave(domain, epsilon, min(window, domain))
    seen = np.array(counts[: band.outcomes])
    seen[0] += 1
    found = fit_ordered(band, seen)
    assert found.frequency.sum() == pytest.approx(1)
    assert (found.frequency >= 0).all()
    values, deviations = found.cdf
    np.testing.assert_allclose(values, np.cumsum(found.frequency))
    assert deviations[-1] == pytest.approx(0, abs=1e-7)
    assert np.isfinite(deviations).all()
    middle, low, high = found.quantile(0.5, Z)
    assert 0 <= low <= middle <= high <= domain


def test_mirrored_counts_give_the_mirrored_distribution() -> None:
    band = wave(50, 1.0)
    counts = np.random.default_rng(1).multinomial(20_000, band.forward(two_bells(50)))
    there, back = fit_ordered(band, counts), fit_ordered(band, counts[::-1])
    # Fits end within a hundredth of a unit of log-likelihood of the top, from either side.
    np.testing.assert_allclose(there.frequency, back.frequency[::-1], atol=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "limit"),
    [
        (bell(256, 0.6, 0.15), 0.006),
        (two_bells(256), 0.007),
        (spike(256), 0.003),
        (np.full(256, 1 / 256), 0.003),
    ],
    ids=["bell", "two bells", "spike", "flat"],
)
def test_distances_of_a_hundred_thousand_people(law: Vector, limit: float) -> None:
    band = wave(256, 1.0)
    found = [distance(fitted(band, law, 100_000, seed).frequency, law) for seed in range(2)]
    # The limits are those of docs: a mean of 20 lies well below, one of 2 within a third more.
    assert np.mean(found) < 4 / 3 * limit


@pytest.mark.slow
@pytest.mark.parametrize(
    ("domain", "epsilon", "people"),
    [pytest.param(32, 1.0, 10_000, marks=pytest.mark.slow), (11, 2.0, 3_000)],
)
def test_intervals_hold_the_truth(domain: int, epsilon: float, people: int) -> None:
    band = wave(domain, epsilon)
    held: dict[str, list[float]] = {"cdf": [], "quantile": [], "share": [], "mean": []}
    for number, law in enumerate((two_bells(domain), spike(domain), bell(domain, 0.9, 0.3))):
        edges = np.concatenate([[0.0], np.cumsum(law)])
        for trial in range(8):
            counts = np.random.default_rng([number, trial]).multinomial(people, band.forward(law))
            found = fit_ordered(band, counts)
            values, deviations = found.cdf
            held["cdf"].append(
                float(np.mean(np.abs(values - edges[1:])[:-1] <= Z * deviations[:-1]))
            )
            for share in (0.1, 0.25, 0.5, 0.75, 0.9):
                _, low, high = found.quantile(share, Z)
                true = float(np.interp(share, edges, range(domain + 1)))
                held["quantile"].append(low <= true <= high)
            quarter = np.zeros((domain, 2))
            quarter[domain // 4 : domain // 2, 0] = 1
            quarter[domain // 2 :, 1] = 1
            value, deviation = found.linear(quarter)
            held["share"] += (np.abs(value - law @ quarter) <= Z * deviation).tolist()
            mean, error = linear_mean(band, counts)
            held["mean"].append(abs(mean - float(law @ np.arange(domain))) <= Z * error)
    # 24 fits whose intervals are correlated within each: a true .95 stays above .82 (3 standard
    # deviations of 24 draws are .13); intervals twice too narrow would hold .67.
    assert all(np.mean(found) > 0.82 for found in held.values()), held


@pytest.mark.slow
def test_intervals_are_no_wider_than_they_need() -> None:
    """The deviation of the CDF beside its error over many crowds, where laws agree."""
    band, law = wave(32, 1.0), two_bells(32)
    errors, deviations = [], []
    for seed in range(10):
        values, deviation = fitted(band, law, 100_000, 100 + seed).cdf
        errors.append((values - np.cumsum(law))[[7, 15, 23]])
        deviations.append(deviation[[7, 15, 23]])
    ratio = np.sqrt(np.mean(np.square(errors)) / np.mean(np.square(deviations)))
    # Thirty errors, of which half or so are independent: .36 is two standard deviations; what is
    # safe is told a little too wide.
    assert 0.5 < ratio < 1.36


@pytest.mark.slow
def test_declared_heaps_are_found_and_cost_nothing_where_there_are_none() -> None:
    every = 10
    width = 35  # the heaps do not cancel: half a spacing over three of them
    band = wave(200, 1.0, width)
    law = heaped(200, every, 0.35)
    plain, declared, smooth, needless = [], [], [], []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        counts = rng.multinomial(100_000, band.forward(law))
        plain.append(distance(fit_ordered(band, counts).frequency, law))
        found = fit_ordered(band, counts, ((every, 0),))
        declared.append(distance(found.frequency, law))
        assert found.heaps_matter
        marks = (np.arange(200) % every == 0).astype(np.float64)
        share, deviation = found.linear(marks)
        assert abs(float(share - law @ marks)) < 3 * deviation < 0.45
        counts = rng.multinomial(100_000, band.forward(bell(200, 0.45, 0.2)))
        smooth.append(distance(fit_ordered(band, counts).frequency, bell(200, 0.45, 0.2)))
        again = fit_ordered(band, counts, ((every, 0), (8, 3)))
        needless.append(distance(again.frequency, bell(200, 0.45, 0.2)))
    assert np.mean(declared) < 0.8 * np.mean(plain)
    assert np.mean(needless) < np.mean(smooth) + 0.001


def test_declarations_that_are_none() -> None:
    band = wave(20, 1.0)
    counts = np.ones(band.outcomes)
    for spacings in (((1, 0),), ((5, 5),), ((5, -1),), ((5.0, 0),), (5,), "5"):
        with pytest.raises(InputError, match="pairs of a spacing from 2 on and an offset"):
            fit_ordered(band, counts, spacings)  # type: ignore[arg-type]
    # A single mark is no heap, and what is declared twice is declared.
    assert checked_spacings(((30, 0), (5, 2), (5, 2)), 20) == (Marks(5, 2),)


def test_gains_are_what_adding_gains() -> None:
    """Near the truth, U^2/2V is the rise of the penalised likelihood, of an atom and of a step."""
    band = wave(30, 1.0)
    law = 0.92 * bell(30, 0.5, 0.2)
    law[21] += 0.08
    for real, own, variance in (
        (law, Shape(30, families(30)[2][3], (), (21,)), ATOM_VARIANCE),
        (np.where(np.arange(30) >= 12, 2.5, 1.0) * bell(30, 0.5, 0.2), None, Step.variance),
    ):
        shape = own or Shape(30, families(30)[2][3], (Step(12),))
        chances = band.forward(real / real.sum())
        seen = BandCounts(band, np.random.default_rng(7).multinomial(200_000, chances))
        member = fit(seen, Shape(30, shape.law))
        if own:
            gain, weight = atoms.gains(seen, member)
            start, number = atoms.with_atom(member, float(weight[21])), 21
        else:
            places, gain, height = steps.gains(seen, member)
            number = places.tolist().index(12)
            start = np.append(member.parameters, height[number])
        raised = fit(seen, shape, [start])
        # What it costs in evidence is its prior and its spread: both known here.
        spread = np.linalg.slogdet(raised.information)[1] - np.linalg.slogdet(member.information)[1]
        free = raised.evidence - member.evidence + (math.log(variance) + float(spread)) / 2
        free += float(raised.parameters[-1]) ** 2 / (2 * variance)
        assert gain[number] == pytest.approx(free, rel=0.2)
        assert gain[number] > 3
        assert abs(int(gain.argmax()) - number) <= 1


def test_what_is_not_smooth_has_its_price() -> None:
    costs = atoms.place_costs(100)
    assert costs[0] == costs[99] == pytest.approx(1 + math.log(4))
    assert set(costs[1:99]) == {1 + math.log(200)}
    assert steps.price(100, 0) == pytest.approx(math.log(200))
    # In whichever order two are added, they are the same two.
    assert steps.price(100, 1) == pytest.approx(math.log(200) - math.log(2))


def test_plateaus_are_found_where_they_end() -> None:
    band = wave(64, 2.0)
    place = np.arange(64)
    law = np.where((place >= 6) & (place < 22) | (place >= 38) & (place < 58), 1 / 36, 0.0)
    counts = np.random.default_rng(12).multinomial(300_000, band.forward(law))
    found = fit_ordered(band, counts)
    assert staircase(BandCounts(band, counts), -math.inf, 6.0) == (6, 22, 38, 58)
    # Curves alone leave .002 and more.
    assert distance(found.frequency, law) < 0.0015
    assert found.frequency[law == 0].sum() < 0.01


def test_a_density_that_begins_at_a_value_is_cut_there() -> None:
    band = wave(100, 2.0)
    law = np.where(np.arange(100) >= 18, bell(100, 0.3, 0.2), 0.0)
    law /= law.sum()
    found = fitted(band, law, 300_000, 13)
    assert found.frequency[:17].sum() < 0.004
    value, deviation = found.linear(np.where(np.arange(100) < 18, 1.0, 0.0))
    assert value < 0.01
    assert deviation < 0.01


def test_a_single_value_is_found_where_it_is() -> None:
    band = wave(100, 1.0)
    law = np.zeros(100)
    law[37] = 1.0
    found = fitted(band, law, 50_000, 8)
    assert found.frequency.argmax() == 37
    assert distance(found.frequency, law) < 0.004
    middle, low, high = found.quantile(0.5, Z)
    assert 36.5 < low <= middle <= high < 38.5


def test_an_atom_lies_where_its_own_law_puts_it() -> None:
    """Under one law an atom does nothing and may lie anywhere, under another it holds all."""
    band = wave(5, 4.0)
    law = np.array([0.0, 0.0, 0.0, 0.1, 0.9])
    found, heavy = fitted(band, law, 100_000, 0), 0
    for member in found.members:
        weights = member.fit.shape.cells(member.fit.parameters)[1]
        for weight, (_, likely) in zip(weights, member.places, strict=True):
            if weight > 0.5:
                heavy += 1
                assert likely.max() > 0.99
    assert heavy
    # Shares are known to .0005; with places taken from another law it was .0018.
    assert distance(found.frequency, law) < 0.0008


def test_two_of_five_by_halves() -> None:
    band = wave(5, 2.0)
    law = np.array([0.0, 0.5, 0.0, 0.5, 0.0])
    off = [distance(fitted(band, law, 50_000, seed).frequency, law) for seed in range(6)]
    # One parameter is left of four, and its place is known: a half or less of .0019, which is
    # what each share for itself leaves.
    assert np.mean(off) < 0.0012


def test_linear_functionals() -> None:
    band = wave(20, 2.0)
    found = fitted(band, bell(20, 0.4, 0.2), 20_000, 9)
    place = np.arange(20.0)
    mean, deviation = found.linear(place)
    assert mean == pytest.approx(found.frequency @ place)
    both, deviations = found.linear(np.column_stack([place, place >= 10]))
    assert both[0] == pytest.approx(mean)
    assert deviations[0] == pytest.approx(deviation)
    # The share from 10 on is one less the distribution function after 9, and as well known.
    assert both[1] == pytest.approx(1 - found.cdf[0][9])
    assert deviations[1] == pytest.approx(found.cdf[1][9])
    # Adding a constant changes a functional by the constant and not how well it is known.
    shifted, same = found.linear(place + 5)
    assert shifted == pytest.approx(mean + 5)
    assert same == pytest.approx(deviation, rel=1e-6)
    with pytest.raises(InputError, match="one number for each of the 20 bins; got shape"):
        found.linear(np.ones(19))


def test_quantiles_are_interpolated_within_bins() -> None:
    band = wave(8, 4.0)
    found = fitted(band, np.full(8, 1 / 8), 1_000_000, 10)
    for share in (0.0, 0.1, 0.3, 0.5, 0.99, 1.0):
        middle, low, high = found.quantile(share, Z)
        # A flat law's quantile is the share of the range; .01 of a bin is five deviations.
        assert middle == pytest.approx(8 * share, abs=0.03)
        assert low <= 8 * share <= high
    edges = np.concatenate([[0], found.cdf[0]])
    assert np.interp(found.quantile(0.37, Z)[0], range(9), edges) == pytest.approx(0.37)
    with pytest.raises(InputError, match="share must be from 0 to 1; got 2"):
        found.quantile(2, Z)


@pytest.mark.slow
def test_many_values_are_fitted_on_blocks_of_outputs() -> None:
    band = wave(4096, 1.0)
    law = two_bells(4096)
    found = fitted(band, law, 100_000, 11)
    assert found.frequency.size == 4096
    assert distance(found.frequency, law) < 0.012


def test_fits_that_are_alike_share_the_places_of_their_atoms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An atom that all priors agree on is looked for once, and each has what was found."""
    found, places, located = list[object](), atoms.places, search._located

    def counted(seen: BandCounts, member: ShapeFit) -> object:
        found.append(member)
        return places(seen, member)

    monkeypatch.setattr(atoms, "places", counted)
    members: list[search.Member] = []

    def kept(*of: Any) -> list[search.Member]:
        made = located(*of)
        members.extend(made)
        return made

    monkeypatch.setattr(search, "_located", kept)
    fitted(wave(50, 2.0), spike(50), 20_000, 1)
    assert len(members) > 3
    assert len(found) == 1
