"""Repeated reports: the joint loss of reports of one unchanged value, and their common part.

Most mechanisms draw every report afresh, so that losses add up: `FreshAnswers` says so of them.
Those that keep a permanent answer say for themselves what it is (permanent.py).
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rumor.core.canonical import Json, digest
from rumor.core.deprecation import old_names
from rumor.core.errors import InputError
from rumor.core.exact import round_up
from rumor.core.randomness import Keyed, RandomSource
from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.core.typing import override

if TYPE_CHECKING:
    from rumor.mechanisms.base import Mechanism


@old_names(
    answer="report_memoised",
    cell="memo_digest",
    epsilon_together="epsilon_composed",
    restate="report_permanent",
    settle="draw_permanent",
    settles="is_memoised",
    transcript_evidence="transcript_log_ratio",
)
class Permanence(abc.ABC):
    """The behaviour of a mechanism towards a person whom it may ask again."""

    @property
    @abc.abstractmethod
    def is_memoised(self) -> bool:
        """Whether reports of one value share a permanent answer that protects them together."""

    @property
    @abc.abstractmethod
    def memo_digest(self) -> str:
        """The digest of everything public that turns a value into its permanent answer.

        It covers labels, key, shape and permanent noise, but no fresh noise: the map from values,
        never the image of one value. Mechanisms with one memo digest share one permanent answer to
        a value; a different digest gives another permanent answer, with noise of its own.
        """

    @abc.abstractmethod
    def report_memoised(
        self, value: object, *, permanent: Keyed, random: RandomSource | None = None
    ) -> bytes:
        """Return a report of a person who may be asked again, by the reference draw.

        `permanent` is randomness that stays the same for this person and value; only
        mechanisms that memoise draw from it. Other mechanisms draw everything afresh.
        """

    @abc.abstractmethod
    def draw_permanent(self, value: object, *, person: Keyed, noise: Keyed) -> bytes:
        """Draw the permanent answer of a value.

        `noise` decides its coins; `person` decides its parts that do not depend on the value, such
        as a cohort.
        """

    @abc.abstractmethod
    def report_permanent(self, settled: bytes, *, random: RandomSource | None = None) -> bytes:
        """Return a report of a permanent answer, with fresh noise if the mechanism adds any."""

    @abc.abstractmethod
    def epsilon_composed(self, made: Sequence[tuple[Mechanism, int]]) -> float:
        """Return the exact worst-case loss of the reports of one value, rounded up.

        `made` has each mechanism with its number of reports; all have one memo digest.
        """

    @property
    @abc.abstractmethod
    def epsilon_permanent(self) -> float:
        """The worst-case loss of any number of reports of one unchanged value.

        Finite only for mechanisms that keep a permanent answer.
        """

    def check_repeats(self, reports_per_person: int) -> None:
        """Refuse, by an InputError, to be asked
        `reports_per_person` times; by default it only costs.
        """
        if reports_per_person < 1:
            raise InputError(
                f"reports per person must be an integer from 1; got {reports_per_person}"
            )

    @abc.abstractmethod
    def transcript_log_ratio(self, transcripts: Reports, first: object, second: object) -> Vector:
        """Return the log-ratio of the chances of transcripts
        (people, reports, bytes) under two values.
        """


class FreshAnswers(Permanence):
    """The permanence of a mechanism that keeps nothing: all reports are drawn afresh."""

    def __init__(self, mechanism: Mechanism, called: Json | tuple[str, ...] | None) -> None:
        """Take the mechanism and its labels `called`, since other
        labels give another memo digest.
        """
        self.mechanism, self.called = mechanism, called

    @property
    @override
    def is_memoised(self) -> bool:
        return False

    @property
    @override
    def memo_digest(self) -> str:
        return compute_memo_digest(self.called, self.mechanism.describe())

    @override
    def report_memoised(
        self, value: object, *, permanent: Keyed, random: RandomSource | None = None
    ) -> bytes:
        return self.mechanism.report(value, random=random)

    @override
    def draw_permanent(self, value: object, *, person: Keyed, noise: Keyed) -> bytes:
        raise self._no_permanent_error()

    @override
    def report_permanent(self, settled: bytes, *, random: RandomSource | None = None) -> bytes:
        raise self._no_permanent_error()

    def _no_permanent_error(self) -> InputError:
        name = self.mechanism.name
        return InputError(f"only mechanisms with permanent noise settle answers; got {name!r}")

    def epsilon_composed(self, made: Sequence[tuple[Mechanism, int]]) -> float:
        """Return the sum of the losses: each report drawn afresh costs its epsilon."""
        if any(math.isinf(one.epsilon) for one, _ in made):
            return math.inf
        return round_up(sum((n * Fraction(one.epsilon) for one, n in made), Fraction(0)))

    @property
    @override
    def epsilon_permanent(self) -> float:
        return math.inf

    def transcript_log_ratio(self, transcripts: Reports, first: object, second: object) -> Vector:
        """Return the sum of the log-ratios of all reports, which are drawn afresh."""
        return sum_log_ratios(self.mechanism, transcripts, first, second)


def compute_memo_digest(
    called: Json | tuple[str, ...] | None, described: Mapping[str, Json]
) -> str:
    """Return the digest of the values' labels and of the parameters that fix permanent answers."""
    return digest({"labels": called, "mechanism": described})


def sum_log_ratios(
    mechanism: Mechanism, transcripts: Reports, first: object, second: object
) -> Vector:
    """Return the log-ratio of transcripts whose reports are independent."""
    people, reports, width = transcripts.shape
    each = mechanism.log_likelihood_ratio(transcripts.reshape(-1, width), first, second)
    return np.asarray(each.reshape(people, reports).sum(axis=1))
