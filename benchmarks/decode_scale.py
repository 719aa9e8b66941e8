"""Decoding at scale: up to a million candidates, beside scikit-learn's Lasso alone.

    python -m benchmarks.decode_scale [CANDIDATES ...]

Filters of 128 bits, 2 hashes and 64 cohorts; ten million people. Ours is timed end to end: words
in, hashed, the whole path of the Lasso, p-values, refit, words out. The peer is one fit at one
penalty, the one that ours chose: its matrix is made beforehand and not timed. It solves the same
problem, rows weighted and columns scaled to the same penalty, but for the free levels: it has
one common intercept, which is far easier for it. (With a column for each level, next to no
penalty on it, it needs ten times as long, and from 100,000 candidates on it stops before it has
converged; so that is run on the smallest size only, to compare the objectives reached.) Each runs
in a process of its own, for its peak of memory; times are of the processor, since a shared
machine's clock says little.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import rumor
from benchmarks.decode_peers import installed
from benchmarks.harness import Row, Scale, as_ratio, ceiling, fact
from rumor.mechanisms.rappor.simulation import simulate_counts

PEOPLE = 10_000_000
HELD = 2_000
# The levels' columns are so much larger than the others that their penalty does not matter.
_LARGE = 1e4
_SAME = 10_000
# Of few candidates the fits without each word found take longest, and the transforms of their
# decoys: both are bound by one core.
_WANTED = {10_000: 0.1, 1_000_000: 1.4}


def words(candidates: int) -> list[str]:
    return [f"word-{i}" for i in range(candidates)]


def crowd(path: Path) -> None:
    """Write the summary that all contenders decode."""
    rappor = rumor.Rappor(bits=128, hashes=2, cohorts=64, f=0, p=0.5, q=0.75, key=b"scale")
    shares = np.arange(1, HELD + 1) ** -0.9
    counts = np.random.default_rng(0).multinomial(PEOPLE, shares / shares.sum())
    simulate_counts(rappor, words(HELD), counts, random=rumor.Seeded(0)).save(path)


def ours(path: Path, candidates: int) -> dict[str, Any]:
    """The whole decode, compiled loops loaded beforehand."""
    summary = rumor.Summary.load(path)
    rappor = summary.mechanism
    assert isinstance(rappor, rumor.Rappor)
    rumor.estimate(rappor, summary, candidates=words(HELD))
    listed = words(candidates)
    start = time.process_time()
    result = rumor.estimate(rappor, summary, candidates=listed)
    seconds = time.process_time() - start
    true = int(result.detected[:HELD].sum())
    return {
        "seconds": seconds,
        "penalty": result.diagnostics["penalty"],
        "found": int(result.detected.sum()),
        "false": int(result.detected.sum()) - true,
    }


def peer(path: Path, candidates: int, penalty: float, levels: bool) -> dict[str, Any]:
    """scikit-learn's Lasso at one penalty, the fit alone; and how good ours is by its objective."""
    import scipy.sparse as sp
    from sklearn.linear_model import Lasso

    from rumor.kinds.text.fit.candidates import candidate_map
    from rumor.kinds.text.fit.lasso import Lasso as Ours
    from rumor.kinds.text.fit.lasso import bit_shares

    summary = rumor.Summary.load(path)
    rappor = summary.mechanism
    assert isinstance(rappor, rumor.Rappor)
    shares, made = bit_shares(summary), candidate_map(rappor.bloom, words(candidates))
    fitted = Ours(made.rows, 2, shares.share, shares.weight)
    root = np.sqrt(shares.weight)
    bits = root.size
    # A bit that both hashes set is in the column once: repeated ones get the value 0.
    first = np.repeat(np.arange(64), 2) * 128
    repeated = made.rows == 128
    index = (np.where(repeated, 0, made.rows) + first).astype(np.int32)
    data = np.where(repeated, 0.0, root.reshape(-1)[index]) / fitted.lengths[:, None]
    pointer = np.arange(0, index.size + 1, 128, dtype=np.int32)
    x = sp.csc_matrix((data.reshape(-1), index.reshape(-1), pointer), shape=(bits, candidates))
    y = (root * (shares.share + (1.0 if levels else 0.0))).reshape(-1)
    if levels:
        rows, columns = np.arange(bits), np.repeat(np.arange(64), 128)
        free = sp.csc_matrix((root.reshape(-1) * _LARGE, (rows, columns)), shape=(bits, 64))
        x = sp.hstack([x, free], format="csc")
    x.sort_indices()
    del index, data, made
    lasso = Lasso(alpha=penalty / bits, positive=True, fit_intercept=not levels, copy_X=False)
    start = time.process_time()
    lasso.fit(x, y)
    seconds = time.process_time() - start
    out = {"seconds": seconds, "support": int((lasso.coef_[:candidates] > 0).sum())}
    if levels:
        residual = y - x @ lasso.coef_
        theirs = 0.5 * float(residual @ residual) + penalty * float(lasso.coef_[:candidates].sum())
        fitted.approach(penalty)
        fitted.solve(penalty * fitted.lengths)
        mine = 0.5 * fitted.squares() + penalty * float(
            (fitted.lengths * fitted.coefficients).sum()
        )
        out |= {"objective": theirs, "our_objective": mine, "our_support": fitted.support}
    return out


def run(scale: Scale) -> Iterator[Row]:
    """The rows of `python -m benchmarks`; `--full` goes to a million."""
    sizes = (10_000,) if scale.quick else (10_000, 100_000)
    yield from measured((*sizes, 1_000_000) if scale.full else sizes)


def measured(sizes: Sequence[int]) -> Iterator[Row]:
    """A race at every size, then how time grows."""
    name, seconds = "decode words", {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "summary"
        crowd(path)
        for size in sizes:
            mine = _child("ours", path, size)
            seconds[size] = mine["seconds"]
            yield fact(
                name,
                f"{size:,} candidates: {mine['found']} found, {mine['false']} false",
                mine["seconds"],
                f"{mine['seconds']:.2f} s",
            )
            limit = 3.5 if size >= 1_000_000 else 1.0
            yield ceiling(name, f"memory at {size:,}", mine["peak"], "GB", limit)
            if not installed("sklearn"):
                continue
            plain = _child("intercept", path, size, mine["penalty"])
            same = _child("levels", path, size, mine["penalty"]) if size <= _SAME else plain
            best = min(same["seconds"], plain["seconds"])
            wanted = _WANTED.get(size)
            ratio = best / mine["seconds"]
            yield Row(
                name,
                f"{mine['seconds']:.2f} s",
                f"scikit-learn's Lasso alone at {size:,}",
                f"{best:.2f} s",
                ratio,
                as_ratio(ratio),
                "" if wanted is None else f">= {as_ratio(wanted)}",
                None if wanted is None else ratio >= wanted,
                {
                    "peer with one intercept, seconds": plain["seconds"],
                    "its memory, GB": plain["peak"],
                    **({} if same is plain else _details(same)),
                },
            )
    if len(sizes) > 1:
        slope = float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])
        growth = f"M^{slope:.2f}"
        yield Row(name, "time", "candidates", "", slope, growth, "<= M^1.10", slope <= 1.1, {})


def _details(same: dict[str, Any]) -> dict[str, float]:
    return {
        "peer with free levels, seconds": same["seconds"],
        "its objective": same["objective"],
        "our objective": same["our_objective"],
        "its support": same["support"],
        "our support": same["our_support"],
    }


def _child(what: str, path: Path, candidates: int, penalty: float = 0.0) -> dict[str, Any]:
    """A contender in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.decode_scale", "--child", what, str(path)]
    command += [str(candidates), str(penalty)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _serve(what: str, path: str, candidates: str, penalty: str) -> None:
    size = int(candidates)
    if what == "ours":
        found = ours(Path(path), size)
    else:
        found = peer(Path(path), size, float(penalty), what == "levels")
    print(json.dumps({**found, "peak": _peak_gigabytes()}))


def _peak_gigabytes() -> float:
    """The high-water mark of this process; `ru_maxrss` would start at its parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decode_scale", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("candidates", nargs="*", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        _serve(*options.child)
        return
    for row in measured(options.candidates):
        passed = {True: "pass", False: "MISS", None: ""}[row.passed]
        end = f"{row.other:>10} {row.shown:>8} {row.target:>9} {passed}"
        print(f"{row.value:>12}  {row.against:44} {end}")
        for key, value in row.detail.items():
            print(f"{'':14}{key}: {value:,.6g}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
