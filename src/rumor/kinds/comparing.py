"""Groups beside each other: their differences, from what their kind measures."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rumor.core.errors import InputError, shown
from rumor.estimators.compare.differences import holm
from rumor.kinds import kind_of
from rumor.kinds.base import Kind
from rumor.kinds.evidence import summarized
from rumor.kinds.measures import differences, measured, noted
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.summary import Summary
from rumor.results.comparison import Comparison, Pair

_MAX_ROWS = 1_000_000


@dataclass(frozen=True)
class Group:
    """Some people by a name, and the counts of their reports."""

    name: str
    summary: Summary


def compare(
    mechanism: Mechanism,
    first: object,
    second: object = None,
    *,
    other: Mechanism | None = None,
    against: str | None = None,
    of: str = "population",
    **options: Any,
) -> Comparison:
    """What differs between groups of different people.

    `first` and `second` are reports, or summaries of them; the difference is the second's less
    the first's. `other` is the mechanism of the second where it is another one. Several groups are
    a mapping from names to reports as `first` alone: all pairs of them, or each `against` one.

    Estimates are unbiased, never those that a method has drawn towards each other. Intervals
    are made of both groups' score intervals; a p-value is of one row alone, `adjusted` (Holm) of
    all rows together, and each pair has a test of whether it differs in anything.
    """
    if isinstance(first, Mapping):
        if second is not None or other is not None:
            raise InputError("groups by name are given alone; got a second beside them")
        groups = [Group(str(name), summarized(mechanism, data)) for name, data in first.items()]
    else:
        if second is None:
            raise InputError("a comparison needs two groups of reports; got one")
        groups = [
            Group("first", summarized(mechanism, first)),
            Group("second", summarized(other or mechanism, second)),
        ]
    return compare_groups(kind_of(mechanism), groups, against=against, of=of, options=options)


def compare_groups(
    kind: Kind[Any],
    groups: Sequence[Group],
    *,
    against: str | None = None,
    of: str = "population",
    options: Mapping[str, Any] | None = None,
    heading: str = "",
    notes: Sequence[str] = (),
) -> Comparison:
    """All pairs of groups, or each against one of them."""
    pairs = chosen_pairs([group.name for group in groups], against)
    found = measured(kind, [group.summary for group in groups], of, options)
    common = found[0]
    if len(pairs) * len(common.values) > _MAX_ROWS:
        raise InputError(
            f"a comparison has at most {_MAX_ROWS:,} rows; got {len(pairs):,} pairs of groups with "
            f"{len(common.values):,} each (name one to compare with: --against)"
        )
    rows = [differences(*(found[i] for i in pair)) for pair in pairs]
    tests = [kind.overall(*(groups[i].summary for i in pair)) for pair in pairs]
    p_values = [_known(one.p_value) for one in rows]
    adjusted = np.split(holm(np.concatenate(p_values)), len(pairs))
    known = np.array([1.0 if test is None else test.p_value for test in tests])
    together = [
        None if test is None else float(p) for test, p in zip(tests, holm(known), strict=True)
    ]
    return Comparison(
        values=common.values,
        quantities=common.quantities,
        pairs=[
            Pair(
                first=groups[a].name,
                second=groups[b].name,
                estimates=(found[a].sample.mean, found[b].sample.mean),
                difference=rows[k].mean,
                stderr=rows[k].stderr,
                p_value=p_values[k],
                adjusted=adjusted[k],
                intervals=rows[k],
                overall=tests[k],
                overall_adjusted=together[k],
            )
            for k, (a, b) in enumerate(pairs)
        ],
        groups={group.name: group.summary.reports for group in groups},
        reports=sum(group.summary.reports for group in groups),
        epsilon=max(group.summary.mechanism.epsilon for group in groups),
        of=of,
        heading=heading,
        notes=tuple(noted(notes, found)),
    )


def chosen_pairs(names: Sequence[str], against: str | None) -> list[tuple[int, int]]:
    """All pairs in order, or one group with each of the others."""
    if len(names) < 2 or len(set(names)) != len(names):
        raise InputError(
            f"a comparison needs two groups or more, each by its own name; got {shown(list(names))}"
        )
    if against is None:
        return list(itertools.combinations(range(len(names)), 2))
    if against not in names:
        raise InputError(f"the group to compare with must be one of them; got {shown(against)}")
    at = list(names).index(against)
    return [(at, i) for i in range(len(names)) if i != at]


def _known(p_value: Any) -> Any:
    """Where reports say nothing there is no evidence of a difference."""
    return np.where(np.isfinite(p_value), p_value, 1.0)
