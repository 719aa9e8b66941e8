"""What a plan foretells of a mean that is kept within its range, against a numeric integral."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rumor.kinds.number.plan import planned
from rumor.kinds.ordered import plan as ordered
from rumor.kinds.planning.planned import Size
from rumor.mechanisms.mean import mean_mechanisms
from rumor.mechanisms.wave.wave import Wave


@pytest.mark.parametrize("users", [1, 4, 30, 5_000])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_the_error_is_that_of_a_normal_mean_within_the_range(users: int, epsilon: float) -> None:
    """Evenly spread numbers: their own variance, the noise at each, and the clip of the mean."""
    low, high = -10.0, 30.0
    topic = planned(Size(low=low, high=high))
    for kind in mean_mechanisms():
        mechanism = kind(low=low, high=high, epsilon=epsilon, outside="clip")
        numbers = np.linspace(low, high, 2001)
        noise = float(np.mean(mechanism.variance(numbers)))
        variance = (noise + (high - low) ** 2 / 12) / users
        assert topic.linear(mechanism, users) == pytest.approx(math.sqrt(variance), rel=1e-9)
        z = np.linspace(-12, 12, 400_001)
        density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        missed = np.clip(z * math.sqrt(variance), -(high - low) / 2, (high - low) / 2)
        square = np.trapezoid(missed**2 * density, z)
        assert topic.default(mechanism, users) == pytest.approx(math.sqrt(square), rel=1e-6)


def test_the_noise_at_a_number_is_the_variance_of_what_one_report_says() -> None:
    """Of positions, from the law of one report: the chance of each outcome, and what it says."""
    low, high = 0.0, 24.0
    topic = ordered.planned(Size(domain=8, low=low, high=high))
    wave = Wave(low=low, high=high, bins=8, epsilon=1.5)
    channel = wave.band.matrix()
    outcomes = np.arange(wave.band.outcomes)
    # What an outcome says of the position, so that its mean is the position.
    slope = outcomes @ channel[:, 1] - outcomes @ channel[:, 0]
    for number in (low, 3.0, 12.0, high - 1):
        law = channel[:, int(wave.code(number))]
        mean = float(law @ outcomes)
        variance = float(law @ (outcomes - mean) ** 2) * (wave.scale.unit / slope) ** 2
        assert topic.noise(wave, number) == pytest.approx(variance, rel=1e-9)
