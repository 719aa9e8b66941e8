"""One cell of the ordered table: a truth, how many values and people, an epsilon; all ways to it.

Every method draws its own people but for the pair that is compared on the same counts: EM and EMS
at the width that Rumor's wave has, which are measured where the targets ask for it. Distances are
Wasserstein's, on a range of length 1.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.ordered_peers import (
    by_choice,
    by_em,
    by_ems,
    by_tree,
    paper_width,
    projected,
    rule_width,
    wave,
)
from benchmarks.ordered_truths import held_back, spacing, truths
from rumor.core.types import Vector
from rumor.kinds.ordered.fit.average import fit_ordered

DECLARED = "heap, declared"
SETTLING = 50
PEERS = ("em", "ems", "tree", "choice")


@dataclass(frozen=True)
class Cell:
    """Mean distances of each method over the trials."""

    truth: str
    domain: int
    epsilon: float
    people: int
    trials: int
    ours: float
    spread: float
    """The standard error of `ours`."""
    paired_em: float
    paired_ems: float
    em: float
    ems: float
    tree: float
    choice: float

    @property
    def best(self) -> float:
        """The best of the four others."""
        return min(self.em, self.ems, self.tree, self.choice)


def law_of(truth: str, domain: int) -> Vector:
    """A truth by its name."""
    known = {**truths(domain), **held_back(domain)}
    return known[truth.split(",")[0]]


def distance(found: Vector, law: Vector) -> float:
    """Wasserstein's distance, as a part of the range."""
    return float(np.abs(np.cumsum(found - law)).mean())


def measured(
    truth: str, domain: int, epsilon: float, people: int, trials: int, paired: bool
) -> Cell:
    """All methods on one truth."""
    law, declared = law_of(truth, domain), truth == DECLARED
    marks = ((spacing(domain), 0),) if declared else ()
    own = wave(domain, epsilon, rule_width(domain, epsilon, spacing(domain) if declared else 0))
    paper = wave(domain, epsilon, paper_width(domain, epsilon))
    seed = [21, domain, round(1000 * epsilon), people, *truth.encode()]
    if trials == SETTLING:
        seed.append(trials)  # fresh people, not those that brought it here
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(trials):
        counts = rng.multinomial(people, own.forward(law)).astype(np.float64)
        ours = fit_ordered(own, counts, marks).frequency
        nothing = np.full(domain, np.nan)
        pair = (by_em(own, counts, epsilon), by_ems(own, counts)) if paired else (nothing, nothing)
        other = rng.multinomial(people, paper.forward(law)).astype(np.float64)
        leaves = by_tree(law, epsilon, people, rng)
        found = [ours, *pair, by_em(paper, other, epsilon), by_ems(paper, other)]
        found += [leaves, projected(leaves), by_choice(law, epsilon, people, rng)]
        rows.append([distance(each, law) for each in found])
    table = np.array(rows)
    mean = table.mean(axis=0).tolist()
    spread = float(table[:, 0].std() / np.sqrt(trials))
    tree = min(mean[5], mean[6])
    named = (mean[0], spread, *mean[1:5], tree, mean[7])
    return Cell(truth, domain, epsilon, people, trials, *named)


class Cells:
    """Cells that were measured, kept in a file where one is given."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[tuple[str, int, float, int, int], Cell] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._keep(Cell(**json.loads(line)))

    def _keep(self, cell: Cell) -> None:
        key = (cell.truth, cell.domain, cell.epsilon, cell.people, cell.trials)
        self._known[key] = cell

    def get(
        self,
        truth: str,
        domain: int,
        epsilon: float,
        people: int,
        trials: int,
        paired: bool = False,
    ) -> Cell:
        """The cell, measured now unless it was before."""
        key = (truth, domain, epsilon, people, trials)
        known = self._known.get(key)
        if known is None or (paired and np.isnan(known.paired_em)):
            cell = measured(truth, domain, epsilon, people, trials, paired)
            self._keep(cell)
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(cell)) + "\n")
        return self._known[key]
