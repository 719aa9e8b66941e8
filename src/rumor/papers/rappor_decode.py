"""The decoding of RAPPOR evaluated (H. Seike, 2025).

Its figure is missing in the text that we have, so there is little to be held to; what can be
compared are the readings of its listing, with numbers of hashes chosen here.
"""

from __future__ import annotations

from collections.abc import Sequence

from rumor.papers.decoding import COHORTS, PEOPLE, decode, loss, null
from rumor.papers.model import (
    Cell,
    Claim,
    Figure,
    Numbers,
    PaperTable,
    Parameters,
    Point,
    Results,
    paper_of,
)

HASHES = (1, 2, 4, 8, 16, 32)
RUNS = 16
READINGS = ("as printed", "as meant", "ours", "ours, one hash")


def arithmetic(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the number of people in each cohort."""
    return {"people in a cohort": [PEOPLE / COHORTS]}


def cells() -> Sequence[Cell]:
    """Return every cell of the paper."""
    made = [Cell("arithmetic", arithmetic), Cell("no true candidate", null, {}, 40, 8)]
    for hashes in HASHES:
        made.append(Cell(f"epsilon/{hashes}", loss, {"hashes": hashes}))
        for reading in READINGS:
            settings = {"hashes": hashes, "reading": reading}
            made.append(Cell(f"{reading}/{hashes}", decode, settings, RUNS, 3))
        settings = {"hashes": hashes, "reading": "as meant"}
        shared, steeper = {**settings, "shared words": True}, {**settings, "alpha": 1.1}
        made.append(Cell(f"as meant, shared words/{hashes}", decode, shared, RUNS, 3))
        made.append(Cell(f"as meant, Zipf 1.1/{hashes}", decode, steeper, RUNS, 3))
    return made


def tables(results: Results) -> Sequence[PaperTable]:
    """Return precision and recall by reading, and what does not show in the figure."""
    made = []
    kinds = (*READINGS, "as meant, shared words", "as meant, Zipf 1.1")
    for quantity in ("precision", "recall"):
        rows = []
        for hashes in HASHES:
            shown = [f"{hashes}", f"{results.mean(f'epsilon/{hashes}', 'epsilon'):.2f}"]
            for reading in kinds:
                found = results.get(f"{reading}/{hashes}", quantity)
                shown.append(f"{found.mean:.3f} ± {found.stderr:.3f}")
            rows.append(shown)
        head = ("h", "epsilon", *kinds)
        title = f"{quantity.capitalize()} (mean ± standard error)"
        made.append(PaperTable(quantity, title, head, rows))
    chances = results.numbers["no true candidate"]
    false = [
        (name, f"{chances[name].mean:.3f} ± {chances[name].stderr:.3f}")
        for name in ("published", "ours")
    ]
    title = "How often a word is reported although nobody holds any candidate (h = 2)"
    made.append(PaperTable("null", title, ("decoder", "chance of a false word"), false))
    return made


def figures(results: Results) -> Sequence[Figure]:
    """Return Figure 1 with all readings."""
    points = []
    for quantity in ("precision", "recall"):
        for reading in READINGS:
            for hashes in HASHES:
                found = results.get(f"{reading}/{hashes}", quantity)
                low, high = found.mean - found.stderr, found.mean + found.stderr
                points.append(Point(reading, hashes, found.mean, quantity, low, high))
    title = "Figure 1: precision and recall by the number of hashes"
    note = "Epsilon grows with h: h ln 3. Bars are standard errors over the runs."
    return [Figure("figure-1", title, "hashes h", "", points, log_x=True, columns=2, note=note)]


PAPER = paper_of(
    "rappor-decode",
    cells=cells(),
    claims=(
        Claim("Section 3", "people in a cohort", "", 2500, "arithmetic", "people in a cohort"),
    ),
    tables=tables,
    figures=figures,
)
