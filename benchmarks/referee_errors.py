"""What the default estimate costs and gains: beside the projection, and report by report."""

from __future__ import annotations

import numpy as np

import rumor
from benchmarks.referee_kinds import Outcome, Outcomes
from benchmarks.referee_worlds import (
    Generator,
    Vector,
    counted,
    epsilon,
    law,
    oracle,
    reported,
    whole_between,
)
from rumor.estimators.frequency.linear import project
from rumor.kinds import KINDS
from rumor.mechanisms import FrequencyOracle

FEW = "few values"
LEADER = "a leader"
MOVED = "one more report"
_RUNS = 100


def few_values(rng: Generator, number: int) -> Outcomes:
    """Ask a survey of 5 to 12 values, 500 to 5,000 people, at epsilon 0.5 or 1."""
    domain = int(rng.integers(5, 13))
    people, eps = int(rng.choice([500, 1000, 5000])), float(rng.choice([0.5, 1.0]))
    shares = everyday(rng, domain)
    mechanism = KINDS["choice"].resolve({"domain": domain, "epsilon": eps}, people)
    yield Outcome(FEW, FEW, over_projection(mechanism, shares, people, _RUNS, rng))


def everyday(rng: Generator, domain: int) -> Vector:
    """Draw shares as surveys have them: a hill on a scale, a leader, parties, nearly even."""
    sort = int(rng.integers(4))
    place = np.arange(domain)
    if sort == 0:
        width = rng.uniform(0.15, 0.5) * domain
        raw = np.exp(-0.5 * ((place - rng.uniform(0, domain - 1)) / width) ** 2)
    elif sort == 1:
        raw = rng.dirichlet(np.ones(domain)) * rng.uniform(0.2, 0.7)
        raw[int(rng.integers(domain))] += 1 - raw.sum()
    elif sort == 2:
        raw = rng.permutation((place + 1.0) ** -rng.uniform(0.5, 1.5))
    else:
        raw = 1 + rng.uniform(0, 0.5) * np.sin(2 * np.pi * (place / domain + rng.random()))
    return np.asarray(raw / raw.sum())


def leader(rng: Generator, number: int) -> Outcomes:
    """Ask many people about many values, of which one has nearly all."""
    domain, people = whole_between(rng, 1_000, 30_000), whole_between(rng, 100_000, 1_000_000)
    eps = epsilon(rng, 2.0)
    shares = law(rng, domain) * (1 - rng.uniform(0.8, 0.98))
    shares[int(rng.integers(domain))] += 1 - shares.sum()
    mechanism = KINDS["choice"].resolve({"domain": domain, "epsilon": eps}, people)
    yield Outcome(LEADER, LEADER, over_projection(mechanism, shares, people, 5, rng))


def over_projection(
    mechanism: FrequencyOracle, shares: Vector, people: int, runs: int, rng: Generator
) -> float:
    """Divide the default's squared error by the projection's, over some crowds."""
    default = projection = 0.0
    for _ in range(runs):
        summary = counted(mechanism, shares, people, rng)
        found = rumor.estimate(mechanism, summary)
        default += float(((found.frequency - shares) ** 2).sum())
        projection += float(((project(found.unbiased) - shares) ** 2).sum())
    return default / projection


def one_more(rng: Generator, number: int) -> Outcomes:
    """Add one report: how far is the share that moves most, over what it may move?

    That is one standard error, or twice what the unbiased share moves, whichever is more.
    """
    people = 299 if number % 5 == 0 else whole_between(rng, 20, 3_000)
    domain = whole_between(rng, 2, 12 if number % 2 else 2_000)
    mechanism = oracle(rng, domain, epsilon(rng, 0.2), people)
    shares = law(rng, domain)
    before = reported(mechanism, rng.choice(domain, people, p=shares), rng)
    after = before + reported(mechanism, rng.choice(domain, 1, p=shares), rng)
    first, second = (rumor.estimate(mechanism, one) for one in (before, after))
    plain = np.abs(second.unbiased - first.unbiased)
    allowed = np.maximum(np.maximum(first.stderr, second.stderr), 2 * plain)
    yield Outcome(MOVED, MOVED, float((np.abs(second.frequency - first.frequency) / allowed).max()))
