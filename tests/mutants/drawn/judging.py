"""Make each drawn change in a copy of the tree, and see whether its tests notice."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.catalogue import ROOT
from tests.mutants.drawn.change import Change
from tests.mutants.drawn.choosing import TWINS, Chosen, choose
from tests.mutants.drawn.equivalents import equivalents, reason
from tests.mutants.drawn.rates import Outcome
from tests.mutants.drawn.recording import Recording
from tests.mutants.trees import Copy, Ending

WARM_UP = TWINS  # compiles every loop
WARM_UP_LIMIT_S = 900
LOOPS = "src/rumor/core/loops/"


class Judge:
    """Copies of the tree, one for each worker, in which changes are made and tests are run.

    The tests of a change may take `limit_s` seconds, of a survivor `most_s` in all; `grace_s`
    seconds beyond what they need, they hang.
    """

    def __init__(
        self,
        recording: Recording,
        folder: Path,
        workers: int,
        *,
        limit_s: float,
        most_s: float,
        grace_s: float,
    ) -> None:
        self._recording, self._folder = recording, folder
        self._limit_s, self._most_s, self._grace_s = limit_s, most_s, grace_s
        self._copies: SimpleQueue[Copy] = SimpleQueue()
        self._workers = workers
        self._told = threading.Lock()
        self._start_s = self._compile_s = 0.0

    def judge(self, changes: Sequence[Change]) -> list[Outcome]:
        """Return every outcome, told as it comes."""
        judged = equivalents()
        whys = {change: reason(change, judged) for change in changes}
        for number in range(self._workers):
            self._copies.put(Copy(self._folder / str(number)))
        with ThreadPoolExecutor(self._workers) as pool:
            list(pool.map(self._warm_up, range(self._workers)))
            outcomes = list(pool.map(lambda one: self._one(one, whys[one]), changes))
            outcomes = list(pool.map(self._with_other_tests, outcomes))
            return list(
                pool.map(self._certain, outcomes, [self._unsteady(outcomes)] * len(changes))
            )

    def _warm_up(self, _: int) -> None:
        """Compile a copy's files and loops, and see how long pytest takes to start."""
        copy = self._copies.get()
        begun = time.monotonic()
        ending = copy.pytest(["-x", WARM_UP], limit_s=WARM_UP_LIMIT_S)
        if ending.status != 0:
            raise RuntimeError(f"{WARM_UP} must pass before a change: {ending.first_failure}")
        self._compile_s = max(self._compile_s, time.monotonic() - begun)
        begun = time.monotonic()
        copy.pytest(["--collect-only", WARM_UP], limit_s=WARM_UP_LIMIT_S)
        self._start_s = max(self._start_s, time.monotonic() - begun)
        self._copies.put(copy)

    def _one(self, change: Change, why: str) -> Outcome:
        before, after = change.lines((ROOT / change.file).read_bytes())
        if why:
            outcome = Outcome(change, before, after, "equivalent", by=why)
        else:
            chosen = choose(self._recording, change, self._limit_s)
            outcome = Outcome(
                change, before, after, "survived", tests=f"{len(chosen.tests)} of {chosen.among}"
            )
            outcome = self._run(outcome, chosen)
        return self._tell(outcome)

    def _tell(self, outcome: Outcome) -> Outcome:
        """Print an outcome, and return it."""
        change = outcome.change
        with self._told:
            where = f"{change.file}:{change.line}"
            print(
                f"{outcome.verdict:10} {outcome.seconds:5.1f} s  {where}  {change.operator}",
                flush=True,
            )
        return outcome

    def _with_other_tests(self, outcome: Outcome) -> Outcome:
        """Judge a survivor by the tests that did not fit into the time of the first ones."""
        if outcome.verdict not in ("survived", "untouched"):
            return outcome
        first, all_ = (
            choose(self._recording, outcome.change, limit_s)
            for limit_s in (self._limit_s, self._most_s)
        )
        others = tuple(test for test in all_.tests if test not in set(first.tests))
        if not others:
            return outcome
        told = replace(outcome, tests=f"{len(all_.tests)} of {all_.among}")
        return self._tell(self._run(told, replace(all_, tests=others, quick=0)))

    def _run(self, outcome: Outcome, chosen: Chosen) -> Outcome:
        """Return the outcome of a change with the tests that were chosen."""
        survived = "survived" if chosen.touch else "untouched"
        if not chosen.tests:
            return replace(outcome, verdict=survived)
        copy = self._copies.get()
        begun = time.monotonic()
        try:
            for part in chosen.rounds():
                ending = self._ending(copy, outcome.change, part)
                if ending.status not in (0, 5):
                    break
        finally:
            self._copies.put(copy)
        failed = ending.failed(chosen.tests)
        by = failed[0] if failed else ending.first_failure
        # 5: no test is left, since their module was skipped; then nobody noticed.
        verdict = survived if ending.status in (0, 5) else "caught"
        if ending.status is None or "from pytest-timeout" in ending.output:
            verdict = "hung"
        seconds = time.monotonic() - begun
        return replace(outcome, verdict=verdict, seconds=seconds, by=by * (verdict != survived))

    def _ending(self, copy: Copy, change: Change, chosen: Chosen) -> Ending:
        """Return how the tests that were chosen end with a change."""
        ending = self._planted(copy, change, chosen, self._grace_s)
        if ending.lacks_tests:
            chosen = self._still_there(copy, change, chosen)
            ending = self._planted(copy, change, chosen, self._grace_s)
        if ending.status is None and not self._ends(copy, chosen):
            # They need longer than they did when they were recorded, with no bug at all.
            ending = self._planted(copy, change, chosen, WARM_UP_LIMIT_S)
        return ending

    def _still_there(self, copy: Copy, change: Change, chosen: Chosen) -> Chosen:
        """Return the tests that a change leaves there.

        Cases of a test may follow from the sources. With other cases the whole suite would run
        other tests, and a case that is gone is no failure.
        """
        files = tuple(dict.fromkeys(test.partition("::")[0] for test in chosen.tests))
        listing = replace(chosen, tests=("--collect-only", *files))
        there = set(self._planted(copy, change, listing, WARM_UP_LIMIT_S).output.splitlines())
        left = tuple(test for test in chosen.tests if test in there)
        return replace(chosen, tests=left or (WARM_UP,))

    def _planted(self, copy: Copy, change: Change, chosen: Chosen, grace_s: float) -> Ending:
        """Return how the tests end with a change; `grace_s` beyond what they need, stop them."""
        environment, more_s = {"PYTHONDONTWRITEBYTECODE": "1"}, grace_s
        with tempfile.TemporaryDirectory(dir=self._folder) as loops:
            if change.file.startswith(LOOPS):  # a loop does not see that one it calls changed
                environment["NUMBA_CACHE_DIR"] = loops
                more_s += self._compile_s
            source = (copy.root / change.file).read_bytes()
            with copy.holding(Path(change.file), change.apply(source)):
                return copy.pytest(
                    ["-x", f"--timeout={chosen.longest + more_s:.0f}", *chosen.tests],
                    limit_s=self._start_s + chosen.seconds + more_s,
                    environment=environment,
                )

    def _ends(self, copy: Copy, chosen: Chosen) -> bool:
        """Return whether the tests end in time without any change."""
        limit_s = self._start_s + chosen.seconds + self._grace_s
        return copy.pytest(chosen.tests, limit_s=limit_s).status is not None

    def _unsteady(self, outcomes: Sequence[Outcome]) -> set[str]:
        """Return the tests that caught something, and fail without any change too."""
        tests = sorted({o.by for o in outcomes if o.is_caught} & self._recording.tests.keys())
        if not tests:
            return set()
        copy = self._copies.get()
        found = set(copy.pytest(tests, limit_s=WARM_UP_LIMIT_S * 4).failed(tests))
        self._copies.put(copy)
        for test in sorted(found):
            print(f"unsteady, and not believed: {test}", flush=True)
        return found

    def _certain(self, outcome: Outcome, unsteady: set[str]) -> Outcome:
        """Judge again, without them, what only unsteady tests caught."""
        if not outcome.is_caught or outcome.by not in unsteady:
            return outcome
        chosen = choose(self._recording, outcome.change, self._limit_s)
        tests = tuple(test for test in chosen.tests if test not in unsteady)
        return self._run(outcome, replace(chosen, tests=tests))
