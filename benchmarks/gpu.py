"""The Bayesian update on a graphics card: rates, what bounds them, and whole optima.

    python -m benchmarks.gpu [--quick] [--write FILE]

Beside the update stand the dense product that equation 11 (CSS 2020) asks for, in single
precision by the card's own library, and a copy within the card's memory, bytes read and bytes
written: seconds of the card's own clock, the median of several runs. Reports are made on the
card: people of Zipf's law, unary bits of 3/4 and 1/4 (odds of 9). The last table goes from
Parquet files to the estimate, on a million people's reports written over and over.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import rumor
from rumor.analysis.engines.base import Fold, M, ReportSource, S
from rumor.analysis.engines.gpu.device import GpuDevice, Rows, words_of
from rumor.analysis.engines.gpu.engine import GpuEngine
from rumor.analysis.engines.local import LocalEngine
from rumor.analysis.estimate import analyse
from rumor.contract.report_file import write_reports
from rumor.core.types import Vector
from rumor.estimators.frequency.likelihood import SupportLikelihood, oracle_likelihood
from rumor.estimators.frequency.solver import interior_start, maximize

HIT, MISS = 0.75, 0.25
ODDS = HIT * (1 - MISS) / ((1 - HIT) * MISS)
GAP = 1e-6
_TURNS = 7

# A word of bits that are 1 with a quarter, three words of every four from a counter; then the
# bit of the person's own value is drawn with three quarters.
_MAKER = r"""
extern "C" __device__ unsigned long long mixed(unsigned long long x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}
extern "C" __global__ void make(
    unsigned* out, long long rows, int words, int values, const double* law,
    unsigned long long seed) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= rows * words) return;
    long long row = i / words;
    int word = (int)(i % words);
    unsigned long long r = mixed(mixed(seed) ^ (unsigned long long)i);
    unsigned bits = (unsigned)r & (unsigned)(r >> 32);
    int left = values - word * 32;
    if (left < 32) bits &= left <= 0 ? 0 : (1u << left) - 1;
    unsigned long long own = mixed(mixed(seed + 1) ^ (unsigned long long)row);
    double u = (double)(own >> 11) * 0x1p-53;
    int low = 0, high = values - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (law[middle] > u) high = middle; else low = middle + 1;
    }
    if (low >> 5 == word) {
        bool set = mixed(own) & 3;
        bits = (bits & ~(1u << (low & 31))) | (unsigned)set << (low & 31);
    }
    out[i] = bits;
}
"""


def zipf(values: int) -> Vector:
    """Zipf's law."""
    law = 1 / np.arange(1, values + 1)
    return np.asarray(law / law.sum())


def made(card: GpuDevice, rows: int, values: int, seed: int = 1) -> list[Rows]:
    """Reports on the card, in pieces as the engine keeps them."""
    words, cupy = words_of(values), card.cupy
    loop = cupy.RawKernel(_MAKER, "make")
    law = cupy.asarray(np.cumsum(zipf(values)))
    most, found = (1 << 30) // (4 * words), []
    while rows:
        count = min(rows, most)
        room = card.allocate_rows(count, words)
        blocks = -(-count * words // 256)
        loop(
            (blocks,),
            (256,),
            (room, np.int64(count), np.int32(words), np.int32(values), law, np.uint64(seed)),
        )
        found.append(Rows(room, count))
        rows, seed = rows - count, seed + 2
    return found


def seconds(card: GpuDevice, work: Callable[[], object]) -> float:
    """The median of a few runs, by the card's clock."""
    cupy, taken = card.cupy, []
    work()
    for _ in range(_TURNS):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        work()
        end.record()
        end.synchronize()
        taken.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return float(np.median(taken))


def copied(card: GpuDevice) -> float:
    """Bytes a second of a copy within the card, read and written."""
    one = card.cupy.random.randint(0, 1 << 32, size=1 << 29, dtype=np.uint32)
    other = card.cupy.empty_like(one)
    return 2 * int(one.nbytes) / seconds(card, lambda: card.cupy.copyto(other, one))


def dense(card: GpuDevice, values: int) -> float:
    """Reports a second of the dense product in single precision."""
    cupy, rows = card.cupy, 2_000_000_000 // values
    matrix = cupy.random.random((rows, values), dtype=np.float32)
    h = cupy.full(values, 1 / values, dtype=np.float32)
    return rows / seconds(card, lambda: h * ((1 / (matrix @ h)) @ matrix))


def updates(card: GpuDevice, say: Callable[[str], None], sizes: Sequence[int]) -> None:
    """One whole update, for domains and numbers of reports."""
    bandwidth = copied(card)
    say(f"a copy within the card moves {bandwidth / 1e12:.2f} TB/s, read and written")
    say("")
    say("| values | reports | seconds | reports/s | of the dense product | TB/s read | of a copy |")
    say("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for values in (100, 1000, 10_000):
        words, rate = words_of(values), dense(card, values)
        card.cupy.get_default_memory_pool().free_all_blocks()
        state = (np.full(values, 1 / values), ODDS - 1, 1)
        for rows in sizes:
            if rows * words * 4 > card.free_bytes - (2 << 30):
                say(f"| {values:,} | {rows:,} | more than the card holds | | | | |")
                continue
            held = made(card, rows, values)
            taken = seconds(card, functools.partial(card.sum_weights, held, words, values, state))
            moved = rows * words * 4 * (1 if words <= 32 else 2) / taken
            say(
                f"| {values:,} | {rows:,} | {taken:.5f} | {rows / taken:.3g} "
                f"| {rows / taken / rate:.1f} | {moved / 1e12:.2f} | {moved / bandwidth:.2f} |"
            )
            del held
            card.cupy.get_default_memory_pool().free_all_blocks()


def optimum(card: GpuDevice, say: Callable[[str], None], sizes: Sequence[int]) -> None:
    """The certified optimum over reports that are on the card."""
    values, words = 1000, words_of(1000)
    say("| reports | passes | gap | seconds of passes | seconds in all | largest error |")
    say("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for rows in sizes:
        held = made(card, rows, values)
        spent = 0.0

        def sums(
            h: Vector, c: float, power: int, held: list[Rows] = held
        ) -> tuple[Vector, float, float]:
            nonlocal spent
            begin = time.perf_counter()
            found = card.sum_weights(held, words, values, (h, c, power))
            spent += time.perf_counter() - begin
            return found[:-2], float(found[-2]), float(found[-1])

        begin = time.perf_counter()
        counts = sums(np.full(values, 1 / values), 0.0, 1)[0]
        start = interior_start((counts / rows - MISS) / (HIT - MISS))
        likelihood = SupportLikelihood(sums, values, ODDS, rows, rows)
        found = maximize(likelihood, start, gap=GAP)
        whole = time.perf_counter() - begin
        error = float(np.abs(found.frequency - zipf(values)).max())
        say(
            f"| {rows:,} | {found.updates} | {found.gap:.1e} | {spent:.2f} | {whole:.2f} "
            f"| {error:.2e} |"
        )
        del held, likelihood, sums
        card.cupy.get_default_memory_pool().free_all_blocks()


class _Watched(GpuEngine):
    """The engine, with the seconds of its folds by what they do."""

    def __init__(self, card: GpuDevice) -> None:
        super().__init__(card)
        self.seconds: dict[str, float] = {}

    def fold(self, source: ReportSource, fold: Fold[S, M], on_progress: Any = None) -> M:
        """As ever."""
        name = type(fold.function).__name__
        stage = "passes" if name == "OfStratum" else "reading and counting"
        if stage == "passes" and "passes" not in self.seconds:
            stage = "reading again, to the card, and the first pass"
            self.seconds["passes"] = 0.0
        begin = time.perf_counter()
        try:
            return super().fold(source, fold, on_progress)
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - begin


def from_files(card: GpuDevice, say: Callable[[str], None], copies: int) -> None:
    """From Parquet to the estimate, and each stage's share; beside it the local engine."""
    people, values = 1_000_000, 1000
    wish = {"id": "a", "kind": "choice", "text": "?", "domain": values, "epsilon": 2.0}
    contract = rumor.Collection.resolve(
        {
            "name": "Cards",
            "series": "cards",
            "contact": "nobody@example.org",
            "questions": [{**wish, "mechanism": "unary"}],
        }
    )
    oracle = contract.question("a").mechanism.oracle
    assert oracle is not None
    answers = np.random.default_rng(1).choice(values, people, p=zipf(values))
    reports = oracle.privatize(answers, random=rumor.Seeded(1))
    with tempfile.TemporaryDirectory(prefix="rumor-gpu-") as place:
        first = Path(place) / "0.parquet"
        with write_reports(first, contract, contract.question("a")) as writer:
            writer.write(reports, datetime.date(2026, 1, 1))
        for number in range(1, copies):
            shutil.copyfile(first, Path(place) / f"{number}.parquet")
        engine = _Watched(card)
        begin = time.perf_counter()
        found = analyse(contract, place, method="bayes", engine=engine)
        whole = time.perf_counter() - begin
        say(f"from Parquet to the optimum, {found.reports:,} reports of {values:,} bits:")
        say("")
        say("| stage | seconds | share |")
        say("| --- | ---: | ---: |")
        stages = {**engine.seconds, "everything else": whole - sum(engine.seconds.values())}
        for stage, taken in stages.items():
            say(f"| {stage} | {taken:.2f} | {taken / whole:.0%} |")
        say(f"| all | {whole:.2f} | 100% |")
    likelihood = oracle_likelihood(oracle, reports[:200_000], None)
    h = np.full(values, 1 / values)
    likelihood.update(h)
    begin = time.perf_counter()
    likelihood.update(h)
    local = 200_000 / (time.perf_counter() - begin)
    say("")
    say(f"the loops of this machine's {LocalEngine().workers} processors: {local:.3g} reports/s")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, and write them where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", help="a file to write the tables to")
    given = parser.parse_args(arguments)
    card = GpuDevice()
    lines: list[str] = []

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    today = datetime.datetime.now(tz=datetime.UTC).date()
    say(f"{card.name}, {today}, Rumor {rumor.__version__}")
    say("")
    most = 10_000_000 if given.quick else 1_000_000_000
    updates(card, say, [n for n in (10**6, 10**7, 10**8, 10**9) if n <= most])
    say("")
    optimum(card, say, [n for n in (10**7, 10**8, 10**9) if n <= most])
    say("")
    from_files(card, say, 3 if given.quick else 100)
    if given.write:
        Path(given.write).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
