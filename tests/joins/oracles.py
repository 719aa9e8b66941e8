"""What verbs must find: the public functions of Python on reports that plain masks choose.

The functions themselves are held to identities in memory.py; commands, engines, stores and routes
to these.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import rumor
from rumor.analysis.combine.method import weigh_groups
from rumor.analysis.compare.method import ReportGroup
from rumor.kinds import KINDS
from rumor.results.view import View
from tests.joins.look import Look
from tests.joins.people import DAYS, GROUPS, PERIODS, WINDOW, Crowd, options_of
from tests.joins.sources import Source, Sources

WEIGHTS = (5.0, 1.0, 3.0, 2.0, 4.0)
"""Parts of a population that no sample has."""
ROW_KEYS = (
    "reports",
    "epsilon",
    "method",
    "level",
    "of",
    "simultaneous",
    "looks",
    "order",
    "covers",
)

Plain = Mapping[str, Any]


def estimate_of(crowd: Crowd, method: str = "auto") -> Plain:
    """The estimate of a crowd, as plain data."""
    return _estimate(crowd.question.kind, crowd.question.mechanism, crowd.reports.tobytes(), method)


@functools.cache
def _estimate(name: str, mechanism: Any, reports: bytes, method: str) -> Plain:
    kind = KINDS[name]
    rows = [reports[i : i + mechanism.width] for i in range(0, len(reports), mechanism.width)]
    found = kind.estimate(mechanism, rows, method, options_of(kind))
    return found.to_dict(View())


def methods_of(crowd: Crowd) -> list[str]:
    """The methods that estimate the crowd's mechanism; others are another mechanism's own."""
    kind = KINDS[crowd.question.kind]
    return [method for method in kind.methods() if _has(crowd, method)]


def _has(crowd: Crowd, method: str) -> bool:
    try:
        estimate_of(crowd, method)
    except rumor.InputError:
        return False
    return True


def by_group(crowd: Crowd, column: str, method: str = "auto") -> Plain:
    """The estimates of each group of a public column."""
    found = {name: estimate_of(some, method) for name, some in crowd.by(column).items()}
    rows = [{"stratum": name, **row} for name, one in found.items() for row in one["estimates"]]
    strata = [
        {
            "stratum": name,
            **{key: one[key] for key in one if key not in (*ROW_KEYS, "estimates")},
            "reports": one["reports"],
        }
        for name, one in found.items()
    ]
    return {"reports": len(crowd), "by": column, "strata": strata, "estimates": rows}


def weights_for(names: Sequence[str]) -> dict[str, float]:
    """The part of the population of each group, or of each source."""
    return dict(zip(names, WEIGHTS, strict=False))


def column_names(column: str) -> list[str]:
    """What the groups of a column are called."""
    return [str(day) for day in DAYS] if column == "day" else list(GROUPS)


def weighed(groups: Mapping[str, Crowd], weights: Mapping[str, float]) -> Plain:
    """Groups weighted to a population."""
    kind = KINDS[next(iter(groups.values())).question.kind]
    found = weigh_groups(
        kind,
        [ReportGroup(name, _summary(crowd)) for name, crowd in groups.items()],
        weights,
        options=options_of(kind),
    )
    return {key: value for key, value in found.to_dict(View()).items() if key != "method"}


def _summary(crowd: Crowd) -> Any:
    return rumor.Summary.empty(crowd.question.mechanism).update(crowd.reports)


def compared(groups: Mapping[str, Crowd]) -> Plain:
    """Differences between groups by name."""
    first = next(iter(groups.values())).question
    reports = {name: crowd.reports for name, crowd in groups.items()}
    found = rumor.compare(first.mechanism, reports, **options_of(KINDS[first.kind]))
    return found.to_dict(View())


def period_names() -> list[str]:
    """Periods as they are written."""
    return [f"{first}..{last}" for first, last in PERIODS]


def _of_periods(crowd: Crowd) -> dict[str, Crowd]:
    return {name: crowd.within(days) for name, days in zip(period_names(), PERIODS, strict=True)}


def combined(sources: Mapping[str, Crowd]) -> Plain:
    """Several sources in one likelihood."""
    kind = KINDS[next(iter(sources.values())).question.kind]
    pairs = {name: (crowd.question.mechanism, crowd.reports) for name, crowd in sources.items()}
    return rumor.combine(pairs, **options_of(kind)).to_dict(View())


def followed(crowd: Crowd) -> Plain:
    """The trend over the days of a crowd."""
    question, days = crowd.question, {n: c.reports for n, c in crowd.by("day").items()}
    return rumor.trend(question.mechanism, days, **options_of(KINDS[question.kind])).to_dict(View())


def followed_by_group(crowd: Crowd, column: str) -> Plain:
    """The trend of each group that has three days, but for what is adjusted among all of them."""
    groups = {str(name): some for name, some in sorted(crowd.by(column).items())}
    found = {name: followed(some) for name, some in groups.items() if len(some.by("day")) > 2}
    changes = {
        name: [{k: v for k, v in one.items() if k != "adjusted"} for one in trend["changes"]]
        for name, trend in found.items()
    }
    return {
        "reports": sum(trend["reports"] for trend in found.values()),
        "by": column,
        "strata": [
            {"stratum": name, "periods": found[name]["periods"], "changes": changes[name]}
            for name in found
        ],
        "estimates": [
            {"stratum": name, **row} for name, trend in found.items() for row in trend["estimates"]
        ],
    }


FORMULA = "asked ~ country"


def regressed(crowd: Crowd, sizes: Mapping[str, float] | None = None) -> Plain:
    """The answers explained by the group, of groups weighted to these `sizes` if there are some."""
    columns = {"country": [GROUPS[group] for group in crowd.groups]}
    margins = {} if sizes is None else {"country": (columns["country"], sizes)}
    design = None if sizes is None else rumor.SurveyDesign(margins=margins)
    mechanism = crowd.question.mechanism
    return rumor.regress(mechanism, crowd.reports, columns, FORMULA, design=design).to_dict(View())


def expected(look: Look, sources: Sources) -> Plain:
    """What a verb must find in files; the methods of an estimate are asked for one by one."""

    def chosen(source: Source) -> Crowd:
        return source.crowd.within(WINDOW) if look.span == "window" else source.crowd

    whole = chosen(sources.whole)
    pair = {name: chosen(source) for name, source in sources.pair.items()}
    halves = {source.name: chosen(source) for source in (sources.first, sources.second)}
    both = chosen(sources.first).plus(chosen(sources.second))
    match look.verb, look.form:
        case "estimate", "groups":
            return by_group(whole, sources.whole.column)
        case "estimate", "weights":
            column = sources.whole.column
            return weighed(whole.by(column), weights_for(column_names(column)))
        case "estimate", _:
            return estimate_of(whole)
        case "compare", "periods":
            return compared(_of_periods(whole))
        case "compare", "groups":
            return compared(whole.by(sources.whole.column))
        case "compare", _:
            return compared(halves)
        case "combine", "weights":
            return weighed(pair, weights_for(list(pair)))
        case "combine", _:
            return combined(pair)
        case "trend", "groups":
            return followed_by_group(whole, sources.whole.column)
        case "trend", _:
            return followed(whole)
        case "regress", "weights":
            return regressed(whole, weights_for(column_names("country")))
        case "regress", _:
            return regressed(whole)
        case "merge", _:
            return estimate_of(both)
        case "export", _:
            return estimate_of(whole)
    raise KeyError(f"{look} has no oracle: write one here")
