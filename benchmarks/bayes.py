"""The Bayesian update, the optimum and the default estimator: time and memory.

The dense contenders are two matrix-vector products of equation 11 (CSS 2020) on a rescaled
likelihood matrix, by BLAS. multi-freq-ldpy iterates on the counts, as if every report
supported one value: its update is cheaper than one over reports, and it is another estimate;
so it is compared where both stop. One update of N = 100,000 reports of D = 1000 bits is what
"plain update" means below.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

import rumor
from benchmarks import peers
from benchmarks.harness import Contender, Row, Scale, ceiling, fact, growth, race, take_turns
from benchmarks.memory import peak_bytes
from rumor.estimators.frequency.empirical import shrink
from rumor.estimators.frequency.likelihood import SupportLikelihood, oracle_likelihood
from rumor.estimators.frequency.solver import interior_start, maximize
from rumor.mechanisms import FrequencyOracle
from rumor.mechanisms.summary import Summary
from rumor.papers.frequency import truth

Vector = NDArray[np.float64]

EPSILON = 2.0


def run(scale: Scale) -> Iterable[Row]:
    """Updates, convergence, the default; then memory, threads and growth."""
    count = scale.pick(100_000, 20_000)
    yield from _updates(count, 1000, scale)
    yield from _converged(count, scale)
    yield from _default()
    for size, domain in ((10 * count, 1000), (count, 10_000)):
        yield from _large(size, domain, scale)
    yield from _growth(scale)
    yield from _threads(count)
    yield from _memory(count)


def unary(domain: int) -> FrequencyOracle:
    return rumor.UnaryEncoding(domain=domain, epsilon=EPSILON, variant="symmetric")


def reports_of(oracle: FrequencyOracle, count: int, law: str = "zipf 1") -> NDArray[np.uint8]:
    """Reports of people drawn from a law."""
    values = np.random.default_rng(6).choice(oracle.domain, count, p=truth(law, oracle.domain))
    return oracle.privatize(values, random=rumor.Seeded(6))


def likelihood_of(
    oracle: FrequencyOracle, reports: NDArray[np.uint8], threads: int = 1
) -> SupportLikelihood:
    return oracle_likelihood(oracle, reports, None, threads=threads)


def dense(oracle: FrequencyOracle, reports: NDArray[np.uint8], kind: type) -> Callable[[], object]:
    """One update with the likelihood matrix written out."""
    bits = np.unpackbits(reports, axis=1, count=oracle.domain, bitorder="little")
    matrix: NDArray[np.floating] = bits.astype(kind)
    del bits
    matrix *= kind(oracle.odds - 1)
    matrix += kind(1)
    h: NDArray[np.floating] = np.full(oracle.domain, 1 / oracle.domain, dtype=kind)
    return lambda: h * ((1 / (matrix @ h)) @ matrix) / len(matrix)


def looked_up(oracle: FrequencyOracle, reports: NDArray[np.uint8]) -> Callable[[], object]:
    """One update from packed reports as numpy can do it: a table of bytes, and counts of bytes."""
    width = reports.shape[1]
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    values = bits.astype(np.float64)
    rows = np.array_split(reports, max(1, len(reports) // 1000))
    places = np.arange(width) * 256
    h, c = np.full(width * 8, 1 / oracle.domain), oracle.odds - 1

    def update() -> object:
        table = (h.reshape(width, 8) @ values.T).reshape(-1)
        sums = np.zeros(width * 256)
        for some in rows:
            spots = places + some
            shares = 1 / (1 + c * table[spots].sum(axis=1))
            sums += np.bincount(spots.reshape(-1), np.repeat(shares, width), width * 256)
        return h * (1 + c * (sums.reshape(width, 256) @ values).reshape(-1)) / len(reports)

    return update


def _updates(count: int, domain: int, scale: Scale) -> Iterable[Row]:
    oracle = unary(domain)
    reports = reports_of(oracle, count)
    ours, h = likelihood_of(oracle, reports), np.full(domain, 1 / domain)
    return race(
        f"Bayesian update, N = {count:,}, D = {domain:,}",
        " reports/s",
        Contender("Rumor", lambda: ours.update(h), count),
        [
            Contender("dense float32 BLAS", dense(oracle, reports, np.float32), count),
            Contender("dense float64 BLAS", dense(oracle, reports, np.float64), count),
            Contender("the same look-ups by numpy", looked_up(oracle, reports), count),
        ],
        scale,
        # Ours waits for a core's first cache, D / 4 look-ups a report; the dense product waits for
        # memory, four or eight bytes a value. What memory gives to one core of a shared machine
        # changes by the hour, as does the core's own speed: 1.8 to 3.1 and 3.1 to 5.1 times were
        # seen of the same code within an hour. So these targets are what is had at a bad hour, and
        # code that became slower would show against the look-ups by numpy, which wait for the core
        # as well.
        {
            "dense float32 BLAS": 1.5,
            "dense float64 BLAS": 2.5,
            "the same look-ups by numpy": 2.5,
        }
        if domain == 1000
        else None,
    )


def _converged(count: int, scale: Scale) -> Iterable[Row]:
    """The optimum to a gap of 1e-6, in plain updates over the same reports."""
    even = np.full(1000, 1 / 1000)
    cells: list[tuple[FrequencyOracle, str]] = [
        (oracle, law) for oracle in (unary(1000),) for law in ("zipf 1", "geometric 0.8")
    ]
    cells += [
        (rumor.UnaryEncoding(domain=1000, epsilon=4.0, variant="symmetric"), "geometric 0.8"),
        (rumor.SubsetSelection(domain=1000, epsilon=1.0), "zipf 1"),
        (rumor.HadamardResponse(domain=1000, epsilon=2.0), "zipf 1"),
    ]
    for oracle, law in cells:
        reports = reports_of(oracle, count, law)
        tally = Summary.empty(oracle).update(reports).tally
        start = interior_start(oracle.unbiased(tally, count))
        plain = likelihood_of(oracle, reports)
        data = plain
        if oracle.tally_is_lossless:
            data = oracle_likelihood(oracle, oracle.outputs(), tally.astype(np.float64))
        found = maximize(data, start)
        seconds = take_turns(
            [lambda d=data, s=start: maximize(d, s), lambda u=plain.update: u(even)],  # type: ignore[misc]
            3,
        )
        cost = min(seconds[0]) / min(seconds[1])
        yield ceiling(
            f"optimum to a gap of {found.gap:.0e}, N = {count:,}",
            f"{oracle.name}, epsilon {oracle.epsilon:.2g}, {law}: {found.updates} passes",
            cost,
            "plain updates",
            200,
        )
    yield from _plain(count, scale)
    yield from _peer(count // 10)


def _plain(count: int, scale: Scale) -> Iterable[Row]:
    """How far the plain update alone comes: it needs thousands of steps."""
    steps, h = scale.pick(500, 50), np.full(1000, 1 / 1000)
    data = likelihood_of(unary(1000), reports_of(unary(1000), count))
    for _ in range(steps):
        h = h * data.update(h).gradient
    gap = data.update(h).gap
    yield fact(
        f"plain updates from even frequencies, N = {count:,}",
        f"gap after {steps} of them",
        gap,
        f"{gap:.2g}",
    )


def _peer(count: int) -> Iterable[Row]:
    """multi-freq-ldpy's iterative Bayes on the same reports, both to where they stop."""
    if peers.MULTI in peers.missing():
        return
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_IBU

    oracle, law = unary(1000), truth("zipf 1", 1000)
    reports = reports_of(oracle, count)
    rows = list(np.unpackbits(reports, axis=1, count=1000, bitorder="little").astype(np.int64))
    ours: list[Vector] = []
    theirs: list[Vector] = []

    def us() -> None:
        ours.append(rumor.estimate(oracle, reports, method="bayes").frequency)

    def them() -> None:
        theirs.append(
            np.asarray(UE_Aggregator_IBU(rows, 1000, oracle.epsilon, optimal=False, nb_iter=500))
        )

    seconds = take_turns([us, them], 2)
    ratio = min(seconds[1]) / min(seconds[0])
    errors = [float(((found[-1] - law) ** 2).sum()) for found in (ours, theirs)]
    yield Row(
        f"iterative Bayes to the end, N = {count:,}, D = 1000",
        f"{min(seconds[0]):.3g} s, error {errors[0]:.2g}",
        "multi-freq-ldpy, 500 iterations",
        f"{min(seconds[1]):.3g} s, error {errors[1]:.2g}",
        ratio,
        f"{ratio:.2f}x",
    )


def _default() -> Iterable[Row]:
    """ "auto" from counts, in plain updates of 100,000 reports, however many people there are."""
    oracle, count = unary(1000), 100_000
    plain, h = likelihood_of(oracle, reports_of(oracle, count)), np.full(1000, 1 / 1000)
    for people in (1_000, 100_000, 1_000_000):
        for name, epsilon in (("zipf 1", 4.0), ("geometric 0.8", 1.0)):
            subset = rumor.SubsetSelection(domain=1000, epsilon=epsilon)
            reports = reports_of(subset, people, name)
            items = subset.item_channel(subset.tally(reports), people)
            seconds = take_turns(
                [lambda i=items: shrink(i), lambda: plain.update(h)],  # type: ignore[misc]
                3,
            )
            yield ceiling(
                f'"auto" from counts, N = {people:,}, D = 1000',
                f"{name}, epsilon {epsilon:g}: {min(seconds[0]) * 1e3:.3g} ms",
                min(seconds[0]) / min(seconds[1]),
                f"plain updates of {count:,}",
                3,
            )


def _large(count: int, domain: int, scale: Scale) -> Iterable[Row]:
    """Larger sizes; the dense matrices would take gigabytes, and are built when asked for."""
    if scale.full:
        yield from _updates(count, domain, scale)
        return
    oracle = unary(domain)
    reports = reports_of(oracle, count)
    ours, h = likelihood_of(oracle, reports), np.full(domain, 1 / domain)
    seconds = min(take_turns([lambda: ours.update(h)], 3)[0])
    yield fact(
        f"Bayesian update, N = {count:,}, D = {domain:,}",
        f"{seconds / count / domain * 1e9:.3g} ns for each bit of a report",
        seconds,
        f"{seconds * 1e3:.4g} ms",
    )


def _growth(scale: Scale) -> Iterable[Row]:
    """Over a factor of 100 each: no more than in proportion (to the tables' size, for D)."""

    def in_people(count: int) -> Callable[[], object]:
        oracle = unary(1000)
        data = likelihood_of(oracle, reports_of(oracle, count))
        return lambda: data.update(np.full(1000, 1 / 1000))

    def in_values(domain: int) -> Callable[[], object]:
        oracle = unary(domain)
        data = likelihood_of(oracle, reports_of(oracle, 10_000))
        return lambda: data.update(np.full(domain, 1 / domain))

    people = [2_000, 20_000, 200_000]
    yield growth("Bayesian update, D = 1000", "N", people, in_people, scale, 1.1)
    yield growth("Bayesian update, N = 10,000", "D", [100, 1_000, 10_000], in_values, scale, 1.3)


_RACE = """
    import json, time
    import numpy as np
    from benchmarks.bayes import dense, likelihood_of, reports_of, unary
    oracle = unary(1000)
    reports = reports_of(oracle, {count})
    data, h = likelihood_of(oracle, reports, {threads}), np.full(1000, 1 / 1000)
    single = dense(oracle, reports, np.float32)
    runs, best = [lambda: data.update(h), single], [9.0, 9.0]
    # One after the other, not in turn: the threads of BLAS spin for a while after their work.
    for i, run in enumerate(runs):
        for _ in range(40):
            start = time.perf_counter()
            run()
            best[i] = min(best[i], time.perf_counter() - start)
    print(json.dumps(best))
"""


def _threads(count: int) -> Iterable[Row]:
    """By the clock on the wall, BLAS and ours with as many threads; needs an idle machine.

    Two threads of ours share a core's caches where two of BLAS share the memory: see _updates.
    """
    for threads in (1, 2):
        if threads > (os.cpu_count() or 1):
            continue
        script = textwrap.dedent(_RACE.format(count=count, threads=threads))
        done = subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": str(threads)},
        )
        ours, theirs = json.loads(done.stdout.splitlines()[-1])
        ratio = theirs / ours
        yield Row(
            f"Bayesian update by the clock, N = {count:,}, D = 1000",
            f"{ours * 1e3:.3g} ms",
            f"dense float32 BLAS, {threads} thread{'s' * (threads > 1)}",
            f"{theirs * 1e3:.3g} ms",
            ratio,
            f"{ratio:.2f}x",
            ">= 1.50x",
            ratio >= 1.5,
        )


_ONE_UPDATE = """
    import numpy as np
    from benchmarks.bayes import dense, likelihood_of, reports_of, unary
    oracle = unary(1000)
    reports = reports_of(oracle, {count})
    h = np.full(1000, 1 / 1000)
    {work}
"""


def _memory(count: int) -> Iterable[Row]:
    """What one update holds beyond what it takes with a tenth of the reports (compiled as well)."""
    ours = "likelihood_of(oracle, reports).update(h)"
    base = peak_bytes(_ONE_UPDATE.format(count=count // 10, work=ours))
    packed = count * unary(1000).width
    for name, work in (("Rumor", ours), ("dense", "dense(oracle, reports, np.float32)()")):
        peak = peak_bytes(_ONE_UPDATE.format(count=count, work=work)) - base
        yield fact(
            f"peak memory of an update, N = {count:,}, D = 1000",
            f"{name} (reports packed {packed / 1e6:.3g} MB, as float32 {count * 4e-3:.3g} MB)",
            peak,
            f"{peak / 1e6:.3g} MB",
        )
    yield ceiling(
        "report data of an update",
        "share of dense float32",
        packed / (count * 1000 * 4),
        "",
        1 / 30,
    )


def main() -> None:
    """Alone, without the table: for a look."""
    start = time.time()
    for row in run(Scale(quick=True)):
        print(row.benchmark, "|", row.value, "|", row.against, "|", row.other, "|", row.shown)
    print(f"{time.time() - start:.0f} s")


if __name__ == "__main__":
    main()
