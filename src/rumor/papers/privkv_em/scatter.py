"""How far the published numbers scatter: as how many trials would, and of how many people.

The tables say ten trials. Around what is expected the numbers of a row scatter further than
the means of ten trials do; the number of trials whose means scatter as far is what is seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rumor.papers.frequency import published_tables
from rumor.papers.keyvalue import SETS
from rumor.papers.model import PaperTable, Results, TrialMean

ROWS = ("EM", "PrivKV", "PrivKVM3")
LAST = 280_000
"""The people that the last column of Tables 5 to 7 fits best, where 5,000,000 are printed."""
LAST_TRIALS = 2
_PEOPLE = 100_000


def numbers(results: Results, row: str) -> list[tuple[float, TrialMean]]:
    """Return published and reproduced, in a fixed order: Tables 2 to 7 without their odd columns.

    Epsilon 0.1, where EM's threshold and clipping matter most, and the last column of users
    are left out.
    """
    table, found = published_tables("privkv-em"), []
    for name in SETS:
        columns = [
            (f"shares/{name}/epsilon {epsilon:g}/{_PEOPLE}/published", value)
            for epsilon, value in zip(
                table["epsilons"], table["by_epsilon"][name][row], strict=True
            )
            if epsilon > 0.1
        ]
        columns += [
            (f"users/{name}/epsilon 2/{users // 10}/published", value)
            for users, value in zip(
                table["users_printed"], table["by_users"][name][row], strict=True
            )
            if users < 5_000_000
        ]
        found += [(value, results.get(cell, f"{row} f")) for cell, value in columns]
    return found


def logs(results: Results, row: str) -> Sequence[float]:
    """Return the logarithms of published over reproduced."""
    return [math.log(value / found.mean) for value, found in numbers(results, row)]


def trials_seen(results: Results, row: str) -> float:
    """Return the trials whose means scatter as the published numbers of a row do."""
    relative = np.mean([(found.spread / found.mean) ** 2 for _, found in numbers(results, row)])
    return float(relative / np.mean(np.square(logs(results, row))))


def distance(published: float, found: TrialMean, trials: float) -> float:
    """Return |published - found| in standard errors, `published` a mean of `trials` trials."""
    off = abs(published - found.mean)
    return off / (found.spread * math.sqrt(1 / trials + 1 / found.trials))


def scatter(results: Results) -> PaperTable:
    """Return a table of the observed scatter, row by row."""
    rows = []
    for row in ROWS:
        pairs = numbers(results, row)
        ten = math.sqrt(np.mean([(m.spread / m.mean) ** 2 for _, m in pairs]) / 10)
        seen = math.sqrt(np.mean(np.square(logs(results, row))))
        shown = f"{trials_seen(results, row):.1f}"
        rows.append((row, f"{len(pairs)}", f"{ten:.3f}", f"{seen:.3f}", shown))
    printed = float(np.corrcoef(logs(results, "EM"), logs(results, "PrivKV"))[0, 1])
    same = [results.mean(f"together/{name}", "correlation") for name in SETS]
    note = (
        "On the same reports the errors of EM and PrivKV go together: their correlation is "
        f"{min(same):.2f} to {max(same):.2f}. In the printed tables it is {printed:.2f}, so the "
        "two rows are of different reports, though EM is said to read PrivKV's."
    )
    head = (
        "row",
        "numbers",
        "RMS log ratio of 10 trials",
        "as published",
        "trials that scatter so",
    )
    title = "How far published numbers lie from what is expected (without epsilon 0.1)"
    return PaperTable("scatter", title, head, rows, note)


def last_column(results: Results) -> PaperTable:
    """Return the last column of Tables 5 to 7 beside half a million people and beside LAST."""
    table, rows = published_tables("privkv-em"), []
    for name in SETS:
        for row in ROWS:
            value = table["by_users"][name][row][-1]
            tenth, fits = (
                results.get(f"users/{name}/epsilon 2/{people}/published", f"{row} f")
                for people in (500_000, LAST)
            )
            rows.append(
                (
                    name,
                    row,
                    f"{value:g}",
                    f"{tenth.mean:.3f}",
                    f"{fits.mean:.3f}",
                    f"{distance(value, fits, LAST_TRIALS):.1f}",
                )
            )
    head = (
        "set",
        "row",
        "published",
        "500,000 people",
        f"{LAST:,} people",
        f"distance, a mean of {LAST_TRIALS} trials",
    )
    return PaperTable("last", "Tables 5 to 7, printed as 5,000,000 users", head, rows)
