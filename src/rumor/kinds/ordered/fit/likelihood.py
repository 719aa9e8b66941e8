"""The likelihood of output counts: its penalised maximum, and the marginal likelihood.

The data are the output counts, with the channel's products onto them. Where there are thousands of
outputs, neighbours are counted together in blocks: a window's two ends still show where it begins,
since a block that holds an end is covered in proportion, and the cost of a fit falls with the
number of blocks.

With f the distribution of the values, m = M f and J the derivative of m by all parameters t, the
penalised likelihood c' log m - t'Qt/2 of the counts c has

    gradient J'(c/m) - Q t,    expected information n J' diag(1/m) J + Q.

It is maximised by Newton's steps, or by Fisher scoring where it is not concave, halved until they
increase it. The marginal likelihood (evidence) is Laplace's: the penalised likelihood at the
maximum, plus half of log |Q| less log |information|.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rumor.core.errors import InputError, type_in_words
from rumor.core.types import Vector
from rumor.kinds.ordered.fit.shapes import Shape
from rumor.mechanisms.wave.band import Band

# Up to _OUTPUTS outputs stay separate; blocks are never longer than this part of a window.
_OUTPUTS = 1500
_WINDOW_PART = 8


def checked_outputs(band: Band, counts: object) -> Vector:
    """Return the counts of a channel's outputs as floats, checked to be counts."""
    rule = f"counts must be one number for each of the {band.outcomes:,} outputs"
    try:
        seen = np.asarray(counts)
    except ValueError:
        raise InputError(f"{rule}; got {type_in_words(counts)}") from None
    if seen.shape != (band.outcomes,) or seen.dtype.kind not in "iuf":
        raise InputError(f"{rule}; got {seen.dtype} of shape {seen.shape}")
    numbers = seen.astype(np.float64)
    if not np.isfinite(numbers).all() or numbers.min() < 0:
        raise InputError(
            "counts must be numbers from 0 on; got one that is "
            f"{'negative' if np.isfinite(numbers).all() else 'missing or infinite'}"
        )
    if not numbers.sum() > 0:
        raise InputError("counts must hold at least one report; got none")
    if not band.gain > 0:
        raise InputError(
            "outputs within the window must be likelier than the others; "
            f"got probabilities {band.inside:.6g} and {band.outside:.6g}"
        )
    return numbers


class BandCounts:
    """Counts of outputs, or of blocks of neighbouring outputs, and the channel onto them."""

    def __init__(self, band: Band, counts: object) -> None:
        whole = checked_outputs(band, counts)
        self.band, self.domain, self.people = band, band.domain, float(whole.sum())
        wanted = band.outcomes // _OUTPUTS + (band.outcomes % _OUTPUTS > 0)
        self.block = max(1, min(wanted, band.window // _WINDOW_PART))
        self.size = -(-band.outcomes // self.block)
        self._spare = self.size * self.block - band.outcomes
        self.counts = self._blocks(whole)
        self.width = self._blocks(np.ones(band.outcomes))
        """The number of outputs in each block."""

    def _blocks(self, outputs: Vector) -> Vector:
        if self.block == 1:
            return outputs
        padded = np.concatenate([outputs, np.zeros((self._spare, *outputs.shape[1:]))])
        return np.asarray(padded.reshape(self.size, self.block, *outputs.shape[1:]).sum(axis=1))

    def forward(self, weights: Vector) -> Vector:
        """Return M f, for one distribution of values."""
        total = float(weights.sum())
        return np.asarray(self.within(weights) + self.band.outside * total * self.width)

    def within(self, weights: Vector) -> Vector:
        """Return (M - q 11') f, the windows' part of M, for one distribution or for several
        columns.
        """
        band = self.band
        sums = np.cumsum(weights, axis=0)
        found = np.empty((self.size * self.block, *weights.shape[1:]))
        found[: band.domain] = sums
        found[band.domain :] = sums[-1]
        found[band.window : band.outcomes] -= sums[:-1]
        if self.block > 1:
            found[band.outcomes :] = 0.0
            found = found.reshape(self.size, self.block, *weights.shape[1:]).sum(axis=1)
        found *= band.gain
        return found

    def adjoint(self, weights: Vector) -> Vector:
        """Return M' z, for one vector over the blocks or for several columns."""
        whole = weights if self.block == 1 else np.repeat(weights, self.block, axis=0)
        return self.band.adjoint(whole[: self.band.outcomes])

    def column(self, value: int) -> Vector:
        """Return the distribution of the outputs of one `value`."""
        single = np.full(self.band.outcomes, self.band.outside)
        single[value : value + self.band.window] = self.band.inside
        return self._blocks(single)

    def squares(self, weights: Vector) -> Vector:
        """Return, for every value x, the sum over blocks of M[., x]^2 z."""
        band, z = self.band, weights
        base, both = band.outside, self.width * z
        found = base * base * float(self.width @ both) + 2 * base * (
            self.adjoint(both) - base * float(self.width @ both)
        )
        met = self._met(both)
        if self.block > 1:
            # The two blocks in which a window ends are covered in part.
            for part, block in self._ends():
                met -= part * (self.width[block] - part) * z[block]
        return np.asarray(found + band.gain**2 * met)

    def _met(self, weights: Vector) -> Vector:
        """Return the sums over the outputs of each window."""
        whole = weights if self.block == 1 else np.repeat(weights, self.block)
        sums = np.concatenate([[0.0], np.cumsum(whole[: self.band.outcomes])])
        return np.asarray(sums[self.band.window :] - sums[: self.domain])

    def _ends(self) -> list[tuple[Vector, NDArray[np.intp]]]:
        """Return the parts of its first and last block that each window covers, and the blocks."""
        first = np.arange(self.domain)
        last = first + self.band.window - 1
        begun, ended = first // self.block, last // self.block
        head = np.minimum((begun + 1) * self.block, self.band.outcomes) - first
        tail = last - ended * self.block + 1
        return [(head.astype(np.float64), begun), (tail.astype(np.float64), ended)]


_RISE = 1e-2
_STEPS = 60
_HALVINGS = 25


@dataclass(frozen=True, eq=False)
class ShapeFit:
    """A shape at its penalised maximum."""

    shape: Shape
    parameters: Vector
    information: Vector
    outputs: Vector
    """The distribution of outputs, M f."""
    slopes: Vector
    """The derivative of M f by the parameters."""
    evidence: float
    """The log marginal likelihood of the prior and the extras, without their prior cost."""

    @cached_property
    def frequency(self) -> Vector:
        """The distribution of the values."""
        return self.shape.frequency(self.parameters)

    @cached_property
    def covariance(self) -> Vector:
        """The covariance of the parameters."""
        if not self.shape.size:
            return np.zeros((0, 0))
        return np.asarray(np.linalg.inv(self.information))

    @property
    def freedom(self) -> float:
        """The effective number of parameters that the counts determine, rather than the prior."""
        return self.shape.size - float(np.sum(self.covariance * self.shape.precision))


def penalised(seen: BandCounts, shape: Shape, parameters: Vector, outputs: Vector) -> float:
    """Return the penalised log-likelihood."""
    pull = float(parameters @ shape.precision @ parameters)
    return float(seen.counts @ np.log(outputs)) - pull / 2


def slopes(seen: BandCounts, shape: Shape, parameters: Vector, outputs: Vector) -> Vector:
    """Return the derivative of M f by the parameters."""
    smooth, atoms = shape.cells(parameters)
    found = np.empty((seen.size, shape.size))
    if shape.curve:
        weighed = smooth[:, None] * shape.columns
        base = seen.band.outside * seen.width
        found[:, : shape.curve] = seen.within(weighed)
        found[:, : shape.curve] -= np.outer(outputs - base, weighed.sum(axis=0))
    for place, (value, weight) in enumerate(zip(shape.atoms, atoms, strict=True)):
        found[:, shape.curve + place] = weight * (seen.column(value) - outputs)
    return found


def likelihood_gradient(
    seen: BandCounts, shape: Shape, parameters: Vector, outputs: Vector
) -> Vector:
    """Return the derivative of the log-likelihood by the parameters, without J."""
    smooth, atoms = shape.cells(parameters)
    pull = seen.adjoint(seen.counts / outputs) - seen.people
    curve = shape.columns.T @ (smooth * pull)
    return np.concatenate([curve, atoms * pull[list(shape.atoms)]])


def fit(seen: BandCounts, shape: Shape, starts: Sequence[Vector] = ()) -> ShapeFit:
    """Maximise the penalised likelihood from the best of the `starts`, or from zero."""
    begun = [
        (penalised(seen, shape, start, outputs), number, start, outputs)
        for number, start in enumerate(starts or [np.zeros(shape.size)])
        for outputs in [seen.forward(shape.frequency(start))]
    ]
    height, _, here, outputs = max(begun, key=lambda each: each[:2])
    slope = np.zeros((seen.size, 0))
    for _ in range(_STEPS if shape.size else 0):
        slope = slopes(seen, shape, here, outputs)
        gradient = slope.T @ (seen.counts / outputs) - shape.precision @ here
        step = newton(seen, shape, here, outputs, slope, gradient)
        if step is None:
            expected = _information(seen, shape, outputs, slope)
            step = np.asarray(np.linalg.solve(expected, gradient), dtype=np.float64)
        rise = float(gradient @ step)
        moved = _raised(seen, shape, here, step, height)
        if moved is not None:
            here, outputs, height = moved
        if moved is None or rise < _RISE:
            break
    information = _information(seen, shape, outputs, slope)
    spread = np.linalg.slogdet(information)[1] if shape.size else 0.0
    evidence = height + (shape.determinant - float(spread)) / 2
    return ShapeFit(shape, here, information, outputs, slope, evidence)


def newton(
    seen: BandCounts, shape: Shape, here: Vector, outputs: Vector, slope: Vector, gradient: Vector
) -> Vector | None:
    """Return Newton's step; None where the likelihood is not concave.

    With s the weights of all cells, C their derivatives' coefficients and h = s (M'(c/m) - n), the
    second derivative is that of M f, scored, less C' diag(h) C - g a' - a g': g = C'h is the
    likelihood's gradient, a = C's.
    """
    from scipy.linalg.lapack import dposv

    smooth, atoms = shape.cells(here)
    pull = seen.adjoint(seen.counts / outputs) - seen.people
    scaled = slope * (np.sqrt(seen.counts) / outputs)[:, None]
    bent = scaled.T @ scaled + shape.precision
    bent[: shape.curve, : shape.curve] -= shape.weighed(smooth * pull)
    place = np.arange(shape.curve, shape.size)
    bent[place, place] -= atoms * pull[list(shape.atoms)]
    middle = np.concatenate([smooth @ shape.columns, atoms])
    turned = np.outer(gradient + shape.precision @ here, middle)
    bent += turned + turned.T
    _, step, broken = dposv(bent, gradient)
    return None if broken else np.asarray(step)


def _information(seen: BandCounts, shape: Shape, outputs: Vector, slope: Vector) -> Vector:
    """Return the expected information."""
    scaled = slope * np.sqrt(seen.people / outputs)[:, None]
    return np.asarray(scaled.T @ scaled + shape.precision)


def _raised(
    seen: BandCounts, shape: Shape, here: Vector, step: Vector, height: float
) -> tuple[Vector, Vector, float] | None:
    """Return the first halving of `step` that increases the likelihood; None if none does."""
    for halving in range(_HALVINGS):
        there = here + step * 0.5**halving
        outputs = seen.forward(shape.frequency(there))
        reached = penalised(seen, shape, there, outputs)
        if reached >= height:
            return there, outputs, reached
    return None
