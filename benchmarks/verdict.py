"""Whether blocks of trials hold the truth as often as they say, beyond chance."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.stats import binom

from rumor.estimators.multiple_testing import holm


@dataclass
class Coverage:
    """Blocks of trials, each of which holds the truth or does not, at a confidence `level`."""

    level: float = 0.95
    alpha: float = 0.01
    held: int = 0
    trials: int = 0
    chances: list[float] = field(default_factory=list)

    def add(self, held: int, trials: int) -> float:
        """Return the chance of so few `held` of a block's `trials` (exact binomial); keep it."""
        self.held += held
        self.trials += trials
        self.chances.append(float(binom.cdf(held, trials, self.level)))
        return self.chances[-1]

    @property
    def pooled(self) -> float:
        """The share of all trials that hold the truth."""
        return self.held / self.trials if self.trials else float("nan")

    def below(self) -> int:
        """Return how many blocks hold it too seldom beyond chance (Holm)."""
        return int((holm(np.array(self.chances)) < self.alpha).sum())

    def __str__(self) -> str:
        return (
            f"{self.below()} blocks below {self.level:.0%} (Holm, alpha {self.alpha:.0%}); "
            f"pooled {self.pooled:.4f}"
        )
