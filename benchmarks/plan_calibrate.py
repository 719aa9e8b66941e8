"""How much the default estimator gains on the linear one, by simulation: the plan's table.

    python -m benchmarks.plan_calibrate            seven minutes or more; rewrites
                                                   src/rumor/kinds/planning/calibration.py
        --noise 0.4 10                             only rows of this noise, the others as they are
        --values 5 50                              only these numbers of values, likewise

On Zipf's law over D values, the ratio of the root mean squared errors of "auto" and of
inversion depends, to a few per cent, on three numbers alone and hardly on the mechanism:

- D;
- the linear error, in units of the spread of the true frequencies about 1/D: above 1 there
  is more noise than signal;
- how much of it is there for a value that nobody holds (the rest grows with the frequency):
  as decimal digits, -log10(1 - share).

Counts of unary encoding are drawn directly, two binomials for each value.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from rumor.estimators.frequency.empirical import default_frequency
from rumor.kinds.keyvalue.fit.pooled import MODELS, posterior_means
from rumor.kinds.planning.calibration import DOMAINS, KEY_RATIOS, RATIOS
from rumor.kinds.planning.forecast import typical_keys, typical_law
from rumor.mechanisms import KeyValueBlock
from rumor.mechanisms.keyvalue import KeyCounts
from rumor.mechanisms.support import ItemCounts

KEY_TRIALS = {2: 60, 5: 24, 20: 12, 100: 5}
KEY_NOISE = (0.02, 0.1, 0.3, 0.7, 1.5, 4.0, 12.0)
TARGET = Path(__file__).parents[1] / "src/rumor/kinds/planning/calibration.py"
TRIALS = {5: 90, 7: 90, 10: 80, 20: 50, 50: 30, 100: 20, 300: 12, 1000: 10, 3000: 8, 10_000: 8}
NOISE = (0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 100.0)
DIGITS = (0.01, 0.3, 0.7, 1.3, 2.3, 3.3)
# With fewer people a cell cannot be realised; it follows from its neighbour.
_FEWEST = 30
_FEWEST_OF_A_KEY = 6


def people_and_miss(domain: int, noise: float, digits: float) -> tuple[int, float]:
    """The number of people and P(1 | 0) of unary encoding with P(1 | 1) = 1/2 at such a point."""
    law = typical_law(domain)
    spread = float(np.sqrt(np.mean((law - 1 / domain) ** 2)))
    growing = 2 / domain - float(np.mean(law**2))
    still = growing * (10**digits - 1)
    # still = q (1 - q) / (1/2 - q)^2, solved for q.
    miss = (1 - math.sqrt(1 / (1 + still))) / 2
    return round((still + growing) / (noise * spread) ** 2), miss


def ratio(domain: int, people: int, miss: float, trials: int, rng: np.random.Generator) -> float:
    """The default's root mean squared error over the linear one's."""
    law, default, linear = typical_law(domain), 0.0, 0.0
    for _ in range(trials):
        held = rng.multinomial(people, law)
        counts = rng.binomial(held, 0.5) + rng.binomial(people - held, miss)
        items = ItemCounts(counts, float(people), 0.5, miss, 1.0)
        frequency, _ = default_frequency(items, items.unbiased)
        default += float(((frequency - law) ** 2).sum())
        linear += float(((items.unbiased - law) ** 2).sum())
    return math.sqrt(default / linear)


def key_ratio(keys: int, noise: float, trials: int, rng: np.random.Generator) -> float | None:
    """The same for the shares of keys, from counts of the block mechanism at epsilon 1.

    None where such noise would take fewer reports of a key than make sense.
    """
    frequency, mean = typical_keys(keys)
    rates = KeyValueBlock(keys=max(keys, 1), epsilon=1.0).rates
    seen = rates.miss + rates.gain * frequency
    plus = (seen + rates.sign_gain * frequency * mean) / 2
    variance = float(np.mean(seen * (1 - seen))) / rates.gain**2
    people = round(variance / (noise * float(np.std(frequency))) ** 2)
    if people < _FEWEST_OF_A_KEY:
        return None
    default = linear = 0.0
    for _ in range(trials):
        drawn = rng.multinomial(people, np.stack([plus, seen - plus, 1 - seen], axis=1))
        counts = KeyCounts(drawn[:, 0], drawn[:, 1], np.full(keys, people))
        found = posterior_means(counts, rates, tuple(MODELS)).frequency
        straight = ((drawn[:, 0] + drawn[:, 1]) / people - rates.miss) / rates.gain
        default += float(((found - frequency) ** 2).sum())
        linear += float(((straight - frequency) ** 2).sum())
    return math.sqrt(default / linear)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--noise", nargs=2, type=float, default=(0.0, math.inf))
    parser.add_argument("--values", nargs=2, type=float, default=(0.0, math.inf))
    options = parser.parse_args(arguments)
    (low, high), (fewest, most) = options.noise, options.values
    whole = (low, high) == (fewest, most) == (0.0, math.inf)
    rng = np.random.default_rng(1)
    # The whole may have other axes than the table that is there; a part may have more values.
    table: NDArray[np.float64] = np.ones((len(TRIALS), len(NOISE), len(DIGITS)))
    if not whole:
        known = dict(zip(DOMAINS, RATIOS, strict=True))
        table = np.array([known.get(domain, table[0]) for domain in TRIALS])
    for i, (domain, trials) in enumerate(track(list(TRIALS.items()))):
        for j, noise in enumerate(NOISE):
            if not (low <= noise <= high and fewest <= domain <= most):
                continue
            for k in reversed(range(len(DIGITS))):
                people, miss = people_and_miss(domain, noise, DIGITS[k])
                if people >= _FEWEST:
                    table[i, j, k] = ratio(domain, people, miss, trials, rng)
                elif k + 1 < len(DIGITS):
                    table[i, j, k] = table[i, j, k + 1]
                else:  # nothing but noise: the answer is the same, the linear error grows
                    table[i, j, k] = table[i, j - 1, k] * NOISE[j - 1] / noise
    if not whole:
        TARGET.write_text(module(table, np.array(KEY_RATIOS)), encoding="utf-8")
        return
    rng = np.random.default_rng(2)
    keys = np.ones((len(KEY_TRIALS), len(KEY_NOISE)))
    for i, (size, trials) in enumerate(KEY_TRIALS.items()):
        for j, noise in enumerate(KEY_NOISE):
            found = key_ratio(size, noise, trials, rng)
            keys[i, j] = keys[i, j - 1] * KEY_NOISE[j - 1] / noise if found is None else found
    TARGET.write_text(module(table, keys), encoding="utf-8")


def module(table: NDArray[np.float64], keys: NDArray[np.float64]) -> str:
    """The tables as a module."""
    blocks = []
    for block in table:
        blocks.append(f"    (\n{_rows(block, 8)}    ),\n")
    return (
        '"""The error of the default estimator relative to the linear one, on Zipf\'s law.\n\n'
        "Written by benchmarks/plan_calibrate.py, which describes the axes; do not edit.\n"
        '"""\n\n'
        "from __future__ import annotations\n\n"
        f"DOMAINS = ({', '.join(map(str, TRIALS))})\n"
        f"NOISE = ({', '.join(map(str, NOISE))})\n"
        f"DIGITS = ({', '.join(map(str, DIGITS))})\n"
        "# RATIOS[domain][noise][digits]\n"
        f"RATIOS = (\n{''.join(blocks)})\n\n"
        f"KEYS = ({', '.join(map(str, KEY_TRIALS))})\n"
        f"KEY_NOISE = ({', '.join(map(str, KEY_NOISE))})\n"
        "# KEY_RATIOS[keys][noise]\n"
        f"KEY_RATIOS = (\n{_rows(keys, 4)})\n"
    )


def _rows(block: NDArray[np.float64], indent: int) -> str:
    return "".join(f"{' ' * indent}({', '.join(f'{x:.3f}' for x in row)}),\n" for row in block)


if __name__ == "__main__":
    main()
