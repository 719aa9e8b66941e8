"""Select: a random set of options that is likely to hold some of the person's own.

Of D options a person chose s, at most the cap m, and pads with m - s dummies: m *own slots*. The
universe has D + m entries, the options and m dummies. With k the size, `least` the fewest own
slots of a likelier set and b the threshold of the boost:
    coin(b):    h own slots, at least `least`, uniformly, and k - h of the D others, uniformly;
                h by the hypergeometric law (D + m, m, k) given h >= least
    otherwise:  k of the universe, uniformly
and the dummies among them are dropped. (With least = 1: PrivSet, Wang et al. 2018.)

Privacy, with N = C(D + m, k) sets and w_h = C(m, h) C(D, k - h) of them with h own slots: a set
of the universe has the probability (1 - b) / N, and b P(h) / w_h more where it shows h >= least
own slots. That is so whatever was chosen, so the loss is ln(1 + b / (1 - b) N max_h P(h) / w_h);
dropping dummies adds nothing. h is drawn by coins whose thresholds are rounded, and P(h) is what
they give, exactly. The likeliest h takes what rounding leaves over, so that no rare one is blown
up by it: an h too rare for 64 bits loses its boost, and nothing else.

For every option on its own hit = E h / m and miss = (k - E h) / D, whatever else was chosen and
however much. Of more than m options m are kept at random, which is as private and makes their
shares smaller by m/s; a table with such people is refused unless the collection says so. (A
device keeps m either way: whether a report exists must not depend on the answer.)
Report: the options shown, ascending, each an integer, with D in place of each dropped one; or,
where k > 1 and it is no longer, a bitmap.
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
from rumor.core.checks import checked_choice, checked_size
from rumor.core.columns import named_domain
from rumor.core.errors import AnswerError, InputError
from rumor.core.loops import loops
from rumor.core.option_sets import Chosen, OptionSets, keep_at_most, uniform_subsets
from rumor.core.randomness import Draws, RandomSource, Stream, floyd
from rumor.core.reports import Reports, Validity, bytes_for, little_endian, narrow_integers
from rumor.core.types import Tally
from rumor.core.typing import override
from rumor.mechanisms.blanket import Blanket, support_blanket
from rumor.mechanisms.cap_sampling import Kept
from rumor.mechanisms.capped import OVER_CAP
from rumor.mechanisms.sets import (
    PairCounts,
    SetMechanism,
    count_pairs,
    pairs_of,
    unpack_bits,
)
from rumor.mechanisms.support import ItemCounts

MAX_CAP = 128
# Cells of a table of people and entries of the universe that are drawn at a time.
_CELLS = 1 << 22
# The part of a boost that rounded coins may lose while it still counts as whole.
_TRIFLE = Fraction(1, 1 << 32)


class SetSelect(SetMechanism):
    """A random set of options that is likely to hold some of the
    person's own: best if few of many are chosen.

    `cap` is the most options that one person may choose; `over_cap="sample"` keeps `cap` of more.
    """

    name = "select"
    OPTIONS = ("cap", "size", "least", "over_cap")
    _SHAPE_NAMES = OPTIONS
    _THRESHOLDS = ("boost",)
    boost: int
    """The threshold of drawing a set with at least `least` own slots."""
    cap: int
    size: int
    least: int
    over_cap: str

    def __init__(
        self,
        *,
        domain: int | Sequence[str] | None = None,
        epsilon: float,
        cap: int,
        size: int,
        least: int = 1,
        over_cap: str = "refuse",
        counted: str = "options",
        labels: Sequence[str] | None = None,
    ) -> None:
        """Make select on `domain`, a number of options or labels;
        `size` is k, by default the best.
        """
        self._open(named_domain(domain, labels), counted)
        self._load_shape(cap, size, least, over_cap)
        power = exact.exp(exact.checked_epsilon(epsilon))
        self.boost = exact.floor_threshold((power - 1) / (power - 1 + self._largest))
        self._check_identifiable()
        if self.epsilon > epsilon:
            raise exact.not_kept(epsilon)

    def _load_shape(self, cap: object, size: object, least: object, over_cap: object) -> None:
        self.cap = checked_size("cap", cap, 1, min(self.domain, MAX_CAP))
        self.size = checked_size("size", size, 1, self.domain)
        self.least = checked_size("least", least, 1, min(self.cap, self.size))
        self.over_cap = checked_choice("over_cap", over_cap, OVER_CAP)
        self._integer = bytes_for(self.domain + 1)
        self.bitmap = self.size > 1 and (self.domain + 7) // 8 <= self.size * self._integer

    def _check_identifiable(self) -> None:
        """Refuse to count pairs with fewer than two own slots, or a set too small to show both."""
        if self.pairs and min(self.cap, self.size) < 2:
            raise InputError(
                f"pairs need a cap and a size of at least 2; got {self.cap} and {self.size}"
            )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with bitmaps and lists, pairs, a higher
        `least`, and sets over the cap.
        """
        return [
            cls(domain=2, epsilon=1.0, cap=1, size=1),
            cls(domain=3, epsilon=0.5, cap=2, size=2, over_cap="sample"),
            cls(domain=4, epsilon=2.0, cap=2, size=2, counted="pairs"),
            cls(domain=5, epsilon=1.0, cap=3, size=3, least=2, counted="pairs"),
            cls(domain=18, epsilon=4.0, cap=2, size=2),
        ]

    @property
    def most_held(self) -> int:
        """The largest number of options that a person may choose: the cap, if more are refused."""
        return self.cap if self.over_cap == "refuse" else self.domain

    @property
    def kept(self) -> Kept | None:
        """The limit that the cap sets; None if the cap is the number of all options."""
        if self.cap == self.domain:
            return None
        may_exceed = self.most_held > self.cap
        return Kept("options", "chose", self.cap, self.domain, self.size, may_exceed)

    # How many own slots are shown

    @functools.cached_property
    def _ways(self) -> dict[int, int]:
        """The numbers of sets of the universe that show h own slots, from `least` on."""
        most = min(self.cap, self.size)
        return {
            h: math.comb(self.cap, h) * math.comb(self.domain, self.size - h)
            for h in range(self.least, most + 1)
        }

    @functools.cached_property
    def _turns(self) -> list[tuple[int, int]]:
        """The pairs (h, threshold) in the order in which they are tried, the likeliest h last.

        Rarer h come first; an h whose threshold rounds to 0 is not tried at all.
        """
        ordered = sorted(self._ways, key=lambda h: (self._ways[h], h))
        left, turns = sum(self._ways.values()), []
        for h in ordered[:-1]:
            turns.append((h, (self._ways[h] << 64) // left))
            left -= self._ways[h]
        return [(h, threshold) for h, threshold in turns if threshold] + [(ordered[-1], 0)]

    @functools.cached_property
    def _chances(self) -> dict[int, Fraction]:
        """The chances P(h | the boost) that the coins give."""
        chances, left = {}, Fraction(1)
        for h, threshold in self._turns[:-1]:
            chances[h] = left * Fraction(threshold, exact.WORD)
            left -= chances[h]
        chances[self._turns[-1][0]] = left
        return chances

    @functools.cached_property
    def _universe(self) -> int:
        return math.comb(self.domain + self.cap, self.size)

    @functools.cached_property
    def _largest(self) -> Fraction:
        """The largest N P(h) / w_h over h."""
        return self._universe * max(p / self._ways[h] for h, p in self._chances.items())

    @functools.cached_property
    def epsilon(self) -> float:
        """The exact loss: a set with the likeliest number of own slots against one with few."""
        boost = Fraction(self.boost, exact.WORD)
        return exact.worst_log_ratio([1 + boost / (1 - boost) * self._largest])

    def blanket(self) -> Blanket:
        """Return a blanket for two people without a common slot, as if all boosts were the largest.

        The ratio of a set that shows h own slots is a mean of 1 and the largest: drawing one of
        the two is safe, and where it draws the largest the set supports the person. Fewest sets
        show `least` slots of both people when none is in common. The numbers of slots that rounded
        coins boost less, or not at all, are left out of what both support.
        """
        boost, sets = Fraction(self.boost, exact.WORD), self._universe
        each, entries = (1 - boost) / sets, self.domain + self.cap
        rises = {h: p * sets / self._ways[h] / self._largest for h, p in self._chances.items()}
        full = {h: rise for h, rise in rises.items() if rise > 1 - _TRIFLE}
        slots = [(h, math.comb(self.cap, h)) for h in range(self.least)]
        few = sum(
            ways * math.comb(self.domain, self.size - h) for h, ways in slots if h <= self.size
        )
        neither = sum(
            one * other * math.comb(entries - 2 * self.cap, self.size - h - i)
            for (h, one), (i, other) in itertools.product(slots, slots)
            if h + i <= self.size
        )
        left_out = sum(ways for h, ways in self._ways.items() if h not in full)
        both = (sets - 2 * few + neither - 2 * left_out) * min(full.values()) ** 2
        odds = 1 + boost / (1 - boost) * self._largest
        # Of mean 1 under the blanket: gamma + (odds - 1) * (mass of support) = 1.
        return support_blanket(boost / (odds - 1) * odds, odds, max(both * each, Fraction(0)))

    @functools.cached_property
    def _moments(self) -> tuple[Fraction, Fraction]:
        """The means of h and of h (h - 1) in the whole mixture."""
        boost, entries = Fraction(self.boost, exact.WORD), self.domain + self.cap
        first = Fraction(self.size * self.cap, entries)
        second = first * Fraction((self.size - 1) * (self.cap - 1), entries - 1)
        given = (
            sum((h * p for h, p in self._chances.items()), Fraction(0)),
            sum((h * (h - 1) * p for h, p in self._chances.items()), Fraction(0)),
        )
        return (1 - boost) * first + boost * given[0], (1 - boost) * second + boost * given[1]

    @functools.cached_property
    def exact_hit(self) -> Fraction:
        """The chance that a report shows an own option: all own slots are alike."""
        return self._moments[0] / self.cap

    @functools.cached_property
    def exact_miss(self) -> Fraction:
        """The chance that a report shows another option: all others are alike."""
        return (self.size - self._moments[0]) / self.domain

    @property
    def exact_pairs(self) -> tuple[Fraction, Fraction, Fraction] | None:
        """The chances that both of two options are shown if none, one or both are own."""
        if min(self.cap, self.size) < 2:
            return None
        k, (first, second) = self.size, self._moments
        # E (k - h)(k - h - 1) = k (k - 1) - 2 (k - 1) E h + E h (h - 1)
        others = k * (k - 1) - 2 * (k - 1) * first + second
        mixed = (k - 1) * first - second
        return (
            others / (self.domain * (self.domain - 1)),
            mixed / (self.cap * self.domain),
            second / (self.cap * (self.cap - 1)),
        )

    # Reports

    @property
    def width(self) -> int:
        """The width of the shorter form: bitmap or list."""
        return (self.domain + 7) // 8 if self.bitmap else self.size * self._integer

    @property
    def _fewest(self) -> int:
        """The fewest options that a report shows, as at most `cap` of its entries are dummies."""
        return max(0, self.size - self.cap)

    @property
    @override
    def alphabet(self) -> int:
        shown = range(self._fewest, self.size + 1)
        return sum(math.comb(self.domain, size) for size in shown)

    @override
    def outputs(self, public: bytes = b"") -> Reports:
        shown = range(self._fewest, self.size + 1)
        every = (itertools.combinations(range(self.domain), size) for size in shown)
        rows = [self._report(options) for options in itertools.chain.from_iterable(every)]
        return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, self.width)

    def _report(self, ascending: Sequence[int]) -> bytes:
        if self.bitmap:
            return sum(1 << option for option in ascending).to_bytes(self.width, "little")
        filled = [*ascending, *[self.domain] * (self.size - len(ascending))]
        return b"".join(option.to_bytes(self._integer, "little") for option in filled)

    def _shown(self, report: bytes) -> list[int]:
        if self.bitmap:
            bits = int.from_bytes(report, "little")
            return [option for option in range(self.domain) if bits >> option & 1]
        starts = range(0, self.width, self._integer)
        listed = (int.from_bytes(report[i : i + self._integer], "little") for i in starts)
        return [option for option in listed if option < self.domain]

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        held, shown = set(self.options(value)), self._shown(report)
        own, size = len(held.intersection(shown)), len(held)
        if size <= self.cap:
            return self._chance(own, size, len(shown))
        # The person keeps m of the options; k of these are among those shown.
        kept = range(max(0, self.cap - (size - own)), min(own, self.cap) + 1)
        ways = [math.comb(own, k) * math.comb(size - own, self.cap - k) for k in kept]
        chances = [self._chance(k, self.cap, len(shown)) for k in kept]
        total = sum((way * chance for way, chance in zip(ways, chances, strict=True)), Fraction(0))
        return total / math.comb(size, self.cap)

    def _chance(self, own: int, size: int, shown: int) -> Fraction:
        """Return P(these options are shown), `own` of them the person's, who kept `size`."""
        boost, dummies = Fraction(self.boost, exact.WORD), self.size - shown
        total = Fraction(0)
        for mine in range(max(0, dummies - size), min(dummies, self.cap - size) + 1):
            ways = math.comb(self.cap - size, mine) * math.comb(size, dummies - mine)
            h = own + mine
            boosted = self._chances.get(h, Fraction(0))
            added = boost * boosted / self._ways[h] if boosted else Fraction(0)
            total += ways * ((1 - boost) / self._universe + added)
        return total

    def notes(self, value: object) -> tuple[str, ...]:
        """Return a sentence if some options were left out by chance."""
        if len(self.options(value)) <= self.cap:
            return ()
        return (
            f"more than {self.cap} options were chosen, and {self.cap} of them were kept at random",
        )

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw the options kept, coin(boost), how many own slots, which of them, which others.

        Of more than m options m are kept, by Floyd's algorithm over their places in ascending
        order. After coin(boost): for each h in turn, rarer ones first, coin(threshold of h), the
        likeliest without a coin; h of the m own slots, then k - h of the D others, each by Floyd's
        algorithm over their places in ascending order, dummies after options. Otherwise k of the
        D + m entries by Floyd's algorithm.
        """
        held = list(self.options(value))
        if len(held) > self.cap:
            held = [held[place] for place in floyd(draws, len(held), self.cap)]
        entries = self.domain + self.cap
        if draws.coin(self.boost):
            own = [*held, *range(self.domain, entries - len(held))]
            h = next((h for h, t in self._turns[:-1] if draws.coin(t)), self._turns[-1][0])
            chosen = [own[place] for place in floyd(draws, self.cap, h)]
            mine = set(own)
            others = [entry for entry in range(entries) if entry not in mine]
            chosen += [others[place] for place in floyd(draws, self.domain, self.size - h)]
        else:
            chosen = floyd(draws, entries, self.size)
        return self._report(sorted(entry for entry in chosen if entry < self.domain))

    def read_capped(self, values: object) -> OptionSets:
        """Read many people's options; refuse or sample from those who exceed the cap."""
        sets = self.read(values)
        over = np.flatnonzero(sets.sizes() > self.most_held)
        if over.size:
            rule = f"a person must choose at most {self.cap} options (the cap)"
            raise AnswerError(rule, int(over[0]), "more")
        return sets

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        sets, stream = self.read_capped(values), source.stream()
        out = np.empty((sets.people, self.width), dtype=np.uint8)
        step = max(1, _CELLS // (self.domain + self.cap))
        for start in range(0, sets.people, step):
            stop = min(start + step, sets.people)
            kept = keep_at_most(stream, sets.table(start, stop), self.cap)
            out[start:stop] = self._packed(self._entries(stream, kept)[:, : self.domain])
        return out

    def _entries(self, stream: Stream, kept: Chosen) -> Chosen:
        """Return the entries of the universe that each person's report shows."""
        people, entries = len(kept), self.domain + self.cap
        dummies = np.arange(self.cap) < (self.cap - kept.sum(axis=1))[:, None]
        own = np.hstack([kept, dummies])
        boosted = stream.words(people) < np.uint64(self.boost)
        shown = np.empty((people, entries), dtype=np.bool_)
        plain = np.flatnonzero(~boosted)
        shown[plain] = uniform_subsets(stream, plain.size, entries, self.size)
        left = np.flatnonzero(boosted)
        for h, threshold in self._turns:
            last = h == self._turns[-1][0]
            falls = np.full(left.size, last)
            if not last:
                falls = stream.words(left.size) < np.uint64(threshold)
            rows, left = left[falls], left[~falls]
            part, mine = np.empty((rows.size, entries), dtype=np.bool_), own[rows]
            part[mine] = uniform_subsets(stream, rows.size, self.cap, h).reshape(-1)
            others = uniform_subsets(stream, rows.size, self.domain, self.size - h)
            part[~mine] = others.reshape(-1)
            shown[rows] = part
        return shown

    def _packed(self, shown: Chosen) -> Reports:
        if self.bitmap:
            return np.packbits(shown, axis=1, bitorder="little")
        lists = np.full((len(shown), self.size), self.domain, dtype=np.int64)
        rows, options = np.nonzero(shown)
        starts = np.concatenate([[0], np.cumsum(shown.sum(axis=1))])[:-1]
        lists[rows, np.arange(rows.size) - starts[rows]] = options
        return little_endian(lists.reshape(-1), self._integer).reshape(-1, self.width)

    def _validate(self, reports: Reports) -> Validity:
        least = self._fewest
        said = f"{least:,} to {self.size:,}" if least < self.size else f"{self.size:,}"
        if self.bitmap:
            reason = f"a report is a bitmap of {self.domain:,} bits, {said} of them set"
            weights = np.bitwise_count(reports).sum(axis=1, dtype=np.int64)
            used = self.domain % 8
            padding = reports[:, -1] >> used if used else np.zeros(len(reports), np.uint8)
            return Validity((weights >= least) & (weights <= self.size) & (padding == 0), reason)
        reason = (
            f"a report lists {said} ascending integers below {self.domain:,}, then {self.domain:,}"
        )
        lists = self._lists(reports).astype(np.int64)
        steps = np.diff(lists, axis=1)
        rising = ((steps > 0) | ((steps == 0) & (lists[:, 1:] == self.domain))).all(axis=1)
        shown = (lists < self.domain).sum(axis=1)
        return Validity(rising & (lists[:, -1] <= self.domain) & (shown >= least), reason)

    def _lists(self, reports: Reports) -> NDArray[np.integer]:
        flat = np.ascontiguousarray(reports).reshape(-1, self._integer)
        return narrow_integers(flat).reshape(len(reports), self.size)

    # Counts

    @property
    def tally_size(self) -> int:
        """The number of counters: one for each option and, if pairs are counted, for each pair."""
        return self.domain + (pairs_of(self.domain) if self.pairs else 0)

    @override
    def tally(self, reports: Reports) -> Tally:
        fast = loops(reports.nbytes)
        if self.bitmap:
            counts: Tally = fast.count_columns(reports)[: self.domain]
        else:
            every = np.zeros(self.domain + 1, dtype=np.int64)
            fast.count_codes(self._lists(reports).reshape(-1), every)
            counts = every[:-1]
        if not self.pairs:
            return counts
        return np.concatenate([counts, count_pairs(self._table(reports))])

    def _table(self, reports: Reports) -> Chosen:
        if self.bitmap:
            return unpack_bits(reports, self.domain)
        table = np.zeros((len(reports), self.domain + 1), dtype=np.bool_)
        np.put_along_axis(table, self._lists(reports).astype(np.int64), True, axis=1)
        return table[:, :-1]

    def consistent(self, tally: Tally, reports: int) -> bool:
        """Return whether the counts fit reports that show from the fewest options to k each.

        No pair may be counted more often than either of its options.
        """
        if not super().consistent(tally, reports):
            return False
        shown = sum(map(int, tally[: self.domain]))
        if not self._fewest * reports <= shown <= self.size * reports:
            return False
        if not self.pairs:
            return True
        first, second = (tally[places] for places in self._pair_places)
        return bool((tally[self.domain :] <= np.minimum(first, second)).all())

    def items(self, tally: Tally, reports: int) -> ItemCounts:
        """Return the counts of supporting reports of every option:
        all reports are about all options.
        """
        return ItemCounts(tally[: self.domain], float(reports), self.hit, self.miss, 1.0)

    @override
    def pair_counts(self, tally: Tally, reports: int) -> PairCounts:
        first, second = (tally[places] for places in self._pair_places)
        trials = np.full(first.size, float(reports))
        return PairCounts(tally[self.domain :], first, second, trials, self.pair_rates)
