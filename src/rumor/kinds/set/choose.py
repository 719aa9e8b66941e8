"""The choice of a mechanism for sets: what "auto" resolves to, by closed-form variances.

The criterion is the variance of a share, over options whose shares fall like 1/rank and add up to
the mean size; or, where pairs are wanted, that of two options that nobody chose together. The
search compares all blocks, and "select" over its size k and its least number of own slots.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.checks import checked_size
from rumor.core.columns import split_domain
from rumor.core.errors import InputError, format_value
from rumor.core.exact import checked_epsilon
from rumor.core.types import Codes, Vector
from rumor.mechanisms.select import MAX_CAP, SetSelect
from rumor.mechanisms.set_block import MAX_BLOCK, SetBlock
from rumor.mechanisms.sets import MAX_OPTIONS, SetMechanism, pairs_of, rare_pair_variance

# Every size up to _EVERY is tried; above, sizes grow by the factor _STEP.
_EVERY = 64
_STEP = 1.04
_MOST_LEAST = 6
# The largest share of an option in the assumed population.
MOST_CHOSEN = 0.95
# A gain below this is rounding error.
_NOTHING = 1e-13


@dataclass(frozen=True)
class Wanted:
    """The requirements of a set question that determine its best mechanism."""

    domain: int | Sequence[str]
    epsilon: float
    cap: int | None = None
    mean_size: float | None = None
    pairs: bool = False

    @property
    def options(self) -> int:
        """The number of options."""
        return split_domain(self.domain, SetMechanism.MIN_DOMAIN, MAX_OPTIONS)[0]

    @property
    def most(self) -> int:
        """The largest number of options one person may choose."""
        return checked_size("cap", self.options if self.cap is None else self.cap, 1, self.options)

    @functools.cached_property
    def usual(self) -> tuple[float, float]:
        """The mean and the variance of the assumed shares of options."""
        shares = ranked_shares(self.options, self.size)
        return float(shares.mean()), float(shares.var())

    @property
    def size(self) -> float:
        """The mean number of options that a person chooses, by default half the cap."""
        size = self.most / 2 if self.mean_size is None else self.mean_size
        number = isinstance(size, (int, float)) and not isinstance(size, bool)
        if not number or not 0 < size <= self.most:
            raise InputError(
                f"mean_size must be a number above 0 and at most {self.most} (the cap); "
                f"got {format_value(self.mean_size)}"
            )
        return float(size)

    @property
    def counted(self) -> str:
        """The name of the counts in a summary: "pairs" or "options"."""
        return "pairs" if self.pairs else "options"

    def noise(self, rates: Rates) -> float:
        """Return the variance of one report's estimate under these `rates`."""
        if rates.gain < _NOTHING:
            return math.inf
        mean, spread = self.usual
        if not self.pairs:
            support = rates.miss + rates.gain * mean
            each = support * (1 - support) / rates.gain**2 - spread
            return each / rates.share
        if rates.pairs is None:
            return math.inf
        each = rare_pair_variance(rates.miss, rates.gain, rates.pairs, mean)
        return each / rates.pair_share


def ranked_shares(options: int, size: float) -> Vector:
    """Return shares that fall like 1/rank and add up to `size`, none above MOST_CHOSEN."""
    return scaled_shares(1 / np.arange(1, options + 1), size)


def scaled_shares(shape: Vector, size: float) -> Vector:
    """Return shares in proportion to `shape` that add up to `size`, none above MOST_CHOSEN."""
    low, high = 0.0, 1e6
    for _ in range(80):
        factor = (low + high) / 2
        fits = np.minimum(factor * shape, MOST_CHOSEN).sum() < size
        low, high = (factor, high) if fits else (low, factor)
    return np.minimum(low * shape, MOST_CHOSEN)


@dataclass(frozen=True)
class Rates:
    """The probabilities of support given the chosen options, as doubles."""

    hit: float
    miss: float
    share: float = 1.0
    pairs: tuple[float, float, float] | None = None
    pair_share: float = 1.0

    @property
    def gain(self) -> float:
        """The difference between the hit and the miss probability."""
        return self.hit - self.miss


def choose_sets(wanted: Wanted, over_cap: str = "refuse") -> SetMechanism:
    """Return the mechanism with the least noise.

    The mechanism is a block where the cap exceeds the largest cap of "select".
    """
    block = best_block(wanted)
    if wanted.most > MAX_CAP:
        return block
    select = best_select(wanted, over_cap)
    return select if _noise_of(wanted, select) < _noise_of(wanted, block) else block


def _noise_of(wanted: Wanted, made: SetMechanism) -> float:
    if wanted.pairs and made.exact_pairs is None:
        return math.inf
    pairs = made.pair_rates if wanted.pairs else None
    return wanted.noise(Rates(made.hit, made.miss, made.share, pairs, made.pair_share))


def best_block(wanted: Wanted, block: object = None) -> SetBlock:
    """Return the block mechanism of least noise, or the one with block size `block`."""
    if block is None:
        sizes = range(1 + wanted.pairs, min(wanted.options, MAX_BLOCK) + 1)
        power = math.exp(checked_epsilon(wanted.epsilon))
        block = min(sizes, key=lambda b: wanted.noise(block_rates(wanted.options, b, power)))
    return SetBlock(
        domain=wanted.domain,
        epsilon=wanted.epsilon,
        block=block,  # type: ignore[arg-type]
        counted=wanted.counted,
    )


def block_rates(options: int, block: int, power: float) -> Rates:
    """Return the rates of a block of size `block` among `options` options, e^epsilon being
    `power`.
    """
    total, half = power + 2**block - 1, 2 ** (block - 1)
    none = half / 2 / total
    return Rates(
        hit=(power + half - 1) / total,
        miss=half / total,
        share=block / options,
        pairs=None if block < 2 else (none, none, none + (power - 1) / total),
        pair_share=pairs_of(block) / pairs_of(options),
    )


def best_select(
    wanted: Wanted, over_cap: str = "refuse", size: object = None, least: object = None
) -> SetSelect:
    """Return the "select" of least noise, or of the given `size` or `least` number of own slots."""
    options, cap = wanted.options, wanted.most
    checked_size("cap", cap, 1 + wanted.pairs, min(options, MAX_CAP))
    if size is None or least is None:
        size, least = _searched(wanted, size, least)
    return SetSelect(
        domain=wanted.domain,
        epsilon=wanted.epsilon,
        cap=cap,
        size=size,  # type: ignore[arg-type]
        least=least,  # type: ignore[arg-type]
        over_cap=over_cap,
        counted=wanted.counted,
    )


def _searched(wanted: Wanted, size: object, least: object) -> tuple[int, int]:
    """Return the best size and least number of own slots, either of which may be given."""
    options, cap = wanted.options, wanted.most
    tables = SelectRates(options, cap, math.exp(checked_epsilon(wanted.epsilon)))
    fewest = 1 + wanted.pairs
    if least is not None:
        least = checked_size("least", least, 1, cap)
        fewest = max(fewest, least)

    def noise(k: int) -> tuple[float, int]:
        """Return the least noise at size `k`, and the number of own slots that gives it."""
        most = min(cap, k)
        tried = range(1, min(most, _MOST_LEAST) + 1) if least is None else [min(least, most)]
        return min((wanted.noise(tables.at(k, t)), t) for t in tried)

    if size is not None:
        k = checked_size("size", size, fewest, options)
        return k, noise(k)[1]
    return _descended(lambda k: noise(k)[0], fewest, options, lambda k: noise(k)[1])


def _descended(
    noise: Callable[[int], float], fewest: int, most: int, own: Callable[[int], int]
) -> tuple[int, int]:
    """Return the best size on a coarse grid, then among the sizes between its neighbours."""
    grid = list(range(fewest, min(most, _EVERY) + 1))
    while grid[-1] < most:
        grid.append(min(most, math.ceil(grid[-1] * _STEP)))
    at = min(range(len(grid)), key=lambda i: noise(grid[i]))
    near = range(grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)] + 1)
    size = min(near, key=noise)
    return size, own(size)


class SelectRates:
    """Rates of "select" for one number of options, cap and epsilon, at any size."""

    def __init__(self, options: int, cap: int, power: float) -> None:
        self.options, self.cap, self.power = options, cap, power
        self._logs: Vector = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, options + 1)))])
        self._law: tuple[int, Vector] = (0, np.zeros(0))

    def _choose(self, total: int, taken: Codes) -> Vector:
        return np.asarray(self._logs[total] - self._logs[taken] - self._logs[total - taken])

    def own_slots(self, size: int) -> Vector:
        """Return the probabilities that a uniform set of this `size` shows 0, 1, 2, ... own
        slots.
        """
        if self._law[0] != size:
            shown = np.arange(min(self.cap, size) + 1, dtype=np.int64)
            logs = self._choose(self.cap, shown) + self._choose(self.options, size - shown)
            law = np.exp(logs - logs.max())
            self._law = size, law / law.sum()
        return self._law[1]

    def at(self, size: int, least: int) -> Rates:
        """Return the rates at a `size` and a `least` number of own slots.

        Sets with at least that many own slots have e^epsilon times the weight of the others.
        """
        law = self.own_slots(size)
        shown = np.arange(law.size)
        weighted = law * np.where(shown >= least, self.power, 1.0)
        weighted = weighted / weighted.sum()
        first = float(weighted @ shown)
        second = float(weighted @ (shown * (shown - 1)))
        pairs = None
        if min(self.cap, size) > 1:
            others = size * (size - 1) - 2 * (size - 1) * first + second
            pairs = (
                others / (self.options * (self.options - 1)),
                ((size - 1) * first - second) / (self.cap * self.options),
                second / (self.cap * (self.cap - 1)),
            )
        return Rates(first / self.cap, (size - first) / self.options, pairs=pairs)
