"""The plan of a joint question: the errors of cells and margins, and the sampling design."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from rumor.core.errors import InputError, format_value
from rumor.core.randomness import Seeded
from rumor.core.types import Vector
from rumor.kinds.joint.fit.linear import Linear, Moments, ObservedTable, linear
from rumor.kinds.joint.simulate import true_rows
from rumor.kinds.planning.forecast import typical_law
from rumor.kinds.planning.planned import (
    BudgetSpec,
    MechanismChoice,
    PlannedQuestion,
    Size,
    Squares,
    mean_square,
    smallest_detectable_share,
)
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.mixed.parts import Parts

# How much more often equal places of two parts come together, in the simulated population.
_LINKED = 0.5
_CROWDS = 12


class PlannedJoint(PlannedQuestion[Mixed]):
    """Two to four answers of the given numbers of values, as a plan works with them."""

    error_of = "a cell of a table of two parts, where all are as frequent"
    default_of = "method auto over all cells, with Zipf margins and weak association (simulated)"
    second = ("margin error", "margin_standard_error")
    detects = "the smallest detectable share of a cell"
    truth = "Zipf margins and weak association"

    @functools.cached_property
    def parts(self) -> Parts:
        """The parts, with numbers for names."""
        said = self.asked.parts or ""
        sizes = said.lower().split("x")
        if not all(size.isascii() and size.isdigit() and len(size) < 4 for size in sizes):
            raise InputError(
                f"a joint question is planned by the number of values of each part, such as 5x4; "
                f"got {format_value(self.asked.parts)}"
            )
        return Parts.of([int(size) for size in sizes])

    def size(self) -> str:
        """Return the number of cells, in words."""
        return f"answers of {' by '.join(map(str, self.parts.sizes))} values"

    def candidates(self, budget: BudgetSpec) -> list[MechanismChoice[Mixed]]:
        """Return the mixture, with the share of respondents who are asked for each combination."""
        mixed = Mixed(parts=self.parts, epsilon=budget.epsilon)
        shape = {
            f"share of {'+'.join(str(part + 1) for part in one.asks)}": float(one.share)
            for one in mixed.components
        }
        return [MechanismChoice.by_name(mixed, budget, shape)]

    def _expected(self, mechanism: Mixed, users: int, shares: Vector) -> Linear:
        """Return the linear estimate at its expectation, for `users` people with these `shares`."""
        parts, seen = self.parts, []
        whole = shares.reshape(parts.sizes)
        for one in mechanism.components:
            others = tuple(set(range(parts.count)) - set(one.asks))
            table = whole.sum(axis=others).ravel()
            noise = one.oracle.covariance(table, 1) / (users * float(one.share))
            seen.append(ObservedTable(one.asks, Moments(table, noise)))
        return linear(parts.sizes, seen)

    def _uniform(self, mechanism: Mixed, users: int) -> Linear:
        return self._expected(mechanism, users, np.full(self.parts.cells, 1 / self.parts.cells))

    def error(self, mechanism: Mixed, users: int) -> float:
        """Return the linear estimate's root mean squared error over all cells of all tables."""
        return _cell_error(self._uniform(mechanism, users))

    def linear(self, mechanism: Mixed, users: int) -> float:
        """Return the linear estimate's error in the simulated population."""
        return _cell_error(self._expected(mechanism, users, self._crowd()))

    def second_error(self, mechanism: Mixed, users: int) -> float:
        """Return the standard error of a value of one part alone."""
        found = self._uniform(mechanism, users)
        spread = [found.margin(part).deviation ** 2 for part in range(self.parts.count)]
        return math.sqrt(float(np.mean(np.concatenate(spread))))

    def default(self, mechanism: Mixed, users: int) -> float:
        """Return the default's error over a few simulated linear estimates."""
        from rumor.kinds.joint.estimate import joint_estimate

        truth, rng = self._crowd(), np.random.default_rng(1)
        found = self._expected(mechanism, users, truth)
        cells, squares = self._cells(truth), []
        for drawn in rng.multivariate_normal(found.mean, found.covariance, size=_CROWDS):
            one = replace(found, mean=drawn)
            told = joint_estimate(self.parts, one, "auto", (), users, mechanism.epsilon, {})
            squares.append(mean_square(told.frequency[: cells.size] - cells))
        return math.sqrt(float(np.mean(squares)))

    def _crowd(self) -> Vector:
        """Return margins that fall like 1/rank, with equal places together more often."""
        law = functools.reduce(np.multiply.outer, [typical_law(size) for size in self.parts.sizes])
        places = np.indices(self.parts.sizes)
        for one, other in itertools.combinations(range(self.parts.count), 2):
            law = law * (1 + _LINKED * (places[one] == places[other]))
        return np.asarray(law / law.sum()).ravel()

    def _cells(self, shares: Vector) -> Vector:
        """Return the cells of all two-way tables."""
        return true_rows(self.parts, shares)[: -sum(self.parts.sizes)]

    def detectable(self, mechanism: Mixed, users: int) -> float:
        """Return the smallest share detected by a test of one cell, of the least-asked table."""
        asked = min((c for c in mechanism.components if len(c.asks) > 1), key=lambda c: c.share)
        people = users * float(asked.share)
        oracle = asked.oracle
        gain = oracle.hit - oracle.miss

        def deviation(share: float) -> float:
            support = oracle.miss + gain * share
            return math.sqrt(support * (1 - support) / people) / gain

        return smallest_detectable_share(deviation)

    def choose(
        self, candidates: Sequence[MechanismChoice[Mixed]], users: int, budget: BudgetSpec
    ) -> MechanismChoice[Mixed]:
        """Return the only candidate."""
        return candidates[0]

    def reason(self, best: object, options: object) -> str:
        """Return why respondents are not all asked for everything."""
        return (
            "reports of pairs show the association; enough respondents are asked for a single part "
            "to estimate its shares nearly as well as half of all respondents would."
        )

    def notes(self, mechanism: Mixed, users: int) -> list[str]:
        """Return the share of respondents who are asked for each combination of parts."""
        asked = [
            f"{float(one.share):.1%} for {' and '.join(f'part {part + 1}' for part in one.asks)}"
            for one in mechanism.components
        ]
        return [
            f"Sampling design: {', '.join(asked)}, each at the whole epsilon. Margin error: "
            f"standard error of the share of one value of one part, as a fraction."
        ]

    def question(self) -> Mapping[str, object]:
        """Return parts with placeholder labels."""
        return {
            "parts": [
                {"id": f"part-{part + 1}", "labels": [str(value + 1) for value in range(size)]}
                for part, size in enumerate(self.parts.sizes)
            ]
        }

    def trials(self, mechanism: Mixed, users: int, seed: int) -> Iterator[Squares]:
        """Yield squared errors of real reports of simulated populations."""
        from rumor.kinds.joint.estimate import estimate

        truth, rng, source = self._crowd(), np.random.default_rng(seed), Seeded(seed)
        cells = self._cells(truth)
        while True:
            people = rng.choice(truth.size, size=users, p=truth)
            found = estimate(mechanism, mechanism.privatize(people, random=source), "auto", {})
            yield (
                mean_square(found.unbiased[: cells.size] - cells),
                mean_square(found.frequency[: cells.size] - cells),
            )


def _cell_error(found: Linear) -> float:
    spread = [found.pair(pair).deviation ** 2 for pair in found.coordinates.pairs]
    return math.sqrt(float(np.mean(np.concatenate(spread))))


def planned(size: Size) -> PlannedJoint:
    """Return a joint question of this `size` as a plan works with it."""
    return PlannedJoint(size)
