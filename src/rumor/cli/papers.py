"""`rumor papers`: every reproduced table and figure."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from rumor.cli.common import print_json
from rumor.cli.guarded import unguarded
from rumor.cli.options import AsJson, argument, count, option
from rumor.core.errors import InputError, format_value

if TYPE_CHECKING:
    from rumor.papers.model import ChecklistItem

PapersTrials = Annotated[
    int | None, count("--trials -t T", "Trials of each cell (by default the paper's).", min=2)
]
Out = Annotated[str, option("--out -o DIR", "The folder of results, with one folder per paper.")]
_ACTIONS = ("list", "run", "show", "cell", "checklist")
Jobs = Annotated[
    int | None, count("--jobs -j N", "Number of processes (default: one per core).", min=1)
]


def papers(
    action: Annotated[
        str, argument("ACTION", "What to do: list, run, show, cell or checklist.")
    ] = "list",
    name: Annotated[
        str | None,
        argument("NAME", "The name of a paper, or all."),
    ] = None,
    part: Annotated[
        str | None,
        argument(
            "PART", "Table, figure or claims to show; with cell, the first characters of a name."
        ),
    ] = None,
    trials: PapersTrials = None,
    quick: Annotated[
        bool, option("--quick", "Few trials and short paths, for a first look.")
    ] = False,
    out: Out = "papers-results",
    jobs: Jobs = None,
    run: Annotated[
        bool,
        option("--run", "With checklist: run every command and check what it prints."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce the papers: compare published numbers with Rumor's.

    A run writes tables and figures as .html and .md and all numbers as .parquet. Finished
    cells are kept in the folder: an interrupted run goes on where it was when it is
    started again. To show takes the full results that come with Rumor; a cell is run here
    and now. The checklist has everything that the documents contain, each with a command.

    \b
    Example:
      rumor papers list
      rumor papers run css2020 --quick
      rumor papers run all --out results
      rumor papers show css2020 "Table 1"
      rumor papers cell css2020 "zipf/Rappor/epsilon 4/1000" --quick
      rumor papers checklist
      rumor papers checklist css2020 --run
    """
    from rumor.papers import MODULES

    if action not in _ACTIONS:
        raise InputError(
            f"an action must be one of {', '.join(_ACTIONS)}; got {format_value(action)}"
        )
    if run and action != "checklist":
        raise InputError(f"--run is for checklist; got {format_value(action)}")
    if part is not None and action not in ("show", "cell"):
        raise InputError(f"{action} takes no part; got {format_value(part)}")
    if action == "list":
        if name is not None:
            raise InputError(f"list needs nothing after it; got {format_value(name)}")
        _list(as_json)
        return
    if action == "checklist":
        _checklist(name, run, as_json)
        return
    if name is None:
        raise InputError(f"{action} needs the name of a paper ({', '.join(MODULES)}); got none")
    if action == "show":
        _show(name, part, as_json)
        return
    if action == "cell":
        _cell(name, part, trials, quick, as_json)
        return
    told = [_run(one, trials, quick, out, jobs) for one in (MODULES if name == "all" else [name])]
    if as_json:
        print_json({"papers": told})
        return
    for report in told:
        print(f"{report['name']}: {report['said']}")
        print(f"  {report['files']['html']}")  # type: ignore[index]
    if name == "all":
        from rumor.papers.render import in_short

        print(f"\n{in_short(told)}")  # type: ignore[arg-type]
        print(f"What each is, and why: `rumor papers checklist`, or {out}/css2020/css2020.html")


def _checklist(name: str | None, run: bool, as_json: bool) -> None:
    """Print every item of the documents, or of one document, with its command.

    With `run`, run the commands instead, and fail where one does not print what it should.
    """
    from rumor.papers import DOCUMENTS, paper
    from rumor.papers.checklist import items, items_sentence

    if name is not None:
        paper(name)
    found = [one for one in items() if name in (None, one[1])]
    if run:
        _run_checklist(found, as_json)
        return
    if as_json:
        print_json(
            {
                "items": [
                    {
                        "document": number,
                        "paper": own,
                        "item": entry.what,
                        "says": entry.says,
                        "command": entry.shown or None,
                        "prints": list(entry.prints),
                        "slow": entry.slow,
                        "beyond": entry.beyond,
                        "note": entry.note,
                    }
                    for number, own, entry in found
                ]
            }
        )
        return
    for number, own in DOCUMENTS.items():
        entries = [entry for _, paper_, entry in found if paper_ == own]
        if entries:
            print(f"{number} {paper(own).title}")
        for entry in entries:
            print(f"  {entry.what}: {entry.says}")
            print(f"    {entry.shown or f'none: {entry.note}'}")
    if name is None:
        print(f"\n{items_sentence()}")


def _run_checklist(found: Sequence[tuple[str, str, ChecklistItem]], as_json: bool) -> None:
    """Run the command of every item found, and print which do not print what they should."""
    from rumor.papers.checklist import missing

    told = []
    for number, _, entry in found:
        if not entry.shown:
            continue
        printed, problem = _printed(entry.shown)
        lacks = missing(entry, printed)
        told.append(
            {
                "document": number,
                "item": entry.what,
                "command": entry.shown,
                "passed": not (problem or lacks),
                "lacks": lacks,
                "problem": problem,
            }
        )
    failed = [one for one in told if not one["passed"]]
    if as_json:
        print_json({"run": len(told), "failed": len(failed), "items": told})
    else:
        for one in failed:
            why = one["problem"] or f"does not print {one['lacks'][0]!r}"  # type: ignore[index]
            print(f"{one['document']} {one['item']}: {why}\n    {one['command']}")
        said = f"{len(told)} commands run, {len(told) - len(failed)} print what they should"
        print(f"{said}; {len(failed)} do not" if failed else f"{said}.")
    if failed:
        raise typer.Exit(1)


def _printed(command: str) -> tuple[str, str | None]:
    """Return what a `command` of the checklist prints, run in this process, and its problem."""
    import contextlib
    import io
    import shlex

    from rumor.cli import main

    words, out, err = shlex.split(command), io.StringIO(), io.StringIO()
    problem: str | None = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            if words[0] == "python":
                exec(words[2], {"__name__": "__main__"})
            elif status := main(words[1:]):
                problem = err.getvalue().strip() or f"status {status}"
        except Exception as trouble:  # any: one item's trouble is not another's
            problem = f"{type(trouble).__name__}: {trouble}"
    return out.getvalue(), problem


def _show(name: str, part: str | None, as_json: bool) -> None:
    """Print a part of a paper's page, from the full results that come with Rumor."""
    from rumor.core.plain_text import aligned
    from rumor.papers import paper
    from rumor.papers.render import blocks
    from rumor.papers.runner import committed, results

    found = {block.name: block for block in blocks(paper(name), results(*committed(name)))}
    short = {full.split(" ", 1)[-1]: full for full in found}
    if part is None:
        if as_json:
            print_json({"parts": list(found)})
        else:
            print("\n".join(found))
        return
    if part not in found and part not in short:
        raise InputError(
            f"a part of {name} must be one of {', '.join(found)}; got {format_value(part)}"
        )
    block = found[part if part in found else short[part]]
    points = [] if block.figure is None else block.figure.points
    head: tuple[str, ...] = tuple(block.head) or ("panel", "series", "x", "y")
    rows = [tuple(row) for row in block.rows]
    rows += [
        (p.facet, p.series, p.column or f"{p.x:g}", p.text.strip() or f"{p.y:.5g}") for p in points
    ]
    if as_json:
        told = [dict(zip(head, row, strict=True)) for row in rows]
        print_json({"part": block.name, "title": block.title, "text": block.text, "rows": told})
        return
    print(block.title)
    for paragraph in block.text:
        print(paragraph)
    if rows:
        print(aligned(head, rows, left=range(len(head))))


def _cell(name: str, part: str | None, trials: int | None, quick: bool, as_json: bool) -> None:
    """Run the cells whose names begin so, in this process, and tell what they measure."""
    from rumor.core.plain_text import aligned
    from rumor.papers import paper
    from rumor.papers.runner import measure

    cells = [cell for cell in paper(name).cells if part is not None and cell.id.startswith(part)]
    if not cells:
        raise InputError(f"a cell of {name} must begin as one does; got {format_value(part)}")
    told = []
    for cell in cells:
        settings, times = cell.asked(trials=trials, quick=quick)
        for quantity, values in measure(cell.experiment, settings, times, cell.seed).items():
            told.append(
                {"cell": cell.id, "quantity": quantity, "mean": values[0], "trials": values[2]}
            )
    if as_json:
        print_json({"cells": told})
        return
    rows = [
        (str(t["cell"]), str(t["quantity"]), f"{t['mean']:.7g}", str(t["trials"])) for t in told
    ]
    print(aligned(("cell", "quantity", "mean", "trials"), rows, left=(0, 1)))


def _list(as_json: bool) -> None:
    """Print the papers, with how many of their published numbers are reproduced, and how."""
    from rumor.core.plain_text import aligned
    from rumor.papers import MODULES, paper
    from rumor.papers.render import counts, formula_counts, in_short, verdicts_in_full

    found = [paper(name) for name in MODULES]
    verdicts = [verdicts_in_full(p) for p in found]
    numbers = [counts(one) for one in verdicts]
    if as_json:
        print_json(
            {
                "papers": [
                    {
                        "name": p.name,
                        "title": p.title,
                        "source": p.source,
                        "cells": len(p.cells),
                        "published": number["published"],
                        "as_printed": number["as_printed"],
                        "re_read": number["re_read"],
                        "unexplained": number["unexplained"],
                        "formulas": formula_counts(verdicts_)[0],
                        "checklist": len(p.checklist),
                    }
                    for p, number, verdicts_ in zip(found, numbers, verdicts, strict=True)
                ]
            }
        )
        return
    shown = ("published", "as_printed", "re_read", "unexplained")
    rows = [
        (p.name, *(str(number[key]) for key in shown), p.source)
        for p, number in zip(found, numbers, strict=True)
    ]
    head = ("name", "published", "as printed", "re-read", "unexplained", "source")
    print(aligned(head, rows, left=(0, 5)))
    print(f"\n{in_short(numbers)}")


def _run(
    name: str, trials: int | None, quick: bool, out: str, jobs: int | None
) -> dict[str, object]:
    from pathlib import Path

    from rumor.core.files import write_whole
    from rumor.papers import paper
    from rumor.papers.render import (
        counts,
        counts_sentence,
        formula_sentence,
        in_full,
        provenance,
        write,
    )
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
    number = counts(verdicts, in_full(found) if quick or trials else ())
    files = write(found, measured, folder)
    # The numbers as text, as the project keeps them under papers/results.
    write_whole(folder / f"{name}.json", as_text(cells, made).encode())
    return {
        "name": name,
        **number,
        "said": (
            counts_sentence(number)
            if number["published"]
            else formula_sentence(verdicts) or f"{len(cells)} cells."
        ),
        "files": {**files, "json": str(folder / f"{name}.json")},
    }


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int, float | None], None]]:
    """Yield a bar with the time left, or a line now and then where nobody watches."""
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
    with Progress(*columns, console=Console(file=unguarded(sys.stderr)), transient=True) as bars:
        task = bars.add_task(name, total=None, left="")

        def update(done: int, total: int, left: float | None) -> None:
            text = "" if left is None else f"{int(left) // 60}:{int(left) % 60:02d} left"
            bars.update(task, completed=done, total=total, left=text)

        yield update
