"""The estimated distribution of ordered answers, with an analyst's queries by name.

Three results stay apart: the method's answer (a share for each position), the linear mean, which
is unbiased whatever the distribution, and the confidence intervals. Those of shares and quantiles
hold whatever the distribution; where `assume` is "smooth" they are those of the default method,
under priors that are rough enough. Neither depends on the method of the answer. The interval of
the mean is that of the linear mean. Every interval is widened to contain the answer.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from rumor.core.errors import InputError, format_value
from rumor.core.exact import CONFIDENCE, PLANNED
from rumor.core.plain_text import (
    aligned,
    decimals_for,
    digits_for,
    one_line,
    percent,
    wrapped,
)
from rumor.core.types import Tally, Vector
from rumor.core.typing import override
from rumor.kinds.ordered.fit.average import OrderedFit
from rumor.kinds.ordered.fit.bounds import Bounds, Sides
from rumor.kinds.ordered.fit.curve import CumulativeCurve
from rumor.kinds.ordered.point_estimate import (
    DEFAULT,
    NOTHING,
    SMOOTH,
    PointEstimate,
    assumption_phrase,
    checked_assumption,
)
from rumor.mechanisms.wave.band import Band
from rumor.mechanisms.wave.scale import Scale
from rumor.results.intervals import EqualTails
from rumor.results.rows import Column, Tabular
from rumor.results.shares import Share
from rumor.results.view import View, ViewOptions

if TYPE_CHECKING:
    import altair as alt

    from rumor.kinds.ordered.point_estimate import DistributionDifference

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
_NAMES = {0.5: "median"}
# The largest number of positions that a table lists one by one.
_LISTED = 20
_ROUNDING = 1e-9
# The largest number of positions whose shares are bounded one by one, which takes its square.
_EXACT = 1024


@dataclass(frozen=True, eq=False, kw_only=True)
class OrderedEstimate(Tabular):
    """The estimated distribution of ordered answers."""

    ANY_LOOK: ClassVar[bool] = True

    scale: Scale
    frequency: Vector = field(repr=False)
    unbiased: float
    """The linear mean, in the scale's own unit."""
    stderr: float
    """The standard error of the linear mean."""
    rounded: bool
    """Whether it is known which numbers people round to, or that there are none."""
    fit: OrderedFit = field(repr=False)
    band: Band = field(repr=False)
    counts: Tally = field(repr=False)
    heaps: bool = False
    """Whether round numbers were declared."""
    assume: str = DEFAULT
    """The default assumption of intervals on the distribution."""

    # Queries by name

    @property
    def values(self) -> Sequence[str]:
        """The names of the positions."""
        return self.scale.names()

    @property
    def mean(self) -> float:
        """The mean of the estimated distribution."""
        return float(self.frequency @ self.scale.middles)

    @property
    def density(self) -> Vector:
        """The share of each position per unit of the scale."""
        return np.asarray(self.frequency / self.scale.unit)

    def mean_interval(
        self, level: float = CONFIDENCE, *, looks: str = "one", users: int = PLANNED
    ) -> PointEstimate:
        """Return the mean with the interval of the linear mean, for one look or any of `looks`."""
        return self._mean(View(level, looks=looks, users=users))

    def _mean(self, view: View) -> PointEstimate:
        z, ends = self._quantile(view, NOTHING), self.scale.middles[[0, -1]]
        if not self.scale.whole:
            ends = self.scale.at(np.array([0, self.scale.domain]))
        low, high = np.clip(
            [self.unbiased - z * self.stderr, self.unbiased + z * self.stderr], *ends
        )
        mean = self.mean
        return PointEstimate(
            mean, min(float(low), mean), max(float(high), mean), self.stderr, view.level
        )

    def cdf(
        self,
        value: float | str,
        level: float = CONFIDENCE,
        *,
        assume: str | None = None,
        looks: str = "one",
        users: int = PLANNED,
    ) -> PointEstimate:
        """Return the share of answers up to `value`, included.

        The interval holds whatever the distribution (`assume` "nothing"), or is shorter and holds
        where answers are spread smoothly ("smooth"); None stands for the estimate's own
        assumption. It is for "one" of the `looks` at the reports, or holds at "any" look, where it
        is shortest once `users` have reported.
        """
        return self._share(self.up_to(value), View(level, looks=looks, users=users), assume)

    def share(
        self,
        low: float | str,
        high: float | str | None = None,
        level: float = CONFIDENCE,
        *,
        assume: str | None = None,
        looks: str = "one",
        users: int = PLANNED,
    ) -> PointEstimate:
        """Return the share of answers from `low` to `high`, both included, or of `low` alone.

        `assume`, `looks` and `users` are those of `cdf`.
        """
        view = View(level, looks=looks, users=users)
        return self._share(self.between(low, high), view, assume)

    def between(self, low: float | str, high: float | str | None) -> Vector:
        """Return the part of each position that lies from `low` to `high`."""
        last = low if high is None else high
        weights = self.up_to(last) - self._below(low)
        if (weights < 0).any():
            raise InputError(
                f"a share is from a lower value to a higher one; got {format_value(low)} and "
                f"{format_value(high)}"
            )
        return weights

    def together(self, values: Sequence[int | str], view: View) -> Share:
        """Return the share of some positions, or of ranges such as "18..65"."""
        weights = np.zeros(self.scale.domain)
        for value in values:
            low, _, high = str(value).partition("..")
            weights += self.up_to(self._said(high or low)) - self._below(self._said(low))
        if not values or weights.min() < 0 or weights.max() > 1 + _ROUNDING:
            raise InputError(
                f"a share is of values named once each; got {format_value(list(values))}"
            )
        found = self._share(weights, view)
        named = [str(value) for value in values]
        ends = found.low, found.high
        return Share(named, found.value, found.stderr, *ends, view.level, "population", view.looks)

    def _said(self, text: str) -> float | str:
        """Return the label or the number in `text`, as typed in a command."""
        if self.scale.labels is not None:
            return text
        try:
            return float(text)
        except ValueError:
            raise InputError(
                f"a share is of numbers of the range; got {format_value(text)}"
            ) from None

    def quantile(
        self,
        share: float,
        level: float = CONFIDENCE,
        *,
        assume: str | None = None,
        looks: str = "one",
        users: int = PLANNED,
    ) -> PointEstimate:
        """Return the value that the `share` of answers does not exceed.

        `assume`, `looks` and `users` are those of `cdf`.
        """
        return self._reached(share, View(level, looks=looks, users=users), assume)

    def _reached(self, share: float, view: View, assume: str | None = None) -> PointEstimate:
        z = self._quantile(view, assume)
        value, low, high = self.curve(assume).quantile(share, z)
        return PointEstimate(value, low, high, (high - low) / (2 * z), view.level)

    def _quantile(self, view: View, assume: str | None, items: int = 1) -> float:
        """Return the standard errors to an end, of `items` intervals that hold together."""
        if view.looks != "one" and self._assumed(assume) == SMOOTH:
            raise InputError(
                'looks must be "one" here: intervals that assume a smooth distribution are valid '
                f'for one look; got "{view.looks}"'
            )
        return EqualTails.of(view.level, items, self.look(view)).z

    def curve(self, assume: str | None = None) -> CumulativeCurve:
        """Return the distribution function, for quantiles and for combinations with others."""
        smooth = self._assumed(assume) == SMOOTH
        sides = Sides.around(*self.fit.cdf) if smooth else self.bounds.cdf
        return CumulativeCurve(self.scale, self.frequency, sides, spread=smooth)

    def unbiased_function(self) -> tuple[Vector, Vector]:
        """Return the unbiased share up to each position, and its standard error.

        Where the distribution is assumed to be smooth, both are the default method's.
        """
        return self.fit.cdf if self.assume == SMOOTH else self.bounds.function()

    @functools.cached_property
    def bounds(self) -> Bounds:
        """The bounds of shares that hold whatever the distribution."""
        return Bounds(self.band, self.counts, self.fit.frequency)

    def _assumed(self, assume: str | None) -> str:
        return self.assume if assume is None else checked_assumption(assume)

    def label(self, value: float) -> str:
        """Return the name of the position of `value`."""
        at = min(int(self.scale.point(value)), self.scale.domain - 1)
        return self.scale.names()[at]

    def minus(self, other: OrderedEstimate) -> DistributionDifference:
        """Return the difference from `other`, which must be an estimate of different people."""
        from rumor.kinds.ordered.point_estimate import DistributionDifference

        return DistributionDifference(self, other)

    def _share(self, weights: Vector, view: View, assume: str | None = None) -> PointEstimate:
        return self._measured(weights[:, None], view, assume)[0]

    def _measured(
        self, columns: Vector, view: View, assume: str | None = None
    ) -> list[PointEstimate]:
        """Return the share of each of the `columns` of weights, with its interval."""
        z = self._quantile(view, assume)
        sides = self.sides(columns, assume)
        numbers = (self.frequency @ columns, *sides.ends(z), sides.stderr(z))
        return [
            PointEstimate(value, min(low, value), max(high, value), stderr, view.level)
            for value, low, high, stderr in np.array(numbers).T.tolist()
        ]

    def sides(self, columns: Vector, assume: str | None = None) -> Sides:
        """Return the ends of the shares of the `columns` of weights from 0 to 1."""
        if self._assumed(assume) == SMOOTH:
            return Sides.around(*self.fit.linear(columns))
        return self.bounds.shares(columns > 1 - _ROUNDING, columns > _ROUNDING)

    def up_to(self, value: float | str) -> Vector:
        """Return the part of each position at or below `value`."""
        if self.scale.whole:
            return np.asarray(np.arange(self.scale.domain) <= self._position(value), np.float64)
        return self._part_below(_number(value))

    def _below(self, value: float | str) -> Vector:
        """Return the part of each position below `value`."""
        if self.scale.whole:
            return np.asarray(np.arange(self.scale.domain) < self._position(value), np.float64)
        return self._part_below(_number(value))

    def _part_below(self, value: float) -> Vector:
        return np.clip(self.scale.point(value) - np.arange(self.scale.domain), 0.0, 1.0)

    def _position(self, value: float | str) -> float:
        """Return the place of `value` on a scale whose positions have no gaps."""
        if isinstance(value, str):
            return self.scale.code(value)
        return (_number(value) - self.scale.start) / self.scale.unit - 0.5

    # Rows

    def row_indices(self, view: View) -> list[int]:
        """Return the positions in their order."""
        return list(range(self.scale.domain))[: view.rows]

    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        """Return the columns value, frequency, low, high, cdf, cdf_low and cdf_high."""
        z = self._quantile(view, None, self.scale.domain if view.simultaneous else 1)
        names = self.values
        found: dict[str, Column] = {"value": [names[i] for i in rows]}
        functions = {"frequency": self.frequency, "cdf": np.cumsum(self.frequency)}
        for name, answer in functions.items():
            prefix = "" if name == "frequency" else f"{name}_"
            found[name] = [float(np.clip(answer[i], 0.0, 1.0)) for i in rows]
            sides = self._positions if name == "frequency" else self.curve().sides
            low, high = sides.ends(z)
            ends = {"low": np.minimum(low, answer), "high": np.maximum(high, answer)}
            for end, vector in ends.items():
                found[prefix + end] = [float(vector[i]) for i in rows]
        return found

    @functools.cached_property
    def _positions(self) -> Sides:
        """The ends of the share of each position; of very many, those of 0 and of its block."""
        domain, assume = self.scale.domain, self._assumed_singly
        if assume == SMOOTH or domain <= _EXACT:
            return self.sides(np.eye(domain), assume)
        each = -(-domain // _EXACT)
        block = np.arange(domain) // each
        found = self.sides((block[:, None] == np.arange(block[-1] + 1)).astype(np.float64), assume)
        zero = np.zeros(domain)
        return Sides(zero, zero, found.high[block], found.high_deviation[block])

    @property
    def _assumed_singly(self) -> str:
        """The assumption of intervals of single positions: none where people may round numbers."""
        return self.assume if self.rounded else NOTHING

    @override
    def coverage_sentence(self, view: View) -> str:
        level = f"{percent(view.level)}, {assumption_phrase(self.assume, self.heaps)}"
        if view.simultaneous:
            return (
                f"simultaneous confidence intervals, level {level}: all {self.scale.domain:,} "
                f"hold together"
            )
        return f"confidence level {level}; each interval is for a quantity chosen in advance"

    @override
    def details(self, view: View) -> list[str]:
        lines = super().details(view)
        if self.assume != self._assumed_singly:
            lines.append(
                "intervals of single bins hold whatever the distribution, since people round "
                "numbers; `round` in the collection file says to which"
            )
        return lines

    def extra_fields(self, view: View) -> dict[str, object]:
        """Return the mean and some quantiles, as plain data."""
        quantiles = [{"share": q, **self._told(self._reached(q, view))} for q in QUANTILES]
        smooth = [
            {"share": q, "low": found.low, "high": found.high}
            for q in (QUANTILES if view.looks == "one" else ())
            for found in [self._reached(q, view, SMOOTH)]
        ]
        return {
            "mean": self._mean(view).to_dict(),
            "unbiased": self.unbiased,
            "stderr": self.stderr,
            "quantiles": quantiles,
            "quantiles_if_smooth": smooth,
            "histogram": self.histogram(level=view.level, looks=view.looks, users=view.users),
            "clipped": self._at_the_ends(),
            "assume": self.assume,
        }

    def histogram(
        self,
        bars: int = _LISTED,
        level: float = CONFIDENCE,
        *,
        looks: str = "one",
        users: int = PLANNED,
    ) -> list[dict[str, Any]]:
        """Return the shares of at most `bars` groups of neighbours, each with its interval.

        `looks` and `users` are those of `cdf`.
        """
        each = -(-self.scale.domain // bars)
        starts = list(range(0, self.scale.domain, each))
        names = self.scale.names()
        weights = np.zeros((self.scale.domain, len(starts)))
        for bar, start in enumerate(starts):
            weights[start : start + each, bar] = 1.0
        assume = self._assumed_singly if each == 1 else None
        found = self._measured(weights, View(level, looks=looks, users=users), assume)
        return [
            {
                "value": names[start] if each == 1 else self.scale.range_name(start, start + each),
                "frequency": one.value,
                "low": one.low,
                "high": one.high,
                "stderr": one.stderr,
            }
            for start, one in zip(starts, found, strict=True)
        ]

    def _told(self, found: PointEstimate) -> dict[str, Any]:
        if self.scale.labels is None:
            return dict(found.to_dict())
        return {**found.to_dict(), "label": self.label(found.value)}

    def _at_the_ends(self) -> list[float] | None:
        """Return the shares of the first and the last bin, which hold values outside; None
        for labels.
        """
        return None if self.scale.labels is not None else self.frequency[[0, -1]].tolist()

    # Text and chart

    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return mean and quantiles as text; of few labels, each with its share."""
        seen = self.checked_view(view, options)
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
        lines += [wrapped(line) for line in (*self.footer(seen), *self.warnings)]
        return "\n".join(lines)

    def _shares(self, view: View) -> str:
        rows = self.cells(self.row_indices(view), view)
        decimals = decimals_for(float(self._positions.high_deviation.max()))
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
        mean = self._mean(view)
        rows: list[tuple[str, ...]] = [
            ("mean" if self.scale.numeric else "mean place", *_shown(mean, digits))
        ]
        head = ["", "estimate", f"{percent(view.level)} interval"]
        both = self.scale.labels is None and self.assume != SMOOTH and view.looks == "one"
        if both:
            head, rows = [*head, "if spread smoothly"], [(*rows[0], "")]
        for share in QUANTILES:
            found = self._reached(share, view)
            said: tuple[str, ...] = _shown(found, digits)
            if self.scale.labels is not None:
                ends = [one_line(self.label(x)) for x in (found.value, found.low, found.high)]
                said = (ends[0], f"{ends[1]} to {ends[2]}")
            if both:
                smooth = self._reached(share, view, SMOOTH)
                said = (*said, _shown(smooth, digits)[1])
            rows.append((_NAMES.get(share, f"{100 * share:g}% are at most"), *said))
        return aligned(head, rows)

    def picture(self, view: View, title: str | None, truth: Vector | None) -> alt.VConcatChart:
        """Return a chart of the histogram above the distribution function."""
        from rumor.kinds.ordered.picture import distribution_chart

        return distribution_chart(self, view, title, truth)


def _shown(found: PointEstimate, digits: int) -> tuple[str, str]:
    return f"{found.value:.{digits}f}", f"{found.low:.{digits}f} to {found.high:.{digits}f}"


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise InputError(f"a value on a range must be a number; got {format_value(value)}")
    return float(value)
