"""Two choices that were asked apart, joined where it is known whose reports are whose.

Both reports of a person are needed, row by row, so the two must have been collected as linked: what
a person spends is then the sum of both, and whoever sees them sees both. It says far less of how
answers go together than asking for the pair would (kind "joint"), at the same cost; so the estimate
warns.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rumor.core.errors import InputError
from rumor.core.exact import sum_up
from rumor.core.parts import Parts
from rumor.core.reports import as_reports
from rumor.core.types import Vector
from rumor.estimators.joint.linear import Seen, linear
from rumor.estimators.joint.linked import linked_table
from rumor.kinds.joint.estimate import joint_estimate
from rumor.kinds.joint.result import Asked, JointEstimate
from rumor.mechanisms.oracle import FrequencyOracle

WARNING = (
    "the two answers were randomised apart: weak associations drown in the noise, and strong ones "
    "are drawn towards independence where epsilon is small; ask for the pair (kind joint) instead"
)


def estimate_linked(
    asked: Mapping[str, tuple[FrequencyOracle, object]], method: str = "auto"
) -> JointEstimate:
    """The table of two choices, each with its mechanism and everybody's reports in one order."""
    if len(asked) != 2:
        raise InputError(f"linked reports are of two questions; got {len(asked)}")
    sizes: list[int] = []
    seen: list[Vector] = []
    for id, (oracle, reports) in asked.items():
        if not oracle.counts_outputs or oracle.alphabet != oracle.domain:
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
    oracles = [oracle for oracle, _ in asked.values()]
    parts = _parts(list(asked), oracles)
    counts = np.zeros(parts.sizes, dtype=np.int64)
    np.add.at(counts, (seen[0].astype(np.int64), seen[1].astype(np.int64)), 1)
    table = linked_table(
        counts, ((oracles[0].hit, oracles[0].miss), (oracles[1].hit, oracles[1].miss))
    )
    return joint_estimate(
        parts,
        linear(parts.sizes, [Seen((0, 1), table)]),
        method,
        (Asked((0, 1), sizes[0]),),
        sizes[0],
        sum_up(oracle.epsilon for oracle in oracles),
        {"warning": WARNING},
    )


def _parts(ids: list[str], oracles: list[FrequencyOracle]) -> Parts:
    named = [
        {"id": id, "labels": list(oracle.labels or map(str, range(oracle.domain)))}
        for id, oracle in zip(ids, oracles, strict=True)
    ]
    return Parts.of(named)
