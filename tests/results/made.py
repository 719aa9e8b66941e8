"""One result of every class: an estimate of each kind, and what is made of several groups.

Everything is made from the kinds' own examples, so a new kind adds its results by itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import rumor
from rumor.contract.collection import Collection
from rumor.core.reports import Reports
from rumor.kinds import KINDS, NAMES
from rumor.kinds.base import Kind
from rumor.mechanisms import Mechanism
from rumor.results.rows import Tabular

PEOPLE = 400


def mechanism_of(kind: Kind[Any]) -> Mechanism:
    """The mechanism of a kind's own example."""
    question = {"id": "asked", "kind": kind.name, "text": "What?", **kind.example().spec}
    wish = {"name": "Made", "series": "made", "contact": "a@b.example", "questions": [question]}
    return Collection.resolve(wish).question("asked").mechanism


def options_of(kind: Kind[Any]) -> dict[str, Any]:
    """The words that are looked for, where a kind needs some."""
    words = kind.example().words
    return {} if words is None else {"candidates": list(words)}


@functools.cache
def reports_of(name: str, weights: Sequence[int] = (4, 3, 2, 1), seed: int = 1) -> Reports:
    """Reports of people who give the example's answers, so many for each of them."""
    kind, mechanism = KINDS[name], mechanism_of(KINDS[name])
    typed = [kind.parse_answer(mechanism, text) for text in kind.example().typed_answers]
    each = PEOPLE // sum(weights)
    people = [one for one, weight in zip(typed, weights, strict=True) for _ in range(weight * each)]
    return mechanism.privatize(people, random=rumor.Seeded(seed))


def groups_of(name: str) -> dict[str, Reports]:
    """Three groups that hold different things."""
    laws = {"north": (4, 3, 2, 1), "south": (1, 2, 3, 4), "west": (1, 1, 1, 1)}
    return {group: reports_of(name, law, seed) for seed, (group, law) in enumerate(laws.items())}


@functools.cache
def estimated(name: str) -> Tabular:
    kind, mechanism = KINDS[name], mechanism_of(KINDS[name])
    words = kind.example().words
    options = {} if words is None else kind.collector_options(words)
    return kind.estimate(mechanism, reports_of(name), "auto", options)


@functools.cache
def compared(name: str) -> rumor.Comparison:
    return rumor.compare(mechanism_of(KINDS[name]), groups_of(name), **options_of(KINDS[name]))


@functools.cache
def weighed(name: str) -> rumor.Combined:
    weights = {"north": 5, "south": 3, "west": 2}
    mechanism = mechanism_of(KINDS[name])
    found: rumor.Combined = rumor.weigh(
        mechanism, groups_of(name), weights, **options_of(KINDS[name])
    )
    return found


@functools.cache
def combined(name: str) -> rumor.Combined:
    mechanism = mechanism_of(KINDS[name])
    sources = {group: (mechanism, reports) for group, reports in groups_of(name).items()}
    return rumor.combine(sources, **options_of(KINDS[name]))


@functools.cache
def followed(name: str) -> rumor.Trend:
    days = {f"2026-03-{day + 2:02}": each for day, each in enumerate(groups_of(name).values())}
    return rumor.trend(mechanism_of(KINDS[name]), days, **options_of(KINDS[name]))


@functools.cache
def regressed(name: str) -> rumor.Regression:
    reports = reports_of(name)
    rng = np.random.default_rng(1)
    columns = {"age": rng.normal(size=len(reports)), "place": rng.choice(["x", "y"], len(reports))}
    return rumor.regress(mechanism_of(KINDS[name]), reports, columns)


def _named() -> dict[str, Callable[[], Tabular]]:
    verbs: list[Callable[[str], Tabular]] = [estimated, compared, weighed, combined, followed]
    found = {
        f"{name}-{verb.__name__}": functools.partial(verb, name) for name in NAMES for verb in verbs
    }
    return {**found, "choice-regressed": functools.partial(regressed, "choice")}


RESULTS = _named()
"""Every result by name, made when it is called."""
