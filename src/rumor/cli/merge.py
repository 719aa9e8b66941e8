"""`rumor merge`: several summaries in, their sum out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rumor.cli.common import print_json
from rumor.cli.options import AsJson, argument, option
from rumor.core.errors import InputError


def merge(
    out: Annotated[str, argument("OUT", "The summary file to write.")],
    summaries: Annotated[list[str], argument("SUMMARY...", "The summary files to merge.")],
    force: Annotated[bool, option("--force -f", "Replace OUT if it exists.")] = False,
    as_json: AsJson = False,
) -> None:
    """Merge saved summaries, such as twelve months into a year.

    They must be of the same question of the same collection. Summaries are made by
    `rumor estimate ... --save-summary FILE` and can be estimated from like the reports
    themselves.

    \b
    Example:
      rumor merge year.rumor 2026-*.rumor
      rumor estimate examples/browser.toml year.rumor
    """
    from rumor.mechanisms.summary import Summary
    from rumor.mechanisms.summary import merge as add_up

    if Path(out).exists() and not force:
        raise InputError(f"OUT must be a new file (or use --force to replace it); got {out!r}")
    files = [Path(path).resolve() for path in summaries]
    if len(set(files)) < len(files):
        twice = next(
            path for path, file in zip(summaries, files, strict=True) if files.count(file) > 1
        )
        raise InputError(f"summaries must be different files; got {twice!r} more than once")
    found = [Summary.load(path) for path in summaries]
    counted_by: dict[str, str] = {}
    for path, summary in zip(summaries, found, strict=True):
        for id in summary.some_ids:
            if id in counted_by:
                raise InputError(
                    f"summaries must be of different reports; {counted_by[id]!r} and {path!r} "
                    f"count some of the same reports"
                )
        counted_by |= dict.fromkeys(summary.some_ids, path)
    total = add_up(found)
    total.save(out)
    if as_json:
        print_json(
            {
                "reports": total.reports,
                "summaries": len(summaries),
                "out": out,
                "collection": total.contract,
                "question": total.question,
            }
        )
    else:
        print(f"{total.reports:,} reports of {len(summaries)} summaries to {out!r}")
