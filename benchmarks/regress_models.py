"""Trials of regressions of other answers: ordered labels, numbers, public outcomes, predictions.

A cell has its people, epsilon and coefficients from the seed; every trial draws new people, whose
columns are a number and a name, and says whether one interval of 95 % held the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

import rumor
from rumor.analysis.regress.power import ODDS_RATIOS, plan_regression
from rumor.core.types import Vector
from rumor.estimators.power import LEVEL

CELLS = 5


@dataclass(frozen=True)
class Cell:
    """People, epsilon, an intercept and three slopes: of a number, a name and a private answer."""

    people: int
    epsilon: float
    law: Vector

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Cell:
        """Return a cell that the seed draws."""
        law = np.append(rng.uniform(-1, 0), rng.normal(0, 0.5, 3))
        return cls(int(rng.choice([1000, 2500, 5000])), float(rng.choice([1.0, 2.0, 4.0])), law)


@dataclass(frozen=True)
class _People:
    columns: dict[str, Any]
    known: Vector
    random: rumor.Seeded
    rng: np.random.Generator

    @classmethod
    def drawn(cls, cell: Cell, rng: np.random.Generator) -> _People:
        number, name = rng.integers(-2, 3, cell.people), rng.choice(["x", "y"], cell.people)
        known = np.column_stack([np.ones(cell.people), number, name == "y"])
        random = rumor.Seeded(int(rng.integers(1 << 62)))
        return cls({"number": number, "name": name}, known, random, rng)


def _holds(found: rumor.Regression, place: int, truth: float) -> bool:
    low, high = found.interval()
    return bool(low[place, 0] <= truth <= high[place, 0])


def _yes_no(cell: Cell, who: _People) -> rumor.Regression:
    coin = rumor.RandomizedResponse(domain=2, epsilon=cell.epsilon)
    held = who.rng.random(cell.people) < expit(who.known @ cell.law[:3])
    return rumor.regress(
        coin, coin.privatize(held.astype(int), random=who.random), dict(who.columns)
    )


def _prediction(cell: Cell, who: _People) -> bool:
    [row] = _yes_no(cell, who).predict({"number": [1], "name": ["y"]})
    return bool(row["low"] <= expit(cell.law[:3].sum()) <= row["high"])


def _effect(cell: Cell, who: _People) -> bool:
    row = next(iter(_yes_no(cell, who).margins()))
    share = expit(who.known @ cell.law[:3])
    return bool(row["low"] <= (cell.law[1] * share * (1 - share)).mean() <= row["high"])


def _ordered(cell: Cell, who: _People) -> rumor.Regression:
    labels = ["never", "seldom", "sometimes", "often", "always"]
    latent = who.known[:, 1:] @ cell.law[1:3] + who.rng.logistic(size=cell.people)
    wave = rumor.Wave(labels=labels, epsilon=cell.epsilon)
    held = np.array(labels)[np.digitize(latent, [-1.0, 0.0, 1.0, 2.0])]
    return rumor.regress(wave, wave.privatize(held, random=who.random), who.columns)


def _number(cell: Cell, who: _People) -> bool:
    window = rumor.Window(low=0, high=10, epsilon=cell.epsilon)
    held = 5 + who.known[:, 1:] @ cell.law[1:3] + who.rng.uniform(-2, 2, cell.people)
    found = rumor.regress(window, window.privatize(held, random=who.random), who.columns)
    return _holds(found, 1, cell.law[1])


def _outcome(cell: Cell, who: _People, is_number: bool) -> bool:
    coin = rumor.RandomizedResponse(domain=["no", "yes"], epsilon=cell.epsilon)
    held = who.rng.random(cell.people) < expit(-0.8 + 0.5 * who.known[:, 1])
    mean = who.known @ cell.law[:3] + cell.law[3] * held
    out = mean + who.rng.exponential(size=cell.people)
    if not is_number:
        out = (who.rng.random(cell.people) < expit(mean)).astype(np.float64)
    reports = coin.privatize(np.where(held, "yes", "no"), random=who.random)
    formula = "out ~ held + number + name"
    found = rumor.regress(coin, reports, {**who.columns, "out": out}, formula, private="held")
    return _holds(found, 3, cell.law[3])


TRIALS: Mapping[str, Callable[[Cell, _People], bool]] = {
    "prediction": _prediction,
    "effect": _effect,
    "ordered labels": lambda cell, who: _holds(_ordered(cell, who), 0, cell.law[1]),
    "number": _number,
    "public yes or no": lambda cell, who: _outcome(cell, who, False),
    "public number": lambda cell, who: _outcome(cell, who, True),
    "threshold": lambda cell, who: _holds(_ordered(cell, who), -1, 2.0),
}


POWERS = ((0.5, 2500, 2.0), (1.0, 2500, 1.5), (2.0, 1000, 1.5), (4.0, 500, 2.0))
"""Epsilon, people and the odds ratio of a column that half of the people have."""
_SHARE = 0.3


def power(epsilon: float, people: int, ratio: float, trials: int, seed: int) -> tuple[float, float]:
    """Return the planned power of a coefficient, and the part of simulated ones told from 0."""
    coin = rumor.RandomizedResponse(domain=2, epsilon=epsilon)
    planned = plan_regression(coin, _SHARE, people)
    place, found = planned.people.index(people), 0
    rng = np.random.default_rng([seed, people, int(8 * epsilon)])
    for _ in range(trials):
        column = rng.integers(0, 2, people)
        held = rng.random(people) < expit(np.log(_SHARE / (1 - _SHARE)) + np.log(ratio) * column)
        random = rumor.Seeded(int(rng.integers(1 << 62)))
        reports = coin.privatize(held.astype(int), random=random)
        found += int(rumor.regress(coin, reports, {"x": column}).p_value[1, 0] < LEVEL)
    return float(planned.power[0, place, ODDS_RATIOS.index(ratio)]), found / trials


def trial(name: str, cell: Cell, rng: np.random.Generator) -> bool:
    """Return whether the interval of a trial of this `name` holds the truth."""
    return TRIALS[name](cell, _People.drawn(cell, rng))
