"""Regression of few reports: how often it answers, and how often profile intervals hold the truth.

    python -m benchmarks.regress_table [--seed N] [--trials N] [--only BLOCKS]

The true slopes of each block are drawn from the seed, and every trial draws new people. Without
the penalty, coefficients of many of these trials grow without end; `endless` counts those whose
objective without it has no maximum within 15 standard deviations of the columns. Then follow, in
cells drawn from the seed, intervals of predictions, of average marginal effects, and of slopes of
other models (regress_models.py). Limits: 95 % of all trials answered, and no block that covers less
than 95 % beyond chance (exact binomial on the first slope of each trial, Holm, alpha 1 %); planned
power is within 5 percentage points of the simulated, beyond chance.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import rumor
from benchmarks import regress_models
from benchmarks.verdict import Coverage
from rumor.analysis.regress.fit import LikelihoodModel, Likelihoods
from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.core.typing import override
from rumor.kinds import kind_of

SEED, TRIALS, ANSWERED = 20261120, 200, 0.95
_FEW, _PLANNED = "few reports", "power"  # names of blocks beside those of other models
_ENDLESS = 15.0
_POWER, _LUCK = 0.05, 3.0  # what the plan may err by, and standard deviations of a simulation


@dataclass(frozen=True)
class Block:
    """Shares of the answers at the middle of all columns, people, epsilon and columns."""

    name: str
    shares: tuple[float, ...]
    people: int
    epsilon: float
    columns: int


BLOCKS = (
    Block("yes or no", (0.7, 0.3), 500, 0.5, 1),
    Block("yes or no", (0.7, 0.3), 1000, 0.5, 2),
    Block("a label of 1 %", (0.6, 0.39, 0.01), 1000, 1.0, 1),
    Block("a label of 1 %", (0.6, 0.39, 0.01), 2500, 1.0, 1),
    Block("five columns", (0.75, 0.25), 2500, 1.0, 5),
)


class _Unpenalised(LikelihoodModel):
    """The likelihood alone."""

    @override
    def objective(self, scaled: Vector) -> float:
        return self.log_likelihood(scaled)

    @override
    def _penalty_slope(self, scaled: Vector) -> Vector:
        return np.zeros_like(scaled)

    @override
    def _penalty_information(self, scaled: Vector) -> Vector:
        return 1e-9 * np.eye(scaled.size)


def _is_endless(mechanism: rumor.RandomizedResponse, reports: Reports, columns: Vector) -> bool:
    chances, _, channel = kind_of(mechanism).report_likelihoods(mechanism, reports)
    model = _Unpenalised(columns, Likelihoods(chances, np.ones(len(chances)), channel), 0)
    found, _ = model.climb(np.zeros(columns.shape[1] * (chances.shape[1] - 1)))
    return bool(np.abs(found).max() > _ENDLESS)


def _trial(block: Block, slopes: Vector, rng: np.random.Generator) -> tuple[bool, bool, bool]:
    """Return whether a regression answered, held the first slope, and needed its penalty."""
    known = rng.integers(0, 4, (block.people, block.columns)) - 1.5
    scores = np.log(block.shares) + known @ slopes
    law = np.exp(scores)
    law /= law.sum(axis=1, keepdims=True)
    answers = (rng.random((block.people, 1)) > law.cumsum(axis=1)).sum(axis=1)
    mechanism = rumor.RandomizedResponse(domain=len(block.shares), epsilon=block.epsilon)
    reports = mechanism.privatize(
        answers.clip(max=len(block.shares) - 1), random=rumor.Seeded(int(rng.integers(1 << 62)))
    )
    endless = _is_endless(mechanism, reports, np.column_stack([np.ones(block.people), known]))
    columns = {f"x{k}": known[:, k] for k in range(block.columns)}
    try:
        found = rumor.regress(mechanism, reports, columns)
    except rumor.InputError:
        return False, False, endless
    low, high = found.interval()
    answered = bool(np.isfinite([low, high]).all())
    return answered, bool(low[1, 0] <= slopes[0, 1] <= high[1, 0]), endless


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each block; the exit status says whether all limits hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--trials", type=int, default=TRIALS, help="of each block")
    names = [_FEW, *regress_models.TRIALS, _PLANNED]
    parser.add_argument("--only", action="append", choices=names, help="only these blocks")
    asked = parser.parse_args(arguments)
    wanted = asked.only or names
    verdict, answered, some = Coverage(), 0, BLOCKS if _FEW in wanted else ()
    print("block           people  epsilon  columns  endless  answered  covered  chance")
    for number, block in enumerate(some):
        rng = np.random.default_rng([asked.seed, number])
        slopes = rng.normal(0, 0.5, (block.columns, len(block.shares)))
        slopes[:, 0] = 0
        told = np.array([_trial(block, slopes, rng) for _ in range(asked.trials)])
        chance = verdict.add(int(told[:, 1].sum()), asked.trials)
        answered += int(told[:, 0].sum())
        shown = told[:, 2].mean(), told[:, 0].mean(), told[:, 1].mean()
        print(
            f"{block.name:15s} {block.people:6,}  {block.epsilon:7g}  {block.columns:7d}  "
            f"{shown[0]:7.3f}  {shown[1]:8.3f}  {shown[2]:7.3f}  {chance:.3g}",
            flush=True,
        )
    print("\nintervals of      covered  chance")
    for number, name in enumerate(regress_models.TRIALS):
        if name not in wanted:
            continue
        rng = np.random.default_rng([asked.seed, len(BLOCKS) + number])
        cells = [regress_models.Cell.drawn(rng) for _ in range(regress_models.CELLS)]
        held = sum(
            regress_models.trial(name, cells[i % len(cells)], rng) for i in range(asked.trials)
        )
        chance = verdict.add(held, asked.trials)
        print(f"{name:16s}  {held / asked.trials:7.3f}  {chance:.3g}", flush=True)
    print("\npeople  epsilon  odds ratio  planned power  simulated")
    furthest = 0.0
    for epsilon, people, ratio in regress_models.POWERS if _PLANNED in wanted else ():
        planned, found = regress_models.power(epsilon, people, ratio, asked.trials, asked.seed)
        furthest = max(furthest, abs(found - planned))
        print(f"{people:6,}  {epsilon:7g}  {ratio:10g}  {planned:13.3f}  {found:9.3f}", flush=True)
    away = _POWER + _LUCK / (2 * np.sqrt(asked.trials))
    part = answered / (asked.trials * len(some)) if some else 1.0
    print(f"{part:.1%} of {len(some)} blocks answered (limit {ANSWERED:.0%}); {verdict}")
    print(f"power at most {furthest:.3f} from the planned one (limit {away:.3f})")
    return int(part < ANSWERED or verdict.below() > 0 or furthest > away)


if __name__ == "__main__":
    sys.exit(main())
