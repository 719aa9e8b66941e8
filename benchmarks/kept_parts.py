"""Trials in parts: drawn by several processes, each part kept in a file as soon as it is drawn.

A part has its own stream of random numbers, of the seed, its block and its number alone. So a run
that was stopped goes on where it was, and comes to the same rows as one that was not.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

TrialRows = list[list[float]]


@dataclass(frozen=True)
class Part:
    """Some trials of a block, and the seed of their random numbers."""

    section: str
    block: str
    trials: int
    seed: tuple[int, ...]


@dataclass(frozen=True)
class KeptParts:
    """The rows of the parts that were drawn, a line of JSON for each in the file `path`."""

    path: Path

    def read(self) -> dict[Part, TrialRows]:
        """Return the rows of every part; a last line that is torn is left out."""
        found: dict[Part, TrialRows] = {}
        if not self.path.exists():
            return found
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                said = json.loads(line)
            except json.JSONDecodeError:
                continue
            part = {**said["part"], "seed": tuple(said["part"]["seed"])}
            found[Part(**part)] = said["rows"]
        return found

    def keep(self, part: Part, rows: TrialRows) -> None:
        """Add the rows of a part."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        torn = self.path.exists() and not self.path.read_bytes().endswith(b"\n")
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" if torn else "")
            file.write(json.dumps({"part": asdict(part), "rows": rows}) + "\n")

    def complete(
        self, parts: Iterable[Part], draw: Callable[[Part], TrialRows], workers: int
    ) -> dict[str, TrialRows]:
        """Draw the parts that are missing, in `workers` processes; return all rows by block."""
        wanted = list(parts)
        known = self.read()
        missing = [part for part in wanted if part not in known]
        for part, rows, seconds in _drawn(missing, draw, workers):
            self.keep(part, rows)
            known[part] = rows
            told = f"{part.section}, {part.block}, part {part.seed[-1]}: {seconds:.0f} s"
            print(told, file=sys.stderr, flush=True)
        found: dict[str, TrialRows] = {}
        for part in wanted:
            found.setdefault(part.block, []).extend(known[part])
        return found


def _drawn(
    parts: Sequence[Part], draw: Callable[[Part], TrialRows], workers: int
) -> Iterable[tuple[Part, TrialRows, float]]:
    """Yield each part with its rows and the seconds of processor time, as they are drawn."""
    if workers == 1:
        yield from ((part, *_timed(draw, part)) for part in parts)
        return
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(_timed, draw, part): part for part in parts}
        for done in as_completed(running):
            yield (running[done], *done.result())


def _timed(draw: Callable[[Part], TrialRows], part: Part) -> tuple[TrialRows, float]:
    start = time.process_time()
    rows = draw(part)
    return rows, time.process_time() - start
