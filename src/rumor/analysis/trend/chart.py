"""Charts of trends and watches: dots for periods, a line, and a mark where it changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from rumor.analysis.trend.result import Trend
from rumor.analysis.trend.watch import Watch
from rumor.core.plain_text import percent
from rumor.results.chart_parts import LINE, TRUTH
from rumor.results.rows import finite
from rumor.results.view import Order, View

_MAX_PANELS = 12
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
    chart: alt.FacetChart = (
        layers.facet(facet=alt.Facet("panel:N", title=None, sort=panels), columns=2)
        .resolve_scale(y="independent")
        .properties(title=alt.Title(title, subtitle=facts))
        .configure(background="white", padding=12)
        .configure_view(stroke=None)
    )
    return chart
