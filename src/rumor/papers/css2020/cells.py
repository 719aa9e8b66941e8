"""The cells of the Computer Security Symposium paper: every row in every column, and more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rumor.papers.frequency import (
    errors,
    limits,
    normaliser,
    published_tables,
    reach,
    response_errors,
    sparsity,
    stated_rule,
    trajectory,
    unary_channel,
)
from rumor.papers.hadamard_package import package_errors
from rumor.papers.model import Cell, Experiment, Numbers, Parameters

LAWS: Mapping[str, tuple[str, str]] = {
    "zipf": ("Table 1", "zipf 1"),
    "geometric": ("Table 2", "geometric 0.8"),
}
ROWS: Mapping[str, Mapping[str, object]] = {
    "Proposal": {"oracle": "symmetric", "method": "bayes"},
    "Randomized Response": {"oracle": "response", "step": 1.0},
    "Subset Selection": {"oracle": "subset", "method": "clip"},
    "Rappor": {"oracle": "symmetric", "method": "clip"},
    "Hadamard Response": {},
}
EXTRA: Mapping[str, Mapping[str, object]] = {
    "Hadamard Response, two blocks": {"oracle": "hadamard, two blocks", "method": "clip"},
    "Hadamard Response, best blocks": {"oracle": "hadamard", "method": "clip"},
    "Subset Selection, projected": {"oracle": "subset", "method": "projection"},
    "Rumor's default": {"oracle": "subset", "method": "auto"},
}
# Rows that are no oracle of Rumor's with one of its methods.
_EXPERIMENTS: Mapping[str, Experiment] = {
    "Randomized Response": response_errors,
    "Hadamard Response": package_errors,
}
EPSILONS, PEOPLE = (1, 2, 4), (1_000, 10_000, 100_000)
TRIALS = 10
"""The number of trials in the paper."""
# Ours, by people: more where they cost little, so that the paper's noise is what is left.
OWN_TRIALS = {1_000: 50, 10_000: 50, 100_000: 10}
# How far plain iterations are followed, by people.
PATHS = {
    1_000: (10, 30, 100, 300, 1000, 3000, 10000),
    10_000: (10, 30, 100, 300, 1000, 3000),
    100_000: (10, 30, 100, 300, 1000),
}
# Iterations after which the stated rule is given up.
MOST = 2_000_000


def name_of(law: str, row: str, epsilon: float, people: int) -> str:
    """Return the cell of a table."""
    return f"{law}/{row}/epsilon {epsilon:g}/{people}"


def arithmetic(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Compute the text's statements and percentages about the tables from the printed tables."""
    table = published_tables("css2020")
    printed = [tuple(column) for column in table["printed_columns"]]
    best = sum(
        table[law]["Proposal"][i] == min(table[law][row][i] for row in ROWS)
        for law in LAWS
        for i in range(9)
    )
    found: dict[str, list[float]] = {"cells won": [float(best)]}
    for law, epsilon, people in (
        ("zipf", 4, 10_000),
        ("geometric", 2, 10_000),
        ("zipf", 1, 100_000),
    ):
        i = printed.index((epsilon, people))
        rappor, subset, proposal = (
            table[law][row][i] for row in ("Rappor", "Subset Selection", "Proposal")
        )
        where = f"{LAWS[law][0]}, {people} people, epsilon {epsilon}"
        found[f"gain of subset selection, {where}"] = [rappor - subset]
        found[f"gain of the proposal, {where}"] = [rappor - proposal]
        found[f"times, {where}"] = [(rappor - proposal) / (rappor - subset)]
    for deviations in (2, 4, 6):
        inside = math.erf(deviations / math.sqrt(2))
        found[f"within {deviations} standard deviations"] = [100 * inside]
    found["a million within 6"] = [(99.9999998027 / 100) ** 1e6]
    return found


def cells() -> Sequence[Cell]:
    """Return every cell of the paper."""
    made = [Cell("arithmetic", arithmetic), Cell("channel", unary_channel, {"epsilon": 1.0})]
    made += [
        Cell(f"limits/epsilon {epsilon}", limits, {"epsilon": epsilon, "domain": domain})
        for epsilon, domain in ((1, 764), (4, 350))
    ]
    made += [
        Cell(
            f"reach/{form}/epsilon {epsilon}",
            reach,
            {"epsilon": epsilon, "people": 200, "most": 60_000, "likelihood": form},
        )
        for form in ("probability", "scaled", "odds")
        for epsilon in (1, 4)
    ]
    made += [
        Cell(f"normaliser/{people}", normaliser, {"domain": 1000, "people": people})
        for people in PEOPLE
    ]
    for law, (_, shares) in LAWS.items():
        for people in PEOPLE:
            for epsilon in EPSILONS:
                common = {"law": shares, "epsilon": epsilon, "people": people}
                for row, settings in (*ROWS.items(), *EXTRA.items()):
                    experiment = _EXPERIMENTS.get(row, errors)
                    identity = name_of(law, row, epsilon, people)
                    settings = {**common, **settings}
                    made.append(Cell(identity, experiment, settings, OWN_TRIALS[people], 3))
                path = {**common, "oracle": "symmetric", "at": list(PATHS[people])}
                short = {"at": [n for n in PATHS[people] if n <= (100 if people > 50_000 else 300)]}
                identity = f"iterations/{law}/epsilon {epsilon}/{people}"
                made.append(Cell(identity, trajectory, path, lighter=short))
        for epsilon in EPSILONS:
            settings = {"law": shares, "oracle": "symmetric", "epsilon": epsilon, "people": 1_000}
            identity = f"stated rule/{law}/epsilon {epsilon}"
            settings["most"] = MOST
            made.append(Cell(identity, stated_rule, settings, lighter={"most": 300}))
        common = {"law": shares, "oracle": "symmetric", "epsilon": 4}
        made.append(Cell(f"sparsity/{law}", sparsity, {**common, "people": 10_000}, TRIALS, 2))
    return made
