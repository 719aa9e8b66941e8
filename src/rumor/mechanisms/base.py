"""Mechanisms: a randomiser with its exact mathematics beside it.

A mechanism is a frozen set of integer thresholds. It offers the same randomiser twice:
`draw` is the reference, one person at a time, written as coins and uniform integers, and
followed word for word by other clients; `privatize` is the bulk form with the same law.
Beside them stand the model (`probability` of a report given a value), the privacy
(`epsilon`, exact and rounded up), and the validity of reports. The shared laws in
tests/laws hold all of these to each other.
"""

from __future__ import annotations

import abc
import functools
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rumor.core.canonical import Json, canonical_json, well_formed
from rumor.core.deprecation import old_names
from rumor.core.errors import InputError
from rumor.core.exact import exp
from rumor.core.randomness import Draws, RandomSource, System
from rumor.core.reports import (
    MAX_REPORTS,
    Reports,
    Validity,
    as_reports,
    from_little_endian,
    wrong_widths,
)
from rumor.core.types import Tally
from rumor.mechanisms.auditing import Audit
from rumor.mechanisms.blanket import Blanket, worst_case_blanket
from rumor.mechanisms.permanence import FreshAnswers, Permanence
from rumor.mechanisms.poisoning import Poisoning, PoisoningTarget

if TYPE_CHECKING:
    from rumor.mechanisms.bits import BitShape
    from rumor.mechanisms.oracle import FrequencyOracle

# A channel is written out only where it stays small: this many probabilities.
MAX_CHANNEL_CELLS = 1 << 22
# Reports of at most this many bytes are read as integers, which are compared far faster.
_SHORT = 7


@dataclass(frozen=True)
class Channel:
    """A mechanism written out: exact P(report | value) for every value and every report."""

    outputs: Reports
    probabilities: tuple[tuple[Fraction, ...], ...]

    def matrix(self) -> NDArray[np.float64]:
        """Return the probabilities as doubles, a row for each value."""
        return np.array([[float(p) for p in row] for row in self.probabilities])


@old_names(
    admit="check_report_count",
    epsilon_in_all="epsilon_all_rounds",
    evidence="log_likelihood_ratio",
    unlabelled="without_labels",
)
class Mechanism(abc.ABC):
    """A randomiser of one person's value, its privacy and its reports."""

    name: ClassVar[str]
    """The name of the mechanism in contracts."""
    kind: ClassVar[str]
    """The kind of question that the mechanism is made for; other kinds may borrow it."""
    OPTIONS: ClassVar[tuple[str, ...]] = ()
    """The options of the mechanism in a collection, besides those of its kind."""
    labels: tuple[str, ...] | None = None
    """The labels of the values (or keys), or None."""
    by_hand: ClassVar[bool] = False
    """Whether people usually randomise their answers themselves, with dice or cards."""
    rounds: int = 1
    """The number of successive collections that ask for one answer; usually one."""
    round: int = 1
    """The number of this round, from 1."""
    _poisoning_target: ClassVar[PoisoningTarget] = PoisoningTarget("a value")
    """The quantity that fake clients move."""

    @property
    @abc.abstractmethod
    def epsilon(self) -> float:
        """The exact worst-case privacy loss of one report, rounded up to a double."""

    @property
    @abc.abstractmethod
    def width(self) -> int:
        """The number of bytes of a report."""

    @property
    @abc.abstractmethod
    def alphabet(self) -> int:
        """The number of different valid reports (with one given public part)."""

    @abc.abstractmethod
    def parameters(self) -> dict[str, Json]:
        """Return everything that fixes the mechanism, thresholds as decimal strings."""

    @classmethod
    @abc.abstractmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        """Return the mechanism that `parameters()` describes; no probability is computed anew."""

    @classmethod
    @abc.abstractmethod
    def examples(cls) -> Sequence[Self]:
        """Return small instances, extremes among them, that the shared laws enumerate."""

    @abc.abstractmethod
    def inputs(self) -> Sequence[object]:
        """Return every value a person can hold (for the laws; only called on small instances)."""

    @abc.abstractmethod
    def edge_values(self) -> Sequence[object]:
        """Return values at the ends and in between, of which vectors are drawn."""

    @property
    def labels_in_contract(self) -> Json:
        """The names of the values (or keys, or parts) as a contract writes them, or None."""
        return None if self.labels is None else list(self.labels)

    @abc.abstractmethod
    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw one report by the reference draw."""

    @abc.abstractmethod
    def probability(self, report: bytes, value: object) -> Fraction:
        """Return the exact probability of a valid report, given a value: the model of its file."""

    def log_likelihood_ratio(
        self, reports: Reports, first: object, second: object
    ) -> NDArray[np.float64]:
        """Return ln P(report | first) - ln P(report | second) for each report, by the model."""
        if self.width <= _SHORT:
            codes = from_little_endian(reports)
            _, where, inverse = np.unique(codes, return_index=True, return_inverse=True)
            distinct = reports[where]
        else:
            distinct, inverse = np.unique(reports, axis=0, return_inverse=True)
        ratios = []
        for row in distinct:
            report = row.tobytes()
            above, below = self.probability(report, first), self.probability(report, second)
            if above and below:
                ratios.append(math.log(above) - math.log(below))
            else:
                ratios.append(math.inf if above else -math.inf)
        return np.array(ratios)[inverse.reshape(-1)]

    @abc.abstractmethod
    def outputs(self, public: bytes = b"") -> Reports:
        """Return every valid report once, in a fixed order (only on small alphabets).

        If reports begin with public randomness (see `publics`), they all begin with `public`.
        """

    def publics(self) -> Sequence[bytes]:
        """Return some values of the public randomness that reports begin with.

        Usually there is none, and this is [b""]. A hash seed, say, is drawn by
        `draws.public` whatever the person's value is, so everything about the mechanism
        (channel, alphabet, privacy) is stated for each public part on its own, and the laws
        check it on these.
        """
        return [b""]

    @abc.abstractmethod
    def _privatize(self, values: object, source: RandomSource) -> Reports:
        """Return the bulk randomiser."""

    @abc.abstractmethod
    def _validate(self, reports: Reports) -> Validity:
        """Return which reports of the right width are valid."""

    @property
    @abc.abstractmethod
    def tally_size(self) -> int:
        """The number of counters that a summary of this mechanism keeps."""

    @abc.abstractmethod
    def tally(self, reports: Reports) -> Tally:
        """Return the counters of a batch of valid reports; tallies of batches add up."""

    @property
    def counters_per_report(self) -> int | None:
        """The number of counters that each report adds one to; None if it depends on the report."""
        return None

    def consistent(self, tally: Tally, reports: int) -> bool:
        """Return whether the tally can be that of `reports`
        reports, as far as their number decides it.
        """
        if (tally < 0).any() or (tally > reports).any():
            return False
        each = self.counters_per_report
        # Each counter is at most 2^62, so their exact sum needs Python's integers.
        return each is None or sum(map(int, tally)) == each * reports

    def check_report_count(self, reports: int) -> None:
        """Refuse, by an InputError, more reports than a summary can count or afford."""
        if reports > MAX_REPORTS:
            raise InputError(f"a summary counts at most 2^62 reports; got {reports:,}")

    def privatize(self, values: object, *, random: RandomSource | None = None) -> Reports:
        """Return one report for each value, every row being another person.

        Leave `random` out for real people: the operating system then decides.
        """
        return self._privatize(values, System() if random is None else random)

    def report(self, value: object, *, random: RandomSource | None = None) -> bytes:
        """Return one person's report by the reference draw."""
        source = System() if random is None else random
        return self.draw(value, source.draws())

    @property
    def title(self) -> str:
        """The name in contracts, with what tells mechanisms of this name apart at a glance."""
        return self.name

    def spoken(self) -> Self:
        """Return this mechanism with the words that people say as labels, in the order of the
        reports that they are.
        """
        return self

    def transcribe(self, values: object) -> Reports:
        """Return the reports that words are, which people chose by hand: `values` of `spoken`."""
        raise InputError(
            f"answers that people randomised themselves are those of the mechanism 'paper'; "
            f"got {self.name!r}"
        )

    @property
    def warning(self) -> str | None:
        """A sentence that says which promise this mechanism does not make, or None."""
        return None

    def notes(self, value: object) -> tuple[str, ...]:
        """Return sentences that say how a person's answer is taken, without quoting it.

        A draw takes every answer of the right type, so that whether a report exists says
        nothing: a number beyond its range is clipped, say, and this says so.
        """
        return ()

    def without_labels(self) -> Self:
        """Return a copy for values known by their position, or this
        mechanism if they are already.
        """
        return self

    def identity(self, value: object) -> str:
        """Return a text that tells a value from all others, however
        it was written, for keyed tags.
        """
        return unicodedata.normalize("NFC", well_formed(str(value)))

    @functools.cached_property
    def description(self) -> bytes:
        """The result of `describe` as canonical JSON: a device writes it down with every report."""
        return canonical_json(self.describe())

    @property
    def permanence(self) -> Permanence:
        """The way this mechanism answers a person again: usually every report is drawn afresh."""
        return FreshAnswers(self, self.labels)

    def epsilon_after(self, reports: int) -> float:
        """Return the exact worst-case loss of `reports` reports of
        one unchanged value, rounded up.
        """
        return self.permanence.epsilon_composed([(self, reports)])

    def epsilon_all_rounds(self, reports: int) -> float:
        """Return the loss of `reports` reports in this round and as many in each further round."""
        return self.epsilon_after(reports)

    def blanket(self) -> Blanket:
        """Return the blanket of all reports, exactly, from which
        the amplification by shuffling follows.

        By default it is the blanket of the worst mechanism with this epsilon.
        """
        # Far more digits than a double has: the ratio is not below that of the mechanism.
        return worst_case_blanket(exp(self.epsilon) * (1 + Fraction(1, 10**100)))

    def validate(self, reports: object) -> Validity:
        """Return which reports are valid, and the reason for refusing the others."""
        misfits = wrong_widths(reports, self.width)
        return self._validate(as_reports(reports, self.width)) if misfits is None else misfits

    def channel(self, public: bytes | None = None) -> Channel:
        """Return the exact channel, written out (small instances only).

        If reports begin with a public part, the channel is conditional on it: on `public`, by
        default the first of `publics`.
        """
        values = self.inputs()
        if len(values) * self.alphabet > MAX_CHANNEL_CELLS:
            raise InputError(
                f"a channel is written out up to {MAX_CHANNEL_CELLS:,} probabilities; "
                f"this one has {len(values):,} values times {self.alphabet:,} reports"
            )
        outputs = self.outputs(self.publics()[0] if public is None else public)
        reports = [row.tobytes() for row in outputs]
        return Channel(
            outputs,
            tuple(tuple(self.probability(report, value) for report in reports) for value in values),
        )

    @property
    def oracle(self) -> FrequencyOracle | None:
        """The mechanism itself, if its reports support values (oracle.py); None otherwise."""
        return None

    def bit_shape(self) -> BitShape | None:
        """Return the shape of a report that consists of bits; None for other reports."""
        return None

    @property
    def poisoning(self) -> Poisoning:
        """The bound on how far fake clients can move an estimate."""
        return Poisoning(self._poisoning_target, self._fake_gain, self._fake_loss)

    @abc.abstractmethod
    def _fake_gain(self, reports: int, fakes: int) -> float:
        """Return the most that `fakes` among all `reports` add to one estimate."""

    def _fake_loss(self, reports: int, fakes: int) -> float:
        """Return the most that `fakes` take from one estimate: as much as they add, by default."""
        return self._fake_gain(reports, fakes)

    @property
    def audit(self) -> Audit[Any]:
        """The values of this mechanism, as an audit sees them."""
        return Audit(self)

    def describe(self) -> dict[str, Json]:
        """Return name and parameters: they identify this mechanism anywhere."""
        return {"name": self.name, **self.parameters()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(repr(sorted(self.describe().items(), key=lambda item: item[0])))

    def __repr__(self) -> str:
        inner = ", ".join(f"{key}={value}" for key, value in self.parameters().items())
        return f"{type(self).__name__}({inner}; epsilon {self.epsilon:.6g})"
