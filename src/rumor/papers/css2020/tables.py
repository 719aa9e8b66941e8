"""Tables and figures of the Computer Security Symposium paper, beyond its published numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rumor.papers.css2020.cells import EPSILONS, EXTRA, LAWS, PATHS, PEOPLE, ROWS, TRIALS, name_of
from rumor.papers.frequency import ORACLES, outputs_of, published_tables, truth
from rumor.papers.model import Claim, Figure, PaperTable, Point, Results, Verdict


def _readings(results: Results) -> PaperTable:
    """Return how many of the 18 numbers of a method fit, under either reading of the header."""
    table = published_tables("css2020")
    rows = []
    totals = [0, 0]
    for row in ROWS:
        shown = [row]
        for number, header in enumerate(("printed_columns", "columns")):
            fits, logs = 0, []
            for law, (part, _) in LAWS.items():
                for (epsilon, people), value in zip(table[header], table[law][row], strict=True):
                    cell = name_of(law, row, epsilon, people)
                    claim = Claim(part, row, "", value, cell, "error", TRIALS)
                    found = results.get(cell, "error")
                    fits += Verdict(claim, found, None).holds
                    logs.append(math.log(value / found.mean))
            totals[number] += fits
            shown += [f"{fits} of 18", f"{math.sqrt(np.mean(np.square(logs))):.3f}"]
        rows.append(shown)
    rows.append(["all", f"{totals[0]} of 90", "", f"{totals[1]} of 90", ""])
    head = (
        "method",
        "as printed: fit",
        "RMS log ratio",
        "by people, then epsilon: fit",
        "RMS log ratio",
    )
    return PaperTable("readings", "The two readings of the header", head, rows)


def _conventions(results: Results) -> PaperTable:
    """Compare published errors with errors against the law, and against the people drawn."""
    table = published_tables("css2020")
    rows = []
    for people in PEOPLE:
        shown = [f"{people:,}"]
        for quantity in ("error", "realised"):
            logs = [
                math.log(value / results.mean(name_of(law, row, epsilon, n), quantity))
                for law in LAWS
                for row in ("Subset Selection", "Rappor")
                for (epsilon, n), value in zip(table["columns"], table[law][row], strict=True)
                if n == people
            ]
            shown.append(f"{math.sqrt(np.mean(np.square(logs))):.3f}")
        rows.append(shown)
    head = ("people", "against the law", "against the people drawn")
    title = "RMS log ratio of Subset Selection and RAPPOR, published over reproduced"
    return PaperTable("conventions", title, head, rows)


def _blocks(results: Results) -> PaperTable:
    made = {
        "the package": "Hadamard Response",
        "two blocks": "Hadamard Response, two blocks",
        "best number of blocks": "Hadamard Response, best blocks",
    }
    layout = {
        "blocks asked": ("blocks asked", ".0f"),
        "blocks existing": ("blocks existing", ".0f"),
        "epsilon of a report": ("epsilon kept", ".3f"),
    }
    rows = []
    for epsilon in EPSILONS:
        means = {}
        for name, row in made.items():
            logs = [
                math.log(results.mean(name_of(law, row, epsilon, n), "error"))
                for law in LAWS
                for n in PEOPLE
            ]
            means[name] = math.exp(float(np.mean(logs)))
        cell = name_of("zipf", "Hadamard Response", epsilon, PEOPLE[0])
        rows.append(
            {
                "epsilon": f"{epsilon}",
                **results.shown(cell, layout),
                **{name: f"{mean:.4g}" for name, mean in means.items()},
                "package over best": f"{means['the package'] / means['best number of blocks']:.2f}",
            }
        )
    title = "Hadamard Response by the inventors' package: error (geometric mean over six cells)"
    return PaperTable.of_rows("blocks", title, rows)


def _responses(results: Results) -> PaperTable:
    table, rows = published_tables("css2020"), []
    for law in LAWS:
        for (epsilon, people), value in zip(
            table["columns"], table[law]["Randomized Response"], strict=True
        ):
            cell = name_of(law, "Randomized Response", epsilon, people)
            rows.append(
                (
                    law,
                    f"{epsilon}",
                    f"{people:,}",
                    f"{value:.4g}",
                    f"{results.mean(cell, 'error'):.4g}",
                    f"{results.mean(cell, 'iterations'):,.0f}",
                    f"{results.mean(cell, 'converged'):.4g}",
                )
            )
    head = ("law", "epsilon", "people", "published", "stopped", "iterations", "converged")
    title = (
        "Randomized Response: stopped when an iteration moves less than one person, and converged"
    )
    return PaperTable("responses", title, head, rows)


def _iterations(results: Results) -> PaperTable:
    rows = []
    for law in LAWS:
        for people in PEOPLE:
            for epsilon in EPSILONS:
                found = results.numbers[f"iterations/{law}/epsilon {epsilon}/{people}"]
                last = max(int(q.split("/")[1]) for q in found if q.startswith("step/"))
                rows.append(
                    [law, f"{epsilon}", f"{people:,}"]
                    + [
                        f"{found[f'error/{n}'].mean:.3g}" if f"error/{n}" in found else ""
                        for n in PATHS[1_000]
                    ]
                    + [
                        f"{found['best error'].mean:.3g} ({found['best iteration'].mean:,.0f})",
                        f"{found['optimum'].mean:.3g}",
                        f"{found['updates of the solver'].mean:.0f}",
                        f"{found[f'step/{last}'].mean:.0e}",
                        f"{found[f'gap/{last}'].mean:.0e}",
                    ]
                )
    head = ["law", "epsilon", "people", *(f"{n:,}" for n in PATHS[1_000])]
    head += ["best (at)", "optimum", "updates of our solver", "last step", "last gap"]
    title = "Error of plain iterations on unary encoding, by their number (one run each)"
    return PaperTable("iterations", title, head, rows)


def _stated(results: Results) -> PaperTable:
    """Return the stated rule run to its end, beside the solver."""
    reached = {
        "gap": ("gap", ".0e"),
        "error": ("error", ".5f"),
        "updates of our solver": ("updates of the solver", ".0f"),
        "its error": ("optimum", ".5f"),
        "largest difference": ("apart", ".0e"),
    }
    rows = []
    for law in LAWS:
        for epsilon in EPSILONS:
            cell = f"stated rule/{law}/epsilon {epsilon}"
            made = f"{results.mean(cell, 'iterations'):,.0f}"
            rows.append(
                {
                    "law": law,
                    "epsilon": f"{epsilon}",
                    "iterations": made if results.mean(cell, "ended") else f"more than {made}",
                    **results.shown(cell, reached),
                }
            )
    title = "The stated rule, eta = D^-4 in counts, run to its end (1,000 people, 1,000 values)"
    return PaperTable.of_rows("stated", title, rows)


def _channel(results: Results) -> PaperTable:
    symbols = {(True, 1): "p", (True, 0): "(1-p)", (False, 1): "q", (False, 0): "(1-q)"}
    outputs = outputs_of(3)
    rows = []
    for value in range(3):
        given = "".join("1" if i == value else "0" for i in range(3))
        entries = []
        for bits in outputs:
            product = "".join(symbols[i == value, bit] for i, bit in enumerate(bits))
            number = results.mean("channel", f"{value}/{''.join(map(str, bits))}")
            entries.append(f"{product} = {number:.4f}")
        rows.append([given, *entries])
    off = results.mean("channel", "largest difference")
    note = (
        f"Epsilon 1. The mechanism's own probabilities differ from these products by at most "
        f"{off:.0e}. Columns 000, 001 and 100 are Figure 3: all their entries have the factor 1-q."
    )
    head = ["value", *("".join(map(str, bits)) for bits in outputs)]
    return PaperTable("channel", "Figure 4: the channel of three values", head, rows, note)


def _limits(results: Results) -> PaperTable:
    names = {
        "probability": "product of probabilities (11)",
        "scaled": "times a constant (12)",
        "odds": "odds of support (Rumor)",
    }
    rows = []
    for form, name in names.items():
        shown = [name]
        for epsilon in (1, 4):
            found = results.numbers[f"reach/{form}/epsilon {epsilon}"]
            least = "" if found["limited"].mean else "at least "
            shown.append(f"{least}{found['largest domain'].mean:,.0f}")
        rows.append(shown)
    head = ("form of the likelihood", "epsilon 1", "epsilon 4")
    note = (
        "Measured: 200 reports, one iteration, all results finite. The odds have no limit at all."
    )
    return PaperTable("limits", "Largest domain on which iterations work", head, rows, note)


def _normalisers(results: Results) -> PaperTable:
    rows = [
        (
            f"{people:,}",
            f"{results.mean(f'normaliser/{people}', 'zipf total as printed'):.3f}",
            f"{results.mean(f'normaliser/{people}', 'zipf total as meant'):.3f}",
        )
        for people in PEOPLE
    ]
    printed, meant = (
        results.mean(f"normaliser/{PEOPLE[0]}", f"geometric, error of equal shares as {how}")
        for how in ("printed", "meant")
    )
    note = (
        "Equation 14 has a slip of the same kind: with s = 0.8 as printed, the error of equal "
        f"shares would be {printed:.3f}; with ratio 0.8 it is {meant:.3f}, which is where the "
        "noisiest cells of Table 2 lie."
    )
    head = ("people N", "equation 13 as printed", "summed over values")
    return PaperTable(
        "normaliser", "What the Zipf shares of 1,000 values add up to", head, rows, note
    )


def _wins(results: Results) -> PaperTable:
    """Return the cells in which a row is below every published number, and by how much."""
    table, rows = published_tables("css2020"), []
    best = {
        (law, e, n): min(table[law][row][i] for row in ROWS)
        for law in LAWS
        for i, (e, n) in enumerate(table["columns"])
    }
    for row in (*ROWS, *EXTRA):
        ratios = [
            results.mean(name_of(law, row, e, n), "error") / b for (law, e, n), b in best.items()
        ]
        won, mean = sum(r < 1 for r in ratios), math.exp(float(np.mean(np.log(ratios))))
        rows.append((row, f"{won} of 18", f"{mean:.2f}"))
    head = ("row, as reproduced", "below the best published", "geometric mean of the ratio")
    return PaperTable("wins", "Our runs beside the best of the five published rows", head, rows)


_REGIMES = {
    "response": "randomised response",
    "symmetric": "RAPPOR (symmetric)",
    "optimized": "RAPPOR (optimal)",
    "hadamard": "Hadamard response",
    "subset": "subset selection",
}


def _regimes(results: Results) -> PaperTable:
    """Return the exact error of every mechanism over that of subset selection, and its bytes."""
    rows = []
    for values in (10, 100, 1_000):
        for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0):
            made = {name: ORACLES[name](values, epsilon) for name in _REGIMES}
            law = truth("uniform", values)
            errors = {name: float(one.variance(law, 1).sum()) for name, one in made.items()}
            shown = [f"{errors[name] / errors['subset']:.3g}" for name in _REGIMES]
            bytes_ = ", ".join(str(one.width) for one in made.values())
            rows.append((f"{values:,}", f"{epsilon:g}", *shown, bytes_))
    head = ("values", "epsilon", *_REGIMES.values(), "bytes of a report")
    note = (
        "The variance of unbiased estimates at equal frequencies, summed over values; it falls "
        "with people alike for all. Bytes are in the order of the columns."
    )
    return PaperTable("regimes", "Error over that of subset selection", head, rows, note)


def tables(results: Results) -> Sequence[PaperTable]:
    """Return the tables beyond the published numbers."""
    makers = (
        _regimes,
        _readings,
        _conventions,
        _wins,
        _responses,
        _blocks,
        _iterations,
        _stated,
        _channel,
        _limits,
        _normalisers,
    )
    return [make(results) for make in makers]


def figures(results: Results) -> Sequence[Figure]:
    """Return charts of published against reproduced numbers, and of error against iterations."""
    table, made = published_tables("css2020"), []
    for law, (part, _) in LAWS.items():
        points = []
        for row in (*ROWS, "Rumor's default"):
            for epsilon in EPSILONS:
                for people in PEOPLE:
                    found = results.get(name_of(law, row, epsilon, people), "error")
                    where = f"epsilon {epsilon}"
                    points.append(Point(row, people, found.mean, where))
        for row in ROWS:
            for (epsilon, people), value in zip(table["columns"], table[law][row], strict=True):
                points.append(Point(f"{row}, published", people, value, f"epsilon {epsilon}"))
        title = f"{part}: reproduced (lines) and published (diamonds), {law}"
        made.append(
            Figure(
                part.lower().replace(" ", "-"), title, "people", "error", points, "line", True, True
            )
        )
    points = []
    for law in LAWS:
        for people in PEOPLE:
            for epsilon in EPSILONS:
                path = results.numbers[f"iterations/{law}/epsilon {epsilon}/{people}"]
                points += [
                    Point(
                        f"epsilon {epsilon}",
                        n,
                        path[f"error/{n}"].mean,
                        f"{law}, {people:,} people",
                    )
                    for n in PATHS[people]
                    if f"error/{n}" in path
                ]
    title = "Error of plain iterations, by their number"
    made.append(Figure("iterations", title, "iterations", "error", points, "line", True, True))
    return [*made, *_matrices(results)]


# Whom three people of Figure 3 sent: the outputs of figures 2 and 3 that occur.
_SEEN = ("000", "001", "100")


def _matrices(results: Results) -> Sequence[Figure]:
    """Return Figures 2, 3 and 4: the channel of three values, whole and where outputs occur."""
    symbols = {(True, 1): "p", (True, 0): "(1-p)", (False, 1): "q", (False, 0): "(1-q)"}

    def entry(value: int, bits: str, facet: str) -> Point:
        number = results.mean("channel", f"{value}/{bits}")
        text = "".join(symbols[i == value, int(bit)] for i, bit in enumerate(bits))
        given = "".join("1" if i == value else "0" for i in range(3))
        return Point(given, int(bits, 2), number, facet, text=text, column=bits)

    outputs = ["".join(map(str, bits)) for bits in outputs_of(3)]
    whole = [entry(v, bits, "") for v in range(3) for bits in outputs]
    seen = [entry(v, bits, "") for v in range(3) for bits in _SEEN]
    sparse = []
    names = ("P and the counts", "columns of outputs that never came do not matter", "P' (11)")
    for number, facet in enumerate(names):
        for bits in outputs if number < 2 else _SEEN:
            there = bits in _SEEN
            place = int(bits, 2)
            often = Point("counts", place, 1.0 if there else 0.0, facet, column=bits)
            sparse.append(often)
            for value in range(3):
                point = entry(value, bits, facet)
                black = number == 1 and not there
                y = 0.0 if black else point.y
                sparse.append(Point(point.series, place, y, facet, text=" ", column=bits))
    axis = "output"
    note = "Epsilon 1. Rows are inputs, columns outputs; black is 0."
    return [
        Figure(
            "figure-2", "Figure 2: outputs that never came", axis, "", sparse, "grid", columns=1
        ),
        Figure("figure-3", "Figure 3: P' of three values", axis, "", seen, "grid", note=note),
        Figure("figure-4", "Figure 4: P of three values", axis, "", whole, "grid", note=note),
    ]
