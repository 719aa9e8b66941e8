"""The quantities compared for keys: their unbiased shares, and the means of their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rumor.core.types import Target
from rumor.kinds.keyvalue.estimate import estimate
from rumor.kinds.measures import MEAN, SHARE, Measures
from rumor.mechanisms.keyvalue import KeyValueMechanism
from rumor.mechanisms.summary import Summary


def measures(
    mechanism: KeyValueMechanism, summary: Summary, of: Target, options: Mapping[str, Any]
) -> Measures:
    """Return share and mean of every key; errors are infinite without reports."""
    found = estimate(mechanism, summary, "inversion", {})
    unknown = ~found.mean_known | ~np.isfinite(found.mean_stderr) | ~np.isfinite(found.mean)
    mean = np.where(unknown, 0.0, found.mean)
    error = np.where(unknown, np.inf, found.mean_stderr)
    return Measures.known(
        {
            SHARE: (found.values, np.nan_to_num(found.unbiased), found.stderr),
            MEAN: (found.values, mean, error),
        }
    ).noting(mechanism.kept)
