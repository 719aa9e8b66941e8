"""Permanent answers: noise that stays while a person's value does, and fresh noise added to it.

A permanent answer is an ordinary draw from a keyed stream. Its key is made of public things
(the person's series and question, and the cell: everything that turns a value into its answer)
and of the value's identity, and of nothing else. In particular never of what the contract makes
of the value, a Bloom filter say: two values with one filter would share their noise, and whether
a report's noise is fresh would tell them apart. Whether noise is fresh must depend on public
things and on which of a person's own values are equal, alone.
"""

from __future__ import annotations

import abc
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rumor.core.randomness import Keyed, RandomSource
from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.core.typing import override
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.permanence import Permanence, compute_memo_digest, sum_log_ratios
from rumor.mechanisms.rappor.two_stage import TwoStageNoise


class PermanentAnswers(Permanence, Mechanism):
    """A mechanism that draws an answer once for each value;
    reports repeat it or add noise to it.
    """

    FRESH: ClassVar[tuple[str, ...]] = ()
    """The names of the parameters of the fresh noise on top of a permanent answer."""

    @property
    @override
    def permanence(self) -> Self:
        return self

    @property
    def memo_digest(self) -> str:
        """The digest of the labels and of all parameters except those of fresh noise."""
        kept = {key: part for key, part in self.describe().items() if key not in self.FRESH}
        return compute_memo_digest(self.labels, kept)

    def noise_of(self, value: object, permanent: Keyed) -> Keyed:
        """Return the key of a value's permanent noise."""
        return permanent.extend(self.memo_digest, self.identity(value))

    def report_memoised(
        self, value: object, *, permanent: Keyed, random: RandomSource | None = None
    ) -> bytes:
        """Return a report whose permanent part follows from the person's secret."""
        noise = self.noise_of(value, permanent)
        return self.report_permanent(
            self.draw_permanent(value, person=permanent, noise=noise), random=random
        )


class PermanentBits(PermanentAnswers):
    """Permanent answers that are bits, with RAPPOR's two stages of noise (two_stage.py)."""

    FRESH = ("low", "high")
    noise: TwoStageNoise

    @property
    def is_memoised(self) -> bool:
        """Whether the noise has a permanent stage."""
        return self.noise.permanent

    def check_repeats(self, reports_per_person: int) -> None:
        """Refuse repeated reports without permanent noise: each would reveal as much again."""
        self.noise.check_repeats(reports_per_person)

    @property
    def epsilon_1(self) -> float:
        """The exact loss of one report: `epsilon` by the name that the RAPPOR paper gives it."""
        return self.epsilon

    @property
    def epsilon_infinity(self) -> float:
        """The loss of any number of reports: `epsilon_permanent` by the paper's name."""
        return self.epsilon_permanent

    @abc.abstractmethod
    def differing_bits(self, heads: Reports, first: object, second: object) -> NDArray[np.int8]:
        """Return the bits that tell two values apart, for people whose reports have these `heads`.

        A bit of a person's report is +1 if only the `first` value sets it, -1 if only the `second`
        value does, else 0.
        """

    def transcript_log_ratio(self, transcripts: Reports, first: object, second: object) -> Vector:
        """Return the log-ratio of both stages together, if a permanent answer is kept."""
        if not self.is_memoised:
            return sum_log_ratios(self, transcripts, first, second)
        favour = self.differing_bits(transcripts[:, 0], first, second)
        bits = np.unpackbits(transcripts, axis=2, bitorder="little")
        ones = bits.sum(axis=1, dtype=np.int64)
        ratios = self.noise.log_ratios(transcripts.shape[1])
        return np.asarray((ratios[ones] * favour).sum(axis=1))
