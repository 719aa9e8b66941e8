"""Key-value mechanisms: what one person holds (keys, each with a number) as one noisy report.

Every mechanism here looks, for each key on its own, like a channel with three inputs (held
with the value rounded up, held with it rounded down, not held) and three outputs (+, -,
nothing). A value v of [-1, 1] is rounded to +1 with probability (1 + v)/2, so with f the
share of holders and s = f m (m the mean of their values),
    P(+) + P(-) = miss + gain f,    P(+) - P(-) = sign_gain s
for every key that a report is about. Frequencies and means follow from these two lines;
the estimators know nothing else of a mechanism.
"""

from __future__ import annotations

import abc
import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rumor.core.canonical import Json
from rumor.core.checks import checked_size
from rumor.core.columns import split_domain
from rumor.core.errors import InputError, format_value
from rumor.core.number_range import GRID_PARAMETERS, NumberGrid
from rumor.core.pairs import Keys, Layout, LongTable, Pairs, WideTable
from rumor.core.randomness import Stream
from rumor.core.types import Tally, Vector
from rumor.core.typing import override
from rumor.mechanisms.auditing import Audit
from rumor.mechanisms.cap_sampling import Kept
from rumor.mechanisms.edge_values import edge_points
from rumor.mechanisms.poisoning import PoisoningTarget
from rumor.mechanisms.shapes import DeclaredParameters, LabelledMechanism

MAX_KEYS = 100_000
# Steps of the values' grid by default: finer than any noise of reports (a value moves by at
# most 1.5e-5 of the range), and a checked table fits into two bytes for each cell.
STEPS = 1 << 15
# The states of one key: not held, held and rounded up, held and rounded down.
NOTHING, PLUS, MINUS = 0, 1, 2
# People with keys that are still worth listing one by one.
_MAX_LISTED = 4096


@dataclass(frozen=True)
class KeyRates:
    """The two linear relations above: how a key's outputs depend on f and s = f m."""

    miss: float
    gain: float
    sign_gain: float


@dataclass(frozen=True)
class KeyCounts:
    """Counts of + and - for each key, out of the reports that were about the key."""

    plus: Tally
    minus: Tally
    trials: Tally


class KeyValueMechanism(LabelledMechanism, DeclaredParameters):
    """A mechanism from which frequencies and means of many keys are learned."""

    kind = "keyvalue"
    _DOMAIN_NAMES: ClassVar[tuple[str, ...]] = ("keys", *GRID_PARAMETERS)
    _THINGS = "keys"

    _poisoning_target = PoisoningTarget("a key's share")
    _BY_LABEL = ("_positions", "layout")
    keys: int
    labels: tuple[str, ...] | None
    grid: NumberGrid

    def _open(self, keys: object, grid: NumberGrid) -> None:
        """Take the keys, a number of them or their labels, and the grid of their values."""
        try:
            self.keys, self.labels = split_domain(keys, 1, MAX_KEYS)
        except InputError as problem:
            raise InputError(str(problem).replace("domain", "keys", 1)) from None
        self.grid = grid

    def _load_domain(self, keys: object, *grid: object) -> None:
        """Take keys and grid from a contract: a number of keys, and the values of `GRID`."""
        self._open(checked_size("keys", keys, 1, MAX_KEYS), NumberGrid.from_parameters(*grid))

    @property
    def _value_count(self) -> int:
        return self.keys

    def named_parameters(self) -> dict[str, Json]:
        """Return keys and grid as every contract writes them."""
        return {"keys": self.keys, **self.grid.parameters()}

    def _domain_parameters(self) -> dict[str, Json]:
        return self.named_parameters()

    @functools.cached_property
    def layout(self) -> Layout:
        """The names of the keys and the grid of values by which people's pairs are read."""
        return Layout(self.keys, self._positions, self.grid)

    def inputs(self) -> Sequence[object]:
        """Return every row of a small table: each key not held, or
        held with a value of the grid.
        """
        cell: list[float | None] = [None, *self.grid.points()]
        return list(itertools.product(cell, repeat=self.keys))

    @override
    def edge_values(self) -> Sequence[object]:
        names: Sequence[object] = self.labels or range(self.keys)
        points = edge_points(self.grid.low, self.grid.high)
        found = []
        for size in sorted({min(size, self.most_held) for size in (0, 1, 2, 5, 40)}):
            held = dict.fromkeys(names[(7 * i + size) % len(names)] for i in range(size))
            found.append({name: points[i % len(points)] for i, name in enumerate(held)})
        return found

    def identity(self, value: object) -> str:
        """Return keys and numbers by ascending key, however they were written."""
        return repr(sorted(self.layout.held(value).items()))

    def notes(self, value: object) -> tuple[str, ...]:
        """Return a sentence if some numbers were taken as an end of the range."""
        told = f"some numbers lie outside {self.grid.range_text} and were taken as the nearest end"
        clips = any(self.grid.is_clipped(number) for number in self.layout.held(value).values())
        return (told,) if clips else ()

    def read(self, values: object) -> Pairs:
        """Read people's pairs in any of the forms of rumor.core.pairs."""
        return self.layout.read(values)

    def checked(self, values: object) -> Pairs:
        """Read people's pairs and check every value; `privatize` then checks nothing again.

        Reading a large table costs more than randomising it: a table used often is checked once.
        """
        pairs = self.read(values)
        return pairs.checked() if isinstance(pairs, WideTable) else pairs

    def long_pairs(self, person: object, key: object, value: object) -> LongTable:
        """Return three columns, a row for each pair, in the form that `privatize` takes.

        A row with an empty key stands for a person who holds nothing.
        """
        return self.layout.columns(person, key, value)

    @property
    def state_channel(self) -> NDArray[np.float64]:
        """The matrix P(output | state) of a key, for iterations over states: outputs +, -, nothing.

        States are held with +1, held with -1, and then those of not holding the key: one, unless
        a mechanism makes a sign up.
        """
        rates = self.rates
        seen, tilt = rates.miss + rates.gain, rates.sign_gain
        plus = np.array([(seen + tilt) / 2, (seen - tilt) / 2, rates.miss / 2])
        minus = plus[[1, 0, 2]]
        return np.stack([plus, minus, 1 - plus - minus], axis=1)

    def sign_chance(self, step: int | None, output: int) -> Fraction:
        """Return the probability that one key's state, before any noise, is this output."""
        if step is None:
            return Fraction(output == NOTHING)
        up = Fraction(step, self.grid.steps)
        return (Fraction(0), up, 1 - up)[output]

    @property
    @abc.abstractmethod
    def rates(self) -> KeyRates:
        """The rates that connect counts with frequencies and means."""

    @abc.abstractmethod
    def counts(self, tally: Tally, reports: int) -> KeyCounts:
        """Return the counts of every key."""

    def variances(
        self, frequency: Vector | float, mean: Vector | float, reports: float
    ) -> tuple[Vector, Vector]:
        """Return the exact variances of the unbiased f and s = f m
        of a key, from `reports` reports.

        `mean` is on the scale where the range is [-1, 1].
        """
        f, rates = np.asarray(frequency, np.float64), self.rates
        s = f * np.asarray(mean, np.float64)
        trials = reports * self.share
        seen = rates.miss + rates.gain * f
        return (
            np.asarray(seen * (1 - seen) / (trials * rates.gain**2)),
            np.asarray((seen / rates.sign_gain**2 - s**2) / trials),
        )

    @property
    def share(self) -> float:
        """The share of the reports that are about one key, on average."""
        return 1.0

    @property
    def kept(self) -> Kept | None:
        """The cap, if a report draws from fewer keys than a person may hold; None otherwise."""
        return None

    # How far fake clients can move a share or a mean

    def _about(self, reports: int, fakes: int) -> float:
        """Return the mean number of reports about a key of which all fakes speak."""
        return (reports - fakes) * self.share + fakes

    def _fake_gain(self, reports: int, fakes: int) -> float:
        """Return the gain if all fakes speak of one key, of which
        only a share of the others does.
        """
        rates = self.rates
        if not fakes:
            return 0.0
        return fakes / self._about(reports, fakes) * (1 - rates.miss) / rates.gain

    def _fake_loss(self, reports: int, fakes: int) -> float:
        """Return the loss if all fakes speak of a key that everybody holds, and report nothing."""
        rates = self.rates
        if not fakes:
            return 0.0
        return fakes / self._about(reports, fakes) * (1 + rates.miss / rates.gain)

    def fake_mean_gain(self, reports: int, fakes: int, share: float) -> float:
        """Return how far fakes can move the mean of a key held by `share` of people at one end.

        All fakes report the key with the other sign, which raises its frequency as well. The mean
        moves by at most the whole range: it does so for a key so rare that fakes who report
        nothing bring its share, the denominator of the mean, to zero.
        """
        return self.mean_moved(fakes / self._about(reports, fakes), share)

    def mean_moved(self, part: float, share: float) -> float:
        """Return how far fakes who are this `part` of the reports about a key move its mean.

        The others hold the key in this `share`, and all at one end of the range.
        """
        rates = self.rates
        if (1 - part) * share <= part * rates.miss / rates.gain:
            return self.grid.span
        held = (1 - part) * share + part * (1 - rates.miss) / rates.gain
        product = -(1 - part) * share + part / rates.sign_gain
        return min(1.0, (product / held + 1) / 2) * self.grid.span

    @property
    def most_held(self) -> int:
        """The largest number of keys that a person may hold."""
        return self.keys

    @property
    @override
    def audit(self) -> KeyValueAudit:
        return KeyValueAudit(self)

    # Rounds, of which PrivKVM alone has several

    parent: str | None = None
    """The digest of the contract of the round before this one, where there is one."""

    def next(self, means: object, *, parent: str | None = None) -> Self:
        """Return the mechanism of the next round, given what this
        one found; usually there is none.
        """
        raise InputError(f"only PrivKVM has rounds; got {self.name!r}")

    def with_parent(self, parent: object) -> Self:
        """Return a copy whose contract names this digest as its
        `parent`, which later rounds have.
        """
        if parent is not None:
            raise InputError(f"only a round of PrivKVM has a parent; got {format_value(parent)}")
        return self


class KeyValueAudit(Audit[KeyValueMechanism]):
    """People with keys, for an audit: extreme people stand for all, who are too many to list."""

    def extreme_people(self) -> list[tuple[float | None, ...]]:
        """Return people who hold no key, one key or the most keys, at either end of the range."""
        keys, grid = self.mechanism.keys, self.mechanism.grid
        people: dict[tuple[float | None, ...], None] = {(None,) * keys: None}
        for held in (1, self.mechanism.most_held):
            for end in (grid.high, grid.low):
                people[(end,) * held + (None,) * (keys - held)] = None
        return list(people)

    @override
    def pairs_to_compare(self) -> Sequence[tuple[object, object]]:
        return list(itertools.combinations(self.extreme_people(), 2))

    def walked_values(self) -> Sequence[object]:
        """Return the extreme people if all people are too many, else all."""
        # A cell says three things at least, so a dozen keys are too many already.
        people = (len(self.mechanism.grid.points()) + 1) ** min(self.mechanism.keys, 12)
        return self.extreme_people() if people > _MAX_LISTED else super().walked_values()

    @override
    def repeat(self, value: object, count: int) -> object:
        assert isinstance(value, tuple)
        row = np.array([math.nan if cell is None else cell for cell in value])
        return np.tile(row, (count, 1))

    def as_argument(self, value: object) -> str:
        """Return KEY:NUMBER for each key of `value`, with commas between."""
        assert isinstance(value, tuple)
        held = ((key, cell) for key, cell in enumerate(value) if cell is not None)
        return ",".join(f"{self.place_as_argument(key)}:{cell!r}" for key, cell in held)


def make_grid(low: float, high: float, outside: str, steps: int) -> NumberGrid:
    """Return the grid of a constructor's keywords."""
    return NumberGrid.create(low, high, steps, outside)


def sampled_keys(stream: Stream, people: int, keys: int, count: int) -> Keys:
    """Return `count` distinct keys for each person, ascending, all sets equally likely.

    Floyd's algorithm, as the reference draws follow it: for j from keys - count to keys - 1
    take below(j + 1), or j when that is taken already.
    """
    chosen = np.empty((people, count), dtype=np.int64)
    for column, j in enumerate(range(keys - count, keys)):
        pick = stream.below(j + 1, people).astype(np.int64)
        taken = (chosen[:, :column] == pick[:, None]).any(axis=1)
        chosen[:, column] = np.where(taken, j, pick) if column else pick
    return np.sort(chosen, axis=1) if count > 1 else chosen


def rounded_signs(stream: Stream, steps: NDArray[np.int32], grid_steps: int) -> NDArray[np.int64]:
    """Return each key's sign before any noise: PLUS with probability step / grid_steps if held."""
    draw = stream.below(grid_steps, steps.size).astype(np.int64).reshape(steps.shape)
    return np.where(steps < 0, NOTHING, np.where(draw < steps, PLUS, MINUS))


def checked_parent(parent: object) -> str | None:
    """Return the digest of a parent contract, or None."""
    if parent is None:
        return None
    if isinstance(parent, str) and len(parent) == 64 and set(parent) <= set("0123456789abcdef"):
        return parent
    raise InputError(
        f"a parent must be a digest of 64 hexadecimal digits; got {format_value(parent)}"
    )
