"""Regression of a choice: P(report | value) for every report."""

from __future__ import annotations

import numpy as np

from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.core.types import Rows, Vector
from rumor.mechanisms.oracle import FrequencyOracle

# The largest number of channel cells that are written out; every output is then listed.
_LISTED = 4096
_MAX_CELLS = 1 << 26


def models(oracle: FrequencyOracle) -> tuple[str, ...]:
    """Return the models of a regression: odds of the answers, and least squares of shares."""
    return "odds", "linear"


def report_likelihoods(
    oracle: FrequencyOracle, reports: Reports
) -> tuple[Vector, Rows | None, Vector | None]:
    """Return P(report | value) as rows, each report's row, and P of every output.

    Where outputs are too many to be listed, the probabilities lack a factor of the report alone.
    """
    if list(oracle.publics()) == [b""] and oracle.alphabet * oracle.domain <= _LISTED:
        channel = oracle.channel()
        places = {row.tobytes(): i for i, row in enumerate(channel.outputs)}
        distinct, where = np.unique(reports, axis=0, return_inverse=True)
        known = np.array([places[row.tobytes()] for row in distinct], dtype=np.intp)
        outputs, matrix = known[where.reshape(-1)], channel.matrix()
        return matrix.T[outputs], outputs, matrix
    if len(reports) * oracle.domain > _MAX_CELLS:
        raise InputError(
            f"a regression takes at most {_MAX_CELLS:,} reports times values; got "
            f"{len(reports):,} reports of {oracle.domain:,} values"
        )
    supported = np.column_stack([oracle.forward(reports, unit) for unit in np.eye(oracle.domain)])
    return 1 + (oracle.odds - 1) * np.rint(supported), None, None
