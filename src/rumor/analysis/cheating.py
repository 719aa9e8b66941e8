"""The share of people who do not follow a design on paper, from two samples with other chances.

Clark and Desharnais 1998. Dice tell some people to say the word that accuses them, and some of
them say the other. One sample cannot show that; two can, which are asked with different chances.
Each person is one of three: follows the design with the first answer (share a), follows it with
the second (b), or cheats (c) and says the word that speaks for the second answer, whatever the
dice say. With h_i and o_i the chances of the accusing word in sample i, its expected share is

    l_i = a h_i + b o_i,    c = 1 - a - b,

two equations with two unknowns. Mirrored halves (`warner` with p and 1 - p) have the same epsilon,
and c = 1 - l_1 - l_2. What cheats hold is unknown: the truth lies between a and a + c.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from rumor.core.errors import InputError
from rumor.core.exact import CONFIDENCE
from rumor.core.plain_text import decimals_for, percent
from rumor.core.types import Vector
from rumor.mechanisms.paper import PaperDesign
from rumor.mechanisms.summary import Summary
from rumor.results.intervals import checked_level


@dataclass(frozen=True)
class Cheating:
    """The share of people who did not follow a design, and what is left of the answer."""

    cheats: float
    """The unbiased estimate of the share of cheats; by chance it may lie outside of 0 to 1."""
    stderr: float
    low: float
    high: float
    level: float
    p_value: float
    """The chance of an estimate as high where nobody cheats (one-sided)."""
    honest: float
    """The unbiased share of people who follow the design and have the first answer."""
    honest_stderr: float
    reports: tuple[int, int]

    @property
    def truth(self) -> tuple[float, float]:
        """The shares of the first answer if no cheat has it, and if all have it."""
        least = min(max(self.honest, 0.0), 1.0)
        return least, min(least + max(self.cheats, 0.0), 1.0)

    def to_dict(self) -> dict[str, object]:
        """Return the result as plain data for JSON."""
        return {**vars(self), "reports": list(self.reports), "truth": list(self.truth)}

    def __str__(self) -> str:
        digits = decimals_for(self.stderr)
        low, high, first, last = (percent(x, digits) for x in (self.low, self.high, *self.truth))
        return (
            f"did not follow the design: {percent(self.cheats, digits)} "
            f"({percent(self.level)} interval {low} to {high}, std. error "
            f"{percent(self.stderr, digits)}, p = {self.p_value:.2g})\n"
            f"share of the first answer: {first} if none of them has it, {last} if all have\n"
            f"{self.reports[0]:,} and {self.reports[1]:,} reports"
        )


def cheating(first: Summary, second: Summary, *, level: float = CONFIDENCE) -> Cheating:
    """Estimate how many people did not follow a design, from two samples of one population.

    `first` and `second` are the summaries of reports on one question, asked of two random samples
    with different chances, such as mirrored halves of `warner`: `rumor.load(collection, reports)`.
    """
    confidence = checked_level(level)
    chances = np.array([_accusing_chances(each) for each in (first, second)])
    (h1, o1), (h2, o2) = chances
    if math.isclose(h1 * o2, h2 * o1, rel_tol=1e-9):
        raise InputError(
            "two samples must be asked with different chances to show who cheats (mirrored: truth "
            "and 1 - truth of warner); got the same"
        )
    people = np.array([first.reports, second.reports])
    if not people.all():
        raise InputError("two samples must have reports; got none in one of them")
    said = np.array([_accusing_words(each) for each in (first, second)]) / people
    # a and b from the shares of words; c = 1 - a - b.
    inverse = np.linalg.inv(chances)
    weights = inverse.sum(axis=0)
    variance = said * (1 - said) / people
    found = 1 - float(weights @ said)
    low, high = _ends(found, -weights, said, people, confidence)
    stderr = math.sqrt(float(weights**2 @ variance))
    return Cheating(
        cheats=found,
        stderr=stderr,
        low=low,
        high=high,
        level=confidence,
        p_value=NormalDist().cdf(-found / stderr) if stderr > 0 else float(found <= 0),
        honest=float(inverse[0] @ said),
        honest_stderr=math.sqrt(float(inverse[0] ** 2 @ variance)),
        reports=(first.reports, second.reports),
    )


def _design(summary: Summary) -> PaperDesign:
    design = summary.mechanism
    if not isinstance(design, PaperDesign):
        raise InputError(f"cheats are found in designs on paper; got {design.name!r}")
    return design


def _accusing_chances(summary: Summary) -> tuple[float, float]:
    """Return the chances of the first word given either answer."""
    design = _design(summary)
    return design.holders / design.faces, design.others / design.faces


def _accusing_words(summary: Summary) -> int:
    """Return how often the first word was said."""
    return int(summary.tally[1 if _design(summary).is_reversed else 0])


def _ends(
    found: float, weights: Vector, said: Vector, people: Vector, level: float
) -> tuple[float, float]:
    """Return the ends of a sum of two shares by their own Wilson intervals (Zou and Donner 2008).

    Each share lies between its Wilson limits; how far the sum may lie on either side is the root
    of the sum of squares of what each share adds there.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = (said + z * z / (2 * people)) / (1 + z * z / people)
    half = z * np.sqrt(said * (1 - said) / people + (z / (2 * people)) ** 2) / (1 + z * z / people)
    below, above = said - (middle - half), (middle + half) - said
    falls = np.where(weights > 0, below, above)
    rises = np.where(weights > 0, above, below)
    low = found - math.sqrt(float((weights**2) @ falls**2))
    high = found + math.sqrt(float((weights**2) @ rises**2))
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
