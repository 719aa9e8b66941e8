"""The table of two choices that were asked apart, from reports linked by person.

Both reports of a person are needed, row by row, so the two questions must have been collected as
linked: a person's loss is then the sum of both, and whoever sees the reports sees both. Linked
reports have far less information on the association than asking for the pair would (kind "joint"),
at the same epsilon; so the estimate warns, with the factor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rumor.core.errors import InputError
from rumor.core.exact import MAX_EPSILON, sum_up
from rumor.core.reports import as_reports
from rumor.core.types import Vector
from rumor.kinds.joint.estimate import joint_estimate
from rumor.kinds.joint.fit.linear import (
    Matrix,
    Moments,
    ObservedTable,
    Rates,
    linear,
    linked_inverse,
    linked_table,
)
from rumor.kinds.joint.pair_table import FewEnds
from rumor.kinds.joint.plan import planned
from rumor.kinds.joint.question import linked_parts
from rumor.kinds.joint.result import JointEstimate, ReportedParts
from rumor.kinds.planning.planned import Size, mean_square
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.mixed.parts import Parts
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.results.counts import BoundedIntervals, ExactIntervals
from rumor.results.intervals import NormalIntervals

# People in each cell of the even table on which the two ways of asking are compared.
_MANY = 1_000_000_000


def estimate_linked(
    asked: Mapping[str, tuple[FrequencyOracle, object]], method: str = "auto"
) -> JointEstimate:
    """Return the table of two choices from each one's mechanism and reports, in one row order."""
    if len(asked) != 2:
        raise InputError(f"linked reports are of two questions; got {len(asked)}")
    sizes: list[int] = []
    seen: list[Vector] = []
    for id, (oracle, reports) in asked.items():
        if not oracle.report_is_value:
            raise InputError(
                f"linked reports must be of randomised response; got {oracle.name!r} for {id!r}"
            )
        oracle.validate(reports).require(f"reports of {id!r}")
        batch = as_reports(reports, oracle.width)
        sizes.append(len(batch))
        seen.append(np.rint(oracle.forward(batch, np.arange(oracle.domain, dtype=float))))
    if sizes[0] != sizes[1] or not sizes[0]:
        raise InputError(
            f"linked reports must be of the same people, at least one; got {sizes[0]:,} and "
            f"{sizes[1]:,}"
        )
    first, second = (oracle for oracle, _ in asked.values())
    rates = (first.hit, first.miss), (second.hit, second.miss)
    epsilon = sum_up([first.epsilon, second.epsilon])
    parts = linked_parts({id: oracle for id, (oracle, _) in asked.items()})
    counts = np.zeros(parts.sizes, dtype=np.int64)
    np.add.at(counts, (seen[0].astype(np.int64), seen[1].astype(np.int64)), 1)
    times = _times_sharper(parts, rates, epsilon)
    table = linked_table(counts, rates)
    made = joint_estimate(
        parts,
        linear(parts.sizes, [ObservedTable((0, 1), table)]),
        method,
        (ReportedParts((0, 1), sizes[0]),),
        sizes[0],
        epsilon,
        {"warning": _warning(times), "pair_sharper": times},
    )
    exact = _few_cells(table, linked_inverse(parts.sizes, rates), sizes[0])
    margins = [
        ExactIntervals(oracle.item_channel(counts.sum(axis=1 - part), sizes[0])).few_bounds
        for part, oracle in enumerate((first, second))
    ]
    tables = {pair: replace(one, exact=exact) for pair, one in made.tables.items()}
    return replace(made, tables=tables, exact_margins=margins)


def _few_cells(table: Moments, inverse: Matrix, people: int) -> FewEnds:
    """Return the few-report ends of the cells of a `table` from `people`.

    A cell is a mean over people of the row of `inverse` at their two reports.
    """
    normal = NormalIntervals(table.mean, table.deviation)
    within = inverse.min(axis=1), inverse.max(axis=1)
    return BoundedIntervals(normal, np.full(table.mean.size, float(people)), within).few_bounds


def _times_sharper(parts: Parts, rates: Rates, epsilon: float) -> float:
    """Return how much smaller a cell's error would be, had the pair been asked for at `epsilon`.

    The errors are those of the unbiased estimates of a uniform table.
    """
    apart = linked_table(np.full(parts.sizes, _MANY, dtype=np.int64), rates)
    pair = Mixed(parts=parts.sizes, epsilon=min(epsilon, MAX_EPSILON))
    size = Size(parts="x".join(map(str, parts.sizes)))
    together = planned(size).error(pair, _MANY * parts.cells)
    return math.sqrt(mean_square(apart.deviation)) / together


def _warning(times: float) -> str:
    return (
        f"the two answers were randomised apart, so weak associations drown in the noise, and "
        f"strong ones are drawn towards independence where epsilon is small; asking for the pair "
        f"(kind joint) at the same cost would have made the error of a cell {times:.1f} times "
        f"smaller"
    )
