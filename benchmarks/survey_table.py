"""Survey weights: how often intervals of what is weighted hold the truth.

    python -m benchmarks.survey_table [--seed N] [--trials N] [--only BLOCK]

Answers depend on the weights, and on clusters where there are some; every trial draws new people.
A block is a quantity at one design effect of the weights; its cells (people, epsilon, answers, how
they depend on weights) are drawn from the seed. Blocks are also of weights raked to three margins,
of differences of weighted groups, and of slopes with weights and 60 clusters. Limits: no block
covers less than 95 % beyond chance (exact binomial, Holm over the blocks, alpha 1 %), all together
at least 94.5 %, and the mean width is at most 1.15 times that of the published formulas, where
there are some; they are written out here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logit, ndtr, ndtri, stdtrit

import rumor
from benchmarks.verdict import Coverage
from rumor import SurveyDesign
from rumor.core.reports import Reports
from rumor.core.types import Rows, Vector
from rumor.kinds import kind_of

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


def _published_median(wave: rumor.Wave, reports: Reports, people: People) -> float:
    """Return the width of the published interval of a median, of whole positions.

    It holds all places where the weighted distribution function, made monotone, is within
    Student's quantile of standard errors of one half.
    """
    function = kind_of(wave).scores(wave, reports).quantiles
    assert function is not None
    w = people.weights
    total = w.sum()
    shares = w @ function.function / total
    away = w[:, None] * (function.function - shares) / total
    own = (w @ (function.function - shares) ** 2) / total * (w @ w) / total**2
    freedom = (w @ w) ** 2 / (w**4).sum()
    variance = np.maximum((away**2).sum(axis=0) * w.size / (w.size - 1), own)
    reach = -float(stdtrit(freedom, 0.025)) * np.sqrt(variance)
    known = np.append(shares, 1.0)
    rising = np.maximum.accumulate(known) + np.minimum.accumulate(known[::-1])[::-1]
    middle = np.append(0.0, np.clip(rising / 2, 0.0, 1.0))
    reach = np.concatenate([[0.0], reach, [0.0]])
    inside = (
        np.flatnonzero((middle + reach)[1:] >= 0.5)[0],
        np.flatnonzero((middle - reach)[:-1] <= 0.5)[-1],
    )
    return float(inside[1] + 1 - inside[0]) * 100 / wave.scale.domain


def _raked(cell: Cell, rng: np.random.Generator) -> tuple[bool, float, float]:
    """Return whether an interval raked to three margins held, and its width.

    Margins are independent in the population; answers and the chance to be asked depend on all
    three, so that weights of the margins are those of the people.
    """
    cell = replace(cell, people=max(cell.people, 500))  # with fewer, margins may not be met
    sizes = [rng.dirichlet(np.full(levels, 10.0)) for levels in (3, 2, 2)]
    asked = [np.exp(cell.sigma * rng.normal(0, 0.5, size.size)) for size in sizes]
    moved = [rng.normal(0, 0.6, size.size) for size in sizes]
    found = [
        rng.choice(size.size, cell.people, p=size * chance / (size @ chance))
        for size, chance in zip(sizes, asked, strict=True)
    ]
    places = np.full(cell.people, cell.middle)
    for one, at in zip(moved, found, strict=True):
        places += one[at]
    whole = np.add.outer(np.add.outer(moved[0], moved[1]), moved[2])
    share = np.einsum("ijk,i,j,k->", _share(cell.middle + whole), *sizes)
    margins: dict[str, tuple[object, dict[str, float]]] = {
        f"margin {i}": (at.astype(str).tolist(), {str(v): float(s) for v, s in enumerate(size)})
        for i, (at, size) in enumerate(zip(found, sizes, strict=True))
    }
    coin = rumor.RandomizedResponse(domain=2, epsilon=cell.epsilon)
    values = (rng.random(cell.people) < _share(places)).astype(np.int64)
    reports = coin.privatize(values, random=rumor.Seeded(int(rng.integers(1 << 62))))
    row = rumor.weigh(coin, reports, SurveyDesign(margins=margins))["share", 1]
    return bool(row.low <= share <= row.high), row.high - row.low, 0.0


def _compared(cell: Cell, rng: np.random.Generator) -> tuple[bool, float, float]:
    """Return whether an interval of the difference of two weighted groups held, and its width."""
    other = replace(cell, middle=cell.middle + float(rng.normal(0, 0.5)), people=cell.people // 2)
    both = [one.draw(rng, SHARE) for one in (cell, other)]
    truth = both[1].truth - both[0].truth
    places = np.concatenate([one.places for one in both])
    names = np.repeat(["first", "second"], [one.places.size for one in both])
    values = (rng.random(places.size) < places).astype(np.int64)
    coin = rumor.RandomizedResponse(domain=2, epsilon=cell.epsilon)
    reports = coin.privatize(values, random=rumor.Seeded(int(rng.integers(1 << 62))))
    design = SurveyDesign(np.concatenate([one.weights for one in both]))
    low, high = rumor.compare(coin, reports, names, design=design).interval()
    return bool(low[1] <= truth <= high[1]), float(high[1] - low[1]), 0.0


def _regressed(cell: Cell, rng: np.random.Generator) -> tuple[bool, float, float]:
    """Return whether an interval of a slope held, and its width, with 60 clusters and weights.

    Answers within a cluster are alike by a common normal part (a copula), which leaves the
    slope of all people what it is; the column is of persons or of clusters.
    """
    clusters = np.repeat(np.arange(60), rng.integers(5, 41, 60))
    column = rng.normal(0, 1, 60 if cell.people == 500 else clusters.size)
    x = column[clusters] if column.size == 60 else column
    alike = 0.2 * cell.slope**2 / 0.64
    normal = np.sqrt(alike) * rng.normal(0, 1, 60)[clusters]
    normal += np.sqrt(1 - alike) * rng.normal(0, 1, clusters.size)
    values = (ndtr(normal) < _share(cell.middle + cell.slope * x)).astype(np.int64)
    weights = np.exp(rng.normal(0, cell.sigma, clusters.size))
    coin = rumor.RandomizedResponse(domain=2, epsilon=cell.epsilon)
    reports = coin.privatize(values, random=rumor.Seeded(int(rng.integers(1 << 62))))
    design = SurveyDesign(weights, clusters=clusters)
    low, high = rumor.regress(coin, reports, {"x": x}, reference=0, design=design).interval()
    held = bool(low[1, 0] <= cell.slope <= high[1, 0])
    return held, float(high[1, 0] - low[1, 0]), 0.0


# Blocks whose widths no published formula gives.
_OTHERS = {"raking": _raked, "comparison": _compared, "sandwich": _regressed}


def _trial(cell: Cell, block: str, rng: np.random.Generator) -> tuple[bool, float, float]:
    """Return whether the interval of a new sample held, its width and the published one."""
    if block in _OTHERS:
        return _OTHERS[block](cell, rng)
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
        reports = wave.privatize(numbers, random=random)
        row = rumor.weigh(wave, reports, design)["quantile", "50%"]
        published = _published_median(wave, reports, people)
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
    for name in ("share", "small strata", "clusters", "mean", "median", *_OTHERS)
    for effect in EFFECTS
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each block; the exit status says whether all limits hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--trials", type=int, default=TRIALS, help="of each block")
    names = sorted({name for name, _ in BLOCKS})
    parser.add_argument("--only", action="append", choices=names, help="only these blocks")
    asked = parser.parse_args(arguments)
    verdict, widest = Coverage(), 0.0
    print("block          effect  covered      chance  width over the published one")
    blocks = [block for block in BLOCKS if not asked.only or block[0] in asked.only]
    for name, effect in blocks:
        number = BLOCKS.index((name, effect))
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
