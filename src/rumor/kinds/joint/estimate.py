"""Tables of joint answers: every method, and the estimate.

"auto" (an alias of "bayes") shrinks each table towards independence as far as the reports suggest,
and averages it with the plain one by the risk of either; "linear" is the unbiased estimate of all
reports together, mapped to the nearest table without negative cells. Tests, intervals and measures
of association use the linear estimate, whatever the method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rumor.core.checks import checked_method
from rumor.estimators.data import as_summary
from rumor.kinds.joint.fit.bayes import TablePosterior, averaged, consistent_tables, table_posterior
from rumor.kinds.joint.fit.linear import Linear, linear, observed_tables
from rumor.kinds.joint.pair_table import PairTable, few_cells, few_margin
from rumor.kinds.joint.result import JointEstimate, ReportedParts
from rumor.mechanisms.mixed.mixed import ComponentCounts, Mixed
from rumor.mechanisms.mixed.parts import Parts
from rumor.mechanisms.poisoning import PoisoningBound, fake_count

OPTIONS: Mapping[str, tuple[str, ...]] = {"auto": (), "bayes": (), "linear": ()}
"""The methods, each with the names of its options."""


def estimate(
    mechanism: Mixed, data: object, method: str, options: Mapping[str, Any]
) -> JointEstimate:
    """Return the tables from reports or a summary of them."""
    chosen = checked_method(method, options, OPTIONS)
    summary = as_summary(mechanism, data)
    counted = mechanism.counted(summary.tally)
    asked = [ReportedParts(one.component.asks, one.reports) for one in counted]
    found = linear(mechanism.parts.sizes, observed_tables(counted))
    told = {"fake_clients": _fakes(mechanism, counted, found).to_dict()}
    made = joint_estimate(
        mechanism.parts, found, chosen, asked, summary.reports, mechanism.epsilon, told
    )
    sizes = mechanism.parts.sizes
    return replace(
        made,
        tables={
            pair: replace(table, exact=few_cells(counted, sizes, pair))
            for pair, table in made.tables.items()
        },
        exact_margins=[few_margin(counted, sizes, part) for part in range(len(sizes))],
    )


def _fakes(mechanism: Mixed, counted: Sequence[ComponentCounts], found: Linear) -> PoisoningBound:
    """Return the largest shift of a cell by fakes who are all asked for the same part of the
    question.

    A part that few are asked for alone moves the cells of its tables too, by less than its own
    values.
    """
    fakes = fake_count(sum(one.reports for one in counted))
    oracles = [one.component.oracle for one in counted]
    share = [fakes / max(one.reports, fakes) for one in counted]
    adds = max(o.poisoning.gain(1, 1) * part for o, part in zip(oracles, share, strict=True))
    takes = max(o.poisoning.loss(1, 1) * part for o, part in zip(oracles, share, strict=True))
    noise = max(float(found.pair(pair).deviation.max()) for pair in found.coordinates.pairs)
    return PoisoningBound(fakes, adds, takes, mechanism.poisoning.target).with_share_shift(noise)


def joint_estimate(
    parts: Parts,
    found: Linear,
    method: str,
    asked: Sequence[ReportedParts],
    reports: int,
    epsilon: float,
    diagnostics: Mapping[str, object],
) -> JointEstimate:
    """Return the estimate by `method` from `found`, the linear estimate of all tables."""
    pairs = {pair: found.pair(pair) for pair in found.coordinates.pairs}
    sizes = {pair: (parts.sizes[pair[0]], parts.sizes[pair[1]]) for pair in pairs}
    models: dict[tuple[int, int], TablePosterior] = {
        pair: table_posterior(known, sizes[pair]) for pair, known in pairs.items()
    }
    plain = method == "linear"
    known = {
        pair: [(1.0, one)] if plain else averaged(one, models[pair]) for pair, one in pairs.items()
    }
    tables, margins = consistent_tables(known, parts.sizes)
    return JointEstimate(
        parts=parts,
        tables={
            pair: PairTable(
                ids=(parts.keys[pair[0]], parts.keys[pair[1]]),
                labels=(parts.values[pair[0]], parts.values[pair[1]]),
                shares=tables[pair].reshape(sizes[pair]),
                linear=pairs[pair],
                independence=models[pair].independence,
            )
            for pair in pairs
        },
        margins=margins,
        linear_margins=[found.margin(part) for part in range(parts.count)],
        asked=tuple(asked),
        reports=reports,
        epsilon=epsilon,
        method="linear" if plain else "bayes",
        diagnostics=diagnostics,
    )
