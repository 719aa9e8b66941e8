"""The bound on fake clients, over every registered mechanism and each of its examples."""

from __future__ import annotations

import pytest

import rumor
from rumor.mechanisms import REGISTRY, MeanMechanism, Mechanism
from tests.laws.liar_laws import (
    law_fakes_add_what_the_bound_says,
    law_fakes_take_what_the_bound_says,
    law_furthest_estimate_is_that_of_a_report,
)

EXAMPLES = [
    pytest.param(example, id=f"{kind.name}-{index}")
    for kind in REGISTRY
    for index, example in enumerate(kind.examples())
]
MEANS = [p for p in EXAMPLES if isinstance(p.values[0], MeanMechanism)]


@pytest.mark.parametrize("mechanism", EXAMPLES)
def test_fakes_add_what_the_bound_says(mechanism: Mechanism) -> None:
    law_fakes_add_what_the_bound_says(mechanism)


@pytest.mark.parametrize("mechanism", EXAMPLES)
def test_fakes_take_what_the_bound_says(mechanism: Mechanism) -> None:
    law_fakes_take_what_the_bound_says(mechanism)


@pytest.mark.parametrize("mechanism", MEANS)
def test_furthest_estimate_is_that_of_a_report(mechanism: MeanMechanism) -> None:
    law_furthest_estimate_is_that_of_a_report(mechanism)


class SharesOnly(rumor.UnaryEncoding):
    """A bound of an honest person's part: fakes add more."""

    def _fake_gain(self, reports: int, fakes: int) -> float:
        return fakes / reports


class FromTheHighEnd(rumor.Piecewise):
    """A bound for people who all hold the high end already: those at the low end can be raised
    further."""

    def _fake_gain(self, reports: int, fakes: int) -> float:
        return fakes / reports * (self.furthest_estimate - self.grid.high)


class AllSpeakOfTheKey(rumor.PrivKV):
    """A bound that forgets that few honest people speak of the key."""

    def _about(self, reports: int, fakes: int) -> float:
        return reports


class FirstIsHighest(rumor.Harmony):
    """Takes the first output for the highest."""

    furthest_estimate = property(lambda self: self.moments(self.tally(self.outputs()[:1]), 1)[0])


class HalfAWord(rumor.Rappor):
    """Half of what a plain attack adds."""

    def _fake_gain(self, reports: int, fakes: int) -> float:
        return super()._fake_gain(reports, fakes) / 2


BROKEN: list[Mechanism] = [
    SharesOnly(domain=3, epsilon=1.0),
    FromTheHighEnd(epsilon=2.0, steps=6),
    AllSpeakOfTheKey(keys=3, epsilon=2.0, steps=1),
    FirstIsHighest(epsilon=1.0, steps=1),
    HalfAWord(bits=8, hashes=2, cohorts=1, f=0, p=0.4, q=0.6, key=b"laws"),
]


@pytest.mark.parametrize("mechanism", BROKEN, ids=lambda mechanism: type(mechanism).__name__)
def test_a_wrong_bound_is_caught(mechanism: Mechanism) -> None:
    with pytest.raises(AssertionError):
        law_fakes_add_what_the_bound_says(mechanism)
