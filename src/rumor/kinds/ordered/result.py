"""The estimated distribution of ordered answers: what an analyst asks of it, by name.

Three things stay apart: the method's answer (a share for each position), the linear mean, which
is unbiased whatever the distribution, and the intervals. Those of shares and quantiles are of the
default method, under laws that are rough enough to trust, whatever method gave the answer; that of
the mean is the linear one's. Every interval is stretched to hold the answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from rumor.core.band import Band
from rumor.core.errors import InputError, shown
from rumor.core.plain_text import (
    aligned,
    decimals_for,
    digits_for,
    one_line,
    percent,
    wrapped,
)
from rumor.core.scale import Scale
from rumor.core.types import Tally, Vector
from rumor.estimators.ordered.fit import OrderedFit
from rumor.kinds.ordered.measured import Measured
from rumor.results.estimate import fake_clients_line
from rumor.results.intervals import critical_value
from rumor.results.rows import Column, Tabular
from rumor.results.shares import Share
from rumor.results.view import View, Wishes, viewed

if TYPE_CHECKING:
    import altair as alt

    from rumor.kinds.ordered.difference import Difference

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
_NAMES = {0.5: "median"}
# As many positions a table lists one by one.
_LISTED = 20
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class OrderedEstimate(Tabular):
    """The distribution of ordered answers, as an estimate."""

    scale: Scale
    frequency: Vector = field(repr=False)
    unbiased: float
    """The linear mean, in the scale's own unit."""
    stderr: float
    """Its standard error."""
    rounded: bool
    """Whether it is known which numbers people round to, or that there are none."""
    fit: OrderedFit = field(repr=False)
    band: Band = field(repr=False)
    counts: Tally = field(repr=False)

    # What is asked by name

    @property
    def values(self) -> Sequence[str]:
        """What the positions are called."""
        return self.scale.names()

    @property
    def mean(self) -> float:
        """The mean of the answer."""
        return float(self.frequency @ self.scale.middles)

    @property
    def density(self) -> Vector:
        """The share of each position for a unit of the scale."""
        return np.asarray(self.frequency / self.scale.unit)

    def mean_interval(self, level: float = 0.95) -> Measured:
        """The mean with the interval of the linear one."""
        z, ends = critical_value(level, 1), self.scale.middles[[0, -1]]
        if not self.scale.whole:
            ends = self.scale.at(np.array([0, self.scale.domain]))
        low, high = np.clip(
            [self.unbiased - z * self.stderr, self.unbiased + z * self.stderr], *ends
        )
        mean = self.mean
        return Measured(mean, min(float(low), mean), max(float(high), mean), self.stderr, level)

    def cdf(self, value: float | str, level: float = 0.95) -> Measured:
        """The share of answers up to a value, and with it."""
        return self._share(self._up_to(value), level)

    def share(
        self, low: float | str, high: float | str | None = None, level: float = 0.95
    ) -> Measured:
        """The share of answers from one value to another, both included; of one alone."""
        last = low if high is None else high
        weights = self._up_to(last) - self._below(low)
        if (weights < 0).any():
            raise InputError(
                f"a share is from a lower value to a higher one; got {shown(low)} and {shown(high)}"
            )
        return self._share(weights, level)

    def together(self, values: Sequence[int | str], view: View) -> Share:
        """The share of some positions, or of stretches such as "18..65"."""
        weights = np.zeros(self.scale.domain)
        for value in values:
            low, _, high = str(value).partition("..")
            weights += self._up_to(self._said(high or low)) - self._below(self._said(low))
        if not values or weights.min() < 0 or weights.max() > 1 + _ROUNDING:
            raise InputError(f"a share is of values named once each; got {shown(list(values))}")
        found = self._share(weights, view.level)
        named = [str(value) for value in values]
        return Share(
            named, found.value, found.stderr, found.low, found.high, view.level, "population"
        )

    def _said(self, text: str) -> float | str:
        """A label, or a number, as a command has it."""
        if self.scale.labels is not None:
            return text
        try:
            return float(text)
        except ValueError:
            raise InputError(f"a share is of numbers of the range; got {shown(text)}") from None

    def quantile(self, share: float, level: float = 0.95) -> Measured:
        """The value that this share of answers does not exceed."""
        z = critical_value(level, 1)
        _, low, high = self.fit.quantile(share, z)
        point = _reached(self.frequency, share)
        ends = min(low, point), max(high, point)
        value, top = self._value(point), self._value(ends[1])
        bottom = self._value(ends[0], first=True)
        return Measured(value, bottom, top, (top - bottom) / (2 * z), level)

    def label(self, value: float) -> str:
        """What the position of a value is called."""
        at = min(int(self.scale.point(value)), self.scale.domain - 1)
        return self.scale.names()[at]

    def minus(self, other: OrderedEstimate) -> Difference:
        """What differs between these people and others: they must not be the same people."""
        from rumor.kinds.ordered.difference import Difference

        return Difference(self, other)

    def _share(self, weights: Vector, level: float) -> Measured:
        z, deviation = critical_value(level, 1), float(self.fit.linear(weights)[1])
        centre, answer = float(self.fit.frequency @ weights), float(self.frequency @ weights)
        low, high = np.clip([centre - z * deviation, centre + z * deviation], 0.0, 1.0)
        return Measured(answer, min(float(low), answer), max(float(high), answer), deviation, level)

    def _up_to(self, value: float | str) -> Vector:
        """How much of each position lies at or below a value."""
        if self.scale.whole:
            return np.asarray(np.arange(self.scale.domain) <= self._position(value), np.float64)
        return self._part_below(_number(value))

    def _below(self, value: float | str) -> Vector:
        """How much of each position lies below a value."""
        if self.scale.whole:
            return np.asarray(np.arange(self.scale.domain) < self._position(value), np.float64)
        return self._part_below(_number(value))

    def _part_below(self, value: float) -> Vector:
        return np.clip(self.scale.point(value) - np.arange(self.scale.domain), 0.0, 1.0)

    def _position(self, value: float | str) -> float:
        """Where a value stands among the positions, which hold nothing between them."""
        if isinstance(value, str):
            return self.scale.code(value)
        return (_number(value) - self.scale.start) / self.scale.unit - 0.5

    def _value(self, point: float, first: bool = False) -> float:
        """What a point of the line is worth; where positions hold one value, that value.

        Between two positions that is the one before it, or the one after it as a `first` one.
        """
        if not self.scale.whole:
            return float(self.scale.at(point))
        last = self.scale.domain - 1
        at = math.floor(point) if first else math.ceil(point) - 1
        return float(self.scale.middles[min(max(at, 0), last)])

    # Rows

    def listed(self, view: View) -> list[int]:
        """Positions in their order, whatever came out."""
        return list(range(self.scale.domain))[: view.rows]

    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        """Columns: value, frequency, low, high, cdf, cdf_low, cdf_high."""
        z = critical_value(view.level, self.scale.domain if view.simultaneous else 1)
        found: dict[str, Column] = {"value": [self.values[i] for i in rows]}
        for name, answer, (centre, deviation) in (
            ("frequency", self.frequency, self._bins()),
            ("cdf", np.cumsum(self.frequency), self.fit.cdf),
        ):
            low, high = (np.clip(centre + side * deviation, 0.0, 1.0) for side in (-z, z))
            ends = {"low": np.minimum(low, answer), "high": np.maximum(high, answer)}
            prefix = "" if name == "frequency" else f"{name}_"
            held_back = name == "frequency" and not self.rounded
            found[name] = [float(np.clip(answer[i], 0.0, 1.0)) for i in rows]
            for end, vector in ends.items():
                found[prefix + end] = [None if held_back else float(vector[i]) for i in rows]
        return found

    def _bins(self) -> tuple[Vector, Vector]:
        """The default's share of each position, and its standard deviation."""
        if not self.rounded:
            nothing = np.zeros(self.scale.domain)
            return nothing, nothing
        return self.fit.linear(np.eye(self.scale.domain))

    def covers(self, view: View) -> str:
        """What the intervals cover."""
        level = percent(view.level)
        if view.simultaneous:
            return f"all {self.scale.domain:,} intervals hold at once, at a level of {level}"
        told = f"each interval covers what is named in advance, at a level of {level}"
        if not self.rounded:
            told += "; single bins have none, since people round numbers (say which: round)"
        return told

    def extra_fields(self, view: View) -> dict[str, object]:
        """The mean and some quantiles, as plain data."""
        quantiles = [{"share": q, **self._told(self.quantile(q, view.level))} for q in QUANTILES]
        return {
            "mean": self.mean_interval(view.level).to_dict(),
            "unbiased": self.unbiased,
            "stderr": self.stderr,
            "quantiles": quantiles,
            "histogram": self.histogram(level=view.level),
            "clipped": self._at_the_ends(),
        }

    def histogram(self, bars: int = _LISTED, level: float = 0.95) -> list[dict[str, Any]]:
        """Shares of neighbours together, in so many bars at most, each with its interval."""
        each = -(-self.scale.domain // bars)
        starts = list(range(0, self.scale.domain, each))
        names = self.scale.names()
        weights = np.zeros((self.scale.domain, len(starts)))
        for bar, start in enumerate(starts):
            weights[start : start + each, bar] = 1.0
        found = [self._share(column, level) for column in weights.T]
        return [
            {
                "value": names[start] if each == 1 else self.scale.stretch(start, start + each),
                "frequency": one.value,
                "low": one.low,
                "high": one.high,
                "stderr": one.stderr,
            }
            for start, one in zip(starts, found, strict=True)
        ]

    def _told(self, found: Measured) -> dict[str, Any]:
        if self.scale.labels is None:
            return dict(found.to_dict())
        return {**found.to_dict(), "label": self.label(found.value)}

    def _at_the_ends(self) -> list[float] | None:
        """Shares of the first and the last bin, which hold what lies outside; of labels none."""
        return None if self.scale.labels is not None else self.frequency[[0, -1]].tolist()

    # Text and picture

    def table(self, view: View | float | None = None, **wishes: Unpack[Wishes]) -> str:
        """Mean and quantiles as text; of few labels, each with its share."""
        seen = viewed(view, wishes)
        few = self.scale.labels is not None and self.scale.domain <= _LISTED
        lines = [self._shares(seen), ""] if few else []
        lines += [self._measures(seen), ""]
        if self.scale.labels is None:
            first, last = (percent(share, 1) for share in self.frequency[[0, -1]])
            names = self.values[0], self.values[-1]
            told = (
                f"what lies outside the range is in its first and last bin: {first} at "
                f"{names[0]}, {last} at {names[1]}"
            )
            lines.append(wrapped(told))
        lines += [wrapped(fact) for fact in self._facts(seen)]
        return "\n".join([*lines, *fake_clients_line(self.diagnostics)])

    def _shares(self, view: View) -> str:
        rows = self.cells(self.listed(view), view)
        decimals = decimals_for(float(self.fit.linear(np.eye(self.scale.domain))[1].max()))
        interval = f"{percent(view.level)} interval"
        body = [
            (
                one_line(value),
                percent(share, decimals),
                f"{percent(low, decimals)} to {percent(high, decimals)}",
                percent(cdf, decimals),
                f"{percent(bottom, decimals)} to {percent(top, decimals)}",
            )
            for value, share, low, high, cdf, bottom, top in zip(*rows.values(), strict=True)
        ]
        return aligned(("value", "share", interval, "up to it", interval), body)

    def _measures(self, view: View) -> str:
        digits = digits_for(self.stderr)
        mean = self.mean_interval(view.level)
        rows = [("mean" if self.scale.numeric else "mean place", *_shown(mean, digits))]
        for share in QUANTILES:
            found = self.quantile(share, view.level)
            said = _shown(found, digits)
            if self.scale.labels is not None:
                ends = [one_line(self.label(x)) for x in (found.value, found.low, found.high)]
                said = (ends[0], f"{ends[1]} to {ends[2]}")
            rows.append((_NAMES.get(share, f"{100 * share:g}% are at most"), *said))
        return aligned(("", "estimate", f"{percent(view.level)} interval"), rows)

    def picture(self, view: View, title: str | None, truth: Vector | None) -> alt.VConcatChart:
        """The histogram above the distribution function."""
        from rumor.kinds.ordered.picture import distribution_chart

        return distribution_chart(self, view, title, truth)


def _shown(found: Measured, digits: int) -> tuple[str, str]:
    return f"{found.value:.{digits}f}", f"{found.low:.{digits}f} to {found.high:.{digits}f}"


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise InputError(f"a value on a range must be a number; got {shown(value)}")
    return float(value)


def _reached(frequency: Vector, share: float) -> float:
    """Where the running sums of some shares reach one, each spread evenly over its position."""
    sums = np.concatenate([[0.0], np.cumsum(frequency)])
    after = int(np.searchsorted(sums, min(share, sums[-1]), side="left"))
    if after == 0:
        return 0.0
    return after - 1 + float((share - sums[after - 1]) / (sums[after] - sums[after - 1]))
