"""A further mean mechanism is its own file: estimates, bounds, audits and "auto" know it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rumor
from rumor.core.types import Tally
from rumor.mechanisms import Mechanism
from rumor.mechanisms.mean import choose_mean, mean_mechanisms
from rumor.mechanisms.poisoning import bound_poisoning
from rumor.privacy.audit.findings import audit_exact, audit_samples
from rumor.privacy.audit.over_time import audit_over_time
from tests.laws.laws import (
    Law,
    law_audit,
    law_bulk_plain_agrees,
    law_draw_is_the_channel,
    law_epsilon_is_exact,
    law_evidence_is_the_models,
    law_reports_are_recognised,
    law_reports_are_valid,
    law_rows_sum_to_one,
    law_scalar_agrees,
)
from tests.laws.liar_laws import (
    law_fakes_add_what_the_bound_says,
    law_furthest_estimate_is_that_of_a_report,
)
from tests.laws.third_mean import DOWN, UP, Shrug

LAWS: list[Law] = [
    law_rows_sum_to_one,
    law_draw_is_the_channel,
    law_epsilon_is_exact,
    law_bulk_plain_agrees,
    law_scalar_agrees,
    law_audit,
    law_evidence_is_the_models,
    law_reports_are_recognised,
    law_reports_are_valid,
    law_fakes_add_what_the_bound_says,
]


@pytest.mark.parametrize("mechanism", Shrug.examples(), ids=["ends", "grid"])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_laws_know_it(law: Law, mechanism: Mechanism) -> None:
    law(mechanism)


@pytest.mark.parametrize("mechanism", Shrug.examples(), ids=["ends", "grid"])
def test_its_highest_output_is_found(mechanism: Shrug) -> None:
    law_furthest_estimate_is_that_of_a_report(mechanism)
    alone = mechanism.estimates(mechanism.outputs())
    assert alone.argmax() == UP == 0, "the first, where it is the last of the others"
    assert alone.argmin() == DOWN


def test_its_mean_is_estimated_with_an_interval_and_a_bound() -> None:
    """20 crowds of 2,000: within five standard errors of the truth on average."""
    mechanism, people, runs = Shrug(low=0.0, high=24.0, epsilon=1.0, steps=24), 2_000, 20
    values = np.resize([3.0, 9.0, 21.0], people)
    found = [
        rumor.estimate(mechanism, mechanism.privatize(values, random=rumor.Seeded(seed)))
        for seed in range(runs)
    ]
    noise = math.sqrt(float(mechanism.variance(values, people).mean()))
    means = np.array([one.unbiased for one in found])
    assert abs(means.mean() - values.mean()) < 5 * noise / math.sqrt(runs)
    # No coin is behind a report, so no score interval is made of it.
    assert mechanism.binomial(mechanism.tally(mechanism.outputs()), 3) is None
    low, high = found[0].interval(0.95)
    assert high - low == pytest.approx(2 * 1.96 * found[0].stderr, rel=1e-3)
    told = bound_poisoning(mechanism, people)
    assert told.target.what == "the mean"
    assert told.sentence() in " ".join(found[0].explain().split())
    assert told.gain == pytest.approx(0.01 * (mechanism.furthest_estimate - 0.0))


def test_it_is_audited() -> None:
    mechanism = Shrug(epsilon=1.0)
    exact = audit_exact(mechanism)
    assert exact.passed
    assert exact.found == pytest.approx(mechanism.epsilon, abs=1e-12)
    sampled = audit_samples(mechanism, samples=60_000, random=rumor.Seeded(1))
    assert sampled.passed
    assert sampled.found > 0.9 * mechanism.epsilon
    over = audit_over_time(mechanism, 2, people=1500, random=rumor.Seeded(2))
    assert over.claimed == 2 * mechanism.epsilon
    assert over.passed
    assert over.found > 0.5 * over.claimed


def register(monkeypatch: pytest.MonkeyPatch, *mechanisms: type[Mechanism]) -> None:
    """Let the registry's lines for numbers be these."""
    monkeypatch.setattr("rumor.mechanisms.mean.mechanisms_of_kind", lambda kind: iter(mechanisms))


def test_auto_offers_it_once_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    known, shrug = mean_mechanisms(), Shrug(low=0.0, high=24.0, epsilon=1.0)
    assert Shrug not in known
    register(monkeypatch, *known, Shrug)
    assert mean_mechanisms() == (*known, Shrug)
    # It never has the least noise: saying nothing helps nobody.
    chosen = choose_mean(low=0.0, high=24.0, epsilon=1.0)
    assert chosen.worst_variance < shrug.worst_variance
    register(monkeypatch, rumor.RandomizedResponse, Shrug)
    assert choose_mean(low=0.0, high=24.0, epsilon=1.0) == shrug
    monkeypatch.setattr(Shrug, "worst_variance", 0.0)
    register(monkeypatch, rumor.Harmony, Shrug, rumor.Piecewise)
    assert choose_mean(low=0.0, high=24.0, epsilon=1.0) == shrug


def test_a_public_part_leaves_the_bound_to_the_mechanism() -> None:
    """`outputs` are those of one public part: a bound from them would be none."""

    class Seeded(Shrug):
        def publics(self) -> list[bytes]:
            return [b"a", b"b"]

        def tally(self, reports: np.ndarray) -> Tally:
            raise AssertionError("no output is looked at")

    with pytest.raises(rumor.InputError, match="no bound on fake clients is known for Seeded"):
        Seeded(epsilon=1.0).poisoning.gain(10, 1)
