"""Truths to judge by, fixed by a rule before any of them was run.

Nothing in Rumor was tuned on these. The rule: one shape for each way that the shares of real
questions are known to fall, with round parameters, and words of the languages that stand at
places 5, 15, 25 and 35 of the sorted list that the package wordfreq has (where it is installed;
its most frequent D words, their frequencies as they are). All but the words are written down
here and draw nothing at random.

Everyday questions have 5 to 12 answers. Their truths are drawn from eight families by a seed, so
that anybody can judge by truths that nobody has tried.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping
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


def everyday(seed: int, count: int) -> dict[str, Vector]:
    """Return `count` truths of 5 to 12 values by name, the families in turn, drawn with `seed`."""
    rng = np.random.default_rng([seed, 41])
    found = {}
    for place in range(count):
        family = list(_FAMILIES)[place % len(_FAMILIES)]
        domain = int(rng.integers(5, 13))
        law = _FAMILIES[family](rng, domain)
        found[f"{family}, {domain} values ({place})"] = law / law.sum()
    return found


def _scale(rng: np.random.Generator, domain: int) -> Vector:
    """How satisfied people are: a bell, its middle above that of the scale or below."""
    middle, width = rng.uniform(0.3, 0.8), rng.uniform(0.12, 0.35)
    return np.exp(-0.5 * ((_middles(domain) - middle) / width) ** 2)


def _polarised(rng: np.random.Generator, domain: int) -> Vector:
    """Both ends of a scale, and a few people in between."""
    place, (low, high) = _middles(domain), rng.uniform(0.3, 0.9, 2)
    ends = rng.uniform(0.3, 0.7) * np.exp(-3 * place / low) + 0.5 * np.exp(-3 * (1 - place) / high)
    return np.asarray(ends + 0.03)


def _parties(rng: np.random.Generator, domain: int) -> Vector:
    """A power of the rank, and every party off it by about a quarter."""
    rank = np.arange(1.0, domain + 1)
    return np.asarray(rank ** -rng.uniform(0.5, 1.6) * np.exp(0.25 * rng.normal(size=domain)))


def _weekdays(rng: np.random.Generator, domain: int) -> Vector:
    """Nearly even."""
    return np.exp(rng.uniform(0.03, 0.3) * rng.normal(size=domain))


def _months(rng: np.random.Generator, domain: int) -> Vector:
    """A season."""
    return np.asarray(
        1 + rng.uniform(0.05, 0.6) * np.sin(2 * np.pi * (_middles(domain) + rng.uniform()))
    )


def _majority(rng: np.random.Generator, domain: int) -> Vector:
    """One value has a half to 85 per cent, the others fall by a factor."""
    share = rng.uniform(0.5, 0.85)
    rest = rng.uniform(0.4, 0.8) ** np.arange(domain - 1)
    return np.append(share, (1 - share) * rest / rest.sum())


def _colours(rng: np.random.Generator, domain: int) -> Vector:
    """Each falls by the same factor."""
    return np.asarray(rng.uniform(0.4, 0.85) ** np.arange(domain))


def _two_sides(rng: np.random.Generator, domain: int) -> Vector:
    """Two values have 80 to 98 per cent, the others what is left."""
    share, first = rng.uniform(0.8, 0.98), rng.uniform(0.5, 0.7)
    rest = rng.dirichlet(np.ones(domain - 2))
    return np.concatenate([[share * first, share * (1 - first)], (1 - share) * rest])


def _anything(rng: np.random.Generator, domain: int) -> Vector:
    """Every table of shares is as likely as any other."""
    return np.asarray(rng.dirichlet(np.ones(domain)))


def _middles(domain: int) -> Vector:
    return np.asarray((np.arange(domain) + 0.5) / domain)


_FAMILIES: Mapping[str, Callable[[np.random.Generator, int], Vector]] = {
    "scale": _scale,
    "polarised": _polarised,
    "parties": _parties,
    "weekdays": _weekdays,
    "months": _months,
    "majority": _majority,
    "colours": _colours,
    "two sides": _two_sides,
    "anything": _anything,
}
