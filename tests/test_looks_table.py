"""The table of looks: a run that was stopped comes to the rows of one that was not.

What it draws by counts is what the product answers of reports.
"""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest

import rumor
from benchmarks import looks_alarms, looks_headline
from benchmarks.kept_parts import KeptParts, Part, TrialRows
from benchmarks.looks_table import SECTIONS


def _draw(part: Part) -> TrialRows:
    rng = np.random.default_rng(part.seed)
    return [[float(rng.random()), float(part.seed[-1])] for _ in range(part.trials)]


PARTS = [
    Part("all", block, 3, (7, place, number))
    for place, block in enumerate("ab")
    for number in (0, 1)
]


def _never(part: Part) -> TrialRows:
    raise AssertionError(f"{part} is drawn again")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_was_stopped_goes_on(tmp_path: Path, workers: int) -> None:
    whole = KeptParts(tmp_path / "whole").complete(PARTS, _draw, 1)
    assert {block: len(rows) for block, rows in whole.items()} == {"a": 6, "b": 6}
    stopped = KeptParts(tmp_path / "some" / "stopped")
    stopped.complete(PARTS[2:3], _draw, 1)
    with stopped.path.open("a") as file:
        file.write('{"part": {"sec')  # a line that a stop tore
    assert stopped.complete(PARTS, _draw, workers) == whole
    assert stopped.complete(PARTS, _never, 1) == whole


def test_another_seed_or_size_is_drawn_anew(tmp_path: Path) -> None:
    kept = KeptParts(tmp_path / "kept")
    (part,) = PARTS[:1]
    first = kept.complete([part], _draw, 1)["a"]
    others = [Part("all", "a", 3, (8, 0, 0)), Part("all", "a", 2, (7, 0, 0))]
    for other in others:
        assert kept.complete([other], _draw, 1)["a"] != first
    assert kept.complete([part], _never, 1)["a"] == first


def test_every_section_has_parts_with_seeds_of_their_own() -> None:
    parts = [
        part
        for number, (name, section) in enumerate(SECTIONS.items())
        for part in section.trials(name, 1.0, (1, number))
    ]
    assert len({part.seed for part in parts}) == len(parts)
    sizes = {name: sum(part.trials for part in parts if part.section == name) for name in SECTIONS}
    blocks = {name: len(section.blocks()) for name, section in SECTIONS.items()}
    assert sizes == {name: blocks[name] * SECTIONS[name].histories for name in SECTIONS}


def test_the_headline_is_read_as_the_watch_and_the_trend_say() -> None:
    """Of seventeen days: two weeks, and three days of another."""
    oracle = rumor.UnaryEncoding(domain=3, epsilon=1.0)
    rng, monday = np.random.default_rng(4), datetime.date(2026, 1, 5)
    reports, samples, weeks = {}, [], [np.zeros(3, dtype=np.int64) for _ in range(3)]
    for day in range(17):
        law = [0.6, 0.2, 0.2] if day < 7 else [0.2, 0.6, 0.2]
        people = rng.choice(3, looks_headline.REPORTS[day % 7], p=law)
        some = oracle.privatize(people, random=rumor.Seeded(day))
        counts = np.rint(oracle.support_counts(oracle.tally(some))).astype(np.int64)
        weeks[day // 7] += counts
        reports[monday + datetime.timedelta(days=day)] = some
        samples.append(looks_alarms.as_sample(oracle, counts, len(some)))
    looks = [
        looks_headline.log_evidence(oracle, weeks[:2], 13),
        looks_headline.log_evidence(oracle, weeks, 16),
    ]
    watch, trend = rumor.watch(oracle, reports), rumor.trend(oracle, reports)
    assert watch.evidence.max() > 10
    np.testing.assert_allclose(watch.evidence, np.exp(np.maximum(0, looks).max(axis=0)), rtol=1e-9)
    np.testing.assert_allclose(looks_headline.p_values(samples), trend.p_value, rtol=1e-9)
