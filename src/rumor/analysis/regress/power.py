"""The power of a regression before the first report: how often a coefficient is told from 0.

The variance of a coefficient follows from the expected information of the reports, which the
mechanism's channel gives; the power is that of a test of one coefficient at 5 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from rumor.analysis.regress.fit import LikelihoodModel, Likelihoods
from rumor.core.errors import InputError, format_value
from rumor.core.plain_text import aligned, percent, wrapped
from rumor.core.types import Vector
from rumor.estimators.power import LEVEL
from rumor.kinds import kind_of
from rumor.mechanisms.base import Mechanism

ODDS_RATIOS = (1.25, 1.5, 2.0, 3.0)
COLUMNS = (0.5, 0.1)
"""The shares of respondents who have the column."""
TIMES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The numbers of people, over the number that is planned for."""
_MANY = 1e12  # people beside whom the penalty says nothing


@dataclass(frozen=True, eq=False)
class RegressionPower:
    """The power of a coefficient, by people, odds ratios and columns."""

    share: float
    """The share of respondents with the answer, where the column is 0."""
    people: tuple[int, ...]
    power: Vector
    """By columns, people and odds ratios."""
    mechanism: str

    def table(self) -> str:
        """Return the power as text."""
        blocks = [f"power of a coefficient in rumor regress ({self.mechanism})"]
        for column, powers in zip(COLUMNS, self.power, strict=True):
            head = ("people", *(f"odds ratio {ratio:g}" for ratio in ODDS_RATIOS))
            rows = [
                (f"{people:,}", *(f"{power:.0%}" for power in powers[k]))
                for k, people in enumerate(self.people)
            ]
            blocks.append(f"a column that {percent(column)} of respondents have\n")
            blocks[-1] += aligned(head, rows)
        blocks.append(
            wrapped(
                f"an answer of {percent(self.share)} of those without the column; tests of one "
                f"coefficient at {percent(LEVEL)}"
            )
        )
        return "\n\n".join(blocks)

    def to_dict(self) -> dict[str, object]:
        """Return the power as plain data, a row for each column, number of people and effect."""
        return {
            "share": self.share,
            "alpha": LEVEL,
            "rows": [
                {"column": column, "people": people, "odds_ratio": ratio, "power": float(power)}
                for column, by_people in zip(COLUMNS, self.power, strict=True)
                for people, powers in zip(self.people, by_people, strict=True)
                for ratio, power in zip(ODDS_RATIOS, powers, strict=True)
            ],
        }


def plan_regression(mechanism: Mechanism, share: float, people: float) -> RegressionPower:
    """Return the power of a coefficient of the last answer to a choice, which has this `share`."""
    kind = kind_of(mechanism)
    if "odds" not in kind.regression_models(mechanism):
        raise InputError(
            f"the power of a regression is planned for a choice; got kind {kind.name!r} (of "
            f"numbers, a column of two values is a difference of groups: --difference)"
        )
    if not 0 < share < 1:
        raise InputError(f"--regress must be a share between 0 and 1; got {format_value(share)}")
    none = np.zeros((0, mechanism.width), dtype=np.uint8)
    _, _, channel = kind.report_likelihoods(mechanism, none)
    if channel is None:
        raise InputError(
            f"the power of a regression needs a mechanism whose outputs can be listed; "
            f"{mechanism.name} has too many of them here: choose fewer answers"
        )
    counts = tuple(max(1, round(people * times)) for times in TIMES)
    errors = np.array(
        [[_error(channel, share, column, ratio) for ratio in ODDS_RATIOS] for column in COLUMNS]
    )
    away = np.log(ODDS_RATIOS) / errors[:, None] * np.sqrt(counts)[:, None]
    return RegressionPower(share, counts, _power(away), mechanism.name)


def _power(away: Vector) -> Vector:
    normal = NormalDist()
    reach = -normal.inv_cdf(LEVEL / 2)
    both = np.vectorize(lambda z: normal.cdf(z - reach) + normal.cdf(-z - reach))
    return np.asarray(both(away), dtype=np.float64)


def _error(channel: Vector, share: float, column: float, ratio: float) -> float:
    """Return the standard error of a coefficient for one person."""
    values = channel.shape[0]
    rest = (1 - share) / (values - 1)
    x = np.array([[1.0, 0.0], [1.0, 1.0]])
    people = _MANY * np.array([1 - column, column])
    model = LikelihoodModel(x, Likelihoods(np.ones((2, values)), people, channel), 0)
    law = np.zeros((2, values - 1))
    law[0, -1] = np.log(share / rest)
    law[1, -1] = np.log(ratio)
    scaled = np.linalg.solve(model.unscaling, law.T.reshape(-1))
    covariance = model.unscaling @ np.linalg.inv(model.information(scaled)) @ model.unscaling.T
    return float(np.sqrt(_MANY * covariance[-1, -1]))
