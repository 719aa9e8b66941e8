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

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rumor.core import exact
from rumor.core.canonical import Json
from rumor.core.checks import checked_choice, checked_size
from rumor.core.errors import InputError, format_value
from rumor.core.loops import loops
from rumor.core.randomness import Draws, RandomSource
from rumor.core.reports import Reports, Validity, bytes_for, little_endian, narrow_integers
from rumor.core.types import Tally
from rumor.core.typing import override
from rumor.mechanisms.blanket import Blanket, distributions_blanket
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


def _part(name: str, value: object) -> Fraction:
    """Return the part of the budget called `name`."""
    try:
        return Fraction(exact.checked_epsilon(value))
    except InputError as problem:
        raise InputError(str(problem).replace("epsilon", name, 1)) from None


def _within(lost: float, asked: float) -> None:
    """Refuse parts that lose more than the whole: `lost` is above `asked`."""
    if lost > asked:
        raise InputError(
            f"epsilon_1 and epsilon_2 must lose at most epsilon together, {asked:g}; got {lost:g}"
        )


class _PairMechanism(KeyValueMechanism):
    """One sampled key, with its value and its presence perturbed together."""

    _THRESHOLDS = ("key_truth", "value_truth")
    key_truth: int
    value_truth: int

    def _check_identifiable(self) -> None:
        if self.key_truth < _HALF or self.value_truth <= _HALF:
            raise InputError(
                f"the thresholds of the truth must be at least 2^63 (key) and above it (value); "
                f"got {self.key_truth} and {self.value_truth}"
            )
        self._integer = bytes_for(self.keys)

    def made_up(self, key: int) -> int:
        """Return the made-up value of a key in half steps of the grid, 0 to 2 G."""
        return self.grid.steps

    def _chances(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.key_truth, exact.WORD), Fraction(self.value_truth, exact.WORD)

    def _plus(self, up: Fraction) -> Fraction:
        """Return P(+ | the pair is reported, its value is rounded up with this probability)."""
        p2 = self._chances()[1]
        return 1 - p2 + (2 * p2 - 1) * up

    @property
    def epsilon(self) -> float:
        """The exact loss: the worst ratio over outputs and pairs of inputs, key by key."""
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
        """The loss as the papers count it: the losses of key and value added up."""
        p1, p2 = self._chances()
        losses = exact.log_up(p1 / (1 - p1)), exact.log_up(p2 / (1 - p2))
        return exact.round_up(sum(map(Fraction, losses), Fraction(0)))

    def blanket(self) -> Blanket:
        """Return the blanket given a key: held with the least or the largest number, or not held.

        The made-up value of a key that is not held lies between the least and the largest number.
        """
        p1, p2 = self._chances()
        plus = {(p1, 1 - p2), (p1, p2)}
        for half_steps in (min(made := [*map(self.made_up, range(self.keys))]), max(made)):
            plus.add((1 - p1, self._plus(Fraction(half_steps, 2 * self.grid.steps))))
        return distributions_blanket(
            [(1 - seen, seen * up, seen * (1 - up)) for seen, up in sorted(plus)]
        )

    @property
    @override
    def width(self) -> int:
        return self._integer + 1

    @property
    @override
    def alphabet(self) -> int:
        return 3 * self.keys

    @override
    def outputs(self, public: bytes = b"") -> Reports:
        keys = little_endian(np.repeat(np.arange(self.keys), 3), self._integer)
        said = np.tile(np.arange(3, dtype=np.uint8), self.keys)[:, None]
        return np.hstack([keys, said])

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
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
        """Draw below(keys); the value's sign; coin(value_truth) to keep it; coin(key_truth).

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

    def _privatize(self, values: object, source: RandomSource) -> Reports:
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
    @override
    def tally_size(self) -> int:
        return 3 * self.keys

    @property
    @override
    def counters_per_report(self) -> int:
        return 1

    @override
    def tally(self, reports: Reports) -> Tally:
        keys, said = self._fields(reports)
        counts = np.zeros(self.tally_size, dtype=np.int64)
        loops(reports.nbytes).count_codes(keys.astype(np.int64) * 3 + said, counts)
        return counts

    @override
    def counts(self, tally: Tally, reports: int) -> KeyCounts:
        table = tally.reshape(self.keys, 3)
        return KeyCounts(table[:, PLUS], table[:, MINUS], table.sum(axis=1))

    @property
    def state_channel(self) -> NDArray[np.float64]:
        """The matrix of four states, as published: people without the key have a made-up sign."""
        p1, p2 = map(float, self._chances())
        q1, q2 = 1 - p1, 1 - p2
        return np.array(
            [
                [p1 * p2, p1 * q2, q1],
                [p1 * q2, p1 * p2, q1],
                [q1 * p2, q1 * q2, p1],
                [q1 * q2, q1 * p2, p1],
            ]
        )

    @property
    def rates(self) -> KeyRates:
        """The rates with fair made-up values: absent people say plus and minus equally often."""
        p1, p2 = self._chances()
        return KeyRates(float(1 - p1), float(2 * p1 - 1), float(p1 * (2 * p2 - 1)))

    @property
    def share(self) -> float:
        """The share of the reports that are about one key."""
        return 1 / self.keys


class PrivKV(_PairMechanism):
    """PrivKV as published, or with the budget split as well as its exact privacy allows."""

    name = "privkv"
    OPTIONS = ("split", "epsilon_1", "epsilon_2")

    def __init__(
        self,
        *,
        keys: int | Sequence[str],
        epsilon: float,
        low: float = -1.0,
        high: float = 1.0,
        outside: str = "refuse",
        split: str = "nominal",
        epsilon_1: float | None = None,
        epsilon_2: float | None = None,
        steps: int = STEPS,
    ) -> None:
        """Make PrivKV; `split="nominal"` gives half of epsilon each
        to key and value, as the papers do.

        `split="exact"`: epsilon_2 = epsilon and epsilon_1 = ln((e**epsilon + 1)/2), the
        least noise at this exact epsilon. Or `epsilon_1` for the key and `epsilon_2` for the value,
        which together lose at most `epsilon` (their sum always will do).
        """
        self._open(keys, make_grid(low, high, outside, steps))
        asked = exact.checked_epsilon(epsilon)
        if checked_choice("split", split, SPLITS) == "nominal":
            odds = (exact.exp(Fraction(asked) / 2),) * 2
        else:
            power = exact.exp(asked)
            odds = ((power + 1) / 2, power)
        if epsilon_1 is not None or epsilon_2 is not None:
            if epsilon_1 is None or epsilon_2 is None or split != "nominal":
                raise InputError(
                    "epsilon_1 and epsilon_2 go together and take the place of a split; "
                    f"got {format_value(epsilon_1)} and {format_value(epsilon_2)} with split "
                    f"{format_value(split)}"
                )
            odds = (
                exact.exp(_part("epsilon_1", epsilon_1)),
                exact.exp(_part("epsilon_2", epsilon_2)),
            )
        thresholds = [exact.floor_threshold(odd / (1 + odd)) for odd in odds]
        if min(thresholds) <= _HALF:
            raise exact.not_kept(epsilon)
        self.key_truth, self.value_truth = thresholds
        self._check_identifiable()
        if epsilon_1 is not None:
            _within(self.epsilon, asked)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with both splits, one key and several, and odd grids."""
        return [
            cls(keys=1, epsilon=1.0, steps=1),
            cls(keys=2, epsilon=2.0, steps=3),
            cls(keys=2, epsilon=2.0, steps=2, split="exact"),
            cls(keys=3, epsilon=0.5, steps=1, low=0.0, high=5.0, outside="clip"),
            cls(keys=2, epsilon=2.0, steps=2, epsilon_1=0.5, epsilon_2=1.5),
        ]


class PrivKVM(_PairMechanism):
    """One round of PrivKVM: from the second on, made-up values are the published means.

    Of the budget, all of epsilon_1 (half) goes to the keys of round 1, and epsilon_2 / c to
    the values of each of the c rounds, by default; later rounds say nothing about keys
    (p1 = 1/2), and where their values have other budgets a contract says so (`later`). So
    frequencies are learned from round 1 and means from the last. `next(means)` is the
    mechanism of the next round; `rumor.privacy.rounds` makes the collection that carries it.
    """

    name = "privkvm"
    OPTIONS = ("rounds", "epsilon_1", "epsilon_2")
    _SHAPE_NAMES = ("rounds", "round", "made_up")
    later: tuple[int, ...]
    """The thresholds of the values in the rounds that follow."""

    def __init__(
        self,
        *,
        keys: int | Sequence[str],
        epsilon: float,
        rounds: int = 3,
        low: float = -1.0,
        high: float = 1.0,
        outside: str = "refuse",
        epsilon_1: float | Sequence[float] | None = None,
        epsilon_2: Sequence[float] | None = None,
        steps: int = STEPS,
    ) -> None:
        """Make round 1 of `rounds`; `epsilon` is a ceiling on the loss of all rounds together.

        `epsilon_1` is the part of the keys, asked about in round 1 alone, and `epsilon_2` the parts
        of the values, one for each round: half of epsilon, and the other half evenly, by default.
        Written as a list, `epsilon_1` has a number for each round, 0 after the first.
        """
        self._open(keys, make_grid(low, high, outside, steps))
        self.rounds = checked_size("rounds", rounds, 2, _MAX_ROUNDS)
        asked = exact.checked_epsilon(epsilon)
        half = Fraction(asked) / 2
        parts = [half, *[half / self.rounds] * self.rounds]
        if epsilon_1 is not None:
            parts[0] = self._key_part(epsilon_1)
        if epsilon_2 is not None:
            parts[1:] = self._value_parts(epsilon_2)
        odds = [exact.exp(part) for part in parts]
        thresholds = [exact.floor_threshold(odd / (1 + odd)) for odd in odds]
        if min(thresholds) <= _HALF:
            raise exact.not_kept(epsilon)
        self._begin(1, [self.grid.steps] * self.keys, None)
        self.key_truth, self.value_truth = thresholds[:2]
        self.later = tuple(thresholds[2:])
        self._check_identifiable()
        if epsilon_1 is not None or epsilon_2 is not None:
            _within(self.epsilon_all_rounds(1), asked)

    def _key_part(self, given: object) -> Fraction:
        """Return the part of the keys: one number, or a list with 0 after the first round."""
        if not isinstance(given, (list, tuple)):
            return _part("epsilon_1", given)
        if len(given) != self.rounds or any(part is False or part != 0 for part in given[1:]):
            raise InputError(
                f"epsilon_1 as a list must be a number for each of the {self.rounds} rounds, 0 "
                f"after the first, since keys are asked about in round 1 alone; "
                f"got {format_value(given)}"
            )
        return _part("epsilon_1", given[0])

    def _value_parts(self, given: object) -> list[Fraction]:
        if not isinstance(given, (list, tuple)) or len(given) != self.rounds:
            raise InputError(
                f"epsilon_2 must be a list of a number for each of the {self.rounds} rounds; "
                f"got {format_value(given)}"
            )
        return [_part("epsilon_2", part) for part in given]

    def parameters(self) -> dict[str, Json]:
        """Return the parameters; if later rounds differ, their
        thresholds in place of their number.
        """
        found = super().parameters()
        if not set(self.later) <= {self.value_truth}:
            del found["rounds"]
            found["later"] = [str(threshold) for threshold in self.later]
        return found

    @classmethod
    @override
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        if "later" not in parameters:
            if "rounds" not in parameters:
                raise InputError(f"{cls.name!r} must have rounds or later; got neither")
            return super().from_parameters(parameters)
        if "rounds" in parameters:
            raise InputError(f"{cls.name!r} must have rounds or later; got both")
        later, round_ = parameters["later"], parameters.get("round")
        if not isinstance(later, (list, tuple)) or not later:
            raise InputError(f"later must be a list of thresholds; got {format_value(later)}")
        rest = {name: value for name, value in parameters.items() if name != "later"}
        last = checked_size("round", round_, 1, _MAX_ROUNDS) + len(later)
        self = super().from_parameters({**rest, "rounds": last})
        self.later = tuple(exact.checked_threshold("later", one) for one in later)
        if min(self.later) <= _HALF:
            raise InputError(f"later must be thresholds above 2^63; got {format_value(later)}")
        if set(self.later) == {self.value_truth}:
            raise InputError("later is for rounds that differ; got those of rounds alike")
        return self

    def _load_shape(self, rounds: object, number: object, fakes: object) -> None:
        """Take the thresholds and the rounds; the parent comes from the contract."""
        self.rounds = checked_size("rounds", rounds, 2, _MAX_ROUNDS)
        self._begin(number, fakes, None)

    def _shape_parameters(self) -> dict[str, Json]:
        return {"rounds": self.rounds, "round": self.round, "made_up": list(self.fakes)}

    def _check_identifiable(self) -> None:
        super()._check_identifiable()
        if not hasattr(self, "later"):
            self.later = (self.value_truth,) * (self.rounds - self.round)
        if (self.key_truth > _HALF) != (self.round == 1):
            raise InputError(
                f"PrivKVM asks about keys in round 1 alone; got round {self.round} with a key "
                f"threshold of {self.key_truth}"
            )

    def _begin(self, number: object, fakes: object, parent: str | None) -> None:
        self.round = checked_size("round", number, 1, self.rounds)
        most = 2 * self.grid.steps
        if not isinstance(fakes, (list, tuple)) or len(fakes) != self.keys:
            raise InputError(
                f"made_up must be a list of {self.keys} integers; got {format_value(fakes)}"
            )
        self.fakes = tuple(checked_size("made_up", fake, 0, most) for fake in fakes)
        self.parent = checked_parent(parent)
        if self.round == 1 and (set(self.fakes) != {self.grid.steps} or parent is not None):
            raise InputError("round 1 makes values up by a fair coin and has no parent")

    def made_up(self, key: int) -> int:
        """Return the published mean, to half a step."""
        return self.fakes[key]

    def next(self, means: object, *, parent: str | None = None) -> Self:
        """Return the mechanism of the next round from the `means` of
        this one and its contract's digest.

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
        other.key_truth, other.value_truth = _HALF, self.later[0]
        other.later = self.later[1:]
        other._check_identifiable()
        return other

    @override
    def with_parent(self, parent: object) -> Self:
        checked = checked_parent(parent)
        if (checked is None) != (self.round == 1):
            raise InputError(
                f"a PrivKVM round must name its parent unless it is the first; "
                f"got {format_value(parent)} for round {self.round}"
            )
        other = self.with_labels(self.labels)
        other.parent = checked
        return other

    def epsilon_all_rounds(self, reports: int) -> float:
        """Return the loss of `reports` reports in this round and as many in each that follows.

        In round 1 the result is for all rounds. Later rounds reveal the value alone: each report
        loses ln(p2/q2).
        """
        chances = [Fraction(truth, exact.WORD) for truth in self.later]
        later = sum((Fraction(exact.log_up(p2 / (1 - p2))) for p2 in chances), Fraction(0))
        return exact.round_up(reports * (Fraction(self.epsilon) + later))

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances of a first, a middle and a last round."""
        first = cls(keys=2, epsilon=2.0, rounds=3, steps=2)
        second = first.next([-0.5, 0.75])
        uneven = cls(keys=1, epsilon=2.0, rounds=3, epsilon_1=0.5, epsilon_2=[0.75, 0.5, 0.25])
        return [
            first,
            second,
            second.next([-1.0, 1.0]),
            cls(keys=1, epsilon=0.5, rounds=2),
            uneven,
            uneven.next([0.5]),
        ]

    @property
    def rates(self) -> KeyRates:
        """The rates of round 1; later rounds do not tell f and s apart."""
        if self.round != 1:
            raise InputError(
                f"frequencies are learned from round 1 of PrivKVM; got round {self.round} "
                "(rumor estimate --earlier takes the rounds before)"
            )
        return super().rates
