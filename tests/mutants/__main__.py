"""Draw bugs from the sources, plant them one at a time, and see whether the tests notice.

    python -m tests.mutants                          300 bugs, the seed is today's date
    python -m tests.mutants --seed S --count 100     as many as said, by a seed (may be repeated)
    python -m tests.mutants --area client            of an area (may be repeated)
    python -m tests.mutants --again RESULTS          the survivors of an earlier run, once more
    python -m tests.mutants --list                   what would be drawn, without a run
    python -m tests.mutants --untouched              the statements that no test runs

Which tests touch which lines is recorded once for a commit, into build/mutants. A file of tests
that is new or changed is recorded again by itself; --reuse takes the newest recording, of whatever
commit. Results are kept as JSON in build/mutants/results.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from tests.mutants.catalogue import ROOT
from tests.mutants.drawn import drawing, rates
from tests.mutants.drawn.change import Change
from tests.mutants.drawn.choosing import GOLDEN
from tests.mutants.drawn.judging import Judge
from tests.mutants.drawn.recording import FOLDER, recording
from tests.mutants.drawn.untouched import told, untouched

OUTCOME = ("before", "after", "verdict", "seconds", "by", "tests")


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    add = parser.add_argument
    add("--seed", action="append", help="of a draw; today's date unless said; may be repeated")
    add("--count", type=int, default=300, help="how many bugs by each seed")
    add("--area", action="append", default=[], help="a folder of src/rumor, or javascript")
    add("--seconds", type=float, default=45.0, help="of tests for a bug, at most")
    add("--most", type=float, default=300.0, help="of tests for a bug that survives them, at most")
    add("--grace", type=float, default=30.0, help="seconds beyond them, after which a bug hangs")
    add("--workers", type=int, default=2, help="bugs at a time")
    add("--slow", action="store_true", help="also tests that take long")
    add("--reuse", action="store_true", help="the newest recording, of whatever commit")
    add("--tests", action="append", default=[], help="record these files or folders alone")
    add("--again", type=Path, help="results of which the survivors are tried again")
    add("--list", action="store_true", help="draw, print and stop")
    add("--untouched", action="store_true", help="print what no test runs (newest recording)")
    asked = parser.parse_args(arguments)
    asked.seed = asked.seed or [today]
    return asked


def survivors_again(results: Path) -> list[Change]:
    """Return the changes that survived in `results`, where today's sources still have them."""
    kept = json.loads(results.read_text(encoding="utf-8"))["outcomes"]
    found = []
    for one in kept:
        if one["verdict"] in ("survived", "untouched") and (ROOT / one["file"]).is_file():
            source = (ROOT / one["file"]).read_bytes()
            same = [
                change
                for change in drawing.changes(one["file"])
                if change.operator == one["operator"]
                and change.lines(source) == (one["before"], one["after"])
            ]
            found += sorted(same, key=lambda change: abs(change.line - one["line"]))[:1]
    return found


def write(
    outcomes: Sequence[rates.Outcome], seed: str, asked: argparse.Namespace, seconds: float
) -> Path:
    """Keep the results of a `seed`, and return where."""
    name = "-".join([seed, str(len(outcomes)), *(a.replace("/", "_") for a in asked.area)])
    path = FOLDER / "results" / f"{name}{'-again' if asked.again else ''}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            **{key: getattr(o.change, key) for key in ("file", "line", "area", "operator")},
            **{key: getattr(o, key) for key in OUTCOME},
        }
        for o in outcomes
    ]
    results = {"seed": seed, "seconds": seconds, "outcomes": rows}
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False), encoding="utf-8")
    return path


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; 1 when too many survive."""
    asked = parsed(arguments)
    if asked.untouched:
        newest = recording(reuse=True, slow=asked.slow, under=asked.tests, workers=asked.workers)
        print(told(untouched(newest, drawing.files(asked.area))))
        return 0
    drawn = (
        {"again": survivors_again(asked.again)}
        if asked.again
        else {seed: drawing.draw(asked.count, seed, asked.area) for seed in asked.seed}
    )
    every = [change for changes in drawn.values() for change in changes]
    if asked.list:
        for change in every:
            before, after = change.lines((ROOT / change.file).read_bytes())
            print(f"{change.file}:{change.line} ({change.operator})\n  - {before}\n  + {after}")
        return 0
    touched = recording(
        reuse=asked.reuse, slow=asked.slow, under=asked.tests, workers=asked.workers
    )
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rumor-mutants-") as folder:
        judge = Judge(
            touched,
            Path(folder),
            asked.workers,
            limit_s=asked.seconds,
            most_s=asked.most,
            grace_s=asked.grace,
        )
        outcomes = judge.judge(every)
    seconds = time.monotonic() - begun
    golden = sum(o.by.startswith(GOLDEN) for o in outcomes if o.is_caught)
    print(f"\nsurvivors\n{rates.survivors(outcomes)}\n\n{rates.by_operator(outcomes)}\n")
    left = iter(outcomes)
    for seed, changes in drawn.items():
        ours = list(islice(left, len(changes)))
        print(f"seed {seed}, kept in {write(ours, seed, asked, seconds)}\n{rates.table(ours)}\n")
    if len(drawn) > 1:
        print(f"all seeds together\n{rates.table(outcomes)}\n")
    print(f"caught by the output of the documentation alone: {golden}")
    print(f"{len(outcomes)} bugs in {seconds / 60:.0f} minutes")
    missed = rates.shortfalls(outcomes)
    print("\n".join(missed) if missed else "every target is met")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
