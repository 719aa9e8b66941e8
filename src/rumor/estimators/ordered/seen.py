"""What was seen: the output counts, and the channel's products onto them.

Where there are thousands of outputs, neighbours are counted together: a window's two ends still
show where it begins, since the block that holds an end is met in proportion, and the cost of a
fit falls with the number of blocks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumor.core.band import Band
from rumor.core.errors import InputError, type_of
from rumor.core.types import Vector

# So many outputs are kept apart; blocks are never longer than this part of a window.
_OUTPUTS = 1500
_WINDOW_PART = 8


def checked_outputs(band: Band, counts: object) -> Vector:
    """The counts of a channel's outputs as numbers, or the sentence that says what is wrong."""
    rule = f"counts must be one number for each of the {band.outcomes:,} outputs"
    try:
        seen = np.asarray(counts)
    except ValueError:
        raise InputError(f"{rule}; got {type_of(counts)}") from None
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


class Seen:
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
        """How many outputs each block has."""

    def _blocks(self, outputs: Vector) -> Vector:
        if self.block == 1:
            return outputs
        padded = np.concatenate([outputs, np.zeros((self._spare, *outputs.shape[1:]))])
        return np.asarray(padded.reshape(self.size, self.block, *outputs.shape[1:]).sum(axis=1))

    def forward(self, weights: Vector) -> Vector:
        """M f, of one law."""
        total = float(weights.sum())
        return np.asarray(self.within(weights) + self.band.outside * total * self.width)

    def within(self, weights: Vector) -> Vector:
        """(M - q 11') f, of one law or of a column of each of several: the windows' part of M."""
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
        """M' z, of one vector over the blocks or of a column of each of several."""
        whole = weights if self.block == 1 else np.repeat(weights, self.block, axis=0)
        return self.band.adjoint(whole[: self.band.outcomes])

    def column(self, value: int) -> Vector:
        """The law of the outputs of one value."""
        single = np.full(self.band.outcomes, self.band.outside)
        single[value : value + self.band.window] = self.band.inside
        return self._blocks(single)

    def squares(self, weights: Vector) -> Vector:
        """For every value x the sum over blocks of M[., x]^2 z."""
        band, z = self.band, weights
        base, both = band.outside, self.width * z
        found = base * base * float(self.width @ both) + 2 * base * (
            self.adjoint(both) - base * float(self.width @ both)
        )
        met = self._met(both)
        if self.block > 1:
            # The two blocks in which a window ends are met in part.
            for part, block in self._ends():
                met -= part * (self.width[block] - part) * z[block]
        return np.asarray(found + band.gain**2 * met)

    def _met(self, weights: Vector) -> Vector:
        """The sums over the outputs of each window."""
        whole = weights if self.block == 1 else np.repeat(weights, self.block)
        sums = np.concatenate([[0.0], np.cumsum(whole[: self.band.outcomes])])
        return np.asarray(sums[self.band.window :] - sums[: self.domain])

    def _ends(self) -> list[tuple[Vector, NDArray[np.intp]]]:
        """How much of its first and of its last block each window meets, and which they are."""
        first = np.arange(self.domain)
        last = first + self.band.window - 1
        begun, ended = first // self.block, last // self.block
        head = np.minimum((begun + 1) * self.block, self.band.outcomes) - first
        tail = last - ended * self.block + 1
        return [(head.astype(np.float64), begun), (tail.astype(np.float64), ended)]
