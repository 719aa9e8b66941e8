"""What each key's reports say on their own: the likelihood of (f, m) on a grid of its own.

The grid of a key spans five standard deviations around its likeliest point, within
[0, 1] x [-1, 1], so that it is as fine as the key is known. The likelihood is that of the
three counts (+, -, nothing); everything here is on the scale where values lie in [-1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Vector
from rumor.estimators.keyvalue.linear import LinearKeys
from rumor.estimators.keyvalue.most_likely import most_likely
from rumor.mechanisms.keyvalue import KeyCounts, KeyRates

Cube = NDArray[np.float64]

_F_CELLS, _M_CELLS = 25, 31
_REACH = 5.0


@dataclass(frozen=True)
class KeyGrid:
    """For K keys: midpoints f (K, 25) and m (K, 31), and the log-likelihood of their cells.

    `likelihood` (K, 25, 31) is up to a constant of each key; `cell` (K,) is the logarithm of
    a cell's area.
    """

    f: Cube
    m: Cube
    likelihood: Cube
    cell: Vector

    @classmethod
    def of(cls, counts: KeyCounts, rates: KeyRates) -> KeyGrid:
        """The grids of some keys."""
        keys = LinearKeys.of(counts, rates, prior=0.5)
        sd_f = np.sqrt(keys.var_f)
        f_hat, s_hat = most_likely(counts, rates)
        f_hat = np.nan_to_num(f_hat, nan=0.5)
        low, high = _window(f_hat, np.where(counts.trials > 0, sd_f, 1.0), 0.0)
        f = _midpoints(low, high, _F_CELLS)
        # A rare key's mean is s over an f that may be as small as its own error.
        base = np.maximum(f_hat, sd_f)
        m_hat = np.clip(np.nan_to_num(s_hat) / base, -1, 1)
        sd_m = np.sqrt(keys.var_s + m_hat**2 * keys.var_f) / base
        m_low, m_high = _window(m_hat, np.where(counts.trials > 0, sd_m, 1.0), -1.0)
        m = _midpoints(m_low, m_high, _M_CELLS)
        cell = np.log((high - low) / _F_CELLS) + np.log((m_high - m_low) / _M_CELLS)
        return cls(f, m, log_likelihood(counts, rates, f, m), cell)

    def __len__(self) -> int:
        return len(self.f)

    def take(self, keys: NDArray[np.integer]) -> KeyGrid:
        """The grids of these keys."""
        return KeyGrid(*(getattr(self, field.name)[keys] for field in fields(self)))


def log_likelihood(counts: KeyCounts, rates: KeyRates, f: Cube, m: Cube) -> Cube:
    """The log-likelihood of each key's counts at its f (K, F) and m (K, M), largest 0."""
    plus, minus = (c.astype(np.float64)[:, None, None] for c in (counts.plus, counts.minus))
    nothing = (counts.trials - counts.plus - counts.minus).astype(np.float64)
    seen = rates.miss + rates.gain * f
    tilt = rates.sign_gain * f[:, :, None] * m[:, None, :]
    out = plus * np.log((seen[:, :, None] + tilt) / 2)
    out += minus * np.log((seen[:, :, None] - tilt) / 2)
    out += (nothing[:, None] * np.log1p(-seen))[:, :, None]
    return np.asarray(out - out.max(axis=(1, 2), keepdims=True))


def _window(centre: Vector, sd: Vector, least: float) -> tuple[Vector, Vector]:
    reach = _REACH * sd
    return np.clip(centre - reach, least, 1), np.clip(centre + reach, least, 1)


def _midpoints(low: Vector, high: Vector, cells: int) -> Cube:
    return np.asarray(low[:, None] + (high - low)[:, None] * ((np.arange(cells) + 0.5) / cells))
