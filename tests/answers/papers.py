"""What the papers say: parts of their pages, their cells, and every experiment with a few people.

Parts are made from the results that come with Rumor. An experiment is run once for every text among
its parameters (a data set, a mechanism, a method), with few people, values and trials.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rumor.papers import MODULES, paper
from rumor.papers.charts import digest
from rumor.papers.model import Cell
from rumor.papers.render import Block, blocks
from rumor.papers.runner import committed, measure, results

# What parameters of an experiment are at most; others are as in a quick run.
_FEW: Mapping[str, int] = {"people": 300, "domain": 20, "most": 400, "runs": 4}
_TRIALS = 2

SLOW = (
    *("run/css2020/errors/geometric*", "run/css2020/trajectory/geometric*"),
    *("run/privkv-em/*/linear*", "run/privkv-em/*means apart", "run/privkv-em/errors/ours/ratings"),
    *("run/rappor-decode/null", "run/minimax/oracle_errors/hashing"),
)
"""Patterns of the names of what takes long."""


def papers() -> dict[str, Callable[[], Any]]:
    """Return everything that papers say, by name."""
    found: dict[str, Callable[[], Any]] = {}
    for name in MODULES:
        found[f"cells/{name}"] = functools.partial(_cells, name)
        found[f"claims/{name}"] = functools.partial(_claims, name)
        found[f"page/{name}"] = functools.partial(_page, name)
        found |= {f"run/{name}/{id}": functools.partial(_run, cell) for id, cell in _cases(name)}
    return found


def _cells(name: str) -> Any:
    """Return the number of cells of every experiment, and digests of their settings in a run."""
    cells: dict[str, list[Cell]] = {}
    for cell in paper(name).cells:
        cells.setdefault(cell.experiment.__name__, []).append(cell)
    return {
        experiment: {
            "cells": len(found),
            "all": _digest([(c.id, c.seed, c.asked(trials=None, quick=False)) for c in found]),
            "quick": _digest([(c.id, c.asked(trials=None, quick=True)) for c in found]),
            "few": _digest([(c.id, c.asked(trials=7, quick=True)) for c in found]),
        }
        for experiment, found in cells.items()
    }


def _claims(name: str) -> Any:
    """Return for every table of a paper how many numbers it has, and a digest of its claims."""
    by_part: dict[str, list[object]] = {}
    for claim in paper(name).claims:
        by_part.setdefault(claim.part, []).append(claim)
    return {part: {"numbers": len(all), "all": _digest(all)} for part, all in by_part.items()}


def _page(name: str) -> Any:
    """Return the page of a paper, part by part."""
    found = blocks(paper(name), results(*committed(name)))
    return {"parts": [block.name for block in found]} | {
        block.name: _part(block) for block in found
    }


def _part(block: Block) -> Any:
    """Return a part of a page: its words, its first row, and a digest of each column or chart."""
    said: dict[str, Any] = {"title": block.title, "text": list(block.text)}
    if block.rows:
        said["rows"], said["first"] = len(block.rows), list(block.rows[0])
        columns = zip(*block.rows, strict=True)
        said["columns"] = {
            head: _digest(column) for head, column in zip(block.head, columns, strict=True)
        }
    if block.figure is not None:
        said["points"], said["chart"] = len(block.figure.points), digest(block.figure)[:12]
    return said


def _digest(thing: object) -> str:
    return hashlib.sha256(repr(thing).encode()).hexdigest()[:12]


def _cases(name: str) -> Iterator[tuple[str, Cell]]:
    """Yield the first cell of a paper for every experiment and all texts among its parameters."""
    seen = set()
    for cell in paper(name).cells:
        texts = (text for _, text in sorted(cell.parameters.items()) if isinstance(text, str))
        id = "/".join([cell.experiment.__name__, *texts])
        if id not in seen:
            seen.add(id)
            yield id, cell


def _run(cell: Cell) -> Any:
    """Return what a `cell` measures with few people, values and trials."""
    settings, trials = cell.asked(trials=_TRIALS, quick=True)
    small = {
        key: min(value, _FEW[key]) if key in _FEW else value for key, value in settings.items()
    }
    return measure(cell.experiment, small, trials, cell.seed)
