"""The key-value data sets of the paper, the stress sets, and counts drawn from their law.

A report depends on a person's values only through signs, whose chance is linear in the
value; so the counts of a key depend on its share f and mean m alone, and can be drawn
without drawing people.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumor import exact
from rumor.mechanisms import KeyValueBlock, PrivKV, PrivKVM
from rumor.mechanisms.keyvalue import KeyCounts, KeyRates
from rumor.mechanisms.oracle import Vector

KEYS = 50
PAPER = ("gaussian", "power", "linear")
STRESS = ("unrelated", "tent", "sparse")
Random = np.random.Generator


def published() -> Mapping[str, Any]:
    """The tables of the paper, and an independent reproduction of them."""
    text = (Path(__file__).parent / "keyvalue_published.json").read_text()
    tables: Mapping[str, Any] = json.loads(text)
    return tables


def data_set(name: str, random: Random) -> tuple[Vector, Vector]:
    """Shares and means of 50 keys: the paper's three sets exactly, the stress sets drawn anew."""
    k = np.arange(KEYS, dtype=np.float64)
    if name == "linear":
        return (k + 1) / KEYS, np.linspace(-1.0, 1.0, KEYS).astype(np.float64)
    if name == "gaussian":
        f = np.exp(-((k - 25) ** 2) / 200)
        return f, 2 * f - 1
    if name == "power":  # the exponent -11/10 in the text is a slip
        f = (1 + 0.01 * k) ** -11.0
        return f, 2 * f - 1
    if name == "unrelated":  # means have nothing to do with shares
        return random.beta(0.7, 1.5, KEYS), random.uniform(-1, 1, KEYS)
    if name == "tent":  # means rise and fall with shares
        f = (k + 1) / KEYS
        return f, 1 - 2 * np.abs(2 * f - 1)
    assert name == "sparse"  # most keys rare, means at two values
    return 0.02 + 0.9 * random.beta(0.5, 3, KEYS), random.choice([-0.8, 0.8], KEYS)


def draw_counts(
    mechanism: KeyValueBlock | PrivKV | PrivKVM, f: Vector, m: Vector, people: int, random: Random
) -> KeyCounts:
    """The counts of one collection. Keys of a block are taken as drawn one by one."""
    about = mechanism.block if isinstance(mechanism, KeyValueBlock) else 1
    trials = random.multinomial(people * about, np.full(f.size, 1 / f.size))
    if isinstance(mechanism, PrivKVM):
        chances = _round_chances(mechanism, f, m)
    else:
        chances = _chances(mechanism.rates, f, m)
    outputs = random.multinomial(trials, chances)
    return KeyCounts(outputs[:, 0], outputs[:, 1], trials)


def _chances(rates: KeyRates, f: Vector, m: Vector) -> NDArray[np.float64]:
    seen, tilt = rates.miss + rates.gain * f, rates.sign_gain * f * m
    return _rows((seen + tilt) / 2, (seen - tilt) / 2)


def _round_chances(mechanism: PrivKVM, f: Vector, m: Vector) -> NDArray[np.float64]:
    p1, p2 = mechanism.key_truth / exact.WORD, mechanism.value_truth / exact.WORD
    made_up = np.array(mechanism.fakes) / mechanism.grid.steps - 1
    held, absent = f * p1, (1 - f) * (1 - p1)
    tilt = (2 * p2 - 1) * (held * m + absent * made_up)
    return _rows((held + absent + tilt) / 2, (held + absent - tilt) / 2)


def _rows(plus: Vector, minus: Vector) -> NDArray[np.float64]:
    rows = np.clip(np.stack([plus, minus, 1 - plus - minus], axis=1), 0, 1)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def squared_errors(
    trials: int,
    name: str,
    seed: int,
    once: Callable[[Vector, Vector, Random], Mapping[str, tuple[Vector, Vector]]],
) -> dict[str, tuple[float, float]]:
    """Mean squared errors of f (times 1e4, as printed) and m of every contender of a run.

    Where an estimator has no answer for a mean, 0 is taken: the middle of the range.
    """
    random = np.random.default_rng(seed)
    totals: dict[str, list[tuple[float, float]]] = {}
    for _ in range(trials):
        f, m = data_set(name, random)
        for contender, (f_hat, m_hat) in once(f, m, random).items():
            errors = np.mean((f_hat - f) ** 2) * 1e4, np.mean((np.nan_to_num(m_hat) - m) ** 2)
            totals.setdefault(contender, []).append((float(errors[0]), float(errors[1])))
    return {
        contender: (float(np.mean([e[0] for e in all_])), float(np.mean([e[1] for e in all_])))
        for contender, all_ in totals.items()
    }
