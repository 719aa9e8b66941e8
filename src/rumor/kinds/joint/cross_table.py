"""A joint estimate as text: a cross-table for each pair, and the footer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rumor.core.plain_text import aligned, decimals_for, one_line, percent, wrapped
from rumor.kinds.joint.fit.association import IntervalEstimate
from rumor.results.intervals import critical_value
from rumor.results.view import View

if TYPE_CHECKING:
    from rumor.kinds.joint.pair_table import PairTable
    from rumor.kinds.joint.result import JointEstimate

ALL = "all"
ONE_LOOK = "the test and the measures of association are valid for one look"


def cross_tables(estimate: JointEstimate, view: View) -> str:
    """Return every pair's table, how its answers go together, and the footer."""
    lines = []
    for pair, table in estimate.tables.items():
        lines += [_crossed(estimate, pair, view), ""]
        lines += [wrapped(fact) for fact in together(table, view.level)]
        if view.looks != "one":
            lines.append(ONE_LOOK)
        lines.append("")
    lines += [wrapped(line) for line in (*estimate.footer(view), *estimate.warnings)]
    return "\n".join(lines)


def _crossed(estimate: JointEstimate, pair: tuple[int, int], view: View) -> str:
    """Return the shares with their intervals below them, and the margins at the edges."""
    table = estimate.tables[pair]
    low, high = estimate.bounds(view)
    digits = decimals_for(float(table.linear.deviation.min()))
    shares = estimate.frequency
    rows, columns = table.labels
    head = [f"{one_line(table.ids[0])} \\ {one_line(table.ids[1])}", *map(one_line, columns), ALL]
    body = []
    for row in [*rows, None]:
        above, below = [ALL if row is None else one_line(row)], [""]
        for column in [*columns, None]:
            said = [(part, x) for part, x in zip(pair, (row, column), strict=True) if x is not None]
            if not said:
                above.append(percent(1.0))
                below.append("")
                continue
            at = estimate.row([part for part, _ in said], [name for _, name in said])
            above.append(percent(float(shares[at]), digits))
            ends = (100 * float(low[at]), 100 * float(high[at]))
            below.append(f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}")
        body += [above, below]
    return aligned(head, body)


def together(table: PairTable, level: float) -> list[str]:
    """Return sentences on the association of the two answers of a `table`."""
    test, strength = table.test, table.cramers_v(level)
    p = "< 0.0001" if test.p_value < 1e-4 else f"= {test.p_value:.4f}"
    lines = [
        f"test of independence: chi-squared {test.statistic:.2f}, {test.degrees} degrees of "
        f"freedom, p {p}; posterior probability of independence {percent(table.independence, 1)}",
        f"Cramer's V {strength.value:.3f} ({percent(level)} interval {_ends(strength)})",
    ]
    if table.sizes == (2, 2):
        odds = table.odds_ratio(level=level)
        value = "unknown" if not math.isfinite(odds.value) else f"{odds.value:.3g}"
        lines.append(f"odds ratio {value} ({percent(level)} interval {_ends(odds)})")
    else:
        lines.append(_furthest(table, level))
    return lines


def _furthest(table: PairTable, level: float) -> str:
    """Return a sentence on the cell whose ratio's interval is furthest from 1, if any is."""
    low, high = table.ratio_interval(critical_value(level, table.shares.size))
    ratios = table.ratio.ravel()
    away = [max(a - 1, 1 - b, 0.0) for a, b in zip(low, high, strict=True)]
    cell = max(range(ratios.size), key=away.__getitem__)
    if away[cell] == 0:
        return "no cell differs significantly from independence"
    row, column = divmod(cell, table.sizes[1])
    ends = IntervalEstimate(float(ratios[cell]), float(low[cell]), float(high[cell]))
    return (
        f"furthest from independence: {table.ids[0]} {table.labels[0][row]} with {table.ids[1]} "
        f"{table.labels[1][column]}, {ends.value:.2f} times the product of the margins "
        f"({_ends(ends)}, simultaneous over all cells)"
    )


def _ends(ends: IntervalEstimate) -> str:
    if not math.isfinite(ends.high):
        return f"{ends.low:.3g} or more"
    return f"{ends.low:.3g} to {ends.high:.3g}"


def reports_by_part(estimate: JointEstimate) -> str:
    """Return how many reports are about which parts, as a sentence."""
    keys = estimate.parts.keys
    parts = [
        f"{one.reports:,} of {' and '.join(keys[part] for part in one.parts)}"
        for one in estimate.asked
    ]
    return f"reports: {', '.join(parts)}"
