"""Groups weighted to a population, and several sources of one quantity in one likelihood."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rumor.core.errors import InputError, shown
from rumor.estimators.compare.inverted import Combination
from rumor.kinds import kind_of
from rumor.kinds.base import Kind
from rumor.kinds.comparing import Group, compare_groups
from rumor.kinds.evidence import summarized
from rumor.kinds.measures import Measures, measured, noted, pooled, weighted
from rumor.mechanisms.base import Mechanism
from rumor.results.combined import Combined, Part

# Sources that differ with a smaller p-value than this are not of one population.
_DIFFER = 0.01


def weigh(
    mechanism: Mechanism,
    groups: Mapping[Any, object],
    weights: Mapping[Any, float],
    *,
    of: str = "population",
    **options: Any,
) -> Combined:
    """What a population holds whose groups are as large as the weights say (post-stratification).

    `groups` are the reports, or summaries, of each group by name; `weights` how many people of
    the population, or which part of it, belongs to each. So groups of which few answered count for
    as many as they are.
    """
    found = [
        Group(str(name), summarized(mechanism, data, may_be_empty=True))
        for name, data in groups.items()
    ]
    named = {str(name): weight for name, weight in weights.items()}
    return weigh_groups(kind_of(mechanism), found, named, of=of, options=options)


def weigh_groups(
    kind: Kind[Any],
    groups: Sequence[Group],
    weights: Mapping[str, float],
    *,
    of: str = "population",
    options: Mapping[str, Any] | None = None,
    heading: str = "",
    notes: Sequence[str] = (),
    method: str = "post-stratified",
) -> Combined:
    """The weighted sum of the groups that have both reports and a weight; the others are named."""
    checked = {name: _weight(name, weight) for name, weight in weights.items()}
    groups = [group for group in groups if group.summary.reports]
    there = [group for group in groups if checked.get(group.name, 0.0) > 0]
    total = sum(checked.values())
    if not there:
        raise InputError(
            f"weights must be for groups that have reports ({_names([g.name for g in groups])}); "
            f"got {_names(list(weights))}"
        )
    known = {group.name for group in groups}
    silent = [name for name, weight in checked.items() if weight > 0 and name not in known]
    unweighted = [group.name for group in groups if checked.get(group.name, 0.0) == 0]
    told = list(notes)
    if silent:
        part = sum(checked[name] for name in silent) / total
        told.append(
            f"no reports of {_names(silent)}, {part:.1%} of the population: the estimate is of "
            f"the rest."
        )
    if unweighted:
        told.append(f"without a weight, and left out: {_names(unweighted)}.")
    counted = sum(checked[group.name] for group in there)
    shares = [checked[group.name] / counted for group in there]
    found = measured(kind, [group.summary for group in there], of, options)
    return _combined(
        found[0], weighted(found, shares), there, shares, method, of, heading, noted(told, found)
    )


def combine(
    sources: Mapping[str, tuple[Mechanism, object]] | Sequence[tuple[Mechanism, object]],
    *,
    of: str = "population",
    **options: Any,
) -> Combined:
    """One estimate from several sources of the same question, of different people.

    A source is a mechanism and its reports (or a summary): a revision with another epsilon, a
    second service. Each has the weight of its own noise. It must have been assigned to people, not
    chosen by them: who chooses less noise may answer otherwise, and such sources are weighed
    instead (`weigh`). Sources that differ by more than chance are said to.
    """
    named = (
        sources
        if isinstance(sources, Mapping)
        else {f"source {i}": source for i, source in enumerate(sources, 1)}
    )
    if not named:
        raise InputError("an estimate needs at least one source; got none")
    groups = [Group(str(name), summarized(*source)) for name, source in named.items()]
    kind = kind_of(next(iter(named.values()))[0])
    return combine_groups(kind, groups, of=of, options=options)


def combine_groups(
    kind: Kind[Any],
    groups: Sequence[Group],
    *,
    of: str = "population",
    options: Mapping[str, Any] | None = None,
    heading: str = "",
    notes: Sequence[str] = (),
) -> Combined:
    """All sources in one likelihood."""
    found = measured(kind, [group.summary for group in groups], of, options)
    told = noted([*notes, *_differences(kind, groups, options)], found)
    return _combined(
        found[0], pooled(found), groups, None, "several sources, one likelihood", of, heading, told
    )


def _differences(
    kind: Kind[Any], groups: Sequence[Group], options: Mapping[str, Any] | None
) -> list[str]:
    """A warning where sources differ by more than chance: they are not of one population."""
    if len(groups) < 2:
        return []
    found = compare_groups(kind, groups, against=groups[0].name, options=options)
    least = float(found.adjusted.min())
    tests = [pair.overall_adjusted for pair in found.pairs if pair.overall_adjusted is not None]
    least = min([least, *tests])
    if least >= _DIFFER:
        return []
    return [
        f"the sources differ by more than chance (p-value {least:.2g}): they may not be of one "
        f"population. If people chose their source, weigh the sources instead (--weights)."
    ]


def _combined(
    first: Measures,
    combined: Combination,
    groups: Sequence[Group],
    shares: Sequence[float] | None,
    method: str,
    of: str,
    heading: str,
    notes: Sequence[str],
) -> Combined:
    weights: Sequence[float | None] = [None] * len(groups) if shares is None else shares
    return Combined(
        values=first.values,
        quantities=first.quantities,
        unbiased=combined.mean,
        stderr=combined.stderr,
        intervals=combined,
        parts={
            group.name: Part(group.summary.reports, group.summary.mechanism.epsilon, weight)
            for group, weight in zip(groups, weights, strict=True)
        },
        reports=sum(group.summary.reports for group in groups),
        epsilon=max(group.summary.mechanism.epsilon for group in groups),
        method=method,
        of=of,
        heading=heading,
        notes=tuple(notes),
    )


def _weight(name: str, weight: object) -> float:
    number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
    if not number or not math.isfinite(weight) or weight < 0:  # type: ignore[arg-type,operator]
        raise InputError(f"weights must be numbers from 0 on; got {shown(weight)} for {name!r}")
    return float(weight)  # type: ignore[arg-type]


def _names(names: Sequence[str], most: int = 12) -> str:
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + rest
