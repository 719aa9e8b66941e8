"""What every mechanism is: a randomiser with its exact mathematics beside it.

A mechanism is a frozen set of integer thresholds. It offers the same randomiser twice:
`draw` is the reference, one person at a time, written as coins and uniform integers, and
followed word for word by other clients; `privatize` is the bulk form with the same law.
Beside them stand the model (`probability` of a report given a value), the privacy
(`epsilon`, exact and rounded up), and the validity of reports. The shared laws in
tests/laws hold all of these to each other.
"""

from __future__ import annotations

import abc
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rumor.core.canonical import Json, digest, well_formed
from rumor.core.errors import InputError, shown
from rumor.core.exact import round_up
from rumor.core.randomness import Draws, Keyed, Source, System
from rumor.core.reports import Reports, Validity, as_reports, wrong_widths
from rumor.core.types import Tally

# A channel is written out only where it stays small: this many probabilities.
MAX_CHANNEL_CELLS = 1 << 22
MAX_REPORTS = 1 << 62


@dataclass(frozen=True)
class Channel:
    """A mechanism written out: exact P(report | value) for every value and every report."""

    outputs: Reports
    probabilities: tuple[tuple[Fraction, ...], ...]

    def matrix(self) -> NDArray[np.float64]:
        """The probabilities as doubles, a row for each value."""
        return np.array([[float(p) for p in row] for row in self.probabilities])


class Mechanism(abc.ABC):
    """A randomiser of one person's value, its privacy and its reports."""

    name: ClassVar[str]
    """What contracts call it."""
    kind: ClassVar[str]
    """The kind of question that it answers."""
    FRESH: ClassVar[tuple[str, ...]] = ()
    """The parameters of noise that comes afresh on top of a permanent answer."""
    labels: tuple[str, ...] | None = None
    """What the values (or keys) are called, where they have names."""
    rounds: int = 1
    """How many collections, one after the other, ask for one answer; usually one."""
    round: int = 1
    """Which of those rounds this is."""
    parent: str | None = None
    """The digest of the contract of the round before, where there is one."""

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
        """How many different valid reports there are (with one given public part)."""

    @abc.abstractmethod
    def parameters(self) -> dict[str, Json]:
        """Everything that fixes the mechanism, thresholds as decimal strings."""

    @classmethod
    @abc.abstractmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        """The mechanism that `parameters()` describes; no probability is computed anew."""

    @classmethod
    @abc.abstractmethod
    def examples(cls) -> Sequence[Self]:
        """Small instances, extremes among them, that the shared laws enumerate."""

    @abc.abstractmethod
    def inputs(self) -> Sequence[object]:
        """Every value a person can hold (for the laws; only called on small instances)."""

    @abc.abstractmethod
    def draw(self, value: object, draws: Draws) -> bytes:
        """The reference draw of one report."""

    @abc.abstractmethod
    def probability(self, report: bytes, value: object) -> Fraction:
        """The exact probability of a valid report, given a value."""

    @abc.abstractmethod
    def outputs(self, public: bytes = b"") -> Reports:
        """Every valid report once, in a fixed order (only on small alphabets).

        Where reports begin with public randomness (see `publics`), those with this one.
        """

    def publics(self) -> Sequence[bytes]:
        """Some values of the public randomness that reports begin with.

        Usually there is none, and this is [b""]. A hash seed, say, is drawn by
        `draws.public` whatever the person's value is, so everything about the mechanism
        (channel, alphabet, privacy) is stated for each public part on its own, and the laws
        check it on these.
        """
        return [b""]

    @abc.abstractmethod
    def _privatize(self, values: object, source: Source) -> Reports:
        """The bulk randomiser."""

    @abc.abstractmethod
    def _validate(self, reports: Reports) -> Validity:
        """Which reports of the right width are valid."""

    @property
    @abc.abstractmethod
    def tally_size(self) -> int:
        """How many counters a summary of this mechanism keeps."""

    @abc.abstractmethod
    def tally(self, reports: Reports) -> Tally:
        """The counters of a batch of valid reports; tallies of batches add up."""

    @property
    def counters_per_report(self) -> int | None:
        """How many counters each report adds one to; None where that depends on the report."""
        return None

    def consistent(self, tally: Tally, reports: int) -> bool:
        """Whether so many reports can have this tally, as far as their number decides it."""
        if (tally < 0).any() or (tally > reports).any():
            return False
        each = self.counters_per_report
        # Each counter is at most 2^62, so their exact sum needs Python's integers.
        return each is None or sum(map(int, tally)) == each * reports

    def admit(self, reports: int) -> None:
        """Refuse, by an InputError, more reports than a summary can count or afford."""
        if reports > MAX_REPORTS:
            raise InputError(f"a summary counts at most 2^62 reports; got {reports:,}")

    def privatize(self, values: object, *, random: Source | None = None) -> Reports:
        """One report for each value, every row another person.

        Leave `random` out for real people: the operating system then decides.
        """
        return self._privatize(values, System() if random is None else random)

    def report(self, value: object, *, random: Source | None = None) -> bytes:
        """One person's report by the reference draw."""
        source = System() if random is None else random
        return self.draw(value, source.draws())

    def answer(self, value: object, *, permanent: Keyed, random: Source | None = None) -> bytes:
        """A report of someone who may be asked again, by the reference draw.

        `permanent` is randomness that stays the same for this person and value; only
        mechanisms that memoise draw from it. The others draw everything afresh.
        """
        return self.report(value, random=random)

    def notes(self, value: object) -> tuple[str, ...]:
        """What a person should be told of how their answer is taken, in sentences without it.

        A draw takes every answer of the right type, so that whether a report exists says
        nothing: a number beyond its range is clipped, say, and this says so.
        """
        return ()

    def unlabelled(self) -> Self:
        """The same mechanism for values that are known by their position."""
        return self

    def identity(self, value: object) -> str:
        """What tells a value from others, however it was written: for keyed tags of it."""
        return unicodedata.normalize("NFC", well_formed(str(value)))

    @property
    def settles(self) -> bool:
        """Whether reports of one value share a permanent answer that protects them together."""
        return False

    @property
    def cell(self) -> str:
        """The digest of everything public that turns a value into its permanent answer.

        Labels, key, shape and permanent noise, but no fresh noise: the map from values, never
        what it makes of one. Answers of one cell and one value are one permanent answer; what
        differs in its cell is another one, with noise of its own.
        """
        kept = {key: part for key, part in self.describe().items() if key not in self.FRESH}
        return digest({"labels": self.labels, "mechanism": kept})

    def epsilon_after(self, reports: int) -> float:
        """The exact worst-case loss of so many reports of one unchanged value, rounded up."""
        return self.epsilon_together([(self, reports)])

    def epsilon_together(self, made: Sequence[tuple[Mechanism, int]]) -> float:
        """The same for reports made by several mechanisms of one cell, so many of each.

        Reports drawn afresh cost their epsilon each.
        """
        return round_up(sum((n * Fraction(one.epsilon) for one, n in made), Fraction(0)))

    def epsilon_in_all(self, reports: int) -> float:
        """What so many reports of one unchanged value cost, and as many in each further round."""
        return self.epsilon_after(reports)

    @property
    def epsilon_permanent(self) -> float:
        """The worst-case loss of any number of reports of one unchanged value.

        Finite only for mechanisms that keep a permanent answer.
        """
        return math.inf

    def check_repeats(self, reports_per_person: int) -> None:
        """Refuse, by an InputError, to be asked so often of one person; usually it only costs."""
        if reports_per_person < 1:
            raise InputError(
                f"reports per person must be an integer from 1; got {reports_per_person}"
            )

    def validate(self, reports: object) -> Validity:
        """Which reports are valid, and the reason for refusing the others."""
        misfits = wrong_widths(reports, self.width)
        return self._validate(as_reports(reports, self.width)) if misfits is None else misfits

    def channel(self, public: bytes | None = None) -> Channel:
        """The exact channel, written out (small instances only).

        Given the public part of the reports where there is one (any of `publics` unless
        said): it is conditional on it.
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

    def evidence(self, reports: Reports, first: object, second: object) -> NDArray[np.float64]:
        """For each report, ln P(report | first) - ln P(report | second), by the model."""
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

    def describe(self) -> dict[str, Json]:
        """Name and parameters: what identifies this mechanism anywhere."""
        return {"name": self.name, **self.parameters()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(repr(sorted(self.describe().items(), key=lambda item: item[0])))

    def __repr__(self) -> str:
        inner = ", ".join(f"{key}={value}" for key, value in self.parameters().items())
        return f"{type(self).__name__}({inner}; epsilon {self.epsilon:.6g})"


def only_keys(mechanism: str, parameters: Mapping[str, object], *keys: str) -> list[object]:
    """The values of exactly these parameters, in this order."""
    given = set(parameters) - {"name"}
    if given != set(keys):
        raise InputError(
            f"the parameters of {mechanism!r} must be exactly {', '.join(keys)}; "
            f"got {shown(sorted(given))}"
        )
    return [parameters[key] for key in keys]
