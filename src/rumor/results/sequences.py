"""Intervals for one look, and confidence sequences: intervals that hold at every look at once.

An interval for one look misses with its own chance each time that somebody looks, and who looks
every day and stops at what stands out sees such a miss sooner or later. The intervals of a
confidence sequence hold at all numbers of reports together, so it may be read at any time, and
stopped whenever one likes (Darling and Robbins, Proceedings of the National Academy of Sciences
58, 1967).

*Counts.* Let S of n trials succeed, and let p be a candidate for the chance of success. If p is
true, the likelihood of a larger chance q over that of p is a product of n factors with mean 1, and
so is its average over any distribution of q that was fixed before. By Ville's inequality that
average E ever reaches 1/t with probability at most t: the candidates with E below 1/t are those
above a lower end that is ever wrong with probability at most t, whatever n is. The
distribution of q is Beta(m p, m (1 - p)), cut off at p (Howard, Ramdas, McAuliffe and Sekhon,
Annals of Statistics 49, 2021); upper ends mirror this. For numbers from 0 to 1 in place of
successes each factor has a mean of at most 1, since it is convex: the ends hold for them too.

*Estimates.* A normal estimate with n reports is z standard errors from its truth ever with
probability 2 t at most where (Robbins, Annals of Mathematical Statistics 41, 1970)

    z^2 = 2 (1 + 1/(n r)) log(sqrt(n r + 1) / (2 t)).

This holds as the number of reports grows (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Annals
of Statistics 52, 2024). Both are shortest at a planned number of reports, which fixes m = 1/r.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar, Literal

import numpy as np

from rumor.core.binomial import distinct_columns, success_ends
from rumor.core.checks import checked_choice
from rumor.core.exact import PLANNED
from rumor.core.extras import import_optional
from rumor.core.mixture import PLANNED_RATIO, log_mixture, mixture_quantile
from rumor.core.types import Vector
from rumor.core.typing import override

LookName = Literal["one", "any"]
LOOKS: tuple[LookName, ...] = ("one", "any")

_FURTHEST = 37.0  # standard deviations beyond which the normal tail is no number any more
_STEPS = 60  # of a search for an end
_CLOSE = 2.0**-46  # length of the interval, over the estimate, at which a search stops
_SMALLEST = 1e-300


@dataclass(frozen=True)
class OneLook:
    """A single look at the reports, at a time that does not depend on them."""

    name: ClassVar[LookName] = "one"

    def quantiles(self, tails: Vector) -> Vector:
        """Return the normal quantile of each of the `tails`."""
        distinct, where = np.unique(tails, return_inverse=True)
        return np.array([self.quantile(float(tail)) for tail in distinct])[where.reshape(-1)]

    def quantile(self, tail: float) -> float:
        """Return the standard errors to an end that is missed with the chance `tail`."""
        return -NormalDist().inv_cdf(tail)

    def success_ends(
        self, counts: Vector, trials: Vector, lower: Vector, upper: Vector
    ) -> tuple[Vector, Vector]:
        """Return the ends of a chance of success for `counts` of `trials`, with tails
        `lower` and `upper`.
        """
        return success_ends(counts, trials, lower, upper)

    def p_values(self, p_values: Vector) -> Vector:
        """Return what two-sided `p_values` of this look are at the looks that it stands for."""
        return p_values


@dataclass(frozen=True)
class AnyLook(OneLook):
    """Looks at any number of reports, as often as one likes and whatever was seen before."""

    name: ClassVar[LookName] = "any"

    reports: int
    """The number of reports so far."""
    planned: int = PLANNED
    """The number of reports at which intervals are shortest, fixed in advance."""

    def quantile(self, tail: float) -> float:
        """Return the standard errors to an end that is ever missed with the chance `tail`."""
        return min(float(mixture_quantile(self._ratio, 2 * tail)), _FURTHEST)

    @override
    def p_values(self, p_values: Vector) -> Vector:
        """Return the chances of ever reaching two-sided `p_values` as small as these, at most."""
        special = import_optional("scipy.special", "a p-value for any look")
        z = special.ndtri(np.clip(p_values, _SMALLEST, 1.0) / 2)
        return np.asarray(np.exp(-np.maximum(log_mixture(z, self._ratio), 0.0)))

    @property
    def _ratio(self) -> float:
        """The prior of a difference over its variance at these reports."""
        return PLANNED_RATIO * self.reports / self.planned

    def success_ends(
        self, counts: Vector, trials: Vector, lower: Vector, upper: Vector
    ) -> tuple[Vector, Vector]:
        """Return the ends of a chance of success for `counts` of `trials` that are ever missed
        with the chances `lower` and `upper`.

        Where a part of the reports are trials, that part of the planned number is planned for
        them: to a power of two, so that the reports hardly decide about it.
        """
        part = np.exp2(np.rint(np.log2(np.maximum(trials, 1.0) / max(self.reports, 1))))
        weight = np.minimum(part, 1.0) * self.planned / PLANNED_RATIO
        columns = np.stack([counts, trials, weight, lower, upper])
        distinct, rank = distinct_columns(columns)
        seen, drawn, mixed, below, above = distinct
        low = _least_success(seen, drawn, mixed, below)
        high = 1 - _least_success(drawn - seen, drawn, mixed, above)
        return low[rank], high[rank]


ONE_LOOK = OneLook()


def make_look(looks: str, reports: int, planned: int) -> OneLook:
    """Return the look called `looks` at a number of `reports`, of which `planned` are expected."""
    return AnyLook(reports, planned) if checked_looks(looks) == "any" else ONE_LOOK


def checked_looks(looks: object) -> str:
    """Return the name of the looks at which intervals hold, or raise an error with the rule."""
    return checked_choice("looks", looks, LOOKS)


def mixture_evidence(counts: Vector, trials: Vector, weight: Vector, chance: Vector) -> Vector:
    """Return the logarithm of the mean likelihood of larger chances of success over `chance`.

    The mean is over Beta(`weight` `chance`, `weight` (1 - `chance`)), cut off at `chance`.
    """
    special = import_optional("scipy.special", "an interval for any look")
    a, b = weight * chance, weight * (1 - chance)
    mean = special.betaln(a + counts, b + trials - counts) - special.betaln(a, b)
    own = special.xlogy(counts, chance) + special.xlog1py(trials - counts, -chance)
    seen = special.betaincc(a + counts, b + trials - counts, chance)
    before = special.betaincc(a, b, chance)
    return np.asarray(
        mean - own + np.log(np.maximum(seen, _SMALLEST)) - np.log(np.maximum(before, _SMALLEST))
    )


def _least_success(counts: Vector, trials: Vector, weight: Vector, tails: Vector) -> Vector:
    """Return the smallest chance of success that is not refuted, at least 0."""
    found = np.zeros(counts.size)
    some = np.flatnonzero(counts > 0)
    counts, trials, weight = counts[some], trials[some], weight[some]
    limit = np.sqrt(-np.log(tails[some]))

    def excess(chance: Vector) -> Vector:
        """Return by how much the evidence lies above the limit: both by their roots, which are
        nearly linear in the chance.
        """
        evidence = mixture_evidence(counts, trials, weight, chance)
        return np.asarray(np.copysign(np.sqrt(np.abs(evidence)), evidence) - limit)

    # At the share that was seen no larger chance is likelier: the evidence is 0 or less.
    found[some] = _last_above(excess, counts / trials, -limit)
    return found


def _last_above(falling: Callable[[Vector], Vector], high: Vector, at_high: Vector) -> Vector:
    """Return the last chance at which a `falling` function is above 0; it is `at_high` at `high`.

    The chance is 0 where there is none. Each step is one of inverse quadratic interpolation where
    that is safe, else a halving (Chandrupatla, Advances in Engineering Software 28, 1997).
    """
    here, there = np.full(high.size, _SMALLEST), high
    f_here, f_there = falling(here), at_high
    none = f_here <= 0
    part = np.full(high.size, 0.5)
    for _ in range(_STEPS):
        step = here + part * (there - here)
        f_step = falling(step)
        kept = (f_step > 0) == (f_here > 0)
        third, f_third = np.where(kept, here, there), np.where(kept, f_here, f_there)
        there, f_there = np.where(kept, there, here), np.where(kept, f_there, f_here)
        here, f_here = step, f_step
        width = np.abs(there - here)
        if (width <= 2 * _CLOSE * high).all():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            place = (here - there) / (third - there)
            rise = (f_here - f_there) / (f_third - f_there)
            curved = f_here / (f_there - f_here) * f_third / (f_there - f_third)
            curved += (
                (third - here)
                / (there - here)
                * (f_here / (f_third - f_here))
                * (f_there / (f_third - f_there))
            )
        safe = (rise**2 < place) & ((1 - rise) ** 2 < 1 - place)
        least = np.minimum(_CLOSE * high / np.maximum(width, _CLOSE * high), 0.5)
        part = np.clip(np.where(safe, curved, 0.5), least, 1 - least)
    return np.where(none, 0.0, np.where(f_here > 0, here, there))
