"""Run the benchmarks, print a table of ratios, and write them as JSON.

    python -m benchmarks [--quick] [--full] [--rounds N] [--only NAME ...] [--out FILE]

A benchmark is a file with a `run(scale)` that yields rows, and a line in BENCHMARKS. What is
measured of accuracy prints tables and verdicts of its own: it is run where it is named, by a
line in TABLES.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import peers
from benchmarks.harness import Row, Scale

BENCHMARKS = (
    "limits",
    "startup",
    "memory",
    "privatize",
    "parts",
    "aggregate",
    "subset",
    "hadamard",
    "projective",
    "hashing",
    "streaming",
    "spark",
    "bayes",
    "ingest",
    "relay",
    "rappor",
    "keyvalue",
    "decode_scale",
    "visits",
    "scale",
)

# What people call it, and the module whose `main` prints it.
TABLES = {
    "compare": "compare_table",
    "honest": "honest_table",
    "joint": "joint_table",
    "key-sets": "key_set_table",
    "means": "mean_table",
    "open-words": "open_words",
    "ordered": "ordered_table",
    "pages": "pages",
    "sets": "set_table",
    "shuffle": "shuffle_table",
}

_MARKS = {True: "[green]pass[/]", False: "[bold red]miss[/]", None: ""}


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parse(arguments)
    named: list[str] = options.only or list(BENCHMARKS)
    for name in [each for each in named if each in TABLES]:
        tables = importlib.import_module(f"benchmarks.{TABLES[name]}")
        tables.main(["--quick"] if options.quick else [])
    races = [each for each in named if each in BENCHMARKS]
    if races:
        race(options, races)


def race(options: argparse.Namespace, names: Sequence[str]) -> None:
    """Measure speed, print the ratios and write them down."""
    scale = Scale(options.quick, options.full, options.rounds)
    # Wide enough for whole lines when the output goes to a file.
    console = Console(width=None if sys.stdout.isatty() else 150)
    for name in peers.missing():
        console.print(f"{name} is not installed here and left out; `make bench` installs it")
    rows: list[Row] = []
    started = time.time()
    for name in names:
        with console.status(f"measuring {name} ..."):
            rows += importlib.import_module(f"benchmarks.{name}").run(scale)
    console.print(table(rows))
    missed = [row for row in rows if row.passed is False]
    held = sum(row.passed is True for row in rows)
    console.print(
        f"{held} targets held, {len(missed)} missed; {time.time() - started:.0f} s. "
        f"One thread, contenders in turn, best of {scale.rounds}: read ratios, not rates."
    )
    options.out.write_text(json.dumps(_results(scale, rows), indent=1) + "\n")
    console.print(f"written to {options.out}")


def table(rows: Sequence[Row]) -> Table:
    """The rows as a table, a line drawn under each benchmark."""
    grid = Table(title="Rumor beside its peers and the machine's limits", title_justify="left")
    for heading in ("benchmark", "Rumor", "against", "", "ratio", "target", ""):
        right = heading in ("Rumor", "ratio", "target")
        grid.add_column(heading, justify="right" if right else "left", overflow="fold")
    for index, row in enumerate(rows):
        first = index == 0 or rows[index - 1].benchmark != row.benchmark
        last = index + 1 == len(rows) or rows[index + 1].benchmark != row.benchmark
        grid.add_row(
            row.benchmark if first else "",
            row.value,
            row.against,
            row.other,
            row.shown,
            row.target,
            _MARKS[row.passed],
            end_section=last,
        )
    return grid


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer rounds")
    parser.add_argument(
        "--full", action="store_true", help="also 1e8 streamed reports (4 GB), 1e8 people (16 GB)"
    )
    parser.add_argument(
        "--only", action="append", choices=(*BENCHMARKS, *TABLES), help="just this one"
    )
    parser.add_argument("--rounds", type=int, help="turns of each contender (more if busy)")
    parser.add_argument("--out", type=Path, default=Path("bench-results.json"))
    return parser.parse_args(arguments)


def _results(scale: Scale, rows: Sequence[Row]) -> dict[str, object]:
    packages = ("rumor", "numpy", "numba", "cryptography", "pyarrow", "pure-ldp", "multi-freq-ldpy")
    return {
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.platform(),
            "python": platform.python_version(),
        },
        "packages": {name: version(name) for name in packages if name not in peers.missing()},
        "quick": scale.quick,
        "rounds": scale.rounds,
        "rows": [row.to_json() for row in rows],
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((x.split(":", 1)[1].strip() for x in lines if x.startswith("model name")), "")


if __name__ == "__main__":
    main()
