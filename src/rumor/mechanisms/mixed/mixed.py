"""Several answers in one table: chance asks for the pair or for one of its margins.

A public draw that ignores the answer picks a component, which asks for some of the parts together:
all of them, two, or one. What it asks for is one cell of the parts' own table, and a subset of that
table's cells is reported (subset_selection.py) with the whole epsilon. Who is asked what, and why
not everybody for everything, is in mixed/design.py.

Model, with w_c the chance of component c and P_c its subset selection on the cells of its parts:
    P(c, S | x) = w_c P_c(S | the cell of x within the parts of c)
where component c is drawn by a coin of its chance, given that none before it was; the last is what
is left.
Privacy: the component does not depend on the answer, and one is drawn, so the loss is the largest
of the components' own; their thresholds are rounded down.
Report: one byte, the component; then its report, then zeros up to the width of the longest.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rumor.core import exact
from rumor.core.canonical import Json
from rumor.core.checks import exact_keys
from rumor.core.errors import InputError, format_value
from rumor.core.randomness import Draws, Keystreams, RandomSource, Stream
from rumor.core.reports import Reports, Validity
from rumor.core.types import Tally, Vector
from rumor.core.typing import override
from rumor.mechanisms.auditing import Audit
from rumor.mechanisms.blanket import Blanket, BlanketPart
from rumor.mechanisms.mixed.design import design_shares
from rumor.mechanisms.mixed.parts import MAX_CELLS, Parts
from rumor.mechanisms.permanence import FreshAnswers
from rumor.mechanisms.poisoning import Poisoning, PoisoningTarget
from rumor.mechanisms.shapes import EncodedAnswers, exact_parameters
from rumor.mechanisms.subset_selection import SubsetSelection


@dataclass(frozen=True)
class Component:
    """Some parts that are asked together, their mechanism, and the chance of being asked."""

    asks: tuple[int, ...]
    oracle: SubsetSelection
    chance: int | None
    """The threshold of asking for this component if none before it is asked; None for the last."""
    share: Fraction
    """The share of the people who are asked for this component."""

    def describe(self) -> dict[str, Json]:
        """Return the component as a contract writes it: the size of
        the table follows from the parts.
        """
        return {
            "asks": list(self.asks),
            "chance": None if self.chance is None else str(self.chance),
            "size": self.oracle.size,
            "inclusion": str(self.oracle.inclusion),
        }


@dataclass(frozen=True, eq=False)
class ComponentCounts:
    """The counters of one component in a summary."""

    component: Component
    reports: int
    tally: Tally


class Mixed(EncodedAnswers):
    """Two to four answers in one table: a pair of them or a margin, as chance has it."""

    name = "mixed"
    kind = "joint"
    OPTIONS = ("pair",)
    _poisoning_target = PoisoningTarget("a cell of a table")

    def __init__(
        self,
        *,
        parts: Parts | Sequence[int] | Sequence[Mapping[str, object]],
        epsilon: float,
        pair: float | None = None,
    ) -> None:
        """Make a joint mechanism of `parts`: numbers of values, or tables with an id and labels.

        `pair` is the share of the people who are asked for both of two answers; the best one
        by default.
        """
        exact.checked_epsilon(epsilon)
        own = Parts.of(parts)
        shares = design_shares(own, epsilon, None if pair is None else _checked_pair(pair, own))
        left, chances = Fraction(1), []
        for _, share in shares[:-1]:
            chances.append(exact.floor_threshold(share / left))
            left -= share
        oracles = [
            SubsetSelection(domain=math.prod(own.sizes[part] for part in asks), epsilon=epsilon)
            for asks, _ in shares
        ]
        self._take(own, [asks for asks, _ in shares], oracles, chances)

    def _take(
        self,
        parts: Parts,
        asked: Sequence[tuple[int, ...]],
        oracles: Sequence[SubsetSelection],
        chances: Sequence[int],
    ) -> None:
        self.parts = parts
        left, shares = Fraction(1), []
        for chance in chances:
            shares.append(left * Fraction(chance, exact.WORD))
            left -= shares[-1]
        made = zip(asked, oracles, [*chances, None], [*shares, left], strict=True)
        self.components = tuple(itertools.starmap(Component, made))

    def parameters(self) -> dict[str, Json]:
        """Return the number of values of each part, and the components."""
        components: list[Json] = [one.describe() for one in self.components]
        return {"sizes": list(self.parts.sizes), "components": components}

    @classmethod
    @override
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        sizes, components = exact_parameters(cls.name, parameters, "sizes", "components")
        parts = Parts.of(sizes)
        if parts.ids is not None:
            raise InputError(f"sizes must be numbers of values; got {format_value(sizes)}")
        if not isinstance(components, list) or not components:
            raise InputError(f"components must be a list of some; got {format_value(components)}")
        asked, oracles, chances = [], [], []
        for number, one in enumerate(components, 1):
            said = exact_keys("a component", one, ("asks", "chance", "size", "inclusion"))
            asked.append(_checked_asks(said["asks"], parts))
            cells = math.prod(parts.sizes[part] for part in asked[-1])
            noise = {key: said[key] for key in ("size", "inclusion")}
            oracles.append(SubsetSelection.from_parameters({"domain": cells, **noise}))
            if number < len(components):
                chances.append(exact.checked_threshold("the chance", said["chance"]))
            elif said["chance"] is not None:
                raise InputError(
                    f"the chance of the last component is null; got {format_value(said['chance'])}"
                )
        _check_all_pairs(asked, parts)
        self = cls.__new__(cls)
        self._take(parts, asked, oracles, chances)
        return self

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with pairs alone, one margin and both,
        three parts at once and by pairs.
        """
        return [
            cls(parts=(2, 2), epsilon=1.0),
            cls(parts=(2, 3), epsilon=0.5),
            cls(parts=(3, 3), epsilon=1.0),
            cls(parts=(2, 2, 2), epsilon=4.0),
            cls(parts=(3, 3, 3), epsilon=1.0),
        ]

    def named(self, parts: Parts) -> Self:
        """Return a copy with the names of `parts` for its parts and values."""
        if parts.sizes != self.parts.sizes:
            raise InputError(
                f"the parts must have {format_value(list(self.parts.sizes))} labels; "
                f"got {format_value(list(parts.sizes))}"
            )
        other = type(self).__new__(type(self))
        other.parts, other.components = parts, self.components
        return other

    def without_labels(self) -> Self:
        """Return a copy whose parts and values are known by their numbers."""
        return self.named(self.parts.unnamed)

    @property
    def permanence(self) -> FreshAnswers:
        """The permanence: all reports are drawn afresh, and the
        names of the parts are the labels.
        """
        return FreshAnswers(self, self.parts.to_json())

    @property
    @override
    def labels_in_contract(self) -> Json:
        return self.parts.to_json()

    # Answers

    @property
    def _encoding(self) -> Parts:
        """The encoding of answers: cells, in their order."""
        return self.parts

    @property
    @override
    def audit(self) -> MixedAudit:
        return MixedAudit(self)

    # Privacy and reports

    @functools.cached_property
    def epsilon(self) -> float:
        """The largest loss of a component: one of them is drawn, whatever the answer."""
        return max(one.oracle.epsilon for one in self.components)

    def blanket(self) -> Blanket:
        """Return the blanket: the component is public, and two
        answers may differ in every component.
        """
        parts = [(one.share, one.oracle.blanket().parts) for one in self.components]
        return Blanket(tuple(BlanketPart(share, inner.pairs) for share, (inner,) in parts))

    @property
    @override
    def width(self) -> int:
        return 1 + max(one.oracle.width for one in self.components)

    @property
    @override
    def alphabet(self) -> int:
        return sum(one.oracle.alphabet for one in self.components)

    @override
    def outputs(self, public: bytes = b"") -> Reports:
        return np.vstack(
            [self._wrapped(i, one.oracle.outputs()) for i, one in enumerate(self.components)]
        )

    def _wrapped(self, index: int, reports: Reports) -> Reports:
        whole = np.zeros((len(reports), self.width), dtype=np.uint8)
        whole[:, 0] = index
        whole[:, 1 : 1 + reports.shape[1]] = reports
        return whole

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        one = self.components[report[0]]
        cell = self.parts.one_within(self.code(value), one.asks)
        return one.share * one.oracle.probability(report[1 : 1 + one.oracle.width], cell)

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw coin(chance) of each component but the last until one falls; then its own draw."""
        cell = self.code(value)
        index, one = next(
            (i, one)
            for i, one in enumerate(self.components)
            if one.chance is None or draws.coin(one.chance)
        )
        report = one.oracle.draw(self.parts.one_within(cell, one.asks), draws)
        return (bytes([index]) + report).ljust(self.width, b"\0")

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        cells, stream = self.encode(values), source.stream()
        asked = np.full(cells.size, len(self.components) - 1, dtype=np.uint8)
        waiting = np.arange(cells.size)
        for index, one in enumerate(self.components[:-1]):
            assert one.chance is not None
            falls = stream.words(waiting.size) < np.uint64(one.chance)
            asked[waiting[falls]] = index
            waiting = waiting[~falls]
        out = np.zeros((cells.size, self.width), dtype=np.uint8)
        for index, one in enumerate(self.components):
            rows = np.flatnonzero(asked == index)
            if rows.size:
                own = self.parts.within(cells[rows], one.asks)
                reports = one.oracle.privatize(own, random=_OneStream(stream))
                out[rows] = self._wrapped(index, reports)
        return out

    def _validate(self, reports: Reports) -> Validity:
        valid = np.zeros(len(reports), dtype=np.bool_)
        for _, rows, own in self.apart(reports):
            rest = reports[rows, 1 + own.oracle.width :]
            said = own.oracle.validate(self.inner(reports, rows, own)).valid
            valid[rows] = said & (rest == 0).all(axis=1)
        count = len(self.components)
        return Validity(valid, f"a report names one of {count} components and is one of its own")

    def apart(self, reports: Reports) -> Iterator[tuple[int, NDArray[np.intp], Component]]:
        """Yield the reports of each component that has some."""
        for index, one in enumerate(self.components):
            rows = np.flatnonzero(reports[:, 0] == index)
            if rows.size:
                yield index, rows, one

    @staticmethod
    def inner(reports: Reports, rows: NDArray[np.intp], one: Component) -> Reports:
        """Return the reports at `rows` as the component `one` made them."""
        return np.ascontiguousarray(reports[rows, 1 : 1 + one.oracle.width])

    @override
    def log_likelihood_ratio(self, reports: Reports, first: object, second: object) -> Vector:
        told = np.zeros(len(reports))
        cells = self.code(first), self.code(second)
        for _, rows, one in self.apart(reports):
            own = [self.parts.one_within(cell, one.asks) for cell in cells]
            told[rows] = one.oracle.log_likelihood_ratio(self.inner(reports, rows, one), *own)
        return told

    # Counts

    @property
    def tally_size(self) -> int:
        """The number of counters: for each component one for its reports and one for each cell."""
        return sum(1 + one.oracle.tally_size for one in self.components)

    @property
    def counters_per_report(self) -> int | None:
        """1 more than the cells of a report, if all components
        report equally many cells, else None.
        """
        sizes = {1 + one.oracle.counters_per_report for one in self.components}
        return sizes.pop() if len(sizes) == 1 else None

    def tally(self, reports: Reports) -> Tally:
        """Return the components' own tallies, each behind the number of its reports."""
        whole = np.zeros(self.tally_size, dtype=np.int64)
        starts = self._starts
        for index, rows, one in self.apart(reports):
            start = starts[index]
            whole[start] = rows.size
            own = one.oracle.tally(self.inner(reports, rows, one))
            whole[start + 1 : start + 1 + own.size] = own
        return whole

    @property
    def _starts(self) -> list[int]:
        sizes = [1 + one.oracle.tally_size for one in self.components]
        return [0, *itertools.accumulate(sizes)]

    def counted(self, tally: Tally) -> list[ComponentCounts]:
        """Return a tally split into one part for each component."""
        return [
            ComponentCounts(
                one, int(tally[start]), tally[start + 1 : start + 1 + one.oracle.tally_size]
            )
            for one, start in zip(self.components, self._starts, strict=False)
        ]

    def consistent(self, tally: Tally, reports: int) -> bool:
        """Return whether each component's counters agree with the number of its reports."""
        parts = self.counted(tally)
        fits = (one.component.oracle.consistent(one.tally, one.reports) for one in parts)
        return all(fits) and sum(one.reports for one in parts) == reports

    def _fake_gain(self, reports: int, fakes: int) -> float:
        """Return the gain if all fakes speak of one table, of which
        only some of the others speak.
        """
        return self._moved(reports, fakes, lambda alone: alone.gain(1, 1))

    def _fake_loss(self, reports: int, fakes: int) -> float:
        """Return the loss if all fakes speak of one table, against a cell that everybody is in."""
        return self._moved(reports, fakes, lambda alone: alone.loss(1, 1))

    def _moved(self, reports: int, fakes: int, each: Callable[[Poisoning], float]) -> float:
        """Return how far fakes move a cell of the table that moves furthest, by `each` of them."""
        if not fakes:
            return 0.0
        others = reports - fakes
        return max(
            fakes * each(one.oracle.poisoning) / (others * float(one.share) + fakes)
            for one in self.components
            if len(one.asks) > 1
        )


class MixedAudit(Audit["Mixed"]):
    """Cells of a table, for an audit."""

    @override
    def repeat(self, value: object, count: int) -> object:
        return np.full(count, self.mechanism.code(value))

    def as_argument(self, value: object) -> str:
        """Return PART=LABEL for each part."""
        parts = self.mechanism.parts
        places = np.unravel_index(self.mechanism.code(value), parts.sizes)
        named = zip(parts.keys, parts.values, places, strict=True)
        return ", ".join(f"{key}={names[place]}" for key, names, place in named)


class _OneStream(Keystreams):
    """A random source of a single stream, which one draw passes to several mechanisms."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def stream(self) -> Stream:
        """Return the stream at its current position."""
        return self._stream


def _checked_pair(pair: object, parts: Parts) -> Fraction:
    if parts.count > 2:
        raise InputError(f"pair is a share of two parts; got {parts.count} parts")
    if isinstance(pair, bool) or not isinstance(pair, (int, float)) or not 0 < pair <= 1:
        raise InputError(f"pair must be a share above 0 and at most 1; got {format_value(pair)}")
    return Fraction(pair)


def _checked_asks(asks: object, parts: Parts) -> tuple[int, ...]:
    rule = f"a component asks for some of the parts 0 to {parts.count - 1}, in their order"
    if not isinstance(asks, list) or not asks or not all(type(part) is int for part in asks):
        raise InputError(f"{rule}; got {format_value(asks)}")
    if asks != sorted(set(asks) & set(range(parts.count))):
        raise InputError(f"{rule}; got {format_value(asks)}")
    if math.prod(parts.sizes[part] for part in asks) > MAX_CELLS:
        raise InputError(
            f"a component must have at most {MAX_CELLS} cells; got {format_value(asks)}"
        )
    return tuple(asks)


def _check_all_pairs(asked: Sequence[tuple[int, ...]], parts: Parts) -> None:
    """Check that no component is there twice and that one of them has any two parts together."""
    pairs = itertools.combinations(range(parts.count), 2)
    once = len(set(asked)) == len(asked)
    if not once or not all(any(set(pair) <= set(asks) for asks in asked) for pair in pairs):
        raise InputError(
            "components must differ, and ask for any two parts together; got "
            f"{format_value(list(asked))}"
        )
