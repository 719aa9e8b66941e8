"""The cap that answers to "how many?" suggest: their 90% quantile."""

from __future__ import annotations

import math

import numpy as np

from rumor.core.errors import InputError
from rumor.kinds.ordered.result import OrderedEstimate
from rumor.kinds.planning.learned_cap import SHARE, LearnedCap


def suggest_cap(found: OrderedEstimate) -> LearnedCap:
    """Return the cap from the estimated distribution of people's numbers of items."""
    scale = found.scale
    if not scale.numeric or scale.start < -1:
        raise InputError(
            "a cap is taken from answers to how many things people hold; got "
            f"{scale.answers_in_words}"
        )
    held, point = scale.middles, found.quantile(SHARE)
    cap, low, high = (max(1, math.ceil(value)) for value in (point.value, point.low, point.high))
    if cap >= math.floor(held[-1]):
        raise InputError(
            f"a cap is taken from answers whose range holds the number that {SHARE:.0%} do not "
            f"exceed; got one that ends at {held[-1]:,.0f} (ask with a longer range)"
        )
    whole = float(found.frequency @ np.maximum(held, 0))
    kept = float(found.frequency @ np.clip(held, 0, cap))
    lost = 1 - kept / whole if whole > 0 else 0.0
    return LearnedCap(cap, low, high, lost, found.reports, found.epsilon)
