"""The published estimators of PrivKV and PrivKVM, kept as published to compare with.

Calibration: Ye et al. 2019. Expectation-maximisation over four states: Horigome, Kikuchi
and Yu ("Improvement of Local Differential Privacy algorithm PrivKV for key-value
datasets"), from 1/4 each, until no share changes by more than the threshold. Two slips of
the print are mended: reports are counted per key, and a mean is divided by the holders.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumor.core import exact
from rumor.core.types import Vector
from rumor.mechanisms.keyvalue import KeyCounts
from rumor.mechanisms.privkv import PrivKV, PrivKVM

THRESHOLD = 1e-4
_MOST_ROUNDS = 100_000

Matrix = NDArray[np.float64]


def calibrated(mechanism: PrivKV | PrivKVM, counts: KeyCounts) -> tuple[Vector, Vector]:
    """Frequencies (not clipped) and means; frequencies are NaN after round 1 of PrivKVM.

    n1 = (N (p2 - 1) + n1') / (2 p2 - 1) of the N reports that show the key, likewise n2,
    both clipped to [0, N]; the mean is (n1 - n2) / (n1 + n2).
    """
    p1, p2 = mechanism.key_truth / exact.WORD, mechanism.value_truth / exact.WORD
    seen = (counts.plus + counts.minus).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = seen / counts.trials
        frequency = (share - (1 - p1)) / (2 * p1 - 1) if 2 * p1 > 1 else np.full(seen.size, np.nan)
        up, down = (
            np.clip((seen * (p2 - 1) + count) / (2 * p2 - 1), 0, seen)
            for count in (counts.plus, counts.minus)
        )
        return np.asarray(frequency), np.asarray((up - down) / (up + down))


def four_state_channel(mechanism: PrivKV | PrivKVM) -> Matrix:
    """P(output | state): states (1,1), (1,-1), (0,1), (0,-1); outputs +, -, nothing."""
    p1, p2 = mechanism.key_truth / exact.WORD, mechanism.value_truth / exact.WORD
    q1, q2 = 1 - p1, 1 - p2
    return np.array(
        [
            [p1 * p2, p1 * q2, q1],
            [p1 * q2, p1 * p2, q1],
            [q1 * p2, q1 * q2, p1],
            [q1 * q2, q1 * p2, p1],
        ]
    )


def responsibilities(channel: Matrix, theta: Matrix) -> NDArray[np.float64]:
    """P(state | output) for every output and each row of shares: (..., outputs, states)."""
    joint = theta[..., None, :] * channel.T
    return np.asarray(joint / joint.sum(axis=-1, keepdims=True))


def four_state_em(
    channel: Matrix, outputs: Matrix, threshold: float = THRESHOLD
) -> tuple[Matrix, int]:
    """The shares of the four states for each row of output shares, and the rounds it took.

    Each row stops on its own, as a run over one key would.
    """
    theta = np.full((len(outputs), len(channel)), 1 / len(channel))
    active = np.arange(len(outputs))
    for turn in range(1, _MOST_ROUNDS + 1):
        now = theta[active]
        # theta_i <- sum_z y_z theta_i P(z | i) / P(z), without the cube of responsibilities.
        ratio = outputs[active] / (now @ channel)
        new = now * (ratio @ channel.T)
        theta[active] = new
        active = active[np.abs(new - now).max(axis=1) > threshold]
        if not active.size:
            return theta, turn
    return theta, _MOST_ROUNDS


def published_em(
    mechanism: PrivKV | PrivKVM, counts: KeyCounts, threshold: float = THRESHOLD
) -> tuple[Vector, Vector, int]:
    """Frequencies, means and the number of rounds of the published EM."""
    asked = counts.trials > 0
    nothing = counts.trials - counts.plus - counts.minus
    seen = np.stack([counts.plus, counts.minus, nothing], axis=1)[asked]
    outputs = seen / counts.trials[asked, None]
    theta = np.full((asked.size, 4), np.nan)
    theta[asked], rounds = four_state_em(four_state_channel(mechanism), outputs, threshold)
    held = theta[:, 0] + theta[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return held, np.asarray((theta[:, 0] - theta[:, 1]) / held), rounds
