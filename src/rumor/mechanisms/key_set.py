"""Key sets: several signed keys at once, among which are the person's own more often than others.

Item sampling says one key; where people hold few of many, a set of dozens says far more for the
same loss (PrivSet: Wang et al. 2018; with signs, and for keys with numbers, our own).

Model. There are d = D + l keys, the last l of them dummies, and a person has exactly l *own* signed
keys: those that they hold, each value rounded at random to a sign, and dummies D, D + 1, ... with a
plus to make up for the rest (of more than l held keys, l are drawn). A report is a set of k
distinct keys, each with a sign. Of all M = C(d, k) 2**k of them, M0 = sum over j of C(l, j)
C(d - l, k - j) 2**(k - j) share no own signed key with the person, and M1 = M - M0 do. With t the
threshold of the truth:
    P(report | own) = t / 2**64 / M1             if they share one
                    = (1 - t / 2**64) / M0       otherwise
Privacy: padding makes M0 the same for everybody, so the loss is the logarithm of the ratio of the
two; rounding signs only mixes such laws. t is rounded down.
Draw: the coin says whether to share, and uniform sets are drawn until one does (or does not). How
many that takes depends on the coin, so that a device draws before it opens any connection.
Report: k integers, ascending, 2 key + (0 plus, 1 minus), little-endian, each in as few bytes as the
largest needs.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rumor.core import exact
from rumor.core.checks import checked_size
from rumor.core.errors import InputError
from rumor.core.pairs import Keys, Pairs
from rumor.core.randomness import Draws, RandomSource, Stream, floyd
from rumor.core.reports import Reports, Validity, bytes_for, from_little_endian, little_endian
from rumor.core.types import Tally
from rumor.core.typing import override
from rumor.mechanisms.blanket import Blanket, support_blanket
from rumor.mechanisms.capped import CappedMechanism, drawn_slots
from rumor.mechanisms.keyvalue import PLUS, KeyCounts, KeyRates, sampled_keys

# Keys in a report, at most: 2 or 3 bytes each.
MOST_KEYS = 128
# People hold about this part of the cap on average, where the cap is rarely exceeded.
USUAL_FILL = 0.65
# People drawn at a time, times keys.
_CHUNK_CELLS = 1 << 21


class KeySet(CappedMechanism):
    """A set of signed keys: the least noise where people hold few of many keys.

    `cap` is the most keys that a person may hold; `over_cap="sample"` draws from more. `size` is
    how many keys a report has, the best number by default.
    """

    name = "key-set"
    OPTIONS = ("cap", "over_cap", "size")
    _SHAPE_NAMES = ("size",)
    size: int

    def __init__(
        self,
        *,
        keys: int | Sequence[str],
        epsilon: float,
        cap: int,
        size: int | None = None,
        **further: object,
    ) -> None:
        self._wished = size
        super().__init__(keys=keys, epsilon=epsilon, cap=cap, **further)  # type: ignore[arg-type]

    def _chance_of_truth(self, power: Fraction) -> Fraction:
        wished, self._wished = self._wished, None
        best = best_size(self.keys, self.cap, float(power)) if wished is None else wished
        self._load_shape(best)
        sharing, missing = self._sets
        return power * sharing / (power * sharing + missing)

    def _load_shape(self, size: object) -> None:
        self.size = checked_size("size", size, 1, min(MOST_KEYS, self.keys))

    def _check_identifiable(self) -> None:
        sharing, missing = self._sets
        if self.truth * missing <= (exact.WORD - self.truth) * sharing:
            raise InputError(
                "the threshold of the truth must make own keys likelier than others; "
                f"got {self.truth}"
            )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances like item sampling, with several keys,
        with a cap of every key, and beyond it.
        """
        return [
            cls(keys=2, epsilon=1.0, cap=1, size=1, steps=2, over_cap="sample"),
            cls(keys=3, epsilon=2.0, cap=1, size=2, steps=1, over_cap="sample"),
            cls(keys=2, epsilon=0.5, cap=2, size=2, steps=1, low=0.0, high=5.0, outside="clip"),
            cls(keys=3, epsilon=1.0, cap=2, size=2, steps=1, over_cap="sample"),
        ]

    @property
    def _others(self) -> int:
        return self._sets[1]

    @property
    def _all(self) -> int:
        """The number of keys and dummies together."""
        return self.keys + self.cap

    @functools.cached_property
    def _sets(self) -> tuple[int, int]:
        """The numbers of sets that share an own signed key, and of sets that share none."""
        own, rest, k = self.cap, self._all - self.cap, self.size
        missing = sum(
            math.comb(own, j) * math.comb(rest, k - j) << (k - j) for j in range(min(own, k) + 1)
        )
        return (math.comb(self._all, k) << k) - missing, missing

    @functools.cached_property
    def _chances(self) -> tuple[Fraction, Fraction]:
        """The chances of one set that shares an own signed key, and of one that shares none."""
        truth, (sharing, missing) = Fraction(self.truth, exact.WORD), self._sets
        return truth / sharing, (1 - truth) / missing

    @functools.cached_property
    def epsilon(self) -> float:
        """The exact loss: a set that shares an own key against one that does not."""
        near, far = self._chances
        return exact.worst_log_ratio([near / far])

    def blanket(self) -> Blanket:
        """Return the blanket of two people who own the same keys with opposite signs.

        Fewest sets share a key with both. A set that misses both has none of these l keys, and
        any sign of others.
        """
        near, far = self._chances
        sharing, missing = self._sets
        neither = math.comb(self._all - self.cap, self.size) << self.size
        return support_blanket(sharing * near, near / far, (sharing - missing + neither) * far)

    @property
    def _integer(self) -> int:
        return bytes_for(2 * self._all)

    @property
    @override
    def width(self) -> int:
        return self.size * self._integer

    @property
    @override
    def alphabet(self) -> int:
        return math.comb(self._all, self.size) << self.size

    @override
    def outputs(self, public: bytes = b"") -> Reports:
        rows = [
            self._report([2 * key + sign for key, sign in zip(keys, signs, strict=True)])
            for keys in itertools.combinations(range(self._all), self.size)
            for signs in itertools.product((0, 1), repeat=self.size)
        ]
        return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, self.width)

    def _report(self, items: Sequence[int]) -> bytes:
        return b"".join(item.to_bytes(self._integer, "little") for item in items)

    def items(self, reports: Reports) -> NDArray[np.int64]:
        """Return the signed keys of each report, 2 key + (0 plus, 1 minus)."""
        flat = reports.reshape(-1, self._integer)
        return from_little_endian(flat).reshape(len(reports), self.size)

    def _validate(self, reports: Reports) -> Validity:
        items = self.items(reports)
        rising = (np.diff(items // 2, axis=1) > 0).all(axis=1)
        reason = f"a report is {self.size} ascending keys below {self._all:,}, each with a sign"
        return Validity(rising & (items[:, -1] < 2 * self._all), reason)

    def probability(self, report: bytes, value: object) -> Fraction:
        """Return the model at the top of this file, the rounding of the values included.

        A set misses all own keys when it misses each one. For a person with more than l keys, the
        probability is the mean over the choices of l own keys.
        """
        row = np.frombuffer(report, dtype=np.uint8)[None]
        said = {int(item) // 2: int(item) % 2 for item in self.items(row)[0]}
        held, near, far = self.held(value), *self._chances
        own = list(itertools.combinations(held, min(self.cap, len(held))))
        missed = Fraction(0)
        for chosen in own:
            padding = range(self.keys, self._all - len(chosen))
            every = [said.get(dummy) != 0 for dummy in padding]
            chance = Fraction(all(every))
            for key, step in chosen:
                if key in said:
                    chance *= 1 - self.sign_chance(step, PLUS + said[key])
            missed += chance / len(own)
        return far * missed + near * (1 - missed)

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw own signed keys; coin(truth), whether to share one; sets until that is so.

        Of more than l held keys, l places among them by Floyd's algorithm; then, by ascending key,
        below(G), plus when it is below the step. A set: keys by Floyd's algorithm out of D + l,
        then, by ascending key, below(2), 0 for plus.
        """
        held = self.held(value)
        if len(held) > self.cap:
            held = [held[place] for place in floyd(draws, len(held), self.cap)]
        own = {2 * key + (draws.below(self.grid.steps) >= step) for key, step in held}
        own.update(2 * dummy for dummy in range(self.keys, self._all - len(held)))
        want = draws.coin(self.truth)

        def some_set() -> list[int]:
            keys = floyd(draws, self._all, self.size)
            return [2 * key + draws.below(2) for key in keys]

        return self._report(draws.first(some_set, lambda s: (not own.isdisjoint(s)) == want))

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        pairs, sizes = self.read_capped(values)
        stream = source.stream()
        out = np.empty((pairs.people, self.size), dtype=np.int64)
        chunk = max(16, _CHUNK_CELLS // self._all)
        for start in range(0, pairs.people, chunk):
            rows = min(chunk, pairs.people - start)
            own = self._own(pairs, sizes[start : start + rows], start, stream)
            want = stream.words(rows) < np.uint64(self.truth)
            waiting = np.arange(rows)
            while waiting.size:
                keys = sampled_keys(stream, waiting.size, self._all, self.size)
                items = 2 * keys + stream.below(2, keys.size).astype(np.int64).reshape(keys.shape)
                shares = own[waiting[:, None], items].any(axis=1)
                good = shares == want[waiting]
                out[start + waiting[good]] = items[good]
                waiting = waiting[~good]
        return little_endian(out.reshape(-1), self._integer).reshape(-1, self.width)

    def _own(self, pairs: Pairs, sizes: Keys, start: int, stream: Stream) -> NDArray[np.bool_]:
        """Return, for each person of a chunk, which of all signed keys are own."""
        rows = sizes.size
        steps = pairs.at(start, np.tile(np.arange(self.keys), (rows, 1)))
        held = steps >= 0
        over = np.flatnonzero(sizes > self.cap)
        if over.size:
            held[over] &= self._kept(held[over], sizes[over], stream)
        up = stream.below(self.grid.steps, steps.size).astype(np.int64).reshape(steps.shape) < steps
        own = np.zeros((rows, 2 * self._all), dtype=bool)
        own[:, : 2 * self.keys : 2] = held & up
        own[:, 1 : 2 * self.keys : 2] = held & ~up
        dummies = self.cap - np.minimum(sizes, self.cap)
        own[:, 2 * self.keys :: 2] = np.arange(self.cap) < dummies[:, None]
        return own

    def _kept(self, held: NDArray[np.bool_], sizes: Keys, stream: Stream) -> NDArray[np.bool_]:
        """Return the keys that are drawn of people who hold more
        than the cap, as `draw` does it.
        """
        kept = np.zeros(held.shape, dtype=bool)
        for column in range(self.cap):
            last = sizes - self.cap + column
            pick = drawn_slots(stream, last + 1)
            taken = np.take_along_axis(kept, pick[:, None], axis=1)[:, 0]
            np.put_along_axis(kept, np.where(taken, last, pick)[:, None], True, axis=1)
        places = np.maximum(np.cumsum(held, axis=1) - 1, 0)
        return np.asarray(np.take_along_axis(kept, places, axis=1))

    @property
    @override
    def tally_size(self) -> int:
        return 2 * self.keys

    @override
    def tally(self, reports: Reports) -> Tally:
        counts = np.bincount(self.items(reports).reshape(-1), minlength=2 * self._all)
        return np.asarray(counts[: self.tally_size], dtype=np.int64)

    def counts(self, tally: Tally, reports: int) -> KeyCounts:
        """Return the counts of + and - of every key: a set says
        nothing of the keys that it lacks.
        """
        return KeyCounts(tally[0::2], tally[1::2], np.full(self.keys, reports, dtype=np.int64))

    @property
    def most_shown(self) -> int:
        """The largest number of keys in a report: the size of a set."""
        return self.size

    @functools.cached_property
    def rates(self) -> KeyRates:
        """The rates of + and - for people who hold at most the cap."""
        near, far = self._chances
        return set_rates(self.keys, self.cap, self.size, float(near / far))


def _missing(all_keys: int, own: int, size: int) -> float:
    """Return the share of signed sets that miss all own signed
    keys: the mean of 2**-j over Hyp(j).
    """
    terms = (
        _log_comb(own, j) + _log_comb(all_keys - own, size - j) - j * math.log(2)
        for j in range(max(0, size - all_keys + own), min(own, size) + 1)
    )
    total = _log_comb(all_keys, size)
    return math.fsum(math.exp(term - total) for term in terms)


def _log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def set_rates(keys: int, cap: int, size: int, power: float) -> KeyRates:
    """Return the chances that a set has a key with the own sign, with the other, or not held."""
    d = keys + cap
    none, beside, absent = (
        _missing(d, cap, size),
        _missing(d - 1, cap - 1, size - 1),
        _missing(d - 1, cap, size - 1),
    )
    scale = size / (2 * d) / (power * (1 - none) + none)
    hit = power * scale
    opposite = scale * (power * (1 - beside) + beside)
    other = scale * (power * (1 - absent) + absent)
    return KeyRates(2 * other, hit + opposite - 2 * other, hit - opposite)


@functools.lru_cache(maxsize=256)
def best_size(keys: int, cap: int, power: float) -> int:
    """Return the number of keys with the least variance of shares and signs together."""
    f = USUAL_FILL * cap / keys

    def noise(size: int) -> float:
        rates = set_rates(keys, cap, size, power)
        seen = rates.miss + rates.gain * f
        if rates.gain <= 0 or rates.sign_gain <= 0:
            return math.inf
        return seen * (1 - seen) / rates.gain**2 + seen / rates.sign_gain**2

    return min(range(1, min(MOST_KEYS, keys) + 1), key=noise)
