"""Plant every bug of the catalogue, one at a time, and see whether the tests notice.

    python -m tests.mutants.planted                   all of them, two at a time
    python -m tests.mutants.planted --area ledger     those of an area (may be repeated)
    python -m tests.mutants.planted --only "sums"     those whose name holds this text

Each worker has a copy of the working tree. Its tests pass there before anything is planted
(or the run stops), so that a test which fails, fails because of the bug.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.catalogue import Mutant, catalogue
from tests.mutants.trees import Copy

WORKERS = 2
LIMIT_S, LIMIT_ALL_S = 180, 3600
CAUGHT_OVERALL, CAUGHT_IN_AREA = 0.95, 0.90


@dataclass(frozen=True)
class Outcome:
    """What became of a planted bug."""

    mutant: Mutant
    verdict: str
    """"caught", "survived" or "equivalent"."""
    seconds: float = 0.0
    by: str = ""


def fails(copy: Copy, tests: Sequence[str], *, planted: bool) -> tuple[bool, str]:
    """Return whether one of `tests` fails or hangs, and what it says.

    Python's compiled files are kept from the run before anything is planted, never of a bug.
    """
    arguments = ["-x", "--slow", *tests]
    ending = copy.pytest(
        arguments,
        limit_s=LIMIT_S if planted else LIMIT_ALL_S,
        environment={"PYTHONDONTWRITEBYTECODE": "1"} if planted else {},
    )
    # 4: a named test is not there, since its file no longer loads; it was there before.
    if ending.status not in (None, 0, 1, 2, 4):
        raise RuntimeError(
            f"{' '.join(arguments)} ended with {ending.status}:\n{ending.output[-2000:]}"
        )
    return ending.status != 0, ending.first_failure[:110]


def judge(copy: Copy, mutant: Mutant) -> Outcome:
    """Plant a bug, run its tests, take it out again."""
    place = mutant.place(copy.root)
    whole = (copy.root / place).read_text(encoding="utf-8")
    begun = time.monotonic()
    with copy.holding(place, whole.replace(mutant.find, mutant.replace).encode()):
        caught, by = fails(copy, mutant.tests, planted=True)
    verdict = "caught" if caught else "survived"
    return Outcome(mutant, verdict, time.monotonic() - begun, by if caught else "")


def run(mutants: Sequence[Mutant]) -> list[Outcome]:
    """Every outcome, told as it comes."""
    equivalent = [Outcome(mutant, "equivalent") for mutant in mutants if mutant.equivalent]
    real = [mutant for mutant in mutants if not mutant.equivalent]
    copies: SimpleQueue[Copy] = SimpleQueue()
    told = threading.Lock()
    with tempfile.TemporaryDirectory(prefix="rumor-mutants-") as folder:
        for number in range(WORKERS):
            copies.put(Copy(Path(folder) / str(number)))
        everything = sorted({test for mutant in real for test in mutant.tests})
        with ThreadPoolExecutor(WORKERS) as pool:

            def before(worker: int) -> None:
                ours = everything[worker::WORKERS]
                if not ours:  # and pytest without a name would run everything
                    return
                copy = copies.get()
                failed, said = fails(copy, ours, planted=False)
                assert not failed, f"the tests must pass before a bug is planted: {said}"
                copies.put(copy)

            def after(mutant: Mutant) -> Outcome:
                copy = copies.get()
                try:
                    outcome = judge(copy, mutant)
                finally:
                    copies.put(copy)
                with told:
                    name = f"{mutant.area}: {mutant.name}"
                    print(f"{outcome.verdict:9} {outcome.seconds:5.1f} s  {name}", flush=True)
                return outcome

            list(pool.map(before, range(WORKERS)))
            return [*equivalent, *pool.map(after, real)]


def table(outcomes: Sequence[Outcome]) -> str:
    """Caught of planted by area, and the survivors by name."""
    lines = [f"{'area':22} planted caught survived equivalent   share  median"]
    for area in [*sorted({o.mutant.area for o in outcomes}), "all"]:
        ours = [o for o in outcomes if area in ("all", o.mutant.area)]
        real = [o for o in ours if o.verdict != "equivalent"]
        caught = [o for o in real if o.verdict == "caught"]
        share = len(caught) / len(real) if real else 1.0
        middle = statistics.median([o.seconds for o in caught]) if caught else 0.0
        lines.append(
            f"{area:22} {len(real):7} {len(caught):6} {len(real) - len(caught):8} "
            f"{len(ours) - len(real):10} {share:7.1%} {middle:5.1f} s"
        )
    survivors = [o.mutant for o in outcomes if o.verdict == "survived"]
    lines += [f"survived: {mutant.area}: {mutant.name}" for mutant in survivors]
    return "\n".join(lines)


def enough(outcomes: Sequence[Outcome]) -> bool:
    """Whether as many were caught as must be."""

    def share(ours: Sequence[Outcome]) -> float:
        real = [o for o in ours if o.verdict != "equivalent"]
        return sum(o.verdict == "caught" for o in real) / len(real) if real else 1.0

    areas = {o.mutant.area for o in outcomes}
    each = [share([o for o in outcomes if o.mutant.area == area]) for area in areas]
    return share(outcomes) >= CAUGHT_OVERALL and all(s >= CAUGHT_IN_AREA for s in each)


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; 1 when too many survive."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants.planted",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--area", action="append", default=[])
    parser.add_argument("--only", default="")
    asked = parser.parse_args(arguments)
    mutants = [one for one in catalogue(asked.area) if asked.only in one.name]
    outcomes = run(mutants)
    print(table(outcomes))
    return 0 if enough(outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
