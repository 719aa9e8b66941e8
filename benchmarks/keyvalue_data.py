"""The key-value data sets of the paper and the stress sets, and errors over trials."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rumor.core.types import Vector
from rumor.papers import keyvalue
from rumor.papers.frequency import published_tables
from rumor.papers.keyvalue import KEYS as KEYS
from rumor.papers.keyvalue import SETS as SETS
from rumor.papers.keyvalue import Random as Random
from rumor.papers.keyvalue import draw_counts as draw_counts

STRESS = ("unrelated", "tent", "sparse")


def published() -> Mapping[str, Any]:
    """The tables of the paper, and an independent reproduction of them."""
    text = (Path(__file__).parent / "keyvalue_reference.json").read_text(encoding="utf-8")
    return {**published_tables("privkv-em"), "reference": json.loads(text)}


def data_set(name: str, random: Random) -> tuple[Vector, Vector]:
    """Shares and means of 50 keys: the paper's three sets exactly, the stress sets drawn anew."""
    if name in SETS:
        return keyvalue.data_set(name)
    if name == "unrelated":  # means have nothing to do with shares
        return random.beta(0.7, 1.5, KEYS), random.uniform(-1, 1, KEYS)
    if name == "tent":  # means rise and fall with shares
        f = (np.arange(KEYS, dtype=np.float64) + 1) / KEYS
        return f, 1 - 2 * np.abs(2 * f - 1)
    assert name == "sparse"  # most keys rare, means at two values
    return 0.02 + 0.9 * random.beta(0.5, 3, KEYS), random.choice([-0.8, 0.8], KEYS)


def squared_errors(
    trials: int,
    name: str,
    seed: int,
    once: Callable[[Vector, Vector, Random], Mapping[str, tuple[Vector, Vector]]],
) -> dict[str, tuple[float, float]]:
    """Mean squared errors of f (times 1e4, as printed) and m of every contender of a run."""
    random = np.random.default_rng(seed)
    totals: dict[str, list[tuple[float, float]]] = {}
    for _ in range(trials):
        f, m = data_set(name, random)
        for contender, answer in once(f, m, random).items():
            totals.setdefault(contender, []).append(keyvalue.squared(answer, f, m))
    return {
        contender: (float(np.mean([e[0] for e in all_])), float(np.mean([e[1] for e in all_])))
        for contender, all_ in totals.items()
    }
