"""PrivKV and its rounds, PrivKVM: perturb the value, then the key, together.

Ye, Hu, Meng and Zheng 2019; Horigome, Kikuchi and Yu ("Improvement of Local Differential
Privacy algorithm PrivKV for key-value datasets").

One key is drawn for each person and shown in the report. A held value is rounded to +1 or
-1, which is kept with probability p2 and flipped otherwise; then the pair is reported with
probability p1 and "nothing" otherwise. Whoever does not hold the key does the same with a
made-up value, reporting it with probability 1 - p1. With t1, t2 the thresholds of p1, p2,
q = 1 - p, a value at step j of G, and a made-up value that is rounded up with probability g:
    given the value:   P(+) = p1 (q2 + (p2 - q2) j/G),  P(nothing) = q1
    given not held:    P(+) = q1 (q2 + (p2 - q2) g),    P(nothing) = p1
and P(-) the rest. PrivKV makes values up by a fair coin, g = 1/2.
Privacy: the paper adds the logarithms of p1/q1 and p2/q2 (`nominal_epsilon`); the exact loss
(`epsilon`) is smaller, max(epsilon_2, epsilon_1 + ln(2 / (1 + e**-epsilon_2))), since a value
and its absence never differ in both at once. Thresholds are rounded down.
Report: the key as a little-endian integer, then one byte: 0 nothing, 1 plus, 2 minus.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rumor.core import exact
from rumor.core.canonical import Json
from rumor.core.checks import checked_choice, checked_size
from rumor.core.errors import InputError, shown
from rumor.core.loops import loops
from rumor.core.randomness import Draws, Source
from rumor.core.reports import Reports, Validity, bytes_for, little_endian, narrow_integers
from rumor.core.types import Tally
from rumor.mechanisms.blanket import Blanket, of_laws
from rumor.mechanisms.keyvalue import (
    MINUS,
    NOTHING,
    PLUS,
    STEPS,
    KeyCounts,
    KeyRates,
    KeyValueMechanism,
    checked_parent,
    make_grid,
)

SPLITS = ("nominal", "exact")
_MAX_ROUNDS = 100
_HALF = exact.WORD // 2
# People handled at a time: their words and steps stay in the second-level cache.
_CHUNK = 1 << 14


class _PairMechanism(KeyValueMechanism):
    """One sampled key, its value and its presence perturbed together."""

    THRESHOLDS = ("key_truth", "value_truth")
    key_truth: int
    value_truth: int

    def _accept(self) -> None:
        if self.key_truth < _HALF or self.value_truth <= _HALF:
            raise InputError(
                f"the thresholds of the truth must be at least 2^63 (key) and above it (value); "
                f"got {self.key_truth} and {self.value_truth}"
            )
        self._integer = bytes_for(self.keys)

    def made_up(self, key: int) -> int:
        """The made-up value of a key in half steps of the grid, 0 to 2 G."""
        return self.grid.steps

    def _chances(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.key_truth, exact.WORD), Fraction(self.value_truth, exact.WORD)

    def _plus(self, up: Fraction) -> Fraction:
        """P(+ | the pair is reported, its value is rounded up with this probability)."""
        p2 = self._chances()[1]
        return 1 - p2 + (2 * p2 - 1) * up

    @property
    def epsilon(self) -> float:
        """The worst ratio over outputs and pairs of inputs, key by key."""
        p1, p2 = self._chances()
        worst = [p1 / (1 - p1)]
        for half_steps in {self.made_up(key) for key in range(self.keys)}:
            up = Fraction(half_steps, 2 * self.grid.steps)
            for fake in (up, 1 - up):  # plus and minus
                chances = (p1 * p2, p1 * (1 - p2), (1 - p1) * self._plus(fake))
                worst.append(max(chances) / min(chances))
        return exact.worst_log_ratio(worst)

    @property
    def nominal_epsilon(self) -> float:
        """What the papers count: the losses of key and value added up."""
        p1, p2 = self._chances()
        losses = exact.log_up(p1 / (1 - p1)), exact.log_up(p2 / (1 - p2))
        return exact.round_up(sum(map(Fraction, losses), Fraction(0)))

    def blanket(self) -> Blanket:
        """The key is public. Of it: held with the least or the largest number, or not held.

        What is made up for keys that are not held lies between two of these numbers.
        """
        p1, p2 = self._chances()
        plus = {(p1, 1 - p2), (p1, p2)}
        for half_steps in (min(made := [*map(self.made_up, range(self.keys))]), max(made)):
            plus.add((1 - p1, self._plus(Fraction(half_steps, 2 * self.grid.steps))))
        return of_laws([(1 - seen, seen * up, seen * (1 - up)) for seen, up in sorted(plus)])

    @property
    def width(self) -> int:
        """The key and a byte."""
        return self._integer + 1

    @property
    def alphabet(self) -> int:
        """Three outputs for each key."""
        return 3 * self.keys

    def outputs(self, public: bytes = b"") -> Reports:
        """Every key with every output."""
        keys = little_endian(np.repeat(np.arange(self.keys), 3), self._integer)
        said = np.tile(np.arange(3, dtype=np.uint8), self.keys)[:, None]
        return np.hstack([keys, said])

    def probability(self, report: bytes, value: object) -> Fraction:
        """The model at the top of this file, times the chance of the key."""
        key, said = int.from_bytes(report[:-1], "little"), report[-1]
        p1, _ = self._chances()
        step = self.layout.person(value).get(key)
        if step is None:
            seen, up = 1 - p1, Fraction(self.made_up(key), 2 * self.grid.steps)
        else:
            seen, up = p1, Fraction(step, self.grid.steps)
        plus = self._plus(up)
        return (1 - seen, seen * plus, seen * (1 - plus))[said] / self.keys

    def draw(self, value: object, draws: Draws) -> bytes:
        """below(keys); the value's sign; coin(value_truth) to keep it; coin(key_truth).

        The sign of a held value is plus when below(2 G) is below twice its step, that of a
        made-up one when it is below the made-up half steps. The second coin keeps a held
        pair and hides a made-up one.
        """
        held, key = self.layout.person(value), draws.below(self.keys)
        half_steps = 2 * held[key] if key in held else self.made_up(key)
        up = draws.below(2 * self.grid.steps) < half_steps
        plus = up == draws.coin(self.value_truth)
        seen = draws.coin(self.key_truth) == (key in held)
        said = NOTHING if not seen else PLUS if plus else MINUS
        return key.to_bytes(self._integer, "little") + bytes([said])

    def _privatize(self, values: object, source: Source) -> Reports:
        pairs, stream = self.read(values), source.stream()
        fakes = np.array([self.made_up(key) for key in range(self.keys)], dtype=np.int64)
        out = np.empty((pairs.people, self.width), dtype=np.uint8)
        for start in range(0, pairs.people, _CHUNK):
            rows = min(_CHUNK, pairs.people - start)
            keys = stream.below(self.keys, rows).astype(np.int64)
            steps = pairs.at(start, keys[:, None])[:, 0]
            held = steps >= 0
            half_steps = np.where(held, 2 * steps.astype(np.int64), fakes[keys])
            up = stream.below(2 * self.grid.steps, rows).astype(np.int64) < half_steps
            plus = up == (stream.words(rows) < np.uint64(self.value_truth))
            seen = held == (stream.words(rows) < np.uint64(self.key_truth))
            out[start : start + rows, :-1] = little_endian(keys, self._integer)
            out[start : start + rows, -1] = np.where(seen, np.where(plus, PLUS, MINUS), NOTHING)
        return out

    def _fields(self, reports: Reports) -> tuple[NDArray[np.integer], NDArray[np.uint8]]:
        return narrow_integers(np.ascontiguousarray(reports[:, :-1])), reports[:, -1]

    def _validate(self, reports: Reports) -> Validity:
        reason = f"a report has a key from 0 to {self.keys - 1:,} and a byte from 0 to 2"
        keys, said = self._fields(reports)
        return Validity((keys < self.keys) & (said < 3), reason)

    @property
    def tally_size(self) -> int:
        """For each key how often it said nothing, plus and minus."""
        return 3 * self.keys

    @property
    def counters_per_report(self) -> int:
        """A report is about one key."""
        return 1

    def tally(self, reports: Reports) -> Tally:
        """Counts by key and by what it said."""
        keys, said = self._fields(reports)
        counts = np.zeros(self.tally_size, dtype=np.int64)
        loops(reports.nbytes).count_codes(keys.astype(np.int64) * 3 + said, counts)
        return counts

    def counts(self, tally: Tally, reports: int) -> KeyCounts:
        """As tallied."""
        table = tally.reshape(self.keys, 3)
        return KeyCounts(table[:, PLUS], table[:, MINUS], table.sum(axis=1))

    @property
    def rates(self) -> KeyRates:
        """With fair made-up values: absent people say plus and minus equally often."""
        p1, p2 = self._chances()
        return KeyRates(float(1 - p1), float(2 * p1 - 1), float(p1 * (2 * p2 - 1)))

    @property
    def share(self) -> float:
        """A report is about one key."""
        return 1 / self.keys


class PrivKV(_PairMechanism):
    """PrivKV as published, or with the budget split as well as its exact privacy allows."""

    name = "privkv"
    OPTIONS = ("split",)

    def __init__(
        self,
        *,
        keys: int | Sequence[str],
        epsilon: float,
        low: float = -1.0,
        high: float = 1.0,
        outside: str = "refuse",
        split: str = "nominal",
        steps: int = STEPS,
    ) -> None:
        """`split="nominal"`: half of epsilon each for key and value, as the papers do.

        `split="exact"`: epsilon_2 = epsilon and epsilon_1 = ln((e**epsilon + 1)/2), the
        least noise at this exact epsilon.
        """
        self._open(keys, make_grid(low, high, outside, steps))
        asked = exact.checked_epsilon(epsilon)
        if checked_choice("split", split, SPLITS) == "nominal":
            odds = (exact.exp(Fraction(asked) / 2),) * 2
        else:
            power = exact.exp(asked)
            odds = ((power + 1) / 2, power)
        thresholds = [exact.floor_threshold(odd / (1 + odd)) for odd in odds]
        if min(thresholds) <= _HALF:
            raise exact.not_kept(epsilon)
        self.key_truth, self.value_truth = thresholds
        self._accept()

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Both splits, one key and several, odd grids."""
        return [
            cls(keys=1, epsilon=1.0, steps=1),
            cls(keys=2, epsilon=2.0, steps=3),
            cls(keys=2, epsilon=2.0, steps=2, split="exact"),
            cls(keys=3, epsilon=0.5, steps=1, low=0.0, high=5.0, outside="clip"),
        ]


class PrivKVM(_PairMechanism):
    """One round of PrivKVM: from the second on, made-up values are the published means.

    Of the budget, all of epsilon_1 (half) goes to the keys of round 1, and epsilon_2 / c to
    the values of each of the c rounds; later rounds say nothing about keys (p1 = 1/2). So
    frequencies are learned from round 1 and means from the last. `next(means)` is the
    mechanism of the next round; `rumor.privacy.rounds` makes the collection that carries it.
    """

    name = "privkvm"
    OPTIONS = ("rounds",)
    SHAPE = ("rounds", "round", "made_up")

    def __init__(
        self,
        *,
        keys: int | Sequence[str],
        epsilon: float,
        rounds: int = 3,
        low: float = -1.0,
        high: float = 1.0,
        outside: str = "refuse",
        steps: int = STEPS,
    ) -> None:
        """Round 1 of `rounds`; `epsilon` is a ceiling on what all of them cost together."""
        self._open(keys, make_grid(low, high, outside, steps))
        self.rounds = checked_size("rounds", rounds, 2, _MAX_ROUNDS)
        half = Fraction(exact.checked_epsilon(epsilon)) / 2
        odds = exact.exp(half), exact.exp(half / self.rounds)
        thresholds = [exact.floor_threshold(odd / (1 + odd)) for odd in odds]
        if min(thresholds) <= _HALF:
            raise exact.not_kept(epsilon)
        self._begin(1, [self.grid.steps] * self.keys, None)
        self.key_truth, self.value_truth = thresholds
        self._accept()

    def _shape(self, rounds: object, number: object, fakes: object) -> None:
        """The parent is the contract's to say."""
        self.rounds = checked_size("rounds", rounds, 2, _MAX_ROUNDS)
        self._begin(number, fakes, None)

    def _shaped(self) -> dict[str, Json]:
        return {"rounds": self.rounds, "round": self.round, "made_up": list(self.fakes)}

    def _accept(self) -> None:
        super()._accept()
        if (self.key_truth > _HALF) != (self.round == 1):
            raise InputError(
                f"PrivKVM asks about keys in round 1 alone; got round {self.round} with a key "
                f"threshold of {self.key_truth}"
            )

    def _begin(self, number: object, fakes: object, parent: str | None) -> None:
        self.round = checked_size("round", number, 1, self.rounds)
        most = 2 * self.grid.steps
        if not isinstance(fakes, (list, tuple)) or len(fakes) != self.keys:
            raise InputError(f"made_up must be a list of {self.keys} integers; got {shown(fakes)}")
        self.fakes = tuple(checked_size("made_up", fake, 0, most) for fake in fakes)
        self.parent = checked_parent(parent)
        if self.round == 1 and (set(self.fakes) != {self.grid.steps} or parent is not None):
            raise InputError("round 1 makes values up by a fair coin and has no parent")

    def made_up(self, key: int) -> int:
        """The mean that was published, to half a step."""
        return self.fakes[key]

    def next(self, means: object, *, parent: str | None = None) -> Self:
        """The next round, given the means that this one found; `parent` is its contract's digest.

        A mean that is not known (NaN) is the middle of the range, as in round 1.
        """
        if self.round == self.rounds:
            raise InputError(
                f"a PrivKVM collection of {self.rounds} rounds ends with round {self.rounds}; "
                f"got a request for round {self.round + 1}"
            )
        found = np.asarray(means, dtype=np.float64)
        if found.shape != (self.keys,):
            raise InputError(
                f"means must be one number for each of the {self.keys:,} keys; "
                f"got shape {found.shape}"
            )
        grid = self.grid
        known = np.clip(np.where(np.isnan(found), grid.middle, found), grid.low, grid.high)
        fakes = np.rint((known - grid.low) * (2 * grid.scale)).astype(np.int64)
        other = type(self).__new__(type(self))
        other._open(self.keys, grid)
        other.labels, other.rounds = self.labels, self.rounds
        other._begin(self.round + 1, np.minimum(fakes, 2 * grid.steps).tolist(), parent)
        other.key_truth, other.value_truth = _HALF, self.value_truth
        other._accept()
        return other

    def with_parent(self, parent: object) -> Self:
        """The same round, of a collection whose parent has this digest."""
        checked = checked_parent(parent)
        if (checked is None) != (self.round == 1):
            raise InputError(
                f"a PrivKVM round must name its parent unless it is the first; "
                f"got {shown(parent)} for round {self.round}"
            )
        other = self.with_labels(self.labels)
        other.parent = checked
        return other

    def epsilon_in_all(self, reports: int) -> float:
        """What so many reports in this round and in each that follows cost together.

        On round 1 those are all rounds. Later ones differ by the value alone: they lose ln(p2/q2).
        """
        p2 = Fraction(self.value_truth, exact.WORD)
        later = Fraction(exact.log_up(p2 / (1 - p2)))
        once = Fraction(self.epsilon) + (self.rounds - self.round) * later
        return exact.round_up(reports * once)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """A first, a middle and a last round."""
        first = cls(keys=2, epsilon=2.0, rounds=3, steps=2)
        second = first.next([-0.5, 0.75])
        return [first, second, second.next([-1.0, 1.0]), cls(keys=1, epsilon=0.5, rounds=2)]

    @property
    def rates(self) -> KeyRates:
        """Of round 1; later rounds do not tell f and s apart."""
        if self.round != 1:
            raise InputError(
                f"frequencies are learned from round 1 of PrivKVM; got round {self.round}"
            )
        return super().rates
