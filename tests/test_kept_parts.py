"""Trials that are drawn in parts: a run that was stopped comes to the rows of one that was not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

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
