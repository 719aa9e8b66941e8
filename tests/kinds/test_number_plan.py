"""What a plan foretells of a mean that is kept within its range, against a numeric integral."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rumor.kinds.number.plan import planned
from rumor.kinds.planning.planned import Size
from rumor.mechanisms.mean import mean_mechanisms


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
