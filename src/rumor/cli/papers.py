"""`rumor papers`: every reproduced table and figure."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

from rumor.cli.common import print_json
from rumor.cli.options import AsJson, argument, option
from rumor.core.errors import InputError, shown

PapersTrials = Annotated[
    int | None, option("--trials -t T", "Trials of each cell (by default the paper's).", min=2)
]
Out = Annotated[str, option("--out -o DIR", "Where results go, a folder a paper.")]
Jobs = Annotated[int | None, option("--jobs -j N", "Processes (by default one a core).", min=1)]


def papers(
    action: Annotated[str, argument("ACTION", "What to do: list or run.")] = "list",
    name: Annotated[str | None, argument("NAME", "To run: the name of a paper, or all.")] = None,
    trials: PapersTrials = None,
    quick: Annotated[bool, option("--quick", "A few trials and short paths, for a look.")] = False,
    out: Out = "papers-results",
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce the papers: published numbers beside ours.

    A run writes tables and figures as .html and .md and all numbers as .parquet. Finished
    cells are kept in the folder: an interrupted run goes on where it was when it is
    started again.

    \b
    Example:
      rumor papers list
      rumor papers run css2020 --quick
      rumor papers run all --out results
    """
    from rumor.papers import MODULES

    if action == "list":
        if name is not None:
            raise InputError(f"list needs nothing after it; got {shown(name)}")
        _list(as_json)
        return
    if action != "run":
        raise InputError(f"an action must be list or run; got {shown(action)}")
    if name is None:
        raise InputError(f"run needs the name of a paper ({', '.join(MODULES)}, all); got none")
    told = [_run(one, trials, quick, out, jobs) for one in (MODULES if name == "all" else [name])]
    if as_json:
        print_json({"papers": told})
        return
    for report in told:
        print(f"{report['name']}: {report['said']}")
        print(f"  {report['files']['html']}")  # type: ignore[index]


def _list(as_json: bool) -> None:
    from rumor.core.plain_text import aligned
    from rumor.papers import MODULES, paper

    found = [paper(name) for name in MODULES]
    if as_json:
        print_json(
            {
                "papers": [
                    {
                        "name": p.name,
                        "title": p.title,
                        "source": p.source,
                        "cells": len(p.cells),
                        "published": len(p.claims),
                        "checklist": len(p.checklist),
                    }
                    for p in found
                ]
            }
        )
        return
    rows = [(p.name, str(len(p.cells)), str(len(p.claims)), p.source) for p in found]
    print(aligned(("name", "cells", "published numbers", "source"), rows, left=(0, 3)))


def _run(
    name: str, trials: int | None, quick: bool, out: str, jobs: int | None
) -> dict[str, object]:
    from pathlib import Path

    from rumor.core.files import write_whole
    from rumor.papers import paper
    from rumor.papers.render import counts, provenance, said, write
    from rumor.papers.runner import as_text, results, run

    found, folder = paper(name), Path(out) / name
    with _progress(name) as on_progress:
        cells = run(
            found.cells, folder, trials=trials, quick=quick, jobs=jobs, on_progress=on_progress
        )
    options = [*(["--trials", str(trials)] if trials else []), *(["--quick"] if quick else [])]
    made = provenance(" ".join(["rumor papers run", name, *options]))
    measured = results(cells, made)
    verdicts = found.verdicts(measured)
    files = write(found, measured, folder)
    # The same numbers as text: what the project keeps under papers/results.
    write_whole(folder / f"{name}.json", as_text(cells, made).encode())
    return {
        "name": name,
        **counts(verdicts),
        "said": said(counts(verdicts)) if verdicts else f"{len(cells)} cells.",
        "files": {**files, "json": str(folder / f"{name}.json")},
    }


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int, float | None], None]]:
    """A bar with the time left, or a line now and then where nobody watches."""
    if not sys.stderr.isatty():
        yield lambda done, total, left: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(name, total=None, left="")

        def update(done: int, total: int, left: float | None) -> None:
            text = "" if left is None else f"{int(left) // 60}:{int(left) % 60:02d} left"
            bars.update(task, completed=done, total=total, left=text)

        yield update
