"""Survey weights: how often intervals of weighted shares, means and medians hold the truth.

    python -m benchmarks.survey_table [--seed N] [--trials N]

Answers depend on the weights, and on clusters where there are some; every trial draws new people.
A block is a quantity at one design effect of the weights; its cells (people, epsilon, answers, how
they depend on weights) are drawn from the seed. Limits: no block covers less than 95 % beyond
chance (exact binomial, Holm over the blocks, alpha 1 %), all together at least 94.5 %, and the mean
width is at most 1.15 times that of the published formulas, which are written out here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logit, ndtr, ndtri, stdtrit

import rumor
from benchmarks.verdict import Coverage
from rumor import SurveyDesign
from rumor.core.types import Rows, Vector

SEED, TRIALS, CELLS = 20261119, 400, 8
POOLED, WIDTH = 0.945, 1.15
EFFECTS = (1.0, 2.0, 5.0)
_NODES = np.polynomial.hermite_e.hermegauss(60)


@dataclass(frozen=True)
class People:
    """One sample: answers from 0 to 1, weights, strata and clusters, and the population's answer.

    `places` are the chances of answers to be 1, or the answers themselves if `whole`.
    """

    places: Vector
    weights: Vector
    strata: Rows | None
    clusters: Rows | None
    truth: float


@dataclass(frozen=True)
class Cell:
    """A population and a sample size, drawn from the seed."""

    people: int
    epsilon: float
    middle: float
    slope: float
    effect: float
    between: float = 0.0
    layers: int = 0

    @classmethod
    def drawn(cls, rng: np.random.Generator, block: str, effect: float) -> Cell:
        """Return a cell of a `block`; weights are log-normal with this design `effect`."""
        layers = {"small strata": int(rng.choice([20, 200])), "clusters": 10}.get(block, 0)
        return cls(
            people=int(rng.choice([200, 500, 2000])),
            epsilon=float(rng.choice([1.0, 4.0])),
            middle=float(rng.uniform(-2.5, 1.0)),
            slope=float(rng.uniform(-0.8, 0.8)),
            effect=effect,
            between=float(rng.uniform(0.3, 1.0)) if layers else 0.0,
            layers=layers,
        )

    @property
    def sigma(self) -> float:
        """The deviation of the weights' logarithms."""
        return float(np.sqrt(np.log(self.effect)))

    def draw(self, rng: np.random.Generator, answer: Answer) -> People:
        """Return a sample of people, whose expected answers `answer` gives."""
        strata = clusters = None
        if self.layers == 10:  # clusters: six in each of five strata, of 5 to 40 people
            sizes = rng.integers(5, 41, 30)
            clusters = np.repeat(np.arange(30), sizes)
            strata = clusters // 6
            shift = rng.normal(0, self.between, 30)[clusters]
            moved = shift
        elif self.layers:
            sizes = rng.integers(3, 15, self.layers)
            strata = np.repeat(np.arange(self.layers), sizes)
            levels = ndtri((np.arange(self.layers) + 0.5) / self.layers) * self.between
            moved = levels[strata]
        else:
            moved = np.zeros(self.people)
        log = rng.normal(0, self.sigma, moved.size)
        weights = np.exp(log)
        if strata is not None and clusters is None:
            # Strata of equal size in the population, whatever answered of them.
            for one in range(self.layers):
                weights[strata == one] *= 1 / np.count_nonzero(strata == one)
        places = answer.expected(self.middle + self.slope * log + moved)
        return People(places, weights, strata, clusters, self._truth(answer))

    def _truth(self, answer: Answer) -> float:
        """Return the population's answer: weighted, over weights, strata and clusters."""
        nodes, chances = _NODES[0], _NODES[1] / _NODES[1].sum()
        log, outer = self.sigma * nodes, chances * np.exp(self.sigma * nodes)
        if self.layers and self.layers != 10:
            levels = ndtri((np.arange(self.layers) + 0.5) / self.layers) * self.between
            inner = np.full(levels.size, 1 / levels.size)
        else:
            levels, inner = self.between * nodes, chances
        places = self.middle + self.slope * log[:, None] + levels
        weights = outer[:, None] * inner / outer.sum()
        return answer.truth(places, weights)


@dataclass(frozen=True)
class Answer:
    """What is asked, and of which truth the interval is."""

    expected: Callable[[Vector], Vector]
    truth: Callable[[Vector, Vector], float]


def _share(x: Vector) -> Vector:
    return np.asarray(1 / (1 + np.exp(-x)))


SHARE = Answer(_share, lambda x, w: float((_share(x) * w).sum()))
_SPREAD = 0.7  # of a person's own number, as a logit
_OWN = _SPREAD * _NODES[0], _NODES[1] / _NODES[1].sum()


def _mean(x: Vector, w: Vector) -> float:
    return 100 * float((_share(x[..., None] + _OWN[0]) @ _OWN[1] * w).sum())


def _median(x: Vector, w: Vector) -> float:
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        below = (ndtr((logit(middle / 100) - x) / _SPREAD) * w).sum()
        low, high = (middle, high) if below < 0.5 else (low, middle)
    return (low + high) / 2


MEAN, MEDIAN = Answer(lambda x: x, _mean), Answer(lambda x: x, _median)


def _published(scores: Vector, design: People, coins: tuple[float, float] | None) -> float:
    """Return the width of the published interval of a mean of `scores`; of `coins`, of a share."""
    w, strata, clusters = design.weights, design.strata, design.clusters
    total = w.sum()
    s = w @ scores / total
    u = w * (scores - s) / total
    layer = np.zeros(w.size, dtype=int) if strata is None else strata
    unit = np.arange(w.size) if clusters is None else clusters
    variance, own, spare = 0.0, 0.0, 0.0
    for one in np.unique(layer):
        inside = layer == one
        _, where = np.unique(unit[inside], return_inverse=True)
        sums = np.bincount(where, u[inside])
        variance += sums.size / (sums.size - 1) * ((sums - sums.mean()) ** 2).sum()
        held = np.bincount(where, w[inside] ** 2)
        freedom = held.sum() ** 2 / (held**2).sum() * (held.size - 1) / held.size
        own, spare = own + held.sum(), spare + held.sum() ** 2 / freedom
    freedom = own**2 / spare
    if clusters is None:
        variance = max(variance, (w @ (scores - s) ** 2) / total * (w @ w) / total**2)
        freedom = (w @ w) ** 2 / (w**4).sum()
    t = -float(stdtrit(freedom, 0.025))
    if coins is None:
        return 2 * t * float(np.sqrt(variance))
    k = t * t * variance / (s * (1 - s))
    root = np.sqrt(k * s * (1 - s) + k * k / 4) / (1 + k)
    ends = ((s + k / 2) / (1 + k) + np.array([-root, root]) - coins[0]) / coins[1]
    return float(np.diff(np.clip(ends, 0, 1))[0])


def _trial(cell: Cell, block: str, rng: np.random.Generator) -> tuple[bool, float, float]:
    """Return whether the interval of a new sample held, its width and the published one."""
    random = rumor.Seeded(int(rng.integers(1 << 62)))
    if block in ("mean", "median"):
        answer = MEAN if block == "mean" else MEDIAN
        people = cell.draw(rng, answer)
        numbers = 100 * _share(people.places + rng.normal(0, _SPREAD, people.places.size))
    else:
        answer = SHARE
        people = cell.draw(rng, answer)
        numbers = (rng.random(people.places.size) < people.places).astype(np.int64)
    design = SurveyDesign(people.weights, people.strata, people.clusters)
    published = 0.0
    if block == "median":
        wave = rumor.Wave(low=0, high=100, bins=40, epsilon=cell.epsilon)
        found = rumor.weigh(wave, wave.privatize(numbers, random=random), design)
        row = found["quantile", "50%"]
    elif block == "mean":
        window = rumor.Window(low=0, high=100, epsilon=cell.epsilon)
        reports = window.privatize(numbers, random=random)
        row = rumor.weigh(window, reports, design)["mean", "mean"]
        published = _published(window.estimates(reports), people, None)
    else:
        coin = rumor.RandomizedResponse(domain=2, epsilon=cell.epsilon)
        reports = coin.privatize(numbers, random=random)
        row = rumor.weigh(coin, reports, design)["share", 1]
        published = _published(reports[:, 0].astype(float), people, (coin.miss, coin.gain))
    return bool(row.low <= people.truth <= row.high), row.high - row.low, published


BLOCKS = [
    (name, effect)
    for name in ("share", "small strata", "clusters", "mean", "median")
    for effect in EFFECTS
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each block; the exit status says whether all limits hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--trials", type=int, default=TRIALS, help="of each block")
    asked = parser.parse_args(arguments)
    verdict, widest = Coverage(), 0.0
    print("block          effect  covered      chance  width over the published one")
    for number, (name, effect) in enumerate(BLOCKS):
        rng = np.random.default_rng([asked.seed, number])
        cells = [Cell.drawn(rng, name, effect) for _ in range(CELLS)]
        told = np.array([_trial(cells[i % CELLS], name, rng) for i in range(asked.trials)])
        covered = int(told[:, 0].sum())
        chance = verdict.add(covered, asked.trials)
        ratio = told[:, 1].mean() / told[:, 2].mean() if told[:, 2].any() else None
        widest = max(widest, ratio or 0.0)
        width = "" if ratio is None else f"{ratio:.3f}"
        print(
            f"{name:14s} {effect:6g}  {covered / asked.trials:7.3f}  {chance:10.3g}  {width}",
            flush=True,
        )
    print(
        f"{verdict} (limit {POOLED}); width at most {widest:.3f} times the published one (limit "
        f"{WIDTH})"
    )
    return int(verdict.below() > 0 or verdict.pooled < POOLED or widest > WIDTH)


if __name__ == "__main__":
    sys.exit(main())
