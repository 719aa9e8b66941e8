"""Planning joint answers: the errors of cells and margins, and who is asked what, beforehand."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rumor.core.errors import InputError, format_value
from rumor.core.randomness import Seeded
from rumor.core.types import Vector
from rumor.kinds.joint.fit.linear import Linear, Moments, Seen, linear
from rumor.kinds.joint.simulate import true_rows
from rumor.kinds.planning.forecast import typical_law
from rumor.kinds.planning.planned import (
    BudgetSpec,
    MechanismChoice,
    PlannedQuestion,
    Size,
    Squares,
    mean_square,
    told_apart,
)
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.mixed.parts import Parts

# How much more often the same places of two parts come together, in the crowd of a simulation.
_LINKED = 0.5
_CROWDS = 12


class PlannedJoint(PlannedQuestion[Mixed]):
    """Two to four answers of so many values each."""

    error_of = "a cell of a table of two parts, where all are as frequent"
    default_of = "method auto over all cells, with Zipf margins and weak association (simulated)"
    second = ("margin error", "margin_standard_error")
    detects = "the smallest detectable share of a cell"
    truth = "Zipf margins and weak association"

    @functools.cached_property
    def parts(self) -> Parts:
        """The parts, known by their numbers."""
        said = self.asked.parts or ""
        sizes = said.lower().split("x")
        if not all(size.isascii() and size.isdigit() and len(size) < 4 for size in sizes):
            raise InputError(
                f"a joint question is planned by the number of values of each part, such as 5x4; "
                f"got {format_value(self.asked.parts)}"
            )
        return Parts.of([int(size) for size in sizes])

    def size(self) -> str:
        """How many cells."""
        return f"answers of {' by '.join(map(str, self.parts.sizes))} values"

    def candidates(self, spec: BudgetSpec) -> list[MechanismChoice[Mixed]]:
        """The mixture, with the shares of who is asked what."""
        mixed = Mixed(parts=self.parts, epsilon=spec.epsilon)
        shape = {
            f"share of {'+'.join(str(part + 1) for part in one.asks)}": float(one.share)
            for one in mixed.components
        }
        return [MechanismChoice.by_name(mixed, spec, shape)]

    def _expected(self, mechanism: Mixed, users: int, shares: Vector) -> Linear:
        """The linear estimate of people with these shares, at its expectation."""
        parts, seen = self.parts, []
        whole = shares.reshape(parts.sizes)
        for one in mechanism.components:
            others = tuple(set(range(parts.count)) - set(one.asks))
            table = whole.sum(axis=others).ravel()
            noise = one.oracle.covariance(table, 1) / (users * float(one.share))
            seen.append(Seen(one.asks, Moments(table, noise)))
        return linear(parts.sizes, seen)

    def _uniform(self, mechanism: Mixed, users: int) -> Linear:
        return self._expected(mechanism, users, np.full(self.parts.cells, 1 / self.parts.cells))

    def error(self, mechanism: Mixed, users: int) -> float:
        """Of the linear estimate, in the mean over all cells of all tables."""
        return _cell_error(self._uniform(mechanism, users))

    def linear(self, mechanism: Mixed, users: int) -> float:
        """The same in the crowd of a simulation."""
        return _cell_error(self._expected(mechanism, users, self._crowd()))

    def second_error(self, mechanism: Mixed, users: int) -> float:
        """Of a value of one part alone."""
        found = self._uniform(mechanism, users)
        spread = [found.margin(part).deviation ** 2 for part in range(self.parts.count)]
        return math.sqrt(float(np.mean(np.concatenate(spread))))

    def default(self, mechanism: Mixed, users: int) -> float:
        """Some crowds drawn as the linear estimate varies, and estimated."""
        from rumor.kinds.joint.estimate import joint_estimate

        truth, rng = self._crowd(), np.random.default_rng(1)
        found = self._expected(mechanism, users, truth)
        cells, squares = self._cells(truth), []
        for drawn in rng.multivariate_normal(found.mean, found.covariance, size=_CROWDS):
            one = Linear(found.coordinates, drawn, found.covariance)
            told = joint_estimate(self.parts, one, "auto", (), users, mechanism.epsilon, {})
            squares.append(mean_square(told.frequency[: cells.size] - cells))
        return math.sqrt(float(np.mean(squares)))

    def _crowd(self) -> Vector:
        """Margins that fall like 1/rank; answers of equal places come together more often."""
        law = functools.reduce(np.multiply.outer, [typical_law(size) for size in self.parts.sizes])
        places = np.indices(self.parts.sizes)
        for one, other in itertools.combinations(range(self.parts.count), 2):
            law = law * (1 + _LINKED * (places[one] == places[other]))
        return np.asarray(law / law.sum()).ravel()

    def _cells(self, shares: Vector) -> Vector:
        """The cells of all two-way tables."""
        return true_rows(self.parts, shares)[: -sum(self.parts.sizes)]

    def detectable(self, mechanism: Mixed, users: int) -> float:
        """By a test of one cell alone, of the table that fewest are asked for."""
        asked = min((c for c in mechanism.components if len(c.asks) > 1), key=lambda c: c.share)
        people = users * float(asked.share)
        oracle = asked.oracle
        gain = oracle.hit - oracle.miss

        def deviation(share: float) -> float:
            support = oracle.miss + gain * share
            return math.sqrt(support * (1 - support) / people) / gain

        return told_apart(deviation)

    def choose(
        self, candidates: Sequence[MechanismChoice[Mixed]], users: int, spec: BudgetSpec
    ) -> MechanismChoice[Mixed]:
        """There is one."""
        return candidates[0]

    def reason(self, best: object, options: object) -> str:
        """Why people are not all asked for everything."""
        return (
            "pairs tell how answers go together, and as many people are asked for one alone as "
            "keep its shares nearly as sharp as half of the people would."
        )

    def notes(self, mechanism: Mixed, users: int) -> list[str]:
        """Who is asked what."""
        asked = [
            f"{float(one.share):.1%} for {' and '.join(f'part {part + 1}' for part in one.asks)}"
            for one in mechanism.components
        ]
        return [
            f"Chance asks {', '.join(asked)}, each with the whole epsilon. Margin error: of the "
            f"share of one value of one part, as a fraction."
        ]

    def question(self) -> Mapping[str, object]:
        """Parts with labels to be replaced."""
        return {
            "parts": [
                {"id": f"part-{part + 1}", "labels": [str(value + 1) for value in range(size)]}
                for part, size in enumerate(self.parts.sizes)
            ]
        }

    def trials(self, mechanism: Mixed, users: int, seed: int) -> Iterator[Squares]:
        """Real reports of people drawn from such a crowd."""
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
    """Answers of so many values each."""
    return PlannedJoint(size)
