"""Charts of trends and watches: dots for periods, a line, and a mark where it changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from rumor.analysis.trend.grouped import GroupedTrends
from rumor.analysis.trend.result import Trend
from rumor.analysis.trend.watch import Watch
from rumor.core.plain_text import percent
from rumor.results.chart_parts import LINE, SERIES, TRUTH, framed
from rumor.results.rows import finite
from rumor.results.view import Order, View

_MAX_PANELS, _MAX_LINES = 12, 6
_LEVEL = 0.05


def trend_chart(trend: Trend, view: View, title: str | None) -> alt.FacetChart:
    """Draw a panel for each value; if there are many, those with the smallest p-values."""
    most = min(view.rows or _MAX_PANELS, _MAX_PANELS)
    order = view.order or ("given" if len(trend.values) <= most else "estimate")
    seen = View(view.level, rows=most, order=order)
    columns = trend.cells(trend.row_indices(seen), seen)
    changed = {
        str(value): trend.periods[trend.change[i]]
        for i, value in enumerate(trend.values)
        if trend.adjusted[i] < _LEVEL
    }
    rows: list[dict[str, Any]] = []
    for row in zip(*columns.values(), strict=True):
        one: dict[str, Any] = dict(zip(columns, row, strict=True))
        panel = f"{one['quantity']}: {one['value']}"
        here = changed.get(str(one["value"])) == one["period"]
        first = str(one["period"])[:10]  # several days stand at their first
        rows.append({**one, "panel": panel, "first": first, "changed": first if here else None})
    band = _base().mark_area(color=LINE, opacity=0.15)
    facts = [
        f"dots are periods; the line is smoothed, with its {percent(view.level)} band",
        "a dashed line is a change that chance alone brings in fewer than 5% of such pictures",
    ]
    return _panels(
        rows, [band.encode(y=alt.Y("low:Q", title=None), y2="high:Q")], title or "Over time", facts
    )


def grouped_trend_chart(found: GroupedTrends, view: View, title: str | None) -> alt.FacetChart:
    """Draw a small chart for each group, all with the same axes, and a line for each value."""
    groups = list(found.trends)[:_MAX_PANELS]
    series = _series(found, min(view.rows or _MAX_LINES, _MAX_LINES))
    rows: list[dict[str, Any]] = []
    for group in groups:
        trend, seen = found.trends[group], View(view.level, order="given")
        columns = trend.cells(trend.row_indices(seen), seen)
        changed = {
            f"{trend.quantities[i]}: {value}": trend.periods[trend.change[i]]
            for i, value in enumerate(trend.values)
            if trend.adjusted[i] < _LEVEL
        }
        for row in zip(*columns.values(), strict=True):
            one: dict[str, Any] = dict(zip(columns, row, strict=True))
            line = f"{one['quantity']}: {one['value']}"
            if line in series:
                first = str(one["period"])[:10]
                here = changed.get(line) == one["period"]
                rows.append(
                    {**one, "group": group, "series": line, "first": first}
                    | {"changed": first if here else None}
                )
    colour = alt.Color(
        "series:N", title=None, sort=series, scale=alt.Scale(domain=series, range=list(SERIES))
    )
    base = _base().encode(color=colour)
    layers = alt.LayerChart(
        data=alt.InlineData(values=rows),
        layer=[
            base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=None), y2="high:Q"),
            base.mark_point(filled=True, size=10, opacity=0.6).encode(y="estimate:Q"),
            base.mark_line().encode(y="line:Q"),
            base.transform_filter("datum.changed != null")
            .mark_rule(strokeDash=[4, 3])
            .encode(x="changed:T"),
        ],
    ).properties(width=200, height=110)
    facts = [
        f"one chart for each {found.by}, all with the same axes; dots are periods",
        f"lines are smoothed, with their {percent(view.level)} bands; a dashed line is a change "
        f"that chance alone brings in fewer than 5% of such pictures",
    ]
    if len(found.trends) > len(groups):
        facts.append(f"{len(groups)} of {len(found.trends)} groups")
    chart: alt.FacetChart = layers.facet(
        facet=alt.Facet("group:N", title=None, sort=groups), columns=3
    )
    return framed(chart, title or "Over time", facts)


def _series(found: GroupedTrends, most: int) -> list[str]:
    """Return the lines to draw: those with the smallest p-values, in their order."""
    least: dict[str, float] = {}
    for trend in found.trends.values():
        for i, value in enumerate(trend.values):
            name = f"{trend.quantities[i]}: {value}"
            least[name] = min(float(trend.p_value[i]), least.get(name, 1.0))
    kept = sorted(least, key=least.__getitem__)[:most]
    return [name for name in least if name in kept]


def watch_chart(watch: Watch, view: View, title: str | None) -> alt.FacetChart:
    """Draw a panel for each value of a watch, with its levels before and after a change."""
    most = min(view.rows or _MAX_PANELS, _MAX_PANELS)
    order: Order = "given" if len(watch.values) <= most else "estimate"
    changes = {change.index: change for change in watch.changes}
    rows: list[dict[str, Any]] = []
    for i in watch.row_indices(View(rows=most, order=order)):
        change = changes.get(i)
        for k, period in enumerate(watch.periods):
            line, here = None, False
            if change is not None:
                sides = change.before, change.after
                line = float(sides[k >= change.began][change.best])
                here = k == change.began
            first = str(period)[:10]
            rows.append(
                {
                    "panel": f"{watch.quantities[i]}: {watch.values[i]}",
                    "first": first,
                    "estimate": finite([watch.unbiased[k, i]])[0],
                    "line": line,
                    "changed": first if here else None,
                }
            )
    facts = ["dots are periods; lines are the levels before and after a change", watch.promise]
    return _panels(rows, [], title or "Watched for changes", facts)


def _base() -> alt.Chart:
    return alt.Chart().encode(x=alt.X("first:T", title=None))


def _panels(
    rows: Sequence[Mapping[str, Any]], behind: list[alt.Chart], title: str, facts: list[str]
) -> alt.FacetChart:
    """Draw the `rows` of each panel over the layers `behind`."""
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    base = _base()
    layers = alt.LayerChart(
        data=alt.InlineData(values=list(rows)),
        layer=[
            *behind,
            base.mark_point(color="#888", filled=True, size=14, opacity=0.7).encode(
                y="estimate:Q" if behind else alt.Y("estimate:Q", title=None)
            ),
            base.mark_line(color=LINE).encode(y="line:Q"),
            base.transform_filter("datum.changed != null")
            .mark_rule(color=TRUTH, strokeDash=[4, 3])
            .encode(x="changed:T"),
        ],
    ).properties(width=280, height=150)
    chart: alt.FacetChart = layers.facet(
        facet=alt.Facet("panel:N", title=None, sort=panels), columns=2
    ).resolve_scale(y="independent")
    return framed(chart, title, facts)
