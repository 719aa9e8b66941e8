"""What a pass of N D^2, as footnote 5 of CSS 2020 names it, costs beside an update of N D.

`python -m benchmarks.footnote_five [--quick]`: seconds of one update of equation 11, and of one sum
over reports of the outer products of what each says of all values, which a correction of the
estimate by its second derivatives needs at least once (Murakami, Hino and Sakuma, "Toward
distribution estimation under local differential privacy with small samples", 2018).
"""

from __future__ import annotations

import sys
import time

import numpy as np

from rumor.estimators.frequency.likelihood import MatrixLikelihood


def main(arguments: list[str]) -> None:
    """Print the table."""
    people = (500, 1_000) if "--quick" in arguments else (1_000, 10_000)
    print(f"{'values':>8}{'people':>9}{'update, s':>12}{'N D^2, s':>12}{'over':>8}")
    for values in (250, 1_000):
        for count in people:
            ratios = 0.2 + np.random.default_rng(1).random((count, values))
            likelihood = MatrixLikelihood(ratios, np.ones(count))
            h = np.full(values, 1 / values)
            times = []
            for work in (likelihood.update, lambda h, r=ratios: (r / (r @ h)[:, None]).T @ r):
                work(h)
                started = time.perf_counter()
                work(h)
                times.append(time.perf_counter() - started)
            first, second = times
            print(f"{values:8,}{count:9,}{first:12.5f}{second:12.4f}{second / first:8.0f}")


if __name__ == "__main__":
    main(sys.argv[1:])
