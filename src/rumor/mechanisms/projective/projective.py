"""Projective-geometry response: one short number, with nearly the least noise there is.

Feldman, Nelson, Nguyen and Talwar, "Private frequency estimation via projective geometry", 2022; on
integers.

With a prime q and t dimensions there are K = (q**t - 1) / (q - 1) points, each a vector modulo q
whose last coordinate that is not 0 is 1. Value x is the x-th point v, a report is a point u, and it
supports x when <u, v> = 0 modulo q: s = (q**(t-1) - 1) / (q - 1) points do, and every two values
have c = (q**(t-2) - 1) / (q - 1) of them in common.
Order: the first q**(t-1) points have a last coordinate of 1, and before it the digits of their
number in base q, the first coordinate the most significant; the others have a last coordinate of 0,
and are the points of one dimension less, in their order.
Model, with i the threshold of a supporting point:
    P(u | x) = (i / 2**64) / s                 if u supports x
             = (1 - i / 2**64) / q**(t-1)      otherwise
Privacy: the loss is the logarithm of their ratio; i is rounded down.
Report: the number of the point, a little-endian integer in 1 to 3 bytes.

Counting is exact and does not depend on the number of reports: `incidence` sums counters of
points over all hyperplanes at once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rumor.core import exact
from rumor.core.checks import checked_size
from rumor.core.errors import InputError
from rumor.core.randomness import Draws, RandomSource
from rumor.core.reports import Reports, from_little_endian, little_endian
from rumor.core.types import Codes, Tally, Vector
from rumor.core.typing import override
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.projective.space import Space, points_of
from rumor.mechanisms.shapes import CountedIntegers
from rumor.mechanisms.support import Score, centred_score

MAX_POINTS = 1 << 24
_LARGEST_FIELD = math.isqrt(MAX_POINTS)
# The fastest field may have this much more than the least noise.
_NEARLY = 1.008
# If even the least noise exceeds that for very many values by this factor, no more is accepted.
_FAR = 1.012
# The most work, field times points, that counting may take: a few seconds.
_MOST_WORK = 1 << 30
# The most points for each value: if still more points lower the noise, other oracles are better.
_MOST_EACH = 16
# Rows drawn at a time: their coordinates stay in the second-level cache.
_CHUNK = 1 << 13
# Counts of at least this many points are cached: estimators ask repeatedly for those of one tally.
_MANY = 1 << 16
# Counts of at most this many points are a product with the matrix itself.
_FEW = 200
# Supports of points by values that are held at a time.
_CELLS = 1 << 22


class Projective(CountedIntegers, FrequencyOracle):
    """One number of at most three bytes, with the noise of subset selection to 3 per cent."""

    name = "projective"
    MAX_DOMAIN = 2_000_000
    OPTIONS = _SHAPE_NAMES = ("field",)
    _THRESHOLDS = ("inside",)
    inside: int
    """The threshold of a supporting point."""

    def __init__(
        self,
        *,
        domain: int | Sequence[str] | None = None,
        epsilon: float,
        field: int | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Make projective response with the prime `field`; by
        default one with nearly least variance.
        """
        super().__init__(domain, labels)
        power = exact.exp(exact.checked_epsilon(epsilon))
        self._load_shape(best_field(self.domain, float(power)) if field is None else field)
        odds = power * self.space.supporting
        self.inside = exact.floor_threshold(odds / (odds + self.space.others))
        self._require_gain(epsilon)

    def _load_shape(self, field: object) -> None:
        self.field = checked_size("field", field, 2, _LARGEST_FIELD)
        if self.field not in primes():
            raise InputError(f"field must be a prime; got {self.field}")
        self.space = Space.holding(self.domain, self.field)
        if self.space.points > MAX_POINTS:
            raise InputError(
                f"field must be a prime with at most 2^24 points for {self.domain:,} values; "
                f"got {self.field}, which has {self.space.points:,}"
            )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with the fewest points, four dimensions,
        two bytes, and unused points.
        """
        return [
            cls(domain=2, epsilon=1.0, field=2),
            cls(domain=7, epsilon=1.0, field=2),
            cls(domain=10, epsilon=0.5, field=3),
            cls(domain=13, epsilon=4.0, field=3),
            cls(domain=9, epsilon=2.0, field=5),
            cls(domain=15, epsilon=1.0, field=2),
            cls(domain=300, epsilon=1.0),
        ]

    @functools.cached_property
    def exact_miss(self) -> Fraction:
        """The chance that another value is supported, which is equal for all pairs of values."""
        space, hit = self.space, self.exact_hit
        own, rest = Fraction(space.common, space.supporting), space.supporting - space.common
        return own * hit + rest * (1 - hit) / space.others

    @property
    @override
    def exact_odds(self) -> Fraction:
        space, hit = self.space, self.exact_hit
        return hit / space.supporting * space.others / (1 - hit)

    @property
    def dispersion(self) -> float:
        """The number of points that two values share, over that under independence."""
        return self.space.points * self.space.common / self.space.supporting**2

    @property
    @override
    def alphabet(self) -> int:
        return self.space.points

    def supports(self, points: Codes, code: int) -> NDArray[np.bool_]:
        """Return whether each of `points` supports `value`."""
        (own, _), (theirs, _) = (self.space.vectors(which) for which in (np.array([code]), points))
        both = zip(self.space.coordinates(theirs), self.space.coordinates(own), strict=True)
        product = sum((u * v for u, v in both), 0 * points)
        return np.asarray(product % self.field == 0)

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        point = np.array([int.from_bytes(report, "little")])
        if self.supports(point, self.code(value))[0]:
            return self.exact_hit / self.space.supporting
        return (1 - self.exact_hit) / self.space.others

    def log_likelihood_ratio(self, reports: Reports, first: object, second: object) -> Vector:
        """Return +-ln(odds) for each report that supports one of the two values alone, else 0."""
        points = from_little_endian(reports)
        near = [self.supports(points, self.code(value)) for value in (first, second)]
        return (near[0].astype(np.float64) - near[1]) * math.log(self.odds)

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw coin(inside): below(s), t - 1 dimensions; otherwise below(q^(t-1)), a vector.

        Its coordinates are put around the place p of the value's last coordinate, which is 1, and
        coordinate p is what makes the product with the value 0 (inside) or 1 modulo q. The report
        is the point that this vector is a multiple of.
        """
        code, inside = np.array([self.code(value)]), draws.coin(self.inside)
        pick = draws.below(self.space.supporting if inside else self.space.others)
        point = self.space.answers(code, np.array([inside]), np.array([pick]))
        return int(point[0]).to_bytes(self.width, "little")

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        codes, stream, space = self.encode(values), source.stream(), self.space
        out = np.empty(codes.size, dtype=np.min_scalar_type(self.alphabet - 1))
        for start in range(0, codes.size, _CHUNK):
            own = codes[start : start + _CHUNK]
            inside = stream.words(own.size) < np.uint64(self.inside)
            near, far = (stream.below(n, own.size) for n in (space.supporting, space.others))
            picks = np.where(inside, near, far).astype(np.int64)
            out[start : start + own.size] = space.answers(own, inside, picks)
        return little_endian(out, self.width)

    @property
    @override
    def tally_is_lossless(self) -> bool:
        return True

    @override
    def support_counts(self, tally: Tally) -> Tally:
        return _remembered(self.space, tally)[: self.domain]

    def group_score(self, tally: Tally, reports: int, members: NDArray[np.intp]) -> Score:
        """Return the score of a group: a mean whose square is observed.

        Which hyperplanes meet depends on the group, and the tally of points shows it.
        """
        part, gain = members.size / self.domain, self.gain
        weight = np.full(self.domain, -part)
        weight[members] += 1
        added = self._spread(weight)
        mean, square = (float(tally @ added**power) / reports for power in (1, 2))
        ends = float(added.min()), float(added.max())
        return centred_score(mean, gain, part, square, square, ends)

    def covariance(self, frequencies: Vector, reports: int) -> Vector:
        """Return the covariance from all points, as joint support depends on all frequencies.

        A person whose value is on the line through two values supports both with each such point.
        """
        gain = self.gain
        likely = self.hit / self.space.supporting
        unlikely = (1 - self.hit) / self.space.others
        both = np.zeros((self.domain, self.domain))
        size = max(1, _CELLS // self.domain)
        for start in range(0, self.space.points, size):
            points = np.arange(start, min(start + size, self.space.points))
            held = np.column_stack([self.supports(points, code) for code in range(self.domain)])
            supported = held.astype(np.float64)
            chance = unlikely + (likely - unlikely) * (supported @ frequencies)
            both += supported.T @ (chance[:, None] * supported)
        support = np.diag(both)
        return np.asarray((both - np.outer(support, support)) / (reports * gain**2))

    def _spread(self, h: Vector) -> Vector:
        """Return, for every point, the total of h over its values: a symmetric matrix times h."""
        padded = np.zeros(self.alphabet)
        padded[: self.domain] = h
        return np.asarray(incidence(self.space, padded))

    def forward(self, reports: Reports, h: Vector) -> Vector:
        """Return the total of h over the values that each point
        supports, for all points at once.
        """
        return np.asarray(self._spread(h)[from_little_endian(reports)])

    @override
    def adjoint(self, reports: Reports, w: Vector) -> Vector:
        codes = from_little_endian(reports)
        weights = np.bincount(codes, weights=w, minlength=self.alphabet).astype(np.float64)
        return np.asarray(incidence(self.space, weights)[: self.domain])


# --- Counting ---------------------------------------------------------------------------------

_last: tuple[Space, Tally, Tally] | None = None


def _remembered(space: Space, tally: Tally) -> Tally:
    """Return the incidence of a tally, kept for a large one that comes again."""
    global _last
    kept = _last
    if kept is not None and kept[0] == space and np.array_equal(kept[1], tally):
        return kept[2]
    # No partial sum exceeds the number of reports, and short integers are added faster.
    short = np.int32 if int(tally.sum()) < 1 << 31 else np.int64
    counts = np.asarray(incidence(space, tally.astype(short)), dtype=np.int64)
    counts.setflags(write=False)
    if space.points >= _MANY:
        _last = space, tally.copy(), counts
    return counts


def incidence(space: Space, weights: NDArray[Any]) -> NDArray[Any]:
    """Return, for each point v, the sum of the weights of all points u with <u, v> = 0."""
    if space.points <= _FEW:
        return np.asarray(matrix(space) @ weights).astype(weights.dtype)
    return swept(space, weights)


@functools.lru_cache(maxsize=32)
def matrix(space: Space) -> NDArray[np.int64]:
    """Return which of a few points are orthogonal to which, as zeros and ones."""
    coordinates = np.array(space.coordinates(space.vectors(np.arange(space.points))[0]))
    return np.asarray(coordinates.T @ coordinates % space.field == 0, dtype=np.int64)


def swept(space: Space, weights: NDArray[Any]) -> NDArray[Any]:
    """Return the product with the matrix, without the matrix, in time (t - 2) q K.

    Points u with a last coordinate of 1 are vectors u' of one dimension less, where <u', v'> must
    be -1 or 0 (by v's last coordinate); the others are points of one dimension less themselves.
    """
    q, m = space.field, space.dimensions - 1
    affine, beyond = weights[: q**m], weights[q**m :]
    below = incidence(Space(q, m), beyond)
    found = np.empty_like(weights)
    minus, zero = _hyperplanes(space, affine)
    # The vector 0 has a product of 0 with all points: none of the affine ones, all of the others.
    minus[0] = beyond.sum()
    start = 0
    for last in range(m - 1, -1, -1):
        size, step = q**last, q ** (m - 1 - last)
        points = below[start : start + size]
        for value in range(1, q):
            own = slice(value * step, None, q * step)
            scaled = points[_scaled(q, last, int(space.inverses[value]))]
            minus[own] += scaled
        found[q**m + start : q**m + start + size] = zero[step :: q * step] + points
        start += size
    found[: q**m] = minus
    return found


def _scaled(field: int, digits: int, factor: int) -> Codes:
    """Return the vectors of `digits` digits, each multiplied by a factor."""
    scaled, one = np.zeros(1, dtype=np.int64), factor * np.arange(field) % field
    for _ in range(digits):
        scaled = (scaled[:, None] * field + one).ravel()
    return scaled


def _hyperplanes(space: Space, weights: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return, for each vector v, the sums of the weights of vectors u with <u, v> = -1, and with 0.

    v is L times a vector w whose first coordinate that is not 0 is 1, and <u, w> = -1 / L then.
    """
    q, m = space.field, space.dimensions - 1
    minus, zero = np.zeros_like(weights), np.zeros_like(weights)
    table = weights
    for first in range(m):
        digits = m - 1 - first
        sums = _planes(table, q, digits)
        for scale in range(1, q):
            inverse = int(space.inverses[scale])
            rest = _scaled(q, digits, inverse)
            own = slice(scale * q**digits, (scale + 1) * q**digits)
            minus[own] = sums[q - inverse][rest]
            zero[own] = sums[0][rest]
        table = table.reshape(q, -1).sum(axis=0, dtype=table.dtype)
    return minus, zero


def _planes(table: NDArray[Any], q: int, digits: int) -> NDArray[Any]:
    """Return in row r, column w the sum over vectors u with u_0 + <rest of u, w> = r modulo q.

    One coordinate after the other: with z the sum so far and a the next coordinate of u, which
    gives way to b, that of w, Y[z, b] = sum over a of X[z - a b, a].
    """
    now = table.reshape(q, -1)
    for _ in range(digits):
        rest = now.size // (q * q)
        old = np.ascontiguousarray(now.reshape(q, q, rest).transpose(1, 0, 2)).reshape(q, -1)
        new = np.zeros_like(old)
        for b in range(q):
            row = new[b]
            for a in range(q):
                shift = a * b % q * rest
                row[shift:] += old[a, : row.size - shift]
                row[:shift] += old[a, row.size - shift :]
        now = new.reshape(q, q, rest).transpose(1, 2, 0).reshape(q, -1)
    return now


# --- Which field ------------------------------------------------------------------------------


@functools.cache
def primes() -> tuple[int, ...]:
    """Return the fields that have a space of three dimensions, ascending."""
    sieve = np.ones(_LARGEST_FIELD + 1, dtype=bool)
    sieve[:2] = False
    for number in range(2, math.isqrt(_LARGEST_FIELD) + 1):
        sieve[number * number :: number] = False
    return tuple(q for q in np.flatnonzero(sieve).tolist() if points_of(q, 3) <= MAX_POINTS)


@functools.lru_cache(maxsize=256)
def best_field(domain: int, power: float) -> int:
    """Return the field that is counted fastest, among those whose noise is nearly the least."""
    spaces = [Space.holding(domain, field) for field in primes()]
    most = min(MAX_POINTS, _MOST_EACH * domain)
    small = (space for space in spaces if space.points <= most)
    quick = (space for space in small if space.field * space.points <= _MOST_WORK)
    noise = {space: _noise(space, power) for space in quick}
    least, ideal = min(noise.values()), 4 * power
    enough = least * (_NEARLY if least <= _FAR * ideal else 1.0)
    good = [space for space, found in noise.items() if found <= enough]
    return min(good, key=lambda space: space.field * space.points).field


def _noise(space: Space, power: float) -> float:
    """Return the variance of the linear estimate of a value
    that nobody holds, times (power - 1)**2.
    """
    s, c, others = space.supporting, space.common, space.others
    total, missing = power * s + others, power * c + s - c
    return float(missing * (total - missing) / (s - c) ** 2)
