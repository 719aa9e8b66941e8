"""Hadamard response as the published package of its inventors runs it (`Hadamard_Rand_general`).

Written from what the package does, to see whether it made a published row. For D values and
epsilon it takes B = 2^floor(log2 min(2D, e^epsilon)) blocks of b outputs, b the least power of
two above D/B. Values fill blocks from the first, b - 1 each, so only C = ceil(D / (b - 1)) blocks
exist. A report is uniform over the C blocks with weight 2B / (2B - 1 + e^epsilon) and uniform over
the b/2 outputs of odd parity with the value's row otherwise; the first output of a block is drawn
again. The weight is right for B blocks. Where C < B (D = 1,000 at epsilon 4: 16 of 32) a report
has the epsilon ln(1 + (e^epsilon - 1) C / B), and the decoder, which is right for C blocks at
the epsilon asked for, adds the same amount to every frequency.

This is no mechanism of Rumor: what it promises is not what it keeps, in either direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Vector
from rumor.mechanisms.hadamard import walsh_hadamard
from rumor.papers.frequency import squared, truth, values_of
from rumor.papers.model import Numbers, Parameters


@dataclass(frozen=True)
class BlockLayout:
    """The number of blocks that the rule asks for, their size, and the number that exists."""

    domain: int
    epsilon: float
    asked: int
    """B: what the mixing weight assumes."""
    block: int
    """b: outputs of a block."""
    existing: int
    """C: blocks that values fill."""

    @classmethod
    def of(cls, domain: int, epsilon: float) -> BlockLayout:
        """Return the layout that the package's rule gives."""
        asked = int(2 ** math.floor(math.log2(min(2.0 * domain, math.exp(epsilon)))))
        block = int(2 ** math.ceil(math.log2(domain / asked + 1)))
        return cls(domain, epsilon, asked, block, -(-domain // (block - 1)))

    @property
    def kept_epsilon(self) -> float:
        """The epsilon of a report: the logarithm of its largest ratio of probabilities."""
        return math.log1p(math.expm1(self.epsilon) * self.existing / self.asked)


def draw(layout: BlockLayout, values: NDArray[np.int64], random: np.random.Generator) -> Vector:
    """Return the share of reports on every output, a row for each block."""
    block, half = layout.block, layout.block // 2
    rows = np.arange(1, block)
    odd = np.bitwise_count(rows[:, None] & np.arange(block)) % 2 == 1
    supporting = np.nonzero(odd)[1].reshape(block - 1, half)
    own, row = np.divmod(values, block - 1)
    flat = 2 * layout.asked / (2 * layout.asked - 1 + math.exp(layout.epsilon))
    # Drawing a block's first output again keeps block - 1 of the flat part's outputs.
    kept = flat * (block - 1) / block
    uniform = random.random(values.size) < kept / (kept + 1 - flat)
    where = np.where(uniform, random.integers(layout.existing, size=values.size), own)
    inside = np.where(
        uniform,
        random.integers(1, block, size=values.size),
        supporting[row, random.integers(half, size=values.size)],
    )
    outputs = np.bincount(where * block + inside, minlength=layout.existing * block)
    return np.asarray(outputs.reshape(layout.existing, block) / values.size, dtype=np.float64)


def decode(layout: BlockLayout, shares: Vector) -> Vector:
    """Return frequencies from the shares of outputs, unclipped: unbiased if all blocks exist."""
    half, power = layout.block / 2, math.exp(layout.epsilon)
    scale = layout.existing * (layout.block - 1) / half - 1 + power
    # Supporting reports minus the block's others: the transform has the sign of even parity.
    balance = -walsh_hadamard(shares)[:, 1:].reshape(-1)[: layout.domain]
    return np.asarray((scale * balance - 1 / half) / (power - 1), dtype=np.float64)


def package_errors(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the package's errors, clipped at zero and rescaled to one as by its default."""
    domain, people = int(parameters.get("domain", 1000)), int(parameters["people"])
    layout, law = (
        BlockLayout.of(domain, float(parameters["epsilon"])),
        truth(parameters["law"], domain),
    )
    found: dict[str, list[float]] = {"error": [], "realised": []}
    for trial in range(seed, seed + trials):
        values = values_of(law, people, trial)
        random = np.random.default_rng([trial, 1])
        places = random.permutation(domain)
        raw = decode(layout, draw(layout, places[values], random))[places]
        frequency = np.maximum(raw, 0) / np.maximum(raw, 0).sum()
        found["error"].append(squared(frequency, law))
        found["realised"].append(squared(frequency, np.bincount(values, minlength=domain) / people))
    return {
        **found,
        "blocks asked": [float(layout.asked)],
        "blocks existing": [float(layout.existing)],
        "epsilon kept": [layout.kept_epsilon],
    }
