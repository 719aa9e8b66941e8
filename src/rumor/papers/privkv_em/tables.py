"""Tables and figures of the PrivKV paper, beyond its published numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rumor.papers.frequency import published_tables
from rumor.papers.keyvalue import APART, KEYS, OTHER_SETS, SETS, THRESHOLDS, data_set
from rumor.papers.model import Figure, PaperTable, Point, Results, TrialMean
from rumor.papers.privkv_em.scatter import last_column, scatter

SHARES = 100_000
"""People of Tables 2 to 4."""
USERS = (10_000, 50_000, 100_000, 300_000, 500_000, 750_000, 1_000_000, 5_000_000)
"""Users as printed in Tables 5 to 7."""
EPSILONS = (0.1, 0.5, 1, 2, 3, 4, 5)
_ROWS = (
    ("published", "PrivKV"),
    ("published", "PrivKVM3"),
    ("published", "EM"),
    ("ours", "default"),
)
_NAMES = ("PrivKV", "PrivKVM, 3 rounds", "EM", "Rumor")


def name_of(kind: str, data: str, epsilon: float, people: int, contenders: str) -> str:
    """Return the cell of a column of the tables."""
    return f"{kind}/{data}/epsilon {epsilon:g}/{people}/{contenders}"


def _people(results: Results) -> PaperTable:
    """Return the closed form of PrivKV's error for the users as printed and for a tenth of them."""
    table, rows = published_tables("privkv-em"), []
    for name in SETS:
        for i, printed in enumerate(table["users_printed"]):
            full, tenth = (
                results.mean(f"closed form/{name}/{printed} as {people}", "MSE_f")
                for people in (printed, printed // 10)
            )
            value = table["by_users"][name]["PrivKV"][i]
            rows.append(
                (
                    name,
                    f"{printed:,}",
                    f"{value:g}",
                    f"{full:.3g}",
                    f"{tenth:.3g}",
                    f"{value / tenth:.2f}",
                )
            )
    twins = results.mean("arithmetic", "difference of the twin columns")
    note = (
        "The column printed as 1,000,000 users repeats the numbers of Tables 2 to 4 at epsilon 2, "
        f"which are of 100,000 people: they differ by at most {twins:.3f}."
    )
    head = (
        "set",
        "users printed",
        "PrivKV published",
        "closed form",
        "a tenth of the users",
        "ratio",
    )
    return PaperTable("people", "Tables 5 to 7: the users that the numbers show", head, rows, note)


def _budget(results: Results) -> PaperTable:
    rows = []
    for epsilon in EPSILONS:
        exact = results.mean(f"closed form/linear/epsilon {epsilon:g}", "exact epsilon")
        rows.append((f"{epsilon:g}", f"{exact:.4f}", f"{exact / epsilon:.0%}"))
    head = ("stated epsilon", "exact epsilon of a report", "used")
    return PaperTable("budget", "What PrivKV spends of its budget", head, rows)


def _clipping(results: Results) -> PaperTable:
    rows = []
    for name in SETS:
        for epsilon in EPSILONS:
            found = results.numbers[name_of("shares", name, epsilon, SHARES, "published")]
            ours = results.numbers[name_of("shares", name, epsilon, SHARES, "ours")]
            equal = results.numbers[name_of("shares", name, epsilon, SHARES, "equal")]
            rows.append(
                (
                    name,
                    f"{epsilon:g}",
                    f"{found['PrivKV f'].mean:.4g}",
                    f"{found['PrivKV clipped f'].mean:.4g}",
                    f"{found['EM f'].mean:.4g}",
                    f"{equal['EM exact f'].mean:.4g}",
                    f"{ours['default f'].mean:.4g}",
                )
            )
    head = (
        "set",
        "epsilon",
        "PrivKV",
        "PrivKV clipped",
        "EM",
        "EM at equal exact epsilon",
        "Rumor",
    )
    return PaperTable(
        "clipping", "MSE_f x 1e-4 (100,000 people): clipping alone, EM, and Rumor", head, rows
    )


def _means(results: Results) -> PaperTable:
    rows = []
    columns = [("shares", SHARES, e) for e in EPSILONS]
    columns += [("users", n // 10, 2) for n in USERS]
    for name in SETS:
        for kind, people, epsilon in columns:
            shown = [name, f"{epsilon:g}", f"{people:,}"]
            for contenders, row in _ROWS:
                cell = name_of(kind, name, epsilon, people, contenders)
                found = results.get(cell, f"{row} m")
                shown.append(f"{found.mean:.4f} ± {found.stderr:.4f}")
            rows.append(shown)
    head = ("set", "epsilon", "people", "PrivKV", "PrivKVM, 3 rounds", "EM", "Rumor")
    return PaperTable("means", "MSE_m: the numbers behind Figures 2 to 4 and 6 to 8", head, rows)


def _guesses(results: Results) -> PaperTable:
    """Compare sets that the paper does not run with the error of the answer 0 for every mean."""
    rows = []
    for name in (*SETS, *OTHER_SETS):
        nothing = float(np.mean(data_set(name)[1] ** 2))
        for epsilon in EPSILONS:
            shown = [name, f"{epsilon:g}", f"{nothing:.3f}"]
            for contenders, row in _ROWS:
                cell = name_of("shares", name, epsilon, SHARES, contenders)
                shown.append(f"{results.mean(cell, f'{row} m'):.4f}")
            shares = (
                results.mean(name_of("shares", name, epsilon, SHARES, contenders), f"{row} f")
                for contenders, row in _ROWS
            )
            rows.append([*shown, *(f"{value:.4g}" for value in shares)])
    head = ["set", "epsilon", "MSE_m of 0"]
    head += [f"{what}, {name}" for what in ("MSE_m", "MSE_f x 1e-4") for name in _NAMES]
    title = "Means that have nothing to do with shares, and many rare keys (100,000 people)"
    note = (
        "In the paper's sets a rare key has a mean near -1: a guess by the share alone is good. "
        f"{APART.removeprefix(', ').capitalize()}: the same shares with evenly spread means, dealt "
        "out anew in every trial. Ratings: 500 products, of which few are rated often."
    )
    return PaperTable("guesses", title, head, rows, note)


def _bands(results: Results) -> PaperTable:
    rows = []
    for name in SETS:
        for band in ("below 0.1", "0.1 to 0.3", "0.3 and more"):
            shown = [name, band]
            for row in ("PrivKV", "EM", "default"):
                shown.append(f"{results.mean(f'means/{name}', f'{row}, share {band}'):.3f}")
            rows.append(shown)
    head = ("set", "share of the key", "PrivKV", "EM", "Rumor")
    return PaperTable(
        "bands", "Mean absolute error of means at epsilon 3, by share (Figure 5)", head, rows
    )


def _identified(results: Results) -> PaperTable:
    ways = ("PrivKV", "EM from 1/4 each", "EM from .4 .1 .1 .4", "three states")
    rows = []
    for share, mean in ((0.05, -0.9), (0.2, -0.6), (0.5, 0.5)):
        found = results.numbers[f"identified/{share}/{mean}"]
        rows.append([f"{share:g}", *(f"{found[name].mean:+.3f}" for name in ("truth", *ways))])
    head = ("share", "true mean", *ways)
    return PaperTable(
        "identified", "Means found without any noise of sampling (epsilon 2)", head, rows
    )


def _claimed(results: Results) -> PaperTable:
    """Return the text's percentages: as printed, from the printed tables, and as reproduced."""
    table, rows = published_tables("privkv-em"), []
    for name in SETS:
        cell = name_of("shares", name, 0.1, SHARES, "published")
        clipped = 100 * (
            1 - results.mean(cell, "PrivKV clipped f") / results.mean(cell, "PrivKV f")
        )
        rows.append(
            (
                f"shares, {name}, epsilon 0.1",
                f"{table['text']['linear, epsilon 0.1: EM over PrivKV']}"
                if name == "linear"
                else "",
                f"{results.mean('arithmetic', f'{name}, epsilon 0.1'):.2f}",
                _percent(results, cell, "EM over PrivKV f"),
                f"{clipped:.1f}",
            )
        )
    cell = name_of("users", "power", 2, 1000, "published")
    clipped = 100 * (1 - results.mean(cell, "PrivKV clipped f") / results.mean(cell, "PrivKV f"))
    printed = results.mean("arithmetic", "power, 10000 users")
    rows.append(
        (
            "shares, power, 10,000 users printed",
            "36.2",
            f"{printed:.2f}",
            _percent(results, cell, "EM over PrivKV f"),
            f"{clipped:.1f}",
        )
    )
    for name in SETS:
        cell = name_of("shares", name, 5, SHARES, "published")
        shown = _percent(results, cell, "EM over PrivKV m")
        rows.append((f"means, {name}, epsilon 5", "", "", shown, ""))
    cell = name_of("users", "gaussian", 2, 50_000, "published")
    shown = _percent(results, cell, "EM over PrivKV m")
    rows.append(("means, gaussian, 500,000 users printed, epsilon 2", "31.6", "", shown, ""))
    rows.append(("means, average, epsilon 5", "85.2", "", _percent(results, "average", "m"), ""))
    head = ("EM over PrivKV", "text, %", "from the printed tables", "reproduced", "clipping alone")
    note = (
        "31.6 % is said of epsilon 5 in the section that varies users at epsilon 2: it is the gain "
        "at 5 x 10^5 users as printed, which are 50,000 people."
    )
    return PaperTable("percentages", "The percentages of the text", head, rows, note)


def _percent(results: Results, cell: str, quantity: str) -> str:
    found = results.get(cell, quantity)
    return f"{found.mean:.1f} ± {found.stderr:.1f}"


def _thresholds(results: Results) -> PaperTable:
    table, rows = published_tables("privkv-em"), []
    for name in SETS:
        for epsilon in (0.1, 3):
            value = table["by_epsilon"][name]["EM"][EPSILONS.index(epsilon)]
            found = results.numbers[f"threshold/{name}/epsilon {epsilon:g}"]
            shown = (f"{found[f'{t:g}'].mean:.4g}" for t in THRESHOLDS)
            rows.append((name, f"{epsilon:g}", f"{value:.4g}", *shown))
    head = ("set", "epsilon", "published", *(f"{t:g}" for t in THRESHOLDS))
    return PaperTable(
        "thresholds", "MSE_f x 1e-4 of EM by the threshold at which it stops", head, rows
    )


def _rounds(results: Results) -> PaperTable:
    table, rows = published_tables("privkv-em"), []
    for name in SETS:
        value = table["by_epsilon"][name]["PrivKVM3"][0]
        found = results.numbers[name_of("shares", name, 0.1, SHARES, "published")]
        shown = (_short(found[f"{row} f"]) for row in ("PrivKVM3", "PrivKVM3 from 0"))
        rows.append((name, f"{value:g}", *shown))
    head = ("set", "published", "reproduced", "shares below 0 set to 0")
    return PaperTable("rounds", "MSE_f x 1e-4 of PrivKVM at epsilon 0.1", head, rows)


def _short(found: TrialMean) -> str:
    return f"{found.mean:.0f} ± {found.stderr:.0f}"


def tables(results: Results) -> Sequence[PaperTable]:
    """Return the tables beyond the published numbers."""
    makers = (
        _people,
        _budget,
        _clipping,
        _claimed,
        _thresholds,
        _rounds,
        scatter,
        last_column,
        _means,
        _guesses,
        _bands,
        _identified,
    )
    return [make(results) for make in makers]


def figures(results: Results) -> Sequence[Figure]:
    """Return Figures 2 to 8, and Tables 2 to 7 as curves."""
    made = [
        _curves(results, "shares", "f", "tables-2-4", "Tables 2 to 4: MSE_f by epsilon"),
        _curves(results, "shares", "m", "figures-2-4", "Figures 2 to 4, as their text: MSE_m"),
        _curves(results, "shares", "a", "figures-2-4-mae", "Figures 2 to 4, as captioned: MAE_m"),
        _curves(results, "users", "f", "tables-5-7", "Tables 5 to 7: MSE_f by users / 10"),
        _curves(results, "users", "m", "figures-6-8", "Figures 6 to 8, as their text: MSE_m"),
        _curves(results, "users", "a", "figures-6-8-mae", "Figures 6 to 8, as captioned: MAE_m"),
        _curves(
            results, "shares", "m", "apart", "MSE_m where means are not tied to shares", OTHER_SETS
        ),
    ]
    points = []
    names = dict(zip(("PrivKV", "PrivKVM3", "EM", "default"), _NAMES, strict=True))
    for data in SETS:
        shares, means = data_set(data)
        order = np.argsort(shares, kind="stable")
        points += [Point("truth", float(shares[k]), float(means[k]), data) for k in order]
        for row in ("PrivKV", "EM", "default"):
            points += [
                Point(
                    names[row], float(shares[k]), results.mean(f"means/{data}", f"{row}/{k}"), data
                )
                for k in order
                if k < KEYS
            ]
    title = "Figure 5: means of all keys at epsilon 3, by the share of the key (10 trials)"
    made.append(Figure("figure-5", title, "share of the key", "estimated mean", points))
    return made


def _curves(
    results: Results, kind: str, letter: str, name: str, title: str, sets: Sequence[str] = SETS
) -> Figure:
    """Return errors by epsilon or people, a panel for each set, with published numbers."""
    table, by_epsilon = published_tables("privkv-em"), kind == "shares"
    columns = [(e, SHARES) for e in EPSILONS] if by_epsilon else [(2, n // 10) for n in USERS]
    points = []
    for data in sets:
        for i, (epsilon, people) in enumerate(columns):
            x = epsilon if by_epsilon else people
            for (contenders, row), shown in zip(_ROWS, _NAMES, strict=True):
                cell = name_of(kind, data, epsilon, people, contenders)
                points.append(Point(shown, x, results.mean(cell, f"{row} {letter}"), data))
                if letter == "f" and contenders == "published":
                    value = table["by_epsilon" if by_epsilon else "by_users"][data][row][i]
                    points.append(Point(f"{shown}, published", x, value, data))
            if letter != "f":
                # The answer 0 for every key, which needs no reports.
                power = 2 if letter == "m" else 1
                nothing = float(np.mean(np.abs(data_set(data)[1]) ** power))
                points.append(Point("0 for every key", x, nothing, data))
    what = {"f": "MSE_f x 1e-4", "m": "MSE_m", "a": "MAE_m"}[letter]
    axis = "epsilon" if by_epsilon else "people"
    columns_shown = 2 if len(sets) == 4 else 3
    return Figure(
        name,
        title,
        axis,
        what,
        points,
        log_x=not by_epsilon,
        log_y=True,
        columns=columns_shown,
    )
