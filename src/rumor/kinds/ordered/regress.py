"""Regression of ordered answers: proportional odds of labels, least squares of numbers."""

from __future__ import annotations

import numpy as np

from rumor.core.reports import Reports, from_little_endian
from rumor.core.types import Rows, Vector
from rumor.mechanisms.wave.wave import Wave

_MOST_LEVELS = 20  # thresholds between more labels are mostly the penalty's


def models(wave: Wave) -> tuple[str, ...]:
    """Return the models of a regression."""
    if wave.labels is None or wave.domain > _MOST_LEVELS:
        return ("linear",)
    return "ordinal", "linear"


def report_likelihoods(wave: Wave, reports: Reports) -> tuple[Vector, Rows, Vector]:
    """Return P(report | value) as rows, each report's row, and P of every output."""
    channel = wave.band.matrix().T
    outputs = from_little_endian(reports).astype(np.intp)
    return np.asarray(channel[:, outputs].T), outputs, np.asarray(channel)
