"""The charts of a regression: coefficients, average marginal effects and predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from rumor.analysis.regress.predictions import MarginalEffects, Predictions
from rumor.analysis.regress.result import Regression
from rumor.core.plain_text import percent
from rumor.results.chart_parts import around_zero, panels
from rumor.results.rows import Column
from rumor.results.view import View


def regression_chart(found: Regression, view: View, title: str | None) -> alt.FacetChart:
    """Draw a panel for each value, without the intercepts, which have no unit."""
    columns = found.cells(range(found.coefficients.size), view)
    names = [str(term) for term in columns["term"]]
    heads = [f"{value} against {found.reference}" for value in columns["value"]]
    rows = [
        row for row in _rows(columns, "coefficient", heads, names) if row["name"] != "Intercept"
    ]
    facts = [f"log-odds; lines are {percent(view.level)} intervals"]
    return around_zero(rows, "coefficient", title or "Coefficients", facts)


def effects_chart(found: MarginalEffects, view: View, title: str | None) -> alt.FacetChart:
    """Draw a panel of effects for each answer."""
    columns = found.cells(found.row_indices(view), view)
    pairs = zip(columns["column"], columns["change"], strict=True)
    names = [f"{column}: {change}" for column, change in pairs]
    rows = _rows(columns, "effect", [str(answer) for answer in columns["answer"]], names)
    facts = [f"means over all respondents; lines are {percent(view.level)} intervals"]
    return around_zero(rows, "change", title or "Average marginal effects", facts)


def predictions_chart(found: Predictions, view: View, title: str | None) -> alt.FacetChart:
    """Draw a panel of predictions for each answer, with the first rows of a long table."""
    columns = found.cells(found.row_indices(view.on_screen()), view)
    names = [
        ", ".join(str(columns[name][k]) for name in ("row", *found.known))
        for k in range(len(columns["row"]))
    ]
    rows = _rows(columns, "estimate", [str(answer) for answer in columns["answer"]], names)
    facts = [f"row, {', '.join(found.known)}; lines are {percent(view.level)} intervals"]
    what = "probability" if found.response.is_share else "mean"
    return panels(rows, what, title or "Predictions", facts)


def _rows(
    columns: Mapping[str, Column], point: str, heads: Sequence[str], names: Sequence[str]
) -> list[dict[str, object]]:
    return [
        {
            "panel": head,
            "name": name,
            "point": float(columns[point][k]),  # type: ignore[arg-type]
            "low": float(columns["low"][k]),  # type: ignore[arg-type]
            "high": float(columns["high"][k]),  # type: ignore[arg-type]
        }
        for k, (head, name) in enumerate(zip(heads, names, strict=True))
    ]
