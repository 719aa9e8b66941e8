"""The shapes that several mechanisms share: their parameters, their values, their reports.

- Parameters by declaration: a contract first says what the values are (a domain, a grid, keys),
  then how the mechanism is shaped for them, and last its thresholds, as decimal strings. A
  mechanism names these, and what a contract says follows.
- Values, or keys, that are known by their position or by a label of their own; and answers that
  have a place: a position on a scale, a cell of a table.
- Reports that are one integer below `alphabet`, little-endian, in as few bytes as the largest
  needs. A mechanism says how many there are and what each of them means; width, validity and,
  where every integer is counted on its own, the tally follow from that.
"""

from __future__ import annotations

import abc
import copy
import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from rumor.core.canonical import Json
from rumor.core.checks import checked_size
from rumor.core.columns import checked_labels
from rumor.core.errors import InputError, format_value
from rumor.core.exact import checked_threshold
from rumor.core.loops import loops
from rumor.core.reports import Reports, Validity, bytes_for, little_endian, narrow_integers
from rumor.core.types import Codes, Tally
from rumor.core.typing import override
from rumor.mechanisms.base import Mechanism


def exact_parameters(mechanism: str, parameters: Mapping[str, object], *keys: str) -> list[object]:
    """Return the values of exactly the parameters `names`, in this order."""
    given = set(parameters) - {"name"}
    if given != set(keys):
        raise InputError(
            f"the parameters of {mechanism!r} must be exactly {', '.join(keys)}; "
            f"got {format_value(sorted(given))}"
        )
    return [parameters[key] for key in keys]


class DeclaredParameters(Mechanism):
    """A mechanism whose thresholds, and sizes beside its values, are attributes."""

    _DOMAIN_NAMES: ClassVar[tuple[str, ...]]
    """The names of the parameters that `_load_domain` takes."""
    _SHAPE_NAMES: ClassVar[tuple[str, ...]] = ()
    """The names of the attributes that `_load_shape` takes from a contract unchanged."""
    _THRESHOLDS: ClassVar[tuple[str, ...]]
    """The names of the attributes that are thresholds, integers over 2^64."""

    @abc.abstractmethod
    def _domain_parameters(self) -> dict[str, Json]:
        """Return the values as a contract writes them."""

    @abc.abstractmethod
    def _load_domain(self, *ground: Any, **named: Any) -> None:
        """Take the values from a contract, checked."""

    def _load_shape(self, *shape: Any, **named: Any) -> None:
        """Take the shape from a contract, checked."""

    def _shape_parameters(self) -> dict[str, Json]:
        """Return the shape as a contract writes it."""
        return {name: getattr(self, name) for name in self._SHAPE_NAMES}

    @abc.abstractmethod
    def _check_identifiable(self) -> None:
        """Refuse thresholds from which no estimate can be made."""

    @override
    def parameters(self) -> dict[str, Json]:
        return {
            **self._domain_parameters(),
            **self._shape_parameters(),
            **{name: str(getattr(self, name)) for name in self._THRESHOLDS},
        }

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        """Return the mechanism that `parameters()` describes; no probability is computed anew."""
        exact_parameters(
            cls.name, parameters, *cls._DOMAIN_NAMES, *cls._SHAPE_NAMES, *cls._THRESHOLDS
        )
        self = cls.__new__(cls)
        self._load_domain(*(parameters[name] for name in cls._DOMAIN_NAMES))
        self._load_shape(*(parameters[name] for name in cls._SHAPE_NAMES))
        for name in cls._THRESHOLDS:
            setattr(self, name, checked_threshold(name, parameters[name]))
        self._check_identifiable()
        return self


class LabelledMechanism(Mechanism):
    """A mechanism whose values (or keys) are numbered, and may be called by labels as well."""

    _THINGS: ClassVar[str] = "values"
    """The word for the things that are numbered."""
    _BY_LABEL: ClassVar[tuple[str, ...]] = ("_positions",)
    """The attributes that are computed from the labels, and anew for other labels."""

    @property
    @abc.abstractmethod
    def _value_count(self) -> int:
        """The number of values (or keys)."""

    @functools.cached_property
    def _positions(self) -> dict[str, int] | None:
        return None if self.labels is None else {x: i for i, x in enumerate(self.labels)}

    def with_labels(self, labels: Sequence[str] | None) -> Self:
        """Return a copy whose values are called by these `labels`."""
        other = copy.copy(self)
        for name in self._BY_LABEL:
            other.__dict__.pop(name, None)
        if labels is not None:
            checked_size("the number of labels", len(labels), self._value_count, self._value_count)
            other.labels = checked_labels(labels)
        else:
            other.labels = None
        return other

    def without_labels(self) -> Self:
        """Return a copy for values (or keys) that are known by their position."""
        return self.with_labels(None)


class LabelledDomain(LabelledMechanism):
    """A labelled mechanism whose values are numbered from 0 to below its `domain`."""

    domain: int

    @property
    def _value_count(self) -> int:
        return self.domain


class AnswerEncoding(Protocol):
    """A map from answers to places: positions on a scale or cells of a table."""

    def inputs(self) -> Sequence[object]:
        """Return an answer for each place, or for a spread of places."""
        ...

    def edge_values(self) -> Sequence[object]:
        """Return answers at the ends and in between."""
        ...

    def code(self, value: object) -> int:
        """Return the place of one person's answer."""
        ...

    def codes(self, values: object) -> Codes:
        """Return the places of many answers."""
        ...


class EncodedAnswers(Mechanism):
    """A mechanism that treats answers of one place alike, however they are written."""

    @property
    @abc.abstractmethod
    def _encoding(self) -> AnswerEncoding:
        """The map from answers to places."""

    @override
    def inputs(self) -> Sequence[object]:
        return self._encoding.inputs()

    @override
    def edge_values(self) -> Sequence[object]:
        return self._encoding.edge_values()

    def code(self, value: object) -> int:
        """Return the place of one person's answer."""
        return self._encoding.code(value)

    def encode(self, values: object) -> Codes:
        """Return the places of many answers."""
        return self._encoding.codes(values)

    def identity(self, value: object) -> str:
        """Return the place, which does not depend on its label."""
        return str(self.code(value))


class IntegerReports(Mechanism):
    """A mechanism whose report is an integer below `alphabet`."""

    @property
    @override
    def width(self) -> int:
        return bytes_for(self.alphabet)

    @override
    def outputs(self, public: bytes = b"") -> Reports:
        return little_endian(np.arange(self.alphabet), self.width)

    def _validate(self, reports: Reports) -> Validity:
        reason = f"a report is an integer from 0 to {self.alphabet - 1:,}"
        return Validity.below(narrow_integers(reports), self.alphabet, reason)


class CountedIntegers(IntegerReports):
    """An integer-report mechanism whose summary counts how often each integer was reported."""

    @property
    @override
    def tally_size(self) -> int:
        return self.alphabet

    @property
    @override
    def counters_per_report(self) -> int:
        return 1

    @override
    def tally(self, reports: Reports) -> Tally:
        counts = np.zeros(self.alphabet, dtype=np.int64)
        loops(reports.nbytes).count_codes(narrow_integers(reports), counts)
        return counts
