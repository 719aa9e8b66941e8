"""The published estimators of PrivKV and PrivKVM, kept for comparison.

Calibration: Ye et al. 2019. Expectation-maximisation over four states: Horigome, Kikuchi and Yu
("Improvement of Local Differential Privacy algorithm PrivKV for key-value datasets"), from 1/4
each, until no share changes by more than the threshold. Two misprints are corrected: reports are
counted per key, and a mean is divided by the number of people with the key. Mechanisms that draw
no random sign have three states, which their counts identify.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rumor.core import exact
from rumor.core.types import Vector
from rumor.mechanisms.keyvalue import KeyCounts, KeyValueMechanism
from rumor.mechanisms.privkv import PrivKV, PrivKVM

THRESHOLD = 1e-4
MOST_ROUNDS = 100_000

Matrix = NDArray[np.float64]
Iterate = Callable[[Matrix, Matrix], tuple[Matrix, int]]


def calibrate(mechanism: PrivKV | PrivKVM, counts: KeyCounts) -> tuple[Vector, Vector]:
    """Return frequencies (not clipped) and means; frequencies are NaN after round 1 of PrivKVM.

    n1 = (N (p2 - 1) + n1') / (2 p2 - 1) of the N reports that show the key, likewise n2, both
    clipped to [0, N]; the mean is (n1 - n2) / (n1 + n2).
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


def responsibilities(channel: Matrix, theta: Matrix) -> NDArray[np.float64]:
    """Return P(state | output) for every output and each row of shares: (..., outputs, states)."""
    joint = theta[..., None, :] * channel.T
    return np.asarray(joint / joint.sum(axis=-1, keepdims=True))


def state_em(
    channel: Matrix,
    outputs: Matrix,
    threshold: float = THRESHOLD,
    start: Vector | None = None,
    most: int = MOST_ROUNDS,
) -> tuple[Matrix, int]:
    """Return the shares of the states for each row of `outputs`, and the number of iterations.

    Each row stops on its own, as a run over one key would; `start` defaults to 1/4 for each of
    four states.
    """
    first = np.full(len(channel), 1 / len(channel)) if start is None else start
    theta = np.tile(first, (len(outputs), 1))
    active = np.arange(len(outputs))
    for turn in range(1, most + 1):
        now = theta[active]
        # theta_i <- sum_z y_z theta_i P(z | i) / P(z), without the cube of responsibilities.
        ratio = outputs[active] / (now @ channel)
        new = now * (ratio @ channel.T)
        theta[active] = new
        active = active[np.abs(new - now).max(axis=1) > threshold]
        if not active.size:
            return theta, turn
    return theta, most


def key_states(
    mechanism: KeyValueMechanism, counts: KeyCounts, iterate: Iterate = state_em
) -> tuple[Matrix, int]:
    """Return the shares of a mechanism's states for every key (NaN where no report covers the key).

    `iterate` is `state_em` with its stopping rule and its start.
    """
    asked, channel = counts.trials > 0, mechanism.state_channel
    nothing = counts.trials - counts.plus - counts.minus
    seen = np.stack([counts.plus, counts.minus, nothing], axis=1)[asked]
    outputs = seen / counts.trials[asked, None]
    theta = np.full((asked.size, len(channel)), np.nan)
    theta[asked], rounds = iterate(channel, outputs)
    return theta, rounds


def frequencies_and_means(theta: Matrix) -> tuple[Vector, Vector]:
    """Return frequencies and means of keys; the first two states are those of people with
    the key.
    """
    held = theta[:, 0] + theta[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return held, np.asarray((theta[:, 0] - theta[:, 1]) / held)


def published_em(
    mechanism: KeyValueMechanism, counts: KeyCounts, threshold: float = THRESHOLD
) -> tuple[Vector, Vector, int]:
    """Return frequencies, means and the number of iterations of the published EM."""
    theta, rounds = key_states(mechanism, counts, functools.partial(state_em, threshold=threshold))
    return *frequencies_and_means(theta), rounds
