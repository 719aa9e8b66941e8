"""The chart of a regression: its coefficients, without the intercepts, which have no unit."""

from __future__ import annotations

import altair as alt

from rumor.analysis.regress.result import Regression
from rumor.core.plain_text import percent
from rumor.results.chart_parts import around_zero
from rumor.results.view import View


def regression_chart(found: Regression, view: View, title: str | None) -> alt.FacetChart:
    """Draw a panel for each value."""
    columns = found.cells(range(found.coefficients.size), view)
    rows = [
        {
            "panel": f"{value} against {found.reference}",
            "name": str(term),
            "point": float(columns["coefficient"][k]),  # type: ignore[arg-type]
            "low": float(columns["low"][k]),  # type: ignore[arg-type]
            "high": float(columns["high"][k]),  # type: ignore[arg-type]
        }
        for k, (value, term) in enumerate(zip(columns["value"], columns["term"], strict=True))
        if term != "Intercept"
    ]
    facts = [f"log-odds; lines are {percent(view.level)} intervals"]
    return around_zero(rows, "coefficient", title or "Coefficients", facts)
