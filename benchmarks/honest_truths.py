"""Truths to judge by, fixed by a rule before any of them was run.

Nothing in Rumor was tuned on these. The rule: one shape for each way that the shares of real
questions are known to fall, with round parameters, and words of the languages that stand at
places 5, 15, 25 and 35 of the sorted list that the package wordfreq has (where it is installed;
its most frequent D words, their frequencies as they are). All but the words are written down
here and draw nothing at random.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

FEW = ("one", "three")
"""Truths of one or a few values, which may lie at the edge of detection."""


@lru_cache(maxsize=8)
def truths(domain: int) -> Mapping[str, Vector]:
    """All shapes on so many values, by name."""
    rank = np.arange(1.0, domain + 1)
    middle = (rank - 0.5) / domain
    found = {
        "even": np.ones(domain),
        "nearly even": 1 + 0.3 * np.sin(2 * np.pi * middle),
        "stretched": np.exp(-np.sqrt(30 * middle)),
        "lomax": (1 + rank / 5) ** -1.3,
        "seasons": _poisson(domain, domain / 3) + 0.2 / domain,
        "pareto": middle**-0.6,
        "lognormal 1": np.exp([NormalDist().inv_cdf(1 - u) for u in middle]),
        "tail": np.where(rank <= domain / 10, rank**-1.2, 0.0),
        "three": np.where(rank <= 3, (0.3 - 0.08 * (rank - 1)) * domain / 0.34, 1.0),
        "one": np.where(rank == 1, 0.6 * domain / 0.4, 1.0),
        **_words(domain),
    }
    found["tail"] = found["tail"] / found["tail"].sum() + 0.5 / domain
    return {name: np.asarray(law / law.sum()) for name, law in found.items()}


def _poisson(domain: int, mean: float) -> Vector:
    logs = [k * math.log(mean) - mean - math.lgamma(k + 1) for k in range(domain)]
    return np.exp(logs)


def _words(domain: int) -> dict[str, Vector]:
    """Frequencies of words; a list shorter than the domain is left out."""
    if importlib.util.find_spec("wordfreq") is None:
        return {}
    import wordfreq  # type: ignore[import-not-found,import-untyped,unused-ignore]

    languages = sorted(wordfreq.available_languages())
    found = {}
    for place in (5, 15, 25, 35):
        language = languages[place - 1]
        numbers = sorted(wordfreq.get_frequency_dict(language).values(), reverse=True)
        if len(numbers) >= domain:
            found[f"words {language}"] = np.array(numbers[:domain])
    return found
