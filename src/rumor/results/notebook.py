"""Estimates in a notebook: the chart and the first rows, as HTML without scripts."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from rumor.core.plain_text import one_line
from rumor.results.view import View

if TYPE_CHECKING:
    from rumor.results.rows import Tabular

_P_VALUES = ("p_value", "adjusted")
_TINY = 1e-4  # p-values below this one have a bound
_CELL = "text-align:right;padding:0.15em 0.7em;font-variant-numeric:tabular-nums"
_NAME = "text-align:left;padding:0.15em 0.7em"


def notebook_html(estimate: Tabular) -> str:
    """Return a chart and a table; the table alone if charts cannot be drawn."""
    view = View().on_screen()
    rows = estimate.row_indices(view)
    columns = {name: list(column) for name, column in estimate.cells(rows, view).items()}
    head = "".join(_cell("th", name, name) for name in columns)
    body = "".join(
        "<tr>" + "".join(map(_data_cell, columns, row)) + "</tr>"
        for row in zip(*columns.values(), strict=True)
    )
    notes = f"{estimate.reports:,} reports, epsilon {estimate.epsilon:.4g} each; " + (
        f"method {estimate.method}. {estimate.coverage_sentence(view)}"
    )
    return (
        f"<div>{_picture(estimate, view)}<table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table><p>{escape(notes)}</p></div>"
    )


def _picture(estimate: Tabular, view: View) -> str:
    """Return the chart as an image of its own, so that nothing in it meets the notebook's page."""
    try:
        from rumor.results.chart_files import chart_svg

        drawn = chart_svg(estimate.picture(view, None, None)).encode("utf-8")
    except ModuleNotFoundError:
        return ""
    data = base64.b64encode(drawn).decode("ascii")
    return f'<img alt="chart of the estimate" src="data:image/svg+xml;base64,{data}">'


def _cell(tag: str, value: object, text: str) -> str:
    style = _CELL if tag == "td" and not isinstance(value, str) else _NAME
    return f'<{tag} style="{style}">{escape(text)}</{tag}>'


def _data_cell(name: str, value: object) -> str:
    return _cell("td", value, _shown(name, value))


def _shown(name: str, value: object) -> str:
    """Return the cell of a column `name` as people read it: empty where nothing is known."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if value is None or value != value:
        return ""
    if not isinstance(value, float):
        return one_line(value)
    is_tiny = name in _P_VALUES and value < _TINY
    return f"<{_TINY:g}" if is_tiny else f"{value:.4g}"
