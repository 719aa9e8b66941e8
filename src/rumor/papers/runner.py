"""Runs the cells of a paper: over the cores, with time left, from where it was interrupted.

Every finished cell is a file of its own in the folder `cells`, written whole; a second run
skips those that ran with the same parameters, trials, seed and code.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

from rumor import __version__
from rumor.core.errors import InputError
from rumor.core.files import write_whole
from rumor.papers.model import Cell, Experiment, Results, TrialMean

# Called with cells done, cells in all, and a guess of the seconds left (None: no idea yet).
OnProgress = Callable[[int, int, float | None], None]
Kept = dict[str, Any]


def run(
    cells: Sequence[Cell],
    folder: Path,
    *,
    trials: int | None = None,
    quick: bool = False,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
) -> dict[str, Kept]:
    """Run what is not there yet; returns every cell as it is kept, by its id."""
    if trials is not None and trials < 2:
        raise InputError(f"trials must be at least 2, to see their spread; got {trials}")
    store = folder / "cells"
    store.mkdir(parents=True, exist_ok=True)
    found: dict[str, Kept] = {}
    missing: list[tuple[Cell, Kept]] = []
    for cell in cells:
        settings, times = cell.asked(trials=trials, quick=quick)
        identity: Kept = {
            "id": cell.id,
            "version": __version__,
            "code": cell.code,
            "parameters": settings,
            "trials": times,
            "seed": cell.seed,
        }
        kept = _read(store / _file_name(cell.id))
        if kept is not None and {key: kept.get(key) for key in identity} == identity:
            found[cell.id] = kept
        else:
            missing.append((cell, identity))
    _run_missing(missing, len(cells), store, found, jobs, on_progress)
    return {cell.id: found[cell.id] for cell in cells}


def results(cells: Mapping[str, Kept], made: Mapping[str, str]) -> Results:
    """Return the results of kept `cells`."""
    numbers = {
        cell: {name: TrialMean(*values) for name, values in kept["numbers"].items()}
        for cell, kept in cells.items()
    }
    return Results(numbers, made)


def measure(experiment: Experiment, settings: Mapping[str, Any], trials: int, seed: int) -> Kept:
    """Run one cell in this process: mean, spread and number for every quantity."""
    numbers: Kept = {}
    for name, values in experiment(settings, trials, seed).items():
        column = np.asarray(values, dtype=np.float64)
        spread = float(column.std(ddof=1)) if column.size > 1 else 0.0
        numbers[name] = [_rounded(float(column.mean())), _rounded(spread), int(column.size)]
    return numbers


def _run_missing(
    missing: Sequence[tuple[Cell, Kept]],
    total: int,
    store: Path,
    found: dict[str, Kept],
    jobs: int | None,
    on_progress: OnProgress | None,
) -> None:
    """Run cells, in processes of their own unless there is one only."""

    def done(cell: Cell, kept: Kept) -> None:
        write_whole(store / _file_name(cell.id), json.dumps(kept).encode())
        found[cell.id] = kept
        if on_progress is not None:
            passed, left = time.monotonic() - started, total - len(found)
            ran = len(missing) - left
            on_progress(len(found), total, passed / ran * left if ran else None)

    started = time.monotonic()
    if on_progress is not None:
        on_progress(len(found), total, None)
    workers = min(jobs or os.cpu_count() or 1, len(missing))
    if workers <= 1:
        for cell, identity in missing:
            done(cell, {**identity, "numbers": measure(*_work(cell, identity))})
        return
    # Processes are started anew, not forked: threads and compiled loops do not survive a fork.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_settle) as pool:
        waiting = {
            pool.submit(measure, *_work(cell, identity)): (cell, identity)
            for cell, identity in missing
        }
        try:
            while waiting:
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    cell, identity = waiting.pop(future)
                    done(cell, {**identity, "numbers": future.result()})
        except BaseException:
            # Ctrl-C, or a cell that failed: what is finished is kept, what runs is let go.
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
            raise


def _work(cell: Cell, identity: Kept) -> tuple[Experiment, Mapping[str, Any], int, int]:
    return cell.experiment, identity["parameters"], identity["trials"], cell.seed


def _settle() -> None:
    """Ignore Ctrl-C in a worker: the waiting process receives it, and ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _file_name(cell: str) -> str:
    return re.sub(r"[^A-Za-z0-9.=-]+", "_", cell) + ".json"


def _read(file: Path) -> Kept | None:
    """Return a finished cell; None where there is none, or it is not whole."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) and "numbers" in kept else None


def _rounded(value: float) -> float:
    """Round to twelve digits: the others differ between processors."""
    return float(f"{value:.12g}") if math.isfinite(value) else value


def committed(name: str) -> tuple[dict[str, Kept], dict[str, str]]:
    """Return the full results that come with Rumor: cells by their id, and where they are from."""
    file = Path(__file__).parent / "results" / f"{name}.json"
    kept = json.loads(file.read_text(encoding="utf-8"))
    return {cell["id"]: cell for cell in kept["cells"]}, kept["made"]


def as_text(cells: Mapping[str, Kept], made: Mapping[str, str]) -> str:
    """Return results as a small text file with a line for each cell, to be committed."""
    lines = [
        json.dumps({key: value for key, value in kept.items() if key not in ("version", "code")})
        for kept in cells.values()
    ]
    body = ",\n".join(lines)
    return f'{{"made": {json.dumps(dict(made))},\n"cells": [\n{body}\n]}}\n'
